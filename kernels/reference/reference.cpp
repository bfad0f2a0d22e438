#include "kernels/reference/reference.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ops/loss.hpp"
#include "kernels/reference/rump.hpp"

namespace holdfast {
namespace {

constexpr std::size_t height = panel_height;

/// Row-major, as they come.
template <typename Real>
struct ReferenceLayer final : PackedLayer {
    ReferenceLayer(LayerShape shape, const std::int64_t* lower_units, const std::int64_t* upper_units)
        : PackedLayer(shape, lower_units == upper_units),
          lower(shape.parameters()),
          upper(shape.parameters()) {
        for (std::size_t p = 0; p < shape.parameters(); ++p) {
            lower[p] = parameter_value<Real>(lower_units[p]);
            upper[p] = parameter_value<Real>(upper_units[p]);
        }
    }
    std::vector<Real> lower, upper;  // [out, in + 1]
};

template <typename Real>
const ReferenceLayer<Real>& unpacked(const PackedLayer& layer) {
    return static_cast<const ReferenceLayer<Real>&>(layer);
}

template <typename Real>
Real clamp_to(Real limit, Real value) {
    return std::min(std::max(value, -limit), limit);
}

/// A clip and its grid in Real.
template <typename Real>
struct Rule {
    explicit Rule(const Clip& clip)
        : kind(clip.kind),
          gamma(clip.gamma),
          delta_limit(rounded_down<Real>(clip.delta_limit)),
          activation_limit(rounded_down<Real>(clip.activation_limit)),
          grid(clip.grid<Real>()),
          limit(static_cast<Real>(clip.weight_units<Real>()) * grid.unit()) {}

    Clip::Kind kind;
    double gamma;
    Real delta_limit, activation_limit;  // factored
    BasicGradientGrid<Real> grid;
    Real limit;  // elementwise: Gamma, a multiple of the unit
};

/// [delta] * [z] in Real: z >= 0, or a point of any sign.
template <typename Real>
struct Factors {
    Real delta_lower, delta_upper, z_lower, z_upper;
};

/// One entry's bounds [lower, upper] = clip(delta * z). The exact product is rounded once, to the grid: by an
/// fma onto the bias. Elementwise, what is beyond Gamma becomes Gamma then; factored, both factors are
/// clamped before, and made odd, since the fast kernels add such products onto one another without a tie
/// rule.
struct Entry {
    std::int64_t lower, upper;
};
template <typename Real>
Entry clipped_entry(const Rule<Real>& rule, bool bias, Factors<Real> of) {
    auto [delta_lower, delta_upper, z_lower, z_upper] = of;
    if (rule.kind == Clip::Kind::factored) {
        delta_lower = make_odd(clamp_to(rule.delta_limit, delta_lower));
        delta_upper = make_odd(clamp_to(rule.delta_limit, delta_upper));
        if (!bias) {
            z_lower = make_odd(clamp_to(rule.activation_limit, z_lower));
            z_upper = make_odd(clamp_to(rule.activation_limit, z_upper));
        }
    }
    const Real at_zero = rule.grid.bias();
    const auto biased = [&](Real delta, Real z) { return std::fma(delta, z, at_zero); };
    auto [least, greatest] = std::minmax({biased(delta_lower, z_lower), biased(delta_lower, z_upper),
                                          biased(delta_upper, z_lower), biased(delta_upper, z_upper)});
    if (rule.kind == Clip::Kind::elementwise) {
        least = std::clamp(least, at_zero - rule.limit, at_zero + rule.limit);
        greatest = std::clamp(greatest, at_zero - rule.limit, at_zero + rule.limit);
    }
    return {rule.grid.units_of_biased(least), rule.grid.units_of_biased(greatest)};
}

template <typename Real>
class ReferenceBackend : public BasicBackend<Real> {
  public:
    using typename BasicBackend<Real>::Interval;
    using typename BasicBackend<Real>::ConstInterval;

    std::string name() const override { return "reference"; }

    std::unique_ptr<PackedLayer> pack(LayerShape shape, const std::int64_t* lower,
                                      const std::int64_t* upper) const override {
        return std::make_unique<ReferenceLayer<Real>>(shape, lower, upper);
    }

    // The ends of the box that make w x least and greatest depend on the sign of x alone.
    void forward_input(const PackedLayer& packed, const Real* x, Interval a) const override {
        const ReferenceLayer<Real>& layer = unpacked<Real>(packed);
        const auto [in, out] = layer.shape();
        for (std::size_t o = 0; o < out; ++o) {
            const Real* lower = layer.lower.data() + o * (in + 1);
            const Real* upper = layer.upper.data() + o * (in + 1);
            for (std::size_t r = 0; r < height; ++r) {
                Real least = lower[in], greatest = upper[in];
                for (std::size_t j = 0; j < in; ++j) {
                    const Real value = x[j * height + r];
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
        const ReferenceLayer<Real>& layer = unpacked<Real>(packed);
        const auto [in, out] = layer.shape();
        for (std::size_t o = 0; o < out; ++o) {
            const Real* lower = layer.lower.data() + o * (in + 1);
            const Real* upper = layer.upper.data() + o * (in + 1);
            for (std::size_t r = 0; r < height; ++r) {
                Real least = lower[in], greatest = upper[in];
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
            a.lower[i] = saturated(std::max(a.lower[i], Real{0}));
            a.upper[i] = saturated(std::max(a.upper[i], Real{0}));
        }
    }

    // Four-product: the least of w delta over the box is at one of the four corners; rounding an fma is
    // monotone, so the least of the four fma is the fma at the least corner.
    void backward(const PackedLayer& packed, ConstInterval delta, ConstInterval z,
                  Interval d) const override {
        const ReferenceLayer<Real>& layer = unpacked<Real>(packed);
        const auto [in, out] = layer.shape();
        for (std::size_t j = 0; j < in; ++j) {
            for (std::size_t r = 0; r < height; ++r) {
                Real least = 0, greatest = 0;
                for (std::size_t o = 0; o < out; ++o) {
                    const Real w[] = {layer.lower[o * (in + 1) + j], layer.upper[o * (in + 1) + j]};
                    const Real g[] = {delta.lower[o * height + r], delta.upper[o * height + r]};
                    least = std::min(std::min(std::fma(w[0], g[0], least), std::fma(w[0], g[1], least)),
                                     std::min(std::fma(w[1], g[0], least), std::fma(w[1], g[1], least)));
                    greatest =
                        std::max(std::max(std::fma(w[0], g[0], greatest), std::fma(w[0], g[1], greatest)),
                                 std::max(std::fma(w[1], g[0], greatest), std::fma(w[1], g[1], greatest)));
                }
                const std::size_t at = j * height + r;
                const Real lower = z.lower[at] > 0 ? least : z.upper[at] > 0 ? std::min(least, Real{0}) : 0;
                const Real upper = z.lower[at] > 0   ? greatest
                                   : z.upper[at] > 0 ? std::max(greatest, Real{0})
                                                     : 0;
                d.lower[at] = saturated(lower);
                d.upper[at] = saturated(upper);
            }
        }
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

  protected:
    virtual Entry entry_of(const Rule<Real>& rule, bool bias, Factors<Real> of) const {
        return clipped_entry(rule, bias, of);
    }

  private:
    template <typename Visit>
    void for_each_entry(LayerShape shape, const Clip& clip, ConstInterval delta, ConstInterval z_rows,
                        std::size_t stride, std::size_t count, Visit visit) const {
        const Rule<Real> rule(clip);
        for (std::size_t o = 0; o < shape.out; ++o) {
            for (std::size_t r = 0; r < count; ++r) {
                for (std::size_t j = 0; j <= shape.in; ++j) {
                    visit(o * (shape.in + 1) + j,
                          entry_of(rule, j == shape.in,
                                   {delta.lower[o * height + r], delta.upper[o * height + r],
                                    z_rows.lower[r * stride + j], z_rows.upper[r * stride + j]}));
                }
            }
        }
    }
};

/// Midpoint-radius products in place of the exact ones, where they are not of points.
class RumpBackend final : public ReferenceBackend<double> {
  public:
    std::string name() const override { return "reference (rump)"; }

    void forward(const PackedLayer& packed, ConstInterval z, Interval a) const override {
        const ReferenceLayer<double>& layer = unpacked<double>(packed);
        if (layer.is_point()) return ReferenceBackend<double>::forward(packed, z, a);
        rump::forward(layer.shape(), layer.lower.data(), layer.upper.data(), z, a);
    }
    void backward(const PackedLayer& packed, ConstInterval delta, ConstInterval z,
                  Interval d) const override {
        const ReferenceLayer<double>& layer = unpacked<double>(packed);
        if (layer.is_point()) return ReferenceBackend<double>::backward(packed, delta, z, d);
        rump::backward(layer.shape(), layer.lower.data(), layer.upper.data(), delta, z, d);
    }

  protected:
    Entry entry_of(const Rule<double>& rule, bool, Factors<double> of) const override {
        const auto [least, greatest] = rump::product(of.delta_lower, of.delta_upper, of.z_lower, of.z_upper);
        return {rule.grid.units(clamp_to(rule.gamma, least)),
                rule.grid.units(clamp_to(rule.gamma, greatest))};
    }
};

}  // namespace

template <typename Real>
std::unique_ptr<BasicBackend<Real>> make_reference_backend() {
    return std::make_unique<ReferenceBackend<Real>>();
}
template std::unique_ptr<Backend> make_reference_backend();
template std::unique_ptr<BasicBackend<float>> make_reference_backend();

std::unique_ptr<Backend> make_rump_backend() {
    return std::make_unique<RumpBackend>();
}

}  // namespace holdfast
