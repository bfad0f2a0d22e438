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

/// The entries of one record at one row and `lanes` columns.
template <typename Real>
struct Entries {
    Vec<Real> least, greatest;
};

/// Those of any record.
template <typename Real, Inputs Kind>
class RowEntries {
  public:
    HWY_INLINE RowEntries(const Outer<Real>& outer, const Elementwise<Real>& rule, std::size_t row,
                          std::size_t column)
        : outer_(outer), rule_(rule), scales_(outer, column), row_(row), column_(column) {}

    HWY_INLINE Entries<Real> of(std::size_t record) const {
        const Real low = outer_.delta_lower[record * outer_.out + row_],
                   high = outer_.delta_upper[record * outer_.out + row_];
        const Vec<Real> lower = hn::Set(reals<Real>, low), upper = hn::Set(reals<Real>, high);
        const std::size_t at = record * outer_.stride + column_;
        if constexpr (Kind == Inputs::scaled) {
            const Corners<Real> corners(outer_, lower, upper, at);
            const Vec<Real> lowest = scales_.least(record), highest = scales_.greatest(record);
            return {rule_.scaled_least(corners.products, lowest, highest),
                    rule_.scaled_greatest(corners.products, lowest, highest)};
        } else {
            const Ends<Real, Kind> z(low, high, outer_.z_lower + at, outer_.z_upper + at);
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
    const Elementwise<Real>& rule_;
    ScaleLanes<Real> scales_;
    std::size_t row_, column_;
};

// Records are looked at in groups, with one branch a group: few have an entry below its threshold.
constexpr std::size_t group = 4;
static_assert(height % group == 0);

/// One side's entries of a group, and a bit for each that is wanted: no branch a record, which no processor
/// could foresee.
template <typename Real, bool Negated>
class GroupOffers {
  public:
    HWY_INLINE GroupOffers() {}
    HWY_INLINE void set(std::size_t at, Vec<Real> entries, const Offers<Real, Negated>& offers) {
        static_assert(group * lanes<Real> <= 64);
        std::uint8_t bits[8] = {};
        hn::Store(entries, reals<Real>, entries_ + at * lanes<Real>);
        hn::StoreMaskBits(reals<Real>, offers.wanted(entries), bits);
        wanted_ |= std::uint64_t{bits[0] | unsigned{bits[1]} << 8} << (at * lanes<Real>);
    }
    HWY_INLINE void insert(Offers<Real, Negated>& offers) const {
        for (std::uint64_t left = wanted_; left != 0; left &= left - 1) {
            const auto at = static_cast<std::size_t>(std::countr_zero(left));
            offers.insert(at % lanes<Real>, entries_[at]);
        }
    }

  private:
    std::uint64_t wanted_ = 0;
    alignas(64) Real entries_[group * lanes<Real>];
};

/// Offers those of the records [first, last) of a group, formed once more: few groups have any that is
/// wanted, and the others need not keep theirs.
template <typename Real, Inputs Kind>
HWY_NOINLINE void offer(const RowEntries<Real, Kind>& entries, std::size_t first, std::size_t last,
                        Offers<Real, false>& above, Offers<Real, true>& below) {
    GroupOffers<Real, false> upper;
    GroupOffers<Real, true> lower;
    for (std::size_t record = first; record < last; ++record) {
        const Entries<Real> entry = entries.of(record);
        upper.set(record - first, entry.greatest, above);
        lower.set(record - first, entry.least, below);
    }
    upper.insert(above);
    lower.insert(below);
}

/// All records at one row and `lanes` columns; upper bounds go to `above`, lower bounds negated to `below`.
template <typename Real, Inputs Kind>
void select_entries(const Outer<Real>& outer, const Elementwise<Real>& rule, std::size_t row,
                    std::size_t column, std::size_t count, Offers<Real, false>& above,
                    Offers<Real, true>& below, std::int64_t* sum_lower, std::int64_t* sum_upper) {
    const RowEntries<Real, Kind> entries(outer, rule, row, column);
    auto least = rule.zero(), greatest = rule.zero();
    for (std::size_t first = 0; first < count; first += group) {
        // If any is wanted: no upper bound is, if not the least, no lower bound, if not the greatest.
        Vec<Real> least_upper = hn::Set(reals<Real>, std::numeric_limits<Real>::infinity()),
                  greatest_lower = hn::Neg(least_upper);
        for (std::size_t record = first; record < first + group; ++record) {
            const Entries<Real> entry = entries.of(record);
            least = rule.add_entry(least, entry.least);
            greatest = rule.add_entry(greatest, entry.greatest);
            least_upper = hn::Min(least_upper, entry.greatest);
            greatest_lower = hn::Max(greatest_lower, entry.least);
        }
        if (!hn::AllFalse(reals<Real>, hn::Or(above.wanted(least_upper), below.wanted(greatest_lower))))
            offer<Real, Kind>(entries, first, std::min(first + group, count), above, below);
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
        if (row + 1 < outer.out) {  // its lines lie a row apart, where no processor looks by itself
            const std::size_t next = index + outer.columns;
            __builtin_prefetch(sums.lower + next);
            __builtin_prefetch(sums.upper + next);
            target.least.upper.prefetch(target.first_entry + next);
            target.least.negated_lower.prefetch(target.first_entry + next);
        }
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
