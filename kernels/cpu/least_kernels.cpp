// Room for the least values of an entry, compiled once an instruction set (Highway).

#include "kernels/cpu/least_kernels.hpp"

#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/least_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

using ValueTag = hn::ScalableTag<std::int64_t>;
using Values = hn::Vec<ValueTag>;
constexpr std::size_t value_lanes = HWY_LANES(std::int64_t);

/// Five vectors of some values, sorted in each lane: of the values of a lane, the rth has about r + 1 sixths
/// of all values below it.
struct SortedSample {
    Values at[5];

    HWY_INLINE SortedSample(const std::int64_t* values, std::size_t size) {
        for (std::size_t i = 0; i < 5; ++i)
            at[i] = hn::LoadU(ValueTag(), values + i * (size - value_lanes) / 4);
        constexpr std::uint8_t exchanges[9][2] = {{0, 1}, {3, 4}, {2, 4}, {2, 3}, {0, 3},
                                                  {0, 2}, {1, 4}, {1, 3}, {1, 2}};
        for (const auto [low, high] : exchanges) {
            const Values least = hn::Min(at[low], at[high]);
            at[high] = hn::Max(at[low], at[high]);
            at[low] = least;
        }
    }
    /// The mean of the lanes of two of the vectors; each is halved often enough first for the sum to fit.
    HWY_INLINE std::int64_t mean(std::size_t one, std::size_t other) const {
        constexpr int halvings = hwy::CeilLog2(2 * value_lanes);
        const Values sum = hn::Add(hn::ShiftRight<halvings>(at[one]), hn::ShiftRight<halvings>(at[other]));
        return hn::GetLane(hn::SumOfLanes(ValueTag(), sum));
    }
};

HWY_INLINE std::size_t count_below(const std::int64_t* values, std::size_t size, std::int64_t pivot) {
    const Values limit = hn::Set(ValueTag(), pivot);
    std::size_t count = 0, i = 0;
    for (; i + value_lanes <= size; i += value_lanes)
        count += hn::CountTrue(ValueTag(), hn::Lt(hn::LoadU(ValueTag(), values + i), limit));
    for (; i < size; ++i) count += values[i] < pivot ? 1 : 0;
    return count;
}

/// Without a branch on the values, which no processor could foresee.
HWY_INLINE void keep_below(std::int64_t* values, std::size_t size, std::int64_t pivot) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const std::int64_t value = values[i];
        values[kept] = value;
        kept += value < pivot ? 1 : 0;
    }
}

/// Where at least `count` values are below a guess, those from the guess on are not among the least.
LeftValues Drop(std::int64_t* values, std::size_t size, std::size_t count) {
    constexpr std::uint8_t guesses[][2] = {{2, 3}, {3, 3}, {3, 4}};  // .58, .67, .75 of the values
    if (size < 2 * value_lanes) return keep_least(values, size, count);
    const SortedSample sample(values, size);
    for (const auto [one, other] : guesses) {
        const std::int64_t guess = sample.mean(one, other);
        const std::size_t below = count_below(values, size, guess);
        if (below < count || below == size) continue;
        keep_below(values, size, guess);
        return {below, guess};
    }
    return keep_least(values, size, count);
}

DropSome Dropper() {
    return &Drop;
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(Dropper);

DropSome drop_some() {
    return HWY_DYNAMIC_DISPATCH(Dropper)();
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
