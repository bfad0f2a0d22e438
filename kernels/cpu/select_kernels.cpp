// The outer product's sums with a selection of its entries, compiled once an instruction set (Highway).

#include "kernels/cpu/panel_kernels.hpp"

#include <optional>

#include "kernels/base/error.hpp"
#include "kernels/cpu/offers.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/select_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/signed_factors-inl.hpp"
#include "kernels/cpu/wanted-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// The entries of one record at one row and `lanes` columns, biased.
template <typename Real>
struct Entries {
    Vec<Real> least, greatest;
};

/// What each side of a selection keeps, as biased entries, and what is wanted of them: upper bounds less than
/// that, lower bounds greater.
template <typename Real>
class BiasedOffers {
  public:
    BiasedOffers(LeastEntries& least, const BasicGradientGrid<Real>& grid)
        : least_(least), grid_(grid), offers_(least) {}

    /// Of `lanes` parameters from `first` on; behind `columns` of them nothing is wanted.
    HWY_INLINE Vec<Real> threshold(bool is_lower, std::size_t first, std::size_t columns) const {
        if (is_lower) return biased(least_.negated_lower.thresholds() + first, columns, -grid_.unit());
        return biased(least_.upper.thresholds() + first, columns, grid_.unit());
    }
    HWY_INLINE void collect(std::size_t place, bool is_lower, Real entry) {
        offers_.collect(place, is_lower, grid_.units_of_biased(entry));
    }
    void insert() { offers_.insert(); }

  private:
    HWY_INLINE Vec<Real> biased(const std::int64_t* thresholds, std::size_t columns, double unit) const {
        alignas(64) std::int64_t some[lanes<Real>];
        if (columns < lanes<Real>) {
            std::fill(std::copy_n(thresholds, columns, some), some + lanes<Real>, INT64_MIN);
            thresholds = some;
        }
        alignas(64) Real limits[lanes<Real>];
        const Vec<double> bias = hn::Set(reals<double>, grid_.bias()), units = hn::Set(reals<double>, unit);
        for (std::size_t i = 0; i < lanes<Real>; i += lanes<double>) {
            const auto values = hn::ConvertTo(reals<double>, hn::LoadU(integers<double>, thresholds + i));
            store_narrow(hn::Add(bias, hn::Mul(values, units)), limits + i);
        }
        return hn::Load(reals<Real>, limits);
    }

    LeastEntries& least_;
    const BasicGradientGrid<Real>& grid_;
    Offers offers_;
};

/// The entries of any record at a tile's rows and `lanes` columns: `column`, of the layer, is `behind` the
/// strip's first.
template <typename Real, Inputs Kind>
class TileEntries {
  public:
    HWY_INLINE TileEntries(const Outer<Real>& outer, const Strip<Real>& strip, std::size_t row,
                           std::size_t column, std::size_t behind)
        : rule_(outer),
          scales_(outer, column),
          delta_lower_(outer.delta_lower + row * height),
          delta_upper_(outer.delta_upper + row * height),
          z_lower_(strip.lower() + behind),
          z_upper_(strip.upper() + behind) {}

    const Elementwise<Real>& rule() const { return rule_; }
    /// At the `o`th of the rows.
    HWY_INLINE Entries<Real> of(std::size_t record, std::size_t o) const {
        const Real low = delta_lower_[o * height + record], high = delta_upper_[o * height + record];
        const Vec<Real> lower = hn::Set(reals<Real>, low), upper = hn::Set(reals<Real>, high);
        const Real* z_lower = z_lower_ + record * Strip<Real>::width;
        const Real* z_upper = z_upper_ + record * Strip<Real>::width;
        if constexpr (Kind == Inputs::scaled) {
            const Corners<Real> corners(lower, upper, z_lower, z_upper);
            const Vec<Real> lowest = scales_.least(record), highest = scales_.greatest(record);
            return {rule_.scaled_least(corners.products, lowest, highest),
                    rule_.scaled_greatest(corners.products, lowest, highest)};
        } else if constexpr (Kind == Inputs::mixed_point) {
            const Vec<Real> z = hn::Load(reals<Real>, z_lower);
            return {rule_.entry_of_signs(lower, upper, z), rule_.entry_of_signs(upper, lower, z)};
        } else {
            const Ends<Real, Kind> z(low, high, z_lower, z_upper);
            return {rule_.entry(lower, hn::Load(reals<Real>, z.least)),
                    rule_.entry(upper, hn::Load(reals<Real>, z.greatest))};
        }
    }

  private:
    Elementwise<Real> rule_;
    ScaleLanes<Real> scales_;
    const Real *delta_lower_, *delta_upper_, *z_lower_, *z_upper_;
};

/// What a selection by strips is of.
template <typename Real>
struct Task {
    const Outer<Real>& outer;
    const Strip<Real>& strip;
    std::size_t column;       // the strip's first
    std::size_t count;        // records
    std::size_t first_entry;  // of the layer, in the selection
    SumBounds sums;           // of the layer

    std::size_t entry(std::size_t row) const { return row * outer.columns + column; }
};

/// All records at `Rows` rows and `lanes` columns, `behind` the strip's first. Few entries are wanted, and
/// which ones no processor can foresee: those are formed again once all are added.
template <typename Real, Inputs Kind, std::size_t Rows>
HWY_INLINE void select_tile(const Task<Real>& task, std::size_t row, std::size_t behind,
                            BiasedOffers<Real>& offers) {
    const std::size_t stride = task.outer.columns, column = task.column + behind, columns = stride - column,
                      at = task.entry(row) + behind, first = task.first_entry + at;
    const TileEntries<Real, Kind> entries(task.outer, task.strip, row, column, behind);
    const Elementwise<Real> rule = entries.rule();
    Vec<Real> kept_least[Rows], kept_greatest[Rows];
    IntegerVec<Real> least[Rows], greatest[Rows];
    WantedMasks<Tag<Real>> wanted[Rows];
    for (std::size_t o = 0; o < Rows; ++o) {
        kept_least[o] = offers.threshold(true, first + o * stride, columns);
        kept_greatest[o] = offers.threshold(false, first + o * stride, columns);
        least[o] = greatest[o] = rule.zero();
    }
    for (std::size_t record = 0; record < task.count; ++record) {
        for (std::size_t o = 0; o < Rows; ++o) {
            const Entries<Real> entry = entries.of(record, o);
            least[o] = rule.add_entry(least[o], entry.least);
            greatest[o] = rule.add_entry(greatest[o], entry.greatest);
            wanted[o].set(2 * record, hn::Lt(entry.greatest, kept_greatest[o]));
            wanted[o].set(2 * record + 1, hn::Lt(kept_least[o], entry.least));
        }
    }
    for (std::size_t o = 0; o < Rows; ++o) {
        const SumBounds to = task.sums.from(at + o * stride);
        flush<Real>(rule.units(least[o], task.count), to.lower, columns);
        flush<Real>(rule.units(greatest[o], task.count), to.upper, columns);
        wanted[o].for_each(2 * task.count, [&](std::size_t index, std::size_t lane) HWY_ATTR {
            alignas(64) Real values[lanes<Real>];
            const bool is_lower = index % 2 != 0;
            const Entries<Real> entry = entries.of(index / 2, o);
            hn::Store(is_lower ? entry.least : entry.greatest, reals<Real>, values);
            offers.collect(first + o * stride + lane, is_lower, values[lane]);
        });
    }
}

/// One bound at one row and Columns vectors of columns, in parts. Of the lower bounds the greatest are
/// wanted, of the upper ones the least: where only lower bounds above 0 are, or upper ones below, the part of
/// the other sign is added unseen.
template <typename Real, bool Lower, std::size_t Columns>
class BoundSelection {
  public:
    /// The entry is number `first` of the selection, the first of `columns` in its row.
    HWY_INLINE BoundSelection(const Elementwise<Real>& rule, std::size_t first, std::size_t columns,
                              const BiasedOffers<Real>& offers)
        : rule_(rule), first_(first), columns_(columns) {
        for (std::size_t c = 0; c < Columns; ++c)
            kept_[c] = offers.threshold(Lower, first + c * lanes<Real>, columns - c * lanes<Real>);
    }
    HWY_INLINE bool one_sign_is_wanted() const {
        bool one = true;
        for (const Vec<Real> limit : kept_)
            one &= hn::AllFalse(reals<Real>, Lower ? hn::Lt(limit, rule_.bias) : hn::Lt(rule_.bias, limit));
        return one;
    }
    HWY_INLINE void run(const typename Parts<Real>::Pair& parts, BiasedOffers<Real>& offers,
                        std::int64_t* sums) const {
        constexpr Sign seen = Lower ? Sign::positive : Sign::negative,
                       unseen = Lower ? Sign::negative : Sign::positive;
        const Part<Real>& part = parts[Lower ? 0 : 1];
        IntegerVec<Real> sum[Columns];
        for (auto& at : sum) at = rule_.zero();
        WantedMasks<Tag<Real>> wanted;
        for (std::size_t i = 0; i < part.count; ++i) {
            const Vec<Real> factor = part.factor(i);
            const Real* z = part.activations(i);
            for (std::size_t c = 0; c < Columns; ++c) {
                const Vec<Real> entry =
                    rule_.template entry<seen>(factor, hn::Load(reals<Real>, z + c * lanes<Real>));
                sum[c] = rule_.add_entry(sum[c], entry);
                wanted.set(i * Columns + c, Lower ? hn::Lt(kept_[c], entry) : hn::Lt(entry, kept_[c]));
            }
        }
        add_part<unseen>(rule_, parts[Lower ? 1 : 0], sum);
        flush_row<Real>(rule_, sum, parts[0].count + parts[1].count, sums, columns_);
        wanted.for_each(part.count * Columns, [&](std::size_t mask, std::size_t lane) HWY_ATTR {
            const std::size_t i = mask / Columns, behind = mask % Columns * lanes<Real> + lane;
            const Real factor = part.factors[part.records[i]], z = part.activations(i)[behind];
            offers.collect(first_ + behind, Lower, rule_.template one<seen>(factor, z));
        });
    }

  private:
    const Elementwise<Real>& rule_;
    std::size_t first_, columns_;
    Vec<Real> kept_[Columns];
};

/// One row at Columns vectors of columns, where every side wants one sign only; false where it does not.
template <typename Real, std::size_t Columns>
HWY_INLINE bool select_parts(const Task<Real>& task, const Parts<Real>& parts, std::size_t row,
                             BiasedOffers<Real>& offers) {
    const Elementwise<Real> rule(task.outer);
    const std::size_t at = task.entry(row), columns = task.outer.columns - task.column;
    const BoundSelection<Real, true, Columns> lower(rule, task.first_entry + at, columns, offers);
    const BoundSelection<Real, false, Columns> upper(rule, task.first_entry + at, columns, offers);
    if (!lower.one_sign_is_wanted() || !upper.one_sign_is_wanted()) return false;
    lower.run(parts.least(row, task.strip), offers, task.sums.lower + at);
    upper.run(parts.greatest(row, task.strip), offers, task.sums.upper + at);
    return true;
}

/// All rows at one strip. Parts: of activations >= 0.
template <typename Real, Inputs Kind>
void select_strip(const Task<Real>& task, const std::optional<Parts<Real>>& parts, LeastEntries& least,
                  BiasedOffers<Real>& offers) {
    constexpr bool by_parts = Kind == Inputs::box || Kind == Inputs::nonnegative_point;
    constexpr std::size_t rows = by_parts ? 1 : 2;
    const std::size_t out = task.outer.out, stride = task.outer.columns;
    const std::int64_t* const arrays[] = {task.sums.lower, task.sums.upper,
                                          least.upper.thresholds() + task.first_entry,
                                          least.negated_lower.thresholds() + task.first_entry};
    const auto sweep = [&]<std::size_t Columns>() {
        const auto select = [&]<std::size_t Rows>(std::size_t row) HWY_ATTR {
            bool done = false;
            if constexpr (by_parts) done = select_parts<Real, Columns>(task, *parts, row, offers);
            for (std::size_t c = 0; !done && c < Columns; ++c)
                select_tile<Real, Kind, Rows>(task, row, c * lanes<Real>, offers);
        };
        std::size_t row = 0;
        for (; row + rows <= out; row += rows) {
            for (const std::int64_t* array : arrays)
                prefetch_rows(array, stride, row + rows, std::min(row + 2 * rows, out), task.column,
                              Columns * lanes<Real>);
            select.template operator()<rows>(row);
        }
        for (; row < out; ++row) select.template operator()<1>(row);
    };
    if (task.column + lanes<Real> < stride)
        sweep.template operator()<strip_vectors>();
    else
        sweep.template operator()<1>();
    offers.insert();
}

template <typename Real>
void accumulate_and_select(const OuterProduct<Real>& product, SumBounds sums, const SelectionTarget& target) {
    const Outer<Real> outer = prepare<Real>(product);
    ensure(!outer.point, "a point's gradients are not selected");
    const auto select = outer.inputs == Inputs::box      ? &select_strip<Real, Inputs::box>
                        : outer.inputs == Inputs::scaled ? &select_strip<Real, Inputs::scaled>
                        : outer.inputs == Inputs::nonnegative_point
                            ? &select_strip<Real, Inputs::nonnegative_point>
                            : &select_strip<Real, Inputs::mixed_point>;
    BiasedOffers<Real> offers(target.least, outer.grid);
    std::optional<Parts<Real>> parts;
    if (outer.inputs == Inputs::box || outer.inputs == Inputs::nonnegative_point) parts.emplace(outer);
    Strip<Real> z;
    target.least.upper.for_each_stripe(Strip<Real>::count(outer), [&](std::size_t strip) {
        z.load(outer, strip);
        const std::size_t column = strip * Strip<Real>::width;
        select({outer, z, column, product.count, target.first_entry, sums}, parts, target.least, offers);
    });
}

void SelectInDouble(const OuterProduct<double>& product, SumBounds sums, const SelectionTarget& target) {
    accumulate_and_select(product, sums, target);
}
void SelectInSingle(const OuterProduct<float>& product, SumBounds sums, const SelectionTarget& target) {
    accumulate_and_select(product, sums, target);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(SelectInDouble);
HWY_EXPORT(SelectInSingle);

template <>
void accumulate_and_select(const OuterProduct<double>& product, SumBounds sums,
                           const SelectionTarget& target) {
    HWY_DYNAMIC_DISPATCH(SelectInDouble)(product, sums, target);
}
template <>
void accumulate_and_select(const OuterProduct<float>& product, SumBounds sums,
                           const SelectionTarget& target) {
    HWY_DYNAMIC_DISPATCH(SelectInSingle)(product, sums, target);
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
