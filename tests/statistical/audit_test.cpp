// A bounded run of tools/audit: no claim is refuted, and every planted fault is found. Keys and seeds are
// fixed. Over their choice: each bound is wrong with probability 1e-9 at most, and there are fewer than 200;
// runs are so many that a fault's bound lies more than five standard deviations above the claim, at one delta
// of the three at least, so that it is missed with probability below 1e-6.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ostream>

#include "models/privacy/mechanisms/mechanism_list.hpp"
#include "tests/support/secret_keys.hpp"
#include "tests/support/seeded_bits.hpp"
#include "tools/checks/audit_noisy.hpp"
#include "tools/checks/epsilon_bounds.hpp"

namespace holdfast {

static void PrintTo(const NoisyAudit& audit, std::ostream* out) {
    *out << audit.subject << " " << audit.fault;
}

namespace audit_test {

const Rational error(1, 1000000000);
const std::vector<Rational> deltas{Rational(1, 100000), Rational(1, 100), Rational(1, 10)};

/// P(Binomial(trials, p) = k), exactly.
Rational binomial(std::int64_t trials, std::int64_t k, const Rational& p) {
    Integer ways;
    mpz_bin_uiui(ways.get_mpz_t(), static_cast<unsigned long>(trials), static_cast<unsigned long>(k));
    Rational mass(ways);
    for (std::int64_t i = 0; i < trials; ++i) mass *= i < k ? p : Rational(1 - p);
    return mass;
}

TEST(EpsilonBounds, ProportionsHoldWithTheStatedError) {
    // Exactly: over all counts, how likely is one whose bound lies on the wrong side of p?
    for (const std::int64_t trials : {1, 7, 40}) {
        for (const Rational& wrong : {Rational(1, 20), Rational(1, 1000)}) {
            for (int tenth = 1; tenth <= 9; ++tenth) {
                const Rational p(tenth, 10);
                Rational above = 0, below = 0;
                for (std::int64_t k = 0; k <= trials; ++k) {
                    if (proportion_lower(k, trials, wrong) > p) above += binomial(trials, k, p);
                    if (proportion_upper(k, trials, wrong) < p) below += binomial(trials, k, p);
                }
                EXPECT_LE(above, wrong) << trials << " " << p;
                EXPECT_LE(below, wrong) << trials << " " << p;
            }
        }
    }
}

TEST(EpsilonBounds, ProportionsAreNoWiderThanTheyMustBe) {
    // Quantiles of the beta distribution, as scipy.stats.beta.ppf gives them.
    const Rational wrong(1, 40);
    EXPECT_NEAR(proportion_lower(10, 100, wrong).get_d(), 0.0490046, 1e-6);
    EXPECT_NEAR(proportion_upper(10, 100, wrong).get_d(), 0.1762226, 1e-6);
    EXPECT_NEAR(proportion_upper(0, 1000, wrong).get_d(), 1 - std::pow(0.025, 1e-3), 1e-6);
    EXPECT_NEAR(proportion_lower(1000, 1000, wrong).get_d(), std::pow(0.025, 1e-3), 1e-6);
    EXPECT_EQ(proportion_lower(0, 5, wrong), 0);
    EXPECT_EQ(proportion_upper(5, 5, wrong), 1);
    // Of many trials the normal approximation is close.
    EXPECT_NEAR(proportion_lower(30000, 100000, wrong).get_d(), 0.3 - 1.96 * std::sqrt(0.21 / 1e5), 1e-5);
}

TEST(EpsilonBounds, GuessesOfOneRunGiveThePublishedBounds) {
    // Steinke, Nasr, Jagielski 2023: appendix D (0.67298, rounded there) and section 7 (2.67585, cut there).
    const Rational wrong(1, 20);
    EXPECT_NEAR(epsilon_of_guesses(1000, 100, 75, Rational(1, 10000), wrong).get_d(), 0.67298, 1e-5);
    EXPECT_NEAR(epsilon_of_guesses(100000, 1510, 1439, Rational(1, 100000), wrong).get_d(), 2.67585, 1e-5);
    EXPECT_EQ(epsilon_of_guesses(100, 100, 50, 0, wrong), 0);
    EXPECT_EQ(epsilon_of_guesses(100, 10, 0, Rational(1, 100), wrong), 0);
}

TEST(EpsilonBounds, AnEventBoundsEpsilonBeyondDelta) {
    EXPECT_EQ(epsilon_of_event(Rational(1, 2), Rational(1, 2), 0), 0);
    EXPECT_EQ(epsilon_of_event(Rational(1, 10), 0, Rational(1, 10)), 0);
    EXPECT_NEAR(epsilon_of_event(Rational(6, 10), Rational(1, 10), Rational(1, 10)).get_d(), std::log(5),
                1e-12);
    EXPECT_GT(epsilon_of_event(Rational(2, 10), 0, Rational(1, 10)), 2000) << "impossible in the neighbour";
}

TEST(Audit, TheEpsilonOfTwoLawsIsTheirs) {
    using Law = std::vector<Rational>;
    const Law p{Rational(6, 10), Rational(3, 10), Rational(1, 10)},
        q{Rational(2, 10), Rational(4, 10), Rational(4, 10)};
    EXPECT_NEAR(epsilon_of_laws(p, q, 0).get_d(), std::log(4), 1e-12) << "the last outcome, backwards";
    EXPECT_NEAR(epsilon_of_laws(p, q, Rational(1, 10)).get_d(), std::log(3), 1e-12);
    EXPECT_EQ(epsilon_of_laws(p, p, 0), 0);
}

void expect_not_refuted(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
        EXPECT_FALSE(finding.refuted()) << finding.subject << ", " << finding.evidence << ": "
                                        << finding.bound.get_d() << " > " << finding.claim.epsilon.get_d();
    }
}

// What a mechanism says is left open is no epsilon: a law as published is refuted where it has a gap.
TEST(Audit, RefutesTheLawThatIsOnlyAsPublished) {
    test::SeededBits bits(31);
    std::size_t open = 0;
    for (const MechanismInfo& info : mechanism_table()) {
        if (info.gap == nullptr) continue;
        ++open;
        for (const Finding& finding :
             audit_mechanism(Mechanism(info.name, {1.0, 0, 3, 3, 5}), 30000, error, bits))
            EXPECT_TRUE(finding.refuted()) << finding.subject << ", " << finding.evidence;
    }
    EXPECT_EQ(open, 1U);
}

TEST(Audit, RefutesNoMechanism) {
    test::SeededBits bits(31);
    const std::vector<Finding> findings = audit_mechanisms(30000, error, bits);
    expect_not_refuted(findings);
    // No straw man: what is optimal is found to be.
    ASSERT_EQ(findings.front().subject, "stable_rr, 3 classes");
    EXPECT_GT(findings[0].bound.get_d(), 1 - 1e-12);
    EXPECT_GT(findings[1].bound.get_d(), 0.8);
}

TEST(Audit, FindsDistancesThatMoveByTwo) {
    test::SeededBits bits(32);
    const Mechanism mechanism("stable_rr", {1.0, 0, 2, 5, 0});
    EvidencePair pair;
    pair.before.distance = 1;
    pair.after.distance = 3;
    EXPECT_GT(epsilon_of_laws(mechanism.exact_law(pair.before), mechanism.exact_law(pair.after), 0), 1);
    EXPECT_GT(epsilon_of_draws(mechanism, pair, 100000, error, bits), 1);
}

std::vector<Finding> findings_of(const NoisyAudit& audit, const Play& play, char key) {
    return audit_worlds(audit.subject, audit.claimed, play, audit.runs, deltas, error, test::known_key(key));
}

std::string test_name(std::string text) {
    std::erase_if(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
    return text;
}

struct HonestTraining : testing::TestWithParam<NoisyAudit> {};

TEST_P(HonestTraining, IsNotRefuted) {
    const NoisyAudit& audit = GetParam();
    const std::vector<Finding> findings = findings_of(audit, audit.honest, 1);
    expect_not_refuted(findings);
}

INSTANTIATE_TEST_SUITE_P(Audit, HonestTraining, testing::ValuesIn(noisy_audits()),
                         [](const auto& info) { return test_name(info.param.subject + info.param.fault); });

TEST(Audit, ComesNearTheClaimWhereTheLawIsAGaussians) {
    const std::vector<NoisyAudit> audits = noisy_audits();
    for (const std::size_t i : {0, 1}) {  // one record more, and one replaced, in every step
        const Finding finding = audit_worlds(audits[i].subject, audits[i].claimed, audits[i].honest, 10000,
                                             {deltas.back()}, Rational(1, 20), test::known_key(3))
                                    .front();
        EXPECT_GT(finding.bound, finding.claim.epsilon * Rational(7, 10)) << finding.bound.get_d();
    }
}

struct BrokenTraining : testing::TestWithParam<NoisyAudit> {};

TEST_P(BrokenTraining, IsFoundOut) {
    const NoisyAudit& audit = GetParam();
    std::string bounds;
    bool refuted = false;
    for (const Finding& finding : findings_of(audit, audit.broken, 2)) {
        refuted = refuted || finding.refuted();
        bounds += std::to_string(finding.bound.get_d()) + " of " +
                  std::to_string(finding.claim.epsilon.get_d()) + "; ";
    }
    EXPECT_TRUE(refuted) << bounds;
}

std::vector<NoisyAudit> audits_with_a_fault() {
    std::vector<NoisyAudit> audits = noisy_audits();
    std::erase_if(audits, [](const NoisyAudit& audit) { return audit.fault.empty(); });
    return audits;
}

INSTANTIATE_TEST_SUITE_P(Audit, BrokenTraining, testing::ValuesIn(audits_with_a_fault()),
                         [](const auto& info) { return test_name(info.param.fault); });

TEST(Audit, OfOneRunFindsATenthOfTheNoiseAndRefutesNoClaim) {
    // A delta far below the error, which it adds to.
    const Rational delta = Rational(1) / power_of_two(40);
    const Finding honest = audit_one_run({2000, 2}, delta, error, test::known_key(1));
    expect_not_refuted({honest});
    EXPECT_GT(honest.bound, 0) << "no straw man";
    const Finding broken = audit_one_run({2000, 8, 0.1}, delta, error, test::known_key(2));
    EXPECT_TRUE(broken.refuted()) << broken.bound.get_d() << ", " << broken.evidence;
}

}  // namespace audit_test
}  // namespace holdfast
