#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/base/arithmetic.hpp"
#include "kernels/ops/row_weight.hpp"

namespace holdfast {

/// A clip on the grid of one precision, all of it public: what sums are counted and charged in.
struct GradientScale {
    int exponent;                           ///< the unit is 2^exponent
    std::int64_t weight_units, bias_units;  ///< Gamma, rounded up
    std::int64_t record_limit;              ///< records whose sum surely fits
    double rounding;                        ///< Gamma was rounded up by at most this part
};

/// How one record's entry of a gradient is bounded (models/mathematics.md, entry). In single precision the
/// limits of a factored clip are rounded down to floats, and Gamma follows from those.
struct Clip {
    enum class Kind {
        elementwise,  ///< every entry clamped to [-gamma, gamma], gamma rounded up to the gradient grid
        factored,     ///< inside the weight gradient delta clamped to [-delta_limit, delta_limit], z to
                      ///< [-z_limit, z_limit]
        norm,         ///< the whole of a record's gradient scaled to a 2-norm of at most norm_limit, as the
                      ///< integers that are added (kernels/ops/norm_rule.hpp); of points only
        record_norm,  ///< of boxes: the whole of a record's gradient scaled to norm_limit
                      ///< (kernels/ops/record_scales.hpp)
        tensor_norm,  ///< the same of each layer's weights, and of its biases, apart
        none          ///< as it is: a step's products are added in Real, record after record, and each sum is
                      ///< rounded to 2^plain_exponent (kernels/ops/models_pass.hpp); of fleets only
    };
    Kind kind = Kind::elementwise;
    double gamma = 0;
    double delta_limit = 0, activation_limit = 0;
    double norm_limit = 0;
    static constexpr int plain_exponent = -36;     ///< none: the unit of a step's sum
    static constexpr double plain_limit = 0x1p24;  ///< and where it saturates
    int spare_bits = 0;  ///< of a record's entry, left to the sums of more records; factored
    /// Of a row of a person: its weight. Entries are held to that part of Gamma, on the same grid.
    double part = 1;
    /// A person's entry is held to Gamma, the sum of its rows', each of which is held to row_room times
    /// Gamma: elementwise from odd factors (models/mathematics.md, entries of a person), by scales one for
    /// all rows (scales of a person); else each row to its part.
    bool after = false;
    static constexpr std::int64_t row_room = 8;
    /// Of what an operation adds: so many records side by side are a person clipped after; 0: whose rows
    /// they are is another's to know, who clamps their sums.
    std::size_t rows = 1;

    /// The fast kernels add products of odd factors onto one another, without looking at an entry.
    bool by_factors() const { return kind == Kind::factored || kind == Kind::norm; }
    /// Every entry is multiplied by a scale of its record's, and then clamped as elementwise.
    bool by_scales() const { return kind == Kind::record_norm || kind == Kind::tensor_norm; }
    /// What the factors of a product are clamped to; a whole gradient's are saturated only.
    template <typename Real>
    Real delta_clamp() const {
        return kind == Kind::norm ? RealFormat<Real>::saturation : rounded_down<Real>(delta_limit);
    }
    template <typename Real>
    Real activation_clamp() const {
        return kind == Kind::norm ? RealFormat<Real>::saturation : rounded_down<Real>(activation_limit);
    }

    template <typename Real = double>
    double weight_bound() const;  ///< Gamma of a weight
    template <typename Real = double>
    double bias_bound() const;  ///< Gamma of a bias
    /// Of a whole gradient, whose sums take noise far larger than a record, to norm_bits at most: an int64
    /// adds as many records as there may be.
    template <typename Real = double>
    BasicGradientGrid<Real> grid() const {
        const double largest = std::max(weight_bound<Real>(), bias_bound<Real>());
        if (kind != Kind::norm) return BasicGradientGrid<Real>(std::ldexp(largest, spare_bits));
        constexpr int spare = std::max(0, RealFormat<Real>::gradient_bits - norm_bits);
        return BasicGradientGrid<Real>(std::ldexp(largest, spare));
    }
    static constexpr int norm_bits = 24;
    template <typename Real = double>
    std::int64_t weight_units() const {  ///< Gamma in grid units, rounded up
        return part_of(grid<Real>().units_above(weight_bound<Real>()), part);
    }
    template <typename Real = double>
    std::int64_t bias_units() const {
        return part_of(grid<Real>().units_above(bias_bound<Real>()), part);
    }
    /// What a record's entry is held to, or a row's of persons clipped after; elementwise.
    template <typename Real>
    Real entry_limit() const {
        const std::int64_t units = (rows == 1 ? 1 : row_room) * weight_units<Real>();
        return static_cast<Real>(units) * grid<Real>().unit();
    }
    template <typename Real>
    GradientScale scale() const;
    GradientScale scale(Arithmetic arithmetic) const;  ///< in fixed precision, factored: by FixedFactors
};

/// make_odd may raise each factor by an ulp, and the product by two and a little.
template <typename Real>
constexpr double odd_slack = 1.0 + 4.0 * static_cast<double>(std::numeric_limits<Real>::epsilon());

template <typename Real>
double Clip::weight_bound() const {
    if (kind == Kind::elementwise) return gamma;
    if (kind != Kind::factored) return norm_limit;
    return static_cast<double>(rounded_down<Real>(delta_limit)) *
           static_cast<double>(rounded_down<Real>(activation_limit)) * odd_slack<Real>;
}
template <typename Real>
double Clip::bias_bound() const {
    if (kind == Kind::elementwise) return gamma;
    if (kind != Kind::factored) return norm_limit;
    return static_cast<double>(rounded_down<Real>(delta_limit)) * odd_slack<Real>;
}
template <typename Real>
GradientScale Clip::scale() const {
    if (kind == Kind::none) {  // no record has a bound of its own; a step's sum has
        const auto units = static_cast<std::int64_t>(std::ldexp(plain_limit, -plain_exponent));
        return {plain_exponent, units, units, 1, 0};
    }
    const BasicGradientGrid<Real> on = grid<Real>();
    const auto raised = [&](std::int64_t units, double bound) {
        return static_cast<double>(units) * on.unit() / bound - 1;
    };
    const std::int64_t records = kind == Kind::norm ? (std::int64_t{1} << 61) / weight_units<Real>()
                                                    : std::int64_t{on.record_limit} << spare_bits;
    return {on.exponent(), weight_units<Real>(), bias_units<Real>(), records,
            std::max(raised(weight_units<Real>(), weight_bound<Real>()),
                     raised(bias_units<Real>(), bias_bound<Real>()))};
}

}  // namespace holdfast
