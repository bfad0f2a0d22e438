#include "kernels/cpu/cpu.hpp"

#include <optional>

#include "kernels/base/aligned.hpp"
#include "kernels/cpu/fixed_kernels.hpp"
#include "kernels/cpu/gathered_selections.hpp"
#include "kernels/cpu/linear_kernels.hpp"
#include "kernels/cpu/panel_kernels.hpp"

namespace holdfast {
namespace {

/// One bound of the parameters, by rows and transposed.
template <typename Real>
struct Side {
    Side(LayerShape shape, const std::int64_t* units)
        : rows(shape.parameters()), transposed(shape.in * shape.out) {
        for (std::size_t o = 0; o < shape.out; ++o) {
            for (std::size_t j = 0; j <= shape.in; ++j) {
                const Real value = parameter_value<Real>(units[o * (shape.in + 1) + j]);
                rows[o * (shape.in + 1) + j] = value;
                if (j < shape.in) transposed[j * shape.out + o] = value;
            }
        }
    }
    AlignedVector<Real> rows, transposed;
};

template <typename Real>
class CpuLayer final : public PackedLayer {
  public:
    CpuLayer(LayerShape shape, const std::int64_t* lower, const std::int64_t* upper)
        : PackedLayer(shape, lower == upper),
          lower_(shape, lower),
          upper_(is_point() ? Side<Real>({0, 0}, upper) : Side<Real>(shape, upper)) {}

    cpu::LayerView<Real> view() const {
        const Side<Real>& top = is_point() ? lower_ : upper_;
        return {shape(), lower_.rows.data(), top.rows.data(), lower_.transposed.data(),
                top.transposed.data()};
    }

  private:
    Side<Real> lower_, upper_;
};

template <typename Real>
cpu::LayerView<Real> view_of(const PackedLayer& layer) {
    return static_cast<const CpuLayer<Real>&>(layer).view();
}

template <typename Real>
class CpuLinearStep final : public LinearStep {
  public:
    CpuLinearStep(const NetworkShape& network, const Clip& clip) : network_(network), clip_(clip) {}
    void add(const PackedLayer& layer, const RecordSet& records, std::span<const std::uint32_t> indices,
             std::int64_t* sums, std::int64_t& correct) override {
        Clip clip = clip_;
        clip.part = records.weight(indices.front());
        cpu::add_linear<Real>({network_, clip, view_of<Real>(layer), records, indices, sums, correct},
                              buffers_);
    }

  private:
    const NetworkShape& network_;
    const Clip& clip_;
    cpu::LinearBuffers<Real> buffers_;
};

template <typename Real>
class CpuOperations : public PanelOperations<Real> {
  public:
    using typename PanelOperations<Real>::Interval;
    using typename PanelOperations<Real>::ConstInterval;

    std::string name() const override { return "cpu"; }
    std::unique_ptr<PackedLayer> pack(LayerShape shape, const std::int64_t* lower,
                                      const std::int64_t* upper) const override {
        return std::make_unique<CpuLayer<Real>>(shape, lower, upper);
    }
    void load(const InputTransform& input, double moved, std::size_t inputs, const RecordSet& records,
              std::span<const std::uint32_t> indices, Real* x) const override {
        if (moved != 0) return PanelOperations<Real>::load(input, moved, inputs, records, indices, x);
        cpu::feature_kernels<Real>().load(input, inputs, records, indices, x);
    }
    void transpose(std::size_t rows, const Real* panel, Real* out, std::size_t stride) const override {
        cpu::feature_kernels<Real>().transpose(rows, panel, out, stride);
    }
    void forward_input(const PackedLayer& layer, const Real* x, Interval a) const override {
        kernels().forward_input(view_of<Real>(layer), x, a);
    }
    void forward_box(const PackedLayer& layer, ConstInterval x, Interval a) const override {
        kernels().forward_box(view_of<Real>(layer), x, a);
    }
    void forward(const PackedLayer& layer, ConstInterval z, Interval a) const override {
        kernels().forward(view_of<Real>(layer), z, a);
    }
    void relu(std::size_t rows, Interval a) const override { kernels().relu(rows, a); }
    std::int64_t undecided(std::size_t rows, std::size_t count, ConstInterval z) const override {
        return kernels().undecided(rows, count, z);
    }
    void backward(const PackedLayer& layer, ConstInterval delta, ConstInterval z, Interval d) const override {
        kernels().backward(view_of<Real>(layer), delta, z, d);
    }
    void convolve_input(const Convolution& convolution, const PackedLayer& layer, const Real* x,
                        Interval a) const override {
        cpu::convolution_kernels<Real>().convolve_input(convolution, view_of<Real>(layer), x, a);
    }
    void convolve(const Convolution& convolution, const PackedLayer& layer, ConstInterval z,
                  Interval a) const override {
        cpu::convolution_kernels<Real>().convolve(convolution, view_of<Real>(layer), z, a);
    }
    void convolve_backward(const Convolution& convolution, const PackedLayer& layer, ConstInterval delta,
                           ConstInterval z, Interval d) const override {
        cpu::convolution_kernels<Real>().convolve_backward(convolution, view_of<Real>(layer), delta, z, d);
    }
    void accumulate_positions(const ConvolutionProduct<Real>& product, SumBounds sums,
                              const SelectionTarget* selection) const override {
        cpu::accumulate_positions(product, sums, selection);
    }
    void add_squares_of_positions(const ConvolutionProduct<Real>& product, double* squares) const override {
        cpu::add_squares_of_positions(product, squares);
    }
    void add_squares(std::size_t rows, const Real* values, double* squares) const override {
        kernels().add_squares(rows, values, squares);
    }
    void scale(std::size_t rows, const double* scales, Real* values) const override {
        kernels().scale(rows, scales, values);
    }
    void accumulate(const OuterProduct<Real>& product, SumBounds sums,
                    const SelectionTarget* selection) const override {
        if (selection == nullptr) return cpu::accumulate(product, sums);
        cpu::accumulate_and_select<Real>({&product, 1}, sums, *selection);
    }
    void offer_changes(const OuterProduct<Real>& record, const OuterProduct<Real>& poisoned,
                       const SelectionTarget& selection) const override {
        cpu::offer_changes(record, poisoned, selection);
    }
    std::size_t panels_together(const NetworkShape& network, const Clip& clip,
                                bool selecting) const override {
        return selecting && !clip.by_scales() ? cpu::selected_together<Real>(network) : 1;
    }
    std::unique_ptr<OuterSums<Real>> outer_sums(const NetworkShape& network, const Clip&) const override {
        return std::make_unique<cpu::GatheredSelections<Real>>(network);
    }
    std::unique_ptr<LinearStep> linear_step(const NetworkShape& network, const Clip& clip) const override {
        return clip.by_scales() || clip.after ? nullptr
                                              : std::make_unique<CpuLinearStep<Real>>(network, clip);
    }

  private:
    /// Asked at every call: tests change the instruction set in between.
    static const cpu::LayerKernels<Real>& kernels() { return cpu::layer_kernels<Real>(); }
};

class CpuFixedLayer final : public PackedLayer {
  public:
    CpuFixedLayer(LayerShape shape, const std::int64_t* lower, const std::int64_t* upper, int bits)
        : PackedLayer(shape, lower == upper), weights_(shape, lower, upper, bits) {}
    const cpu::FixedWeights& weights() const { return weights_; }

  private:
    cpu::FixedWeights weights_;
};

const cpu::FixedWeights& fixed_weights_of(const PackedLayer& layer) {
    return static_cast<const CpuFixedLayer&>(layer).weights();
}

/// Products of integers; all else in single precision.
class CpuFixedOperations final : public CpuOperations<float> {
  public:
    explicit CpuFixedOperations(int bits, std::optional<FixedFormat> format = std::nullopt)
        : bits_(bits), format_(format) {}

    Arithmetic arithmetic() const override { return {Precision::fixed, bits_}; }
    std::unique_ptr<PanelOperations<float>> for_network(const NetworkShape& network) const override {
        return std::make_unique<CpuFixedOperations>(bits_, FixedFormat::of(network, bits_));
    }
    std::unique_ptr<PackedLayer> pack(LayerShape shape, const std::int64_t* lower,
                                      const std::int64_t* upper) const override {
        return std::make_unique<CpuFixedLayer>(shape, lower, upper, bits_);
    }
    void forward_input(const PackedLayer& layer, const float* x, Interval a) const override {
        cpu::fixed_kernels().forward_input(fixed_weights_of(layer), format_.value().features, x, a);
    }
    void forward_box(const PackedLayer& layer, ConstInterval x, Interval a) const override {
        cpu::fixed_kernels().forward_box(fixed_weights_of(layer), format_.value().features, x, a);
    }
    void forward(const PackedLayer& layer, ConstInterval z, Interval a) const override {
        cpu::fixed_kernels().forward(fixed_weights_of(layer), format_.value().activations, z, a);
    }
    void backward(const PackedLayer& layer, ConstInterval delta, ConstInterval z, Interval d) const override {
        cpu::fixed_kernels().backward(fixed_weights_of(layer), format_.value().deltas, delta, z, d);
    }
    void accumulate(const OuterProduct<float>& product, SumBounds sums,
                    const SelectionTarget* selection) const override {
        if (!product.clip.by_factors()) return CpuOperations<float>::accumulate(product, sums, selection);
        cpu::fixed_kernels().accumulate(product, bits_, sums);
        if (selection != nullptr) cpu::fixed_select(product, bits_, *selection);
    }
    std::size_t panels_together(const NetworkShape& network, const Clip& clip,
                                bool selecting) const override {
        if (!clip.by_factors()) return CpuOperations<float>::panels_together(network, clip, selecting);
        return cpu::fixed_kernels().outer_sums == nullptr ? 1 : cpu::tiled_panels;
    }
    std::unique_ptr<OuterSums<float>> outer_sums(const NetworkShape& network,
                                                 const Clip& clip) const override {
        if (!clip.by_factors()) return CpuOperations<float>::outer_sums(network, clip);
        return cpu::fixed_kernels().outer_sums(network, bits_);
    }
    std::unique_ptr<LinearStep> linear_step(const NetworkShape&, const Clip&) const override {
        return nullptr;
    }

  private:
    int bits_;
    std::optional<FixedFormat> format_;
};

}  // namespace

std::unique_ptr<PanelOperations<float>> make_fixed_cpu(int bits) {
    return std::make_unique<CpuFixedOperations>(bits);
}

template <typename Real>
std::unique_ptr<PanelOperations<Real>> make_cpu_operations() {
    return std::make_unique<CpuOperations<Real>>();
}
template std::unique_ptr<PanelOperations<double>> make_cpu_operations();
template std::unique_ptr<PanelOperations<float>> make_cpu_operations();

}  // namespace holdfast
