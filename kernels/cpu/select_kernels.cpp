// The outer product's sums with a selection of its entries, compiled once an instruction set (Highway).

#include "kernels/cpu/panel_kernels.hpp"

#include "kernels/base/error.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/select_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/outer-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// Biased entries that records offer to one side of a selection, for `lanes` neighbouring parameters;
/// compared with biased thresholds, which are Reals as exact as they.
template <typename Real, bool Negated>
class Offers {
  public:
    Offers(Selection& selection, std::size_t first_entry, std::size_t columns,
           const BasicGradientGrid<Real>& grid)
        : selection_(selection), entry_(first_entry), grid_(grid) {
        for (std::size_t lane = 0; lane < lanes<Real>; ++lane)
            thresholds_[lane] = lane < columns ? threshold(entry_ + lane) : Negated ? infinity : -infinity;
    }
    HWY_INLINE hn::Mask<Tag<Real>> wanted(Vec<Real> entries) const {
        const Vec<Real> thresholds = hn::Load(reals<Real>, thresholds_);
        return Negated ? hn::Lt(thresholds, entries) : hn::Lt(entries, thresholds);
    }
    HWY_INLINE void insert(std::size_t lane, Real entry) {
        const std::int64_t units = grid_.units_of_biased(entry);
        if (selection_.insert(entry_ + lane, Negated ? -units : units))
            thresholds_[lane] = threshold(entry_ + lane);
    }

  private:
    Real threshold(std::size_t entry) const {
        const std::int64_t units = selection_.threshold(entry);
        if (units == INT64_MAX) return Negated ? -infinity : infinity;
        if (units == INT64_MIN) return Negated ? infinity : -infinity;
        return grid_.bias() + static_cast<Real>(Negated ? -units : units) * grid_.unit();
    }

    static constexpr Real infinity = std::numeric_limits<Real>::infinity();

    Selection& selection_;
    std::size_t entry_;
    const BasicGradientGrid<Real>& grid_;
    alignas(64) Real thresholds_[lanes<Real>];
};

// Records are looked at in groups, with one branch a group: few have an entry below its threshold.
constexpr std::size_t group = 4;
static_assert(height % group == 0);

/// The bounds of a group's entries.
template <typename Real>
struct Group {
    Vec<Real> greatest[group], least[group];

    HWY_INLINE Group() {}

    /// If any is wanted: no upper bound is, if not the least, no lower bound, if not the greatest.
    HWY_INLINE bool any_wanted(const Offers<Real, false>& above, const Offers<Real, true>& below) const {
        Vec<Real> least_upper = greatest[0], greatest_lower = least[0];
        for (std::size_t i = 1; i < group; ++i) {
            least_upper = hn::Min(least_upper, greatest[i]);
            greatest_lower = hn::Max(greatest_lower, least[i]);
        }
        return !hn::AllFalse(reals<Real>, hn::Or(above.wanted(least_upper), below.wanted(greatest_lower)));
    }
    /// Offers those of the first `count` records.
    HWY_NOINLINE void insert(std::size_t count, Offers<Real, false>& above, Offers<Real, true>& below) const {
        for (std::size_t i = 0; i < std::min(group, count); ++i) {
            insert_side(greatest[i], above);
            insert_side(least[i], below);
        }
    }
    template <bool Negated>
    HWY_INLINE static void insert_side(Vec<Real> entries, Offers<Real, Negated>& offers) {
        const auto wanted = offers.wanted(entries);
        if (hn::AllFalse(reals<Real>, wanted)) return;
        alignas(64) Real values[lanes<Real>];
        std::uint8_t bits[8] = {};
        hn::Store(entries, reals<Real>, values);
        hn::StoreMaskBits(reals<Real>, wanted, bits);
        static_assert(lanes<Real> <= 16);
        for (unsigned left = bits[0] | unsigned{bits[1]} << 8; left != 0; left &= left - 1) {
            const auto lane = static_cast<std::size_t>(std::countr_zero(left));
            offers.insert(lane, values[lane]);
        }
    }
};

/// All records at one row and `lanes` columns; upper bounds go to `above`, lower bounds negated to `below`.
template <typename Real, Inputs Kind>
void select_entries(const Outer<Real>& outer, const Elementwise<Real>& rule, std::size_t row,
                    std::size_t column, std::size_t count, Offers<Real, false>& above,
                    Offers<Real, true>& below, std::int64_t* sum_lower, std::int64_t* sum_upper) {
    auto least = rule.zero(), greatest = rule.zero();
    const ScaleLanes<Real> scales(outer, column);
    for (std::size_t first = 0; first < count; first += group) {
        Group<Real> entries;
        for (std::size_t i = 0; i < group; ++i) {
            const std::size_t r = first + i;
            const Real low = outer.delta_lower[r * outer.out + row],
                       high = outer.delta_upper[r * outer.out + row];
            const Vec<Real> lower = hn::Set(reals<Real>, low), upper = hn::Set(reals<Real>, high);
            if constexpr (Kind == Inputs::scaled) {
                const Corners<Real> corners(outer, lower, upper, r * outer.stride + column);
                const Vec<Real> lowest = scales.least(r), highest = scales.greatest(r);
                entries.least[i] = rule.scaled_least(corners.products, lowest, highest);
                entries.greatest[i] = rule.scaled_greatest(corners.products, lowest, highest);
            } else {
                const Ends<Real, Kind> z(low, high, outer.z_lower + r * outer.stride + column,
                                         outer.z_upper + r * outer.stride + column);
                const Vec<Real> z_least = hn::LoadU(reals<Real>, z.least),
                                z_greatest = hn::LoadU(reals<Real>, z.greatest);
                if constexpr (Kind == Inputs::mixed_point) {
                    entries.least[i] = rule.least_of_ends(lower, upper, z_least);
                    entries.greatest[i] = rule.greatest_of_ends(lower, upper, z_least);
                } else {
                    entries.least[i] = rule.entry(lower, z_least);
                    entries.greatest[i] = rule.entry(upper, z_greatest);
                }
            }
            least = rule.add_entry(least, entries.least[i]);
            greatest = rule.add_entry(greatest, entries.greatest[i]);
        }
        if (entries.any_wanted(above, below)) entries.insert(count - first, above, below);
    }
    const std::size_t records = (count + group - 1) / group * group, columns = outer.columns - column;
    flush<Real>(rule.units(least, records), sum_lower, columns);
    flush<Real>(rule.units(greatest, records), sum_upper, columns);
}

/// All rows at `lanes` columns.
template <typename Real>
void select_strip(const Outer<Real>& outer, const Elementwise<Real>& rule, std::size_t column,
                  std::size_t count, SumBounds sums, const SelectionTarget& target) {
    const std::size_t columns = std::min(lanes<Real>, outer.columns - column);
    const auto select = outer.inputs == Inputs::box      ? &select_entries<Real, Inputs::box>
                        : outer.inputs == Inputs::scaled ? &select_entries<Real, Inputs::scaled>
                        : outer.inputs == Inputs::nonnegative_point
                            ? &select_entries<Real, Inputs::nonnegative_point>
                            : &select_entries<Real, Inputs::mixed_point>;
    for (std::size_t row = 0; row < outer.out; ++row) {
        const std::size_t index = row * outer.columns + column;
        Offers<Real, false> above(target.least.upper, target.first_entry + index, columns, outer.grid);
        Offers<Real, true> below(target.least.negated_lower, target.first_entry + index, columns, outer.grid);
        select(outer, rule, row, column, count, above, below, sums.lower + index, sums.upper + index);
    }
}

template <typename Real>
void accumulate_and_select(const OuterProduct<Real>& product, SumBounds sums, const SelectionTarget& target) {
    const Outer<Real> outer = prepare<Real>(product);
    ensure(!outer.point, "a point's gradients are not selected");
    const Elementwise<Real> rule(outer);
    const std::size_t strips = (outer.columns + lanes<Real> - 1) / lanes<Real>;
    target.least.upper.for_each_stripe(strips, [&](std::size_t strip) {
        select_strip(outer, rule, strip * lanes<Real>, product.count, sums, target);
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
