#include "models/privacy/session/batch_law.hpp"

#include <cmath>

namespace holdfast {

double batch_passes(const Rational& epsilon, const Rational& delta, std::int64_t least_distance) {
    const double exponent = epsilon.get_d() * static_cast<double>(least_distance), d = delta.get_d();
    const double rising = std::log(d) + exponent;
    return rising <= -std::log(2.0) ? std::exp(rising) : 1 - std::exp(-exponent) / (4 * d);
}

}  // namespace holdfast
