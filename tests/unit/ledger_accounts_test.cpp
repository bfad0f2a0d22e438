// Whose budget it is: versions of a population's data, its people, the terms of an account, and ledgers of
// earlier layouts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <numeric>

#include "kernels/base/error.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "models/privacy/measure/drawn_labels.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/ledger_queries.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::HasSubstr;

const Charge half{Rational(1, 2), 0, "stable_rr", R"({"status":"proved"})"};

Account terms(const Rational& epsilon, const std::string& relation = "add_remove") {
    return {{epsilon, 0, std::nullopt}, relation};
}

using Ids = std::vector<std::uint64_t>;
Ids ids(std::uint64_t first, std::size_t count) {
    Ids result(count);
    std::iota(result.begin(), result.end(), first);
    return result;
}

struct AccountsTest : ::testing::Test {
    TemporaryFolder folder;
    std::string path = folder.file("ledger.db");
};

TEST_F(AccountsTest, EveryVersionOfAPopulationDrawsOnOneAccount) {
    Ledger ledger(path);
    ledger.open_account("ward", terms(1));
    ledger.add_version("ward", "original", ids(0, 100));
    ledger.add_version("ward", "rescaled", ids(0, 100));  // other bytes, the same people
    ledger.add_version("ward", "one more", ids(0, 101));  // another record
    ledger.add_version("ward", "without ids", {});        // row numbers
    ledger.add_version("ward", "rescaled", ids(0, 100));  // again
    for (const char* dataset : {"original", "rescaled", "one more", "without ids"})
        EXPECT_EQ(ledger.population_of(dataset), "ward") << dataset;
    EXPECT_EQ(ledger.population_of("unknown"), std::nullopt);
    const std::vector<DatasetVersion> versions = ledger.versions("ward");
    ASSERT_EQ(versions.size(), 4U);
    EXPECT_EQ(versions[0].dataset, "one more");
    EXPECT_EQ(versions[0].ids, 101);
    EXPECT_EQ(versions[3].ids, 0);
    EXPECT_TRUE(ledger.versions("other").empty());

    ledger.answer("original", half, query(1), always(1));
    EXPECT_TRUE(ledger.answer("original", half, query(1), always(0))[0].remembered);
    ledger.answer("rescaled", half, query(2), always(1));
    for (const char* dataset : {"one more", "unknown"}) {
        EXPECT_EQ(error_of([&] { ledger.answer(dataset, half, query(3), always(1)); }).code(),
                  ExitCode::budget);
    }
    EXPECT_EQ(ledger.spending("ward")->epsilon, 1);
}

TEST_F(AccountsTest, OnePersonInTwoPopulationsIsRefusedAndNothingIsAdded) {
    Ledger ledger(path);
    ledger.open_account("ward", terms(1));
    ledger.open_account("clinic", terms(1));
    ledger.add_version("ward", "a", ids(0, 100));
    const Error error = error_of([&] { ledger.add_version("clinic", "b", ids(98, 100)); });
    EXPECT_EQ(error.code(), ExitCode::input);
    EXPECT_THAT(error.message(), HasSubstr("2 from 'ward'"));
    EXPECT_THAT(error.hint(), HasSubstr("--population 'ward'"));
    EXPECT_EQ(ledger.population_of("b"), std::nullopt);
    ledger.add_version("clinic", "b", ids(100, 100));
    ledger.add_version("ward", "c", ids(0, 50));  // the refused ids were not taken
    EXPECT_EQ(error_of([&] { ledger.add_version("ward", "d", ids(150, 1)); }).code(), ExitCode::input);
}

TEST_F(AccountsTest, ATableUnderOtherIdsOpensNoSecondAccountUnsaid) {
    Ledger ledger(path);
    const Ids contents = ids(500, 10);
    ledger.add_version("ward", "a", ids(0, 10), terms(1), {"given", contents, false});
    const Error equal = error_of([&] {
        ledger.add_version("clinic", "b", ids(20, 10), terms(1), {"given", contents, false});
    });
    EXPECT_EQ(equal.code(), ExitCode::input);
    EXPECT_THAT(equal.message(), HasSubstr("very features"));
    EXPECT_EQ(error_of([&] {
                  ledger.add_version("clinic", "b", ids(20, 10), terms(1), {"content", {}, false});
              }).code(),
              ExitCode::input);
    EXPECT_FALSE(ledger.account("clinic").has_value());
    EXPECT_TRUE(ledger.uncompared("ward").empty());
    ledger.add_version("town", "c", ids(50, 10), terms(1), {"given", contents, true});
    EXPECT_TRUE(ledger.uncompared("ward").empty()) << "equal features show in a statement";
    ledger.add_version("clinic", "b", ids(20, 10), terms(1), {"content", contents, true});
    EXPECT_EQ(ledger.uncompared("ward"), std::vector<std::string>{"clinic"});
}

TEST_F(AccountsTest, ADatasetBelongsToOnePopulation) {
    Ledger ledger(path);
    ledger.add_version("ward", "a", {}, terms(1));
    const Error error = error_of([&] { ledger.add_version("clinic", "a", {}, terms(1)); });
    EXPECT_EQ(error.code(), ExitCode::input);
    EXPECT_THAT(error.message(), HasSubstr("'ward'"));
    EXPECT_THAT(error.hint(), HasSubstr("--population 'ward'"));
    EXPECT_FALSE(ledger.account("clinic").has_value());  // a refused version opens no account
}

TEST_F(AccountsTest, TheHashesOfIdsAreKeyedByTheLedger) {
    const auto hashes = [&](const std::string& name) {
        { Ledger(folder.file(name)).add_version("ward", "a", ids(0, 3), terms(1)); }
        std::vector<std::int64_t> found;
        sqlite3* handle = nullptr;
        sqlite3_open(folder.file(name).c_str(), &handle);
        const auto keep = [](void* into, int, char** row, char**) {
            static_cast<std::vector<std::int64_t>*>(into)->push_back(std::atoll(row[0]));
            return 0;
        };
        sqlite3_exec(handle, "SELECT hash FROM people ORDER BY hash", keep, &found, nullptr);
        sqlite3_close(handle);
        return found;
    };
    const auto first = hashes("first.db"), second = hashes("second.db");
    EXPECT_EQ(first.size(), 3U);
    EXPECT_EQ(second.size(), 3U);
    EXPECT_NE(first, second);
}

TEST_F(AccountsTest, AnAccountKeepsTheTermsItWasOpenedWith) {
    Ledger ledger(path);
    EXPECT_EQ(error_of([&] { ledger.add_version("ward", "a", {}); }).code(), ExitCode::budget);
    ledger.open_account("ward", terms(1));
    ledger.open_account("ward", terms(1));
    EXPECT_EQ(ledger.account("ward")->relation, "add_remove");
    EXPECT_EQ(ledger.account("ward")->budget.epsilon, 1);
    EXPECT_FALSE(ledger.account("clinic").has_value());
    for (const Account& other :
         {terms(1, "substitute"), terms(2), Account{{1, Rational(1, 10), {}}, "add_remove"},
          Account{{1, 0, Rational(1, 10)}, "add_remove"}}) {
        const Error error = error_of([&] { ledger.add_version("ward", "a", {}, other); });
        EXPECT_EQ(error.code(), ExitCode::budget);
        EXPECT_THAT(error.message(), HasSubstr("opened with epsilon 1, delta 0, add_remove neighbours"));
    }
    EXPECT_THAT(error_of([&] { ledger.open_account("ward", terms(1, "substitute")); }).message(),
                HasSubstr("it was to be epsilon 1, delta 0, substitute neighbours"));
    for (const char* relation : {"remove", "", "Add_remove"})
        EXPECT_EQ(error_of([&] { ledger.open_account("new", terms(1, relation)); }).code(), ExitCode::usage);
    EXPECT_EQ(error_of([&] { ledger.open_account("", terms(1)); }).code(), ExitCode::usage);
}

TEST_F(AccountsTest, ARememberedAnswerKeepsItsOwnTerms) {
    const Charge strong{Rational(1, 4), 0, "cauchy", R"({"status":"as published"})"};
    const Charge weak{3, Rational(1, 1000), "ptr", R"({"status":"proved"})"};
    {
        Ledger ledger(path);
        ledger.add_version("ward", "data", {}, Account{{10, Rational(1, 10), std::nullopt}, "add_remove"});
        ledger.answer("data", strong, query(1), always(4));
    }
    Ledger ledger(path);
    const std::vector<Digest> both{query(1)[0], query(2)[0]};
    const std::vector<LedgerAnswer> answers = ledger.answer("data", weak, both, always(5));
    EXPECT_TRUE(answers[0].remembered);
    EXPECT_EQ(answers[0].label, 4);
    EXPECT_EQ(answers[0].epsilon, strong.epsilon);
    EXPECT_EQ(answers[0].delta, 0);
    EXPECT_EQ(answers[0].mechanism, "cauchy");
    EXPECT_EQ(answers[0].guarantee, strong.guarantee);
    EXPECT_FALSE(answers[1].remembered);
    EXPECT_EQ(answers[1].epsilon, weak.epsilon);
    EXPECT_EQ(answers[1].delta, weak.delta);
    EXPECT_EQ(answers[1].mechanism, "ptr");
    EXPECT_EQ(answers[1].guarantee, weak.guarantee);
}

TEST_F(AccountsTest, WhatIsDrawnAgainHasTheTermsOfTheLastCharge) {
    const Charge strong{Rational(1, 4), 0, "cauchy", "{}"};
    Ledger ledger(path, 0);  // no patience: the draw is taken over at once
    ledger.add_version("ward", "data", {}, terms(10));
    const auto lost = [](std::span<const std::size_t>) -> std::vector<int> {
        throw std::runtime_error("lost");
    };
    EXPECT_THROW(ledger.answer("data", strong, query(1), lost), std::runtime_error);
    EXPECT_EQ(ledger.answer("data", half, query(1), always(1))[0].mechanism, half.mechanism);
    EXPECT_EQ(ledger.answer("data", strong, query(1), always(0))[0].guarantee, half.guarantee);
    EXPECT_EQ(ledger.spending("ward")->epsilon, Rational(3, 4));
}

TEST_F(AccountsTest, OneDrawGetsAllThatWasChargedAndIsNotCalledForNothing) {
    Ledger ledger(path);
    ledger.add_version("ward", "data", {}, terms(10));
    ledger.answer("data", half, query(2), always(2));
    std::vector<Digest> asked;
    for (const double value : {1, 2, 3, 1, 4}) asked.push_back(query(value)[0]);
    std::vector<std::vector<std::size_t>> rounds;
    const auto draw = [&](std::span<const std::size_t> charged) {
        EXPECT_EQ(Ledger(path).spending("ward")->answers, 4);  // durable before any evidence is made
        rounds.emplace_back(charged.begin(), charged.end());
        return std::vector<int>(charged.begin(), charged.end());
    };
    std::vector<int> labels;
    for (const LedgerAnswer& answer : ledger.answer("data", half, asked, draw))
        labels.push_back(answer.label);
    EXPECT_EQ(labels, (std::vector<int>{0, 2, 2, 0, 4}));
    EXPECT_EQ(rounds, (std::vector<std::vector<std::size_t>>{{0, 2, 4}}));
    ledger.answer("data", half, asked, draw);
    EXPECT_EQ(rounds.size(), 1U);
}

TEST_F(AccountsTest, ManyPeopleAreAddedAtOnce) {
    Ledger ledger(path);
    ledger.open_account("nation", terms(1));
    ledger.add_version("nation", "first", ids(0, 200000));
    ledger.add_version("nation", "second", ids(1000, 200000));
    EXPECT_EQ(ledger.versions("nation")[1].ids, 200000);
    EXPECT_THAT(error_of([&] { ledger.add_version("ward", "a", ids(0, 300000), terms(1)); }).message(),
                HasSubstr("201000 from 'nation'"));
}

TEST_F(AccountsTest, OfTwoPopulationsThatClaimTheSamePeopleAtOnceOneWins) {
    { Ledger ledger(path); }
    std::vector<pid_t> children;
    for (const std::string population : {"ward", "clinic", "practice"}) {
        children.push_back(fork_child([&] {
            Ledger(path).add_version(population, "of " + population, ids(0, 500), terms(1));
            return 0;
        }));
    }
    std::vector<int> codes;
    for (const pid_t child : children) codes.push_back(wait_for(child));
    EXPECT_EQ(std::count(codes.begin(), codes.end(), 0), 1);
    EXPECT_EQ(std::count(codes.begin(), codes.end(), static_cast<int>(ExitCode::input)), 2);
}

// The layout that the program wrote before accounts belonged to populations, word for word.
constexpr const char* layout_1 = R"(
CREATE TABLE budgets(dataset TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL, fixed_epsilon TEXT) STRICT;
CREATE TABLE spent(dataset TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, answers INTEGER NOT NULL,
                   PRIMARY KEY(dataset, epsilon, delta)) STRICT;
CREATE TABLE charges(id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, query BLOB NOT NULL, epsilon TEXT NOT NULL,
                     delta TEXT NOT NULL, mechanism TEXT NOT NULL, time INTEGER NOT NULL) STRICT;
CREATE TABLE answers(dataset TEXT NOT NULL, query BLOB NOT NULL, token BLOB NOT NULL, claimed INTEGER NOT NULL,
                     label INTEGER, PRIMARY KEY(dataset, query)) STRICT;
PRAGMA application_id = 1215063142;
PRAGMA user_version = 1;
)";

std::string blob(const Digest& digest) {
    std::string text = "x'";
    for (const std::byte byte : digest) {
        for (const int shift : {4, 0})
            text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> shift & 15U];
    }
    return text + "'";
}

const std::string old_a = "0123456789abcdef" + std::string(48, 'a');
const std::string old_b = "fedcba9876543210" + std::string(48, 'b');

/// Two datasets: of `old_a` two answers at 1/2 and one charge without an answer, drawn again once; of `old_b`
/// a fixed epsilon and the substitute relation.
void write_layout_1(const std::string& path) {
    const std::string one = blob(query(1)[0]), two = blob(query(2)[0]), three = blob(query(3)[0]);
    run_sql(path, std::string(layout_1) + "INSERT INTO budgets VALUES('" + old_a +
                      "', '5/2', '1/1000', NULL), ('" + old_a + ":relation', '1', '0', NULL), ('" + old_b +
                      "', '1', '1/100000', '1/100'), ('" + old_b +
                      ":relation', '2', '0', NULL);"
                      "INSERT INTO spent VALUES('" +
                      old_a + "', '1/2', '0', 3), ('" + old_a +
                      "', '1/4', '1/1000', 1);"
                      "INSERT INTO charges VALUES(1, '" +
                      old_a + "', " + one + ", '1/4', '1/1000', 'ptr', 100), (2, '" + old_a + "', " + one +
                      ", '1/2', '0', 'stable_rr', 200), (3, '" + old_a + "', " + two +
                      ", '1/2', '0', 'cauchy', 300), (4, '" + old_a + "', " + three +
                      ", '1/2', '0', 'cauchy', 300);"
                      "INSERT INTO answers VALUES('" +
                      old_a + "', " + one + ", x'00', 200, 7), ('" + old_a + "', " + two +
                      ", x'01', 300, -1), ('" + old_a + "', " + three + ", x'02', 300, NULL);");
}

TEST_F(AccountsTest, ALedgerOfLayoutOneKeepsItsBudgetsSpendingAndAnswers) {
    write_layout_1(path);
    for (int opening = 0; opening < 2; ++opening) {  // migrated once
        Ledger ledger(path);
        ASSERT_EQ(ledger.population_of(old_a), "dataset-0123456789abcdef");
        const std::string a = *ledger.population_of(old_a), b = *ledger.population_of(old_b);
        EXPECT_EQ(ledger.account(a)->relation, "add_remove");
        EXPECT_EQ(ledger.account(b)->relation, "substitute");
        EXPECT_EQ(ledger.account(b)->budget.fixed_epsilon, Rational(1, 100));
        EXPECT_EQ(ledger.account(b)->budget.delta, Rational(1, 100000));
        EXPECT_EQ(ledger.versions(a).size(), 1U);
        EXPECT_EQ(ledger.spending(a)->epsilon, Rational(7, 4));
        EXPECT_EQ(ledger.spending(a)->delta, Rational(1, 1000));
        EXPECT_EQ(ledger.spending(a)->answers, 4);
        EXPECT_EQ(ledger.spending(b)->answers, 0);
        const LedgerAnswer answer = ledger.answer(old_a, half, query(1), always(0))[0];
        EXPECT_EQ(answer.label, 7);
        EXPECT_TRUE(answer.remembered);
        EXPECT_EQ(answer.mechanism, "stable_rr");  // of its last charge
        EXPECT_EQ(answer.epsilon, Rational(1, 2));
        EXPECT_THAT(answer.guarantee, HasSubstr(R"("status":"as published (gap: )"));
        EXPECT_THAT(answer.guarantee, HasSubstr("did not record"));
        EXPECT_EQ(ledger.answer(old_a, half, query(2), always(0))[0].label, -1);
    }
    Ledger ledger(path);
    const std::string a = *ledger.population_of(old_a);
    EXPECT_EQ(ledger.answer(old_a, half, query(3), always(6))[0].label,
              6);  // charged before, never drawn: costs again
    EXPECT_EQ(ledger.spending(a)->epsilon, Rational(9, 4));
    EXPECT_EQ(error_of([&] { ledger.answer(old_a, half, query(4), always(0)); }).code(), ExitCode::budget);
}

// The layout that the program wrote before it knew payments, word for word.
constexpr const char* layout_2 = R"(
CREATE TABLE accounts(id INTEGER PRIMARY KEY, population TEXT NOT NULL UNIQUE,
                      relation TEXT NOT NULL CHECK(relation IN ('add_remove', 'substitute')),
                      epsilon TEXT NOT NULL, delta TEXT NOT NULL, fixed_epsilon TEXT) STRICT;
CREATE TABLE versions(dataset TEXT PRIMARY KEY, account INTEGER NOT NULL, ids INTEGER NOT NULL) STRICT;
CREATE TABLE people(id_hash INTEGER PRIMARY KEY, account INTEGER NOT NULL) STRICT;
CREATE TABLE people_key(bytes BLOB NOT NULL) STRICT;
CREATE TABLE spent(account INTEGER NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, answers INTEGER NOT NULL,
                   PRIMARY KEY(account, epsilon, delta)) STRICT;
CREATE TABLE guarantees(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE charges(id INTEGER PRIMARY KEY, account INTEGER NOT NULL, dataset TEXT NOT NULL, query BLOB NOT NULL,
                     epsilon TEXT NOT NULL, delta TEXT NOT NULL, mechanism TEXT NOT NULL, guarantee INTEGER NOT NULL,
                     time INTEGER NOT NULL) STRICT;
CREATE TABLE answers(account INTEGER NOT NULL, dataset TEXT NOT NULL, query BLOB NOT NULL, charge INTEGER NOT NULL,
                     label INTEGER, PRIMARY KEY(account, dataset, query)) STRICT;
PRAGMA application_id = 1215063142;
PRAGMA user_version = 2;
)";

/// Two accounts: of "ward" one answer at 1/2, of "clinic" a fixed epsilon of 1/100 and a charge without an
/// answer.
void write_layout_2(const std::string& path) {
    run_sql(path, std::string(layout_2) +
                      "INSERT INTO accounts VALUES(1, 'ward', 'substitute', '3/2', '1/1000', NULL), "
                      "(2, 'clinic', 'add_remove', '1', '1/100000', '1/100');"
                      "INSERT INTO versions VALUES('" +
                      old_a + "', 1, 9), ('" + old_b +
                      "', 2, 0);"
                      "INSERT INTO people VALUES(77, 1); INSERT INTO people_key VALUES(x'" +
                      std::string(64, '5') +
                      "'); INSERT INTO spent VALUES(1, '1/2', '0', 1), (2, '1/100', '0', 1);"
                      "INSERT INTO guarantees VALUES(4, '{\"status\":\"proved\"}');"
                      "INSERT INTO charges VALUES(1, 1, '" +
                      old_a + "', " + blob(query(1)[0]) + ", '1/2', '0', 'cauchy', 4, 100), (2, 2, '" +
                      old_b + "', " + blob(query(1)[0]) +
                      ", '1/100', '0', 'stable_rr', 4, 300);"
                      "INSERT INTO answers VALUES(1, '" +
                      old_a + "', " + blob(query(1)[0]) + ", 1, 7), (2, '" + old_b + "', " +
                      blob(query(1)[0]) + ", 2, NULL);");
}

/// Four at once.
void open_and_expect(const std::string& path, const std::string& population, const Rational& spent) {
    std::vector<pid_t> children;
    for (int racer = 0; racer < 4; ++racer) {
        children.push_back(
            fork_child([&] { return Ledger(path).spending(population)->epsilon == spent ? 0 : 1; }));
    }
    for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
}

TEST_F(AccountsTest, ProcessesThatMigrateAtOnceAgree) {
    write_layout_1(path);
    open_and_expect(path, "dataset-0123456789abcdef", Rational(7, 4));
    write_layout_2(folder.file("two.db"));
    open_and_expect(folder.file("two.db"), "ward", Rational(1, 2));
}

TEST_F(AccountsTest, AnAccountOfLayoutOneTakesTheNameOfItsPopulation) {
    write_layout_1(path);
    Ledger ledger(path);
    EXPECT_EQ(error_of([&] { ledger.add_version("ward", old_a, ids(0, 9), terms(100)); }).code(),
              ExitCode::budget);
    EXPECT_EQ(ledger.population_of(old_a), "dataset-0123456789abcdef");  // refused whole
    ledger.add_version("ward", old_a, ids(0, 9));
    EXPECT_EQ(ledger.population_of(old_a), "ward");
    EXPECT_EQ(ledger.spending("ward")->epsilon, Rational(7, 4));
    EXPECT_EQ(ledger.answer(old_a, half, query(1), always(0))[0].label, 7);
    EXPECT_FALSE(ledger.account("dataset-0123456789abcdef").has_value());
    EXPECT_EQ(ledger.versions("ward")[0].ids, 9);
    // A second old account cannot join: its own budget stays its own.
    const Error error = error_of([&] { ledger.add_version("ward", old_b, ids(9, 9)); });
    EXPECT_EQ(error.code(), ExitCode::input);
    EXPECT_THAT(error.hint(), HasSubstr("dataset-fedcba9876543210"));
}

// Whoever the people of an old account are, they get no second budget before it has their name.
TEST_F(AccountsTest, NoAccountIsOpenedBesideOneThatDoesNotSayWhoseItIs) {
    write_layout_1(path);
    Ledger ledger(path);
    const Error error = error_of([&] { ledger.add_version("clinic", "new", ids(0, 9), terms(1)); });
    EXPECT_EQ(error.code(), ExitCode::budget);
    EXPECT_THAT(error.hint(), HasSubstr("add its dataset first"));
    EXPECT_FALSE(ledger.account("clinic").has_value());
    ledger.add_version("ward", old_a, ids(0, 9));
    ledger.add_version("hospice", old_b, ids(9, 9));
    ledger.add_version("clinic", "new", ids(20, 9), terms(1));
    EXPECT_TRUE(ledger.account("clinic").has_value());
}

TEST_F(AccountsTest, ALedgerOfLayoutTwoKeepsEverythingAndTakesPayments) {
    write_layout_2(path);
    for (int opening = 0; opening < 2; ++opening) {  // migrated once
        Ledger ledger(path);
        EXPECT_EQ(ledger.populations(), (std::vector<std::string>{"clinic", "ward"}));
        EXPECT_EQ(ledger.account("ward")->relation, "substitute");
        EXPECT_EQ(ledger.account("ward")->budget.renyi_order, std::nullopt);
        EXPECT_EQ(ledger.account("ward")->budget.delta_apart, 0);
        EXPECT_EQ(ledger.account("clinic")->budget.fixed_epsilon, Rational(1, 100));
        EXPECT_EQ(ledger.versions("ward")[0].ids, 9);
        EXPECT_EQ(ledger.spending("ward")->epsilon, Rational(1, 2));
        EXPECT_EQ(ledger.spending("ward")->payments, 0);
        EXPECT_EQ(ledger.spending("clinic")->epsilon, Rational(1, 100));
        const LedgerAnswer answer = ledger.answer(old_a, half, query(1), always(0))[0];
        EXPECT_EQ(answer.label, 7);
        EXPECT_EQ(answer.mechanism, "cauchy");
        EXPECT_EQ(answer.guarantee, R"({"status":"proved"})");
        EXPECT_EQ(ledger.terms("ward").at(0).first_time, 100);
        EXPECT_TRUE(ledger.payments("ward").empty());
    }
    Ledger ledger(path);
    ledger.open_account("ward", {{Rational(3, 2), Rational(1, 1000), std::nullopt}, "substitute"});
    const Payment payment{"token", Rational(1, 2), Rational(1, 1000), {}, "noisy", "{}", half.guarantee};
    EXPECT_TRUE(ledger.pay(old_a, payment));
    EXPECT_EQ(ledger.spending("ward")->epsilon, 1);
    ledger.answer(old_a, half, query(2), always(0));
    EXPECT_EQ(error_of([&] { ledger.answer(old_a, half, query(3), always(0)); }).code(), ExitCode::budget);
    EXPECT_EQ(error_of([&] { ledger.pay(old_b, payment); }).code(), ExitCode::budget);  // answers only
}

using Places = std::vector<std::size_t>;
using Populations = std::vector<std::pair<std::string, std::string>>;

TEST_F(AccountsTest, RecordsOfNoAccountAreComparedByTheirIdsAndByWhatTheySay) {
    Ledger ledger(path);
    const Ids private_features = ids(1000, 10), features = ids(1008, 4);
    ledger.add_version("ward", "a", ids(0, 10), terms(1), {"given", private_features, false});
    const KnownRecords given = ledger.known_records(ids(7, 4), {"given", ids(2000, 4), false});
    EXPECT_EQ(given.by_id, (Places{0, 1, 2}));
    EXPECT_TRUE(given.by_features.empty() && given.uncompared.empty());
    // Ids from content are never those of the same people: what the records say is compared all the same.
    const KnownRecords content = ledger.known_records(ids(500, 4), {"content", features, false});
    EXPECT_TRUE(content.by_id.empty());
    EXPECT_EQ(content.by_features, (Places{0, 1}));
    EXPECT_EQ(content.uncompared, (Populations{{"ward", "given"}}));
    ledger.add_version("clinic", "b", {}, terms(1), {"row number", ids(3000, 2), true});
    EXPECT_EQ(ledger.known_records(ids(500, 4), {"given", features, false}).uncompared,
              (Populations{{"clinic", "row number"}}));
}

TEST_F(AccountsTest, PublicRecordsAreNobodysHere) {
    Ledger ledger(path);
    const Ids features = ids(1000, 10), other = ids(2000, 3);
    ledger.add_version("ward", "a", ids(0, 10), terms(1), {"given", features, false});
    const auto message = [&](const Ids& public_ids, const RecordMarks& marks) {
        const Error error = error_of([&] { ledger.record_public("p", public_ids, marks); });
        EXPECT_EQ(error.code(), ExitCode::input);
        return error.message();
    };
    EXPECT_THAT(message(ids(8, 3), {"given", other, true}), HasSubstr("2 of its ids"));
    EXPECT_THAT(message(ids(500, 3), {"content", ids(1009, 3), false}), HasSubstr("1 of its records"));
    EXPECT_FALSE(ledger.public_checked("p"));
    EXPECT_EQ(ledger.record_public("p", ids(500, 3), {"content", other, false}).uncompared,
              (Populations{{"ward", "given"}}));
    EXPECT_TRUE(ledger.public_checked("p"));
    EXPECT_EQ(ledger.record_public("q", ids(500, 3), {"given", ids(1009, 3), true}).by_features, Places{0});
    EXPECT_TRUE(ledger.public_checked("q"));
}

TEST_F(AccountsTest, WhoeverWasAddedSinceIsUnchecked) {
    Ledger ledger(path);
    const Ids features = ids(2000, 3);
    ledger.add_version("ward", "a", ids(0, 10), terms(1));
    int datasets = 0;
    // With ids; by row numbers; with nothing that names a record.
    const std::vector<std::pair<Ids, RecordMarks>> later{
        {ids(50, 2), {}}, {{}, {"row number", features, true}}, {{}, {"row number", {}, true}}};
    for (const auto& [added, marks] : later) {
        ledger.record_public("p", ids(500, 3), {"given", ids(4000, 3), false});
        EXPECT_TRUE(ledger.public_checked("p"));
        const std::string dataset = "added " + std::to_string(++datasets);
        ledger.add_version("ward", dataset, added, std::nullopt, marks);
        EXPECT_FALSE(ledger.public_checked("p")) << dataset;
    }
    ledger.record_public("p", ids(500, 3), {"given", ids(4000, 3), false});
    ledger.add_version("ward", "added 1", ids(50, 2));  // again
    EXPECT_TRUE(ledger.public_checked("p"));
}

TEST_F(AccountsTest, OfAnEarlierLayoutNothingButIdsCanBeCompared) {
    { Ledger(path).add_version("ward", "a", ids(0, 10), terms(1)); }
    run_sql(path, as_layout_4);
    Ledger ledger(path);
    const RecordMarks marks{"given", {}, false};
    EXPECT_THAT(error_of([&] { ledger.record_public("p", ids(500, 3), marks); }).message(),
                HasSubstr("earlier version"));
    ledger.record_public("q", ids(500, 3), {"given", {}, true});
    ledger.add_version("ward", "a", ids(0, 10));
    EXPECT_TRUE(ledger.record_public("p", ids(500, 3), marks).uncompared.empty());
}

TEST_F(AccountsTest, ALedgerOfLayoutFiveGoesOnAndTakesAccountsOfLabels) {
    std::string head;
    {
        Ledger ledger(path);
        ledger.add_version("ward", "a", ids(0, 10), terms(1));
        ledger.answer("a", half, query(1), always(1));
        head = ledger.chain().head;
    }
    run_sql(path,
            "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, ', ''label''', '') "
            "WHERE name = 'accounts'; PRAGMA user_version = 5;");
    for (int opening = 0; opening < 2; ++opening) {
        Ledger ledger(path);
        EXPECT_TRUE(ledger.had_head(head));
        EXPECT_EQ(ledger.chain().migrated_from, 0);
        EXPECT_EQ(ledger.spending("ward")->epsilon, Rational(1, 2));
        EXPECT_TRUE(ledger.answer("a", half, query(1), always(0))[0].remembered);
        EXPECT_EQ(error_of([&] { ledger.add_version("hospice", "b", ids(9, 9), terms(1)); }).code(),
                  ExitCode::input);
        ledger.add_version("clinic", "c", ids(20, 10), terms(1, "label"));
    }
    EXPECT_EQ(Ledger(path).account("clinic")->relation, "label");
}

TEST_F(AccountsTest, LabelsAreDrawnForAccountsOfLabelsAndNothingElseIs) {
    Ledger ledger(path);
    ledger.add_version("ward", "records", ids(0, 10), terms(3));
    ledger.add_version("clinic", "labels", ids(10, 10), terms(3, "label"));
    Payment payment = payment_for(LabelLaw::of("response", 2, 1));
    payment.token = "drawn";
    payment.guarantee = R"({"status":"proved"})";
    EXPECT_EQ(error_of([&] { ledger.pay("records", payment); }).code(), ExitCode::budget);
    EXPECT_TRUE(ledger.pay("labels", payment));
    EXPECT_FALSE(ledger.pay("labels", payment));  // the same draw
    payment.mechanism = "noisy_training";
    payment.token = "trained";
    EXPECT_THAT(error_of([&] { ledger.pay("labels", payment); }).message(), HasSubstr("labels alone"));
    EXPECT_TRUE(ledger.pay("records", payment));
    EXPECT_EQ(error_of([&] { ledger.answer("labels", half, query(1), always(1)); }).code(), ExitCode::budget);
    EXPECT_EQ(ledger.spending("clinic")->epsilon, 1);
}

TEST_F(AccountsTest, WhatOnlyLooksLikeLayoutTwoIsRefusedAndLeftAsItWas) {
    for (const char* table : {"accounts", "spent", "charges", "people_key"}) {
        const std::string file = folder.file(std::string(table) + ".db");
        run_sql(file, std::string(layout_2) + "DROP TABLE " + table + ";");
        const std::string before = folder.read(std::string(table) + ".db");
        EXPECT_EQ(error_of([&] { Ledger ledger(file); }).code(), ExitCode::input);
        EXPECT_EQ(folder.read(std::string(table) + ".db"), before);
    }
}

TEST_F(AccountsTest, WhatOnlyLooksLikeLayoutOneIsRefusedAndLeftAsItWas) {
    run_sql(path, std::string(layout_1) + "DROP TABLE answers;");
    const std::string before = folder.read("ledger.db");
    EXPECT_EQ(error_of([&] { Ledger ledger(path); }).code(), ExitCode::input);
    EXPECT_EQ(folder.read("ledger.db"), before);
    const std::string later = folder.file("later.db");
    run_sql(later, std::string(layout_1) + "PRAGMA user_version = 7;");
    EXPECT_EQ(error_of([&] { Ledger ledger(later); }).code(), ExitCode::input);
}

}  // namespace
}  // namespace holdfast
