// Products of integers, compiled once an instruction set (Highway): records in the lanes of a layer's
// products, parameters in those of the outer product.

#include "kernels/cpu/fixed_kernels.hpp"

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fixed_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/fixed_grid-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

using LongTag = hn::ScalableTag<std::int64_t>;
constexpr std::size_t long_lanes = lanes<double>;

HWY_INLINE IntVec positive(IntVec value) {
    return hn::Max(value, hn::Zero(IntTag()));
}
HWY_INLINE IntVec negative(IntVec value) {
    return hn::Min(value, hn::Zero(IntTag()));
}

/// What is in the lanes: [digits, terms, variants, lanes], for two integers a term; the digit of 256s first.
struct LaneTerms {
    std::size_t terms, variants, stride;
    int digits;
    hwy::AlignedFreeUniquePtr<std::int32_t[]> pairs;
    std::vector<std::uint8_t> signs;  // of terms in two parts: 1 has positive values, 2 negative ones

    LaneTerms(std::size_t term_count, std::size_t variant_count, std::size_t lane_count, int bits)
        : terms(term_count),
          variants(variant_count),
          stride(lane_count),
          digits(bits == 8 ? 1 : 2),
          pairs(hwy::AllocateAligned<std::int32_t>(static_cast<std::size_t>(digits) * term_count *
                                                   variant_count * lane_count)) {}

    /// From a digit to the next.
    std::size_t step() const { return terms * variants * stride; }
    HWY_INLINE void store(std::size_t term, std::size_t variant, std::size_t lane, IntVec first,
                          IntVec second) {
        std::int32_t* to = pairs.get() + (term * variants + variant) * stride + lane;
        if (digits == 1) return store(to, first, second);
        const IntVec half = hn::Set(IntTag(), 128);
        const IntVec high_first = hn::ShiftRight<8>(hn::Add(first, half)),
                     high_second = hn::ShiftRight<8>(hn::Add(second, half));
        store(to, high_first, high_second);
        store(to + step(), hn::Sub(first, hn::ShiftLeft<8>(high_first)),
              hn::Sub(second, hn::ShiftLeft<8>(high_second)));
    }

  private:
    static HWY_INLINE void store(std::int32_t* to, IntVec first, IntVec second) {
        const IntVec low = hn::And(first, hn::Set(IntTag(), 0xFFFF));
        hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(second)), IntTag(), to);
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

/// Sums of products of `Rows` rows with `width` vectors of lanes or with one, a digit each.
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
    /// values: the lanes of a term, those of the next digit `step` behind.
    HWY_INLINE void add(std::size_t row, std::int32_t pair, const std::int32_t* values, std::size_t step) {
        const IntVec factors = hn::Set(IntTag(), pair);
        for (std::size_t digit = 0; digit < Digits; ++digit) {
            for (std::size_t v = 0; v < Vectors; ++v)
                at[digit][row][v] =
                    Multiply::add(factors, hn::LoadU(IntTag(), values + digit * step + v * int_lanes),
                                  at[digit][row][v], rest[digit][row][v]);
        }
    }
    /// To 64 bits, in the lanes of a row: the only sums so far, or onto others.
    HWY_INLINE void flush(std::size_t row, bool first, std::int64_t* totals) const {
        HWY_ALIGN std::int32_t buffer[Digits][int_lanes];
        using Half = hn::Rebind<std::int32_t, LongTag>;
        for (std::size_t v = 0; v < Vectors; ++v) {
            for (std::size_t digit = 0; digit < Digits; ++digit)
                hn::Store(Multiply::whole(at[digit][row][v], rest[digit][row][v]), IntTag(), buffer[digit]);
            for (std::size_t i = 0; i < int_lanes; i += long_lanes) {
                std::int64_t* to = totals + v * int_lanes + i;
                auto sum = hn::PromoteTo(LongTag(), hn::LoadU(Half(), buffer[Digits - 1] + i));
                if constexpr (Digits == 2)
                    sum = hn::Add(
                        sum, hn::ShiftLeft<8>(hn::PromoteTo(LongTag(), hn::LoadU(Half(), buffer[0] + i))));
                if (!first) sum = hn::Add(sum, hn::Load(LongTag(), to));
                hn::Store(sum, LongTag(), to);
            }
        }
    }
};

/// What the lanes of a tile are multiplied by: adds the terms [first, last) of its rows.
struct PointTerms {
    const std::int32_t* factors;  // [rows, terms]
    static constexpr std::size_t bounds = 1, rows = 4;

    template <std::size_t Rows, typename OfBound>
    HWY_INLINE void add(const LaneTerms& lane_terms, std::size_t row, std::size_t lane, std::size_t first,
                        std::size_t last, OfBound (&chains)[1]) const {
        const std::int32_t* pairs = factors + row * lane_terms.terms;
        for (std::size_t t = first; t < last; ++t) {
            for (std::size_t i = 0; i < Rows; ++i)
                chains[0].add(i, pairs[i * lane_terms.terms + t],
                              lane_terms.pairs.get() + t * lane_terms.stride + lane, lane_terms.step());
        }
    }
};

/// Values of any sign at a point: what is positive meets the factors' own bound, what is negative the other.
struct SplitTerms {
    const std::int32_t *lower, *upper;  // [rows, terms]
    static constexpr std::size_t bounds = 2, rows = 2;

    template <std::size_t Rows, typename OfBound>
    HWY_INLINE void add(const LaneTerms& lane_terms, std::size_t row, std::size_t lane, std::size_t first,
                        std::size_t last, OfBound (&chains)[2]) const {
        const std::size_t terms = lane_terms.terms, step = lane_terms.step();
        const std::int32_t* low = lower + row * terms;
        const std::int32_t* high = upper + row * terms;
        for (std::size_t t = first; t < last; ++t) {
            const std::int32_t* values = lane_terms.pairs.get() + 2 * t * lane_terms.stride + lane;
            if ((lane_terms.signs[t] & 1U) != 0) {
                for (std::size_t i = 0; i < Rows; ++i) {
                    chains[0].add(i, low[i * terms + t], values, step);
                    chains[1].add(i, high[i * terms + t], values, step);
                }
            }
            if ((lane_terms.signs[t] & 2U) != 0) {
                for (std::size_t i = 0; i < Rows; ++i) {
                    chains[0].add(i, high[i * terms + t], values + lane_terms.stride, step);
                    chains[1].add(i, low[i * terms + t], values + lane_terms.stride, step);
                }
            }
        }
    }
};

/// Each factor picks its variant.
struct ChosenTerms {
    const std::int32_t *least, *greatest;                     // [rows, terms]
    const std::uint32_t *least_variants, *greatest_variants;  // [rows, terms]
    static constexpr std::size_t bounds = 2, rows = 2;

    template <std::size_t Rows, typename OfBound>
    HWY_INLINE void add(const LaneTerms& lane_terms, std::size_t row, std::size_t lane, std::size_t first,
                        std::size_t last, OfBound (&chains)[2]) const {
        const std::size_t terms = lane_terms.terms, start = row * terms, step = lane_terms.step();
        for (std::size_t t = first; t < last; ++t) {
            const std::int32_t* values =
                lane_terms.pairs.get() + t * lane_terms.variants * lane_terms.stride + lane;
            for (std::size_t i = 0; i < Rows; ++i) {
                const std::size_t at = start + i * terms + t;
                chains[0].add(i, least[at], values + least_variants[at], step);
                chains[1].add(i, greatest[at], values + greatest_variants[at], step);
            }
        }
    }
};

template <typename Multiply, std::size_t Digits, std::size_t Rows, std::size_t Vectors, typename Terms,
          typename Sink>
HWY_INLINE void sum_tile(const Terms& terms, const LaneTerms& lane_terms, std::size_t row, std::size_t lane,
                         const Sink& sink) {
    HWY_ALIGN std::int64_t totals[Terms::bounds][Rows][Vectors * int_lanes];
    std::size_t first = 0;
    do {
        Chains<Multiply, Rows, Vectors, Digits> chains[Terms::bounds];
        terms.template add<Rows>(lane_terms, row, lane, first,
                                 std::min(first + fixed_chain, lane_terms.terms), chains);
        for (std::size_t bound = 0; bound < Terms::bounds; ++bound) {
            for (std::size_t i = 0; i < Rows; ++i) chains[bound].flush(i, first == 0, totals[bound][i]);
        }
        first += fixed_chain;
    } while (first < lane_terms.terms);
    for (std::size_t bound = 0; bound < Terms::bounds; ++bound) {
        for (std::size_t i = 0; i < Rows; ++i) sink.store(bound, row + i, lane, Vectors, totals[bound][i]);
    }
}

/// All rows by all lanes, of as many digits.
template <typename Multiply, std::size_t Digits, typename Terms, typename Sink>
void sum_digits(const Terms& terms, const LaneTerms& lane_terms, std::size_t rows, const Sink& sink) {
    constexpr std::size_t tall = Terms::rows / Digits;
    std::size_t lane = 0;
    const auto sweep = [&]<std::size_t Vectors>() {
        std::size_t row = 0;
        for (; row + tall <= rows; row += tall)
            sum_tile<Multiply, Digits, tall, Vectors>(terms, lane_terms, row, lane, sink);
        for (; row < rows; ++row) sum_tile<Multiply, Digits, 1, Vectors>(terms, lane_terms, row, lane, sink);
        lane += Vectors * int_lanes;
    };
    while (lane + width * int_lanes <= lane_terms.stride) sweep.template operator()<width>();
    while (lane < lane_terms.stride) sweep.template operator()<1>();
}
template <typename Multiply, typename Terms, typename Sink>
void sum_all(const Terms& terms, const LaneTerms& lane_terms, std::size_t rows, const Sink& sink) {
    if (lane_terms.digits == 1) return sum_digits<Multiply, 1>(terms, lane_terms, rows, sink);
    sum_digits<Multiply, 2>(terms, lane_terms, rows, sink);
}

/// Sums with biases as floats, records in the lanes.
struct LayerSink {
    const std::int64_t* bias[2];  // [rows], null: none
    int bias_shift;
    double unit;
    BasicInterval<float> to;

    HWY_INLINE void store(std::size_t bound, std::size_t row, std::size_t lane, std::size_t vectors,
                          const std::int64_t* totals) const {
        float* out = (bound == 0 ? to.lower : to.upper) + row * height + lane;
        const auto added = hn::Set(LongTag(), bias[bound] == nullptr ? 0 : bias[bound][row] << bias_shift);
        const Vec<double> scale = hn::Set(reals<double>, unit);
        for (std::size_t i = 0; i < vectors * int_lanes; i += long_lanes) {
            const auto sum = hn::Add(hn::LoadU(LongTag(), totals + i), added);
            store_narrow(hn::Mul(hn::ConvertTo(reals<double>, sum), scale), out + i);
        }
    }
};

/// Sums of the outer product, [rows, in + 1].
struct OuterSink {
    std::size_t in;
    SumBounds to;

    HWY_INLINE void store(std::size_t bound, std::size_t row, std::size_t lane, std::size_t vectors,
                          const std::int64_t* totals) const {
        std::int64_t* out = (bound == 0 ? to.lower : to.upper) + row * (in + 1) + lane;
        const std::size_t count = std::min(vectors * int_lanes, in - lane);
        if (count == vectors * int_lanes) {
            for (std::size_t i = 0; i < vectors * int_lanes; i += long_lanes)
                hn::StoreU(hn::Add(hn::LoadU(LongTag(), out + i), hn::LoadU(LongTag(), totals + i)),
                           LongTag(), out + i);
        } else {
            for (std::size_t i = 0; i < count; ++i) out[i] += totals[i];
        }
    }
};

/// Calls values(term, lane, row, is there a row behind it) for rows 0, 2, ... at every vector of lanes.
template <typename Values>
HWY_INLINE void for_each_pair_of_rows(std::size_t rows, std::size_t lane_count, Values values) {
    for (std::size_t t = 0; 2 * t < rows; ++t) {
        for (std::size_t lane = 0; lane < lane_count; lane += int_lanes)
            values(t, lane, 2 * t, 2 * t + 1 < rows);
    }
}

/// Points: one variant.
LaneTerms point_terms(FixedGrid grid, int bits, std::size_t rows, std::size_t from, std::size_t lane_count,
                      const float* values) {
    LaneTerms terms((rows + 1) / 2, 1, lane_count, bits);
    const Grid on(grid);
    for_each_pair_of_rows(rows, lane_count, [&](std::size_t t, std::size_t lane, std::size_t row, bool both) {
        const float* at = values + row * from + lane;
        terms.store(t, 0, lane, on.units(at), both ? on.units(at + from) : hn::Zero(IntTag()));
    });
    return terms;
}

/// Points of any sign: the positive values and the negative ones.
LaneTerms split_terms(FixedGrid grid, int bits, std::size_t rows, std::size_t from, std::size_t lane_count,
                      const float* values) {
    LaneTerms terms((rows + 1) / 2, 2, lane_count, bits);
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
LaneTerms end_terms(FixedGrid grid, int bits, std::size_t rows, std::size_t from, std::size_t lane_count,
                    BasicConstInterval<float> values) {
    LaneTerms terms((rows + 1) / 2, 4, lane_count, bits);
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
LaneTerms box_terms(FixedGrid grid, int bits, std::size_t rows, BasicConstInterval<float> values) {
    LaneTerms terms(rows, 3, height, bits);
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

LayerSink layer_sink(FixedGrid grid, BasicInterval<float> to) {
    return {{nullptr, nullptr}, -grid.exponent, std::ldexp(1.0, fixed_weight_exponent + grid.exponent), to};
}
LayerSink layer_sink(const FixedWeights& layer, FixedGrid grid, BasicInterval<float> to) {
    LayerSink sink = layer_sink(grid, to);
    sink.bias[0] = layer.lower.bias.data();
    sink.bias[1] = layer.top().bias.data();
    return sink;
}

int bits_of(FixedGrid grid) {
    return grid.limit <= FixedGrid::limit_of(8) ? 8 : 16;
}

template <typename Multiply>
void FixedForwardInput(const FixedWeights& layer, FixedGrid grid, const float* x, BasicInterval<float> a) {
    const auto [in, out] = layer.shape;
    const LayerSink sink = layer_sink(layer, grid, a);
    if (a.is_point())
        return sum_all<Multiply>(PointTerms{layer.lower.forward.data()},
                                 point_terms(grid, bits_of(grid), in, height, height, x), out, sink);
    sum_all<Multiply>(SplitTerms{layer.lower.forward.data(), layer.top().forward.data()},
                      split_terms(grid, bits_of(grid), in, height, height, x), out, sink);
}

template <typename Multiply>
void FixedForwardBox(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> x,
                     BasicInterval<float> a) {
    const auto [in, out] = layer.shape;
    FixedBoxTerms terms(layer, false);
    sum_all<Multiply>(ChosenTerms{terms.least.pairs.data(), terms.greatest.pairs.data(),
                                  terms.least.variants.data(), terms.greatest.variants.data()},
                      box_terms(grid, bits_of(grid), in, x), out, layer_sink(layer, grid, a));
}

template <typename Multiply>
void FixedForward(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> z,
                  BasicInterval<float> a) {
    const auto [in, out] = layer.shape;
    const LayerSink sink = layer_sink(layer, grid, a);
    if (a.is_point())
        return sum_all<Multiply>(PointTerms{layer.lower.forward.data()},
                                 point_terms(grid, bits_of(grid), in, height, height, z.lower), out, sink);
    const FixedEnds& ends = layer.ends();
    sum_all<Multiply>(ChosenTerms{layer.lower.forward.data(), layer.top().forward.data(), ends.lower.data(),
                                  ends.upper.data()},
                      end_terms(grid, bits_of(grid), in, height, height, z), out, sink);
}

template <typename Multiply>
void multiply_transposed(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> delta,
                         BasicInterval<float> d) {
    const std::size_t in = layer.shape.in, out = layer.shape.out;
    const LayerSink sink = layer_sink(grid, d);
    if (d.is_point())
        return sum_all<Multiply>(PointTerms{layer.transposed().data()},
                                 point_terms(grid, bits_of(grid), out, height, height, delta.lower), in,
                                 sink);
    const FixedBoxTerms& terms = layer.transposed_box();
    sum_all<Multiply>(ChosenTerms{terms.least.pairs.data(), terms.greatest.pairs.data(),
                                  terms.least.variants.data(), terms.greatest.variants.data()},
                      box_terms(grid, bits_of(grid), out, delta), in, sink);
}

/// d = gate(z) d, in place.
void gate_lanes(std::size_t rows, BasicConstInterval<float> z, BasicInterval<float> d) {
    for (std::size_t i = 0; i < rows * height; i += int_lanes) {
        const Vec<float> lower = hn::Load(reals<float>, d.lower + i);
        if (!d.is_point()) {
            store_gated<float>(lower, hn::Load(reals<float>, d.upper + i), z, d, i);
        } else {
            const auto open = hn::Gt(hn::Load(reals<float>, z.lower + i), hn::Zero(reals<float>));
            hn::Store(hn::IfThenElseZero(open, lower), reals<float>, d.lower + i);
        }
    }
}

template <typename Multiply>
void FixedBackward(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> delta,
                   BasicConstInterval<float> z, BasicInterval<float> d) {
    multiply_transposed<Multiply>(layer, grid, delta, d);
    gate_lanes(layer.shape.in, z, d);
}

/// Both bounds of the factors of a panel, two records a term, [out, height / 2].
struct OuterFactors {
    std::vector<std::int64_t> bias;  // [out], their sum
    AlignedVector<std::int32_t> pairs;
    OuterFactors(FixedGrid grid, std::size_t out, const float* delta) : bias(out), pairs(out * height / 2) {
        const Grid on(grid);
        HWY_ALIGN std::int32_t units[height];
        for (std::size_t o = 0; o < out; ++o) {
            for (std::size_t r = 0; r < height; r += int_lanes)
                hn::Store(on.units(delta + o * height + r), IntTag(), units + r);
            for (std::size_t r = 0; r < height; ++r) bias[o] += units[r];
            for (std::size_t t = 0; t < height / 2; ++t)
                pairs[o * height / 2 + t] = fixed_pair(units[2 * t], units[2 * t + 1]);
        }
    }
    void add_biases(std::int64_t one, std::size_t columns, std::int64_t* sums) const {
        for (std::size_t o = 0; o < bias.size(); ++o) sums[(o + 1) * columns - 1] += bias[o] * one;
    }
    /// Which variant of end_terms() a term meets: at the upper end where a factor's sign is `upper_if`.
    std::vector<std::uint32_t> variants(bool upper_if_negative, std::size_t stride) const {
        std::vector<std::uint32_t> chosen(pairs.size());
        const std::uint32_t flip = upper_if_negative ? 0 : 3;
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            const auto bits = static_cast<std::uint32_t>(pairs[i]);
            const std::uint32_t is_negative = (bits >> 15U & 1U) | (bits >> 31U << 1U);
            chosen[i] = (is_negative ^ flip) * static_cast<std::uint32_t>(stride);
        }
        return chosen;
    }
};

template <typename Multiply>
void FixedAccumulate(const OuterProduct<float>& product, int bits, SumBounds sums) {
    const FixedFactors on(product.clip, bits);
    const auto [in, out] = product.shape;
    const std::size_t stride = product.stride, lane_count = (in + int_lanes - 1) / int_lanes * int_lanes;
    const OuterFactors lower(on.delta, out, product.delta.lower);
    const OuterSink sink{in, sums};
    lower.add_biases(on.one(), in + 1, sums.lower);
    if (product.is_point())
        return sum_all<Multiply>(PointTerms{lower.pairs.data()},
                                 point_terms(on.z, bits, height, stride, lane_count, product.z_rows.lower),
                                 out, sink);
    const OuterFactors upper(on.delta, out, product.delta.upper);
    upper.add_biases(on.one(), in + 1, sums.upper);
    if (product.z_rows.is_point())
        return sum_all<Multiply>(SplitTerms{lower.pairs.data(), upper.pairs.data()},
                                 split_terms(on.z, bits, height, stride, lane_count, product.z_rows.lower),
                                 out, sink);
    const auto least = lower.variants(true, lane_count), greatest = upper.variants(false, lane_count);
    sum_all<Multiply>(ChosenTerms{lower.pairs.data(), upper.pairs.data(), least.data(), greatest.data()},
                      end_terms(on.z, bits, height, stride, lane_count, product.z_rows), out, sink);
}

template <typename Multiply>
constexpr FixedKernels fixed_table{&FixedForwardInput<Multiply>, &FixedForwardBox<Multiply>,
                                   &FixedForward<Multiply>, &FixedBackward<Multiply>,
                                   &FixedAccumulate<Multiply>};

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

std::int32_t weight_at(const FixedSide& side, std::size_t o, std::size_t j) {
    const auto bits = static_cast<std::uint32_t>(side.forward[o * side.terms + j / 2]);
    return static_cast<std::int16_t>(j % 2 == 0 ? bits & 0xFFFFU : bits >> 16U);
}

FixedSide side_of(LayerShape shape, const std::int64_t* units) {
    FixedSide side{(shape.in + 1) / 2, {}, {}};
    side.forward.resize(shape.out * side.terms);
    for (std::size_t o = 0; o < shape.out; ++o, units += shape.in + 1) {
        for (std::size_t t = 0; t < side.terms; ++t)
            side.forward[o * side.terms + t] = fixed_pair(
                fixed_weight(units[2 * t]), 2 * t + 1 < shape.in ? fixed_weight(units[2 * t + 1]) : 0);
        side.bias.push_back(fixed_parameter(units[shape.in]));
    }
    return side;
}

/// Which variant of end_terms() the weights of a term meet: variant bit i where weight i is negative, or not.
std::vector<std::uint32_t> ends_of(const FixedSide& side, bool upper_if_negative) {
    std::vector<std::uint32_t> ends(side.forward.size());
    std::transform(side.forward.begin(), side.forward.end(), ends.begin(), [&](std::int32_t pair) {
        const auto bits = static_cast<std::uint32_t>(pair);
        const std::uint32_t is_negative = (bits >> 15U & 1U) | (bits >> 31U << 1U);
        return (is_negative ^ (upper_if_negative ? 0U : 3U)) * std::uint32_t{panel_height};
    });
    return ends;
}

}  // namespace

FixedBoxTerms::FixedBoxTerms(const FixedWeights& layer, bool transposed) {
    const auto [in, out] = layer.shape;
    for (Bound* bound : {&least, &greatest}) {
        bound->pairs.resize(in * out);
        bound->variants.resize(in * out);
    }
    for (std::size_t o = 0; o < out; ++o) {
        for (std::size_t j = 0; j < in; ++j) {
            const std::int32_t low = weight_at(layer.lower, o, j), high = weight_at(layer.top(), o, j);
            const bool across = low < 0 && high > 0;
            const std::int32_t rising = fixed_pair(low, high), falling = fixed_pair(high, low);
            const std::size_t at = transposed ? j * out + o : o * in + j;
            least.pairs[at] = across ? falling : rising;
            greatest.pairs[at] = across ? rising : falling;
            least.variants[at] = (across ? 2 : low >= 0 ? 0 : 1) * panel_height;
            greatest.variants[at] = (across ? 2 : low >= 0 ? 1 : 0) * panel_height;
        }
    }
}

FixedWeights::FixedWeights(LayerShape of, const std::int64_t* lower_units, const std::int64_t* upper_units)
    : shape(of),
      is_point(lower_units == upper_units),
      lower(side_of(of, lower_units)),
      upper(is_point ? FixedSide() : side_of(of, upper_units)) {}

const FixedEnds& FixedWeights::ends() const {
    return ends_.get([&] { return FixedEnds{ends_of(lower, true), ends_of(top(), false)}; });
}

const AlignedVector<std::int32_t>& FixedWeights::transposed() const {
    return transposed_.get([&] {
        AlignedVector<std::int32_t> pairs;
        pairs.reserve(shape.in * ((shape.out + 1) / 2));
        for (std::size_t j = 0; j < shape.in; ++j) {
            for (std::size_t o = 0; o < shape.out; o += 2)
                pairs.push_back(
                    fixed_pair(weight_at(lower, o, j), o + 1 < shape.out ? weight_at(lower, o + 1, j) : 0));
        }
        return pairs;
    });
}

const FixedBoxTerms& FixedWeights::transposed_box() const {
    return transposed_box_.get([&] { return FixedBoxTerms(*this, true); });
}

const FixedKernels& fixed_kernels() {
    return HWY_DYNAMIC_DISPATCH(Fixed)();
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
