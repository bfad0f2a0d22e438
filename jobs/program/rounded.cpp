#include "jobs/program/rounded.hpp"

#include <cmath>
#include <cstdlib>

#include "kernels/base/text.hpp"
#include "models/privacy/rational.hpp"

namespace holdfast {
namespace {

/// direction: 1 up, -1 down. The value is the decimal that prints as the double.
std::string round_text(double value, int digits, int direction) {
    if (value == 0 || !std::isfinite(value)) return printed("%.*g", digits, value);
    const std::string nearest = printed("%.*e", digits - 1, value);
    const Rational exact = decimal_value(value, "value"), near = parse_rational(nearest, "value");
    if (direction * cmp(near, exact) >= 0) return printed("%.*g", digits, value);
    const std::string own = printed("%.17e", value);  // below a power of ten the nearest has another exponent
    const int exponent = std::atoi(own.substr(own.find('e') + 1).c_str());
    const Rational unit = parse_rational("1e" + std::to_string(exponent - digits + 1), "value");
    return printed("%.*g", digits, Rational(near + direction * unit).get_d());
}

}  // namespace

std::string round_up_text(double value, int digits) {
    return round_text(value, digits, 1);
}

std::string round_down_text(double value, int digits) {
    return round_text(value, digits, -1);
}

}  // namespace holdfast
