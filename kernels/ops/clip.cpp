#include <algorithm>
#include <limits>

#include "kernels/ops/backend.hpp"

namespace holdfast {

namespace {
// make_odd may raise each factor by an ulp, and the product by two and a little.
template <typename Real>
constexpr double odd_slack = 1.0 + 4.0 * std::numeric_limits<Real>::epsilon();
}  // namespace

template <typename Real>
double Clip::weight_bound() const {
    if (kind == Kind::elementwise) return gamma;
    return double{rounded_down<Real>(delta_limit)} * rounded_down<Real>(activation_limit) * odd_slack<Real>;
}
template <typename Real>
double Clip::bias_bound() const {
    if (kind == Kind::elementwise) return gamma;
    return rounded_down<Real>(delta_limit) * odd_slack<Real>;
}
template <typename Real>
GradientScale Clip::scale() const {
    const BasicGradientGrid<Real> on = grid<Real>();
    const auto raised = [&](std::int64_t units, double bound) {
        return static_cast<double>(units) * on.unit() / bound - 1;
    };
    return {on.exponent(), weight_units<Real>(), bias_units<Real>(), on.record_limit,
            std::max(raised(weight_units<Real>(), weight_bound<Real>()),
                     raised(bias_units<Real>(), bias_bound<Real>()))};
}
template double Clip::weight_bound<double>() const;
template double Clip::weight_bound<float>() const;
template double Clip::bias_bound<double>() const;
template double Clip::bias_bound<float>() const;
template GradientScale Clip::scale<double>() const;
template GradientScale Clip::scale<float>() const;

}  // namespace holdfast
