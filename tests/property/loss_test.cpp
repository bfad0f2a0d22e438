// Losses as functions of their logits (kernels/ops/loss_rule.hpp): what each derivative is, that it keeps the
// order, and that no gradient is longer, none changes faster, than the constants of kernels/ops/loss.hpp say.

#include "kernels/ops/loss_rule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/ops/loss.hpp"

namespace holdfast {
namespace {

constexpr double error = 0x1p-39;  // of the computed gradient of a few logits, mostly of the grid of exp

template <typename Real>
std::vector<double> gradient(Loss loss, double target, const std::vector<Real>& logits) {
    std::vector<double> derivatives;
    for (std::size_t c = 0; c < logits.size(); ++c) {
        derivatives.push_back(
            loss_derivative(loss, logits.size(), c, target, logits.data(), logits.data(), 1));
    }
    return derivatives;
}

template <typename Real>
double derivative(Loss loss, double target, Real logit) {
    return gradient<Real>(loss, target, {logit}).front();
}

template <typename Real>
struct LossOf : testing::Test {};
using Reals = testing::Types<double, float>;
TYPED_TEST_SUITE(LossOf, Reals);

TYPED_TEST(LossOf, HuberHasItsPiecesAndNoOthers) {
    using Real = TypeParam;
    EXPECT_EQ(huber_width, 0.5);
    for (const Real margin : {Real{-1e30F}, Real{-1}, Real{0}, Real{0.5}})
        EXPECT_EQ(derivative(Loss::huber, 1, margin), -1);
    EXPECT_EQ(derivative(Loss::huber, 1, Real{0.75}), -0.75);
    EXPECT_EQ(derivative(Loss::huber, 1, Real{1}), -0.5);
    EXPECT_EQ(derivative(Loss::huber, 1, Real{1.25}), -0.25);
    for (const Real margin : {Real{1.5}, Real{2}, Real{1e30F}})
        EXPECT_EQ(derivative(Loss::huber, 1, margin), 0);
    std::mt19937_64 engine(3);
    std::uniform_real_distribution<Real> anywhere(-3, 3);
    for (int i = 0; i < 10000; ++i) {
        const Real z = anywhere(engine);
        ASSERT_EQ(derivative(Loss::huber, 0, z), -derivative(Loss::huber, 1, -z)) << z;
    }
}

TYPED_TEST(LossOf, OneLogitDoesNotFallBetweenNeighbours) {
    using Real = TypeParam;
    for (const LossInfo& info : losses()) {
        if (!info.one_logit) continue;
        for (const std::int32_t label : {0, 1}) {
            for (const Real start : {-1.5, -1.0, -0.5, -1e-30, 0.0, 1e-6, 0.5, 1.0, 1.5, 16.0}) {
                Real z = start;
                for (int i = 0; i < 200; ++i) z = std::nextafter(z, -std::numeric_limits<Real>::max());
                double before = -HUGE_VAL;
                for (int i = 0; i < 400; ++i) {
                    const double value = derivative(info.loss, label, z);
                    ASSERT_LE(before, value) << info.name << " " << std::hexfloat << z;
                    before = value;
                    z = std::nextafter(z, std::numeric_limits<Real>::max());
                }
            }
        }
    }
}

TYPED_TEST(LossOf, SquaredErrorIsDifferentiated) {
    using Real = TypeParam;
    EXPECT_EQ(derivative(Loss::squared_error, 0.25, Real{1}), 1.5);
    EXPECT_EQ(derivative(Loss::squared_error, -3, Real{-3}), 0);
    EXPECT_EQ(derivative(Loss::squared_error, 1, Real{0}), -2);
    std::mt19937_64 engine(6);
    std::normal_distribution<double> normal;
    for (int i = 0; i < 10000; ++i) {
        const double target = 10 * normal(engine), step = 0x1p-20;
        const auto z = static_cast<Real>(10 * normal(engine));
        const auto value = [&](double at) { return (at - target) * (at - target); };
        const double by_difference = (value(z + step) - value(z - step)) / (2 * step);
        ASSERT_NEAR(derivative(Loss::squared_error, target, z), by_difference, 1e-6);
    }
}

TYPED_TEST(LossOf, SquaredErrorFallsWithItsTargetAndStaysFinite) {
    using Real = TypeParam;
    const auto most = static_cast<double>(RealFormat<Real>::saturation);
    for (const double z : {-1e300, -1e30, -1.0, 0.0, 1e-30, 7.0, 1e30, 1e300}) {
        const auto logit = static_cast<Real>(std::clamp(z, -1e37, 1e37));
        double before = HUGE_VAL;
        for (const double target : {-1e300, -0x1p20, -1.0, -1e-30, 0.0, 1e-30, 1.0, 0x1p20, 1e300}) {
            const double value = derivative(Loss::squared_error, target, logit);
            ASSERT_LE(value, before) << logit << " " << target;
            ASSERT_LE(std::abs(value), most);
            ASSERT_TRUE(std::isfinite(static_cast<Real>(value)));
            before = value;
        }
    }
    EXPECT_EQ(derivative(Loss::squared_error, -1e300, Real{1}), most);
}

TYPED_TEST(LossOf, OneVersusRestIsALogisticLossOfEachLogit) {
    using Real = TypeParam;
    std::mt19937_64 engine(4);
    for (int i = 0; i < 3000; ++i) {
        std::normal_distribution<Real> normal(0, std::ldexp(Real{1}, i % 10));
        std::vector<Real> logits(2 + engine() % 5);
        for (Real& logit : logits) logit = normal(engine);
        const auto label = static_cast<std::int32_t>(engine() % logits.size());
        const std::vector<double> derivatives = gradient(Loss::one_vs_rest, label, logits);
        for (std::size_t c = 0; c < logits.size(); ++c) {
            const std::int32_t is_it = label == static_cast<std::int32_t>(c) ? 1 : 0;
            ASSERT_EQ(derivatives[c], derivative(Loss::binary_cross_entropy, is_it, logits[c]));
        }
    }
}

double length(const std::vector<double>& vector) {
    double square = 0;
    for (const double value : vector) square += value * value;
    return std::sqrt(square);
}

std::vector<double> minus(std::vector<double> left, const std::vector<double>& right) {
    for (std::size_t i = 0; i < left.size(); ++i) left[i] -= right[i];
    return left;
}

/// Of two points of `logits` logits: how long a gradient is, and how fast it changes from one to the other.
struct Seen {
    double slope = 0, curvature = 0;
};

Seen greatest_seen(const LossInfo& info, std::size_t logits, std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    Seen seen;
    for (int i = 0; i < 20000; ++i) {
        std::vector<double> point(logits), other;
        for (double& logit : point) logit = normal(engine) * std::ldexp(1.0, i % 8 - 3);
        if (i % 4 == 1) point[0] = (i % 8 == 1 ? 1 : -1) + 1e-3 * normal(engine);  // where hinges bend
        if (logits > 1 && i % 4 == 0) point[1] = point[0] + 0.01 * normal(engine);
        other = point;
        for (double& logit : other) logit += 1e-3 * normal(engine);
        if (logits > 1 && i % 4 == 0) other[1] = point[1] - (other[0] - point[0]);
        const auto label = static_cast<std::int32_t>(engine() % std::max<std::size_t>(logits, 2));
        const std::vector<double> first = gradient(info.loss, label, point);
        seen.slope = std::max(seen.slope, length(first));
        const double change = length(minus(gradient(info.loss, label, other), first));
        seen.curvature = std::max(seen.curvature, (change - 2 * error) / length(minus(other, point)));
    }
    return seen;
}

TEST(LossConstants, BoundEveryGradientAndAreReached) {
    for (const LossInfo& info : losses()) {
        for (const std::size_t logits : {std::size_t{1}, std::size_t{2}, std::size_t{5}}) {
            if (info.separate != (logits == 1)) continue;
            const Seen seen = greatest_seen(info, logits, logits);
            EXPECT_LE(seen.slope, info.slope + (info.separate ? 0 : error)) << info.name;
            EXPECT_GT(seen.slope, std::min(0.99 * info.slope, 50.0)) << info.name;
            if (!info.curvature) {
                EXPECT_GT(seen.curvature, 100) << info.name;
                continue;
            }
            EXPECT_LE(seen.curvature, *info.curvature) << info.name;
            EXPECT_GT(seen.curvature, (logits < 3 ? 0.95 : 0.5) * *info.curvature) << info.name;
        }
    }
    EXPECT_GE(info_of(Loss::cross_entropy).slope * info_of(Loss::cross_entropy).slope, 2.0);
}

TEST(LossConstants, SeparateLossesDoNotSeeOtherLogits) {
    std::mt19937_64 engine(5);
    std::normal_distribution<double> normal;
    for (const LossInfo& info : losses()) {
        bool others_count = false;
        for (int i = 0; i < 100; ++i) {
            std::vector<double> one{normal(engine), normal(engine), normal(engine)}, other = one;
            other[1] = normal(engine);
            others_count |= gradient(info.loss, 0, one).front() != gradient(info.loss, 0, other).front();
        }
        EXPECT_EQ(info.separate, !others_count) << info.name;
    }
}

}  // namespace
}  // namespace holdfast
