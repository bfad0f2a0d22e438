// The integer lemmas of models/training/update_rule.hpp, over every case of integers of 4 to 8 bits, whose
// limits are in the proportions of the program's: every factor, every sum, every parameter; and the theorem
// on the core and the radius over every schedule of the changed records, by the set of all pairs of runs that
// can be reached. tests/proofs/update_rule.smt2 has the same lemmas for all integers.

#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <random>
#include <set>
#include <vector>

#include "kernels/base/error.hpp"
#include "models/training/optimiser.hpp"
#include "models/training/update_lanes.hpp"
#include "models/training/update_rule.hpp"

namespace holdfast {
namespace {

struct Fraction {
    std::int64_t significand;
    int shift;
    bool at_most_one() const { return significand <= std::int64_t{1} << shift; }
    template <int bits>
    BasicFactor<bits> factor() const {
        return {significand, shift};
    }
};

/// Every value a factor can have, once.
template <int bits>
std::vector<Fraction> fractions() {
    std::vector<Fraction> all;
    for (std::int64_t s = 0; s < std::int64_t{1} << UpdateLimits<bits>::significand_bits; ++s) {
        for (int t = 0; t <= UpdateLimits<bits>::greatest_shift; ++t)
            if (s % 2 == 1 || t == 0) all.push_back({s, t});
    }
    return all;
}
template <int bits>
std::vector<Fraction> decays() {
    std::vector<Fraction> all = fractions<bits>();
    std::erase_if(all, [](const Fraction& fraction) { return !fraction.at_most_one(); });
    return all;
}

/// floor(numerator / 2^shift), by division.
std::int64_t floor_of(std::int64_t numerator, int shift) {
    const std::int64_t divisor = std::int64_t{1} << shift, quotient = numerator / divisor;
    return quotient - (numerator % divisor < 0 ? 1 : 0);
}

void report(const char* what, int bits, std::int64_t cases) {
    std::printf("%s, %d bits: %lld cases\n", what, bits, static_cast<long long>(cases));
    testing::Test::RecordProperty("cases", std::to_string(cases));
}

template <int width>
struct Width {
    static constexpr int bits = width;
    using Limits = UpdateLimits<width>;
    static constexpr std::int64_t least = -(std::int64_t{1} << (width - 1)), greatest = -least - 1;
};
template <typename>
struct UpdateRule : testing::Test {};
using Widths = testing::Types<Width<4>, Width<5>, Width<6>, Width<8>>;
TYPED_TEST_SUITE(UpdateRule, Widths);

TYPED_TEST(UpdateRule, FactorsRoundOnceAndFitTwiceTheWidth) {
    using Limits = typename TypeParam::Limits;
    std::int64_t cases = 0;
    for (std::int64_t s = 0; s < std::int64_t{1} << Limits::significand_bits; ++s) {
        for (int t = 0; t <= Limits::greatest_shift; ++t) {
            const BasicFactor<TypeParam::bits> factor(s, t);
            for (std::int64_t units = TypeParam::least; units <= TypeParam::greatest; ++units, ++cases) {
                const std::int64_t twice = 2 * s * units, one = std::int64_t{1} << t;
                ASSERT_LT(std::abs(s * units) + one, std::int64_t{1} << (2 * TypeParam::bits - 1));
                ASSERT_EQ(factor.apply(units), capped(floor_of(twice + one, t + 1), Limits::result));
                ASSERT_EQ(factor.apply_down(units), capped(floor_of(s * units, t), Limits::result));
                ASSERT_EQ(factor.apply_up(units), capped(-floor_of(-s * units, t), Limits::result));
            }
        }
    }
    report("factors", TypeParam::bits, cases);
}

// Lemmas 1 and 2, of results that are not capped.
TYPED_TEST(UpdateRule, AStepsImpulseIsAtMostItsCeiling) {
    using Limits = typename TypeParam::Limits;
    std::int64_t cases = 0;
    for (const Fraction& fraction : fractions<TypeParam::bits>()) {
        const auto factor = fraction.factor<TypeParam::bits>();
        for (std::int64_t b = 0; b <= TypeParam::greatest; ++b) {
            const std::int64_t most = factor.apply_up(b);
            if (most == Limits::result) continue;
            for (std::int64_t a = TypeParam::least; a <= TypeParam::greatest - b; ++a, ++cases) {
                const std::int64_t moved = factor.apply(a + b) - factor.apply(a);
                ASSERT_TRUE(0 <= moved && moved <= most)
                    << fraction.significand << " / 2^" << fraction.shift << ", " << a << " + " << b;
            }
        }
    }
    report("impulses", TypeParam::bits, cases);
}

// Lemmas 1, 3 and 4, and what 6 says of the decayed parameter.
TYPED_TEST(UpdateRule, DecayShrinksDifferencesAndTheirSums) {
    using Limits = typename TypeParam::Limits;
    std::int64_t cases = 0;
    for (const Fraction& fraction : decays<TypeParam::bits>()) {
        const auto decay = fraction.factor<TypeParam::bits>();
        const auto left = [&](std::int64_t response) { return response - decay.apply_down(response); };
        for (std::int64_t r = 0; r <= Limits::radius; ++r) {
            for (std::int64_t s = 0; r + s <= Limits::radius; ++s, ++cases)
                ASSERT_LE(left(r + s), left(r) + left(s)) << r << " + " << s;
            for (std::int64_t theta = -Limits::parameter; theta + r <= Limits::parameter; ++theta, ++cases) {
                const std::int64_t apart = decayed(decay, theta + r) - decayed(decay, theta);
                ASSERT_TRUE(0 <= apart && apart <= left(r)) << theta << " + " << r;
                ASSERT_LE(std::abs(decayed(decay, theta)), Limits::parameter);
            }
        }
    }
    report("decays", TypeParam::bits, cases);
}

// Lemma 5.
TYPED_TEST(UpdateRule, SaturationIsMonotoneAndMovesNothingApart) {
    std::int64_t cases = 0;
    for (std::int64_t a = 2 * TypeParam::least; a <= 2 * TypeParam::greatest; ++a) {
        for (std::int64_t b = a; b <= 2 * TypeParam::greatest; ++b, ++cases) {
            const std::int64_t apart = within_limit<TypeParam::bits>(b) - within_limit<TypeParam::bits>(a);
            ASSERT_TRUE(0 <= apart && apart <= b - a) << a << " " << b;
        }
    }
    report("saturation", TypeParam::bits, cases);
}

// Lemma 8.
TYPED_TEST(UpdateRule, SoftThresholdIsMonotoneAndMovesNothingApart) {
    std::int64_t cases = 0;
    for (std::int64_t threshold = 0; threshold <= TypeParam::greatest; ++threshold) {
        for (std::int64_t a = TypeParam::least; a <= TypeParam::greatest; ++a) {
            EXPECT_LE(std::abs(thresholded(a, threshold)), std::abs(a));
            for (std::int64_t b = a; b <= TypeParam::greatest; ++b, ++cases) {
                const std::int64_t apart = thresholded(b, threshold) - thresholded(a, threshold);
                ASSERT_TRUE(0 <= apart && apart <= b - a) << a << " " << b << " by " << threshold;
            }
        }
    }
    EXPECT_EQ(thresholded(5, 2), 3);
    EXPECT_EQ(thresholded(-5, 2), -3);
    EXPECT_EQ(thresholded(-2, 2), 0);
    report("soft thresholds", TypeParam::bits, cases);
}

template <typename>
struct Update : testing::Test {};
using NarrowWidths = testing::Types<Width<4>, Width<5>, Width<6>>;
TYPED_TEST_SUITE(Update, NarrowWidths);

// Lemma 6, and the order in both arguments.
TYPED_TEST(Update, IsMonotoneAndKnowsNoCap) {
    constexpr int bits = TypeParam::bits;
    using Limits = typename TypeParam::Limits;
    std::int64_t cases = 0, capped_cases = 0;
    for (const Fraction& decay_value : decays<bits>()) {
        for (const Fraction& gradient_value : fractions<bits>()) {
            const auto decay = decay_value.factor<bits>(), gradient = gradient_value.factor<bits>();
            for (std::int64_t sum = TypeParam::least; sum <= TypeParam::greatest; ++sum) {
                const std::int64_t exact =
                    floor_of(2 * gradient_value.significand * sum + (std::int64_t{1} << gradient_value.shift),
                             gradient_value.shift + 1);
                capped_cases += exact != gradient.apply(sum);
                for (std::int64_t theta = -Limits::parameter; theta <= Limits::parameter; ++theta, ++cases) {
                    const std::int64_t result = updated(decay, gradient, theta, sum);
                    ASSERT_EQ(result, within_limit<bits>(decayed(decay, theta) - exact));
                    if (theta < Limits::parameter) {
                        ASSERT_LE(result, updated(decay, gradient, theta + 1, sum));
                    }
                    if (sum < TypeParam::greatest) {
                        ASSERT_GE(result, updated(decay, gradient, theta, sum + 1));
                    }
                }
            }
        }
    }
    EXPECT_GT(capped_cases, 0);
    report("updates", bits, cases);
}

/// The run on a neighbour, the run without its changed records, and which of these have acted this epoch.
struct Pair {
    std::int64_t changed, unchanged;
    unsigned acted;
};
/// What the changed records of a step can do: who acts, and what their gradients add up to.
struct Action {
    unsigned acting;
    std::int64_t sum;
};
std::vector<Action> actions(int records, std::int64_t gamma) {
    std::vector<Action> all;
    for (unsigned acting = 0; acting < 1U << records; ++acting) {
        const std::int64_t most = std::popcount(acting) * gamma;
        for (std::int64_t sum = -most; sum <= most; ++sum) all.push_back({acting, sum});
    }
    return all;
}

/// Factors of the steps of an epoch.
struct Step {
    Fraction decay, gradient;
};

/// Every pair of runs of `records` changed records that can be reached, from equal parameters on: whatever
/// the sums, the signs, and the step of each epoch in which a record acts, if it does. Each must be within
/// the radius, and in the box around the run without them. Returns the steps taken, -1 after a failure.
template <int bits>
std::int64_t walk(const std::vector<Step>& epoch, int epochs, int records, std::int64_t gamma) {
    constexpr std::int64_t limit = UpdateLimits<bits>::parameter;
    const std::vector<Action> all_actions = actions(records, gamma);
    const std::int64_t most = Width<bits>::greatest - records * gamma;
    std::int64_t cases = 0;
    EpochResponses<bits> responses;
    std::vector<Pair> pairs;
    for (std::int64_t theta = -limit; theta <= limit; ++theta) pairs.push_back({theta, theta, 0});
    for (std::size_t step = 0; step < epoch.size() * static_cast<std::size_t>(epochs); ++step) {
        const auto decay = epoch[step % epoch.size()].decay.template factor<bits>(),
                   gradient = epoch[step % epoch.size()].gradient.template factor<bits>();
        const bool first_of_epoch = step % epoch.size() == 0;
        responses.advance(decay, gradient, gamma, first_of_epoch);
        const std::int64_t radius = responses.radius();
        std::vector<Pair> next;
        constexpr std::int64_t values = 2 * limit + 1;
        std::vector<bool> met(static_cast<std::size_t>(values * values << records));
        for (const Pair& pair : pairs) {
            const unsigned acted = first_of_epoch ? 0 : pair.acted;
            for (std::int64_t sum = -most; sum <= most; ++sum) {
                const std::int64_t unchanged = updated(decay, gradient, pair.unchanged, sum);
                for (const Action& action : all_actions) {
                    if ((action.acting & acted) != 0) continue;
                    const std::int64_t changed = updated(decay, gradient, pair.changed, sum + action.sum);
                    ++cases;
                    const bool held = std::abs(changed - unchanged) <= records * radius &&
                                      widened_lower<bits>(unchanged, radius, records) <= changed &&
                                      changed <= widened_upper<bits>(unchanged, radius, records);
                    if (!held) {
                        ADD_FAILURE() << "step " << step << ": " << changed << " against " << unchanged
                                      << ", radius " << radius << " of one of " << records;
                        return -1;
                    }
                    const unsigned all = acted | action.acting;
                    auto is_met = met[static_cast<std::size_t>(
                        ((changed + limit) * values + unchanged + limit) << records | all)];
                    if (!is_met) next.push_back({changed, unchanged, all});
                    is_met = true;
                }
            }
        }
        pairs = std::move(next);
    }
    return cases;
}

// Two records, all factors constant over the steps.
TEST(CoreAndRadius, BoundsEveryScheduleOfTwoRecords) {
    constexpr int bits = 5;
    std::int64_t cases = 0;
    for (const Fraction& decay : decays<bits>()) {
        for (const Fraction& gradient : fractions<bits>()) {
            for (const std::int64_t gamma : {1, 3}) {
                const Step step{decay, gradient};
                const std::int64_t walked = walk<bits>({step, step}, 3, 2, gamma);
                ASSERT_GE(walked, 0) << decay.significand << "/2^" << decay.shift << " "
                                     << gradient.significand << "/2^" << gradient.shift << " gamma " << gamma;
                cases += walked;
            }
        }
    }
    report("schedules of two records", bits, cases);
}

// One record, all pairs of factors that take turns.
TEST(CoreAndRadius, BoundsEveryScheduleUnderChangingFactors) {
    constexpr int bits = 4;
    std::int64_t cases = 0;
    for (const Fraction& decay : decays<bits>()) {
        for (const Fraction& other_decay : decays<bits>()) {
            for (const Fraction& gradient : fractions<bits>()) {
                for (const Fraction& other_gradient : fractions<bits>()) {
                    const std::int64_t walked =
                        walk<bits>({{decay, gradient}, {other_decay, other_gradient}}, 3, 1, 1);
                    ASSERT_GE(walked, 0);
                    cases += walked;
                }
            }
        }
    }
    report("schedules under changing factors", bits, cases);
}

// A radius that is one too small is one that some schedule exceeds: the walk reaches what it should.
TEST(CoreAndRadius, IsAttained) {
    constexpr int bits = 6;
    const BasicFactor<bits> half(1, 1), one(1, 0);
    EpochResponses<bits> responses;
    responses.advance(half, one, 3, true);
    EXPECT_EQ(responses.radius(), 3);
    EXPECT_EQ(updated(half, one, 0, -3) - updated(half, one, 0, 0), 3);
    responses.advance(half, one, 3, true);
    EXPECT_EQ(responses.radius(), 3 - 1 + 3);
    EXPECT_EQ(updated(half, one, 3, -3) - updated(half, one, 0, 0), 3 - 1 + 2);  // saturated: 4 at most
    EXPECT_EQ(decayed(BasicFactor<bits>(1, 2), 1), 1);                           // 1/4 + 1/2 rounds down
    EXPECT_EQ(decayed(half, 3), 3 - 2);                                          // 3/2 + 1/2 rounds up
}

/// Of any size below 2^bits, one in eight at an end.
std::int64_t any_integer(std::mt19937_64& engine, int bits) {
    const std::int64_t end = static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1);
    const auto value = static_cast<std::int64_t>(engine()) >> (63 - bits + engine() % (bits + 1));
    return engine() % 8 > 0 ? value : engine() % 2 > 0 ? end : -end - 1;
}

// Where the processor has them; else nothing is done in lanes.
TEST(UpdateLanes, DoWhatTheRuleDoes) {
    constexpr std::size_t count = 19;
    std::mt19937_64 engine(7);
    std::int64_t done = 0;
    for (int draw = 0; draw < 100000; ++draw) {
        const int shift = static_cast<int>(engine() % 126), other_shift = static_cast<int>(engine() % 126);
        const std::int64_t whole = std::int64_t{1} << std::min(shift, 62),
                           decay = std::min(std::abs(any_integer(engine, 62)), whole) >> (shift >= 62),
                           gradient = std::abs(any_integer(engine, 62)) >> 1,
                           threshold = engine() % 2 > 0 ? 0 : std::abs(any_integer(engine, 60));
        std::int64_t parameters[count], sums[count], expected[count];
        for (std::size_t p = 0; p < count; ++p) {
            expected[p] = parameters[p] =
                std::clamp(any_integer(engine, 60) + 1, -parameter_limit_units, parameter_limit_units);
            sums[p] = any_integer(engine, 63);
        }
        const Factor decays(decay, shift), moves(gradient, other_shift);
        const std::size_t lanes = update_lanes(decays, moves, threshold, parameters, sums, count);
        for (std::size_t p = 0; p < lanes; ++p)
            expected[p] = thresholded(updated(decays, moves, expected[p], sums[p]), threshold);
        for (std::size_t p = 0; p < count; ++p)
            ASSERT_EQ(parameters[p], expected[p])
                << decay << " / 2^" << shift << ", " << gradient << " / 2^" << other_shift << ", " << sums[p];
        done += static_cast<std::int64_t>(lanes);
    }
    report("updates in lanes", 64, done);
}

/// Two runs of one parameter with a velocity, of which the second's sums differ where a record acts.
struct MomentumPair {
    std::int64_t velocity, other_velocity, theta, other_theta;
    bool acted;                                             // in this epoch
    auto operator<=>(const MomentumPair&) const = default;  // NOLINT(modernize-use-nullptr): a false alarm
};

/// Every schedule of a record over two epochs of two steps, from every start and with every sum: the number
/// of steps taken, or -1 where the parameters were further apart than the radius. The second epoch's rate is
/// `later`.
template <int bits>
std::int64_t walk_momentum(const Fraction& friction, const Fraction& gradient, const Fraction& rate,
                           const Fraction& later, std::int64_t gamma) {
    constexpr std::int64_t limit = UpdateLimits<bits>::parameter, most = 4;
    const auto slow = friction.factor<bits>(), weight = gradient.factor<bits>();
    MomentumResponses<bits> responses;
    std::set<MomentumPair> pairs;
    for (std::int64_t velocity = -limit; velocity <= limit; ++velocity) {
        for (std::int64_t theta = -limit; theta <= limit; ++theta)
            pairs.insert({velocity, velocity, theta, theta, false});
    }
    std::int64_t taken = 0;
    for (int step = 0; step < 4; ++step) {
        const auto speed = (step < 2 ? rate : later).factor<bits>();
        responses.advance(slow, weight, speed, gamma, step % 2 == 0);
        std::set<MomentumPair> next;
        for (const MomentumPair& pair : pairs) {
            const bool may_act = step % 2 == 0 || !pair.acted;
            for (std::int64_t sum = -most; sum <= most; ++sum) {
                for (std::int64_t change = may_act ? -gamma : 0; change <= (may_act ? gamma : 0); ++change) {
                    MomentumPair to = pair;
                    to.acted = change != 0 || (step % 2 == 1 && pair.acted);
                    to.velocity = updated(slow, weight, pair.velocity, sum);
                    to.other_velocity = updated(slow, weight, pair.other_velocity, sum + change);
                    to.theta = within_limit<bits>(WideInteger{pair.theta} + speed.apply(to.velocity));
                    to.other_theta =
                        within_limit<bits>(WideInteger{pair.other_theta} + speed.apply(to.other_velocity));
                    if (std::abs(to.theta - to.other_theta) > responses.radius()) return -1;
                    next.insert(to);
                    ++taken;
                }
            }
        }
        pairs = std::move(next);
    }
    return taken;
}

TEST(Momentum, RadiusBoundsEverySchedule) {
    constexpr int bits = 4;
    std::int64_t cases = 0;
    for (const Fraction& friction : decays<bits>()) {
        for (const Fraction& gradient : fractions<bits>()) {
            for (const Fraction& rate : fractions<bits>()) {
                const std::int64_t walked = walk_momentum<bits>(friction, gradient, rate, rate, 1);
                ASSERT_GE(walked, 0) << friction.significand << "/2^" << friction.shift << " "
                                     << gradient.significand << "/2^" << gradient.shift << " "
                                     << rate.significand << "/2^" << rate.shift;
                cases += walked;
            }
        }
    }
    report("schedules with momentum", bits, cases);
}

// At twice the width fewer factors, and a rate that falls.
TEST(Momentum, RadiusBoundsSchedulesAtAFallingRate) {
    constexpr int bits = 6;
    std::int64_t cases = 0;
    for (const Fraction& friction : {Fraction{1, 2}, Fraction{1, 1}, Fraction{3, 2}, Fraction{1, 0}}) {
        for (const Fraction& gradient : {Fraction{1, 1}, Fraction{1, 0}, Fraction{3, 1}}) {
            const std::int64_t walked =
                walk_momentum<bits>(friction, gradient, Fraction{1, 0}, Fraction{1, 1}, 1);
            ASSERT_GE(walked, 0) << friction.significand << "/2^" << friction.shift;
            cases += walked;
        }
    }
    report("schedules with momentum", bits, cases);
}

// Friction 1/2, impulses 2 and then 5: one velocity for both would give 9 after the fourth step, and 10 is
// reached.
TEST(Momentum, AnExcessHasAVelocityOfItsOwn) {
    constexpr int bits = 16;
    const BasicFactor<bits> half(1, 1), one(1, 0);
    const std::int64_t sums[] = {0, 5, 0, 0, 0};
    MomentumResponses<bits> responses;
    std::int64_t reached = 0, velocity = 0, theta = 0;
    for (int step = 0; step < 5; ++step) {
        responses.advance(half, one, one, step == 0 ? 2 : 5, step == 0);
        velocity = updated(half, one, velocity, -sums[step]);
        theta = within_limit<bits>(WideInteger{theta} + velocity);
        ASSERT_LE(theta, responses.radius());
        reached = responses.radius();
    }
    EXPECT_GE(reached, 11);
}

TEST(Momentum, RadiusIsReachedByTheFirstStepOfAnEpoch) {
    constexpr int bits = 10;
    const BasicFactor<bits> half(1, 1), one(1, 0);
    MomentumResponses<bits> responses;
    responses.advance(half, one, one, 8, true);
    EXPECT_EQ(responses.radius(), 8);
    responses.advance(half, one, one, 8, false);
    EXPECT_EQ(responses.radius(), 8 + 4);  // not 8 + 4 + 8: it acts once
    responses.advance(half, one, one, 12, false);
    EXPECT_EQ(responses.radius(), 8 + 4 + 2 + 4);  // a greater impulse: the rest of it acts besides
}

/// Two runs of averaged momentum, of which the second's sums differ where records act.
struct AveragedPair {
    std::int64_t theta, z, other_theta, other_z;
    unsigned acted;                                         // in this epoch
    auto operator<=>(const AveragedPair&) const = default;  // NOLINT(modernize-use-nullptr): a false alarm
};

struct AveragedStep {
    Fraction decay, gradient, own_decay, own_gradient, average;
    template <int bits>
    AveragedFactors<bits> factors() const {
        return {decay.factor<bits>(), gradient.factor<bits>(), own_decay.factor<bits>(),
                own_gradient.factor<bits>(), average.factor<bits>()};
    }
    friend std::ostream& operator<<(std::ostream& out, const AveragedStep& step) {
        for (const Fraction& f : {step.decay, step.gradient, step.own_decay, step.own_gradient, step.average})
            out << f.significand << "/2^" << f.shift << " ";
        return out;
    }
};

template <int bits>
void take_averaged_step(const AveragedFactors<bits>& factors, std::int64_t sum, std::int64_t& theta,
                        std::int64_t& z) {
    z = updated(factors.decay, factors.gradient, z, sum);
    theta = averaged(factors.average, updated(factors.own_decay, factors.own_gradient, theta, sum), z);
}

/// As walk(), of averaged momentum over two epochs of two steps, the second with `later`: each pair of runs
/// within the radius of so many records, and both in the order of what they came from.
template <int bits>
std::int64_t walk_averaged(const AveragedStep& early, const AveragedStep& later, int records,
                           std::int64_t gamma) {
    constexpr std::int64_t limit = UpdateLimits<bits>::parameter, most = 4;
    const std::vector<Action> all_actions = actions(records, gamma);
    AveragedResponses<bits> responses;
    std::set<AveragedPair> pairs;
    for (std::int64_t z = -limit; z <= limit; ++z) {
        for (std::int64_t theta = -limit; theta <= limit; ++theta) pairs.insert({theta, z, theta, z, 0});
    }
    std::int64_t taken = 0;
    for (int step = 0; step < 4; ++step) {
        const AveragedFactors<bits> factors = (step < 2 ? early : later).template factors<bits>();
        responses.advance(factors, gamma, step % 2 == 0);
        std::set<AveragedPair> next;
        for (const AveragedPair& pair : pairs) {
            const unsigned acted = step % 2 == 0 ? 0 : pair.acted;
            for (std::int64_t sum = -most; sum <= most; ++sum) {
                for (const Action& action : all_actions) {
                    if ((action.acting & acted) != 0) continue;
                    AveragedPair to = pair;
                    take_averaged_step<bits>(factors, sum, to.theta, to.z);
                    take_averaged_step<bits>(factors, sum + action.sum, to.other_theta, to.other_z);
                    to.acted = acted | action.acting;
                    if (std::abs(to.theta - to.other_theta) > records * responses.radius()) return -1;
                    const bool ordered =
                        pair.theta <= pair.other_theta && pair.z <= pair.other_z && action.sum <= 0;
                    if (ordered && (to.theta > to.other_theta || to.z > to.other_z)) return -1;
                    next.insert(to);
                    ++taken;
                }
            }
        }
        pairs = std::move(next);
    }
    return taken;
}

TEST(AveragedMomentum, RadiusBoundsEverySchedule) {
    constexpr int bits = 4;
    const Fraction none{0, 0};
    const std::vector<std::pair<Fraction, Fraction>> own{
        {none, none}, {{1, 2}, {1, 1}}, {none, {1, 0}}, {{1, 1}, {3, 1}}};
    std::int64_t cases = 0;
    for (const Fraction& decay : decays<bits>()) {
        for (const Fraction& gradient : fractions<bits>()) {
            for (const Fraction& average : decays<bits>()) {
                for (const auto& [own_decay, own_gradient] : own) {
                    const AveragedStep step{decay, gradient, own_decay, own_gradient, average};
                    const std::int64_t walked = walk_averaged<bits>(step, step, 1, 1);
                    ASSERT_GE(walked, 0) << step;
                    cases += walked;
                }
            }
        }
    }
    report("schedules of averaged momentum", bits, cases);
}

// At more than twice the width fewer factors, two records, and an average that goes the whole way at last.
TEST(AveragedMomentum, RadiusBoundsSchedulesOfTwoRecords) {
    constexpr int bits = 5;
    std::int64_t cases = 0;
    for (const Fraction& decay : {Fraction{0, 0}, Fraction{1, 2}, Fraction{3, 2}, Fraction{1, 0}}) {
        for (const Fraction& gradient : {Fraction{1, 1}, Fraction{1, 0}, Fraction{3, 1}}) {
            for (const Fraction& average : {Fraction{1, 2}, Fraction{1, 1}, Fraction{3, 2}}) {
                for (const Fraction& own : {Fraction{0, 0}, Fraction{1, 1}}) {
                    const AveragedStep step{decay, gradient, own, own, average};
                    AveragedStep whole = step;
                    whole.average = {1, 0};
                    const std::int64_t walked = walk_averaged<bits>(step, whole, 2, 1);
                    ASSERT_GE(walked, 0) << step;
                    cases += walked;
                }
            }
        }
    }
    report("schedules of averaged momentum, two records", bits, cases);
}

// Average 1/2, an impulse of 8 in z: theta takes 4 of it, then goes half the way each step.
TEST(AveragedMomentum, RadiusIsWhatAnImpulseLeaves) {
    constexpr int bits = 12;
    const BasicFactor<bits> nothing(0, 0), half(1, 1), one(1, 0);
    AveragedResponses<bits> responses;
    std::int64_t theta = 0, z = 0;
    const AveragedFactors<bits> factors{nothing, one, nothing, nothing, half};
    for (const std::int64_t reached : {4, 6, 7}) {
        responses.advance(factors, 8, theta == 0);
        take_averaged_step<bits>(factors, theta == 0 ? -8 : 0, theta, z);
        EXPECT_EQ(theta, reached);
        EXPECT_EQ(responses.radius(), reached);
    }
    responses.advance(factors, 8, true);  // 8 at last of the first epoch, 4 of the second
    EXPECT_EQ(responses.radius(), 8 + 4);
    const AveragedFactors<bits> ahead{half, one, half, one, half};
    AveragedResponses<bits> ahead_responses;
    ahead_responses.advance(ahead, 8, true);
    EXPECT_EQ(ahead_responses.radius(), 4 + 4);  // of its own step and of the average
    ahead_responses.advance(ahead, 8, false);
    EXPECT_EQ(ahead_responses.radius(), 8);  // whoever acts now; of the first step 2 + 2 are left
}

// Every range and every smaller one, every threshold.
TEST(SignStep, RangeHoldsEveryPointAndNests) {
    constexpr std::int64_t most = 9;
    std::int64_t cases = 0;
    for (std::int64_t threshold = 0; threshold <= most; ++threshold) {
        for (std::int64_t lower = -most; lower <= most; ++lower) {
            for (std::int64_t upper = lower; upper <= most; ++upper) {
                const ParameterRange range = against_sign({lower, upper}, threshold);
                ASSERT_LE(std::max(std::abs(range.lower), std::abs(range.upper)), most);
                for (std::int64_t theta = lower; theta <= upper; ++theta, ++cases) {
                    const ParameterRange point = against_sign({theta, theta}, threshold);
                    const std::int64_t stepped = theta > 0   ? theta - threshold
                                                 : theta < 0 ? theta + threshold
                                                             : 0;
                    ASSERT_EQ(point.lower, stepped);
                    ASSERT_EQ(point.upper, stepped);
                    ASSERT_TRUE(range.lower <= stepped && stepped <= range.upper);
                    for (std::int64_t last = theta; last <= upper; ++last, ++cases) {
                        const ParameterRange inner = against_sign({theta, last}, threshold);
                        ASSERT_TRUE(range.lower <= inner.lower && inner.upper <= range.upper)
                            << "[" << theta << ", " << last << "] in [" << lower << ", " << upper << "] by "
                            << threshold;
                    }
                }
            }
        }
    }
    report("steps against the sign", 0, cases);
}

/// As it is defined, by whole products of 128 bits.
TEST(Factor, OfTheProgramsWidthIsTheProductRoundedAndCapped) {
    std::mt19937_64 engine(11);
    const auto by_definition = [](std::int64_t significand, std::int64_t units, int shift,
                                  WideInteger rounding) {
        return capped((WideInteger{significand} * units + rounding) >> shift, UpdateLimits<64>::result);
    };
    constexpr std::int64_t most = (std::int64_t{1} << UpdateLimits<64>::significand_bits) - 1;
    for (int shift = 0; shift <= UpdateLimits<64>::greatest_shift; ++shift) {
        for (int i = 0; i < 4000; ++i) {
            const std::int64_t significand =
                i < 200 ? most - i % 3 : static_cast<std::int64_t>(engine() >> (2 + engine() % 62));
            std::int64_t units = static_cast<std::int64_t>(engine()) >> engine() % 64;
            if (i % 9 == 0) units = i % 2 == 0 ? INT64_MIN + i % 5 : INT64_MAX - i % 5;
            const Factor factor(significand, shift);
            const WideInteger half = shift == 0 ? 0 : WideInteger{1} << (shift - 1),
                              up = (WideInteger{1} << shift) - 1;
            ASSERT_EQ(factor.apply(units), by_definition(significand, units, shift, half)) << shift;
            ASSERT_EQ(factor.apply_up(units), by_definition(significand, units, shift, up)) << shift;
            ASSERT_EQ(factor.apply_down(units), by_definition(significand, units, shift, 0)) << shift;
        }
    }
}

TEST(FactorOf, IsTheDoubleUntilNothingOfItIsLeft) {
    const std::int64_t large = std::int64_t{1} << 60;
    EXPECT_EQ(factor_of(1.0).apply(large - 1), large - 1);
    EXPECT_EQ(factor_of(0x1.8p-1).apply(3), 2);  // 2.25
    EXPECT_EQ(factor_of(0x1.8p-1).apply_up(3), 3);
    EXPECT_EQ(factor_of(0x1.8p-1).apply_down(-3), -3);  // -2.25
    EXPECT_EQ(factor_of(0x1.0000000000001p0).apply(large), large + 256);
    EXPECT_EQ(factor_of(0x1p61).apply(1), std::int64_t{1} << 61);
    EXPECT_EQ(factor_of(0x1p61).apply(100), UpdateLimits<64>::result);
    EXPECT_EQ(factor_of(0x1p61).apply(-100), -UpdateLimits<64>::result);
    for (const double nothing : {0.0, 0x1p-65, 0x1.8p-100, 0x1p-200, 0x1p-1074}) {
        EXPECT_EQ(factor_of(nothing).apply(INT64_MAX), 0) << nothing;
        EXPECT_EQ(factor_of(nothing).apply(INT64_MIN), 0) << nothing;
    }
    EXPECT_EQ(factor_of(0x1p-64).apply(INT64_MIN), 0);  // -1/2 rounds up
    EXPECT_EQ(factor_of(0x1p-63).apply(INT64_MIN), -1);
    EXPECT_THROW(factor_of(0x1p62), Error);
}

}  // namespace
}  // namespace holdfast
