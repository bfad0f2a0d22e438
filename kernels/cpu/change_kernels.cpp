// What poisoning could add to the entries of an outer product, compiled once an instruction set (Highway).

#include "kernels/cpu/panel_kernels.hpp"

#include "kernels/base/error.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/change_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/outer-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// Changes below 0 that records offer to one side of a selection, for `lanes` neighbouring parameters, as
/// multiples of the grid's unit: differences of two biased entries, exact as both are of one binade.
template <typename Real>
class ChangeOffers {
  public:
    ChangeOffers(Selection& selection, std::size_t first_entry, std::size_t columns, Real unit)
        : selection_(selection), entry_(first_entry), unit_(unit) {
        constexpr Real infinity = std::numeric_limits<Real>::infinity();
        for (std::size_t lane = 0; lane < lanes<Real>; ++lane)
            thresholds_[lane] = lane < columns ? threshold(entry_ + lane) : -infinity;
    }
    HWY_INLINE hn::Mask<Tag<Real>> wanted(Vec<Real> changes) const {
        return hn::Lt(changes, hn::Load(reals<Real>, thresholds_));
    }
    HWY_NOINLINE void insert(Vec<Real> changes) {
        const auto mask = wanted(changes);
        if (hn::AllFalse(reals<Real>, mask)) return;
        alignas(64) Real values[lanes<Real>];
        std::uint8_t bits[8] = {};
        hn::Store(changes, reals<Real>, values);
        hn::StoreMaskBits(reals<Real>, mask, bits);
        static_assert(lanes<Real> <= 16);
        for (unsigned left = bits[0] | unsigned{bits[1]} << 8; left != 0; left &= left - 1) {
            const auto lane = static_cast<std::size_t>(std::countr_zero(left));
            if (selection_.insert(entry_ + lane, static_cast<std::int64_t>(values[lane] / unit_)))
                thresholds_[lane] = threshold(entry_ + lane);
        }
    }

  private:
    Real threshold(std::size_t entry) const {
        const std::int64_t units = selection_.threshold(entry);
        if (units == INT64_MIN) return -std::numeric_limits<Real>::infinity();
        return static_cast<Real>(std::min<std::int64_t>(units, 0)) * unit_;
    }

    Selection& selection_;
    std::size_t entry_;
    Real unit_;
    alignas(64) Real thresholds_[lanes<Real>];
};

/// The bounds of one record's entries at a row and `lanes` columns. Of either end of delta, its sign picks
/// the end of z that makes the product least, or greatest.
template <typename Real>
struct EntryBounds {
    Vec<Real> least, greatest;

    HWY_INLINE EntryBounds(const Outer<Real>& outer, const Elementwise<Real>& rule, std::size_t record,
                           std::size_t row, std::size_t column) {
        const Real low = outer.delta_lower[row * height + record],
                   high = outer.delta_upper[row * height + record];
        const Real* z_lower = outer.z_lower + record * outer.stride + column;
        const Real* z_upper = outer.z_upper + record * outer.stride + column;
        const auto product = [&](Real delta, const Real* z) HWY_ATTR {
            return fused(hn::Set(reals<Real>, delta), hn::LoadU(reals<Real>, z), rule.bias);
        };
        least = rule.clipped(hn::Min(product(low, by_sign(low, z_lower, z_upper)),
                                     product(high, by_sign(high, z_lower, z_upper))));
        greatest = rule.clipped(hn::Max(product(low, by_sign(low, z_upper, z_lower)),
                                        product(high, by_sign(high, z_upper, z_lower))));
    }
};

/// All rows at `lanes` columns.
template <typename Real>
void offer_strip(const Outer<Real>& record, const Outer<Real>& poisoned, std::size_t column,
                 std::size_t count, const SelectionTarget& target) {
    const Elementwise<Real> rule(record);
    const std::size_t columns = std::min(lanes<Real>, record.columns - column);
    const Real unit = record.grid.unit();
    for (std::size_t row = 0; row < record.out; ++row) {
        const std::size_t entry = target.first_entry + row * record.columns + column;
        ChangeOffers<Real> above(target.least.upper, entry, columns, unit),
            below(target.least.negated_lower, entry, columns, unit);
        for (std::size_t r = 0; r < count; ++r) {
            const EntryBounds<Real> before(record, rule, r, row, column),
                after(poisoned, rule, r, row, column);
            const Vec<Real> up = hn::Sub(before.greatest, after.greatest),
                            down = hn::Sub(after.least, before.least);
            if (hn::AllFalse(reals<Real>, hn::Or(above.wanted(up), below.wanted(down)))) continue;
            above.insert(up);
            below.insert(down);
        }
    }
}

template <typename Real>
void offer_changes(const OuterProduct<Real>& record, const OuterProduct<Real>& poisoned,
                   const SelectionTarget& target) {
    const Outer<Real> before = prepare<Real>(record), after = prepare<Real>(poisoned);
    ensure(!before.point && !after.point && !record.clip.by_factors(),
           "changes are of entries, between boxes");
    target.least.upper.for_each_stripe(Strip<Real>::count(before), [&](std::size_t strip) {
        const std::size_t first = strip * strip_vectors, last = first + strip_vectors;
        for (std::size_t v = first; v < last && v * lanes<Real> < before.columns; ++v)
            offer_strip(before, after, v * lanes<Real>, record.count, target);
    });
}

void ChangesInDouble(const OuterProduct<double>& record, const OuterProduct<double>& poisoned,
                     const SelectionTarget& target) {
    offer_changes(record, poisoned, target);
}
void ChangesInSingle(const OuterProduct<float>& record, const OuterProduct<float>& poisoned,
                     const SelectionTarget& target) {
    offer_changes(record, poisoned, target);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(ChangesInDouble);
HWY_EXPORT(ChangesInSingle);

template <>
void offer_changes(const OuterProduct<double>& record, const OuterProduct<double>& poisoned,
                   const SelectionTarget& target) {
    HWY_DYNAMIC_DISPATCH(ChangesInDouble)(record, poisoned, target);
}
template <>
void offer_changes(const OuterProduct<float>& record, const OuterProduct<float>& poisoned,
                   const SelectionTarget& target) {
    HWY_DYNAMIC_DISPATCH(ChangesInSingle)(record, poisoned, target);
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
