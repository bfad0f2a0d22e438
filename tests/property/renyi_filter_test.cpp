// The rule of a Renyi account against someone who chooses every release by the answers so far: of the
// releases that the ledger lets pass, the exact delta at the budget's epsilon stays within the budget
// (models/privacy/mathematics.md, renyi filter).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "models/privacy/accountant/renyi.hpp"
#include "tests/support/ledger_queries.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

const Rational epsilon = 1, delta(1, 100000);

/// A release by the probabilities of its outcomes on two neighbours.
struct Release {
    Payment payment;
    std::vector<std::pair<double, double>> law;
};

/// Of the given order, one way: log of a sum of powers, by its greatest term.
double renyi(const std::vector<std::pair<double, double>>& law, double order) {
    std::vector<double> logs;
    for (const auto& [p, q] : law) logs.push_back(order * std::log(p) + (1 - order) * std::log(q));
    const double greatest = *std::max_element(logs.begin(), logs.end());
    double sum = 0;
    for (const double term : logs) sum += std::exp(term - greatest);
    return std::max(0.0, greatest + std::log(sum)) / (order - 1);
}

/// "Yes" with probability q, or ratio times that.
Release rare(double q, double ratio) {
    const std::vector<std::pair<double, double>> law{{q * ratio, q}, {1 - q * ratio, 1 - q}};
    const std::vector<std::pair<double, double>> back{{q, q * ratio}, {1 - q, 1 - q * ratio}};
    std::vector<Rational> curve;
    for (const std::int64_t order : renyi_orders()) {
        const auto a = static_cast<double>(order);
        curve.push_back(decimal_value(std::max(renyi(law, a), renyi(back, a)) * (1 + 1e-9), "rho"));
    }
    const double loss = std::max(std::log(ratio), std::log((1 - q) / (1 - q * ratio))) * (1 + 1e-9);
    return {{"", decimal_value(loss, "epsilon"), 0, curve, "rare", "{}", "{}"}, law};
}

/// The worst of all (loss, failure)-private releases: it tells the neighbours apart with probability
/// `failure`, and answers at random otherwise.
Release failing(double loss, double failure) {
    const double rest = 1 - failure, truth = rest * std::exp(loss) / (1 + std::exp(loss)), lie = rest - truth;
    return {{"", decimal_value(loss, "epsilon"), decimal_value(failure, "delta"), {}, "failing", "{}", "{}"},
            {{failure, 0}, {0, failure}, {truth, lie}, {lie, truth}}};
}

using History = std::vector<Release>;
using Outcomes = std::vector<std::size_t>;
/// May the last release of a history be made after the others?
using Rule = std::function<bool(const History&)>;
/// What is asked for next, the most wanted first, by what was answered.
using Adversary = std::function<std::vector<Release>(const Outcomes&)>;

/// delta(epsilon) of all that the rule lets the adversary see in so many rounds.
double exact_delta(const Rule& rule, const Adversary& adversary, int rounds, const History& history = {},
                   const Outcomes& outcomes = {}, double p = 1, double q = 1) {
    const double excess = std::max(0.0, p - std::exp(epsilon.get_d()) * q);
    if (rounds == 0) return excess;
    for (const Release& wanted : adversary(outcomes)) {
        History longer = history;
        longer.push_back(wanted);
        if (!rule(longer)) continue;
        double sum = 0;
        for (std::size_t outcome = 0; outcome < wanted.law.size(); ++outcome) {
            Outcomes seen = outcomes;
            seen.push_back(outcome);
            sum += exact_delta(rule, adversary, rounds - 1, longer, seen, p * wanted.law[outcome].first,
                               q * wanted.law[outcome].second);
        }
        return sum;
    }
    return excess;
}

/// The ledger's own, in accounts that set a part of the delta apart.
class LedgerRule {
  public:
    explicit LedgerRule(const Rational& apart) {
        const std::int64_t order = order_for_budget(epsilon, delta - apart);
        Ledger(folder_.file("opened.db"))
            .add_version("ward", "a", {},
                         Account{{epsilon, delta, std::nullopt, order, apart}, "add_remove"});
    }
    bool operator()(const History& history) const {
        const std::string path = folder_.file("ledger.db");
        std::filesystem::copy_file(folder_.file("opened.db"), path,
                                   std::filesystem::copy_options::overwrite_existing);
        Ledger ledger(path);
        try {
            for (std::size_t i = 0; i < history.size(); ++i) {
                Payment payment = history[i].payment;
                payment.token = std::to_string(i);
                ledger.pay("a", payment);
            }
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::budget);
            return false;
        }
        return true;
    }

  private:
    TemporaryFolder folder_;
};

/// The curve read at whatever delta the other releases have left: not the ledger's.
bool reads_what_is_left(const History& history) {
    const std::int64_t order = order_for_budget(epsilon, delta);
    const auto place = static_cast<std::size_t>(
        std::lower_bound(renyi_orders().begin(), renyi_orders().end(), order) - renyi_orders().begin());
    Rational rho = 0, losses = 0, failures = 0;
    for (const Release& release : history) {
        if (release.payment.curve.empty()) {
            losses += release.payment.epsilon;
            failures += release.payment.delta;
        } else {
            rho += release.payment.curve[place];
        }
    }
    return failures < delta && epsilon_of_renyi(order, rho, delta - failures) + losses <= epsilon;
}

/// After a rare "yes" curves again, after "no" a second delta: what the rule above cannot bear.
std::vector<Release> spends_two_deltas(const Outcomes& outcomes) {
    if (outcomes.empty())
        return {rare(1.86e-4, std::exp(.74)), rare(1e-4, std::exp(.7)), rare(1e-5, std::exp(.8))};
    if (outcomes[0] == 0) return {rare(.314, std::exp(.32)), rare(.2, std::exp(.3)), rare(.1, std::exp(.3))};
    std::vector<Release> failures;
    for (const double part : {.99, .7, .5, .25, .1, .01})
        failures.push_back(failing(0, part * delta.get_d()));
    return failures;
}

TEST(RenyiFilter, ReadingCurvesAtTheDeltaThatIsLeftWouldSpendItTwice) {
    EXPECT_GT(exact_delta(reads_what_is_left, spends_two_deltas, 2), 1.9 * delta.get_d());
}

TEST(RenyiFilter, ADeltaSetApartIsNotSpentTwice) {
    for (const Rational& apart :
         {Rational(0), Rational(delta / 4), Rational(delta / 2), Rational(delta * 9 / 10)}) {
        const LedgerRule rule(apart);
        const double spent = exact_delta(std::cref(rule), spends_two_deltas, 2);
        EXPECT_LE(spent, delta.get_d()) << apart;
        EXPECT_GT(spent, .02 * delta.get_d()) << apart;  // something was let pass
    }
}

TEST(RenyiFilter, NoChoiceByAnswersSpendsMoreThanTheBudget) {
    const LedgerRule rule(delta / 4);
    std::mt19937 random(7);
    for (int trial = 0; trial < 12; ++trial) {
        const unsigned seed = random();
        // By its answers each asks for something else, the largest that passes first in every second world.
        const Adversary adversary = [seed](const Outcomes& outcomes) {
            std::seed_seq sequence(outcomes.begin(), outcomes.end());
            std::vector<unsigned> word(1);
            sequence.generate(word.begin(), word.end());
            std::mt19937 choice(seed ^ word[0]);
            const auto uniform = [&](double low, double high) {
                return std::uniform_real_distribution<double>(low, high)(choice);
            };
            std::vector<Release> menu;
            for (int i = 0; i < 4; ++i) {
                menu.push_back(rare(std::exp(uniform(-12, -1)), std::exp(uniform(.1, .9))));
                menu.push_back(failing(uniform(0, .4), delta.get_d() / std::exp(uniform(1, 4))));
            }
            if (seed % 2 == 0)
                std::sort(menu.begin(), menu.end(), [](const Release& one, const Release& other) {
                    return one.payment.epsilon + one.payment.delta * 100000 >
                           other.payment.epsilon + other.payment.delta * 100000;
                });
            return menu;
        };
        EXPECT_LE(exact_delta(std::cref(rule), adversary, 3), delta.get_d()) << "seed " << seed;
    }
}

}  // namespace
}  // namespace holdfast
