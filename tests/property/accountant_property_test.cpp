// Tries to find neighbours that lose more than the accountants say.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "models/privacy/accountant/gaussian_steps.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/sampled_pair.hpp"

namespace holdfast {
namespace {

using testing_support::SampledPair;

TEST(AccountantProperty, TwoStepsLoseNoMoreThanTheyCostAndHardlyLess) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(0, 1);
    for (std::uint64_t i = 0; i < cases_of(4); ++i) {
        const bool substitute = i % 2 == 1;
        const double rate = std::round(1024 * std::pow(uniform(random), 3) + 1) / 1026;
        const double sigma = 0.6 * std::pow(10, uniform(random)),
                     delta = std::pow(10, -3 - 5 * uniform(random));
        SCOPED_TRACE(std::to_string(rate) + " " + std::to_string(sigma) + " " + std::to_string(delta));
        const Relation relation = substitute ? Relation::substitute : Relation::add_remove;
        const double epsilon = cost_of({Rational(rate), sigma, 2, relation}, Rational(delta)).epsilon.get_d();
        const SampledPair own{rate, sigma, substitute, false}, swapped{rate, sigma, substitute, true};
        const auto worst = [&](double at) {
            return static_cast<double>(std::max(own.delta_of_two(at), swapped.delta_of_two(at)));
        };
        EXPECT_LE(worst(epsilon), delta * (1 + 1e-12));
        EXPECT_GT(worst(epsilon * 0.999), delta);
    }
}

/// The greatest P(E) - growth Q(E) in the plane, P and Q mixed with vectors u and v, by a sum over squares.
double plane_delta(const SampledPair& pair, double growth, const double (&u)[2], const double (&v)[2]) {
    constexpr int points = 400;
    const auto sigma = static_cast<double>(pair.sigma), rate = static_cast<double>(pair.rate);
    const double side = 16 * sigma + 2;
    const auto density = [&](double x, double y, const double(&mean)[2]) {
        return std::exp(-((x - mean[0]) * (x - mean[0]) + (y - mean[1]) * (y - mean[1])) /
                        (2 * sigma * sigma)) /
               (2 * M_PI * sigma * sigma);
    };
    double sum = 0;
    for (int i = 0; i < points; ++i) {
        for (int j = 0; j < points; ++j) {
            const double x = side * (i + 0.5) / points - side / 2, y = side * (j + 0.5) / points - side / 2;
            const double none = (1 - rate) * density(x, y, {0, 0});
            sum += std::max(0.0, none + rate * density(x, y, u) - growth * (none + rate * density(x, y, v)));
        }
    }
    return sum * side * side / (points * points);
}

TEST(AccountantProperty, NoTwoRecordsAreTheFurtherApartInTheirSampledStepThanOppositeOnes) {
    std::mt19937_64 random(2);
    std::uniform_real_distribution<double> uniform(0, 1);
    for (int i = 0; i < 60; ++i) {
        const double sigma = 0.5 + 2 * uniform(random), rate = uniform(random);
        const double growth = std::exp(2 * uniform(random) - 1);
        const auto vector = [&](double(&into)[2]) {
            const double angle = 2 * M_PI * uniform(random), length = std::sqrt(uniform(random));
            into[0] = length * std::cos(angle);
            into[1] = length * std::sin(angle);
        };
        double u[2], v[2];
        vector(u);
        vector(v);
        const SampledPair pair{rate, sigma, true};
        const auto greatest = static_cast<double>(pair.delta(std::log(growth)));
        EXPECT_LE(plane_delta(pair, growth, u, v), greatest + 1e-5) << rate << " " << sigma << " " << growth;
        EXPECT_NEAR(plane_delta(pair, growth, {0.6, 0.8}, {-0.6, -0.8}), greatest, 1e-4);
    }
}

TEST(AccountantProperty, ANoiseMultiplierHoldsAndALittleLessDoesNot) {
    struct Case {
        const char *epsilon, *rate;
        std::int64_t steps;
        Relation relation;
    };
    const Rational delta(1, 100000);
    for (const Case& one :
         {Case{"1", "1/8", 20, Relation::add_remove}, Case{"3", "1/8", 8, Relation::substitute},
          Case{"0.001", "1/64", 3, Relation::add_remove}, Case{"2", "1/64", 2000, Relation::add_remove}}) {
        const Rational epsilon = parse_rational(one.epsilon, "epsilon"),
                       rate = parse_rational(one.rate, "rate");
        const double multiplier = noise_multiplier_for(epsilon, delta, rate, one.steps, one.relation);
        EXPECT_LE(cost_of({rate, multiplier, one.steps, one.relation}, delta).epsilon, epsilon);
        EXPECT_GT(cost_of({rate, multiplier * 0.9997, one.steps, one.relation}, delta).epsilon, epsilon)
            << one.epsilon << " " << one.rate << " " << one.steps;
        EXPECT_LE(decimal_text(Rational(multiplier)).size(), 7U) << "a decimal of 5 digits";
    }
}

}  // namespace
}  // namespace holdfast
