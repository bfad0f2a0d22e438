#include <gtest/gtest.h>

#include <cmath>

#include "models/privacy/accountant/loss_distribution.hpp"
#include "models/privacy/accountant/sampled_loss.hpp"
#include "models/privacy/composition.hpp"
#include "tests/support/sampled_pair.hpp"

namespace holdfast {
namespace {

using testing_support::SampledPair;

constexpr LossGrid grid{6, 95};

Integer mass(const Rational& probability) {
    return ceil(probability * power_of_two(grid.mass_bits));
}

/// Randomised response of epsilon = index 2^-6: the loss is +-epsilon.
LossDistribution response(std::int64_t index) {
    const Rational odds = exp_upper(Rational(static_cast<long>(index)) / power_of_two(grid.loss_bits));
    LossDistribution loss{-index, std::vector<Integer>(static_cast<std::size_t>(2 * index) + 1), 0};
    loss.masses.front() = mass(1 / (1 + odds));
    loss.masses.back() = mass(odds / (1 + odds));
    return loss;
}

TEST(LossDistribution, OfRandomisedResponseComposesToItsOptimum) {
    for (const std::int64_t index : {1, 5, 32}) {
        for (const std::int64_t times : {1, 2, 3, 7, 100, 1000}) {
            for (const char* text : {"1e-9", "1e-5", "0.1"}) {
                const Rational delta = parse_rational(text, "delta");
                const auto found =
                    epsilon_of_loss(composed(response(index), times, grid, delta), grid, delta);
                ASSERT_TRUE(found.has_value());
                const Rational epsilon = Rational(static_cast<long>(index)) / power_of_two(grid.loss_bits);
                const Rational rounded = Rational(1) / power_of_two(40);
                EXPECT_GE(*found, optimal_composition(epsilon, times, delta) * (1 - rounded));
                // 2^-13 log2(times) delta may be spent on tails.
                const int doublings = static_cast<int>(std::ceil(std::log2(static_cast<double>(times))));
                const Rational kept = delta * (1 - Rational(doublings) / power_of_two(13) - rounded);
                EXPECT_LE(*found, optimal_composition(epsilon, times, kept) * (1 + rounded))
                    << index << " " << times << " " << text;
            }
        }
    }
}

TEST(LossDistribution, ProductsAreExactAndRoundedUp) {
    // (1/2 + 1/4 x + 3/8 x^2)^2, of which only multiples of 2^-3 are left.
    const LossGrid coarse{0, 3};
    const LossDistribution square = composed({-1, {4, 2, 3}, 0}, 2, coarse, 0);
    EXPECT_EQ(square.first, -2);
    EXPECT_EQ(square.masses, (std::vector<Integer>{2, 2, 4, 2, 2}));  // 16, 16, 28, 12, 9 in 64ths
    EXPECT_EQ(square.infinite, 0);
}

/// Four steps on two grids and on one: the former costs no less, and hardly more.
TEST(TwoGridLoss, CostsNoLessThanOneGridAndHardlyMore) {
    const Rational delta(1, 100000), rate(1, 64);
    const LossGrid fine{15, 63};  // losses to about 4, beyond TwoGridLoss::reach 2^-15 = 2
    const auto whole = sampled_losses(rate, 0.6, Relation::add_remove, fine, delta / 256);
    const auto parts = sampled_losses(rate, 0.6, Relation::add_remove, fine, delta / 256, 4);
    ASSERT_EQ(parts.size(), 2U);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        TwoGridLoss two = parts[i];
        EXPECT_FALSE(two.far.masses.empty());
        LossGrid grid_of_two = fine;
        for (int doubling = 0; doubling < 2; ++doubling) two = squared(two, grid_of_two, 0);
        for (; two.apart > 0; --grid_of_two.loss_bits) two = coarsen_near(two, grid_of_two);
        const double once = epsilon_of_loss(composed(whole[i], 4, fine, delta), fine, delta)->get_d(),
                     twice = epsilon_of_loss(two.near, grid_of_two, delta)->get_d();
        EXPECT_GE(twice, once * (1 - 1e-2));  // tails of `whole` are cut, too
        EXPECT_LE(twice, once * 1.01);
    }
}

TEST(LossDistribution, CoarserLossesCostNoLessAndHardlyMore) {
    const LossDistribution coarse = coarsened({-3, {8, 0, 8, 4}, 5}, {1, 4});
    EXPECT_EQ(coarse.first, -2);
    // Of 8 at -3/2 and at -1/2: 3.02 go down, 4.98 up. 4 at 0 stay.
    EXPECT_EQ(coarse.masses, (std::vector<Integer>{4, 5 + 4, 5 + 4}));
    EXPECT_EQ(coarse.infinite, 5);
    const LossGrid half{grid.loss_bits - 1, grid.mass_bits};
    for (const std::int64_t index : {1, 3, 4}) {
        const LossDistribution fine = composed(response(index), 16, grid, Rational(1, 1000));
        for (const Rational& delta : {Rational(1, 1000), Rational(1, 10)}) {
            const auto exact = epsilon_of_loss(composed(fine, 9, grid, delta), grid, delta);
            const auto found = epsilon_of_loss(composed(coarsened(fine, grid), 9, half, delta), half, delta);
            EXPECT_GE(*found, *exact);
            EXPECT_LE(*found, *exact * Rational(101, 100)) << index;
        }
    }
}

TEST(LossDistribution, InfinityStaysThere) {
    const LossGrid coarse{0, 4};
    const LossDistribution cube = composed({0, {14}, 2}, 3, coarse, 0);
    // 1 - (7/8)^3 = 0.330 of 16 is 5.28; each of two products is rounded up.
    EXPECT_EQ(cube.masses, (std::vector<Integer>{12}));
    EXPECT_EQ(cube.infinite, 6);
    EXPECT_FALSE(epsilon_of_loss(cube, coarse, Rational(1, 4)).has_value());
    EXPECT_EQ(*epsilon_of_loss(cube, coarse, Rational(15, 16)), 0);
}

TEST(LossDistribution, TailsAreCutToTheDearerSide) {
    // One mass in 2^-20: above all others it goes to infinity, below them to the least that stays.
    const LossGrid steps{0, 60};
    const Integer all = power_of_two(60), small = power_of_two(20);
    const LossDistribution cut = composed({0, {small, 0, 0, all, 0, 0, small}, 0}, 2, steps, 1);
    EXPECT_EQ(cut.first, 6);
    ASSERT_EQ(cut.masses.size(), 1U);
    EXPECT_GE(cut.masses[0] + cut.infinite, power_of_two(60));
    EXPECT_GE(cut.infinite, 2 * small);
}

TEST(LossDistribution, EpsilonLiesBetweenTheLossesWhereDeltaIsMet) {
    // delta(eps) = 1/4 (1 - e^(eps - 2)) + 1/4 (1 - e^(eps - 1)) on [0, 1]
    const LossGrid ones{0, 2};
    const LossDistribution loss{0, {2, 1, 1}, 0};
    const double at_half = (2 - std::exp(0.5 - 2) - std::exp(0.5 - 1)) / 4;
    const Rational found = *epsilon_of_loss(loss, ones, Rational(at_half));
    EXPECT_NEAR(found.get_d(), 0.5, 1e-14);
    const double above_one = (1 - std::exp(1.5 - 2)) / 4;
    EXPECT_NEAR(epsilon_of_loss(loss, ones, Rational(above_one))->get_d(), 1.5, 1e-14);
}

/// delta(epsilon) of a distribution of losses, straight from its definition.
double delta_of(const LossDistribution& loss, const LossGrid& units, double epsilon) {
    const double unit = std::ldexp(1, -static_cast<int>(units.loss_bits));
    const double weight = std::ldexp(1, -static_cast<int>(units.mass_bits));
    double delta = loss.infinite.get_d() * weight;
    for (std::size_t i = 0; i < loss.masses.size(); ++i) {
        const double at = (static_cast<double>(loss.first) + static_cast<double>(i)) * unit;
        if (at > epsilon) delta += loss.masses[i].get_d() * weight * -std::expm1(epsilon - at);
    }
    return delta;
}

TEST(SampledLosses, DominateTheTruePairAndAreNear) {
    const LossGrid units{12, 95};
    const Rational cut(1, 1000000000000);
    for (const char* text : {"1/1024", "1/2", "1023/1024"}) {
        for (const double sigma : {0.5, 6.0}) {
            for (const Relation relation : {Relation::add_remove, Relation::substitute}) {
                const bool substitute = relation == Relation::substitute;
                const Rational rate = parse_rational(text, "rate");
                const auto losses = sampled_losses(rate, sigma, relation, units, cut);
                ASSERT_EQ(losses.size(), substitute ? 1U : 2U);
                for (std::size_t i = 0; i < losses.size(); ++i) {
                    const SampledPair pair{rate.get_d(), sigma, substitute, i == 1};
                    for (const double epsilon : {0.0, 0.003, 0.1, 0.5, 1.0, 2.0}) {
                        const auto exact = static_cast<double>(pair.delta(epsilon));
                        const double found = delta_of(losses[i], units, epsilon);
                        EXPECT_GE(found, exact - 1e-15) << text << " " << sigma << " " << epsilon;
                        EXPECT_LE(found, exact * 1.002 + 1e-8) << text << " " << sigma << " " << epsilon;
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace holdfast
