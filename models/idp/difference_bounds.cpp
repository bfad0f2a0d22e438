// Bounds of a network and its twin over a box (models/mathematics.md, difference propagation), compiled once
// an instruction set. Forward, lanes are units; backward, lanes are what is bounded.

#include "models/idp/difference_bounds.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "kernels/cpu/targets.hpp"
#include "models/idp/unit_splits.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/idp/difference_bounds.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace holdfast::verify::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<double, 8>;
using Vec = hn::Vec<Tag>;
constexpr Tag tag{};
constexpr std::size_t lanes = HWY_MIN(HWY_LANES(double), 8);

using Units = DifferenceBounds::Units;
using Workspace = DifferenceBounds::Workspace;

HWY_INLINE Vec load(const AlignedVector<double>& from, std::size_t at) {
    return hn::Load(tag, from.data() + at);
}
HWY_INLINE void store(Vec values, AlignedVector<double>& to, std::size_t at) {
    hn::Store(values, tag, to.data() + at);
}
HWY_INLINE Vec zero() {
    return hn::Zero(tag);
}
HWY_INLINE Vec one() {
    return hn::Set(tag, 1.0);
}

/// max(x, 0) <= slope x + at_0 for x in [low, high]: for any slope in [0, 1] as it was rounded.
struct Chord {
    Vec slope, at_0;
};
HWY_INLINE Chord chord(Vec low, Vec high) {
    const auto unstable = hn::And(hn::Lt(low, zero()), hn::Gt(high, zero()));
    const Vec width = hn::IfThenElse(unstable, hn::Sub(high, low), one());
    const Vec stable = hn::IfThenElseZero(hn::Ge(low, zero()), one());
    const Vec slope = hn::IfThenElse(unstable, hn::Min(hn::Div(high, width), one()), stable);
    const Vec left = hn::Neg(hn::Mul(slope, low)), right = hn::Mul(hn::Sub(one(), slope), high);
    return {slope, hn::Max(hn::Max(left, right), zero())};
}

HWY_INLINE Vec middle(Vec low, Vec high) {
    return hn::Mul(hn::Set(tag, 0.5), hn::Add(low, high));
}
/// How far an end is from that middle, with what rounding took.
HWY_INLINE Vec radius(Vec low, Vec high, Vec centre) {
    return hn::Max(hn::Sub(high, centre), hn::Sub(centre, low));
}
HWY_INLINE void store_interval(Vec low, Vec high, AlignedVector<double>& centres,
                               AlignedVector<double>& radii, std::size_t at) {
    const Vec centre = middle(low, high);
    store(centre, centres, at);
    store(radius(low, high, centre), radii, at);
}

/// Relaxations of one vector of units by the intervals of z, d and z' = z + d.
void relax(const BoundRules& rules, const Workspace& w, std::size_t at, Units& units) {
    const Vec z_low = load(w.z_low, at), z_high = load(w.z_high, at);
    const Vec d_low = load(w.d_low, at), d_high = load(w.d_high, at);
    const Vec twin_low = load(w.twin_low, at), twin_high = load(w.twin_high, at);
    const Vec z_centre = middle(z_low, z_high), d_centre = middle(d_low, d_high);
    const Chord of_z = chord(z_low, z_high), of_twin = chord(twin_low, twin_high);
    const Vec slope = hn::IfThenElseZero(hn::Gt(z_centre, zero()), one());
    const Vec twin_slope = hn::IfThenElseZero(hn::Gt(hn::Add(twin_low, twin_high), zero()), one());
    store(of_z.slope, units.chord, at);
    store(of_z.at_0, units.chord_at_0, at);
    store(slope, units.slope, at);

    // e <= chord(z') - slope z, and e <= max(d, 0) <= chord(d).
    const Chord above = chord(d_low, d_high);
    const Vec of_values = hn::Sub(of_twin.slope, slope);
    const Vec by_values = hn::MulAdd(of_values, z_centre, hn::MulAdd(of_twin.slope, d_centre, of_twin.at_0));
    auto by_difference = hn::Lt(hn::MulAdd(above.slope, d_centre, above.at_0), by_values);
    if (!rules.differences) by_difference = hn::Lt(one(), zero());
    store(hn::IfThenElse(by_difference, zero(), of_values), units.upper_z, at);
    store(hn::IfThenElse(by_difference, above.slope, of_twin.slope), units.upper_d, at);
    store(hn::IfThenElse(by_difference, above.at_0, of_twin.at_0), units.upper_at_0, at);

    // e >= slope' z' - chord(z), and e >= min(d, 0) >= -chord(-d).
    const Chord below = chord(hn::Neg(d_high), hn::Neg(d_low));
    const Vec against = hn::Sub(twin_slope, of_z.slope);
    const Vec by_twin = hn::Sub(hn::MulAdd(against, z_centre, hn::Mul(twin_slope, d_centre)), of_z.at_0);
    auto by_less = hn::Gt(hn::Sub(hn::Mul(below.slope, d_centre), below.at_0), by_twin);
    if (!rules.differences) by_less = hn::Lt(one(), zero());
    store(hn::IfThenElse(by_less, zero(), against), units.lower_z, at);
    store(hn::IfThenElse(by_less, below.slope, twin_slope), units.lower_d, at);
    store(hn::IfThenElse(by_less, below.at_0, of_z.at_0), units.lower_below_0, at);

    // Intervals of a = max(z, 0) and of e = a' - a, and the greatest a'.
    const Vec a_low = hn::Max(z_low, zero()), a_high = hn::Max(z_high, zero());
    const Vec twin_a_low = hn::Max(twin_low, zero()), twin_a_high = hn::Max(twin_high, zero());
    store_interval(a_low, a_high, units.middle, units.radius, at);
    const Vec e_high = hn::Min(hn::Max(d_high, zero()), hn::Sub(twin_a_high, a_low));
    const Vec e_low = hn::Max(hn::Min(d_low, zero()), hn::Sub(twin_a_low, a_high));
    store_interval(e_low, e_high, units.e_middle, units.e_radius, at);
    store(twin_a_high, units.twin_most, at);
}

/// Of what came in to a layer: middles and radii of a and of e; a' in size at most.
struct Incoming {
    const double *middle, *radius, *e_middle, *e_radius, *twin_most;
};

/// Intervals of z and d of layer l, in z_low …: each on its own.
void propagate(const PreparedLayer& layer, const TwinLayer& twin, const Incoming& from, bool is_first,
               Workspace& w, AlignedVector<double>* hull_radius) {
    const std::size_t in = layer.weight.in, stride = layer.weight.column_stride;
    for (std::size_t k = 0; k < stride; k += lanes) {
        Vec z = load(layer.bias, k), z_radius = load(twin.value_error, k);
        Vec d = load(twin.bias_difference, k), d_radius = load(twin.difference_error, k);
        const double* weight = layer.weight.columns.data() + k;
        const double* difference = twin.difference.columns.data() + k;
        const double* other = twin.weight.columns.data() + k;
        for (std::size_t j = 0; j < in; ++j) {
            const Vec a = hn::Set(tag, from.middle[j]), reach = hn::Set(tag, from.radius[j]);
            const Vec of_n = hn::Load(tag, weight + j * stride),
                      less = hn::Load(tag, difference + j * stride);
            z = hn::MulAdd(of_n, a, z);
            z_radius = hn::MulAdd(hn::Abs(of_n), reach, z_radius);
            d = hn::MulAdd(less, a, d);
            d_radius = hn::MulAdd(hn::Abs(less), reach, d_radius);
            if (is_first) continue;
            const Vec of_twin = hn::Load(tag, other + j * stride);
            d = hn::MulAdd(of_twin, hn::Set(tag, from.e_middle[j]), d);
            d_radius = hn::MulAdd(hn::Abs(of_twin), hn::Set(tag, from.e_radius[j]), d_radius);
        }
        if (hull_radius) {
            Vec beyond = load(twin.bias_radius, k);
            for (std::size_t j = 0; j < in; ++j)
                beyond = hn::MulAdd(load(twin.radius.columns, j * stride + k),
                                    hn::Set(tag, from.twin_most[j]), beyond);
            store(beyond, *hull_radius, k);
            d_radius = hn::Add(d_radius, beyond);
        }
        store(hn::Sub(z, z_radius), w.z_low, k);
        store(hn::Add(z, z_radius), w.z_high, k);
        store(hn::Sub(d, d_radius), w.d_low, k);
        store(hn::Add(d, d_radius), w.d_high, k);
    }
}

/// w.alpha[j] = sum over k of w.values[k] weight[k, j] (+ w.differences[k] difference[k, j]), a vector each,
/// for `in` j; w.epsilon[j] = sum of w.differences[k] twin[k, j].
template <bool with_differences, bool with_epsilon>
HWY_NOINLINE void back_through(const PreparedLayer& layer, const TwinLayer& twin, Workspace& w) {
    constexpr std::size_t block = with_epsilon ? 4 : 8;
    const std::size_t out = layer.weight.out, stride = layer.weight.row_stride;
    for (std::size_t j = 0; j < stride; j += block) {
        Vec sums[block], of_e[block];
        for (std::size_t b = 0; b < block; ++b) sums[b] = of_e[b] = zero();
        const double* weight = layer.weight.rows.data() + j;
        const double* difference = twin.difference.rows.data() + j;
        const double* other = twin.weight.rows.data() + j;
        for (std::size_t k = 0; k < out; ++k) {
            const Vec value = hn::Load(tag, w.values.data() + k * lanes);
            HWY_UNROLL(8)
            for (std::size_t b = 0; b < block; ++b)
                sums[b] = hn::MulAdd(value, hn::Set(tag, weight[k * stride + b]), sums[b]);
            if constexpr (with_differences) {
                const Vec less = hn::Load(tag, w.differences.data() + k * lanes);
                HWY_UNROLL(8)
                for (std::size_t b = 0; b < block; ++b) {
                    sums[b] = hn::MulAdd(less, hn::Set(tag, difference[k * stride + b]), sums[b]);
                    if constexpr (with_epsilon)
                        of_e[b] = hn::MulAdd(less, hn::Set(tag, other[k * stride + b]), of_e[b]);
                }
            }
        }
        for (std::size_t b = 0; b < block; ++b) {
            hn::Store(sums[b], tag, w.alpha.data() + (j + b) * lanes);
            if constexpr (with_epsilon) hn::Store(of_e[b], tag, w.epsilon.data() + (j + b) * lanes);
        }
    }
}

/// alpha a + epsilon e of layer l is at most values z + differences d + what is returned, and what the biases
/// of the layer add.
template <bool with_differences>
HWY_NOINLINE Vec relaxed(const PreparedNetwork& network, const Twin& of, std::size_t l, Workspace& w) {
    const PreparedLayer& layer = network.layers[l];
    const TwinLayer& twin = of.layers()[l];
    const Units& units = w.units[l];
    const AlignedVector<double>* hull_radius = of.is_hull() ? &w.hull_radius[l] : nullptr;
    Vec constant = zero(), more = zero();
    for (std::size_t k = 0; k < layer.weight.out; ++k) {
        const Vec alpha = hn::Load(tag, w.alpha.data() + k * lanes);
        const Vec up = hn::Max(alpha, zero()), down = hn::Min(alpha, zero());
        Vec value = hn::MulAdd(up, hn::Set(tag, units.chord[k]), hn::Mul(down, hn::Set(tag, units.slope[k])));
        constant = hn::MulAdd(up, hn::Set(tag, units.chord_at_0[k]), constant);
        if constexpr (with_differences) {
            const Vec epsilon = hn::Load(tag, w.epsilon.data() + k * lanes);
            const Vec rise = hn::Max(epsilon, zero()), fall = hn::Min(epsilon, zero());
            value = hn::MulAdd(rise, hn::Set(tag, units.upper_z[k]), value);
            value = hn::MulAdd(fall, hn::Set(tag, units.lower_z[k]), value);
            const Vec difference = hn::MulAdd(rise, hn::Set(tag, units.upper_d[k]),
                                              hn::Mul(fall, hn::Set(tag, units.lower_d[k])));
            more = hn::MulAdd(rise, hn::Set(tag, units.upper_at_0[k]), more);
            more = hn::NegMulAdd(fall, hn::Set(tag, units.lower_below_0[k]), more);
            more = hn::MulAdd(difference, hn::Set(tag, twin.bias_difference[k]), more);
            if (hull_radius) more = hn::MulAdd(hn::Abs(difference), hn::Set(tag, (*hull_radius)[k]), more);
            hn::Store(difference, tag, w.differences.data() + k * lanes);
        }
        constant = hn::MulAdd(value, hn::Set(tag, layer.bias[k]), constant);
        hn::Store(value, tag, w.values.data() + k * lanes);
    }
    return hn::Add(constant, more);
}

/// What the affine function of w.alpha comes to over the box, at most.
HWY_INLINE Vec over_box(const PreparedNetwork& network, const Workspace& w, Vec constant) {
    for (std::size_t i = 0; i < network.inputs(); ++i) {
        const Vec coefficient = hn::Load(tag, w.alpha.data() + i * lanes);
        constant = hn::MulAdd(coefficient, hn::Set(tag, w.centre[i]), constant);
        constant = hn::MulAdd(hn::Abs(coefficient), hn::Set(tag, w.radius[i]), constant);
    }
    return constant;
}

/// From w.alpha, w.epsilon, coefficients of a and e behind layer `top`, back to the inputs: an upper bound
/// over the box, without what rounding takes; w.alpha are then the coefficients of the inputs.
template <bool with_differences>
HWY_NOINLINE Vec back_to_inputs(const PreparedNetwork& network, const Twin& twin, std::size_t top,
                                Workspace& w) {
    Vec constant = zero();
    for (std::size_t l = top; l > 0; --l) {
        constant = hn::Add(constant, relaxed<with_differences>(network, twin, l, w));
        back_through<with_differences, with_differences>(network.layers[l], twin.layers()[l], w);
    }
    constant = hn::Add(constant, relaxed<with_differences>(network, twin, 0, w));
    back_through<with_differences, false>(network.layers[0], twin.layers()[0], w);
    return over_box(network, w, constant);
}

/// Adds multiplier * sign * z of the units of layer l that have a sign, which is nowhere below 0, and what
/// rounding takes off it. What it adds to the constant.
HWY_NOINLINE Vec add_multiples(const PreparedNetwork& network, const Twin& twin, std::size_t l,
                               std::span<const UnitSplit> units, Workspace& w) {
    Vec constant = zero();
    for (std::size_t s = 0; s < units.size(); ++s) {
        const UnitSplit& split = units[s];
        if (split.layer != l) continue;
        double* value = w.values.data() + split.unit * lanes;
        double* difference = w.differences.data() + split.unit * lanes;
        const Vec multiplier = hn::Load(tag, w.multipliers.data() + s * lanes);
        const Vec by = hn::Mul(hn::Set(tag, split.sign), multiplier);
        hn::Store(hn::Add(hn::Load(tag, value), by), tag, value);
        constant = hn::MulAdd(by, hn::Set(tag, network.layers[l].bias[split.unit]), constant);
        constant = hn::MulAdd(multiplier, hn::Set(tag, twin.split_error(split.layer, split.unit)), constant);
        if (!split.of_twin) continue;
        hn::Store(hn::Add(hn::Load(tag, difference), by), tag, difference);
        constant = hn::MulAdd(by, hn::Set(tag, twin.layers()[l].bias_difference[split.unit]), constant);
    }
    return constant;
}

/// As back_to_inputs<true>() from the last layer, with multiples of the units that have a sign; keeps the
/// coefficients of a and e of each layer.
HWY_NOINLINE Vec back_with_multiples(const PreparedNetwork& network, const Twin& twin,
                                     std::span<const UnitSplit> units, Workspace& w) {
    Vec constant = zero();
    for (std::size_t l = network.hidden(); l-- > 0;) {
        std::copy_n(w.alpha.begin(), network.layers[l].weight.out * lanes, w.alphas[l].begin());
        std::copy_n(w.epsilon.begin(), network.layers[l].weight.out * lanes, w.epsilons[l].begin());
        constant = hn::Add(constant, relaxed<true>(network, twin, l, w));
        constant = hn::Add(constant, add_multiples(network, twin, l, units, w));
        if (l > 0) {
            back_through<true, true>(network.layers[l], twin.layers()[l], w);
        } else {
            back_through<true, false>(network.layers[0], twin.layers()[0], w);
        }
    }
    return over_box(network, w, constant);
}

/// The relaxations that the last way back chose, of unit k of layer l with z, d: a and e.
HWY_INLINE void chosen(const Units& units, const Workspace& w, std::size_t l, std::size_t k, Vec z, Vec d,
                       Vec& a, Vec& e) {
    const auto set = [&](const AlignedVector<double>& of) HWY_ATTR { return hn::Set(tag, of[k]); };
    const auto rises = hn::Gt(hn::Load(tag, w.alphas[l].data() + k * lanes), zero());
    a = hn::IfThenElse(rises, hn::MulAdd(set(units.chord), z, set(units.chord_at_0)),
                       hn::Mul(set(units.slope), z));
    const auto e_rises = hn::Gt(hn::Load(tag, w.epsilons[l].data() + k * lanes), zero());
    const Vec above =
        hn::MulAdd(set(units.upper_z), z, hn::MulAdd(set(units.upper_d), d, set(units.upper_at_0)));
    const Vec below =
        hn::Sub(hn::MulAdd(set(units.lower_z), z, hn::Mul(set(units.lower_d), d)), set(units.lower_below_0));
    e = hn::IfThenElse(e_rises, above, below);
}

/// w.slopes: how the last bounds move with each multiplier, at the corner of the box where they are attained.
HWY_NOINLINE void slopes_of_multipliers(const PreparedNetwork& network, const Twin& of,
                                        std::span<const UnitSplit> units, Workspace& w) {
    for (std::size_t i = 0; i < network.inputs(); ++i) {
        const Vec coefficient = hn::Load(tag, w.alpha.data() + i * lanes);
        const Vec reach = hn::CopySign(hn::Set(tag, w.radius[i]), coefficient);
        hn::Store(hn::Add(hn::Set(tag, w.centre[i]), reach), tag, w.point.data() + i * lanes);
        hn::Store(zero(), tag, w.change.data() + i * lanes);
    }
    std::size_t deepest = 0;
    for (const UnitSplit& split : units) deepest = std::max(deepest, split.layer);
    for (std::size_t l = 0; l <= deepest; ++l) {
        const PreparedLayer& layer = network.layers[l];
        const TwinLayer& twin = of.layers()[l];
        for (std::size_t k = 0; k < layer.weight.out; ++k) {
            Vec z = hn::Set(tag, layer.bias[k]), d = hn::Set(tag, twin.bias_difference[k]);
            const std::size_t row = k * layer.weight.row_stride;
            for (std::size_t j = 0; j < layer.weight.in; ++j) {
                const Vec a = hn::Load(tag, w.point.data() + j * lanes),
                          e = hn::Load(tag, w.change.data() + j * lanes);
                z = hn::MulAdd(hn::Set(tag, layer.weight.rows[row + j]), a, z);
                d = hn::MulAdd(hn::Set(tag, twin.difference.rows[row + j]), a, d);
                d = hn::MulAdd(hn::Set(tag, twin.weight.rows[row + j]), e, d);
            }
            for (std::size_t s = 0; s < units.size(); ++s) {
                if (units[s].layer != l || units[s].unit != k) continue;
                const Vec value = units[s].of_twin ? hn::Add(z, d) : z;
                hn::Store(hn::Mul(hn::Set(tag, units[s].sign), value), tag, w.slopes.data() + s * lanes);
            }
            Vec a, e;
            chosen(w.units[l], w, l, k, z, d, a, e);
            hn::Store(a, tag, w.next_point.data() + k * lanes);
            hn::Store(e, tag, w.next_change.data() + k * lanes);
        }
        std::swap(w.point, w.next_point);
        std::swap(w.change, w.next_change);
    }
}

/// w.multipliers: from the best ones down their slopes, `part` of as far as would bring each bound to its
/// level, were it affine (Polyak).
HWY_NOINLINE void step_down(std::size_t units, Vec best, Vec level, Vec part, Workspace& w) {
    Vec squares = hn::Set(tag, 1e-300);
    for (std::size_t s = 0; s < units; ++s) {
        const Vec slope = load(w.best_slopes, s * lanes);
        squares = hn::MulAdd(slope, slope, squares);
    }
    const Vec length = hn::Mul(part, hn::Div(hn::Max(hn::Sub(best, level), zero()), squares));
    for (std::size_t s = 0; s < units; ++s) {
        const Vec next =
            hn::NegMulAdd(length, load(w.best_slopes, s * lanes), load(w.best_multipliers, s * lanes));
        store(hn::Min(hn::Max(next, zero()), hn::Set(tag, 1e30)), w.multipliers, s * lanes);
    }
}

constexpr int most_steps = 10;

/// Bounds from w.first_alpha, w.first_epsilon and `constant` by the best multipliers that a few steps find;
/// w.alpha: the coefficients of each lane's best. Multipliers are read and left in w.multipliers.
HWY_NOINLINE Vec best_bound(const PreparedNetwork& network, const Twin& twin,
                            std::span<const UnitSplit> units, Vec constant, Vec levels, Workspace& w) {
    const std::size_t first = network.layers.back().weight.in * lanes, inputs = network.inputs() * lanes;
    Vec best = hn::Set(tag, 1e308);
    Vec part = one();
    for (int step = 0; step <= most_steps; ++step) {
        std::copy_n(w.first_alpha.begin(), first, w.alpha.begin());
        std::copy_n(w.first_epsilon.begin(), first, w.epsilon.begin());
        const Vec bound = hn::Add(constant, back_with_multiples(network, twin, units, w));
        const auto better = hn::Lt(bound, best);
        best = hn::IfThenElse(better, bound, best);
        const auto keep = [&](const AlignedVector<double>& from, AlignedVector<double>& to, std::size_t size)
                              HWY_ATTR {
                                  for (std::size_t i = 0; i < size; i += lanes)
                                      store(hn::IfThenElse(better, load(from, i), load(to, i)), to, i);
                              };
        keep(w.alpha, w.best_alpha, inputs);
        keep(w.multipliers, w.best_multipliers, units.size() * lanes);
        if (units.empty() || step == most_steps || !hn::AllFalse(tag, hn::Lt(best, levels))) break;
        slopes_of_multipliers(network, twin, units, w);
        keep(w.slopes, w.best_slopes, units.size() * lanes);
        // Shorter where it was too far.
        part = hn::Mul(part, hn::IfThenElse(better, hn::Set(tag, 1.25), hn::Set(tag, 0.4)));
        step_down(units.size(), best, levels, part, w);
    }
    std::copy_n(w.best_alpha.begin(), inputs, w.alpha.begin());
    std::copy_n(w.best_multipliers.begin(), units.size() * lanes, w.multipliers.begin());
    return best;
}

/// Narrows the intervals of z and d of layer l > 0 by linear bounds.
void narrow(const PreparedNetwork& network, const Twin& twin, std::size_t l, Workspace& w) {
    const PreparedLayer& layer = network.layers[l];
    const TwinLayer& other = twin.layers()[l];
    const std::size_t in = layer.weight.in, stride = layer.weight.column_stride;
    for (std::size_t t = 0; t < stride; t += lanes) {
        for (const double sign : {1.0, -1.0}) {
            const Vec side = hn::Set(tag, sign);
            for (std::size_t j = 0; j < in; ++j)
                hn::Store(hn::Mul(side, load(layer.weight.columns, j * stride + t)), tag,
                          w.alpha.data() + j * lanes);
            Vec bound = hn::MulAdd(side, load(layer.bias, t), load(other.value_error, t));
            bound = hn::Mul(side, hn::Add(bound, back_to_inputs<false>(network, twin, l - 1, w)));
            store(sign > 0 ? hn::Min(bound, load(w.z_high, t)) : hn::Max(bound, load(w.z_low, t)),
                  sign > 0 ? w.z_high : w.z_low, t);

            for (std::size_t j = 0; j < in; ++j) {
                hn::Store(hn::Mul(side, load(other.difference.columns, j * stride + t)), tag,
                          w.alpha.data() + j * lanes);
                hn::Store(hn::Mul(side, load(other.weight.columns, j * stride + t)), tag,
                          w.epsilon.data() + j * lanes);
            }
            bound = hn::MulAdd(side, load(other.bias_difference, t), load(other.difference_error, t));
            if (twin.is_hull()) bound = hn::Add(bound, load(w.hull_radius[l], t));
            bound = hn::Mul(side, hn::Add(bound, back_to_inputs<true>(network, twin, l - 1, w)));
            store(sign > 0 ? hn::Min(bound, load(w.d_high, t)) : hn::Max(bound, load(w.d_low, t)),
                  sign > 0 ? w.d_high : w.d_low, t);
        }
    }
}

/// Bounds of up to `lanes` targets; starts at target `first`.
void bound_targets(const PreparedNetwork& network, const Twin& twin, std::span<const BoundTarget> targets,
                   std::size_t first, SplitBox* part, Workspace& w, BoxBounds& bounds) {
    const std::size_t last = network.hidden(), count = std::min(lanes, targets.size() - first);
    const PreparedLayer& layer = network.layers[last];
    const TwinLayer& other = twin.layers()[last];
    // Lanes without a target of their own have the last one's.
    HWY_ALIGN double value[lanes], difference[lanes], constant[lanes], row[lanes];
    std::size_t rows[lanes];
    for (std::size_t t = 0; t < lanes; ++t) {
        const BoundTarget& target = targets[std::min(first + t, targets.size() - 1)];
        rows[t] = target.row;
        value[t] = target.value;
        difference[t] = target.difference;
        constant[t] = target.value * layer.bias[target.row] +
                      target.difference * other.bias_difference[target.row] +
                      std::abs(target.value) * other.value_error[target.row] +
                      std::abs(target.difference) * other.difference_error[target.row];
        if (twin.is_hull()) constant[t] += std::abs(target.difference) * w.hull_radius[last][target.row];
    }
    const Vec values = hn::Load(tag, value), differences = hn::Load(tag, difference);
    for (std::size_t j = 0; j < layer.weight.in; ++j) {
        const auto entries = [&](const PaddedMatrix& matrix) {
            for (std::size_t t = 0; t < lanes; ++t) row[t] = matrix.rows[rows[t] * matrix.row_stride + j];
            return hn::Load(tag, row);
        };
        const Vec alpha =
            hn::MulAdd(values, entries(layer.weight), hn::Mul(differences, entries(other.difference)));
        hn::Store(alpha, tag, w.alpha.data() + j * lanes);
        hn::Store(hn::Mul(differences, entries(other.weight)), tag, w.epsilon.data() + j * lanes);
    }
    Vec bound = hn::Load(tag, constant);
    if (last == 0) {
        bound = over_box(network, w, bound);
    } else if (part) {
        std::copy_n(w.alpha.begin(), layer.weight.in * lanes, w.first_alpha.begin());
        std::copy_n(w.epsilon.begin(), layer.weight.in * lanes, w.first_epsilon.begin());
        const std::size_t units = part->units.size();
        HWY_ALIGN double levels[lanes];
        for (std::size_t t = 0; t < lanes; ++t) {
            const std::size_t of = std::min(first + t, targets.size() - 1);
            levels[t] = part->levels[of];
            for (std::size_t s = 0; s < units; ++s)
                w.multipliers[s * lanes + t] = part->multipliers[of * units + s];
        }
        bound = best_bound(network, twin, part->units, bound, hn::Load(tag, levels), w);
        for (std::size_t t = 0; t < count; ++t)
            for (std::size_t s = 0; s < units; ++s)
                part->multipliers[(first + t) * units + s] = w.multipliers[s * lanes + t];
        HWY_ALIGN double above[lanes];
        hn::Store(hn::Sub(bound, hn::Load(tag, levels)), tag, above);
        verify::add_costs(network, lanes, {above, count}, w);
    } else {
        bound = hn::Add(bound, back_to_inputs<true>(network, twin, last - 1, w));
    }
    hn::Store(bound, tag, constant);
    for (std::size_t t = 0; t < count; ++t) {
        bounds.upper[first + t] = constant[t];
        for (std::size_t i = 0; i < network.inputs(); ++i)
            bounds.coefficients[(first + t) * network.inputs() + i] = w.alpha[i * lanes + t];
    }
}

void Bound(const PreparedNetwork& network, const Twin& twin, const BoundRules& rules,
           std::span<const BoundTarget> targets, SplitBox* part, Workspace& w, BoxBounds& bounds) {
    // 1. Forward: intervals of every layer, narrowed, and the relaxations they give.
    for (std::size_t l = 0; l <= network.hidden(); ++l) {
        const bool is_last = l == network.hidden();
        if (is_last && !twin.is_hull()) break;
        const PreparedLayer& layer = network.layers[l];
        Incoming from{};
        if (l == 0) {
            from = {w.centre.data(), w.radius.data(), nullptr, nullptr, w.alpha.data()};
            for (std::size_t i = 0; twin.is_hull() && i < network.inputs(); ++i)
                w.alpha[i] = std::abs(w.centre[i]) + w.radius[i];
        } else {
            const Units& units = w.units[l - 1];
            from = {units.middle.data(), units.radius.data(), units.e_middle.data(), units.e_radius.data(),
                    units.twin_most.data()};
        }
        propagate(layer, twin.layers()[l], from, l == 0, w, twin.is_hull() ? &w.hull_radius[l] : nullptr);
        if (is_last) break;
        if (l > 0 && rules.symbolic) narrow(network, twin, l, w);
        if (part && !verify::give_signs(part->units, l, w)) {
            part->empty = true;
            return;
        }
        for (std::size_t k = 0; k < layer.weight.column_stride; k += lanes) {
            store(hn::Add(load(w.z_low, k), load(w.d_low, k)), w.twin_low, k);
            store(hn::Add(load(w.z_high, k), load(w.d_high, k)), w.twin_high, k);
        }
        if (part && !verify::give_twin_signs(part->units, l, w)) {
            part->empty = true;
            return;
        }
        for (std::size_t k = 0; k < layer.weight.column_stride; k += lanes) relax(rules, w, k, w.units[l]);
        if (part) verify::keep_intervals(l, w);
    }
    // 2. Backward: the targets.
    for (std::size_t first = 0; first < targets.size(); first += lanes)
        bound_targets(network, twin, targets, first, part, w, bounds);
}

}  // namespace holdfast::verify::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast {
namespace verify {
HWY_EXPORT(Bound);

namespace {
void bound(const PreparedNetwork& network, const Twin& twin, const BoundRules& rules,
           std::span<const BoundTarget> targets, SplitBox* part, DifferenceBounds::Workspace& workspace,
           BoxBounds& bounds) {
    HWY_DYNAMIC_DISPATCH(Bound)(network, twin, rules, targets, part, workspace, bounds);
}
}  // namespace
}  // namespace verify

DifferenceBounds::DifferenceBounds(const PreparedNetwork& network) : network_(&network) {
    Workspace& w = workspace_;
    const std::size_t widest = network.widest(), inputs = PaddedMatrix::padded(network.inputs());
    w.centre.resize(inputs);
    w.radius.resize(inputs);
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
        const std::size_t stride = network.layers[l].weight.column_stride;
        w.hull_radius.emplace_back(stride);
        if (l == network.hidden()) break;
        Units units;
        for (AlignedVector<double>* values :
             {&units.chord, &units.chord_at_0, &units.slope, &units.upper_z, &units.upper_d,
              &units.upper_at_0, &units.lower_z, &units.lower_d, &units.lower_below_0, &units.middle,
              &units.radius, &units.e_middle, &units.e_radius, &units.twin_most})
            values->resize(stride);
        w.units.push_back(std::move(units));
        for (std::vector<AlignedVector<double>>* layers :
             {&w.low_z, &w.high_z, &w.low_twin, &w.high_twin, &w.costs})
            layers->emplace_back(stride);
        for (std::vector<AlignedVector<double>>* layers : {&w.alphas, &w.epsilons})
            layers->emplace_back(stride * PaddedMatrix::line);
    }
    for (AlignedVector<double>* values :
         {&w.values, &w.differences, &w.alpha, &w.epsilon, &w.first_alpha, &w.first_epsilon, &w.best_alpha,
          &w.point, &w.change, &w.next_point, &w.next_change})
        values->resize(widest * PaddedMatrix::line);
    for (AlignedVector<double>* values :
         {&w.z_low, &w.z_high, &w.d_low, &w.d_high, &w.twin_low, &w.twin_high})
        values->resize(widest);
}

void DifferenceBounds::prepare(const double* low, const double* high, std::size_t targets,
                               BoxBounds& bounds) {
    for (std::size_t i = 0; i < network_->inputs(); ++i) {
        workspace_.centre[i] = low[i] + (high[i] - low[i]) / 2;
        workspace_.radius[i] = std::max(high[i] - workspace_.centre[i], workspace_.centre[i] - low[i]);
    }
    bounds.upper.resize(targets);
    bounds.coefficients.resize(targets * network_->inputs());
}

void DifferenceBounds::bound(const Twin& twin, const double* low, const double* high,
                             std::span<const BoundTarget> targets, const BoundRules& rules,
                             BoxBounds& bounds) {
    prepare(low, high, targets.size(), bounds);
    verify::bound(*network_, twin, rules, targets, nullptr, workspace_, bounds);
}

void DifferenceBounds::bound(const Twin& twin, const double* low, const double* high,
                             std::span<const BoundTarget> targets, const BoundRules& rules, SplitBox& part,
                             BoxBounds& bounds) {
    ensure(!twin.is_hull() && part.levels.size() == targets.size(), "a part is of one network");
    prepare(low, high, targets.size(), bounds);
    Workspace& w = workspace_;
    part.multipliers.resize(targets.size() * part.units.size(), 0.0);
    for (AlignedVector<double>* values : {&w.multipliers, &w.slopes, &w.best_multipliers, &w.best_slopes})
        values->resize(std::max(values->size(), part.units.size() * PaddedMatrix::line));
    for (AlignedVector<double>& costs : w.costs) std::fill(costs.begin(), costs.end(), 0.0);
    part.empty = false;
    part.open.reset();
    verify::bound(*network_, twin, rules, targets, &part, w, bounds);
    if (!part.empty) verify::find_open(*network_, w, part);
}

}  // namespace holdfast
#endif  // HWY_ONCE
