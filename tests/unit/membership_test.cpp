#include "models/privacy/membership.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "models/privacy/accountant/gaussian.hpp"

namespace holdfast {
namespace {

// Plain loops, formula by formula (Carlini et al. 2022, with one variance for all persons).

double plain_mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

double plain_variance(const std::vector<Observed>& persons, bool in) {
    double sum = 0;
    double degrees = 0;
    for (const Observed& person : persons) {
        const std::vector<double>& shadows = in ? person.in : person.out;
        for (const double value : shadows) sum += std::pow(value - plain_mean(shadows), 2);
        degrees += static_cast<double>(shadows.size()) - 1;
    }
    return sum / degrees;
}

double log_density(double value, double mean, double variance) {
    return -std::pow(value - mean, 2) / (2 * variance) - std::log(2 * M_PI * variance) / 2;
}

double pairs_won(const std::vector<double>& members, const std::vector<double>& others) {
    double won = 0;
    for (const double a : members)
        for (const double b : others) won += a > b ? 1 : a == b ? 0.5 : 0;
    return won / static_cast<double>(members.size() * others.size());
}

std::vector<Observed> drawn_persons(std::size_t count, double shift, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    std::vector<Observed> persons;
    for (std::size_t i = 0; i < count; ++i) {
        const double centre = 3 * normal(generator);
        Observed person{centre + (i % 2 == 0 ? shift : 0) + normal(generator)};
        for (int s = 0; s < 6; ++s) person.in.push_back(centre + shift + normal(generator));
        for (int s = 0; s < 5; ++s) person.out.push_back(centre + normal(generator));
        persons.push_back(person);
    }
    return persons;
}

AttackResult judged_by(const std::vector<double>& scores, std::vector<double> rates = {0.01, 0.1}) {
    std::vector<double> members, others;
    for (std::size_t i = 0; i < scores.size(); ++i) (i % 2 == 0 ? members : others).push_back(scores[i]);
    return judged_attack(members, others, rates, Rational(1, 20));
}

TEST(Membership, ConfidenceIsTheLogitOfTheSoftmax) {
    for (const std::vector<double>& logits : {std::vector<double>{1, -2}, {0.5, 0.25, 3}, {-40, 2, 2, 1}}) {
        double all = 0;
        for (const double logit : logits) all += std::exp(logit);
        for (std::size_t label = 0; label < logits.size(); ++label) {
            const double p = std::exp(logits[label]) / all;
            EXPECT_NEAR(logit_of_confidence(logits, label), std::log(p) - std::log(all / all - p), 1e-9);
        }
    }
    EXPECT_EQ(logit_of_confidence(std::vector<double>{2.5}, 1), 2.5);
    EXPECT_EQ(logit_of_confidence(std::vector<double>{2.5}, 0), -2.5);
    // Where a probability is 1 in double, its logit is not infinite.
    EXPECT_NEAR(logit_of_confidence(std::vector<double>{900, -900}, 0), 1800, 1e-9);
    EXPECT_EQ(logit_of_confidence(std::vector<double>{1e300, -1e300}, 1), -1e6);
}

TEST(Membership, ScoresAreTheFormulasByPlainLoops) {
    const std::vector<Observed> persons = drawn_persons(40, 0.7, 1);
    const std::vector<double> offline = offline_scores(persons), online = online_scores(persons);
    const double out = plain_variance(persons, false), in = plain_variance(persons, true);
    for (std::size_t i = 0; i < persons.size(); ++i) {
        EXPECT_NEAR(offline[i], (persons[i].target - plain_mean(persons[i].out)) / std::sqrt(out), 1e-12);
        EXPECT_NEAR(online[i],
                    log_density(persons[i].target, plain_mean(persons[i].in), in) -
                        log_density(persons[i].target, plain_mean(persons[i].out), out),
                    1e-12);
    }
}

TEST(Membership, RatesAndAreaAreThoseOfPlainLoops) {
    std::mt19937 generator(2);
    for (int trial = 0; trial < 40; ++trial) {
        std::vector<double> members, others;
        for (int i = 0; i < 60 + trial; ++i) members.push_back(static_cast<double>(generator() % 9));
        for (int i = 0; i < 90; ++i) others.push_back(static_cast<double>(generator() % 7));
        const AttackResult found = judged_attack(members, others, std::vector{0.02, 0.3}, Rational(1, 20));
        EXPECT_NEAR(found.auc.value, pairs_won(members, others), 1e-12);
        EXPECT_LE(found.auc.lowest, found.auc.value);
        EXPECT_GE(found.auc.highest, found.auc.value);
        for (const RatePoint& point : found.points) {
            // The best threshold among all scores that no more than so many of the others exceed.
            double best = 0;
            for (const double threshold : others) {
                const auto exceeds = [&](double score) { return score > threshold; };
                const auto wrong = std::count_if(others.begin(), others.end(), exceeds);
                if (static_cast<double>(wrong) > point.asked * 90) continue;
                best = std::max(best,
                                static_cast<double>(std::count_if(members.begin(), members.end(), exceeds)) /
                                    static_cast<double>(members.size()));
            }
            EXPECT_EQ(point.true_positives.value, best);
            EXPECT_LE(point.false_positives.value, point.asked);
            EXPECT_GE(point.false_positives.highest, point.false_positives.value);
        }
        EXPECT_TRUE(std::is_sorted(found.roc.begin(), found.roc.end()));
        EXPECT_EQ(found.roc.back(), std::pair(1.0, 1.0));
    }
}

TEST(Membership, IntervalsHoldTheTruthAsOftenAsTheySay) {
    // Members shifted by one deviation: AUC Phi(1/sqrt 2), and at the threshold that a tenth exceeds Phi(1
    // - 1.2816).
    const double area = 0.5 * std::erfc(-0.5), rate = 0.5 * std::erfc((1.2815516 - 1) / std::sqrt(2.0));
    std::mt19937 generator(3);
    std::normal_distribution<double> normal;
    int area_missed = 0, rate_missed = 0, bound_missed = 0;
    constexpr int trials = 300;
    for (int trial = 0; trial < trials; ++trial) {
        std::vector<double> members, others;
        for (int i = 0; i < 200; ++i) {
            members.push_back(1 + normal(generator));
            others.push_back(normal(generator));
        }
        const AttackResult found = judged_attack(members, others, std::vector{0.1}, Rational(1, 20));
        area_missed += area < found.auc.lowest || area > found.auc.highest;
        // The threshold's own rate of false positives, and the true one that is optimal there.
        std::sort(others.begin(), others.end(), std::greater<>());
        const double wrong = 0.5 * std::erfc(others[20] / std::sqrt(2.0));
        rate_missed += wrong > found.points[0].false_positives.highest;
        bound_missed +=
            found.points[0].true_positives.lowest >
            true_positives_at_most(Rational(1), Rational(found.points[0].false_positives.highest)).get_d();
    }
    EXPECT_LE(area_missed, trials / 20);
    EXPECT_LE(rate_missed, trials / 20);
    EXPECT_LE(bound_missed, trials / 20);
    EXPECT_NEAR(rate, true_positives_at_most(Rational(1), Rational(1, 10)).get_d(), 1e-6);
}

TEST(Membership, AModelThatMemorisesIsCaughtAndOneThatIsIndependentIsNot) {
    const AttackResult caught = judged_by(online_scores(drawn_persons(600, 4, 4)));
    EXPECT_GT(caught.auc.lowest, 0.95);
    EXPECT_GT(caught.points[0].true_positives.lowest, 0.8);
    for (const auto& scores :
         {offline_scores(drawn_persons(600, 0, 5)), online_scores(drawn_persons(600, 0, 6))}) {
        const AttackResult chance = judged_by(scores);
        EXPECT_LT(chance.auc.lowest, 0.5);
        EXPECT_GT(chance.auc.highest, 0.5);
        EXPECT_LT(chance.points[1].true_positives.lowest, 0.1);
    }
    // Shadows that all say the same say nothing.
    std::vector<Observed> same(60, Observed{1.5, {1.5, 1.5}, {1.5, 1.5}});
    EXPECT_EQ(judged_by(online_scores(same)).auc.value, 0.5);
}

TEST(Membership, BoundsAreThoseOfTheTheoremsAndNoLess) {
    const Rational slight = Rational(1) / power_of_two(30);
    // Gaussian: at the threshold t false positives are Phi(-t), true ones Phi(mu - t).
    for (const Rational& t : {Rational(0), Rational(1, 2), Rational(7, 3)})
        for (const Rational& mu : {Rational(0), Rational(1, 4), Rational(3)}) {
            const Rational exact = normal_tail_upper(t - mu),
                           found = true_positives_at_most(mu, normal_tail_upper(t));
            EXPECT_GE(found, normal_tail_lower(t - mu));
            EXPECT_LE(found, exact + slight);
        }
    // Randomised response attains both pieces: it tells the truth with probability e^eps/(1 + e^eps).
    for (const double epsilon : {0.1, 1.0, 3.0}) {
        const double truth = std::exp(epsilon) / (1 + std::exp(epsilon));
        for (const double part :
             {0.25, 1.0}) {  // says "member" at its answer yes with so much chance, and at no never
            const double wrong = part * (1 - truth), right = part * truth;
            const double found =
                true_positives_at_most(Rational(epsilon), Rational(0), Rational(wrong)).get_d();
            EXPECT_NEAR(found, right, 1e-9);
        }
        const double wrong = (1 - truth) + 0.5 * truth, right = truth + 0.5 * (1 - truth);
        EXPECT_NEAR(true_positives_at_most(Rational(epsilon), Rational(0), Rational(wrong)).get_d(), right,
                    1e-9);
    }
    EXPECT_EQ(true_positives_at_most(Rational(1), Rational(1, 10), Rational(1)), 1);
    EXPECT_GE(true_positives_at_most(Rational(0), Rational(1, 10), Rational(0)), Rational(1, 10));
    EXPECT_EQ(true_positives_at_most(Rational(2), Rational(0)), 0);
    EXPECT_EQ(true_positives_at_most(Rational(2), Rational(1)), 1);
}

}  // namespace
}  // namespace holdfast
