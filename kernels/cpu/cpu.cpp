#include "kernels/cpu/cpu.hpp"

#include "kernels/base/aligned.hpp"
#include "kernels/cpu/panel_kernels.hpp"
#include "kernels/ops/loss.hpp"

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
class CpuBackend final : public BasicBackend<Real> {
  public:
    using typename BasicBackend<Real>::Interval;
    using typename BasicBackend<Real>::ConstInterval;

    std::string name() const override { return "cpu"; }
    std::unique_ptr<PackedLayer> pack(LayerShape shape, const std::int64_t* lower,
                                      const std::int64_t* upper) const override {
        return std::make_unique<CpuLayer<Real>>(shape, lower, upper);
    }
    void forward_input(const PackedLayer& layer, const Real* x, Interval a) const override {
        kernels().forward_input(view_of(layer), x, a);
    }
    void forward(const PackedLayer& layer, ConstInterval z, Interval a) const override {
        kernels().forward(view_of(layer), z, a);
    }
    void relu(std::size_t rows, Interval a) const override { kernels().relu(rows, a); }
    void backward(const PackedLayer& layer, ConstInterval delta, ConstInterval z, Interval d) const override {
        kernels().backward(view_of(layer), delta, z, d);
    }
    void loss_gradient(Loss loss, std::size_t outputs, ConstInterval logits, const std::int32_t* labels,
                       std::size_t count, Interval delta) const override {
        loss_gradient_on_host(loss, outputs, logits, labels, count, delta);
    }
    void transpose(std::size_t rows, const Real* panel, Real* out, std::size_t stride) const override {
        transpose_on_host(rows, panel, out, stride);
    }
    void accumulate(LayerShape shape, const Clip& clip, ConstInterval delta, ConstInterval z_rows,
                    std::size_t stride, std::int64_t* sum_lower, std::int64_t* sum_upper) const override {
        kernels().accumulate(shape, clip, delta, z_rows, stride, sum_lower, sum_upper);
    }
    void accumulate_and_select(LayerShape shape, const Clip& clip, ConstInterval delta, ConstInterval z_rows,
                               std::size_t stride, std::size_t count, std::int64_t* sum_lower,
                               std::int64_t* sum_upper, std::size_t first_entry, Selection& least_upper,
                               Selection& least_negated_lower) const override {
        kernels().accumulate_and_select(shape, clip, delta, z_rows, stride, count, sum_lower, sum_upper,
                                        first_entry, least_upper, least_negated_lower);
    }

  private:
    static cpu::LayerView<Real> view_of(const PackedLayer& layer) {
        return static_cast<const CpuLayer<Real>&>(layer).view();
    }

    /// Asked at every call: tests change the instruction set in between.
    static const cpu::Kernels<Real>& kernels() { return cpu::kernels<Real>(); }
};

}  // namespace

template <typename Real>
std::unique_ptr<BasicBackend<Real>> make_cpu_backend() {
    return std::make_unique<CpuBackend<Real>>();
}
template std::unique_ptr<Backend> make_cpu_backend();
template std::unique_ptr<BasicBackend<float>> make_cpu_backend();

}  // namespace holdfast
