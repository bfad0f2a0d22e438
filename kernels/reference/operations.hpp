#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/ops/panel_operations.hpp"

/// The operations of kernels/ops/panel_operations.hpp as plain loops over panels of any height: the
/// specification, for any Real. tests/property/reduced_format_test.cpp instantiates this very code with
/// formats of a few bits.
namespace holdfast::reference {

/// A layer's parameters, lower and upper [out, in + 1].
template <typename Real>
struct Weights {
    LayerShape shape;
    const Real* lower;
    const Real* upper;
};

// The ends of the box that make w x least and greatest depend on the sign of x alone.
template <typename Real>
void forward_input(const Weights<Real>& layer, std::size_t height, const Real* x, BasicInterval<Real> a) {
    using std::fma;
    const auto [in, out] = layer.shape;
    for (std::size_t o = 0; o < out; ++o) {
        const Real* lower = layer.lower + o * (in + 1);
        const Real* upper = layer.upper + o * (in + 1);
        for (std::size_t r = 0; r < height; ++r) {
            Real least = lower[in], greatest = upper[in];
            for (std::size_t j = 0; j < in; ++j) {
                const Real value = x[j * height + r];
                least = fma(value >= Real{0} ? lower[j] : upper[j], value, least);
                greatest = fma(value >= Real{0} ? upper[j] : lower[j], value, greatest);
            }
            a.lower[o * height + r] = least;
            a.upper[o * height + r] = greatest;
        }
    }
}

// Four-product, as backward.
template <typename Real>
void forward_box(const Weights<Real>& layer, std::size_t height, BasicConstInterval<Real> x,
                 BasicInterval<Real> a) {
    using std::fma, std::min, std::max;
    const auto [in, out] = layer.shape;
    for (std::size_t o = 0; o < out; ++o) {
        const Real* lower = layer.lower + o * (in + 1);
        const Real* upper = layer.upper + o * (in + 1);
        for (std::size_t r = 0; r < height; ++r) {
            Real least = lower[in], greatest = upper[in];
            for (std::size_t j = 0; j < in; ++j) {
                const Real x_lower = x.lower[j * height + r], x_upper = x.upper[j * height + r];
                least = min(min(fma(lower[j], x_lower, least), fma(lower[j], x_upper, least)),
                            min(fma(upper[j], x_lower, least), fma(upper[j], x_upper, least)));
                greatest = max(max(fma(lower[j], x_lower, greatest), fma(lower[j], x_upper, greatest)),
                               max(fma(upper[j], x_lower, greatest), fma(upper[j], x_upper, greatest)));
            }
            a.lower[o * height + r] = least;
            a.upper[o * height + r] = greatest;
        }
    }
}

// z >= 0: w z is least at the lower w, and there at the lower z if that w is positive, at the upper z if not.
template <typename Real>
void forward(const Weights<Real>& layer, std::size_t height, BasicConstInterval<Real> z,
             BasicInterval<Real> a) {
    using std::fma;
    const auto [in, out] = layer.shape;
    for (std::size_t o = 0; o < out; ++o) {
        const Real* lower = layer.lower + o * (in + 1);
        const Real* upper = layer.upper + o * (in + 1);
        for (std::size_t r = 0; r < height; ++r) {
            Real least = lower[in], greatest = upper[in];
            for (std::size_t j = 0; j < in; ++j) {
                const std::size_t at = j * height + r;
                least = fma(lower[j], lower[j] >= Real{0} ? z.lower[at] : z.upper[at], least);
                greatest = fma(upper[j], upper[j] >= Real{0} ? z.upper[at] : z.lower[at], greatest);
            }
            a.lower[o * height + r] = least;
            a.upper[o * height + r] = greatest;
        }
    }
}

template <typename Real>
void relu(std::size_t values, BasicInterval<Real> a) {
    for (std::size_t i = 0; i < values; ++i) {
        a.lower[i] = saturated(std::max(a.lower[i], Real{0}));
        a.upper[i] = saturated(std::max(a.upper[i], Real{0}));
    }
}

// Four-product: the least of w delta over the box is at one of the four corners; rounding an fma is monotone,
// so the least of the four fma is the fma at the least corner.
template <typename Real>
void backward(const Weights<Real>& layer, std::size_t height, BasicConstInterval<Real> delta,
              BasicConstInterval<Real> z, BasicInterval<Real> d) {
    using std::fma, std::min, std::max;
    const auto [in, out] = layer.shape;
    const Real zero{0};
    for (std::size_t j = 0; j < in; ++j) {
        for (std::size_t r = 0; r < height; ++r) {
            Real least = zero, greatest = zero;
            for (std::size_t o = 0; o < out; ++o) {
                const Real w[] = {layer.lower[o * (in + 1) + j], layer.upper[o * (in + 1) + j]};
                const Real g[] = {delta.lower[o * height + r], delta.upper[o * height + r]};
                least = min(min(fma(w[0], g[0], least), fma(w[0], g[1], least)),
                            min(fma(w[1], g[0], least), fma(w[1], g[1], least)));
                greatest = max(max(fma(w[0], g[0], greatest), fma(w[0], g[1], greatest)),
                               max(fma(w[1], g[0], greatest), fma(w[1], g[1], greatest)));
            }
            const std::size_t at = j * height + r;
            const Real lower = z.lower[at] > zero ? least : z.upper[at] > zero ? min(least, zero) : zero;
            const Real upper = z.lower[at] > zero   ? greatest
                               : z.upper[at] > zero ? max(greatest, zero)
                                                    : zero;
            d.lower[at] = saturated(lower);
            d.upper[at] = saturated(upper);
        }
    }
}

template <typename Real>
Real clamp_to(Real limit, Real value) {
    return std::min(std::max(value, -limit), limit);
}

/// A clip and its grid in Real.
template <typename Real>
struct Rule {
    explicit Rule(const Clip& clip)
        : by_factors(clip.by_factors()),
          odd(by_factors || clip.rows != 1),
          gamma(clip.weight_bound<Real>()),
          delta_limit(clip.delta_clamp<Real>()),
          activation_limit(clip.activation_clamp<Real>()),
          grid(clip.grid<Real>()),
          limit(clip.entry_limit<Real>()) {}

    bool by_factors, odd;
    double gamma;
    Real delta_limit, activation_limit;  // of factors
    BasicGradientGrid<Real> grid;
    Real limit;  // of entries, where not of factors: Gamma, or a row's room, a multiple of the unit
};

/// [delta] * [z] in Real: z >= 0, or a point of any sign.
template <typename Real>
struct Factors {
    Real delta_lower, delta_upper, z_lower, z_upper;
};

/// One entry's bounds [lower, upper] = clip(delta * z). The exact product is rounded once, to the grid: by an
/// fma onto the bias. Elementwise, what is beyond Gamma becomes Gamma then; by factors, both are
/// clamped before. What the fast kernels add onto one another without a tie rule is of odd factors: by
/// factors, and of rows whose sum is clamped.
struct Entry {
    std::int64_t lower, upper;
};
template <typename Real>
Entry clipped_entry(const Rule<Real>& rule, bool bias, Factors<Real> of) {
    auto [delta_lower, delta_upper, z_lower, z_upper] = of;
    if (rule.by_factors) {
        delta_lower = clamp_to(rule.delta_limit, delta_lower);
        delta_upper = clamp_to(rule.delta_limit, delta_upper);
        if (!bias) {
            z_lower = clamp_to(rule.activation_limit, z_lower);
            z_upper = clamp_to(rule.activation_limit, z_upper);
        }
    }
    if (rule.odd) {
        delta_lower = make_odd(delta_lower);
        delta_upper = make_odd(delta_upper);
        if (!bias) {
            z_lower = make_odd(z_lower);
            z_upper = make_odd(z_upper);
        }
    }
    const Real at_zero = rule.grid.bias();
    using std::fma;
    const auto biased = [&](Real delta, Real z) { return fma(delta, z, at_zero); };
    auto [least, greatest] = std::minmax({biased(delta_lower, z_lower), biased(delta_lower, z_upper),
                                          biased(delta_upper, z_lower), biased(delta_upper, z_upper)});
    if (!rule.by_factors) {
        least = std::clamp(least, at_zero - rule.limit, at_zero + rule.limit);
        greatest = std::clamp(greatest, at_zero - rule.limit, at_zero + rule.limit);
    }
    return {rule.grid.units_of_biased(least), rule.grid.units_of_biased(greatest)};
}

/// [least, greatest], an entry before it is clipped, times a scale >= 0; the exact product is rounded once,
/// to the grid, and what is beyond Gamma becomes Gamma (models/mathematics.md, scaled entry).
template <typename Real>
Entry scaled_entry(const Rule<Real>& rule, Real least, Real greatest, RecordScale<Real> scale) {
    using std::fma, std::min, std::max;
    const Real at_zero = rule.grid.bias(), lowest = at_zero - rule.limit, highest = at_zero + rule.limit;
    least = min(fma(scale.least, least, at_zero), fma(scale.greatest, least, at_zero));
    greatest = max(fma(scale.least, greatest, at_zero), fma(scale.greatest, greatest, at_zero));
    return {rule.grid.units_of_biased(std::clamp(least, lowest, highest)),
            rule.grid.units_of_biased(std::clamp(greatest, lowest, highest))};
}
template <typename Real>
Entry scaled_entry(const Rule<Real>& rule, RecordScale<Real> scale, Factors<Real> of) {
    const auto [least, greatest] = std::minmax({of.delta_lower * of.z_lower, of.delta_lower * of.z_upper,
                                                of.delta_upper * of.z_lower, of.delta_upper * of.z_upper});
    return scaled_entry(rule, least, greatest, scale);
}

}  // namespace holdfast::reference
