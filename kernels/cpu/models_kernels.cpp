// Networks in the lanes, compiled once an instruction set (Highway): weights, activations and deltas are
// vectors over networks, so that tiles of rows x records, and of rows x columns of a gradient, need neither
// broadcasts nor sums across lanes, whatever a layer's width. A panel of records goes forward and back while
// it lies in a core's cache; entries are gathered there in Reals, and leave as integers.

#include "kernels/cpu/models_kernels.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cpu/targets.hpp"
#include "kernels/ops/whole_persons.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/models_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/loss-inl.hpp"
#include "kernels/cpu/models-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

constexpr std::size_t tile_rows = HWY_LANES(double) >= 8 ? 4 : 2, tile_records = 4, tile_columns = 4;
static_assert(models_panel % tile_records == 0);

/// Calls tile.template run<Rows>(first) over all rows, tile_rows at a time and then what is left.
template <std::size_t Rows = tile_rows, typename Tile>
HWY_INLINE void for_each_tile_of_rows(std::size_t rows, const Tile& tile, std::size_t first = 0) {
    for (; first + Rows <= rows; first += Rows) tile.template run<Rows>(first);
    if constexpr (Rows > 1) for_each_tile_of_rows<Rows - 1>(rows, tile, first);
}

/// a = W z + b of tile_records records; hidden: behind the ReLU.
template <typename Real, typename Inputs>
struct ForwardModels {
    LayerShape shape;
    const Real* weights;  // [out, in + 1, lanes]
    const Real* z;        // [tile_records, in + 1], as Inputs steps
    Real* a;              // [tile_records, out + 1, lanes]
    bool hidden;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row) const {
        const std::size_t columns = shape.in + 1;
        Vec<Real> sums[Rows][tile_records];
        affine_tile<Real, Inputs>(shape, weights + row * columns * lanes<Real>, z, columns, sums);
        const Vec<Real> zero = hn::Zero(reals<Real>);
        for (std::size_t r = 0; r < tile_records; ++r) {
            for (std::size_t o = 0; o < Rows; ++o) {
                Vec<Real> value = sums[o][r];
                if (hidden) value = saturated_lanes<Real>(hn::Max(value, zero));
                hn::Store(value, reals<Real>, a + (r * (shape.out + 1) + row + o) * lanes<Real>);
            }
        }
    }
};

/// d = gate(z) * (W^T delta), saturated, of tile_records records; the rows are those of d.
template <typename Real>
struct BackwardModels {
    LayerShape shape;
    const Real* weights;  // [out, in + 1, lanes]
    const Real* delta;    // [tile_records, out, lanes]
    const Real* z;        // [tile_records, in + 1, lanes]
    Real* d;              // [tile_records, in, lanes]

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row) const {
        const std::size_t in = shape.in, out = shape.out, stride = (in + 1) * lanes<Real>;
        const Vec<Real> zero = hn::Zero(reals<Real>);
        Vec<Real> sums[Rows][tile_records];
        for (std::size_t j = 0; j < Rows; ++j) {
            for (std::size_t r = 0; r < tile_records; ++r) sums[j][r] = zero;
        }
        for (std::size_t o = 0; o < out; ++o) {
            Vec<Real> w[Rows];
            for (std::size_t j = 0; j < Rows; ++j)
                w[j] = hn::Load(reals<Real>, weights + o * stride + (row + j) * lanes<Real>);
            for (std::size_t r = 0; r < tile_records; ++r) {
                const Vec<Real> value = hn::Load(reals<Real>, delta + (r * out + o) * lanes<Real>);
                for (std::size_t j = 0; j < Rows; ++j) sums[j][r] = fused(w[j], value, sums[j][r]);
            }
        }
        for (std::size_t r = 0; r < tile_records; ++r) {
            for (std::size_t j = 0; j < Rows; ++j) {
                const Vec<Real> gate = hn::Load(reals<Real>, z + (r * (in + 1) + row + j) * lanes<Real>);
                hn::Store(hn::IfThenElseZero(hn::Gt(gate, zero), saturated_lanes<Real>(sums[j][r])),
                          reals<Real>, d + (r * in + row + j) * lanes<Real>);
            }
        }
    }
};

/// Entries are added as they are, onto what has been gathered: of clip "none", and of factors onto the bias
/// of the grid.
template <typename Real>
struct AddProducts {
    HWY_INLINE Vec<Real> operator()(Vec<Real> delta, Vec<Real> z, Vec<Real> gathered) const {
        return fused(delta, z, gathered);
    }
};
/// Each is rounded to the grid by the bias, clamped, and added without it: multiples of the unit, exactly.
template <typename Real>
struct AddClamped {
    explicit AddClamped(const Clip& clip) {
        const BasicGradientGrid<Real> grid = clip.grid<Real>();
        const Real limit = static_cast<Real>(clip.weight_units<Real>()) * grid.unit();
        at_zero = grid.bias();
        lowest = grid.bias() - limit;
        highest = grid.bias() + limit;
    }
    HWY_INLINE Vec<Real> operator()(Vec<Real> delta, Vec<Real> z, Vec<Real> gathered) const {
        const Vec<Real> bias = hn::Set(reals<Real>, at_zero);
        const Vec<Real> entry = hn::Min(hn::Max(fused(delta, z, bias), hn::Set(reals<Real>, lowest)),
                                        hn::Set(reals<Real>, highest));
        return hn::Add(gathered, hn::Sub(entry, bias));
    }
    Real at_zero, lowest, highest;
};

/// gathered += the outer product of a panel's records; the rows are those of delta.
template <typename Real, typename Inputs, typename Add>
struct OuterModels {
    LayerShape shape;
    const Real* delta;  // [count, out, lanes]
    const Real* z;      // [count, in + 1], as Inputs steps
    std::size_t count;
    Real* gathered;  // [out, in + 1, lanes]
    Add add;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row) const {
        std::size_t column = 0;
        for (; column + tile_columns <= shape.in + 1; column += tile_columns)
            tile<Rows, tile_columns>(row, column);
        for (; column <= shape.in; ++column) tile<Rows, 1>(row, column);
    }

  private:
    template <std::size_t Rows, std::size_t Columns>
    HWY_INLINE void tile(std::size_t row, std::size_t column) const {
        const std::size_t in = shape.in, out = shape.out, stride = (in + 1) * lanes<Real>;
        Real* to = gathered + row * stride + column * lanes<Real>;
        Vec<Real> sums[Rows][Columns];
        for (std::size_t o = 0; o < Rows; ++o) {
            for (std::size_t j = 0; j < Columns; ++j)
                sums[o][j] = hn::Load(reals<Real>, to + o * stride + j * lanes<Real>);
        }
        for (std::size_t r = 0; r < count; ++r) {
            Vec<Real> d[Rows];
            for (std::size_t o = 0; o < Rows; ++o)
                d[o] = hn::Load(reals<Real>, delta + (r * out + row + o) * lanes<Real>);
            for (std::size_t j = 0; j < Columns; ++j) {
                const Vec<Real> value = Inputs::at(z + (r * (in + 1) + column + j) * Inputs::step);
                for (std::size_t o = 0; o < Rows; ++o) sums[o][j] = add(d[o], value, sums[o][j]);
            }
        }
        for (std::size_t o = 0; o < Rows; ++o) {
            for (std::size_t j = 0; j < Columns; ++j)
                hn::Store(sums[o][j], reals<Real>, to + o * stride + j * lanes<Real>);
        }
    }
};

/// Values within +-limit; odd: with the last bit set, where not 0.
template <typename Real>
HWY_INLINE Vec<Real> clamped_lanes(Vec<Real> value, Real limit, bool odd) {
    const Vec<Real> inside =
        hn::Min(hn::Max(value, hn::Set(reals<Real>, -limit)), hn::Set(reals<Real>, limit));
    if (!odd) return inside;
    const auto last_bit = hn::BitCast(reals<Real>, hn::Set(integers<Real>, 1));
    return hn::IfThenZeroElse(hn::Eq(inside, hn::Zero(reals<Real>)), hn::Or(inside, last_bit));
}

template <typename Real>
class ModelsPanels {
  public:
    ModelsPanels(const ModelsStep<Real>& step, ModelsBuffers<Real>& buffers)
        : step_(step), network_(step.network), clip_(step.clip), buffers_(buffers) {}

    void run() {
        const std::size_t values = network_.parameters() * lanes<Real>;
        for (std::size_t i = 0; i < values; ++i)
            buffers_.weights[i] = parameter_value<Real>(step_.parameters[i]);
        start();
        const std::size_t records = step_.indices.size(),
                          panels = (records + models_panel - 1) / models_panel;
        std::size_t first = 0, since = 0;
        for (std::size_t panel = 0; panel < panels; ++panel) {
            const std::size_t left = records - first, even = (left + panels - panel - 1) / (panels - panel),
                              whole = (even + tile_records - 1) / tile_records * tile_records,
                              count = std::min(left, whole);
            if (since + count > most_gathered()) {
                deliver();
                start();
                since = 0;
            }
            take(first, count);
            first += count;
            since += count;
        }
        deliver();
    }

  private:
    /// Records whose entries a Real can hold, exactly where they are on a grid. A chain goes on to the end.
    std::size_t most_gathered() const {
        if (clip_.kind == Clip::Kind::none) return step_.indices.size();
        return static_cast<std::size_t>(BasicGradientGrid<Real>::block_limit);
    }
    Real beginning() const {
        return clip_.kind == Clip::Kind::factored ? clip_.template grid<Real>().bias() : Real{0};
    }
    void start() {
        const std::size_t values = network_.parameters() * lanes<Real>;
        std::fill_n(buffers_.gathered.data(), values, beginning());
    }
    /// What was gathered, as whole units: of a grid exactly, else rounded to them.
    void deliver() {
        const bool plain = clip_.kind == Clip::Kind::none;
        const int exponent = plain ? Clip::plain_exponent : clip_.template grid<Real>().exponent();
        const double limit = plain ? Clip::plain_limit : RealFormat<double>::saturation;
        const Vec<double> from = hn::Set(reals<double>, static_cast<double>(beginning())),
                          units = hn::Set(reals<double>, std::ldexp(1.0, -exponent));
        const std::size_t values = network_.parameters() * lanes<Real>;
        for (std::size_t i = 0; i < values; i += lanes<double>) {
            const Vec<double> sum =
                clamped_lanes<double>(hn::Sub(load_wide(buffers_.gathered.data() + i), from), limit, false);
            const auto whole = hn::ConvertTo(integers<double>, hn::Round(hn::Mul(sum, units)));
            std::int64_t* to = step_.sums + i;
            hn::StoreU(hn::Add(hn::LoadU(integers<double>, to), whole), integers<double>, to);
        }
    }

    void take(std::size_t first, std::size_t count) {
        load(first, count);
        const std::size_t padded = (count + tile_records - 1) / tile_records * tile_records;
        for (std::size_t l = 0; l < network_.layers.size(); ++l) forward(l, padded);
        loss(first, count, padded);
        for (std::size_t l = network_.last();; --l) {
            outer(l, first, count);
            if (l == 0) return;
            for (std::size_t r = 0; r < padded; r += tile_records) {
                const LayerShape shape = network_.layers[l];
                for_each_tile_of_rows(
                    shape.in, BackwardModels<Real>{shape, weights(l),
                                                   buffers_.delta.data() + r * shape.out * lanes<Real>,
                                                   activations(l - 1) + r * (shape.in + 1) * lanes<Real>,
                                                   buffers_.before.data() + r * shape.in * lanes<Real>});
            }
            buffers_.delta.swap(buffers_.before);
        }
    }

    /// The rest of the panel keeps what it had: its deltas are 0.
    void load(std::size_t first, std::size_t count) {
        const std::size_t inputs = network_.inputs();
        const bool odd = clip_.kind == Clip::Kind::factored;
        for (std::size_t r = 0; r < count; ++r) {
            const std::size_t record = step_.indices[first + r];
            Real *row = buffers_.features.data() + r * (inputs + 1),
                 *factors = buffers_.feature_factors.data() + r * (inputs + 1);
            for (std::size_t j = 0; j < inputs; ++j) {
                row[j] = network_.input.template apply<Real>(step_.records.feature(record * inputs + j));
                if (!odd) continue;
                const Real limit = clip_.template activation_clamp<Real>();
                factors[j] = make_odd(std::min(std::max(row[j], -limit), limit));
            }
            buffers_.targets[r] = step_.records.target(record);
        }
    }

    const Real* weights(std::size_t l) const {
        return buffers_.weights.data() + network_.offset(l) * lanes<Real>;
    }
    Real* activations(std::size_t l) { return buffers_.activations[l].data(); }

    void forward(std::size_t l, std::size_t records) {
        const LayerShape shape = network_.layers[l];
        const bool hidden = l < network_.last();
        for (std::size_t r = 0; r < records; r += tile_records) {
            Real* a = activations(l) + r * (shape.out + 1) * lanes<Real>;
            const std::size_t from = r * (shape.in + 1);
            if (l == 0) {
                const Real* x = buffers_.features.data() + from;
                for_each_tile_of_rows(shape.out,
                                      ForwardModels<Real, Alike<Real>>{shape, weights(l), x, a, hidden});
            } else {
                const Real* z = activations(l - 1) + from * lanes<Real>;
                for_each_tile_of_rows(shape.out,
                                      ForwardModels<Real, Apart<Real>>{shape, weights(l), z, a, hidden});
            }
        }
    }

    void loss(std::size_t first, std::size_t count, std::size_t padded) {
        const std::size_t outputs = network_.outputs();
        std::fill(buffers_.delta.begin(),
                  buffers_.delta.begin() + static_cast<std::ptrdiff_t>(padded * outputs * lanes<Real>),
                  Real{0});
        for (std::size_t r = 0; r < count; ++r) {
            double targets[lanes<double>];
            std::fill_n(targets, lanes<double>, buffers_.targets[r]);
            const Real* logits = activations(network_.last()) + r * (outputs + 1) * lanes<Real>;
            Real* delta = buffers_.delta.data() + r * outputs * lanes<Real>;
            for (std::size_t c = 0; c < outputs; ++c) {
                for (std::size_t lane = 0; lane < lanes<Real>; lane += lanes<double>)
                    derivative_lanes(network_.loss, outputs, c, targets, logits + lane, lanes<Real>,
                                     delta + c * lanes<Real> + lane);
            }
        }
        for (std::size_t lane = 0; lane < lanes<Real>; ++lane) {
            const std::size_t left_out = step_.without[lane];
            if (left_out >= step_.indices.size()) continue;
            const std::size_t behind =
                std::min(end_of_person(step_.records, step_.indices, left_out), first + count);
            for (std::size_t at = std::max(left_out, first); at < behind; ++at) {
                for (std::size_t c = 0; c < outputs; ++c)
                    buffers_.delta[((at - first) * outputs + c) * lanes<Real> + lane] = 0;
            }
        }
    }

    /// What the outer product takes of `rows` rows of `count` records; the rows behind stay as they are.
    void clamp_rows(const Real* from, std::size_t rows, std::size_t kept, std::size_t count, Real limit,
                    bool odd, Real* to) {
        const std::size_t stride = (rows + kept) * lanes<Real>;
        for (std::size_t r = 0; r < count; ++r) {
            std::size_t i = r * stride;
            for (; i < r * stride + rows * lanes<Real>; i += lanes<Real>)
                hn::Store(clamped_lanes<Real>(hn::Load(reals<Real>, from + i), limit, odd), reals<Real>,
                          to + i);
            for (; i < (r + 1) * stride; i += lanes<Real>)
                hn::Store(hn::Load(reals<Real>, from + i), reals<Real>, to + i);
        }
    }

    /// Of rows of persons, what each one's factors count by.
    void weigh_rows_of_panel(std::size_t first, std::size_t out, std::size_t count) {
        for (std::size_t r = 0; r < count; ++r) {
            const auto weight = rounded_down<Real>(step_.records.weight(step_.indices[first + r]));
            Real* row = buffers_.delta_factors.data() + r * out * lanes<Real>;
            for (std::size_t i = 0; i < out * lanes<Real>; ++i) row[i] *= weight;
        }
    }

    void outer(std::size_t l, std::size_t first, std::size_t count) {
        const std::size_t in = network_.layers[l].in, out = network_.layers[l].out;
        const Real* delta = buffers_.delta.data();
        const Real* z = l == 0 ? nullptr : activations(l - 1);
        const bool factored = clip_.kind == Clip::Kind::factored;
        if (clip_.kind != Clip::Kind::elementwise) {
            const Real limit = factored ? clip_.template delta_clamp<Real>() : plain_delta_limit<Real>;
            clamp_rows(delta, out, 0, count, limit, factored, buffers_.delta_factors.data());
            if (step_.records.weights != nullptr) weigh_rows_of_panel(first, out, count);
            delta = buffers_.delta_factors.data();
        }
        if (factored && l > 0) {
            clamp_rows(z, in, 1, count, clip_.template activation_clamp<Real>(), true,
                       buffers_.activation_factors.data());
            z = buffers_.activation_factors.data();
        }
        const Real* x = factored ? buffers_.feature_factors.data() : buffers_.features.data();
        Real* gathered = buffers_.gathered.data() + network_.offset(l) * lanes<Real>;
        if (clip_.kind == Clip::Kind::elementwise)
            return add_products(l, delta, x, z, count, gathered, AddClamped<Real>(clip_));
        add_products(l, delta, x, z, count, gathered, AddProducts<Real>());
    }

    template <typename Add>
    void add_products(std::size_t l, const Real* delta, const Real* x, const Real* z, std::size_t count,
                      Real* gathered, Add add) {
        const LayerShape shape = network_.layers[l];
        if (l == 0) {
            for_each_tile_of_rows(shape.out,
                                  OuterModels<Real, Alike<Real>, Add>{shape, delta, x, count, gathered, add});
        } else {
            for_each_tile_of_rows(shape.out,
                                  OuterModels<Real, Apart<Real>, Add>{shape, delta, z, count, gathered, add});
        }
    }

    const ModelsStep<Real>& step_;
    const NetworkShape& network_;
    const Clip& clip_;
    ModelsBuffers<Real>& buffers_;
};

template <typename Real>
void AddModelsKernel(const ModelsStep<Real>& step, ModelsBuffers<Real>& buffers) {
    ModelsPanels<Real>(step, buffers).run();
}

template <typename Real>
constexpr ModelsKernels<Real> models_table{lanes<Real>, &AddModelsKernel<Real>};

const ModelsKernels<double>& ModelsInDouble() {
    return models_table<double>;
}
const ModelsKernels<float>& ModelsInSingle() {
    return models_table<float>;
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(ModelsInDouble);
HWY_EXPORT(ModelsInSingle);

template <>
const ModelsKernels<double>& models_kernels<double>() {
    return HWY_DYNAMIC_DISPATCH(ModelsInDouble)();
}
template <>
const ModelsKernels<float>& models_kernels<float>() {
    return HWY_DYNAMIC_DISPATCH(ModelsInSingle)();
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
