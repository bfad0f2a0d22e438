#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/ops/fixed_format.hpp"
#include "kernels/ops/panel_operations.hpp"

namespace holdfast::cpu {

// The products of fixed precision. An instruction multiplies two integers of 16 bits by two of 16 and adds
// both products to 32: so the operands of two neighbouring products lie side by side, a term; what weights
// meet is cut into digits of 8 bits, so that 512 products fit 32 bits; longer sums go on in 64.

/// The greatest number of terms whose products add up in 32 bits: 2 * 256 * 32639 * 128 < 2^31.
constexpr std::size_t fixed_chain = 256;

/// Two integers of 16 bits as the instruction reads them.
constexpr std::int32_t fixed_pair(std::int32_t first, std::int32_t second) {
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(first) & 0xFFFFU) |
                                     (static_cast<std::uint32_t>(second) << 16U));
}

/// One bound of a layer's weights, two inputs a term.
struct FixedSide {
    std::size_t terms = 0;
    AlignedVector<std::int32_t> forward;  // [out, terms]
    std::vector<std::int64_t> bias;       // [out]
};

class FixedWeights;

/// What only some passes want: made when the first of them asks, once for all threads.
template <typename T>
class MadeOnce {
  public:
    /// make(): T.
    template <typename Make>
    const T& get(Make make) const {
        std::call_once(once_, [&] { made_ = make(); });
        return made_;
    }

  private:
    mutable std::once_flag once_;
    mutable T made_;
};

/// What weights in a box multiply of a value in a box, so that the sums are least and greatest: both ends of
/// a weight are a term, and the variant of the value that it meets (box_terms() in fixed_kernels.cpp) goes by
/// their signs.
struct FixedBoxTerms {
    struct Bound {
        AlignedVector<std::int32_t> pairs;    // [rows, terms]
        std::vector<std::uint32_t> variants;  // [rows, terms], offsets in the lanes
    };
    Bound least, greatest;

    FixedBoxTerms() = default;
    /// [out, in], or transposed [in, out].
    FixedBoxTerms(const FixedWeights& layer, bool transposed);
};

/// The variant of z >= 0 that each term of the weights meets at either bound, [out, terms].
struct FixedEnds {
    std::vector<std::uint32_t> lower, upper;
};

class FixedWeights {
  public:
    FixedWeights(LayerShape shape, const std::int64_t* lower_units, const std::int64_t* upper_units);
    const FixedSide& top() const { return is_point ? lower : upper; }

    /// For activations in a box.
    const FixedEnds& ends() const;
    /// Transposed, for backward passes: of a point [in, terms of two outputs], and of any box.
    const AlignedVector<std::int32_t>& transposed() const;
    const FixedBoxTerms& transposed_box() const;

    LayerShape shape;
    bool is_point;
    FixedSide lower, upper;  // of a point, lower alone

  private:
    MadeOnce<FixedEnds> ends_;
    MadeOnce<AlignedVector<std::int32_t>> transposed_;
    MadeOnce<FixedBoxTerms> transposed_box_;
};

/// As the operations of PanelOperations.
struct FixedKernels {
    void (*forward_input)(const FixedWeights& layer, FixedGrid grid, const float* x, BasicInterval<float> a);
    void (*forward_box)(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> x,
                        BasicInterval<float> a);
    void (*forward)(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> z,
                    BasicInterval<float> a);
    void (*backward)(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> delta,
                     BasicConstInterval<float> z, BasicInterval<float> d);
    void (*accumulate)(const OuterProduct<float>& product, int bits, SumBounds sums);
};
const FixedKernels& fixed_kernels();

/// PanelOperations::accumulate's offers of a factored clip to a selection; not its sums.
void fixed_select(const OuterProduct<float>& product, int bits, const SelectionTarget& target);

}  // namespace holdfast::cpu
