#include "models/privacy/routes/batch_route.hpp"

#include <cmath>

#include "models/privacy/session/batch_law.hpp"

namespace holdfast {

double batch_accuracy(const std::vector<DistanceShare>& shares, const Rational& epsilon,
                      const Rational& delta, std::int64_t answers) {
    // Of one query: right, and no other nearer than k. At k beyond all distances there is none.
    double all = 1, right = 0, expected = 0;
    for (const DistanceShare& share : shares) right += share.right;
    const auto others = static_cast<double>(answers - 1);
    double here = right * std::pow(all, others);
    for (std::size_t i = 0; i < shares.size(); ++i) {
        all -= shares[i].all;
        right -= shares[i].right;
        const bool last = i + 1 == shares.size();
        const double beyond = last ? 0 : std::max(0.0, right) * std::pow(std::max(0.0, all), others);
        expected += batch_passes(epsilon, delta, shares[i].distance) * (here - beyond);
        here = beyond;
    }
    return expected;
}

}  // namespace holdfast
