// What is paid for once, as a whole, and the rule by which an account composes it with everything else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "models/privacy/accountant/renyi.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/ledger_queries.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace ledger_payments_test {

using testing::HasSubstr;

const std::string proved = R"({"status":"proved"})";
const Charge half{Rational(1, 2), 0, "stable_rr", proved};
const Rational millionth(1, 1000000);

Payment payment(const std::string& token, const Rational& epsilon, const Rational& delta,
                const std::vector<Rational>& curve = {}) {
    return {token, epsilon, delta, curve, "noisy", R"({"steps":10})", proved};
}

/// At every order alike.
std::vector<Rational> flat(const Rational& rho) {
    return std::vector<Rational>(renyi_orders().size(), rho);
}

Account basic(const Rational& epsilon, const Rational& delta) {
    return {{epsilon, delta, std::nullopt}, "add_remove"};
}

Account renyi(const Rational& epsilon, const Rational& delta, const Rational& apart = 0) {
    return {{epsilon, delta, std::nullopt, order_for_budget(epsilon, delta), apart}, "add_remove"};
}

struct PaymentsTest : ::testing::Test {
    TemporaryFolder folder;
    std::string path = folder.file("ledger.db");
};

TEST_F(PaymentsTest, ATextIsBoughtOnceAndTheSameForEver) {
    Ledger ledger(path);
    ledger.add_version("ward", "a", {}, basic(1, millionth));
    int draws = 0;
    const auto draw = [&] { return "drawn " + std::to_string(++draws); };
    const BoughtText first = ledger.buy("a", payment("token", Rational(1, 2), 0), draw);
    EXPECT_TRUE(first.charged);
    EXPECT_EQ(first.text, "drawn 1");
    const BoughtText again = Ledger(path).buy("a", payment("token", Rational(1, 2), 0), draw);
    EXPECT_FALSE(again.charged);
    EXPECT_EQ(again.text, "drawn 1");
    EXPECT_EQ(draws, 1);
    EXPECT_EQ(ledger.spending("ward")->epsilon, Rational(1, 2));
    EXPECT_EQ(ledger.payments("ward").front().result, "drawn 1");
    EXPECT_THROW(ledger.buy("a", payment("other", 1, 0), draw), Error);  // does not fit: nothing is drawn
    EXPECT_EQ(draws, 1);
}

TEST_F(PaymentsTest, ACrashBeforeATextIsKeptCostsNothingMoreAndShowsNothing) {
    {
        Ledger ledger(path);
        ledger.add_version("ward", "a", {}, basic(1, millionth));
    }
    const Payment half_of_it = payment("token", Rational(1, 2), 0);
    const pid_t child = fork_child([&] {
        Ledger(path).buy("a", half_of_it, []() -> std::string {
            std::raise(SIGKILL);
            return "never";
        });
        return 0;
    });
    EXPECT_EQ(wait_for(child), -SIGKILL);
    Ledger ledger(path);
    EXPECT_EQ(ledger.spending("ward")->epsilon, Rational(1, 2));
    EXPECT_EQ(ledger.payments("ward").front().result, "");
    const BoughtText bought = ledger.buy("a", half_of_it, [] { return std::string("drawn"); });
    EXPECT_FALSE(bought.charged);
    EXPECT_EQ(bought.text, "drawn");
    EXPECT_EQ(ledger.spending("ward")->epsilon, Rational(1, 2));
}

TEST_F(PaymentsTest, OfTwoDrawsOfATextTheFirstThatIsKeptCounts) {
    Ledger ledger(path);
    ledger.add_version("ward", "a", {}, basic(1, millionth));
    const Payment half_of_it = payment("token", Rational(1, 2), 0);
    const BoughtText slow = ledger.buy("a", half_of_it, [&] {
        Ledger(path).buy("a", half_of_it, [] { return std::string("quick"); });
        return std::string("slow");
    });
    EXPECT_EQ(slow.text, "quick");
}

TEST_F(PaymentsTest, ATokenOfATextIsOfOneLedger) {
    Ledger ledger(path), other(folder.file("other.db"));
    EXPECT_EQ(ledger.token_of("text").size(), 64U);
    EXPECT_EQ(ledger.token_of("text"), Ledger(path).token_of("text"));
    EXPECT_NE(ledger.token_of("text"), ledger.token_of("texts"));
    EXPECT_NE(ledger.token_of("text"), other.token_of("text"));
}

TEST_F(PaymentsTest, ATokenIsChargedOnceADataset) {
    Ledger ledger(path);
    ledger.add_version("ward", "a", {}, basic(1, millionth));
    ledger.add_version("ward", "b", {});
    EXPECT_FALSE(ledger.paid("a", "token"));
    EXPECT_TRUE(ledger.pay("a", payment("token", Rational(1, 2), millionth / 2)));
    EXPECT_TRUE(ledger.paid("a", "token"));
    EXPECT_FALSE(ledger.paid("b", "token"));
    EXPECT_FALSE(ledger.pay("a", payment("token", 900, Rational(1, 2))));  // whatever else it says
    EXPECT_EQ(ledger.spending("ward")->epsilon, Rational(1, 2));
    EXPECT_TRUE(ledger.pay("b", payment("token", Rational(1, 2), millionth / 2)));  // other records
    EXPECT_EQ(ledger.spending("ward")->epsilon, 1);
    EXPECT_EQ(ledger.spending("ward")->delta, millionth);
    EXPECT_EQ(ledger.spending("ward")->payments, 2);
    EXPECT_EQ(ledger.spending("ward")->answers, 0);
    EXPECT_FALSE(ledger.pay("a", payment("token", 1, 0)));  // paid for, though nothing is left
}

TEST_F(PaymentsTest, WhatDoesNotFitIsRefusedExactlyAndLeavesNothing) {
    Ledger ledger(path);
    ledger.add_version("ward", "a", {}, basic(1, millionth));
    ledger.pay("a", payment("first", Rational(1, 3), millionth));
    const Error over =
        error_of([&] { ledger.pay("a", payment("second", Rational(2, 3) + Rational(1, 1 << 30), 0)); });
    EXPECT_EQ(over.code(), ExitCode::budget);
    EXPECT_THAT(over.message(), HasSubstr("nothing was charged"));
    EXPECT_THAT(over.message(), HasSubstr("is spent on 1 payments; "));
    EXPECT_EQ(error_of([&] { ledger.pay("a", payment("second", Rational(1, 9), millionth / 9)); }).code(),
              ExitCode::budget);
    EXPECT_FALSE(ledger.paid("a", "second"));
    EXPECT_EQ(ledger.spending("ward")->epsilon, Rational(1, 3));
    // What it says is left is no more than is: it can be paid.
    EXPECT_THAT(over.hint(), HasSubstr("delta 0 are left"));
    const std::string left = over.hint().substr(8, over.hint().find(',') - 8);
    EXPECT_LT(parse_rational(left, "left"), Rational(2, 3));
    EXPECT_GT(parse_rational(left, "left"), Rational(2, 3) - Rational(1, 1 << 30));
    EXPECT_TRUE(ledger.pay("a", payment("second", parse_rational(left, "left"), 0)));
    EXPECT_EQ(error_of([&] { ledger.pay("unknown", payment("t", 1, 0)); }).code(), ExitCode::budget);
}

TEST_F(PaymentsTest, ThatCannotBeMeantAreRefused) {
    Ledger ledger(path);
    ledger.add_version("ward", "a", {}, basic(1, Rational(1, 2)));
    for (const Payment& bad : {payment("", 1, 0), payment("t", -1, 0), payment("t", 0, 0), payment("t", 1, 1),
                               payment("t", 2000000, 0), payment("t", 0, Rational(-1, 2))})
        EXPECT_EQ(error_of([&] { ledger.pay("a", bad); }).code(), ExitCode::usage) << bad.epsilon;
    EXPECT_EQ(error_of([&] { ledger.pay("a", payment("t", 1, 0, {1, 2})); }).code(), ExitCode::internal);
    EXPECT_EQ(error_of([&] { ledger.pay("a", payment("t", 1, 0, flat(-1))); }).code(), ExitCode::internal);
    EXPECT_TRUE(ledger.pay("a", payment("t", 0, Rational(1, 2))));  // a total variation
    EXPECT_EQ(error_of([&] { ledger.pay("a", payment("u", 0, millionth)); }).code(), ExitCode::budget);
}

TEST_F(PaymentsTest, AnswersAndPaymentsShareOneBudget) {
    Ledger ledger(path);
    ledger.add_version("ward", "a", {}, basic(1, 0));
    ledger.answer("a", half, query(1), always(0));
    EXPECT_EQ(error_of([&] { ledger.pay("a", payment("t", Rational(51, 100), 0)); }).code(),
              ExitCode::budget);
    ledger.pay("a", payment("t", Rational(1, 2), 0));
    EXPECT_EQ(error_of([&] { ledger.answer("a", half, query(2), always(0)); }).code(), ExitCode::budget);
}

TEST_F(PaymentsTest, AnAccountOfFixedEpsilonPaysForAnswersAlone) {
    Ledger ledger(path);
    ledger.add_version("ward", "a", {}, Account{{10, millionth, Rational(1, 100)}, "add_remove"});
    const Error error = error_of([&] { ledger.pay("a", payment("t", Rational(1, 100), 0, flat(0))); });
    EXPECT_EQ(error.code(), ExitCode::budget);
    EXPECT_THAT(error.message(), HasSubstr("for answers at epsilon 0.01 each, and for nothing else"));
    EXPECT_FALSE(ledger.paid("a", "t"));
}

TEST_F(PaymentsTest, OfProcessesRacingForTheLastOfABudgetOneWins) {
    for (const Account& terms : {basic(1, millionth), renyi(1, millionth)}) {
        const std::string file = folder.file(terms.budget.renyi_order ? "renyi.db" : "basic.db");
        const Rational all =
            terms.budget.renyi_order ? renyi_budget(*terms.budget.renyi_order, 1, millionth) : Rational(0);
        { Ledger(file).add_version("ward", "a", {}, terms); }
        std::vector<pid_t> children;
        for (int racer = 0; racer < 6; ++racer) {
            children.push_back(fork_child([&, racer] {
                const Payment one = payment("token " + std::to_string(racer), 1, millionth, flat(all));
                return Ledger(file).pay("a", one) ? 0 : 1;
            }));
        }
        std::vector<int> codes;
        for (const pid_t child : children) codes.push_back(wait_for(child));
        EXPECT_EQ(std::count(codes.begin(), codes.end(), 0), 1);
        EXPECT_EQ(std::count(codes.begin(), codes.end(), static_cast<int>(ExitCode::budget)), 5);
        EXPECT_EQ(Ledger(file).spending("ward")->payments, 1);
    }
}

TEST_F(PaymentsTest, OfProcessesThatPayForOneTokenAtOnceOneIsCharged) {
    { Ledger(path).add_version("ward", "a", {}, basic(1, 0)); }
    std::vector<pid_t> children;
    for (int racer = 0; racer < 6; ++racer)
        children.push_back(fork_child([&] { return Ledger(path).pay("a", payment("t", 1, 0)) ? 10 : 11; }));
    std::vector<int> codes;
    for (const pid_t child : children) codes.push_back(wait_for(child));
    EXPECT_EQ(std::count(codes.begin(), codes.end(), 10), 1);
    EXPECT_EQ(std::count(codes.begin(), codes.end(), 11), 5);
}

TEST_F(PaymentsTest, AProcessKilledAfterItPaidHasPaid) {
    { Ledger(path).add_version("ward", "a", {}, basic(1, 0)); }
    const pid_t child = fork_child([&] {
        Ledger(path).pay("a", payment("t", 1, 0));
        return raise(SIGKILL);
    });
    EXPECT_EQ(wait_for(child), -SIGKILL);
    Ledger ledger(path);
    EXPECT_EQ(ledger.spending("ward")->epsilon, 1);
    EXPECT_FALSE(ledger.pay("a", payment("t", 1, 0)));  // begun again, for nothing
    EXPECT_EQ(ledger.spending("ward")->payments, 1);
}

TEST_F(PaymentsTest, APaymentBuysOneResult) {
    Ledger ledger(path);
    ledger.add_version("ward", "a", {}, basic(1, 0));
    EXPECT_EQ(error_of([&] { ledger.record_result("a", "t", "r1"); }).code(), ExitCode::budget);
    ledger.pay("a", payment("t", Rational(1, 2), 0));
    EXPECT_EQ(ledger.payments("ward").at(0).result, "");
    ledger.record_result("a", "t", "r1");
    ledger.record_result("a", "t", "r1");
    EXPECT_EQ(error_of([&] { ledger.record_result("a", "t", "r2"); }).code(), ExitCode::budget);
    EXPECT_EQ(ledger.payments("ward").at(0).result, "r1");
}

TEST_F(PaymentsTest, ModelsArePublishedUnderWhatPaidForThem) {
    Ledger ledger(path);
    ledger.add_version("ward", "a", {}, basic(1, 0));
    EXPECT_EQ(error_of([&] { ledger.record_publication("a", "t", "d1"); }).code(), ExitCode::budget);
    ledger.pay("a", payment("t", Rational(1, 2), 0));
    EXPECT_EQ(error_of([&] { ledger.record_publication("b", "t", "d1"); }).code(), ExitCode::budget);
    ledger.record_publication("a", "t", "d1");
    ledger.record_publication("a", "t", "d1");
    ledger.pay("a", payment("u", Rational(1, 4), 0));
    const std::vector<LedgerPayment> payments = ledger.payments("ward");
    ASSERT_EQ(payments.size(), 2U);
    EXPECT_EQ(payments[0].token, "t");
    EXPECT_EQ(payments[0].dataset, "a");
    EXPECT_EQ(payments[0].epsilon, Rational(1, 2));
    EXPECT_EQ(payments[0].mechanism, "noisy");
    EXPECT_EQ(payments[0].parameters, R"({"steps":10})");
    EXPECT_EQ(payments[0].guarantee, proved);
    EXPECT_GT(payments[0].time, 1600000000000);
    ASSERT_EQ(payments[0].publications.size(), 1U);
    EXPECT_EQ(payments[0].publications[0].model_digest, "d1");
    EXPECT_GE(payments[0].publications[0].time, payments[0].time);
    EXPECT_TRUE(payments[1].publications.empty());
    EXPECT_EQ(ledger.spending("ward")->epsilon, Rational(3, 4));  // publishing costs nothing more
}

TEST_F(PaymentsTest, AnswersAreListedByTheTermsTheyWereChargedUnder) {
    Ledger ledger(path);
    ledger.add_version("ward", "a", {}, basic(100, Rational(1, 10)));
    const Charge other{Rational(1, 2), millionth, "ptr", proved};
    ledger.answer("a", half, query(1), always(0));
    ledger.answer("a", other, query(2), always(0));
    ledger.answer("a", half, query(3), always(0));
    ledger.answer("a", half, query(1), always(0));  // remembered
    const std::vector<LedgerTerms> terms = ledger.terms("ward");
    ASSERT_EQ(terms.size(), 2U);
    EXPECT_EQ(terms[0].mechanism, "stable_rr");
    EXPECT_EQ(terms[0].answers, 2);
    EXPECT_LE(terms[0].first_time, terms[0].last_time);
    EXPECT_EQ(terms[1].delta, millionth);
    EXPECT_EQ(terms[1].answers, 1);
    EXPECT_TRUE(ledger.terms("unknown").empty());
}

TEST_F(PaymentsTest, ARenyiAccountAddsCurvesAtItsOrder) {
    Ledger ledger(path);
    const Account terms = renyi(1, millionth);
    const std::int64_t order = *terms.budget.renyi_order;
    ledger.add_version("ward", "a", {}, terms);
    EXPECT_EQ(ledger.account("ward")->budget.renyi_order, order);
    EXPECT_EQ(ledger.spending("ward")->epsilon, 0);
    EXPECT_EQ(ledger.spending("ward")->delta, 0);
    const Rational all = renyi_budget(order, 1, millionth);
    ASSERT_GT(all, 0);
    // By their epsilons a hundred of these would cost 30.
    for (int i = 0; i < 100; ++i)
        ledger.pay("a", payment(std::to_string(i), Rational(3, 10), millionth, flat(all / 100)));
    EXPECT_EQ(ledger.spending("ward")->epsilon, epsilon_of_renyi(order, all, millionth));
    EXPECT_LE(ledger.spending("ward")->epsilon, 1);
    EXPECT_EQ(ledger.spending("ward")->delta, millionth);
    const Error error =
        error_of([&] { ledger.pay("a", payment("more", millionth, 0, flat(Rational(1, 1000000000000)))); });
    EXPECT_EQ(error.code(), ExitCode::budget);
    EXPECT_THAT(error.hint(),
                HasSubstr("Renyi order " + std::to_string(order) + " it costs 1e-12, and 0 is left"));
}

// Only the stored order counts: a curve that is small everywhere else is charged as at that order.
TEST_F(PaymentsTest, ARenyiAccountLooksAtNoOtherOrder) {
    Ledger ledger(path);
    const Account terms = renyi(1, millionth);
    ledger.add_version("ward", "a", {}, terms);
    const Rational all = renyi_budget(*terms.budget.renyi_order, 1, millionth);
    std::vector<Rational> curve = flat(0);
    for (std::size_t i = 0; i < curve.size(); ++i)
        if (renyi_orders()[i] == *terms.budget.renyi_order) curve[i] = all + Rational(1, 1000000);
    EXPECT_EQ(error_of([&] { ledger.pay("a", payment("t", millionth, 0, curve)); }).code(), ExitCode::budget);
    for (Rational& rho : curve) rho = all - rho < 0 ? all : all * 100;
    EXPECT_TRUE(ledger.pay("a", payment("t", 900, 0, curve)));
}

TEST_F(PaymentsTest, PureAnswersJoinTheCurve) {
    Ledger ledger(path);
    const Account terms = renyi(2, Rational(1, 100000));
    const std::int64_t order = *terms.budget.renyi_order;
    ledger.add_version("ward", "a", {}, terms);
    const Charge small{Rational(1, 20), 0, "stable_rr", proved};
    std::vector<Digest> asked;
    for (int i = 0; i < 80; ++i) asked.push_back(query(i)[0]);
    ledger.answer("a", small, asked, always(0));  // the basic sum would be 4
    const auto place =
        std::find(renyi_orders().begin(), renyi_orders().end(), order) - renyi_orders().begin();
    const Rational rho = renyi_curve_of_pure(Rational(1, 20))[static_cast<std::size_t>(place)];
    EXPECT_EQ(ledger.spending("ward")->epsilon, epsilon_of_renyi(order, rho * 80, Rational(1, 100000)));
    EXPECT_LE(ledger.spending("ward")->epsilon, 2);
    std::vector<Digest> more;
    for (int i = 0; i < 10000; ++i) more.push_back(query(1000 + i)[0]);
    const Error error = error_of([&] { ledger.answer("a", small, more, always(0)); });
    EXPECT_EQ(error.code(), ExitCode::budget);
    const auto most =
        static_cast<std::size_t>(std::stoi(error.hint().substr(error.hint().find_first_of("0123456789"))));
    ASSERT_LT(most, more.size());
    EXPECT_EQ(error_of([&] { ledger.answer("a", small, std::span(more).first(most + 1), always(0)); }).code(),
              ExitCode::budget);
    ledger.answer("a", small, std::span(more).first(most), always(0));
}

// A release without a curve is charged its epsilon, and its delta from what was set apart for such, nowhere
// else. Were it taken from what the curves need at the moment, answers could decide to spend a second delta
// (models/privacy/mathematics.md, renyi filter).
TEST_F(PaymentsTest, WhatHasNoCurveSpendsADeltaSetApart) {
    Ledger ledger(path);
    const Account terms = renyi(1, millionth, millionth / 10);
    const std::int64_t order = *terms.budget.renyi_order;
    ledger.add_version("ward", "a", {}, terms);
    const Rational rho = renyi_budget(order, Rational(1, 2), millionth / 2);
    ASSERT_GT(rho, 0);
    ledger.pay("a", payment("curve", 1, 0, flat(rho)));
    const Rational before = ledger.spending("ward")->epsilon;
    EXPECT_EQ(before, epsilon_of_renyi(order, rho, millionth * 9 / 10));
    const auto answer = [&](double value, const Rational& delta) {
        ledger.answer("a", {Rational(1, 100), delta, "ptr", proved}, query(value), always(0));
    };
    ASSERT_LE(epsilon_of_renyi(order, rho, millionth / 2), Rational(1, 2));
    EXPECT_EQ(error_of([&] { answer(1, millionth / 2); }).code(), ExitCode::budget);
    EXPECT_EQ(ledger.spending("ward")->epsilon, before);
    answer(1, millionth / 20);
    EXPECT_EQ(ledger.spending("ward")->epsilon, before + Rational(1, 100));
    EXPECT_EQ(ledger.spending("ward")->delta, millionth * 95 / 100);
    const Error error = error_of([&] { ledger.pay("a", payment("p", Rational(1, 100), millionth)); });
    EXPECT_EQ(error.code(), ExitCode::budget);
    EXPECT_THAT(error.hint(), HasSubstr("delta 5e-08 are left"));
    EXPECT_TRUE(ledger.pay("a", payment("p", Rational(1, 100), millionth / 20)));
    EXPECT_EQ(ledger.spending("ward")->delta, millionth);
    EXPECT_EQ(error_of([&] { answer(2, millionth / 1000000); }).code(), ExitCode::budget);
}

// The same though nothing has a curve yet: what comes first decides nothing.
TEST_F(PaymentsTest, NoDeltaIsSpentThatCurvesMayNeed) {
    Ledger ledger(path);
    ledger.add_version("ward", "a", {}, renyi(1, millionth));
    EXPECT_EQ(error_of([&] { ledger.pay("a", payment("t", Rational(1, 10), millionth / 1000)); }).code(),
              ExitCode::budget);
    EXPECT_EQ(error_of([&] {
                  ledger.answer("a", {Rational(1, 10), millionth / 1000, "ptr", proved}, query(1), always(0));
              }).code(),
              ExitCode::budget);
    EXPECT_TRUE(ledger.pay("a", payment("t", Rational(1, 10), 0)));  // no curve, no delta
    EXPECT_EQ(ledger.spending("ward")->epsilon, Rational(1, 10));
}

TEST_F(PaymentsTest, ARenyiAccountIsOpenedWithTermsThatHold) {
    Ledger ledger(path);
    const auto refused = [&](const Budget& budget) {
        EXPECT_EQ(error_of([&] {
                      ledger.open_account("ward", {budget, "add_remove"});
                  }).code(),
                  ExitCode::usage)
            << decimal_text(budget.epsilon) << ", " << decimal_text(budget.delta);
    };
    const std::int64_t order = order_for_budget(1, millionth);
    refused({1, millionth, std::nullopt, 1});
    refused({1, millionth, std::nullopt, 65});  // between two that curves have
    refused({1, millionth, std::nullopt, 1 << 20});
    refused({1, 0, std::nullopt, order});
    refused({1, millionth, Rational(1, 100), order});
    refused({1, millionth, std::nullopt, order, millionth});
    refused({1, millionth, std::nullopt, order, Rational(-1)});
    refused({1, millionth, std::nullopt, std::nullopt, millionth});
    refused({1, millionth, std::nullopt, 2});  // at this order nothing would ever fit
    ledger.open_account("ward", renyi(1, millionth, millionth / 2));
    ledger.open_account("ward", renyi(1, millionth, millionth / 2));
    for (const Account& other : {renyi(1, millionth), basic(1, millionth)}) {
        const Error error = error_of([&] { ledger.open_account("ward", other); });
        EXPECT_EQ(error.code(), ExitCode::budget);
        EXPECT_THAT(error.message(),
                    HasSubstr("the Renyi order " + std::to_string(order) + ", delta 5e-07 apart"));
    }
}

}  // namespace ledger_payments_test
}  // namespace holdfast
