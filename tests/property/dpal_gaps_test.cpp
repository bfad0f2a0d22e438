// What is false in published ways to train privately and against adversaries, each by its smallest case,
// which what this program does in their place does not have
// (models/privacy/mathematics.md, published adversarial training)

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "models/noisy/noisy_claim.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/noise/laplace_noise.hpp"
#include "tests/support/dpal_plan.hpp"
#include "tests/support/privacy_tester.hpp"
#include "tests/support/quiet_communicator.hpp"
#include "tests/support/secret_keys.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast::dpal_gaps_test {
namespace {

const double log_level = std::log(1e-12);
constexpr int draws = 2000;

using Rows = std::vector<std::vector<double>>;

// Three features and three units, as the gradient goes through h too ((1/2 - x) h^T and x (1/2 - x)^T theta).
const Rows equal{{0.4, -0.2, 0.7}, {0.4, -0.2, 0.7}}, unequal{{0.4, -0.2, 0.7}, {-0.9, 0.8, -0.1}};

double determinant(const Rows& m) {
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/// The least of what is left of a rank of 3: the determinant over the cube of the length.
double rank_left(const Rows& m) {
    double squares = 0;
    for (const auto& row : m)
        for (const double entry : row) squares += entry * entry;
    return std::abs(determinant(m)) / std::pow(squares, 1.5);
}

/// theta_1's gradient in one step of the kind itself, of the draw that the seed gives; e1 = 1.
Rows published_gradient(const Rows& records, std::int64_t seed) {
    Settings settings = test::dpal_settings({3}, static_cast<std::int64_t>(records.size()));
    settings.training.seed = seed;
    const test::DpalWorld world(settings,
                                test::dpal_records(records, std::vector<std::int32_t>(records.size(), 0)));
    std::vector<std::uint32_t> rows(records.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint32_t>(i);
    const std::vector<double> sums = world.start().sums_of(rows, {}).reconstruction;
    Rows gradient;
    for (std::size_t o = 0; o < 3; ++o) gradient.push_back({sums[4 * o], sums[4 * o + 1], sums[4 * o + 2]});
    return gradient;
}

constexpr double nothing = 1e-13;

TEST(DpalGaps, OneNoiseForAllRecordsLeavesTheRankOfTheirSpread) {
    std::vector<double> of_equal(2, 0), of_unequal(2, 0);
    for (int i = 0; i < draws; ++i) {
        ++of_equal[rank_left(published_gradient(equal, i)) < nothing];
        ++of_unequal[rank_left(published_gradient(unequal, i)) < nothing];
    }
    EXPECT_EQ(of_equal[1], draws);  // always
    EXPECT_EQ(of_unequal[0], draws);
    EXPECT_TRUE(test::shows_violation(of_equal, of_unequal, draws, 1, 0.9, log_level));
}

/// What one step of noisy training on adversarial copies does to the first layer.
Rows noisy_step(const Rows& records, char key) {
    Settings settings = test::dpal_settings({3}, static_cast<std::int64_t>(records.size()));
    settings.training.kind = "noisy";
    settings.training.batches = 1;
    settings.training.expected_records = static_cast<std::int64_t>(records.size());
    settings.training.epochs = 1;
    settings.clip = {.kind = Clip::Kind::norm, .norm_limit = 1};
    settings.certificate.relation = Relation::substitute;
    settings.noise.epsilon = 1;
    settings.robust.attack = "fgsm";
    settings.robust.input_radius = 0.1;
    const TrainingPlan plan = make_plan(settled_for_noise(settings),
                                        {.features = 3, .range = {-1, 1}, .found = 2}, make_backend("cpu"));
    const Records none = test::dpal_records(records, {0, 0}).none();
    const NoisySecrets secrets(test::known_key(key));
    const NoisyState start = NoisyTrainer::fresh_state(plan);
    NoisyTrainer trainer(plan, test::dpal_records(records, {0, 0}), none, secrets, start);
    QuietCommunicator alone;
    PhaseTimes times;
    trainer.step(alone, times);
    Rows moved;
    for (std::size_t o = 0; o < 3; ++o) {
        moved.emplace_back();
        for (std::size_t p = 4 * o; p < 4 * o + 3; ++p)
            moved.back().push_back(parameter_value(trainer.state().parameters[p] - start.parameters[p]));
    }
    return moved;
}

TEST(DpalGaps, NoiseOnEveryEntryHidesIt) {
    constexpr int keys = 120;
    // By the rank, and by where the first entry and the determinant are: no more than is claimed.
    std::vector<double> of_equal(5, 0), of_unequal(5, 0);
    const auto count = [&](const Rows& records, int key, std::vector<double>& counts) {
        const Rows moved = noisy_step(records, static_cast<char>(key));
        EXPECT_GT(rank_left(moved), 1e-9);  // of equal records, too
        ++counts[rank_left(moved) < nothing];
        ++counts[2 + (moved[0][0] > 0) + (determinant(moved) > 0)];
    };
    for (int i = 0; i < keys; ++i) {
        count(equal, i, of_equal);
        count(unequal, i, of_unequal);
    }
    EXPECT_FALSE(test::shows_violation(of_equal, of_unequal, keys, 1, 1e-5, log_level));
    EXPECT_EQ(of_equal[1] + of_unequal[1], 0);
}

/// The objective's gradient by the weights of two classes, W = 0, of five equal records with these labels.
std::array<double, 2> published_coefficients(const std::vector<std::int32_t>& labels, std::int64_t seed) {
    Settings settings = test::dpal_settings({1}, 5);
    settings.training.seed = seed;
    settings.dpal.weight = 0;
    test::DpalWorld world(settings, test::dpal_records(Rows(5, {1}), labels));
    NoisyState state = DpalTrainer::fresh_state(world.plan);
    state.parameters = {parameter_units(100), 0, 0, 0, 0, 0};  // h = 100 (1 + chi_1/5) + 2 chi_2/5, often > 0
    const std::vector<std::uint32_t> rows{0, 1, 2, 3, 4};
    const std::vector<std::int64_t> sums = world.start(std::move(state)).sums_of(rows, {}).gradient;
    return {static_cast<double>(sums[2]), static_cast<double>(sums[4])};
}

TEST(DpalGaps, OneNoiseForAllClassesCountsTheLabels) {
    std::vector<double> of_one(3, 0), of_other(3, 0);
    for (int i = 0; i < draws; ++i) {
        const auto one = published_coefficients({0, 0, 0, 1, 1}, i),
                   other = published_coefficients({1, 1, 1, 0, 0}, i);
        const auto sign = [](const auto& of) { return of[0] < of[1] ? 0 : of[0] > of[1] ? 1 : 2; };
        ++of_one[sign(one)];
        ++of_other[sign(other)];
        EXPECT_NEAR(one[0] - one[1], other[1] - other[0], 2);  // units of the grid: no noise is in it
    }
    EXPECT_EQ(of_one[1] + of_other[0], 0);  // the class with more labels, whenever it tells at all
    EXPECT_GT(of_one[0], 0.7 * draws);
    EXPECT_TRUE(test::shows_violation(of_one, of_other, draws, 1, 0.6, log_level));
    // A noise each: their difference says little.
    test::SeededBits bits(4);
    const LaplaceNoise each(std::int64_t{2} << 30);  // a label replaced moves two counts by 1
    of_one.assign(2, 0);
    of_other.assign(2, 0);
    for (int i = 0; i < 20 * draws; ++i) {
        const std::int64_t difference = each.draw(bits) - each.draw(bits), step = std::int64_t{1} << 30;
        ++of_one[difference + step > 0];
        ++of_other[difference - step > 0];
    }
    EXPECT_FALSE(test::shows_violation(of_one, of_other, 20 * draws, 1, 0, log_level));
    EXPECT_TRUE(test::shows_violation(of_one, of_other, 20 * draws, 0.1, 0, log_level));  // the test sees it
}

TEST(DpalGaps, NoiseDrawnOnceForAllStepsCancelsBetweenThem) {
    const std::uint64_t ids[] = {10, 13};
    for (int i = 0; i < draws; ++i) {
        Settings settings = test::dpal_settings({1}, 1);
        settings.training.seed = i;
        const test::DpalWorld world(settings, test::dpal_records({{0.25}, {-0.5}}, {0, 1}));
        const DpalTrainer trainer = world.start();
        const double first = 0.25 + trainer.noise().of_training({}, 0, ids, 1).input[0],
                     second = -0.5 + trainer.noise().of_training({}, 1, ids + 1, 1).input[0];
        EXPECT_NEAR(first - second, 0.75, 1e-9);  // what two steps have read
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

double true_loss(double z, double y) {
    return std::log1p(std::exp(-std::abs(z))) + std::max(z, 0.0) - y * z;
}

TEST(DpalGaps, ThePrintedLossOfAClassPushesItToEitherSide) {
    EXPECT_NEAR(taylor_loss(2, 1, false), 0.193, 5e-4);
    EXPECT_NEAR(taylor_loss(-2, 1, false), 0.193, 5e-4);
    EXPECT_NEAR(true_loss(2, 1), 0.127, 5e-4);
    EXPECT_NEAR(true_loss(-2, 1), 2.127, 5e-4);
    for (double z = -2; z <= 2; z += 0.125) {
        EXPECT_NEAR(taylor_loss(z, 1, false), taylor_loss(-z, 1, false), 1e-12);
        for (const double y : {0.0, 1.0})
            EXPECT_LE(std::abs(taylor_loss(z, y, true) - true_loss(z, y)), z * z * z * z / 192 + 1e-12);
    }
    EXPECT_GT(taylor_loss(0, 1, false), taylor_loss(-1, 1, false));  // away from its own class
    EXPECT_LT(taylor_loss(0, 1, true), taylor_loss(-1, 1, true));
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
    const std::vector<std::int64_t> theta{parameter_units(1),
                                          0};  // and as the kind adds them, its h with 2 chi
    EXPECT_NEAR(dpal_size(e_r, 1, 1, {1, 1}, {1, 1}, theta.data()), kappa + 2 * phi, 1e-12);
    const auto wins = [&](double shift) { return upper_tail(s + shift) > upper_tail(t - shift); };
    EXPECT_TRUE(wins(0.6));
    EXPECT_FALSE(wins(0.62));
    EXPECT_GT(kappa + phi, 0.62);
    for (double shift = 0; shift <= std::max(kappa, phi); shift += 1e-3) EXPECT_TRUE(wins(shift)) << shift;
}

TEST(DpalGaps, DrawsOfASmallerScaleCertifyTimesTooFar) {
    // One feature, two classes, the boundary at 0: Laplace noise of scale b/psi, read as of scale b = 1.
    for (const double psi : {2.0, 10.0}) {
        Settings settings = test::dpal_settings({400}, 1);
        settings.dpal.psi = psi;
        const test::DpalWorld world(settings, test::dpal_records({{0}}, {0}));
        const DpalTrainer trainer = world.start();
        const LayerNoise draw = trainer.noise().of_answer({}, 0);
        double mean = 0;  // of what the kind draws, in units of what its sizes assume, e1 = m = 1
        for (std::size_t i = 0; i < 400; ++i)
            mean += std::abs(draw.hidden[i] - trainer.noise().fixed().hidden[i]) / 400;
        EXPECT_NEAR(mean / (2 * trainer.noise().sensitivity()) * psi, 1, 0.2);
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
    // sqrt(beta) times the largest row's 1-norm, rows of theta^T or of theta: the kind takes the latter.
    EXPECT_LT(std::sqrt(4) * 1, moved_at_most({{1, 1, 1, 1}}));  // 2 against 4
    const std::vector<std::int64_t> ones{parameter_units(1), parameter_units(1), 0};
    const double as_published = 2 / dpal_size(1, 1, INFINITY, {2, 1}, {2, 1}, ones.data());
    EXPECT_NEAR(as_published, 1, 1e-12);
    EXPECT_LT(as_published, moved_at_most({{1}, {1}}));  // 1 against 2
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
