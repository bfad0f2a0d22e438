// What is false in published ways to train privately and against adversaries, each by its smallest case,
// which what this program does in their place does not have
// (models/privacy/mathematics.md, published adversarial training)

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/noise/laplace_noise.hpp"
#include "tests/support/privacy_tester.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast::dpal_gaps_test {
namespace {

const double log_level = std::log(1e-12);
constexpr int draws = 2000;

using Pair = std::array<double, 2>;
using Matrix = std::array<Pair, 2>;

/// As published drawn in floating point: its laws are the point here, not its last bits.
class Noise {
  public:
    explicit Noise(std::uint64_t seed) : bits_(seed) {}
    double draw(double scale) {
        const double u = std::uniform_real_distribution<double>(-0.5, 0.5)(bits_);
        return u < 0 ? scale * std::log1p(2 * u) : -scale * std::log1p(-2 * u);
    }
    Pair pair(double scale) { return {draw(scale), draw(scale)}; }

  private:
    std::mt19937_64 bits_;
};

double determinant(const Matrix& m) {
    return m[0][0] * m[1][1] - m[0][1] * m[1][0];
}

/// What one record adds to the gradient of the objective by theta, (1/2 - x) h^T.
void add_gradient(const Pair& x, const Pair& h, Matrix& sum) {
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 2; ++j) sum[i][j] += (0.5 - x[i]) * h[j];
}

constexpr Matrix theta{{{0.7, -0.3}, {0.2, 0.5}}};  // at the start: its seed is public

Pair hidden(const Pair& x) {
    Pair h{};
    for (std::size_t j = 0; j < 2; ++j)
        for (std::size_t i = 0; i < 2; ++i) h[j] += theta[i][j] * x[i];
    return h;
}

/// One step of two records, one noise for both, drawn once: d = beta = m = 2, e1 = 1.
Matrix published_gradient(const std::array<Pair, 2>& records, Noise& noise) {
    constexpr double sensitivity = 2 * (2 + 2), m = 2;
    const Pair chi1 = noise.pair(sensitivity), chi2 = noise.pair(sensitivity);
    Matrix sum{};
    for (Pair x : records) {
        for (std::size_t i = 0; i < 2; ++i) x[i] += chi1[i] / m;
        Pair h = hidden(x);
        for (std::size_t j = 0; j < 2; ++j) h[j] += 2 * chi2[j] / m;
        add_gradient(x, h, sum);
    }
    return sum;
}

/// The same sum with noise on every entry, of exactly its law, for what one of two records may change: each
/// vector is shortened to a 1-norm of 1, so two of them are 2 apart.
Matrix corrected_gradient(const std::array<Pair, 2>& records, const LaplaceNoise& noise, RandomBits& bits) {
    constexpr double unit = 0x1p-30;
    Matrix sum{};
    for (const Pair& x : records) {
        Matrix own{};
        add_gradient(x, hidden(x), own);
        double norm = 0;
        for (const Pair& row : own) norm += std::abs(row[0]) + std::abs(row[1]);
        for (std::size_t i = 0; i < 2; ++i)
            for (std::size_t j = 0; j < 2; ++j)
                sum[i][j] += std::trunc(own[i][j] / std::max(1.0, norm) / unit) * unit;
    }
    for (Pair& row : sum)
        for (double& entry : row) entry += static_cast<double>(noise.draw(bits)) * unit;
    return sum;
}

constexpr std::array<Pair, 2> equal{{{0.4, -0.2}, {0.4, -0.2}}}, unequal{{{0.4, -0.2}, {-0.9, 0.8}}};
constexpr double nothing = 1e-7;  // a determinant below it has no rank 2

TEST(DpalGaps, OneNoiseForAllRecordsLeavesTheRankOfTheirSpread) {
    Noise noise(1);
    std::vector<double> of_equal(2, 0), of_unequal(2, 0);
    for (int i = 0; i < draws; ++i) {
        ++of_equal[std::abs(determinant(published_gradient(equal, noise))) < nothing];
        ++of_unequal[std::abs(determinant(published_gradient(unequal, noise))) < nothing];
    }
    EXPECT_EQ(of_equal[1], draws);  // always
    EXPECT_EQ(of_unequal[0], draws);
    EXPECT_TRUE(test::shows_violation(of_equal, of_unequal, draws, 1, 0.9, log_level));
}

TEST(DpalGaps, NoiseOnEveryEntryHidesIt) {
    constexpr double epsilon = 1;
    const LaplaceNoise noise(static_cast<std::int64_t>(2 / epsilon * 0x1p30));
    test::SeededBits bits(2);
    // By the rank, and by the very entries: which quarter of the line each is in.
    std::vector<double> of_equal(18, 0), of_unequal(18, 0);
    const auto count = [&](const std::array<Pair, 2>& records, std::vector<double>& counts) {
        const Matrix sum = corrected_gradient(records, noise, bits);
        ++counts[std::abs(determinant(sum)) < nothing];
        std::size_t cell = 0;
        for (const Pair& row : sum)
            for (const double entry : row) cell = 2 * cell + (entry > 0);
        ++counts[2 + cell];
    };
    for (int i = 0; i < 20 * draws; ++i) {
        count(equal, of_equal);
        count(unequal, of_unequal);
    }
    EXPECT_FALSE(test::shows_violation(of_equal, of_unequal, 20 * draws, epsilon, 0, log_level));
}

/// The coefficients of the classes' weights, after the labels of m = 5 records with h = 1.
Pair published_counts(const Pair& labels, Noise& noise) {
    const double chi3 = noise.draw(2);  // 2 |h_pi|/e2, one for both classes
    return {labels[0] + chi3, labels[1] + chi3};
}

TEST(DpalGaps, OneNoiseForAllClassesCountsTheLabels) {
    Noise noise(3);
    for (int i = 0; i < draws; ++i) {
        const Pair one = published_counts({3, 2}, noise), other = published_counts({2, 3}, noise);
        EXPECT_NEAR(one[0] - one[1], 1, 1e-9);
        EXPECT_NEAR(other[0] - other[1], -1, 1e-9);
    }
    // A noise each: their difference says little.
    test::SeededBits bits(4);
    const LaplaceNoise each(std::int64_t{2} << 30);  // a label replaced moves two counts by 1
    std::vector<double> of_one(2, 0), of_other(2, 0);
    for (int i = 0; i < 20 * draws; ++i) {
        const std::int64_t difference = each.draw(bits) - each.draw(bits), step = std::int64_t{1} << 30;
        ++of_one[difference + step > 0];
        ++of_other[difference - step > 0];
    }
    EXPECT_FALSE(test::shows_violation(of_one, of_other, 20 * draws, 1, 0, log_level));
    EXPECT_TRUE(test::shows_violation(of_one, of_other, 20 * draws, 0.1, 0, log_level));  // the test sees it
}

TEST(DpalGaps, NoiseDrawnOnceForAllStepsCancelsBetweenThem) {
    Noise noise(5);
    for (int i = 0; i < draws; ++i) {
        const double chi = noise.draw(3);
        const double of_first_batch = 0.25 + chi, of_second_batch = -0.5 + chi;  // a record each, d = 1
        EXPECT_NEAR(of_first_batch - of_second_batch, 0.75, 1e-9);
    }
    test::SeededBits bits(6);
    const LaplaceNoise fresh(std::int64_t{1} << 30);
    int cancelled = 0;
    for (int i = 0; i < draws; ++i) cancelled += fresh.draw(bits) == fresh.draw(bits);
    EXPECT_EQ(cancelled, 0);
}

TEST(DpalGaps, ALipschitzConstantIsNoSensitivity) {
    // h = sum of x, d = 3: |h(x) - h(x')| <= 1 |x - x'|_1, and a record is anywhere in [-1, 1]^3.
    constexpr double d = 3, lipschitz = 1, epsilon = 0.5;
    constexpr double moved = 2 * d, scale = lipschitz / epsilon;  // as published
    EXPECT_NEAR(moved / scale, 2 * d * epsilon, 1e-12);           // what Laplace noise of it costs
    EXPECT_GT(moved / scale, epsilon);
    EXPECT_LE(moved / (moved / epsilon), epsilon);  // corrected: scaled to what a record moves
}

/// The loss of one logit less its constant, as printed and as Taylor has it, log 2 - z/2 + z^2/8 for y = 1.
double published_loss(double z, double y) {
    return std::log(2) + z - std::abs(z) / 2 + z * z / 8 - y * z;
}
double corrected_loss(double z, double y) {
    return std::log(2) + z / 2 + z * z / 8 - y * z;
}
double true_loss(double z, double y) {
    return std::log1p(std::exp(-std::abs(z))) + std::max(z, 0.0) - y * z;
}

TEST(DpalGaps, ThePrintedLossOfAClassPushesItToEitherSide) {
    EXPECT_NEAR(published_loss(2, 1), 0.193, 5e-4);
    EXPECT_NEAR(published_loss(-2, 1), 0.193, 5e-4);
    EXPECT_NEAR(true_loss(2, 1), 0.127, 5e-4);
    EXPECT_NEAR(true_loss(-2, 1), 2.127, 5e-4);
    for (double z = -2; z <= 2; z += 0.125) {
        EXPECT_NEAR(published_loss(z, 1), published_loss(-z, 1), 1e-12);
        for (const double y : {0.0, 1.0})
            EXPECT_LE(std::abs(corrected_loss(z, y) - true_loss(z, y)), z * z * z * z / 192 + 1e-12);
    }
    EXPECT_GT(published_loss(0, 1), published_loss(-1, 1));  // away from its own class
    EXPECT_LT(corrected_loss(0, 1), corrected_loss(-1, 1));
}

/// P(sum of two Laplace(1) >= t), t >= 0.
double upper_tail(double t) {
    return (t + 2) * std::exp(-t) / 4;
}

TEST(DpalGaps, TheSizeOfACascadeIsTheGreaterAndNotTheSum) {
    // d = beta = 1, theta = 1: k below -3.99, i above 5.21, the middle shared by 98 others in slices.
    constexpr double s = 3.99, t = 5.21;
    const double of_k = upper_tail(s), of_i = upper_tail(t), of_others = (1 - of_k - of_i) / 98;
    EXPECT_NEAR(of_k, 0.0277, 5e-5);
    EXPECT_NEAR(of_i, 0.00984, 1e-5);
    EXPECT_LT(of_others, of_i);
    const double e_r = std::log(of_k / of_i) / 2, kappa = e_r, phi = e_r;
    EXPECT_NEAR(kappa + phi, 1.035, 1e-3);  // as published
    const auto wins = [&](double shift) { return upper_tail(s + shift) > upper_tail(t - shift); };
    EXPECT_TRUE(wins(0.6));
    EXPECT_FALSE(wins(0.62));
    EXPECT_GT(kappa + phi, 0.62);
    for (double shift = 0; shift <= std::max(kappa, phi); shift += 1e-3) EXPECT_TRUE(wins(shift)) << shift;
}

TEST(DpalGaps, DrawsOfASmallerScaleCertifyTimesTooFar) {
    // One feature, two classes, the boundary at 0: Laplace noise of scale b/psi, read as of scale b = 1.
    for (const double psi : {2.0, 10.0}) {
        const double x = 3, p = 1 - std::exp(-x * psi) / 2;
        const auto size = [&](double scale) { return scale * std::log(p / (1 - p)) / 2; };
        EXPECT_NEAR(size(1) / size(1 / psi), psi, 1e-9);
        EXPECT_LE(size(1 / psi), x);  // at x the label changes
    }
    const double x = 3, p = 1 - std::exp(-x * 10) / 2;
    EXPECT_GT(std::log(p / (1 - p)) / 2, x);  // the radius of CIFAR-10's psi is beyond the boundary
}

/// The greatest 1-norm of theta^T dx over |dx|_inf <= 1, by all corners. theta [d][beta]
double moved_at_most(const std::vector<std::vector<double>>& weights) {
    double most = 0;
    for (std::size_t corner = 0; corner < std::size_t{1} << weights.size(); ++corner) {
        double norm = 0;
        for (std::size_t j = 0; j < weights[0].size(); ++j) {
            double h = 0;
            for (std::size_t i = 0; i < weights.size(); ++i)
                h += (corner >> i & 1) != 0 ? weights[i][j] : -weights[i][j];
            norm += std::abs(h);
        }
        most = std::max(most, norm);
    }
    return most;
}

TEST(DpalGaps, TheSensitivityOfTheHiddenLayerIsOfAnotherNorm) {
    // sqrt(beta) times the largest row's 1-norm, rows of theta^T or of theta.
    EXPECT_LT(std::sqrt(4) * 1, moved_at_most({{1, 1, 1, 1}}));  // 2 against 4
    EXPECT_LT(std::sqrt(1) * 1, moved_at_most({{1}, {1}}));      // 1 against 2
    const auto sum_of_entries = [](const std::vector<std::vector<double>>& weights) {
        double sum = 0;
        for (const auto& row : weights)
            for (const double weight : row) sum += std::abs(weight);
        return sum;
    };
    for (const std::vector<std::vector<double>>& weights : {std::vector<std::vector<double>>{{1, 1, 1, 1}},
                                                            {{1}, {1}},
                                                            {{0.3, -2}, {1, 0.5}},
                                                            {{-1, 1}, {1, 1}}})
        EXPECT_LE(moved_at_most(weights), sum_of_entries(weights));  // corrected
}

double phi(double x) {
    return std::erfc(-x / std::sqrt(2)) / 2;
}

/// Of neighbours mu deviations apart.
double delta_at(double mu, double epsilon) {
    return phi(mu / 2 - epsilon / mu) - std::exp(epsilon) * phi(-mu / 2 - epsilon / mu);
}

TEST(SecureSgdGaps, RedistributedNoiseIsLessWhereTheRecordMoves) {
    constexpr double epsilon = 1, delta = 1e-5;
    const double s = std::log(std::sqrt(2 / std::acos(-1.0)) / delta),
                 sigma = std::sqrt(2) / (2 * epsilon) * (std::sqrt(s) + std::sqrt(s + epsilon));
    EXPECT_LT(delta_at(1 / sigma, epsilon), delta);  // before it is redistributed
    const std::array<std::array<double, 2>, 3> cases{{{0.25, 3.6e-5}, {0.05, 0.028}, {0.01, 0.30}}};
    for (const auto& [share, broken] : cases) {  // of two coordinates; the record moves the first by 1
        const double mu = 1 / (sigma * std::sqrt(2 * share)), there = delta_at(mu, epsilon);
        EXPECT_NEAR(there, broken, 0.03 * broken);
        EXPECT_GT(there, delta);
        EXPECT_NEAR(there, gaussian_delta(Rational(mu), Rational(epsilon)).get_d(), 1e-9);
        // Corrected: as much more noise as the sum of D_i^2/(K r_i) is above D^2.
        EXPECT_LE(delta_at(mu * std::sqrt(2 * share), epsilon), delta);
    }
}

TEST(PixelDpGaps, TheRadiusByPrivacyIsTrueAndShort) {
    // Two classes, exact expectations: the greatest L/sigma with p > e^(2e) (1 - p) + (1 + e^e) delta.
    const std::array<std::array<double, 3>, 3> cases{
        {{0.9, 0.390, 1.282}, {0.99, 0.555, 2.326}, {0.999, 0.569, 3.090}}};
    for (const auto& [p, published, cohen] : cases) {
        double best = 0;
        for (double e = 0.01; e <= 1; e += 0.005) {
            const double delta = (p - std::exp(2 * e) * (1 - p)) / (1 + std::exp(e));
            if (delta > 0) best = std::max(best, e / std::sqrt(2 * std::log(1.25 / std::min(delta, 0.999))));
        }
        EXPECT_NEAR(best, published, 0.004);
        EXPECT_LE(best, cohen);
        EXPECT_NEAR(phi(cohen), p, 1e-3);
    }
}

}  // namespace
}  // namespace holdfast::dpal_gaps_test
