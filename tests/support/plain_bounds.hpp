#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "models/idp/difference_bounds.hpp"

namespace holdfast {

/// Bounds of a network and its twin, or of the hull of several, over a box, as the lemmas state them
/// (models/mathematics.md, difference propagation; models/mathematics.md, unit splits): one unit after the
/// other, in long double and without what rounding takes. The multipliers are given.
class PlainBounds {
  public:
    using Real = long double;
    struct Interval {
        Real low = 0, high = 0;
        Real centre() const { return (low + high) / 2; }
        Real radius() const { return (high - low) / 2; }
        Real width() const { return high - low; }
    };
    /// x * z + y * d + at_0.
    struct Line {
        Real z = 0, d = 0, at_0 = 0;
    };
    struct Unit {
        Interval z, d, twin;     ///< twin: z' = z + d
        Line a_below, a_above;   ///< of a = max(z, 0)
        Line e_below, e_above;   ///< of e = max(z', 0) - max(z, 0)
        Interval a, e, of_twin;  ///< of_twin: of max(z', 0)
    };
    struct Bound {
        Real upper;
        std::vector<Real> coefficients;  ///< of the inputs
    };

    PlainBounds(const PlainNetwork& network, std::span<const PlainNetwork> twins, const InputBox& box,
                const BoundRules& rules = {}, std::span<const UnitSplit> splits = {})
        : network_(network), box_(box), rules_(rules), splits_(splits) {
        for (std::size_t l = 0; l < network.layers.size(); ++l) add_layer(twins, l);
        for (std::size_t l = 0; l + 1 < network.layers.size() && !empty_; ++l) add_units(l);
    }
    bool empty() const { return empty_; }  ///< no point of the box has the signs
    const std::vector<std::vector<Unit>>& hidden() const { return units_; }
    /// Has some relaxation been chosen by so little that rounding may choose another one, as good?
    bool is_close() const { return close_; }

    /// multipliers: one of each split.
    Bound bound(const BoundTarget& target, std::span<const double> multipliers = {}) const {
        const std::size_t last = network_.layers.size() - 1;
        std::vector<Real> z(network_.rows()), d(network_.rows());
        z[target.row] = target.value;
        d[target.row] = target.difference;
        return back(last, std::move(z), std::move(d), multipliers);
    }

  private:
    static constexpr Real least_choice = 1e-9L;

    /// W' - W and W' in the middle of the twins', and how far from it they are.
    struct Layer {
        std::vector<Real> difference, weight, radius, bias_difference, bias_radius;
    };

    void add_layer(std::span<const PlainNetwork> twins, std::size_t l) {
        Layer layer;
        const auto add = [&](Real ours, const auto& of, std::vector<Real>& difference,
                             std::vector<Real>* middle, std::vector<Real>& radius) {
            Interval hull{of(twins[0]), of(twins[0])};
            for (const PlainNetwork& twin : twins) {
                hull.low = std::min<Real>(hull.low, of(twin));
                hull.high = std::max<Real>(hull.high, of(twin));
            }
            difference.push_back(hull.centre() - ours);
            radius.push_back(hull.radius());
            if (middle) middle->push_back(hull.centre());
        };
        const AffineLayer& ours = network_.layers[l];
        for (std::size_t i = 0; i < ours.weight.size(); ++i)
            add(
                ours.weight[i], [&](const PlainNetwork& twin) { return twin.layers[l].weight[i]; },
                layer.difference, &layer.weight, layer.radius);
        for (std::size_t i = 0; i < ours.bias.size(); ++i)
            add(
                ours.bias[i], [&](const PlainNetwork& twin) { return twin.layers[l].bias[i]; },
                layer.bias_difference, nullptr, layer.bias_radius);
        layers_.push_back(std::move(layer));
    }

    /// Of what came in to layer l: a, e and a'.
    Interval incoming(std::size_t l, std::size_t j) const {
        return l > 0 ? units_[l - 1][j].a : Interval{box_.low[j], box_.high[j]};
    }
    Interval incoming_difference(std::size_t l, std::size_t j) const {
        return l > 0 ? units_[l - 1][j].e : Interval{};
    }
    /// How far d of unit k of layer l may be from D a + W' e + (b' - b).
    Real hull_radius(std::size_t l, std::size_t k) const {
        Real sum = layers_[l].bias_radius[k];
        const std::size_t in = network_.layers[l].in;
        for (std::size_t j = 0; j < in; ++j) {
            const Real most = l > 0 ? units_[l - 1][j].of_twin.high
                                    : std::max<Real>(std::abs(box_.low[j]), std::abs(box_.high[j]));
            sum += layers_[l].radius[k * in + j] * most;
        }
        return sum;
    }

    void add_units(std::size_t l) {
        const AffineLayer& ours = network_.layers[l];
        std::vector<Unit> units(ours.out);
        for (std::size_t k = 0; k < ours.out; ++k) {
            Unit& unit = units[k];
            // 1. Interval arithmetic.
            Real z = ours.bias[k], d = layers_[l].bias_difference[k], z_reach = 0,
                 d_reach = hull_radius(l, k);
            for (std::size_t j = 0; j < ours.in; ++j) {
                const std::size_t at = k * ours.in + j;
                const Interval a = incoming(l, j), e = incoming_difference(l, j);
                z += ours.weight[at] * a.centre();
                z_reach += std::abs(ours.weight[at]) * a.radius();
                d += layers_[l].difference[at] * a.centre() + layers_[l].weight[at] * e.centre();
                d_reach += std::abs(layers_[l].difference[at]) * a.radius() +
                           std::abs(layers_[l].weight[at]) * e.radius();
            }
            unit.z = {z - z_reach, z + z_reach};
            unit.d = {d - d_reach, d + d_reach};
            // 2. Linear bounds.
            if (l > 0 && rules_.symbolic) {
                unit.z.high = std::min(unit.z.high, of_unit(l, k, 1, 0));
                unit.z.low = std::max(unit.z.low, -of_unit(l, k, -1, 0));
                unit.d.high = std::min(unit.d.high, of_unit(l, k, 0, 1));
                unit.d.low = std::max(unit.d.low, -of_unit(l, k, 0, -1));
            }
        }
        // 3. Signs that are given: of z, then of z'.
        for (const UnitSplit& split : splits_)
            if (split.layer == l && !split.of_twin) clip(units[split.unit].z, split.sign);
        for (Unit& unit : units) unit.twin = {unit.z.low + unit.d.low, unit.z.high + unit.d.high};
        for (const UnitSplit& split : splits_) {
            if (split.layer != l || !split.of_twin) continue;
            Unit& unit = units[split.unit];
            clip(unit.twin, split.sign);
            const Interval z = unit.z, d = unit.d;
            if (split.sign > 0) {
                unit.z.low = std::max(z.low, -d.high);
                unit.d.low = std::max(d.low, -z.high);
            } else {
                unit.z.high = std::min(z.high, -d.low);
                unit.d.high = std::min(d.high, -z.low);
            }
        }
        for (const Unit& unit : units) {
            for (const Interval& values : {unit.z, unit.d, unit.twin}) {
                empty_ = empty_ || values.width() < -least_choice;
                close_ = close_ || (values.width() < 0 && values.width() >= -least_choice);
            }
        }
        if (empty_) return;
        for (Unit& unit : units) relax(unit);
        units_.push_back(std::move(units));
    }
    static void clip(Interval& values, double sign) {
        if (sign > 0) {
            values.low = std::max<Real>(values.low, 0);
        } else {
            values.high = std::min<Real>(values.high, 0);
        }
    }
    Real of_unit(std::size_t l, std::size_t k, Real of_z, Real of_d) const {
        std::vector<Real> z(network_.layers[l].out), d(z.size());
        z[k] = of_z;
        d[k] = of_d;
        return back(l, std::move(z), std::move(d), {}).upper;
    }

    /// max(v, 0) <= first * v + second.
    static std::pair<Real, Real> chord(const Interval& v) {
        if (v.low >= 0) return {1, 0};
        if (v.high <= 0) return {0, 0};
        const Real slope = v.high / (v.high - v.low);
        return {slope, std::max(-slope * v.low, (1 - slope) * v.high)};
    }
    static Real at_centre(const Line& line, const Unit& unit) {
        return line.z * unit.z.centre() + line.d * unit.d.centre() + line.at_0;
    }
    bool is_above_0(Real value) {
        close_ = close_ || std::abs(value) < least_choice;
        return value > 0;
    }
    /// The line that is greater at the centre of z and d, or the other one.
    Line greater(const Line& one, const Line& other, const Unit& unit, bool wanted) {
        const Real more = at_centre(one, unit) - at_centre(other, unit);
        const Real differ =
            std::abs(one.z - other.z) + std::abs(one.d - other.d) + std::abs(one.at_0 - other.at_0);
        close_ = close_ || (std::abs(more) < least_choice && differ > least_choice);
        return (more > 0) == wanted ? one : other;
    }
    void relax(Unit& unit) {
        const auto [slope, at_0] = chord(unit.z);
        const auto [twin_slope, twin_at_0] = chord(unit.twin);
        const Real below = is_above_0(unit.z.centre()) ? 1 : 0,
                   twin_below = is_above_0(unit.twin.centre()) ? 1 : 0;
        unit.a_above = {slope, 0, at_0};
        unit.a_below = {below, 0, 0};
        const auto [rise, rise_at_0] = chord(unit.d);
        const auto [fall, fall_at_0] = chord({-unit.d.high, -unit.d.low});
        const Line rises{0, rise, rise_at_0}, falls{0, fall, -fall_at_0};
        unit.e_above = {twin_slope - below, twin_slope, twin_at_0};  // chord(z') - s z
        unit.e_below = {twin_below - slope, twin_below, -at_0};      // s' z' - chord(z)
        if (rules_.differences) {
            unit.e_above = greater(rises, unit.e_above, unit, false);
            unit.e_below = greater(falls, unit.e_below, unit, true);
        }
        const auto active = [](const Interval& v) {
            return Interval{std::max<Real>(v.low, 0), std::max<Real>(v.high, 0)};
        };
        unit.a = active(unit.z);
        unit.of_twin = active(unit.twin);
        unit.e = {std::max(std::min<Real>(unit.d.low, 0), unit.of_twin.low - unit.a.high),
                  std::min(std::max<Real>(unit.d.high, 0), unit.of_twin.high - unit.a.low)};
    }

    /// z * (z of layer l) + d * (d of layer l) over the box, at most.
    Bound back(std::size_t l, std::vector<Real> z, std::vector<Real> d,
               std::span<const double> multipliers) const {
        Real constant = 0;
        while (true) {
            for (std::size_t s = 0; s < multipliers.size(); ++s) {
                const UnitSplit& split = splits_[s];
                if (split.layer != l) continue;
                z[split.unit] += multipliers[s] * split.sign;
                if (split.of_twin) d[split.unit] += multipliers[s] * split.sign;
            }
            const AffineLayer& ours = network_.layers[l];
            std::vector<Real> a(ours.in), e(ours.in);
            for (std::size_t k = 0; k < ours.out; ++k) {
                // An added multiple is of one twin: hulls are not split.
                constant += z[k] * ours.bias[k] + d[k] * layers_[l].bias_difference[k] +
                            std::abs(d[k]) * hull_radius(l, k);
                for (std::size_t j = 0; j < ours.in; ++j) {
                    const std::size_t at = k * ours.in + j;
                    a[j] += z[k] * ours.weight[at] + d[k] * layers_[l].difference[at];
                    e[j] += d[k] * layers_[l].weight[at];
                }
            }
            if (l == 0) return over_box(constant, std::move(a));
            --l;
            z.assign(ours.in, 0);
            d.assign(ours.in, 0);
            for (std::size_t j = 0; j < ours.in; ++j) {
                const Unit& unit = units_[l][j];
                for (const auto& [times, line] : {std::pair{a[j], a[j] > 0 ? unit.a_above : unit.a_below},
                                                  std::pair{e[j], e[j] > 0 ? unit.e_above : unit.e_below}}) {
                    z[j] += times * line.z;
                    d[j] += times * line.d;
                    constant += times * line.at_0;
                }
            }
        }
    }
    Bound over_box(Real constant, std::vector<Real> coefficients) const {
        for (std::size_t i = 0; i < coefficients.size(); ++i)
            constant += coefficients[i] * (coefficients[i] > 0 ? box_.high[i] : box_.low[i]);
        return {constant, std::move(coefficients)};
    }

    const PlainNetwork& network_;
    InputBox box_;
    BoundRules rules_;
    std::span<const UnitSplit> splits_;
    std::vector<Layer> layers_;
    std::vector<std::vector<Unit>> units_;
    bool empty_ = false, close_ = false;
};

/// How far bounds are from those of plain loops.
struct BoundExcess {
    double least = INFINITY, greatest = -INFINITY;  ///< bounds less those of plain loops
    long double coefficients = 0;                   ///< the greatest difference

    void add(const BoxBounds& bounds, std::size_t target, const PlainBounds::Bound& expected) {
        const auto more = static_cast<double>(bounds.upper[target] - expected.upper);
        least = std::min(least, more);
        greatest = std::max(greatest, more);
        const std::size_t inputs = expected.coefficients.size();
        for (std::size_t i = 0; i < inputs; ++i) {
            const long double moved = bounds.coefficients[target * inputs + i] - expected.coefficients[i];
            coefficients = std::max(coefficients, std::abs(moved));
        }
    }
};

}  // namespace holdfast
