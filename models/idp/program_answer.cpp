#include "models/idp/program_answer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/certify/margins.hpp"

namespace holdfast {
namespace {

/// A row begins with its bias and adds term by term, each with one rounding; what a convolution does not
/// reach adds 0, which changes nothing.
template <typename Real>
std::vector<Real> rows_of(const AffineLayer& layer, const std::vector<Real>& x) {
    std::vector<Real> values;
    for (std::size_t o = 0; o < layer.out; ++o) {
        auto sum = static_cast<Real>(layer.bias[o]);
        for (std::size_t j = 0; j < layer.in; ++j)
            sum = std::fma(static_cast<Real>(layer.weight[o * layer.in + j]), x[j], sum);
        values.push_back(sum);
    }
    return values;
}

template <typename Real>
ProgramAnswer answer_in(const PlainNetwork& network, std::size_t classes, std::span<const double> seen) {
    std::vector<Real> x(seen.begin(), seen.end());
    for (std::size_t l = 0; l + 1 < network.layers.size(); ++l) {
        x = rows_of(network.layers[l], x);
        for (Real& value : x) value = saturated(std::max(value, Real{0}));
    }
    const std::vector<Real> margins = rows_of(network.layers.back(), x);
    std::size_t label = margins[0] >= Real{0} ? 0 : 1;
    if (classes > 2) {
        const std::vector<Real> logits = rows_of(network.logits, x);
        label = greatest_logit(classes, [&](std::size_t c) { return logits[c]; });
    }
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t other = 0; other < classes; ++other) {
        if (other == label) continue;
        const auto [row, sign] = margin_at(classes, label, other);
        least = std::min(least, sign * static_cast<double>(margins[row]));
    }
    return {label, least};
}

}  // namespace

ProgramAnswer program_answer(const PlainNetwork& network, std::size_t classes, Precision precision,
                             std::span<const double> seen) {
    return precision == Precision::single_precision ? answer_in<float>(network, classes, seen)
                                                    : answer_in<double>(network, classes, seen);
}

}  // namespace holdfast
