// The outer product's sums, compiled once an instruction set (Highway), with parameters in the lanes: there
// delta is uniform.

#include "kernels/cpu/panel_kernels.hpp"

#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/outer_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/signed_factors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// Sums of a tile of Rows outputs by Columns vectors of activations, at a point.
template <typename Rule, typename Real, std::size_t Rows, std::size_t Columns>
struct PointSums {
    typename Rule::Sum at[Rows][Columns];

    explicit HWY_INLINE PointSums(const Rule& rule) {
        for (auto& line : at) {
            for (auto& entry : line) entry = rule.zero();
        }
    }
    /// Records [first, last) of the panel; the tile's first output is `row`.
    HWY_INLINE void add(const Outer<Real>& outer, const Strip<Real>& strip, const Rule& rule, std::size_t row,
                        std::size_t first, std::size_t last) {
        const Real* z = strip.lower() + first * Strip<Real>::width;
        const Real* delta = outer.delta_lower + row * height + first;
        for (std::size_t r = first; r < last; ++r, ++delta, z += Strip<Real>::width) {
            for (std::size_t o = 0; o < Rows; ++o) {
                const Vec<Real> factor = hn::Set(reals<Real>, delta[o * height]);
                for (std::size_t c = 0; c < Columns; ++c)
                    at[o][c] = rule.add(at[o][c], factor, hn::Load(reals<Real>, z + c * lanes<Real>));
            }
        }
    }
};

/// The same in a box.
template <typename Rule, typename Real, Inputs Kind, std::size_t Rows, std::size_t Columns>
struct BoxSums {
    typename Rule::Sum least[Rows][Columns], greatest[Rows][Columns];

    explicit HWY_INLINE BoxSums(const Rule& rule) {
        for (std::size_t o = 0; o < Rows; ++o) {
            for (std::size_t c = 0; c < Columns; ++c) least[o][c] = greatest[o][c] = rule.zero();
        }
    }
    HWY_INLINE void add(const Outer<Real>& outer, const Strip<Real>& strip, const Rule& rule, std::size_t row,
                        std::size_t first, std::size_t last) {
        for (std::size_t r = first; r < last; ++r) {
            const std::size_t at = r * Strip<Real>::width;
            for (std::size_t o = 0; o < Rows; ++o) {
                const Real low = outer.delta_lower[(row + o) * height + r],
                           high = outer.delta_upper[(row + o) * height + r];
                const Vec<Real> lower = hn::Set(reals<Real>, low), upper = hn::Set(reals<Real>, high);
                const Ends<Real, Kind> z(low, high, strip.lower() + at, strip.upper() + at);
                for (std::size_t c = 0; c < Columns; ++c) {
                    const Vec<Real> z_least = hn::Load(reals<Real>, z.least + c * lanes<Real>);
                    const Vec<Real> z_greatest = hn::Load(reals<Real>, z.greatest + c * lanes<Real>);
                    if constexpr (Kind == Inputs::mixed_point) {
                        least[o][c] = rule.add_of_signs(least[o][c], lower, upper, z_least);
                        greatest[o][c] = rule.add_of_signs(greatest[o][c], upper, lower, z_least);
                    } else {
                        least[o][c] = rule.add(least[o][c], lower, z_least);
                        greatest[o][c] = rule.add(greatest[o][c], upper, z_greatest);
                    }
                }
            }
        }
    }
};

/// A tile of Rows outputs by Columns vectors of activations, kept in registers over all records of the panel.
/// `sums` are those of its first entry, `columns` how many there are from there on.
template <typename Rule, typename Real, std::size_t Rows, std::size_t Columns>
HWY_INLINE void add_point_tile(const Outer<Real>& outer, const Strip<Real>& strip, const Rule& rule,
                               std::size_t row, std::size_t columns, std::int64_t* sums) {
    PointSums<Rule, Real, Rows, Columns> sum(rule);
    sum.add(outer, strip, rule, row, 0, height);
    for (std::size_t o = 0; o < Rows; ++o)
        flush_row<Real>(rule, sum.at[o], height, sums + o * outer.columns, columns);
}

template <typename Rule, typename Real, Inputs Kind, std::size_t Rows, std::size_t Columns>
HWY_INLINE void add_box_tile(const Outer<Real>& outer, const Strip<Real>& strip, const Rule& rule,
                             std::size_t row, std::size_t columns, SumBounds sums) {
    BoxSums<Rule, Real, Kind, Rows, Columns> sum(rule);
    sum.add(outer, strip, rule, row, 0, height);
    for (std::size_t o = 0; o < Rows; ++o) {
        const SumBounds to = sums.from(o * outer.columns);
        flush_row<Real>(rule, sum.least[o], height, to.lower, columns);
        flush_row<Real>(rule, sum.greatest[o], height, to.upper, columns);
    }
}

/// Of rows that are clipped after, what the persons of a tile come to, whose rows Rule adds.
template <typename Rule, typename Real, std::size_t Rows, std::size_t Columns>
class PersonSums {
  public:
    /// person: what a person's entry is clipped by, to `most` units.
    HWY_INLINE PersonSums(const Elementwise<Real>& person, std::int64_t most)
        : person_(person), most_(hn::Set(integers<Real>, static_cast<Integer>(most))) {
        for (auto& line : total_) {
            for (auto& entry : line) entry = hn::Zero(integers<Real>);
        }
    }
    /// One more, of so many rows.
    HWY_INLINE void add(const Rule& rule, const typename Rule::Sum (&sum)[Rows][Columns], std::size_t rows) {
        for (std::size_t o = 0; o < Rows; ++o) {
            for (std::size_t c = 0; c < Columns; ++c) {
                if constexpr (Rule::by_factors) {
                    total_[o][c] = person_.add_entry(total_[o][c], person_.clipped(sum[o][c]));
                } else {
                    const auto units = rule.units(sum[o][c], rows);
                    const auto clamped = hn::Min(hn::Max(units, hn::Neg(most_)), most_);
                    total_[o][c] = hn::Add(total_[o][c], clamped);
                }
            }
        }
    }
    /// To rows `stride` apart; `columns` are left in each.
    HWY_INLINE void flush(std::size_t persons, std::int64_t* sums, std::size_t stride,
                          std::size_t columns) const {
        for (std::size_t o = 0; o < Rows; ++o) {
            for (std::size_t c = 0; c < Columns; ++c) {
                const auto units = Rule::by_factors ? person_.units(total_[o][c], persons) : total_[o][c];
                HWY_NAMESPACE::flush<Real>(units, sums + o * stride + c * lanes<Real>,
                                           columns - c * lanes<Real>);
            }
        }
    }

  private:
    using Integer = typename RealFormat<Real>::Integer;
    const Elementwise<Real>& person_;
    IntegerVec<Real> most_, total_[Rows][Columns];
};

/// The rows of a layer by tiles.
template <typename Rule, typename Real>
class TileRows {
  public:
    static constexpr std::size_t rows = width;

    explicit TileRows(const Outer<Real>& outer) : outer_(outer), rule_(outer) {}

    template <std::size_t Rows, std::size_t Columns>
    HWY_INLINE void add(const Strip<Real>& z, std::size_t row, std::size_t columns, SumBounds sums) const {
        if (outer_.point)
            return add_point_tile<Rule, Real, Rows, Columns>(outer_, z, rule_, row, columns, sums.lower);
        const auto box = [&]<Inputs Kind>() HWY_ATTR {
            add_box_tile<Rule, Real, Kind, Rows, Columns>(outer_, z, rule_, row, columns, sums);
        };
        if (outer_.inputs == Inputs::mixed_point) return box.template operator()<Inputs::mixed_point>();
        if constexpr (!Rule::by_factors) return;  // the others are SignedRows'
        if (outer_.inputs == Inputs::box) return box.template operator()<Inputs::box>();
        box.template operator()<Inputs::nonnegative_point>();
    }

  private:
    const Outer<Real>& outer_;
    Rule rule_;
};

/// The rows of a layer whose activations are >= 0, one at a time, by the signs of their entries.
template <typename Real>
class SignedRows {
  public:
    static constexpr std::size_t rows = 1;

    explicit SignedRows(const Outer<Real>& outer) : outer_(outer), rule_(outer), parts_(outer) {}

    template <std::size_t Rows, std::size_t Columns>
    HWY_INLINE void add(const Strip<Real>& z, std::size_t row, std::size_t columns, SumBounds sums) const {
        add_parts<Columns>(parts_.least(row, z), columns, sums.lower);
        if (!outer_.point) add_parts<Columns>(parts_.greatest(row, z), columns, sums.upper);
    }

  private:
    template <std::size_t Columns>
    HWY_INLINE void add_parts(const typename Parts<Real>::Pair& parts, std::size_t columns,
                              std::int64_t* sums) const {
        IntegerVec<Real> sum[Columns];
        for (auto& at : sum) at = rule_.zero();
        add_part<Sign::positive>(rule_, parts[0], sum);
        add_part<Sign::negative>(rule_, parts[1], sum);
        flush_row<Real>(rule_, sum, parts[0].count + parts[1].count, sums, columns);
    }

    const Outer<Real>& outer_;
    Elementwise<Real> rule_;
    Parts<Real> parts_;
};

/// The rows of a layer by tiles, person by person: a person's rows are added, and the sum is clamped.
template <typename Real>
class PersonRows {
  public:
    static constexpr std::size_t rows = width;

    PersonRows(const Outer<Real>& outer, std::int64_t most)
        : outer_(outer),
          most_(most),
          held_(outer),
          person_(outer),
          free_(outer),
          in_a_chain_(static_cast<std::size_t>(outer.limit / outer.grid.unit()) * outer.rows <= chain_units),
          greatest_(std::max(greatest_magnitude(outer.delta_lower, outer.out, height, height),
                             greatest_magnitude(outer.delta_upper, outer.out, height, height))) {
        const Real limit = static_cast<Real>(most) * outer.grid.unit();
        person_.lowest = hn::Set(reals<Real>, outer.grid.bias() - limit);
        person_.highest = hn::Set(reals<Real>, outer.grid.bias() + limit);
    }

    /// Where no entry of a row is beyond its room, no clamp is needed, and odd factors are added onto one
    /// another: each is rounded to the grid as alone (models/mathematics.md, entries of a person).
    void begin(const Strip<Real>& z) {
        free_now_ = in_a_chain_ && greatest_ * z.greatest_magnitude() <= outer_.limit;
    }

    template <std::size_t Rows, std::size_t Columns>
    HWY_INLINE void add(const Strip<Real>& z, std::size_t row, std::size_t columns, SumBounds sums) const {
        if (free_now_) return add_by<Rows, Columns>(free_, z, row, columns, sums);
        add_by<Rows, Columns>(held_, z, row, columns, sums);
    }

  private:
    /// Units that a chain of fma stays below, on the grid.
    static constexpr std::size_t chain_units = std::size_t{1} << (std::numeric_limits<Real>::digits - 2);

    template <std::size_t Rows, std::size_t Columns, typename Rule>
    HWY_INLINE void add_by(const Rule& rule, const Strip<Real>& z, std::size_t row, std::size_t columns,
                           SumBounds sums) const {
        if (outer_.point) return add_point<Rows, Columns>(rule, z, row, columns, sums.lower);
        constexpr std::size_t some = Columns == 1 ? Rows : (Rows + 1) / 2;  // each bound takes registers
        for (std::size_t o = 0; o < Rows; o += some) {
            const SumBounds to = sums.from(o * outer_.columns);
            if (outer_.inputs == Inputs::mixed_point)
                add_box<Inputs::mixed_point, some, Columns>(rule, z, row + o, columns, to);
            else if (outer_.inputs == Inputs::box)
                add_box<Inputs::box, some, Columns>(rule, z, row + o, columns, to);
            else
                add_box<Inputs::nonnegative_point, some, Columns>(rule, z, row + o, columns, to);
        }
    }
    template <std::size_t Rows, std::size_t Columns, typename Rule>
    HWY_INLINE void add_point(const Rule& rule, const Strip<Real>& z, std::size_t row, std::size_t columns,
                              std::int64_t* sums) const {
        PersonSums<Rule, Real, Rows, Columns> persons(person_, most_);
        for (std::size_t person = 0; person < outer_.persons; ++person) {
            PointSums<Rule, Real, Rows, Columns> sum(rule);
            sum.add(outer_, z, rule, row, person * outer_.rows, (person + 1) * outer_.rows);
            persons.add(rule, sum.at, outer_.rows);
        }
        persons.flush(outer_.persons, sums, outer_.columns, columns);
    }
    template <Inputs Kind, std::size_t Rows, std::size_t Columns, typename Rule>
    HWY_INLINE void add_box(const Rule& rule, const Strip<Real>& z, std::size_t row, std::size_t columns,
                            SumBounds sums) const {
        PersonSums<Rule, Real, Rows, Columns> least(person_, most_), greatest(person_, most_);
        for (std::size_t person = 0; person < outer_.persons; ++person) {
            BoxSums<Rule, Real, Kind, Rows, Columns> sum(rule);
            sum.add(outer_, z, rule, row, person * outer_.rows, (person + 1) * outer_.rows);
            least.add(rule, sum.least, outer_.rows);
            greatest.add(rule, sum.greatest, outer_.rows);
        }
        least.flush(outer_.persons, sums.lower, outer_.columns, columns);
        greatest.flush(outer_.persons, sums.upper, outer_.columns, columns);
    }

    const Outer<Real>& outer_;
    std::int64_t most_;                // Gamma, in units
    Elementwise<Real> held_, person_;  // of a row, of a person
    Factored<Real> free_;
    bool in_a_chain_, free_now_ = false;
    Real greatest_;  // of the deltas
};

/// Strip by strip, the rows of a layer as Rows adds them.
template <typename Rows, typename Real>
void accumulate_by(const Outer<Real>& outer, SumBounds sums, Rows rows) {
    Strip<Real> z;
    const auto sweep = [&]<std::size_t Columns>(std::size_t column) {
        const auto add = [&]<std::size_t Count>(std::size_t row) HWY_ATTR {
            rows.template add<Count, Columns>(z, row, outer.columns - column,
                                              sums.from(row * outer.columns + column));
        };
        std::size_t row = 0;
        for (; row + Rows::rows <= outer.out; row += Rows::rows) {
            const std::size_t next = row + Rows::rows, last = std::min(next + Rows::rows, outer.out);
            prefetch_rows(sums.lower, outer.columns, next, last, column, Columns * lanes<Real>);
            if (!outer.point)
                prefetch_rows(sums.upper, outer.columns, next, last, column, Columns * lanes<Real>);
            add.template operator()<Rows::rows>(row);
        }
        for (; row < outer.out; ++row) add.template operator()<1>(row);
    };
    for (std::size_t strip = 0; strip < Strip<Real>::count(outer); ++strip) {
        const std::size_t column = strip * Strip<Real>::width;
        z.load(outer, strip);
        if constexpr (requires { rows.begin(z); }) rows.begin(z);
        if (column + lanes<Real> < outer.columns)
            sweep.template operator()<strip_vectors>(column);
        else
            sweep.template operator()<1>(column);
    }
}

/// A vector of columns at one output, every entry scaled, and the sum of every `rows` records held to `most`
/// units; of a point sum_upper is sum_lower.
template <typename Real>
void accumulate_scaled_vector(const Outer<Real>& outer, const Elementwise<Real>& rule, std::size_t rows,
                              std::int64_t most, std::size_t row, std::size_t column, std::int64_t* sum_lower,
                              std::int64_t* sum_upper) {
    const ScaleLanes<Real> scales(outer, column);
    PersonSums<Elementwise<Real>, Real, 1, 1> least(rule, most), greatest(rule, most);
    for (std::size_t first = 0; first + rows <= height; first += rows) {
        IntegerVec<Real> low_sum[1][1] = {{rule.zero()}}, high_sum[1][1] = {{rule.zero()}};
        for (std::size_t r = first; r < first + rows; ++r) {
            const std::size_t at = r * outer.stride + column;
            const Corners<Real> corners(hn::Set(reals<Real>, outer.delta_lower[row * height + r]),
                                        hn::Set(reals<Real>, outer.delta_upper[row * height + r]),
                                        outer.z_lower + at, outer.z_upper + at);
            const Vec<Real> low = scales.least(r), high = scales.greatest(r);
            low_sum[0][0] = rule.add_entry(low_sum[0][0], rule.scaled_least(corners.products, low, high));
            high_sum[0][0] =
                rule.add_entry(high_sum[0][0], rule.scaled_greatest(corners.products, low, high));
        }
        least.add(rule, low_sum, rows);
        greatest.add(rule, high_sum, rows);
    }
    const std::size_t at = row * outer.columns + column, columns = outer.columns - column;
    least.flush(height / rows, sum_lower + at, outer.columns, columns);
    if (sum_upper != sum_lower) greatest.flush(height / rows, sum_upper + at, outer.columns, columns);
}

/// `most`: units that a person's entry is held to, where rows are clipped after.
template <typename Real>
void accumulate_scaled(const Outer<Real>& outer, std::int64_t most, SumBounds sums) {
    const Elementwise<Real> rule(outer);
    const bool after = outer.rows > 1;
    const std::size_t rows = after ? outer.rows : height;
    if (!after) most = std::numeric_limits<typename RealFormat<Real>::Integer>::max();
    for (std::size_t row = 0; row < outer.out; ++row) {
        for (std::size_t column = 0; column < outer.columns; column += lanes<Real>)
            accumulate_scaled_vector<Real>(outer, rule, rows, most, row, column, sums.lower, sums.upper);
    }
}

template <typename Real>
void accumulate(const OuterProduct<Real>& product, SumBounds sums) {
    const Outer<Real> outer = prepare<Real>(product);
    const std::int64_t most = product.clip.template weight_units<Real>();
    if (product.clip.by_scales()) return accumulate_scaled(outer, most, sums);
    if (product.clip.rows > 1) return accumulate_by(outer, sums, PersonRows<Real>(outer, most));
    if (product.clip.by_factors()) return accumulate_by(outer, sums, TileRows<Factored<Real>, Real>(outer));
    if (outer.inputs == Inputs::mixed_point)
        return accumulate_by(outer, sums, TileRows<Elementwise<Real>, Real>(outer));
    accumulate_by(outer, sums, SignedRows<Real>(outer));
}

void AccumulateInDouble(const OuterProduct<double>& product, SumBounds sums) {
    accumulate(product, sums);
}
void AccumulateInSingle(const OuterProduct<float>& product, SumBounds sums) {
    accumulate(product, sums);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(AccumulateInDouble);
HWY_EXPORT(AccumulateInSingle);

template <>
void accumulate(const OuterProduct<double>& product, SumBounds sums) {
    HWY_DYNAMIC_DISPATCH(AccumulateInDouble)(product, sums);
}
template <>
void accumulate(const OuterProduct<float>& product, SumBounds sums) {
    HWY_DYNAMIC_DISPATCH(AccumulateInSingle)(product, sums);
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
