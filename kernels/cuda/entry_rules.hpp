#pragma once

#include <bit>
#include <cmath>

#include "kernels/base/arithmetic.hpp"
#include "kernels/cuda/fixed_units.hpp"
#include "kernels/cuda/kernel.hpp"
#include "kernels/ops/panel_operations.hpp"

namespace holdfast::device {

/// Two doubles of one binade and sign: their bits count its units.
HOLDFAST_PORTABLE inline std::int64_t units_between(double bias, double sum) {
    return std::bit_cast<std::int64_t>(sum) - std::bit_cast<std::int64_t>(bias);
}
HOLDFAST_PORTABLE inline double fused(double a, double b, double c) {
    return fma(a, b, c);
}
HOLDFAST_PORTABLE inline float fused(float a, float b, float c) {
    return fmaf(a, b, c);
}

/// How the entries of a clipped gradient are added, for the two clips (GradientGrid). Factors come from
/// delta() and z(), which see each factor once; units() is what was added to zero(). An fma onto the bias
/// rounds an entry to the grid, in Real, which the factors are; sums of a block are doubles on the same grid.
template <typename Real>
struct ElementwiseRule {
    using Sum = double;  ///< biased
    Real bias;
    double limit, sum_bias;

    explicit ElementwiseRule(const Clip& clip)
        : bias(clip.grid<Real>().bias()),
          limit(static_cast<double>(clip.weight_units<Real>()) * clip.grid<Real>().unit()),
          sum_bias(0x1.8p52 * clip.grid<Real>().unit()) {}
    HOLDFAST_PORTABLE double delta(double value) const { return value; }
    HOLDFAST_PORTABLE double z(double value) const { return value; }
    HOLDFAST_PORTABLE double one() const { return 1.0; }
    HOLDFAST_PORTABLE Sum zero() const { return sum_bias; }
    HOLDFAST_PORTABLE Sum add(Sum sum, double delta_factor, double z_factor) const {
        const Real biased = fused(static_cast<Real>(delta_factor), static_cast<Real>(z_factor), bias);
        return sum + clamped(static_cast<double>(biased - bias), limit);
    }
    HOLDFAST_PORTABLE std::int64_t units(Sum sum) const { return units_between(sum_bias, sum); }
};

/// Factors are clamped and odd: an fma onto the biased sum rounds the exact product to the grid.
struct FactoredRule {
    using Sum = double;  ///< biased
    double bias, delta_limit, activation_limit;

    explicit FactoredRule(const Clip& clip)
        : bias(clip.grid().bias()),
          delta_limit(clip.delta_clamp<double>()),
          activation_limit(clip.activation_clamp<double>()) {}
    HOLDFAST_PORTABLE double delta(double value) const { return make_odd(clamped(value, delta_limit)); }
    HOLDFAST_PORTABLE double z(double value) const { return make_odd(clamped(value, activation_limit)); }
    HOLDFAST_PORTABLE double one() const { return 1.0; }
    HOLDFAST_PORTABLE Sum zero() const { return bias; }
    HOLDFAST_PORTABLE Sum add(Sum sum, double delta_factor, double z_factor) const {
        return fma(delta_factor, z_factor, sum);
    }
    HOLDFAST_PORTABLE std::int64_t units(Sum sum) const { return units_between(bias, sum); }
};

/// Factors of fixed precision are integers, and so are the entries (reference::fixed::entry): doubles hold
/// both.
struct FixedFactoredRule {
    using Sum = std::int64_t;
    FixedUnits delta_units, z_units;
    double bias_units;

    explicit FixedFactoredRule(const FixedFactors& factors)
        : delta_units(factors.delta), z_units(factors.z), bias_units(static_cast<double>(factors.one())) {}
    HOLDFAST_PORTABLE double delta(double value) const { return delta_units.units(value); }
    HOLDFAST_PORTABLE double z(double value) const { return z_units.units(value); }
    HOLDFAST_PORTABLE double one() const { return bias_units; }
    HOLDFAST_PORTABLE Sum zero() const { return 0; }
    HOLDFAST_PORTABLE Sum add(Sum sum, double delta_factor, double z_factor) const {
        return sum + static_cast<Sum>(delta_factor * z_factor);
    }
    HOLDFAST_PORTABLE std::int64_t units(Sum sum) const { return sum; }
};

/// What the activations of an outer product are.
enum class Activations {
    point,   ///< a point, as is delta: one bound
    input,   ///< a point of any sign, the features; delta has bounds
    hidden,  ///< z >= 0; both have bounds
};
constexpr Activations activations_of(bool is_point, bool is_input) {
    return is_point ? Activations::point : is_input ? Activations::input : Activations::hidden;
}
constexpr int delta_sides(Activations kind) {
    return kind == Activations::point ? 1 : 2;
}
constexpr int z_sides(Activations kind) {
    return kind == Activations::hidden ? 2 : 1;
}

/// Both bounds of an entry added to their sums: the sign of one factor picks the end of the other.
template <Activations kind, typename Rule>
HOLDFAST_PORTABLE inline void add_entry(const Rule& rule, double delta_lower, double delta_upper,
                                        double z_lower, double z_upper, typename Rule::Sum& least,
                                        typename Rule::Sum& greatest) {
    if constexpr (kind == Activations::point) {
        least = rule.add(least, delta_lower, z_lower);
    } else if constexpr (kind == Activations::input) {
        least = rule.add(least, z_lower >= 0 ? delta_lower : delta_upper, z_lower);
        greatest = rule.add(greatest, z_lower >= 0 ? delta_upper : delta_lower, z_lower);
    } else {
        least = rule.add(least, delta_lower, delta_lower >= 0 ? z_lower : z_upper);
        greatest = rule.add(greatest, delta_upper, delta_upper >= 0 ? z_upper : z_lower);
    }
}

/// What an outer product works on, at every level.
struct OuterArrays {
    ConstVariants delta;    // [out, records]
    ConstVariants z;        // [in, records]
    std::int64_t* sums[2];  // [out, in + 1], lower and upper, + level * sums_stride
    std::size_t sums_stride;
    int in, out, records, levels;

    HOLDFAST_PORTABLE std::int64_t* sum(int bound, int level, int row, int column) const {
        return sums[bound] + static_cast<std::size_t>(level) * sums_stride +
               static_cast<std::size_t>(row) * static_cast<std::size_t>(in + 1) +
               static_cast<std::size_t>(column);
    }
    /// What lies at (row, record) and (column, record); anything beyond the edges, which the factors do not
    /// use.
    HOLDFAST_PORTABLE double delta_at(int bound, int level, int row, int record, int last) const {
        return row < out && record < last ? delta.at(bound, level, row, record) : 0.0;
    }
    HOLDFAST_PORTABLE double z_at(int bound, int level, int column, int record, int last) const {
        return column < in && record < last ? z.at(bound, level, column, record) : 0.0;
    }
    /// Factors of entry (row, column) of those, ready for the rule; of records from `last` on, delta is 0.
    template <typename Rule>
    HOLDFAST_PORTABLE double delta_factor(const Rule& rule, int row, int record, int last,
                                          double value) const {
        return row < out && record < last ? rule.delta(value) : 0.0;
    }
    template <typename Rule>
    HOLDFAST_PORTABLE double z_factor(const Rule& rule, int column, int record, int last,
                                      double value) const {
        if (column >= in) return column == in ? rule.one() : 0.0;  // the bias, in no clip's activations
        return record < last ? rule.z(value) : 0.0;
    }
};

}  // namespace holdfast::device
