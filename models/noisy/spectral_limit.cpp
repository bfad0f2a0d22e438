#include "models/noisy/spectral_limit.hpp"

#include <cmath>

#include "kernels/base/arithmetic.hpp"
#include "kernels/base/random.hpp"
#include "kernels/base/sixteen_sums.hpp"

namespace holdfast {
namespace {

constexpr int powers = 20;

/// |W' W v| / |v| of the last of some powers v of W' W; rows: [out, in + 1], the bias last.
double greatest_value(const std::int64_t* rows, std::size_t in, std::size_t out) {
    const KeyedHash hash{1};
    std::vector<double> weights, v(in), next(in);
    for (std::size_t i = 0; i < in; ++i) v[i] = hash.uniform(0, i) - 0.5;
    for (std::size_t o = 0; o < out; ++o)
        for (std::size_t i = 0; i < in; ++i) weights.push_back(parameter_value(rows[o * (in + 1) + i]));
    double length = std::sqrt(in_sixteen_sums(in, [&](std::size_t i) { return v[i] * v[i]; })), value = 0;
    for (int power = 0; power < powers && length > 0; ++power) {
        next.assign(in, 0);
        for (std::size_t o = 0; o < out; ++o) {
            const double* const row = &weights[o * in];
            double product = 0;
            for (std::size_t i = 0; i < in; ++i) product += row[i] * v[i];
            for (std::size_t i = 0; i < in; ++i) next[i] += product / length * row[i];
        }
        value = length = std::sqrt(in_sixteen_sums(in, [&](std::size_t i) { return next[i] * next[i]; }));
        v.swap(next);
    }
    return std::sqrt(value);
}

}  // namespace

void limit_spectral_norms(const Network& network, double limit, std::vector<std::int64_t>& parameters) {
    for (std::size_t l = 0; l + 1 < network.layers().size(); ++l) {
        const std::size_t in = network.layers()[l].in, out = network.layers()[l].out;
        std::int64_t* const rows = &parameters[network.offset(l)];
        const double value = greatest_value(rows, in, out);
        if (!(value > limit)) continue;
        for (std::size_t o = 0; o < out; ++o)
            for (std::size_t i = 0; i < in; ++i) {
                std::int64_t& weight = rows[o * (in + 1) + i];
                weight = static_cast<std::int64_t>(std::rint(limit / value * static_cast<double>(weight)));
            }
    }
}

}  // namespace holdfast
