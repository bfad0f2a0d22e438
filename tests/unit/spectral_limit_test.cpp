#include "models/noisy/spectral_limit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/base/arithmetic.hpp"
#include "models/robust/hidden_slope.hpp"

namespace holdfast {
namespace spectral_limit_test {

TEST(SpectralLimits, ScaleHiddenLayersThatAreAboveThemAndNothingElse) {
    const Network network(12, {9, 5}, 3, Loss::cross_entropy);
    std::mt19937_64 engine(2);
    std::normal_distribution<double> normal;
    for (const double size : {0.02, 0.45, 30.0}) {
        std::vector<std::int64_t> before;
        for (std::size_t p = 0; p < network.parameters(); ++p)
            before.push_back(parameter_units(size * normal(engine)));
        std::vector<std::int64_t> after = before;
        limit_spectral_norms(network, 1.5, after);
        const PlainNetwork plain = plain_network(network, Precision::double_precision, after);
        for (std::size_t l = 0; l < 2; ++l) {
            const double norm = spectral_norm(plain.layers[l]).value();
            EXPECT_LE(norm, 1.5 * 1.01);
            if (size > 0.1) {
                EXPECT_GE(norm, 1.5) << "as estimated, and a little more";
            }
            const std::size_t first = network.offset(l), columns = network.layers()[l].in + 1;
            const double part = static_cast<double>(after[first]) / static_cast<double>(before[first]);
            EXPECT_EQ(part == 1, size < 0.1);
            for (std::size_t p = first; p < network.offset(l + 1); ++p) {
                const bool bias = (p - first) % columns == columns - 1;
                EXPECT_NEAR(static_cast<double>(after[p]), (bias ? 1 : part) * static_cast<double>(before[p]),
                            bias ? 0 : 1 + 1e-9 * std::abs(static_cast<double>(before[p])));
            }
        }
        for (std::size_t p = network.offset(2); p < before.size(); ++p) EXPECT_EQ(after[p], before[p]);
    }
    std::vector<std::int64_t> nothing(network.parameters());
    limit_spectral_norms(network, 1.5, nothing);
    EXPECT_EQ(nothing, std::vector<std::int64_t>(network.parameters()));
}

}  // namespace spectral_limit_test
}  // namespace holdfast
