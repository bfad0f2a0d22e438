// Sessions and answers that one payment covers, as the ledger keeps them: charged once, drawn once, durable
// before anyone sees them, whatever crashes or races. And accounts of Gaussian privacy.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>

#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/mechanisms/outcome_law.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/ledger_queries.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace ledger_sessions_test {

using testing::HasSubstr;

const std::string proved = R"({"status":"proved"})";
const Rational hundredth(1, 100);

Account basic(const Rational& epsilon, const Rational& delta) {
    return {{epsilon, delta, std::nullopt}, "add_remove"};
}
Account gaussian(const Rational& epsilon, const Rational& delta) {
    Account account = basic(epsilon, delta);
    account.budget.gaussian = true;
    return account;
}
Payment payment(const std::string& token, const Rational& epsilon, const Rational& delta,
                const std::string& mechanism = "batch") {
    return {token, epsilon, delta, {}, mechanism, R"({"kind":"batch"})", proved};
}

std::vector<Digest> queries(int first, int count) {
    std::vector<Digest> result;
    for (int i = 0; i < count; ++i) result.push_back(query(first + i).front());
    return result;
}

/// All of one distance and label.
Ledger::Distances at(std::int64_t distance, int label = 1) {
    return [=](std::span<const std::size_t> asked) {
        Evidence evidence;
        evidence.distance = distance;
        evidence.label = label;
        return std::vector<Evidence>(asked.size(), evidence);
    };
}
std::vector<Evidence> never(std::span<const std::size_t>) {
    ADD_FAILURE() << "distances are asked for";
    return {};
}
std::vector<int> no_draw(std::span<const std::size_t>) {
    ADD_FAILURE() << "labels are drawn";
    return {};
}

/// All ones: the threshold is its greatest, and what can be answered at all is.
class Ones final : public RandomBits {
  public:
    void fill(std::span<std::byte> bytes) override { std::fill(bytes.begin(), bytes.end(), std::byte{0xff}); }
};

template <typename Action>
pid_t fork_job(Action action) {
    return fork_child([&] {
        action();
        return 0;
    });
}

/// With all ones a distance of 1000 is answered, and 0 refused.
const SessionTerms terms = session_terms(1, hundredth, 3);

struct SessionsTest : ::testing::Test {
    TemporaryFolder folder;
    std::string path = folder.file("ledger.db");
    Ones bits;
    SessionLaw law{terms};
    SessionOpening opening{"ward", "run", "program 1", payment("", terms.epsilon(), terms.delta, "session")};

    Ledger with_budget(const Rational& epsilon = 10) {
        Ledger ledger(path);
        ledger.add_version("people", "a", {}, basic(epsilon, Rational(1, 10)));
        ledger.add_version("people", "b", {});
        return ledger;
    }
    /// By whichever process finds that it was charged.
    void note_charge() const {
        std::ofstream(folder.file("charges"), std::ios::binary | std::ios::app) << '1';
    }
    std::size_t charges_noted() const { return folder.read("charges").size(); }
    /// The labels; 9 where a session had ended.
    std::vector<int> ask(Ledger& ledger, const std::vector<Digest>& asked,
                         const Ledger::Distances& distances) {
        std::vector<int> labels;
        for (const auto& answer : ledger.answer_in_session("a", opening, asked, law, distances, bits))
            labels.push_back(answer ? answer->label : 9);
        return labels;
    }
};

TEST_F(SessionsTest, AnyNumberOfAnswersIsPaidForAtOpening) {
    Ledger ledger = with_budget(1);
    EXPECT_FALSE(ledger.session("a", "ward"));
    EXPECT_EQ(ledger.open_session("a", opening, law, bits).state.refused, 0);
    EXPECT_EQ(ledger.spending("people")->epsilon, 1);
    EXPECT_EQ(ledger.spending("people")->delta, hundredth);
    EXPECT_EQ(ask(ledger, queries(0, 200), at(1000)), std::vector<int>(200, 1));
    EXPECT_EQ(ledger.spending("people")->epsilon, 1);
    EXPECT_EQ(ask(ledger, queries(0, 200), never), std::vector<int>(200, 1));  // remembered
    ledger.open_session("a", opening, law, bits);
    EXPECT_EQ(ledger.spending("people")->payments, 1);
    const auto all = ledger.terms("people");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].answers, 200);
    EXPECT_TRUE(all[0].together);
    EXPECT_EQ(all[0].epsilon, 1);
    EXPECT_EQ(all[0].mechanism, "session");
}

TEST_F(SessionsTest, RefusalsAreRememberedCountedAndEndIt) {
    Ledger ledger = with_budget();
    ledger.open_session("a", opening, law, bits);
    const std::vector<int> labels = ask(ledger, queries(0, 6), at(0));
    EXPECT_EQ(labels, (std::vector<int>{refused, refused, refused, 9, 9, 9}));
    EXPECT_EQ(ask(ledger, queries(0, 6), never), labels);
    EXPECT_TRUE(ledger.session("a", "ward")->ended());
    EXPECT_EQ(ask(ledger, queries(5000, 1), never), std::vector<int>{9});
    EXPECT_EQ(ledger.session("a", "ward")->refused, 3);
}

TEST_F(SessionsTest, ARefusalIsNoAnswerForOthers) {
    Ledger ledger = with_budget();
    ledger.open_session("a", opening, law, bits);
    while (ask(ledger, queries(0, 1), at(0)) == std::vector<int>{1})
        GTEST_SKIP() << "W = 0: one in a hundred";
    EXPECT_EQ(ask(ledger, queries(0, 1), never), std::vector<int>{refused});
    const auto answers =
        ledger.answer("a", {Rational(1, 2), 0, "stable_rr", proved}, queries(0, 1), always(0));
    EXPECT_EQ(answers[0].label, 0);
    EXPECT_FALSE(answers[0].together);
    EXPECT_EQ(ask(ledger, queries(0, 1), never), std::vector<int>{0});  // what is known is known to all
}

TEST_F(SessionsTest, WhatItRefusesWhileAnotherDrawsForItIsPaidForOnce) {
    Ledger ledger = with_budget();
    ledger.open_session("a", opening, law, bits);
    const Charge single{hundredth, 0, "stable_rr", proved};
    const auto answers = ledger.answer("a", single, queries(0, 1), [&](std::span<const std::size_t>) {
        EXPECT_EQ(ask(ledger, queries(0, 1), at(0)), std::vector<int>{refused});
        return std::vector<int>{1};
    });
    EXPECT_EQ(answers[0].label, 1);
    EXPECT_EQ(answers[0].mechanism, "stable_rr");
    EXPECT_EQ(ledger.spending("people")->answers, 1);
    EXPECT_EQ(ask(ledger, queries(0, 1), never), std::vector<int>{1});
}

TEST_F(SessionsTest, EqualQueriesOfOneRequestAreDrawnOnce) {
    Ledger ledger = with_budget();
    ledger.open_session("a", opening, law, bits);
    std::vector<Digest> asked = queries(0, 1);
    asked.insert(asked.end(), 50, asked.front());
    std::size_t evidence = 0;
    const auto labels = ask(ledger, asked, [&](std::span<const std::size_t> wanted) {
        evidence = wanted.size();
        return at(0)(wanted);
    });
    EXPECT_EQ(evidence, 1U);
    EXPECT_EQ(labels, std::vector<int>(51, labels.front()));
    EXPECT_EQ(ledger.session("a", "ward")->refused, 1);
}

TEST_F(SessionsTest, AnotherVersionRunOrProgramEndsIt) {
    Ledger ledger = with_budget();
    ledger.open_session("a", opening, law, bits);
    const auto message = [&](const std::string& dataset, const SessionOpening& other) {
        const Error error =
            error_of([&] { ledger.answer_in_session(dataset, other, queries(0, 1), law, never, bits); });
        EXPECT_EQ(error.code(), ExitCode::budget);
        return error.message();
    };
    EXPECT_THAT(message("b", opening), HasSubstr("another version of the data"));
    SessionOpening other = opening;
    other.run = "another";
    EXPECT_THAT(message("a", other), HasSubstr("another run"));
    other = opening;
    other.program = "program 2";
    EXPECT_THAT(message("a", other), HasSubstr("another program"));
    other = opening;
    other.name = "unknown";
    EXPECT_THAT(message("a", other), HasSubstr("no session 'unknown'"));
}

TEST_F(SessionsTest, OpenedMeanwhileAtOtherTermsItIsNotAskedByThose) {
    Ledger ledger = with_budget();
    ledger.open_session("a", opening, law, bits);
    const SessionLaw dearer(session_terms(5, hundredth, 3));
    SessionOpening late = opening;
    late.payment.epsilon = 5;
    EXPECT_EQ(ledger.open_session("a", late, dearer, bits).state.terms, terms);
    EXPECT_EQ(ledger.spending("people")->epsilon, 1);
    const Error error =
        error_of([&] { ledger.answer_in_session("a", late, queries(0, 1), dearer, never, bits); });
    EXPECT_EQ(error.code(), ExitCode::budget);
    EXPECT_THAT(error.message(), HasSubstr("other terms"));
}

TEST_F(SessionsTest, WhatWasSaidAtItsOpeningStays) {
    Ledger ledger = with_budget();
    ledger.open_session("a", opening, law, bits);
    EXPECT_EQ(ledger.session("a", "ward")->parameters, opening.payment.parameters);
    SessionOpening other = opening;
    other.payment.parameters = R"({"kind":"batch","queries_are_public":true})";
    EXPECT_FALSE(ledger.open_session("a", other, law, bits).charged);
    const Error error =
        error_of([&] { ledger.answer_in_session("a", other, queries(0, 1), law, never, bits); });
    EXPECT_EQ(error.code(), ExitCode::budget);
    EXPECT_THAT(error.message(), HasSubstr("other terms"));
}

TEST_F(SessionsTest, ALostThresholdIsNotDrawnAgain) {
    with_budget().open_session("a", opening, law, bits);
    run_sql(path, std::string("DELETE FROM sessions;") + as_layout_4);
    Ledger ledger(path);
    const Error error = error_of([&] { ledger.open_session("a", opening, law, bits); });
    EXPECT_EQ(error.code(), ExitCode::budget);
    EXPECT_THAT(error.message(), HasSubstr("is lost"));
}

TEST_F(SessionsTest, WhatDoesNotFitIsNotOpened) {
    Ledger ledger = with_budget(Rational(9, 10));
    EXPECT_EQ(error_of([&] { ledger.open_session("a", opening, law, bits); }).code(), ExitCode::budget);
    EXPECT_FALSE(ledger.session("a", "ward"));
    EXPECT_EQ(ledger.spending("people")->epsilon, 0);
}

TEST_F(SessionsTest, ProcessesThatAskAtOnceShareOneThresholdAndItsRefusals) {
    with_budget(1);
    std::vector<pid_t> children;
    for (int racer = 0; racer < 4; ++racer) {
        children.push_back(fork_job([&, racer] {
            Ledger ledger(path);
            Ones own;
            if (ledger.open_session("a", opening, law, own).charged) note_charge();
            ledger.answer_in_session("a", opening, queries(100 * racer, 40), law, at(0), own);
            ledger.answer_in_session("a", opening, queries(1000, 40), law, at(1000, racer % 2), own);
        }));
    }
    for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
    EXPECT_EQ(charges_noted(), 1U);
    Ledger ledger(path);
    EXPECT_EQ(ledger.spending("people")->payments, 1);
    EXPECT_EQ(ledger.session("a", "ward")->refused, 3);
    std::set<int> labels;
    for (const int label : ask(ledger, queries(1000, 40), never)) labels.insert(label);
    EXPECT_EQ(labels.size(), 1U);  // of one of them, whole; or none, where the session had ended before
}

// Between the draws and the store nobody has seen anything: nothing of it is there.
TEST_F(SessionsTest, AProcessKilledBeforeItStoredLeavesTheSessionAsItWas) {
    with_budget().open_session("a", opening, law, bits);
    const pid_t child = fork_job([&] {
        Ledger ledger(path);
        Ones own;
        ledger.answer_in_session(
            "a", opening, queries(0, 3), law,
            [](std::span<const std::size_t>) -> std::vector<Evidence> {
                raise(SIGKILL);
                return {};
            },
            own);
    });
    EXPECT_NE(wait_for(child), 0);
    Ledger ledger(path);
    EXPECT_EQ(ledger.session("a", "ward")->refused, 0);
    EXPECT_EQ(ledger.unanswered("a", queries(0, 3)), 3);
    EXPECT_EQ(ask(ledger, queries(0, 3), at(1000)), std::vector<int>(3, 1));
    EXPECT_EQ(ledger.spending("people")->payments, 1);
}

/// Bits of which nothing more comes after so many draws: the process is killed instead.
class FatalBits final : public RandomBits {
  public:
    explicit FatalBits(int draws) : left_(draws) {}
    void fill(std::span<std::byte> bytes) override {
        if (left_-- == 0) raise(SIGKILL);
        std::fill(bytes.begin(), bytes.end(), std::byte{0});
    }

  private:
    int left_;
};

TEST_F(SessionsTest, KilledInTheMiddleOfItsDrawsItHasStoredNone) {
    with_budget().open_session("a", opening, law, bits);
    const pid_t child = fork_job([&] {
        FatalBits fatal(2);
        Ledger(path).answer_in_session("a", opening, queries(0, 5), law, at(0), fatal);
    });
    EXPECT_NE(wait_for(child), 0);
    Ledger ledger(path);
    EXPECT_EQ(ledger.session("a", "ward")->refused, 0);
    EXPECT_EQ(ledger.unanswered("a", queries(0, 5)), 5);
}

TEST_F(SessionsTest, KilledWhileItOpensItIsNotPaidFor) {
    with_budget();
    const pid_t child = fork_job([&] {
        FatalBits fatal(0);
        Ledger(path).open_session("a", opening, law, fatal);
    });
    EXPECT_NE(wait_for(child), 0);
    Ledger ledger(path);
    EXPECT_EQ(ledger.spending("people")->payments, 0);
    EXPECT_FALSE(ledger.session("a", "ward"));
}

struct TogetherTest : SessionsTest {};

TEST_F(TogetherTest, AllAreChargedOnceAndRemembered) {
    Ledger ledger = with_budget(1);
    const auto [answers, charged] =
        ledger.answer_together("a", payment("file", 1, hundredth), queries(0, 30), always(1));
    EXPECT_TRUE(charged);
    EXPECT_FALSE(ledger.answer_together("a", payment("file", 1, hundredth), queries(0, 30), no_draw).charged);
    EXPECT_EQ(answers.size(), 30U);
    for (const LedgerAnswer& answer : answers) {
        EXPECT_EQ(answer.label, 1);
        EXPECT_TRUE(answer.together && !answer.remembered);
        EXPECT_EQ(answer.epsilon, 1);
    }
    EXPECT_EQ(ledger.spending("people")->epsilon, 1);
    EXPECT_TRUE(
        ledger.answer_together("a", payment("other", 1, 0), queries(0, 30), no_draw).answers[7].remembered);
    EXPECT_EQ(error_of([&] {
                  ledger.answer_together("a", payment("other", 1, 0), queries(40, 1), no_draw);
              }).code(),
              ExitCode::budget);
    EXPECT_EQ(ledger.spending("people")->payments, 1);
}

TEST_F(TogetherTest, OnlyWhatIsNewIsDrawn) {
    Ledger ledger = with_budget();
    ledger.answer("a", {Rational(1, 2), 0, "stable_rr", proved}, queries(0, 2), always(0));
    EXPECT_EQ(ledger.unanswered("a", queries(0, 5)), 3);
    std::vector<std::size_t> drawn;
    const auto answers = ledger
                             .answer_together("a", payment("file", 1, 0), queries(0, 5),
                                              [&](std::span<const std::size_t> asked) {
                                                  drawn.assign(asked.begin(), asked.end());
                                                  return std::vector<int>(asked.size(), 1);
                                              })
                             .answers;
    EXPECT_EQ(drawn, (std::vector<std::size_t>{2, 3, 4}));
    EXPECT_EQ(answers[0].label, 0);
    EXPECT_EQ(answers[4].label, 1);
}

TEST_F(TogetherTest, ARefusedBatchIsPaidForAndNotDrawnAgain) {
    Ledger ledger = with_budget();
    const Payment batch = payment("batch", 1, hundredth);
    for (const auto& answer : ledger.answer_together("a", batch, queries(0, 3), always(refused)).answers)
        EXPECT_EQ(answer.label, refused);
    for (const auto& answer : ledger.answer_together("a", batch, queries(0, 3), no_draw).answers)
        EXPECT_EQ(answer.label, refused);
    EXPECT_EQ(ledger.spending("people")->epsilon, 1);
    // One of them is answered otherwise; then another batch is refused with it: the first is not drawn again.
    ledger.answer("a", {Rational(1, 2), 0, "stable_rr", proved}, queries(0, 1), always(0));
    ledger.answer_together("a", payment("second", 1, hundredth), queries(1, 1), always(refused));
    const auto again = ledger.answer_together("a", batch, queries(0, 3), no_draw).answers;
    EXPECT_EQ(again[0].label, 0);
    EXPECT_EQ(again[1].label, refused);
    EXPECT_EQ(again[2].label, refused);
}

TEST_F(TogetherTest, AProcessKilledAfterItPaidHasPaidAndIsAnsweredLater) {
    with_budget(1);
    const pid_t child = fork_job([&] {
        Ledger(path).answer_together("a", payment("file", 1, 0), queries(0, 3),
                                     [](std::span<const std::size_t>) -> std::vector<int> {
                                         raise(SIGKILL);
                                         return {};
                                     });
    });
    EXPECT_NE(wait_for(child), 0);
    Ledger ledger(path);
    EXPECT_EQ(ledger.spending("people")->epsilon, 1);
    EXPECT_EQ(ledger.answer_together("a", payment("file", 1, 0), queries(0, 3), always(1)).answers[2].label,
              1);
    EXPECT_EQ(ledger.spending("people")->epsilon, 1);
}

TEST_F(TogetherTest, OfProcessesThatAskAtOnceOneAnswersAll) {
    with_budget(1);
    std::vector<pid_t> children;
    for (int racer = 0; racer < 4; ++racer) {
        children.push_back(fork_job([&, racer] {
            if (Ledger(path)
                    .answer_together("a", payment("file", 1, 0), queries(0, 60), always(racer))
                    .charged)
                note_charge();
        }));
    }
    for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
    EXPECT_EQ(charges_noted(), 1U);
    Ledger ledger(path);
    std::set<int> labels;
    for (const auto& answer :
         ledger.answer_together("a", payment("file", 1, 0), queries(0, 60), no_draw).answers)
        labels.insert(answer.label);
    EXPECT_EQ(labels.size(), 1U);
    EXPECT_EQ(ledger.spending("people")->payments, 1);
}

// The second draws while the first does: it stores first, and what the first drew is dropped, whole.
TEST_F(TogetherTest, WhatIsDrawnAtOnceIsDrawnOnce) {
    for (const int stored : {0, refused}) {
        Ledger ledger = with_budget();
        const Payment file = payment("file" + std::to_string(stored), 1, 0);
        const std::vector<Digest> asked = queries(100 * stored, 5);
        const auto answers =
            ledger
                .answer_together("a", file, asked,
                                 [&](std::span<const std::size_t> missing) {
                                     Ledger(path).answer_together("a", file, asked, always(stored));
                                     return std::vector<int>(missing.size(), 1);
                                 })
                .answers;
        for (const LedgerAnswer& answer : answers) EXPECT_EQ(answer.label, stored);
        EXPECT_EQ(ledger.terms("people").back().answers, 5);
    }
}

struct GaussianAccountTest : SessionsTest {};

TEST_F(GaussianAccountTest, AnswersAddTheirMuSquared) {
    Ledger ledger(path);
    const Rational delta(1, 100000), tenth(1, 10), mu = gaussian_mu(tenth, delta / 100),
                                                   all = gaussian_mu(1, delta);
    ledger.add_version("people", "a", {}, gaussian(1, delta));
    const Charge charge{tenth, delta / 100, "stable_gauss", proved, true};
    const int fitting = static_cast<int>(floor(all * all / (mu * mu)).get_si());
    ASSERT_GT(fitting, 10);  // of the basic sum
    ledger.answer("a", charge, queries(0, fitting), always(1));
    const Spending spent = *ledger.spending("people");
    EXPECT_LE(spent.epsilon, 1);
    EXPECT_GE(spent.epsilon, Rational(9, 10));
    EXPECT_EQ(spent.delta, delta);
    const Error error = error_of([&] { ledger.answer("a", charge, queries(-1, 1), no_draw); });
    EXPECT_EQ(error.code(), ExitCode::budget);
}

TEST_F(GaussianAccountTest, PureAnswersAndPaymentsJoin) {
    Ledger ledger(path);
    const Rational delta(1, 100000), all = gaussian_mu(1, delta), pure = gaussian_mu_of_pure(Rational(1, 10));
    ledger.add_version("people", "a", {}, gaussian(1, delta));
    ledger.answer("a", {Rational(1, 10), 0, "stable_rr", proved}, queries(0, 2), always(1));
    Payment training = payment("training", 1, delta, "noisy_training");
    training.mu_squared = all * all - 2 * pure * pure;
    EXPECT_TRUE(ledger.pay("a", training));  // to the last bit
    training.token = "another";
    training.mu_squared = Rational(1, power_of_two(200));
    EXPECT_EQ(error_of([&] { ledger.pay("a", training); }).code(), ExitCode::budget);
}

TEST_F(GaussianAccountTest, WhatHasNoMuIsRefused) {
    Ledger ledger(path);
    ledger.add_version("people", "a", {}, gaussian(1, Rational(1, 1000)));
    const Error answer = error_of([&] {
        ledger.answer("a", {Rational(1, 100), Rational(1, 1000000), "ptr", proved}, queries(0, 1), no_draw);
    });
    EXPECT_EQ(answer.code(), ExitCode::budget);
    EXPECT_THAT(answer.message(), HasSubstr("ptr has no mu"));
    EXPECT_EQ(error_of([&] { ledger.pay("a", payment("t", Rational(1, 100), Rational(1, 1000000))); }).code(),
              ExitCode::budget);
    EXPECT_EQ(error_of([&] { ledger.open_session("a", opening, law, bits); }).code(), ExitCode::budget);
    EXPECT_TRUE(ledger.pay("a", payment("t", Rational(1, 100), 0)));  // pure, it has one
    EXPECT_EQ(ledger.spending("people")->payments, 1);
}

TEST_F(GaussianAccountTest, ADeltaAloneIsOfWhatIsSetApart) {
    Ledger ledger(path);
    Account terms = gaussian(1, Rational(1, 100000));
    terms.budget.delta_apart = Rational(1, 1000000);
    ledger.add_version("people", "a", {}, terms);
    const Rational rest(9, 1000000), all = gaussian_mu(1, rest);
    EXPECT_TRUE(ledger.pay("a", payment("names", 0, Rational(3, 5000000))));
    EXPECT_EQ(ledger.spending("people")->delta, Rational(3, 5000000));
    EXPECT_EQ(ledger.spending("people")->epsilon, 0);
    const Error more = error_of([&] { ledger.pay("a", payment("more names", 0, Rational(1, 2000000))); });
    EXPECT_EQ(more.code(), ExitCode::budget);
    EXPECT_THAT(more.hint(), HasSubstr("4e-07 is left"));
    Payment training = payment("training", 1, rest, "noisy_training");
    training.mu_squared = all * all + Rational(1, power_of_two(200));
    EXPECT_EQ(error_of([&] { ledger.pay("a", training); }).code(), ExitCode::budget);
    training.mu_squared = all * all;
    EXPECT_TRUE(ledger.pay("a", training));  // read at what is not set apart, to the last bit
    EXPECT_TRUE(ledger.pay("a", payment("more names", 0, Rational(1, 2500000))));
    EXPECT_EQ(ledger.spending("people")->delta, Rational(1, 100000));
    EXPECT_GT(ledger.spending("people")->epsilon, Rational(999999, 1000000));
    // One that is almost no mu has one all the same, and nothing apart pays for it.
    training.token = "little";
    training.epsilon = 0;
    training.mu_squared = Rational(1, power_of_two(200));
    EXPECT_EQ(error_of([&] { ledger.pay("a", training); }).code(), ExitCode::budget);
    Account none = gaussian(1, Rational(1, 100000));
    ledger.add_version("others", "b", {}, none);
    EXPECT_EQ(error_of([&] { ledger.pay("b", payment("names", 0, Rational(1, 10000000))); }).code(),
              ExitCode::budget);
    none.budget.delta_apart = none.budget.delta;
    EXPECT_EQ(error_of([&] { ledger.open_account("third", none); }).code(), ExitCode::usage);
}

TEST_F(GaussianAccountTest, IsOpenedWithADeltaAndOneRule) {
    Ledger ledger(path);
    EXPECT_EQ(error_of([&] { ledger.open_account("p", gaussian(1, 0)); }).code(), ExitCode::usage);
    Account two = gaussian(1, hundredth);
    two.budget.fixed_epsilon = hundredth;
    EXPECT_EQ(error_of([&] { ledger.open_account("p", two); }).code(), ExitCode::usage);
    ledger.open_account("p", gaussian(1, hundredth));
    EXPECT_EQ(error_of([&] { ledger.open_account("p", basic(1, hundredth)); }).code(), ExitCode::budget);
    EXPECT_TRUE(Ledger(path).account("p")->budget.gaussian);
    EXPECT_STREQ(composition_of(Ledger(path).account("p")->budget), "gdp");
}

TEST_F(SessionsTest, ALedgerOfLayoutThreeKeepsEverythingAndTakesSessions) {
    {
        Ledger ledger = with_budget(3);
        ledger.answer("a", {Rational(1, 2), 0, "stable_rr", proved}, queries(0, 1), always(1));
        ledger.pay("a", payment("training", 1, 0, "noisy_training"));
    }
    // What layout 4 added, taken away.
    run_sql(
        path,
        std::string(as_layout_4) +
            "DROP TABLE sessions; ALTER TABLE accounts DROP COLUMN gaussian; ALTER TABLE payments DROP "
            "COLUMN "
            "mu_squared; CREATE TABLE kept AS SELECT id, account, dataset, query, epsilon, delta, mechanism, "
            "guarantee, time FROM charges; DROP TABLE charges; ALTER TABLE kept RENAME TO charges; "
            "PRAGMA user_version = 3;");
    Ledger ledger(path);
    EXPECT_EQ(ledger.spending("people")->epsilon, Rational(3, 2));
    EXPECT_EQ(ledger.answer("a", {Rational(1, 2), 0, "stable_rr", proved}, queries(0, 1), no_draw)[0].label,
              1);
    EXPECT_FALSE(ledger.account("people")->budget.gaussian);
    ledger.open_session("a", opening, law, bits);
    EXPECT_EQ(ask(ledger, queries(0, 5), at(1000)), std::vector<int>(5, 1));
    EXPECT_EQ(ledger.spending("people")->epsilon, Rational(5, 2));
}

TEST_F(SessionsTest, WhatOnlyLooksLikeLayoutThreeIsRefusedAndLeftAsItWas) {
    with_budget();
    run_sql(path, "DROP TABLE sessions; DROP TABLE results; PRAGMA user_version = 3;");
    const std::string before = folder.read("ledger.db");
    EXPECT_EQ(error_of([&] { Ledger ledger(path); }).code(), ExitCode::input);
    EXPECT_EQ(folder.read("ledger.db"), before);
}

}  // namespace ledger_sessions_test
}  // namespace holdfast
