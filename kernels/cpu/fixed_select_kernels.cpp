// The entries of a factored clip in fixed precision, offered to a selection; compiled once an instruction set
// (Highway). Entries are products of two integers, so they are formed anywhere, and again, with the same
// bits.

#include <algorithm>

#include "kernels/base/error.hpp"
#include "kernels/cpu/fixed_kernels.hpp"
#include "kernels/cpu/offers.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fixed_select_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/fixed_grid-inl.hpp"
#include "kernels/cpu/wanted-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// Both bounds of some values as integers; of points, `lower` alone.
struct UnitBounds {
    AlignedVector<std::int32_t> lower, upper;
    const std::int32_t* least() const { return lower.data(); }
    const std::int32_t* greatest() const { return upper.empty() ? lower.data() : upper.data(); }
};

template <typename Units>
UnitBounds bounds_of(BasicConstInterval<float> values, Units units) {
    UnitBounds bounds{units(values.lower), {}};
    if (!values.is_point()) bounds.upper = units(values.upper);
    return bounds;
}

struct UnitEntry {
    std::int64_t least, greatest;
};

/// The factors of a panel's entries.
class UnitFactors {
  public:
    UnitFactors(const OuterProduct<float>& product, int bits)
        : on_(product.clip, bits),
          in_(product.shape.in),
          delta_(bounds_of(product.delta,
                           [&](const float* values) { return rows_of(product.shape.out, values); })),
          z_(bounds_of(product.z_rows, [&](const float* values) { return strips_of(product, values); })) {}

    std::size_t columns() const { return in_ + 1; }
    std::size_t strips() const { return (columns() + int_lanes - 1) / int_lanes; }
    bool z_is_point() const { return z_.upper.empty(); }
    /// Of a row: [height].
    UnitEntry delta(std::size_t row, std::size_t record) const {
        return {delta_.least()[row * height + record], delta_.greatest()[row * height + record]};
    }
    /// Of `int_lanes` columns of one record.
    const std::int32_t* z_lower(std::size_t strip, std::size_t record) const {
        return z_.least() + (strip * height + record) * int_lanes;
    }
    const std::int32_t* z_upper(std::size_t strip, std::size_t record) const {
        return z_.greatest() + (strip * height + record) * int_lanes;
    }
    UnitEntry weight(std::size_t row, std::size_t strip, std::size_t record, std::size_t lane) const {
        return corners(delta(row, record), z_lower(strip, record)[lane], z_upper(strip, record)[lane]);
    }
    UnitEntry bias(std::size_t row, std::size_t record) const {
        return corners(delta(row, record), on_.one(), on_.one());
    }

  private:
    static UnitEntry corners(UnitEntry delta, std::int64_t z_lower, std::int64_t z_upper) {
        const auto [least, greatest] = std::minmax({delta.least * z_lower, delta.least * z_upper,
                                                    delta.greatest * z_lower, delta.greatest * z_upper});
        return {least, greatest};
    }
    AlignedVector<std::int32_t> rows_of(std::size_t rows, const float* values) const {
        AlignedVector<std::int32_t> units(rows * height);
        const Grid on(on_.delta);
        for (std::size_t i = 0; i < units.size(); i += int_lanes)
            hn::Store(on.units(values + i), IntTag(), units.data() + i);
        return units;
    }
    /// [strips, height, int_lanes], of the records there are.
    AlignedVector<std::int32_t> strips_of(const OuterProduct<float>& product, const float* values) const {
        AlignedVector<std::int32_t> units(strips() * height * int_lanes);
        const Grid on(on_.z);
        for (std::size_t strip = 0; strip < strips(); ++strip) {
            for (std::size_t record = 0; record < product.count; ++record)
                hn::Store(on.units(values + record * product.stride + strip * int_lanes), IntTag(),
                          units.data() + (strip * height + record) * int_lanes);
        }
        return units;
    }

    FixedFactors on_;
    std::size_t in_;
    UnitBounds delta_, z_;
};

/// Thresholds of neighbouring entries in 32 bits, which weights' entries fit; behind `columns` of them
/// nothing is wanted.
IntVec thresholds_of(const Selection& selection, std::size_t first, std::size_t columns) {
    constexpr std::int64_t most = INT32_MAX;
    HWY_ALIGN std::int32_t thresholds[int_lanes];
    for (std::size_t i = 0; i < int_lanes; ++i)
        thresholds[i] = static_cast<std::int32_t>(
            i < columns ? std::clamp(selection.threshold(first + i), -most, most) : -most);
    return hn::Load(IntTag(), thresholds);
}

struct LaneEntries {
    IntVec least, greatest;
};

/// For z a point of any sign, or a box >= 0.
template <bool ZIsPoint>
HWY_INLINE LaneEntries entries_of(UnitEntry delta, const std::int32_t* z_lower, const std::int32_t* z_upper) {
    const IntVec low = hn::Set(IntTag(), static_cast<std::int32_t>(delta.least)),
                 high = hn::Set(IntTag(), static_cast<std::int32_t>(delta.greatest));
    if constexpr (ZIsPoint) {
        const IntVec z = hn::Load(IntTag(), z_lower);
        const IntVec one = hn::Mul(low, z), other = hn::Mul(high, z);
        return {hn::Min(one, other), hn::Max(one, other)};
    } else {
        return {hn::Mul(low, hn::Load(IntTag(), delta.least < 0 ? z_upper : z_lower)),
                hn::Mul(high, hn::Load(IntTag(), delta.greatest < 0 ? z_lower : z_upper))};
    }
}

/// The weights' entries at one row and strip, of which `columns` are some; the first is number `first`.
template <bool ZIsPoint>
void select_weights(const UnitFactors& factors, std::size_t row, std::size_t strip, std::size_t columns,
                    std::size_t count, std::size_t first, LeastEntries& least, Offers& offers) {
    const IntVec most = thresholds_of(least.upper, first, columns),
                 fewest = hn::Neg(thresholds_of(least.negated_lower, first, columns));
    WantedMasks<IntTag> wanted;
    for (std::size_t record = 0; record < count; ++record) {
        const LaneEntries entries = entries_of<ZIsPoint>(
            factors.delta(row, record), factors.z_lower(strip, record), factors.z_upper(strip, record));
        wanted.set(2 * record, hn::Lt(entries.greatest, most));
        wanted.set(2 * record + 1, hn::Gt(entries.least, fewest));
    }
    wanted.for_each(2 * count, [&](std::size_t index, std::size_t lane) HWY_ATTR {
        const bool is_lower = index % 2 != 0;
        const UnitEntry entry = factors.weight(row, strip, index / 2, lane);
        offers.collect(first + lane, is_lower, is_lower ? entry.least : entry.greatest);
    });
}

void select_bias(const UnitFactors& factors, std::size_t row, std::size_t count, std::size_t place,
                 Offers& offers) {
    for (std::size_t record = 0; record < count; ++record) {
        const UnitEntry entry = factors.bias(row, record);
        offers.collect(place, true, entry.least);
        offers.collect(place, false, entry.greatest);
    }
}

void SelectFactored(const OuterProduct<float>& product, int bits, const SelectionTarget& target) {
    ensure(!product.is_point(), "a point's gradients are not selected");
    const UnitFactors factors(product, bits);
    const std::size_t in = product.shape.in, out = product.shape.out;
    const auto select = factors.z_is_point() ? &select_weights<true> : &select_weights<false>;
    Offers offers(target.least);
    target.least.upper.for_each_stripe(factors.strips(), [&](std::size_t strip) {
        const std::size_t column = strip * int_lanes;
        for (std::size_t row = 0; row < out; ++row) {
            const std::size_t first = target.first_entry + row * factors.columns() + column;
            if (column < in)
                select(factors, row, strip, in - column, product.count, first, target.least, offers);
            if (in < column + int_lanes)
                select_bias(factors, row, product.count, first + in - column, offers);
        }
        offers.insert();
    });
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(SelectFactored);

void fixed_select(const OuterProduct<float>& product, int bits, const SelectionTarget& target) {
    HWY_DYNAMIC_DISPATCH(SelectFactored)(product, bits, target);
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
