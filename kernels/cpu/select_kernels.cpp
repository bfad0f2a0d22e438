// The outer product's sums with a selection of its entries, compiled once an instruction set (Highway).

#include "kernels/cpu/panel_kernels.hpp"

#include <cstring>

#include "kernels/base/error.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/select_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/outer-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// The entries of one record at one row and `lanes` columns, biased.
template <typename Real>
struct Entries {
    Vec<Real> least, greatest;
};

/// What both sides of a selection want of neighbouring parameters: upper bounds less than what it keeps,
/// lower bounds greater. It is collected and inserted many at once: the places lie far apart in memory, and
/// are fetched ahead.
template <typename Real>
class Offers {
  public:
    Offers(LeastEntries& least, const BasicGradientGrid<Real>& grid) : least_(least), grid_(grid) {}

    /// Of `lanes` parameters from `first` on; behind `columns` of them nothing is wanted.
    HWY_INLINE Entries<Real> thresholds(std::size_t first, std::size_t columns) const {
        const double unit = grid_.unit();
        return {biased(least_.negated_lower.thresholds() + first, columns, -unit),
                biased(least_.upper.thresholds() + first, columns, unit)};
    }
    HWY_INLINE void collect(std::size_t place, bool is_lower, Real entry) {
        collected_[count_++] = {entry, is_lower, place};
    }
    /// For another row of a panel.
    HWY_INLINE void make_room() {
        if (count_ > full) insert();
    }
    HWY_NOINLINE void insert() {
        constexpr std::size_t ahead = 16;
        for (std::size_t i = 0; i < count_; ++i) {
            const Offer& later = collected_[std::min(i + ahead, count_ - 1)];
            side(later).prefetch(later.place);
            const Offer& offer = collected_[i];
            const std::int64_t units = grid_.units_of_biased(offer.entry);
            side(offer).insert(offer.place, offer.is_lower ? -units : units);
        }
        count_ = 0;
    }

  private:
    struct Offer {
        Real entry;
        bool is_lower;
        std::size_t place;
    };
    static constexpr std::size_t full = 256;

    Selection& side(const Offer& offer) { return offer.is_lower ? least_.negated_lower : least_.upper; }
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
    std::size_t count_ = 0;
    Offer collected_[full + 2 * height * lanes<Real>];
};

/// The entries of any record at `lanes` columns and rows from one on.
template <typename Real, Inputs Kind>
class TileEntries {
  public:
    HWY_INLINE TileEntries(const Outer<Real>& outer, std::size_t row, std::size_t column)
        : outer_(outer),
          rule_(outer),
          scales_(outer, column),
          delta_lower_(outer.delta_lower.data() + row),
          delta_upper_(outer.delta_upper.data() + row),
          out_(outer.out),
          stride_(outer.stride),
          z_lower_(outer.z_lower + column),
          z_upper_(outer.z_upper + column),
          column_(column) {}

    const Elementwise<Real>& rule() const { return rule_; }
    /// At the `o`th of the rows.
    HWY_INLINE Entries<Real> of(std::size_t record, std::size_t o) const {
        const Real low = delta_lower_[record * out_ + o], high = delta_upper_[record * out_ + o];
        const Vec<Real> lower = hn::Set(reals<Real>, low), upper = hn::Set(reals<Real>, high);
        const std::size_t at = record * stride_;
        if constexpr (Kind == Inputs::scaled) {
            const Corners<Real> corners(outer_, lower, upper, at + column_);
            const Vec<Real> lowest = scales_.least(record), highest = scales_.greatest(record);
            return {rule_.scaled_least(corners.products, lowest, highest),
                    rule_.scaled_greatest(corners.products, lowest, highest)};
        } else {
            const Ends<Real, Kind> z(low, high, z_lower_ + at, z_upper_ + at);
            const Vec<Real> z_least = hn::LoadU(reals<Real>, z.least),
                            z_greatest = hn::LoadU(reals<Real>, z.greatest);
            if constexpr (Kind == Inputs::mixed_point)
                return {rule_.least_of_ends(lower, upper, z_least),
                        rule_.greatest_of_ends(lower, upper, z_least)};
            else
                return {rule_.entry(lower, z_least), rule_.entry(upper, z_greatest)};
        }
    }

  private:
    const Outer<Real>& outer_;
    Elementwise<Real> rule_;
    ScaleLanes<Real> scales_;
    const Real *delta_lower_, *delta_upper_;
    std::size_t out_, stride_;
    const Real *z_lower_, *z_upper_;
    std::size_t column_;
};

/// Which entries of a panel are wanted, at one row and `lanes` columns: a bit each.
template <typename Real>
class WantedBits {
  public:
    HWY_INLINE void set(std::size_t record, hn::Mask<Tag<Real>> low, hn::Mask<Tag<Real>> high) {
        std::uint8_t* to = bytes_ + record * 2 * bytes_a_side;
        hn::StoreMaskBits(reals<Real>, low, to);
        hn::StoreMaskBits(reals<Real>, high, to + bytes_a_side);
    }
    /// Calls visit(record, is it the lower bound, lane) for each of the first `count` records' bits.
    template <typename Visit>
    HWY_INLINE void for_each(std::size_t count, Visit visit) {
        constexpr std::size_t of_side = 8 * bytes_a_side, of_record = 2 * of_side;
        std::fill(bytes_ + count * 2 * bytes_a_side, bytes_ + sizeof bytes_, std::uint8_t{0});
        for (std::size_t first = 0; first < count * of_record; first += 64) {
            std::uint64_t left = 0;
            std::memcpy(&left, bytes_ + first / 8, sizeof left);
            for (; left != 0; left &= left - 1) {
                const std::size_t bit = first + static_cast<std::size_t>(std::countr_zero(left));
                visit(bit / of_record, bit % of_record >= of_side, bit % of_side);
            }
        }
    }

  private:
    static constexpr std::size_t bytes_a_side = (lanes<Real> + 7) / 8;
    alignas(8) std::uint8_t bytes_[height * 2 * bytes_a_side];
};

/// All records at `Rows` rows and `lanes` columns; entry `row, column` is number `first` of the selection.
/// Few entries are wanted, and which ones no processor can foresee: those are formed again once all are
/// added.
template <typename Real, Inputs Kind, std::size_t Rows>
void select_tile(const Outer<Real>& outer, std::size_t row, std::size_t column, std::size_t count,
                 std::size_t first, Offers<Real>& offers, SumBounds sums) {
    const std::size_t columns = outer.columns - column;
    const TileEntries<Real, Kind> entries(outer, row, column);
    const Elementwise<Real> rule = entries.rule();
    Entries<Real> kept[Rows];
    IntegerVec<Real> least[Rows], greatest[Rows];
    WantedBits<Real> wanted[Rows];
    for (std::size_t o = 0; o < Rows; ++o) {
        kept[o] = offers.thresholds(first + o * outer.columns, columns);
        least[o] = greatest[o] = rule.zero();
    }
    for (std::size_t record = 0; record < count; ++record) {
        for (std::size_t o = 0; o < Rows; ++o) {
            const Entries<Real> entry = entries.of(record, o);
            least[o] = rule.add_entry(least[o], entry.least);
            greatest[o] = rule.add_entry(greatest[o], entry.greatest);
            wanted[o].set(record, hn::Lt(entry.greatest, kept[o].greatest),
                          hn::Lt(kept[o].least, entry.least));
        }
    }
    for (std::size_t o = 0; o < Rows; ++o) {
        const SumBounds to = sums.from(o * outer.columns);
        flush<Real>(rule.units(least[o], count), to.lower, columns);
        flush<Real>(rule.units(greatest[o], count), to.upper, columns);
        wanted[o].for_each(count, [&](std::size_t record, bool is_lower, std::size_t lane) HWY_ATTR {
            alignas(64) Real values[lanes<Real>];
            const Entries<Real> entry = entries.of(record, o);
            hn::Store(is_lower ? entry.least : entry.greatest, reals<Real>, values);
            offers.collect(first + o * outer.columns + lane, is_lower, values[lane]);
        });
        offers.make_room();
    }
}

/// All rows at `lanes` columns.
template <typename Real, Inputs Kind>
void select_strip(const Outer<Real>& outer, std::size_t column, std::size_t count, SumBounds sums,
                  const SelectionTarget& target, Offers<Real>& offers) {
    constexpr std::size_t rows = 2;
    const std::int64_t* const arrays[] = {sums.lower, sums.upper,
                                          target.least.upper.thresholds() + target.first_entry,
                                          target.least.negated_lower.thresholds() + target.first_entry};
    std::size_t row = 0;
    const auto select = [&]<std::size_t Rows>() {
        const std::size_t at = row * outer.columns + column;
        select_tile<Real, Kind, Rows>(outer, row, column, count, target.first_entry + at, offers,
                                      sums.from(at));
        row += Rows;
    };
    while (row + rows <= outer.out) {
        for (const std::int64_t* array : arrays)
            prefetch_rows(array, outer.columns, row + rows, std::min(row + 2 * rows, outer.out), column,
                          lanes<Real>);
        select.template operator()<rows>();
    }
    while (row < outer.out) select.template operator()<1>();
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
    Offers<Real> offers(target.least, outer.grid);
    const std::size_t strips = (outer.columns + lanes<Real> - 1) / lanes<Real>;
    target.least.upper.for_each_stripe(strips, [&](std::size_t strip) {
        select(outer, strip * lanes<Real>, product.count, sums, target, offers);
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
