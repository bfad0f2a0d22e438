// A bounded run of tools/attack: enclosure (section 2) and smoothness (section 3), bit by bit.

#include "tools/checks/attack.hpp"

#include <gtest/gtest.h>

#include "kernels/base/random.hpp"
#include "models/boxes/optimiser.hpp"
#include "tests/support/print.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t problems = 250;

std::string joined(const AttackReport& report) {
    std::string text;
    for (const std::string& violation : report.violations) text += violation + "\n";
    return text;
}

struct Attack : testing::TestWithParam<Precision> {};

TEST_P(Attack, NoParameterLeavesItsBox) {
    AttackReport total;
    for (std::uint64_t seed = 1; seed <= problems; ++seed) total.add(attack_enclosure(seed, 0, GetParam()));
    EXPECT_GT(total.attacks, 500);
    EXPECT_EQ(joined(total), "");
    // The attacks are no straw men: some reach the wall of their box.
    for (const auto& [name, reached] : total.tightness) EXPECT_LE(reached, 1.0) << name;
    EXPECT_GT(total.tightness.at("add_remove per_epoch layers 2"), 0.99);
    EXPECT_GT(total.tightness.at("substitute per_batch layers 2"), 0.5);
}

TEST_P(Attack, NeighboursNestAndDistancesMoveByOne) {
    AttackReport total;
    for (std::uint64_t seed = 1; seed <= problems; ++seed) total.add(attack_smoothness(seed, GetParam()));
    EXPECT_EQ(total.attacks, static_cast<std::int64_t>(problems));
    EXPECT_EQ(joined(total), "");
}

TEST_P(Attack, FindsABoxThatIsOneRecordTooSmall) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
        found += attack_enclosure(seed, 1, GetParam()).violations.empty() ? 0 : 1;
    EXPECT_GT(found, 20);
}

INSTANTIATE_TEST_SUITE_P(Precisions, Attack,
                         testing::Values(Precision::double_precision, Precision::single_precision),
                         [](const auto& info) {
                             return info.param == Precision::single_precision ? "single" : "double";
                         });

TEST(Optimiser, ImpulseResponseBoundsWhatAGradientMoves) {
    Settings settings;
    settings.training.epochs = 3;
    settings.training.batches = 2;
    settings.training.l2 = 0.3;
    settings.training.learning_rate_decay = 0.5;
    const GradientGrid grid = settings.clip.grid();
    const auto optimiser = make_sgd(settings, grid);
    const std::int64_t gamma = settings.clip.weight_units();
    const KeyedHash hash{3};
    for (std::uint64_t trial = 0; trial < 2000; ++trial) {
        const auto response = optimiser->impulse_response(gamma);
        std::vector<std::int64_t> without{parameter_units(hash.uniform(1, trial) - 0.5)}, with = without;
        for (std::int64_t step = 0; step < settings.training.steps(); ++step) {
            const auto sum = static_cast<std::int64_t>(
                1e14 * (hash.uniform(2 + static_cast<std::uint64_t>(step), trial) - 0.5));
            const bool acts = hash(50 + static_cast<std::uint64_t>(step / 2), trial) % 2 ==
                              static_cast<std::uint64_t>(step % 2);
            const std::vector<std::int64_t> sums{sum},
                changed{sum + (acts ? (trial % 2 == 0 ? gamma : -gamma) : 0)};
            optimiser->update(step, 7.0, without, sums);
            optimiser->update(step, 7.0, with, changed);
            response->advance(step, 7.0, step % settings.training.batches == 0);
            ASSERT_LE(std::abs(with[0] - without[0]), response->radius())
                << "trial " << trial << " step " << step;
        }
    }
}

TEST(Optimiser, UpdateIsMonotone) {
    Settings settings;
    settings.training.l2 = 0.9;
    const auto optimiser = make_sgd(settings, settings.clip.grid());
    const KeyedHash hash{4};
    for (std::uint64_t trial = 0; trial < 2000; ++trial) {
        const std::int64_t theta = parameter_units(hash.uniform(1, trial) * 3000 - 1500);
        const auto sum = static_cast<std::int64_t>(4e18 * (hash.uniform(2, trial) - 0.5));
        std::vector<std::int64_t> at{theta}, above{theta + 1}, less{theta};
        optimiser->update(0, 3.0, at, std::vector{sum});
        optimiser->update(0, 3.0, above, std::vector{sum});
        optimiser->update(0, 3.0, less, std::vector{sum + 1});
        ASSERT_LE(at[0], above[0]);
        ASSERT_LE(less[0], at[0]);
        ASSERT_LE(std::abs(at[0]), parameter_limit_units);
    }
}

}  // namespace
}  // namespace holdfast
