#include "kernels/reference/reference.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ops/loss.hpp"
#include "kernels/reference/rump.hpp"

namespace holdfast {
namespace {

constexpr std::size_t height = panel_height;

/// Row-major doubles, as they come.
struct ReferenceLayer final : PackedLayer {
    ReferenceLayer(LayerShape shape, const std::int64_t* lower_units, const std::int64_t* upper_units)
        : PackedLayer(shape, lower_units == upper_units),
          lower(shape.parameters()),
          upper(shape.parameters()) {
        for (std::size_t p = 0; p < shape.parameters(); ++p) {
            lower[p] = parameter_value(lower_units[p]);
            upper[p] = parameter_value(upper_units[p]);
        }
    }
    std::vector<double> lower, upper;  // [out, in + 1]
};

const ReferenceLayer& unpacked(const PackedLayer& layer) {
    return static_cast<const ReferenceLayer&>(layer);
}

double clamp_to(double limit, double value) {
    return std::min(std::max(value, -limit), limit);
}

/// One entry's bounds [lower, upper] = clip(delta * z): z >= 0, or a point of any sign. The exact product is
/// rounded once, to the grid: by an fma onto the bias. Elementwise, what is beyond Gamma becomes Gamma then;
/// factored, both factors are clamped before, and made odd, since the fast kernels add such products onto one
/// another without a tie rule.
struct Entry {
    std::int64_t lower, upper;
};
Entry clipped_entry(const Clip& clip, const GradientGrid& grid, bool bias, double delta_lower,
                    double delta_upper, double z_lower, double z_upper) {
    if (clip.kind == Clip::Kind::factored) {
        delta_lower = make_odd(clamp_to(clip.delta_limit, delta_lower));
        delta_upper = make_odd(clamp_to(clip.delta_limit, delta_upper));
        if (!bias) {
            z_lower = make_odd(clamp_to(clip.activation_limit, z_lower));
            z_upper = make_odd(clamp_to(clip.activation_limit, z_upper));
        }
    }
    const auto biased = [&](double delta, double z) { return std::fma(delta, z, grid.bias()); };
    auto [least, greatest] = std::minmax({biased(delta_lower, z_lower), biased(delta_lower, z_upper),
                                          biased(delta_upper, z_lower), biased(delta_upper, z_upper)});
    if (clip.kind == Clip::Kind::elementwise) {
        const double limit = static_cast<double>(clip.weight_units()) * grid.unit();
        least = std::clamp(least, grid.bias() - limit, grid.bias() + limit);
        greatest = std::clamp(greatest, grid.bias() - limit, grid.bias() + limit);
    }
    return {grid.units_of_biased(least), grid.units_of_biased(greatest)};
}

class ReferenceBackend final : public Backend {
  public:
    explicit ReferenceBackend(Product product) : product_(product) {}

    std::string name() const override { return product_ == Product::rump ? "reference (rump)" : "reference"; }

    std::unique_ptr<PackedLayer> pack(LayerShape shape, const std::int64_t* lower,
                                      const std::int64_t* upper) const override {
        return std::make_unique<ReferenceLayer>(shape, lower, upper);
    }

    // The ends of the box that make w x least and greatest depend on the sign of x alone.
    void forward_input(const PackedLayer& packed, const double* x, Interval a) const override {
        const ReferenceLayer& layer = unpacked(packed);
        const auto [in, out] = layer.shape();
        for (std::size_t o = 0; o < out; ++o) {
            const double* lower = layer.lower.data() + o * (in + 1);
            const double* upper = layer.upper.data() + o * (in + 1);
            for (std::size_t r = 0; r < height; ++r) {
                double least = lower[in], greatest = upper[in];
                for (std::size_t j = 0; j < in; ++j) {
                    const double value = x[j * height + r];
                    least = std::fma(value >= 0 ? lower[j] : upper[j], value, least);
                    greatest = std::fma(value >= 0 ? upper[j] : lower[j], value, greatest);
                }
                a.lower[o * height + r] = least;
                a.upper[o * height + r] = greatest;
            }
        }
    }

    // z >= 0: w z is least at the lower w, and there at the lower z if that w is positive, at the upper z if
    // not.
    void forward(const PackedLayer& packed, ConstInterval z, Interval a) const override {
        const ReferenceLayer& layer = unpacked(packed);
        const auto [in, out] = layer.shape();
        if (product_ == Product::rump && !layer.is_point()) {
            return rump::forward(layer.shape(), layer.lower.data(), layer.upper.data(), z, a);
        }
        for (std::size_t o = 0; o < out; ++o) {
            const double* lower = layer.lower.data() + o * (in + 1);
            const double* upper = layer.upper.data() + o * (in + 1);
            for (std::size_t r = 0; r < height; ++r) {
                double least = lower[in], greatest = upper[in];
                for (std::size_t j = 0; j < in; ++j) {
                    const std::size_t at = j * height + r;
                    least = std::fma(lower[j], lower[j] >= 0 ? z.lower[at] : z.upper[at], least);
                    greatest = std::fma(upper[j], upper[j] >= 0 ? z.upper[at] : z.lower[at], greatest);
                }
                a.lower[o * height + r] = least;
                a.upper[o * height + r] = greatest;
            }
        }
    }

    void relu(std::size_t rows, Interval a) const override {
        for (std::size_t i = 0; i < rows * height; ++i) {
            a.lower[i] = std::max(a.lower[i], 0.0);
            a.upper[i] = std::max(a.upper[i], 0.0);
        }
    }

    bool all_finite(std::size_t rows, ConstInterval a) const override { return all_finite_on_host(rows, a); }

    // Four-product: the least of w delta over the box is at one of the four corners; rounding an fma is
    // monotone, so the least of the four fma is the fma at the least corner.
    void backward(const PackedLayer& packed, ConstInterval delta, ConstInterval z,
                  Interval d) const override {
        const ReferenceLayer& layer = unpacked(packed);
        const auto [in, out] = layer.shape();
        if (product_ == Product::rump && !layer.is_point()) {
            return rump::backward(layer.shape(), layer.lower.data(), layer.upper.data(), delta, z, d);
        }
        for (std::size_t j = 0; j < in; ++j) {
            for (std::size_t r = 0; r < height; ++r) {
                double least = 0, greatest = 0;
                for (std::size_t o = 0; o < out; ++o) {
                    const double w[] = {layer.lower[o * (in + 1) + j], layer.upper[o * (in + 1) + j]};
                    const double g[] = {delta.lower[o * height + r], delta.upper[o * height + r]};
                    least = std::min(std::min(std::fma(w[0], g[0], least), std::fma(w[0], g[1], least)),
                                     std::min(std::fma(w[1], g[0], least), std::fma(w[1], g[1], least)));
                    greatest =
                        std::max(std::max(std::fma(w[0], g[0], greatest), std::fma(w[0], g[1], greatest)),
                                 std::max(std::fma(w[1], g[0], greatest), std::fma(w[1], g[1], greatest)));
                }
                const std::size_t at = j * height + r;
                d.lower[at] = z.lower[at] > 0 ? least : z.upper[at] > 0 ? std::min(least, 0.0) : 0.0;
                d.upper[at] = z.lower[at] > 0 ? greatest : z.upper[at] > 0 ? std::max(greatest, 0.0) : 0.0;
            }
        }
    }

    void loss_gradient(Loss loss, std::size_t outputs, ConstInterval logits, const std::int32_t* labels,
                       std::size_t count, Interval delta) const override {
        loss_gradient_on_host(loss, outputs, logits, labels, count, delta);
    }

    void transpose(std::size_t rows, const double* panel, double* out, std::size_t stride) const override {
        transpose_on_host(rows, panel, out, stride);
    }

    void accumulate(LayerShape shape, const Clip& clip, ConstInterval delta, ConstInterval z_rows,
                    std::size_t stride, std::int64_t* sum_lower, std::int64_t* sum_upper) const override {
        for_each_entry(shape, clip, delta, z_rows, stride, height, [&](std::size_t index, Entry entry) {
            sum_lower[index] += entry.lower;
            if (sum_upper != sum_lower) sum_upper[index] += entry.upper;
        });
    }

    void accumulate_and_select(LayerShape shape, const Clip& clip, ConstInterval delta, ConstInterval z_rows,
                               std::size_t stride, std::size_t count, std::int64_t* sum_lower,
                               std::int64_t* sum_upper, std::size_t first_entry, Selection& least_upper,
                               Selection& least_negated_lower) const override {
        least_upper.for_each_stripe(1, [&](std::size_t) {
            for_each_entry(shape, clip, delta, z_rows, stride, count, [&](std::size_t index, Entry entry) {
                sum_lower[index] += entry.lower;
                sum_upper[index] += entry.upper;
                least_upper.insert(first_entry + index, entry.upper);
                least_negated_lower.insert(first_entry + index, -entry.lower);
            });
        });
    }

  private:
    template <typename Visit>
    void for_each_entry(LayerShape shape, const Clip& clip, ConstInterval delta, ConstInterval z_rows,
                        std::size_t stride, std::size_t count, Visit visit) const {
        const GradientGrid grid = clip.grid();
        for (std::size_t o = 0; o < shape.out; ++o) {
            for (std::size_t r = 0; r < count; ++r) {
                const double delta_lower = delta.lower[o * height + r],
                             delta_upper = delta.upper[o * height + r];
                for (std::size_t j = 0; j <= shape.in; ++j) {
                    const double z_lower = z_rows.lower[r * stride + j],
                                 z_upper = z_rows.upper[r * stride + j];
                    const std::size_t index = o * (shape.in + 1) + j;
                    if (product_ == Product::rump) {
                        const auto [least, greatest] =
                            rump::product(delta_lower, delta_upper, z_lower, z_upper);
                        visit(index, Entry{grid.units(clamp_to(clip.gamma, least)),
                                           grid.units(clamp_to(clip.gamma, greatest))});
                    } else {
                        visit(index, clipped_entry(clip, grid, j == shape.in, delta_lower, delta_upper,
                                                   z_lower, z_upper));
                    }
                }
            }
        }
    }

    Product product_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(Product product) {
    return std::make_unique<ReferenceBackend>(product);
}

}  // namespace holdfast
