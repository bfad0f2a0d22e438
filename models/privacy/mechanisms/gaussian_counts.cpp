#include "models/privacy/mechanisms/gaussian_counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "kernels/base/error.hpp"
#include "models/privacy/mechanisms/products.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t greatest_sum = std::int64_t{1} << 61;
constexpr int count_bits = 60, sigma_bits = 55;

/// The largest u with which counts stay below 2^60 and the noise below 2^55 units.
int unit_bits_for(const Rational& sigma, std::int64_t members) {
    const int width = std::bit_width(static_cast<std::uint64_t>(members));
    int bits = count_bits - width;
    while (sigma * Rational(power_of_two(static_cast<unsigned long>(bits))) >
           Rational(power_of_two(sigma_bits)))
        --bits;
    ensure(bits >= 0, "counts and noise share numbers of 64 bits");
    return bits;
}

double below(double x) {
    return std::erfc(-x / std::numbers::sqrt2) / 2;
}

}  // namespace

GaussianCounts::GaussianCounts(const Rational& sigma, std::int64_t members)
    : unit_bits_(unit_bits_for(sigma, members)),
      sigma_units_(round_up(sigma * Rational(power_of_two(static_cast<unsigned long>(unit_bits_))))),
      noise_(sigma_units_) {}

double GaussianCounts::sigma() const {
    return std::ldexp(sigma_units_, -unit_bits_);
}

std::int64_t GaussianCounts::draw(std::int64_t count, RandomBits& bits) const {
    return std::clamp((count << unit_bits_) + noise_.draw(bits), -greatest_sum, greatest_sum);
}

std::int64_t GaussianCounts::in_units(const Rational& count) const {
    return ceil(count * Rational(power_of_two(static_cast<unsigned long>(unit_bits_)))).get_si();
}

// P(j) is the integral over y of phi(y - o_j) prod_{i != j} Phi(y - o_i), o_i the count less the greatest
// one, in sigmas. The trapezoidal rule errs by some exp(-2 (pi s/h)^2) where the integrand is as wide as a
// normal of deviation s: far below double precision. What it adds is positive, so small results are as exact
// as large ones. Beyond the range lies less than e^-72 of any P(j).
std::vector<double> GaussianCounts::greatest(const std::vector<std::int64_t>& votes) const {
    constexpr double step = 1.0 / 16, margin = 12, deepest = -40;
    const auto [least, most] = std::minmax_element(votes.begin(), votes.end());
    std::vector<double> result(votes.size(), 0.0), factors(votes.size());
    const auto offset = [&](std::int64_t count) { return static_cast<double>(count - *most) / sigma(); };
    const double first = std::floor(std::max(offset(*least) / 2, deepest) - margin);
    for (double y = first; y <= margin; y += step) {
        for (std::size_t i = 0; i < votes.size(); ++i) factors[i] = below(y - offset(votes[i]));
        const std::vector<double> others = products_of_others(factors);
        for (std::size_t j = 0; j < votes.size(); ++j) {
            const double away = y - offset(votes[j]);
            result[j] += std::exp(-away * away / 2) * others[j];
        }
    }
    for (double& probability : result) probability *= step / std::sqrt(2 * std::numbers::pi);
    return result;
}

Rational gaussian_deviation(const Rational& mu, const Rational& squared_sensitivity, const Rational& share) {
    return sqrt_upper(squared_sensitivity / (share * mu * mu));
}

}  // namespace holdfast
