#include "models/privacy/routes/session_route.hpp"

#include <cmath>

namespace holdfast {
namespace {

/// P(Bin(n, p) = k), 0 < p < 1.
double binomial(std::int64_t n, std::int64_t k, double p) {
    double logarithm = static_cast<double>(n - k) * std::log1p(-p);
    for (std::int64_t i = 0; i < k; ++i)
        logarithm += std::log(p * static_cast<double>(n - i) / static_cast<double>(i + 1));
    return std::exp(logarithm);
}

/// P(Bin(n, p) >= k), summed where it is the smaller part.
double at_least(std::int64_t n, std::int64_t k, double p) {
    if (k <= 0) return 1;
    if (k > n) return 0;
    const bool upper = static_cast<double>(n) * p < static_cast<double>(k);
    double sum = 0, term = binomial(n, upper ? k : k - 1, p);
    const double odds = p / (1 - p);
    if (upper) {
        for (std::int64_t i = k; i <= n && term > 1e-18 * sum; ++i) {
            sum += term;
            term *= odds * static_cast<double>(n - i) / static_cast<double>(i + 1);
        }
        return sum;
    }
    for (std::int64_t i = k - 1; i >= 0 && term > 1e-18 * sum; --i) {
        sum += term;
        term *= static_cast<double>(i) / (odds * static_cast<double>(n - i + 1));
    }
    return 1 - sum;
}

}  // namespace

double expected_trials(double p, std::int64_t c, std::int64_t most) {
    const auto all = static_cast<double>(most);
    if (!(p > 0) || c > most) return all;
    if (p >= 1) return static_cast<double>(std::min(c, most));
    // p E(trials) = E(min(c, B)), B = Bin(most, p), and b P(B = b) = most p P(Bin(most - 1, p) = b - 1).
    return all * (1 - at_least(most - 1, c - 1, p)) + static_cast<double>(c) / p * at_least(most, c, p);
}

double session_accuracy(const std::vector<DistanceShare>& shares, const SessionTerms& terms,
                        std::int64_t answers) {
    const std::vector<double> widths = width_law(terms);
    double expected = 0;
    for (std::size_t w = 0; w < widths.size(); ++w) {
        double refused = 0, right = 0;
        for (const DistanceShare& share : shares) {
            const double refusal = refusal_probability(terms, share.distance, static_cast<std::int64_t>(w));
            refused += share.all * refusal;
            right += share.right * (1 - refusal);
        }
        expected += widths[w] * right * expected_trials(refused, terms.refusals, answers);
    }
    return expected / static_cast<double>(answers);
}

}  // namespace holdfast
