#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/cpu/tile_digits.hpp"
#include "kernels/ops/fixed_format.hpp"
#include "kernels/ops/panel_operations.hpp"

namespace holdfast::cpu {

// The products of fixed precision. An instruction multiplies two integers of 16 bits by two of 16 and adds
// both products to 32: so the operands of two neighbouring products lie side by side, a term. Where values
// have 16 bits the factors they meet are cut into digits of 8, so that 512 products fit 32 bits; longer sums
// go on in 64.

/// The greatest number of terms whose products add up in 32 bits: 2 * 256 * 32639 * 128 < 2^31.
constexpr std::size_t fixed_chain = 256;

/// Two integers of 16 bits as the instruction reads them.
constexpr std::int32_t fixed_pair(std::int32_t first, std::int32_t second) {
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(first) & 0xFFFFU) |
                                     (static_cast<std::uint32_t>(second) << 16U));
}

/// Terms of factors, [rows, terms, digits]; of two digits that of 256s first.
class FixedTerms {
  public:
    /// bits: of the values that the factors meet.
    FixedTerms(int bits, std::size_t count)
        : digits_(bits == 8 ? 1 : 2), pairs_(count * static_cast<std::size_t>(digits_)) {}

    int digits() const { return digits_; }
    const std::int32_t* data() const { return pairs_.data(); }
    std::int32_t* data() { return pairs_.data(); }
    void set(std::size_t term, std::int32_t first, std::int32_t second) {
        if (digits_ == 1) {
            pairs_[term] = fixed_pair(first, second);
            return;
        }
        const std::int32_t high_first = (first + 128) >> 8, high_second = (second + 128) >> 8;
        pairs_[2 * term] = fixed_pair(high_first, high_second);
        pairs_[2 * term + 1] = fixed_pair(first - high_first * 256, second - high_second * 256);
    }

  private:
    int digits_;
    AlignedVector<std::int32_t> pairs_;
};

/// Terms of factors that meet boxes of values: each picks a variant of them, by an offset in the lanes.
struct FixedChoice {
    FixedTerms terms;
    std::vector<std::uint32_t> variants;  // [rows, terms]

    FixedChoice(int bits, std::size_t count) : terms(bits, count), variants(count) {}

    /// Which ends of two values >= 0 make the least sum, or the greatest: bit i is set for the upper end of
    /// value i.
    enum class Sum : std::uint32_t { least = 0, greatest = 3 };
    void set(std::size_t term, std::int32_t first, std::int32_t second, Sum sum, std::size_t lane_count) {
        const std::uint32_t negative = (first < 0 ? 1U : 0U) | (second < 0 ? 2U : 0U);
        terms.set(term, first, second);
        variants[term] =
            (negative ^ static_cast<std::uint32_t>(sum)) * static_cast<std::uint32_t>(lane_count);
    }
};

struct FixedChoices {
    FixedChoice least, greatest;
    FixedChoices(int bits, std::size_t count) : least(bits, count), greatest(bits, count) {}
};

/// What only some passes want: made when the first of them asks, once for all threads.
template <typename T>
class MadeOnce {
  public:
    /// make(): T.
    template <typename Make>
    const T& get(Make make) const {
        std::call_once(once_, [&] { made_.emplace(make()); });
        return *made_;
    }

  private:
    mutable std::once_flag once_;
    mutable std::optional<T> made_;
};

/// The weights of a layer as its products read them.
class FixedWeights {
  public:
    /// bits: of the values that they meet.
    FixedWeights(LayerShape shape, const std::int64_t* lower_units, const std::int64_t* upper_units,
                 int bits);

    struct Bound {
        std::vector<std::int16_t> weights;  // [out, in]
        std::vector<std::int64_t> bias;     // [out]
    };
    const Bound& top() const { return is_point ? lower : upper; }

    /// Of values in a box of any sign, [out, in] or transposed [in, out]: both ends of a weight are a term.
    FixedChoices box_choices(bool transposed) const;
    /// For backward passes: box_choices(true), and of a point [in, terms of two outputs].
    const FixedChoices& box_backward() const;
    const FixedTerms& point_backward() const;
    /// A bound's weights, or only those above 0, or below: for tiles, [out, in] or transposed [in, out].
    enum class Part : std::uint8_t {
        lower,
        lower_positive,
        lower_negative,
        upper,
        upper_positive,
        upper_negative
    };
    const TileDigits& tiles(Part part, bool transposed) const;

    LayerShape shape;
    bool is_point;
    int bits;
    Bound lower, upper;    // of a point, lower alone
    FixedChoices forward;  // [out, terms of two inputs], for values >= 0

  private:
    MadeOnce<FixedChoices> box_backward_;
    MadeOnce<FixedTerms> point_backward_;
    MadeOnce<TileDigits> tiles_[6][2];
};

/// So many panels of one variant fill tiles well.
constexpr std::size_t tiled_panels = 4;

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
    /// Of tiled_panels at a time; null: none.
    std::unique_ptr<OuterSums<float>> (*outer_sums)(const NetworkShape& network, int bits);
};
const FixedKernels& fixed_kernels();
/// By vectors, whatever tiles there are.
const FixedKernels& fixed_vector_kernels();
/// The same by tiles: of AMX where `amx` says so, which amx_is_granted() then, or in plain loops.
const FixedKernels& fixed_tile_kernels(bool amx);

/// PanelOperations::accumulate's offers of a factored clip to a selection; not its sums.
void fixed_select(const OuterProduct<float>& product, int bits, const SelectionTarget& target);

}  // namespace holdfast::cpu
