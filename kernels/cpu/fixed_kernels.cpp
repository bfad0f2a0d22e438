// Products of integers, compiled once an instruction set (Highway): records in the lanes of a layer's
// products, parameters in those of the outer product.

#include "kernels/cpu/fixed_kernels.hpp"

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/simd_target.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fixed_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/fixed_sinks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// fixed_pair() in every lane.
HWY_INLINE IntVec pairs_of(IntVec first, IntVec second) {
    return hn::Or(hn::And(first, hn::Set(IntTag(), 0xFFFF)), hn::ShiftLeft<16>(second));
}

/// What is in the lanes: [terms, variants, lanes], two integers a term.
struct LaneTerms {
    std::size_t terms, variants, stride;
    hwy::AlignedFreeUniquePtr<std::int32_t[]> pairs;
    std::vector<std::uint8_t> signs;  // of terms in two parts: 1 has positive values, 2 negative ones

    LaneTerms(std::size_t term_count, std::size_t variant_count, std::size_t lane_count)
        : terms(term_count),
          variants(variant_count),
          stride(lane_count),
          pairs(hwy::AllocateAligned<std::int32_t>(term_count * variant_count * lane_count)) {}

    HWY_INLINE const std::int32_t* at(std::size_t term, std::size_t lane) const {
        return pairs.get() + term * variants * stride + lane;
    }
    HWY_INLINE void store(std::size_t term, std::size_t variant, std::size_t lane, IntVec first,
                          IntVec second) {
        hn::StoreU(pairs_of(first, second), IntTag(),
                   pairs.get() + (term * variants + variant) * stride + lane);
    }
};

/// Adds both products of a term to 32 bits; `rest` is what some instruction sets keep apart until whole().
#if HWY_TARGET == HWY_SCALAR
struct Pairs {
    static HWY_INLINE IntVec add(IntVec factors, IntVec values, IntVec sum, IntVec& /*rest*/) {
        const auto half = [](std::int32_t pair, unsigned shift) {
            return std::int32_t{static_cast<std::int16_t>(static_cast<std::uint32_t>(pair) >> shift)};
        };
        const std::int32_t a = hn::GetLane(factors), b = hn::GetLane(values);
        return hn::Set(IntTag(), hn::GetLane(sum) + half(a, 0) * half(b, 0) + half(a, 16) * half(b, 16));
    }
    static HWY_INLINE IntVec whole(IntVec sum, IntVec /*rest*/) { return sum; }
};
#else
struct Pairs {
    using ShortTag = hn::Repartition<std::int16_t, IntTag>;
    static HWY_INLINE IntVec add(IntVec factors, IntVec values, IntVec sum, IntVec& rest) {
        return hn::ReorderWidenMulAccumulate(IntTag(), hn::BitCast(ShortTag(), factors),
                                             hn::BitCast(ShortTag(), values), sum, rest);
    }
    static HWY_INLINE IntVec whole(IntVec sum, IntVec rest) { return hn::RearrangeToOddPlusEven(sum, rest); }
};
#endif

/// The same in one instruction, without saturation, where the processor has it beside AVX-512.
#if HWY_TARGET == HWY_AVX3
struct Vnni {
    static HWY_INLINE IntVec add(IntVec factors, IntVec values, IntVec sum, IntVec& /*rest*/) {
        asm("vpdpwssd %2, %1, %0" : "+v"(sum.raw) : "v"(factors.raw), "vm"(values.raw));
        return sum;
    }
    static HWY_INLINE IntVec whole(IntVec sum, IntVec /*rest*/) { return sum; }
};
#endif

/// Sums of products of `Rows` rows with `Vectors` vectors of lanes, a digit each.
template <typename Multiply, std::size_t Rows, std::size_t Vectors, std::size_t Digits>
struct Chains {
    IntVec at[Digits][Rows][Vectors], rest[Digits][Rows][Vectors];

    HWY_INLINE Chains() {
        for (std::size_t digit = 0; digit < Digits; ++digit) {
            for (std::size_t row = 0; row < Rows; ++row) {
                for (std::size_t v = 0; v < Vectors; ++v)
                    at[digit][row][v] = rest[digit][row][v] = hn::Zero(IntTag());
            }
        }
    }
    /// factors: the digits of a term; values: its lanes.
    HWY_INLINE void add(std::size_t row, const std::int32_t* factors, const std::int32_t* values) {
        for (std::size_t digit = 0; digit < Digits; ++digit) {
            const IntVec pair = hn::Set(IntTag(), factors[digit]);
            for (std::size_t v = 0; v < Vectors; ++v)
                at[digit][row][v] = Multiply::add(pair, hn::LoadU(IntTag(), values + v * int_lanes),
                                                  at[digit][row][v], rest[digit][row][v]);
        }
    }
    /// Calls put(lane, sums of 64 bits) for the lanes of a row.
    template <typename Put>
    HWY_INLINE void for_each_sum(std::size_t row, Put put) const {
        HWY_ALIGN std::int32_t buffer[Digits][int_lanes];
        using Half = hn::Rebind<std::int32_t, LongTag>;
        for (std::size_t v = 0; v < Vectors; ++v) {
            for (std::size_t digit = 0; digit < Digits; ++digit)
                hn::Store(Multiply::whole(at[digit][row][v], rest[digit][row][v]), IntTag(), buffer[digit]);
            for (std::size_t i = 0; i < int_lanes; i += long_lanes) {
                auto sum = hn::PromoteTo(LongTag(), hn::LoadU(Half(), buffer[Digits - 1] + i));
                if constexpr (Digits == 2)
                    sum = hn::Add(
                        sum, hn::ShiftLeft<8>(hn::PromoteTo(LongTag(), hn::LoadU(Half(), buffer[0] + i))));
                put(v * int_lanes + i, sum);
            }
        }
    }
};

/// What the lanes of a tile are multiplied by: adds the terms [first, last) of its rows.
struct PointTerms {
    const FixedTerms& factors;  // [rows, terms]
    static constexpr std::size_t bounds = 1;

    int digits() const { return factors.digits(); }
    template <std::size_t Digits, std::size_t Rows, typename OfBound>
    HWY_INLINE void add(const LaneTerms& lane_terms, std::size_t row, std::size_t lane, std::size_t first,
                        std::size_t last, OfBound (&chains)[1]) const {
        const std::size_t terms = lane_terms.terms;
        const std::int32_t* of_row = factors.data() + row * terms * Digits;
        for (std::size_t t = first; t < last; ++t) {
            const std::int32_t* values = lane_terms.at(t, lane);
            for (std::size_t i = 0; i < Rows; ++i)
                chains[0].add(i, of_row + (i * terms + t) * Digits, values);
        }
    }
};

/// Values of any sign at a point: what is positive meets the factors' own bound, what is negative the other.
struct SplitTerms {
    const FixedTerms &lower, &upper;  // [rows, terms]
    static constexpr std::size_t bounds = 2;

    int digits() const { return lower.digits(); }
    template <std::size_t Digits, std::size_t Rows, typename OfBound>
    HWY_INLINE void add(const LaneTerms& lane_terms, std::size_t row, std::size_t lane, std::size_t first,
                        std::size_t last, OfBound (&chains)[2]) const {
        const std::size_t terms = lane_terms.terms, start = row * terms;
        const auto add = [&](std::size_t t, const FixedTerms& least, const FixedTerms& greatest,
                             const std::int32_t* values) HWY_ATTR {
            for (std::size_t i = 0; i < Rows; ++i) {
                const std::size_t at = (start + i * terms + t) * Digits;
                chains[0].add(i, least.data() + at, values);
                chains[1].add(i, greatest.data() + at, values);
            }
        };
        for (std::size_t t = first; t < last; ++t) {
            const std::int32_t* values = lane_terms.at(t, lane);
            if ((lane_terms.signs[t] & 1U) != 0) add(t, lower, upper, values);
            if ((lane_terms.signs[t] & 2U) != 0) add(t, upper, lower, values + lane_terms.stride);
        }
    }
};

/// Each factor picks its variant.
struct ChosenTerms {
    const FixedChoice &least, &greatest;  // [rows, terms]
    static constexpr std::size_t bounds = 2;

    int digits() const { return least.terms.digits(); }
    template <std::size_t Digits, std::size_t Rows, typename OfBound>
    HWY_INLINE void add(const LaneTerms& lane_terms, std::size_t row, std::size_t lane, std::size_t first,
                        std::size_t last, OfBound (&chains)[2]) const {
        const std::size_t terms = lane_terms.terms, start = row * terms;
        const FixedChoice* const sides[] = {&least, &greatest};
        for (std::size_t t = first; t < last; ++t) {
            const std::int32_t* values = lane_terms.at(t, lane);
            for (std::size_t i = 0; i < Rows; ++i) {
                const std::size_t at = start + i * terms + t;
                for (std::size_t bound = 0; bound < 2; ++bound)
                    chains[bound].add(i, sides[bound]->terms.data() + at * Digits,
                                      values + sides[bound]->variants[at]);
            }
        }
    }
};

/// Calls put_row(bound, row of the tile)(lane of the tile, sums) for sums of the terms [first, last).
template <typename Multiply, std::size_t Digits, std::size_t Rows, std::size_t Vectors, typename Terms,
          typename PutRow>
HWY_INLINE void sum_chain(const Terms& terms, const LaneTerms& lane_terms, std::size_t row, std::size_t lane,
                          std::size_t first, std::size_t last, PutRow put_row) {
    Chains<Multiply, Rows, Vectors, Digits> chains[Terms::bounds];
    terms.template add<Digits, Rows>(lane_terms, row, lane, first, last, chains);
    for (std::size_t bound = 0; bound < Terms::bounds; ++bound) {
        for (std::size_t i = 0; i < Rows; ++i) chains[bound].for_each_sum(i, put_row(bound, i));
    }
}

/// Of more terms than a chain has. Not inlined: sum_tile() keeps its pointers in registers.
template <typename Multiply, std::size_t Digits, std::size_t Rows, std::size_t Vectors, typename Terms,
          typename Sink>
HWY_NOINLINE void sum_long_tile(const Terms& terms, const LaneTerms& lane_terms, std::size_t row,
                                std::size_t lane, const Sink& sink) {
    HWY_ALIGN std::int64_t totals[Terms::bounds][Rows][Vectors * int_lanes] = {};
    const auto add_row = [&](std::size_t bound, std::size_t i) HWY_ATTR {
        return [to = totals[bound][i]](std::size_t j, hn::Vec<LongTag> sum)
                   HWY_ATTR { hn::Store(hn::Add(hn::Load(LongTag(), to + j), sum), LongTag(), to + j); };
    };
    for (std::size_t first = 0; first < lane_terms.terms; first += fixed_chain)
        sum_chain<Multiply, Digits, Rows, Vectors>(terms, lane_terms, row, lane, first,
                                                   std::min(first + fixed_chain, lane_terms.terms), add_row);
    for (std::size_t bound = 0; bound < Terms::bounds; ++bound) {
        for (std::size_t i = 0; i < Rows; ++i) {
            const auto to = sink.row(bound, row + i, lane);
            for (std::size_t j = 0; j < Vectors * int_lanes; j += long_lanes)
                to.put(j, hn::Load(LongTag(), totals[bound][i] + j));
        }
    }
}

template <typename Multiply, std::size_t Digits, std::size_t Rows, std::size_t Vectors, typename Terms,
          typename Sink>
HWY_INLINE void sum_tile(const Terms& terms, const LaneTerms& lane_terms, std::size_t row, std::size_t lane,
                         const Sink& sink) {
    if (lane_terms.terms > fixed_chain)
        return sum_long_tile<Multiply, Digits, Rows, Vectors>(terms, lane_terms, row, lane, sink);
    sum_chain<Multiply, Digits, Rows, Vectors>(
        terms, lane_terms, row, lane, 0, lane_terms.terms, [&](std::size_t bound, std::size_t i) HWY_ATTR {
            return [to = sink.row(bound, row + i, lane)](std::size_t j, hn::Vec<LongTag> sum)
                       HWY_ATTR { to.put(j, sum); };
        });
}

/// All rows by all lanes, for factors of as many digits.
template <typename Multiply, std::size_t Digits, typename Terms, typename Sink>
void sum_digits(const Terms& terms, const LaneTerms& lane_terms, std::size_t rows, const Sink& sink) {
    // Registers hold the sums; few lanes, so that what is in them stays in the cache from row to row.
    constexpr std::size_t vectors = 2, tall = 2 * width / (Terms::bounds * Digits);
    std::size_t lane = 0;
    const auto sweep = [&]<std::size_t Vectors>() {
        std::size_t row = 0;
        for (; row + tall <= rows; row += tall)
            sum_tile<Multiply, Digits, tall, Vectors>(terms, lane_terms, row, lane, sink);
        for (; row < rows; ++row) sum_tile<Multiply, Digits, 1, Vectors>(terms, lane_terms, row, lane, sink);
        lane += Vectors * int_lanes;
    };
    while (lane + vectors * int_lanes <= lane_terms.stride) sweep.template operator()<vectors>();
    while (lane < lane_terms.stride) sweep.template operator()<1>();
}
template <typename Multiply, typename Terms, typename Sink>
void sum_all(const Terms& terms, const LaneTerms& lane_terms, std::size_t rows, const Sink& sink) {
    if (terms.digits() == 1) return sum_digits<Multiply, 1>(terms, lane_terms, rows, sink);
    sum_digits<Multiply, 2>(terms, lane_terms, rows, sink);
}

/// Calls values(term, lane, row, is there a row behind it) for rows 0, 2, ... at every vector of lanes.
template <typename Values>
HWY_INLINE void for_each_pair_of_rows(std::size_t rows, std::size_t lane_count, Values values) {
    for (std::size_t t = 0; 2 * t < rows; ++t) {
        for (std::size_t lane = 0; lane < lane_count; lane += int_lanes)
            values(t, lane, 2 * t, 2 * t + 1 < rows);
    }
}

/// Points: one variant.
LaneTerms point_terms(FixedGrid grid, std::size_t rows, std::size_t from, std::size_t lane_count,
                      const float* values) {
    LaneTerms terms((rows + 1) / 2, 1, lane_count);
    const Grid on(grid);
    for_each_pair_of_rows(rows, lane_count, [&](std::size_t t, std::size_t lane, std::size_t row, bool both) {
        const float* at = values + row * from + lane;
        terms.store(t, 0, lane, on.units(at), both ? on.units(at + from) : hn::Zero(IntTag()));
    });
    return terms;
}

/// Points of any sign: the positive values and the negative ones.
LaneTerms split_terms(FixedGrid grid, std::size_t rows, std::size_t from, std::size_t lane_count,
                      const float* values) {
    LaneTerms terms((rows + 1) / 2, 2, lane_count);
    terms.signs.assign(terms.terms, 0);
    const Grid on(grid);
    for_each_pair_of_rows(rows, lane_count, [&](std::size_t t, std::size_t lane, std::size_t row, bool both) {
        const float* at = values + row * from + lane;
        const IntVec first = on.units(at), second = both ? on.units(at + from) : hn::Zero(IntTag());
        const IntVec zero = hn::Zero(IntTag());
        if (!hn::AllFalse(IntTag(), hn::Gt(hn::Max(first, second), zero))) terms.signs[t] |= 1U;
        if (!hn::AllFalse(IntTag(), hn::Lt(hn::Min(first, second), zero))) terms.signs[t] |= 2U;
        terms.store(t, 0, lane, positive(first), positive(second));
        terms.store(t, 1, lane, negative(first), negative(second));
    });
    return terms;
}

/// Boxes of values >= 0: each of two values at either end; variant 1 has the first at its upper end, 2 the
/// second, 3 both.
LaneTerms end_terms(FixedGrid grid, std::size_t rows, std::size_t from, std::size_t lane_count,
                    BasicConstInterval<float> values) {
    LaneTerms terms((rows + 1) / 2, 4, lane_count);
    const Grid on(grid);
    for_each_pair_of_rows(rows, lane_count, [&](std::size_t t, std::size_t lane, std::size_t row, bool both) {
        const std::size_t at = row * from + lane;
        const IntVec zero = hn::Zero(IntTag());
        const IntVec first[] = {on.units(values.lower + at), on.units(values.upper + at)};
        const IntVec second[] = {both ? on.units(values.lower + at + from) : zero,
                                 both ? on.units(values.upper + at + from) : zero};
        for (std::size_t variant = 0; variant < 4; ++variant)
            terms.store(t, variant, lane, first[variant % 2], second[variant / 2]);
    });
    return terms;
}

/// Boxes of any sign, a term each: (l+, l-), (u+, u-) and (l-, u+), with x+ = max(x, 0) and x- = min(x, 0).
LaneTerms box_terms(FixedGrid grid, std::size_t rows, BasicConstInterval<float> values) {
    LaneTerms terms(rows, 3, height);
    const Grid on(grid);
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t lane = 0; lane < height; lane += int_lanes) {
            const std::size_t at = row * height + lane;
            const IntVec low = on.units(values.lower + at), high = on.units(values.upper + at);
            terms.store(row, 0, lane, positive(low), negative(low));
            terms.store(row, 1, lane, positive(high), negative(high));
            terms.store(row, 2, lane, negative(low), positive(high));
        }
    }
    return terms;
}

template <typename Multiply>
void FixedForwardInput(const FixedWeights& layer, FixedGrid grid, const float* x, BasicInterval<float> a) {
    const auto [in, out] = layer.shape;
    const LayerSink sink = layer_sink(layer, grid, a);
    const FixedTerms &lower = layer.forward.least.terms, &upper = layer.forward.greatest.terms;
    if (a.is_point())
        return sum_all<Multiply>(PointTerms{lower}, point_terms(grid, in, height, height, x), out, sink);
    sum_all<Multiply>(SplitTerms{lower, upper}, split_terms(grid, in, height, height, x), out, sink);
}

template <typename Multiply>
void FixedForwardBox(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> x,
                     BasicInterval<float> a) {
    const auto [in, out] = layer.shape;
    const FixedChoices choices = layer.box_choices(false);
    sum_all<Multiply>(ChosenTerms{choices.least, choices.greatest}, box_terms(grid, in, x), out,
                      layer_sink(layer, grid, a));
}

template <typename Multiply>
void FixedForward(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> z,
                  BasicInterval<float> a) {
    const auto [in, out] = layer.shape;
    const LayerSink sink = layer_sink(layer, grid, a);
    if (a.is_point())
        return sum_all<Multiply>(PointTerms{layer.forward.least.terms},
                                 point_terms(grid, in, height, height, z.lower), out, sink);
    sum_all<Multiply>(ChosenTerms{layer.forward.least, layer.forward.greatest},
                      end_terms(grid, in, height, height, z), out, sink);
}

template <typename Multiply>
void multiply_transposed(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> delta,
                         BasicInterval<float> d) {
    const std::size_t in = layer.shape.in, out = layer.shape.out;
    const LayerSink sink = layer_sink(grid, d);
    if (d.is_point())
        return sum_all<Multiply>(PointTerms{layer.point_backward()},
                                 point_terms(grid, out, height, height, delta.lower), in, sink);
    const FixedChoices& choices = layer.box_backward();
    sum_all<Multiply>(ChosenTerms{choices.least, choices.greatest}, box_terms(grid, out, delta), in, sink);
}

template <typename Multiply>
void FixedBackward(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> delta,
                   BasicConstInterval<float> z, BasicInterval<float> d) {
    multiply_transposed<Multiply>(layer, grid, delta, d);
    gate_lanes(layer.shape.in, z, d);
}

/// FixedTerms::set at as many neighbouring terms as there are lanes.
HWY_INLINE void set_terms(FixedTerms& terms, std::size_t at, IntVec first, IntVec second) {
    if (terms.digits() == 1) return hn::StoreU(pairs_of(first, second), IntTag(), terms.data() + at);
    const auto high = [](IntVec whole)
                          HWY_ATTR { return hn::ShiftRight<8>(hn::Add(whole, hn::Set(IntTag(), 128))); };
    const IntVec high_first = high(first), high_second = high(second);
    hn::StoreInterleaved2(pairs_of(high_first, high_second),
                          pairs_of(hn::Sub(first, hn::ShiftLeft<8>(high_first)),
                                   hn::Sub(second, hn::ShiftLeft<8>(high_second))),
                          IntTag(), terms.data() + 2 * at);
}

/// FixedChoice::set there.
HWY_INLINE void set_choices(FixedChoice& choice, std::size_t at, IntVec first, IntVec second,
                            FixedChoice::Sum sum, std::size_t lane_count) {
    const auto bit = [](IntVec value, std::int32_t of_negative) HWY_ATTR {
        return hn::And(hn::BroadcastSignBit(value), hn::Set(IntTag(), of_negative));
    };
    const IntVec variants =
        hn::Xor(hn::Or(bit(first, 1), bit(second, 2)), hn::Set(IntTag(), static_cast<std::int32_t>(sum)));
    const IntVec offsets = hn::Mul(variants, hn::Set(IntTag(), static_cast<std::int32_t>(lane_count)));
    set_terms(choice.terms, at, first, second);
    const hn::RebindToUnsigned<IntTag> unsigned_tag;
    hn::StoreU(hn::BitCast(unsigned_tag, offsets), unsigned_tag, choice.variants.data() + at);
}

/// A bound of the factors of a panel, two records a term, [out, height / 2].
struct OuterFactors {
    std::vector<std::int64_t> bias;  // [out], their sum
    FixedChoice choice;

    OuterFactors(const FixedFactors& on, int bits, std::size_t out, const float* delta, FixedChoice::Sum sum,
                 std::size_t lane_count)
        : bias(out), choice(bits, out * height / 2) {
        static_assert(height % (2 * int_lanes) == 0);
        const Grid grid(on.delta);
        HWY_ALIGN std::int32_t units[height];
        for (std::size_t o = 0; o < out; ++o) {
            for (std::size_t r = 0; r < height; r += int_lanes)
                hn::Store(grid.units(delta + o * height + r), IntTag(), units + r);
            for (std::size_t r = 0; r < height; ++r) bias[o] += units[r];
            for (std::size_t r = 0; r < height; r += 2 * int_lanes) {
                IntVec first, second;
                hn::LoadInterleaved2(IntTag(), units + r, first, second);
                set_choices(choice, (o * height + r) / 2, first, second, sum, lane_count);
            }
        }
    }
    void add_biases(std::int64_t one, std::size_t columns, std::int64_t* sums) const {
        for (std::size_t o = 0; o < bias.size(); ++o) sums[(o + 1) * columns - 1] += bias[o] * one;
    }
};

template <typename Multiply>
void FixedAccumulate(const OuterProduct<float>& product, int bits, SumBounds sums) {
    const FixedFactors on(product.clip, bits);
    const auto [in, out] = product.shape;
    const std::size_t stride = product.stride, lane_count = (in + int_lanes - 1) / int_lanes * int_lanes;
    const OuterFactors lower(on, bits, out, product.delta.lower, FixedChoice::Sum::least, lane_count);
    const OuterSink sink{in, sums};
    lower.add_biases(on.one(), in + 1, sums.lower);
    if (product.is_point())
        return sum_all<Multiply>(PointTerms{lower.choice.terms},
                                 point_terms(on.z, height, stride, lane_count, product.z_rows.lower), out,
                                 sink);
    const OuterFactors upper(on, bits, out, product.delta.upper, FixedChoice::Sum::greatest, lane_count);
    upper.add_biases(on.one(), in + 1, sums.upper);
    if (product.z_rows.is_point())
        return sum_all<Multiply>(SplitTerms{lower.choice.terms, upper.choice.terms},
                                 split_terms(on.z, height, stride, lane_count, product.z_rows.lower), out,
                                 sink);
    sum_all<Multiply>(ChosenTerms{lower.choice, upper.choice},
                      end_terms(on.z, height, stride, lane_count, product.z_rows), out, sink);
}

template <typename Multiply>
constexpr FixedKernels fixed_table{&FixedForwardInput<Multiply>, &FixedForwardBox<Multiply>,
                                   &FixedForward<Multiply>,      &FixedBackward<Multiply>,
                                   &FixedAccumulate<Multiply>,   nullptr};

#if HWY_TARGET == HWY_AVX3
const FixedKernels& Fixed() {
    static const bool vnni = __builtin_cpu_supports("avx512vnni") != 0;
    return vnni ? fixed_table<Vnni> : fixed_table<Pairs>;
}
#else
const FixedKernels& Fixed() {
    return fixed_table<Pairs>;
}
#endif

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(Fixed);

namespace {

FixedWeights::Bound bound_of(LayerShape shape, const std::int64_t* units) {
    FixedWeights::Bound bound;
    bound.weights.reserve(shape.in * shape.out);
    for (std::size_t o = 0; o < shape.out; ++o, units += shape.in + 1) {
        for (std::size_t j = 0; j < shape.in; ++j)
            bound.weights.push_back(static_cast<std::int16_t>(fixed_weight(units[j])));
        bound.bias.push_back(fixed_parameter(units[shape.in]));
    }
    return bound;
}

/// Calls set(term, first, second) for neighbours in rows of `length`; behind the last of a row there is a 0.
template <typename Set>
void for_each_term(std::size_t rows, std::size_t length, const std::int16_t* weights, Set set) {
    std::size_t term = 0;
    for (std::size_t row = 0; row < rows; ++row, weights += length) {
        for (std::size_t i = 0; i < length; i += 2)
            set(term++, weights[i], i + 1 < length ? weights[i + 1] : 0);
    }
}

}  // namespace

FixedChoices FixedWeights::box_choices(bool transposed) const {
    const auto [in, out] = shape;
    FixedChoices choices(bits, in * out);
    const auto set = [](FixedChoice& choice, std::size_t at, std::int32_t first, std::int32_t second,
                        std::size_t variant) {
        choice.terms.set(at, first, second);
        choice.variants[at] = static_cast<std::uint32_t>(variant * panel_height);
    };
    for (std::size_t o = 0; o < out; ++o) {
        for (std::size_t j = 0; j < in; ++j) {
            const std::int32_t low = lower.weights[o * in + j], high = top().weights[o * in + j];
            const std::size_t at = transposed ? j * out + o : o * in + j;
            if (low < 0 && high > 0) {
                set(choices.least, at, high, low, 2);
                set(choices.greatest, at, low, high, 2);
            } else {
                set(choices.least, at, low, high, low >= 0 ? 0 : 1);
                set(choices.greatest, at, high, low, low >= 0 ? 1 : 0);
            }
        }
    }
    return choices;
}

FixedWeights::FixedWeights(LayerShape of, const std::int64_t* lower_units, const std::int64_t* upper_units,
                           int bits_of_values)
    : shape(of),
      is_point(lower_units == upper_units),
      bits(bits_of_values),
      lower(bound_of(of, lower_units)),
      upper(is_point ? Bound() : bound_of(of, upper_units)),
      forward(bits, of.out * ((of.in + 1) / 2)) {
    const auto set_forward = [&](FixedChoice& choice, const Bound& bound, FixedChoice::Sum sum) {
        for_each_term(of.out, of.in, bound.weights.data(),
                      [&](std::size_t term, std::int32_t first, std::int32_t second) {
                          choice.set(term, first, second, sum, panel_height);
                      });
    };
    set_forward(forward.least, lower, FixedChoice::Sum::least);
    set_forward(forward.greatest, top(), FixedChoice::Sum::greatest);
}

const FixedChoices& FixedWeights::box_backward() const {
    return box_backward_.get([&] { return box_choices(true); });
}

const FixedTerms& FixedWeights::point_backward() const {
    return point_backward_.get([&] {
        const auto [in, out] = shape;
        std::vector<std::int16_t> transposed(in * out);
        for (std::size_t o = 0; o < out; ++o) {
            for (std::size_t j = 0; j < in; ++j) transposed[j * out + o] = lower.weights[o * in + j];
        }
        FixedTerms terms(bits, in * ((out + 1) / 2));
        for_each_term(in, out, transposed.data(),
                      [&](std::size_t term, std::int32_t first, std::int32_t second) {
                          terms.set(term, first, second);
                      });
        return terms;
    });
}

const TileDigits& FixedWeights::tiles(Part part, bool transposed) const {
    const auto index = static_cast<std::size_t>(part);
    return tiles_[index][transposed ? 1 : 0].get([&] {
        const auto [in, out] = shape;
        const std::vector<std::int16_t>& weights = (index < 3 ? lower : top()).weights;
        const std::int32_t least = index % 3 == 1 ? 0 : INT16_MIN, most = index % 3 == 2 ? 0 : INT16_MAX;
        const std::size_t rows = transposed ? in : out, depth = transposed ? out : in;
        const std::size_t row_step = transposed ? 1 : in, step = transposed ? in : 1;
        TileDigits digits(2, rows, depth);
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t first = 0; first < depth; first += tile_depth) {
                std::int8_t *const high = digits.row(0, row, first), *const low = digits.row(1, row, first);
                const std::int16_t* from = weights.data() + row * row_step + first * step;
                for (std::size_t i = 0; i < std::min(tile_depth, depth - first); ++i) {
                    const std::int32_t whole = std::clamp<std::int32_t>(from[i * step], least, most);
                    high[i] = static_cast<std::int8_t>((whole + 128) >> 8);
                    low[i] = static_cast<std::int8_t>(whole);
                }
            }
        }
        return digits;
    });
}

const FixedKernels& fixed_kernels() {
    const Tiles tiles = tiles_in_use();
    return tiles == Tiles::none ? fixed_vector_kernels() : fixed_tile_kernels(tiles == Tiles::amx);
}

const FixedKernels& fixed_vector_kernels() {
    return HWY_DYNAMIC_DISPATCH(Fixed)();
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
