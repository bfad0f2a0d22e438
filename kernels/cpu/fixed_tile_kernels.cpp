// The products of fixed precision by tiles of integers of 8 bits, compiled once an instruction set (Highway).
// Every bound is a sum of whole matrix products, laid one behind the other: where a sign decides which end a
// factor meets, its positive and negative parts meet an end each.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/fixed_kernels.hpp"
#include "kernels/cpu/integer_tiles.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fixed_tile_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/fixed_sinks-inl.hpp"
#include "kernels/cpu/tile_digits-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

using Part = FixedWeights::Part;

/// One matrix product of a sum: factors [rows, depth] by values [depth, lanes].
struct Factor {
    const TileDigits* factors;
    const TileDigits* values;
};

/// So many tiles' products add up in 32 bits; 2047 could, as 128 * 128 * 64 * 2047 < 2^31, but fewer cost
/// nothing, and sums of a common length show that what is longer is carried.
constexpr std::size_t most_depths = 64;

/// Sums of the rows by the lanes that two pairs of tiles hold: each tile of the one by each of the other.
template <typename Tiles, int FactorDigits, int ValueDigits>
class TileSums {
  public:
    static constexpr std::size_t row_blocks = 3 - FactorDigits, lane_blocks = 3 - ValueDigits;
    static constexpr std::size_t rows = row_blocks * tile_side, lanes = lane_blocks * tile_side;

    void add(const Factor& product, std::size_t row_pair, std::size_t lane_pair) {
        for (std::size_t depth = 0; depth < product.factors->depths(); ++depth) {
            if (depths_ == most_depths) carry();
            if (depths_++ == 0) zero();
            multiply_add(product.factors->pair(row_pair, depth), product.values->pair(lane_pair, depth));
        }
    }
    /// Puts the first `row_count` rows to where(row), sums at neighbouring lanes; they begin anew.
    template <typename Where>
    HWY_INLINE void put(std::size_t row_count, Where where) {
        store();
        for (std::size_t row = 0; row < row_count; ++row) {
            const auto to = where(row);
            for (std::size_t lane = 0; lane < lanes; lane += long_lanes) to.put(lane, sum_at(row, lane));
        }
        carried_ = false;
    }

  private:
    struct CarriedRow {
        std::int64_t* sums;
        HWY_INLINE void put(std::size_t lane, hn::Vec<LongTag> sum) const {
            hn::Store(sum, LongTag(), sums + lane);
        }
    };

    void zero() {
        tiles_.template zero<0>();
        tiles_.template zero<1>();
        tiles_.template zero<2>();
        tiles_.template zero<3>();
    }
    void multiply_add(const std::int8_t* factors, const std::int8_t* values) {
        tiles_.template load<6>(values);
        tiles_.template load<4>(factors);
        tiles_.template multiply_add<0, 4, 6>();
        tiles_.template load<7>(values + tile_size);
        tiles_.template multiply_add<1, 4, 7>();
        tiles_.template load<5>(factors + tile_size);
        tiles_.template multiply_add<2, 5, 6>();
        tiles_.template multiply_add<3, 5, 7>();
    }
    void store() {
        tiles_.template store<0>(sums_[0][0]);
        tiles_.template store<1>(sums_[0][1]);
        tiles_.template store<2>(sums_[1][0]);
        tiles_.template store<3>(sums_[1][1]);
        depths_ = 0;
    }
    /// To 64 bits, for products of more tiles than fit 32.
    void carry() {
        put(rows, [&](std::size_t row) { return CarriedRow{carry_ + row * lanes}; });
        carried_ = true;
    }
    HWY_INLINE hn::Vec<LongTag> sum_at(std::size_t row, std::size_t lane) const {
        const auto sum = sum_of_digits(row, lane);
        return carried_ ? hn::Add(sum, hn::Load(LongTag(), carry_ + row * lanes + lane)) : sum;
    }
    /// A digit of 256s counts 256 fold.
    HWY_INLINE hn::Vec<LongTag> sum_of_digits(std::size_t row, std::size_t lane) const {
        const std::size_t row_block = row / tile_side, lane_block = lane / tile_side;
        const std::size_t at = row % tile_side * tile_side + lane % tile_side;
        const auto of = [&](std::size_t factor, std::size_t value) HWY_ATTR {
            return hn::LoadU(hn::Rebind<std::int32_t, LongTag>(), sums_[factor][value] + at);
        };
        const auto wide = [](auto sums) HWY_ATTR { return hn::PromoteTo(LongTag(), sums); };
        if constexpr (FactorDigits == 2 && ValueDigits == 2) {
            const auto middle = hn::Add(of(0, 1), of(1, 0));  // of most_depths each: far below 2^31
            const auto both = hn::Add(hn::ShiftLeft<8>(wide(of(0, 0))), wide(middle));
            return hn::Add(hn::ShiftLeft<8>(both), wide(of(1, 1)));
        } else if constexpr (FactorDigits == 2) {
            return hn::Add(hn::ShiftLeft<8>(wide(of(0, lane_block))), wide(of(1, lane_block)));
        } else {
            return wide(of(row_block, lane_block));
        }
    }

    Tiles tiles_;
    std::size_t depths_ = 0;
    bool carried_ = false;
    alignas(64) std::int32_t sums_[2][2][tile_side * tile_side];
    alignas(64) std::int64_t carry_[rows * lanes];
};

/// One bound of all rows by all lanes.
template <typename Tiles, int FactorDigits, int ValueDigits, typename Sink>
void sum_products(std::span<const Factor> products, std::size_t bound, std::size_t rows, const Sink& sink) {
    TileSums<Tiles, FactorDigits, ValueDigits> sums;
    Tiles::begin();
    for (std::size_t lane_pair = 0; lane_pair < products.front().values->pairs(); ++lane_pair) {
        for (std::size_t row_pair = 0; row_pair < products.front().factors->pairs(); ++row_pair) {
            for (const Factor& product : products) sums.add(product, row_pair, lane_pair);
            const std::size_t first = row_pair * sums.rows, count = std::min(sums.rows, rows - first);
            sums.put(count, [&](std::size_t row)
                                HWY_ATTR { return sink.row(bound, first + row, lane_pair * sums.lanes); });
        }
    }
    Tiles::end();
}
template <typename Tiles, typename Sink>
void sum_bound(std::initializer_list<Factor> products, std::size_t bound, std::size_t rows,
               const Sink& sink) {
    const std::span<const Factor> all(products.begin(), products.size());
    const int factor_digits = all.front().factors->digits(), value_digits = all.front().values->digits();
    if (factor_digits == 2 && value_digits == 2) return sum_products<Tiles, 2, 2>(all, bound, rows, sink);
    if (factor_digits == 2) return sum_products<Tiles, 2, 1>(all, bound, rows, sink);
    sum_products<Tiles, 1, 1>(all, bound, rows, sink);
}

/// So few rows, or products of a sum, are not worth a tile that they do not fill: vectors serve them.
bool fills_no_tile(LayerShape shape) {
    return std::min(shape.in, shape.out) <= tile_side / 2;
}

/// Of `count` values, whole vectors.
bool any_below_zero(const float* values, std::size_t count) {
    Vec<float> least = hn::Zero(reals<float>);
    for (std::size_t i = 0; i < count; i += lanes<float>)
        least = hn::Min(least, hn::Load(reals<float>, values + i));
    return !hn::AllFalse(reals<float>, hn::Lt(least, hn::Zero(reals<float>)));
}

/// What a layer's products read of its values: records in the lanes.
struct PackedValues {
    FixedGrid grid;
    int bits;
    std::size_t rows;

    template <typename OfUnits>
    TileDigits of(const float* values, OfUnits part) const {
        TileDigits digits(bits == 8 ? 1 : 2, height, rows);
        pack_values(digits, 0, grid, rows, height, height, values, part);
        return digits;
    }
};

/// Boxes of values of any sign, an end and a sign each.
struct SignedEnds {
    TileDigits lower_positive, lower_negative, upper_positive, upper_negative;

    SignedEnds(const PackedValues& pack, BasicConstInterval<float> values)
        : lower_positive(pack.of(values.lower, positive)),
          lower_negative(pack.of(values.lower, negative)),
          upper_positive(pack.of(values.upper, positive)),
          upper_negative(pack.of(values.upper, negative)) {}
};

/// Weights in a box by values in a box of any sign: the four terms of a bound are four matrix products
/// (models/mathematics.md, fixed products).
template <typename Tiles>
void sum_boxes(const FixedWeights& layer, bool transposed, FixedGrid grid, BasicConstInterval<float> values,
               const LayerSink& sink) {
    const std::size_t rows = transposed ? layer.shape.in : layer.shape.out,
                      depth = transposed ? layer.shape.out : layer.shape.in;
    const SignedEnds ends({grid, layer.bits, depth}, values);
    const auto weights = [&](Part part) { return &layer.tiles(part, transposed); };
    sum_bound<Tiles>({{weights(Part::lower_positive), &ends.lower_positive},
                      {weights(Part::upper_positive), &ends.lower_negative},
                      {weights(Part::lower_negative), &ends.upper_positive},
                      {weights(Part::upper_negative), &ends.upper_negative}},
                     0, rows, sink);
    sum_bound<Tiles>({{weights(Part::upper_positive), &ends.upper_positive},
                      {weights(Part::lower_positive), &ends.upper_negative},
                      {weights(Part::upper_negative), &ends.lower_positive},
                      {weights(Part::lower_negative), &ends.lower_negative}},
                     1, rows, sink);
}

template <typename Tiles>
void sum_points(const FixedWeights& layer, bool transposed, FixedGrid grid, const float* values,
                const LayerSink& sink) {
    const std::size_t rows = transposed ? layer.shape.in : layer.shape.out,
                      depth = transposed ? layer.shape.out : layer.shape.in;
    const TileDigits all = PackedValues{grid, layer.bits, depth}.of(values, whole);
    sum_bound<Tiles>({{&layer.tiles(Part::lower, transposed), &all}}, 0, rows, sink);
}

template <typename Tiles>
void TiledForwardInput(const FixedWeights& layer, FixedGrid grid, const float* x, BasicInterval<float> a) {
    if (fills_no_tile(layer.shape)) return fixed_vector_kernels().forward_input(layer, grid, x, a);
    const LayerSink sink = layer_sink(layer, grid, a);
    if (a.is_point()) return sum_points<Tiles>(layer, false, grid, x, sink);
    const auto [in, out] = layer.shape;
    const PackedValues pack{grid, layer.bits, in};
    const TileDigits above = pack.of(x, positive);
    const TileDigits &lower = layer.tiles(Part::lower, false), &upper = layer.tiles(Part::upper, false);
    if (!any_below_zero(x, in * height)) {
        sum_bound<Tiles>({{&lower, &above}}, 0, out, sink);
        return sum_bound<Tiles>({{&upper, &above}}, 1, out, sink);
    }
    const TileDigits below = pack.of(x, negative);
    sum_bound<Tiles>({{&lower, &above}, {&upper, &below}}, 0, out, sink);
    sum_bound<Tiles>({{&upper, &above}, {&lower, &below}}, 1, out, sink);
}

template <typename Tiles>
void TiledForwardBox(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> x,
                     BasicInterval<float> a) {
    if (fills_no_tile(layer.shape)) return fixed_vector_kernels().forward_box(layer, grid, x, a);
    sum_boxes<Tiles>(layer, false, grid, x, layer_sink(layer, grid, a));
}

template <typename Tiles>
void TiledForward(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> z,
                  BasicInterval<float> a) {
    if (fills_no_tile(layer.shape)) return fixed_vector_kernels().forward(layer, grid, z, a);
    const LayerSink sink = layer_sink(layer, grid, a);
    if (a.is_point()) return sum_points<Tiles>(layer, false, grid, z.lower, sink);
    const auto [in, out] = layer.shape;
    const PackedValues pack{grid, layer.bits, in};
    const TileDigits low = pack.of(z.lower, whole), high = pack.of(z.upper, whole);
    const auto weights = [&](Part part) { return &layer.tiles(part, false); };
    sum_bound<Tiles>({{weights(Part::lower_positive), &low}, {weights(Part::lower_negative), &high}}, 0, out,
                     sink);
    sum_bound<Tiles>({{weights(Part::upper_positive), &high}, {weights(Part::upper_negative), &low}}, 1, out,
                     sink);
}

template <typename Tiles>
void TiledBackward(const FixedWeights& layer, FixedGrid grid, BasicConstInterval<float> delta,
                   BasicConstInterval<float> z, BasicInterval<float> d) {
    if (fills_no_tile(layer.shape)) return fixed_vector_kernels().backward(layer, grid, delta, z, d);
    const LayerSink sink = layer_sink(grid, d);
    if (d.is_point())
        sum_points<Tiles>(layer, true, grid, delta.lower, sink);
    else
        sum_boxes<Tiles>(layer, true, grid, delta, sink);
    gate_lanes(layer.shape.in, z, d);
}

/// To the biases' sums that of a bound of the factors, [out, height].
void add_biases(const FixedFactors& on, std::size_t out, const float* delta, std::size_t columns,
                std::int64_t* sums) {
    const Grid grid(on.delta);
    for (std::size_t o = 0; o < out; ++o) {
        IntVec sum = hn::Zero(IntTag());
        for (std::size_t r = 0; r < height; r += int_lanes)
            sum = hn::Add(sum, grid.units(delta + o * height + r));
        sums[(o + 1) * columns - 1] += hn::GetLane(hn::SumOfLanes(IntTag(), sum)) * on.one();
    }
}

/// Outer products of one layer, the records of several panels one behind the other.
template <typename Tiles>
class GatheredProducts {
  public:
    /// most: panels, at least 1.
    GatheredProducts(LayerShape shape, int bits, std::size_t most)
        : shape_(shape),
          bits_(bits),
          most_(most),
          lane_count_((shape.in + int_lanes - 1) / int_lanes * int_lanes) {}

    void add(const OuterProduct<float>& product, SumBounds sums) {
        const Operands operands = operands_of(product);
        if (operands != operands_ || sums.lower != sums_.lower || sums.upper != sums_.upper) finish();
        operands_ = operands;
        sums_ = sums;
        const FixedFactors on(product.clip, bits_);
        add_biases(on, shape_.out, product.delta.lower, shape_.in + 1, sums.lower);
        if (operands != Operands::points)
            add_biases(on, shape_.out, product.delta.upper, shape_.in + 1, sums.upper);
        pack(product, on);
        if (++panels_ == most_) finish();
    }
    void finish() {
        if (panels_ == 0) return;
        for (std::optional<TileDigits>* of :
             {&factors_[0], &factors_[1], &factors_[2], &factors_[3], &values_[0], &values_[1]}) {
            if (*of) (*of)->use(panels_ * height);
        }
        panels_ = 0;
        multiply();
    }

  private:
    enum class Operands : std::uint8_t { points, positive_values, any_values, boxes };

    static Operands operands_of(const OuterProduct<float>& product) {
        if (product.is_point()) return Operands::points;
        if (!product.z_rows.is_point()) return Operands::boxes;
        const bool below = any_below_zero(product.z_rows.lower, height * product.stride);
        return below ? Operands::any_values : Operands::positive_values;
    }
    void pack(const OuterProduct<float>& product, const FixedFactors& on) {
        const BasicConstInterval<float> delta = product.delta, z = product.z_rows;
        const auto values = [&](std::size_t which, const float* from, auto part) {
            pack_values(made(values_[which], lane_count_), panels_ * height, on.z, height, product.stride,
                        lane_count_, from, part);
        };
        const auto factors = [&](std::size_t which, const float* from, auto part) {
            pack_factors(made(factors_[which], shape_.out), panels_ * height, on.delta, shape_.out, height,
                         from, part);
        };
        if (operands_ == Operands::boxes) {
            factors(0, delta.lower, positive);
            factors(1, delta.lower, negative);
            factors(2, delta.upper, positive);
            factors(3, delta.upper, negative);
            values(0, z.lower, whole);
            return values(1, z.upper, whole);
        }
        factors(0, delta.lower, whole);
        if (operands_ != Operands::points) factors(1, delta.upper, whole);
        if (operands_ != Operands::any_values) return values(0, z.lower, whole);
        values(0, z.lower, positive);
        values(1, z.lower, negative);
    }
    TileDigits& made(std::optional<TileDigits>& digits, std::size_t size) {
        if (!digits) digits.emplace(bits_ == 8 ? 1 : 2, size, most_ * height);
        return *digits;
    }
    void multiply() {
        const auto factor = [&](std::size_t factors, std::size_t values) {
            return Factor{&*factors_[factors], &*values_[values]};
        };
        const auto sum = [&](std::initializer_list<Factor> products, std::size_t bound) {
            sum_bound<Tiles>(products, bound, shape_.out, OuterSink{shape_.in, sums_});
        };
        switch (operands_) {
            case Operands::points:
                return sum({factor(0, 0)}, 0);
            case Operands::positive_values:
                sum({factor(0, 0)}, 0);
                return sum({factor(1, 0)}, 1);
            case Operands::any_values:
                sum({factor(0, 0), factor(1, 1)}, 0);
                return sum({factor(1, 0), factor(0, 1)}, 1);
            case Operands::boxes:
                sum({factor(0, 0), factor(1, 1)}, 0);
                return sum({factor(2, 1), factor(3, 0)}, 1);
        }
    }

    LayerShape shape_;
    int bits_;
    std::size_t most_, lane_count_, panels_ = 0;
    Operands operands_ = Operands::points;
    SumBounds sums_{nullptr, nullptr};
    std::optional<TileDigits> factors_[4], values_[2];
};

template <typename Tiles>
void TiledAccumulate(const OuterProduct<float>& product, int bits, SumBounds sums) {
    if (fills_no_tile(product.shape)) return fixed_vector_kernels().accumulate(product, bits, sums);
    GatheredProducts<Tiles>(product.shape, bits, 1).add(product, sums);
}

template <typename Tiles>
class TiledOuterSums final : public OuterSums<float> {
  public:
    TiledOuterSums(const NetworkShape& network, int bits) {
        for (const LayerShape shape : network.layers) layers_.emplace_back(shape, bits, tiled_panels);
    }
    bool add(std::size_t layer, const OuterProduct<float>& product, SumBounds sums,
             const SelectionTarget* selection) override {
        if (selection != nullptr || fills_no_tile(product.shape)) return false;
        layers_[layer].add(product, sums);
        return true;
    }
    void finish() override {
        for (GatheredProducts<Tiles>& layer : layers_) layer.finish();
    }

  private:
    std::vector<GatheredProducts<Tiles>> layers_;
};

template <typename Tiles>
std::unique_ptr<OuterSums<float>> tiled_outer_sums(const NetworkShape& network, int bits) {
    return std::make_unique<TiledOuterSums<Tiles>>(network, bits);
}

template <typename Tiles>
constexpr FixedKernels tiled_table{&TiledForwardInput<Tiles>, &TiledForwardBox<Tiles>,
                                   &TiledForward<Tiles>,      &TiledBackward<Tiles>,
                                   &TiledAccumulate<Tiles>,   &tiled_outer_sums<Tiles>};

const FixedKernels& Tiled(bool amx) {
    return amx ? tiled_table<AmxTiles> : tiled_table<PlainTiles>;
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(Tiled);

const FixedKernels& fixed_tile_kernels(bool amx) {
    return HWY_DYNAMIC_DISPATCH(Tiled)(amx);
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
