// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_TRANSPOSE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_TRANSPOSE_INL
#undef HOLDFAST_TRANSPOSE_INL
#else
#define HOLDFAST_TRANSPOSE_INL
#endif

#include "kernels/cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// As many features of as many records as a vector of doubles has lanes.
constexpr std::size_t side = lanes<double>;
template <typename Feature>
using FeatureTag = hn::Rebind<Feature, Tag<double>>;
template <typename Feature>
using FeatureVec = hn::Vec<FeatureTag<Feature>>;

/// Of a square of features in registers, from one record a vector to one feature a vector: each stage swaps a
/// bit of the record's number with one of the feature's.
template <typename Feature>
struct Square {
    static constexpr FeatureTag<Feature> tag{};
    static constexpr std::size_t in_block = 16 / sizeof(Feature);  // what interleaving stays within
    FeatureVec<Feature> at[side];

    HWY_INLINE Square() {}
    HWY_INLINE void load(const Feature* const* rows, std::size_t first) {
        for (std::size_t r = 0; r < side; ++r) at[r] = hn::LoadU(tag, rows[r] + first);
    }
#if HWY_TARGET == HWY_SCALAR
    HWY_INLINE void transpose() {}
#else
    HWY_INLINE void transpose() {
        interleave_neighbours();
        if constexpr (sizeof(Feature) == 4 && side >= 4) interleave_pairs();
        if constexpr (side >= 4 * in_block) swap_blocks();
        if constexpr (side >= 2 * in_block) join_halves();
    }
#endif
    /// Which feature at[i] has then.
    static constexpr std::size_t feature_of(std::size_t i) {
        if (sizeof(Feature) == 8 || side < 4) return i;
        return i / 4 * 4 + i % 2 * 2 + i / 2 % 2;
    }

#if HWY_TARGET != HWY_SCALAR
  private:
    HWY_INLINE void interleave_neighbours() {
        for (std::size_t i = 0; i < side; i += 2) {
            const FeatureVec<Feature> even = at[i], odd = at[i + 1];
            at[i] = hn::InterleaveLower(tag, even, odd);
            at[i + 1] = hn::InterleaveUpper(tag, even, odd);
        }
    }
    HWY_INLINE void interleave_pairs() {
        const hn::Repartition<double, FeatureTag<Feature>> pairs;
        for (std::size_t i = 0; i < side; ++i) {
            if (i / 2 % 2 == 1) continue;
            const auto first = hn::BitCast(pairs, at[i]), second = hn::BitCast(pairs, at[i + 2]);
            at[i] = hn::BitCast(tag, hn::InterleaveLower(pairs, first, second));
            at[i + 2] = hn::BitCast(tag, hn::InterleaveUpper(pairs, first, second));
        }
    }
    HWY_INLINE void swap_blocks() {
        for (std::size_t i = 0; i < side; ++i) {
            if (i / 2 % 2 == 1) continue;
            const FeatureVec<Feature> first = at[i], second = at[i + 2];
            at[i] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(second), first);
            at[i + 2] = hn::OddEvenBlocks(second, hn::SwapAdjacentBlocks(first));
        }
    }
    HWY_INLINE void join_halves() {
        constexpr std::size_t half = side / 2;
        for (std::size_t i = 0; i < half; ++i) {
            const FeatureVec<Feature> first = at[i], second = at[i + half];
            at[i] = hn::ConcatLowerLower(tag, second, first);
            at[i + half] = hn::ConcatUpperUpper(tag, second, first);
        }
    }
#endif
};

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
