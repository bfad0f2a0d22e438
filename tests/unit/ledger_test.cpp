#include "models/privacy/ledger/ledger.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "kernels/base/error.hpp"
#include "models/privacy/ledger/database.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace ledger_test {

const std::string proved = R"({"status":"proved"})";
const Charge tenth{Rational(1, 10), 0, "stable_rr", proved};
const Charge half{Rational(1, 2), 0, "stable_rr", proved};

Account budget(const Rational& epsilon, const Rational& delta = 0) {
    return {{epsilon, delta, std::nullopt}, "add_remove"};
}

/// Draws `next()` for one query after the other.
Ledger::Draw each(const std::function<int()>& next) {
    return [next](std::span<const std::size_t> asked) {
        std::vector<int> labels;
        for (std::size_t i = 0; i < asked.size(); ++i) labels.push_back(next());
        return labels;
    };
}
Ledger::Draw always(int label) {
    return each([label] { return label; });
}

Digest query(double value) {
    return query_digest(std::span<const double>(&value, 1));
}
std::vector<Digest> queries(int first, int count) {
    std::vector<Digest> result;
    for (int i = 0; i < count; ++i) result.push_back(query(first + i));
    return result;
}

template <typename Action>
ExitCode code_of(Action action) {
    try {
        action();
    } catch (const Error& error) {
        return error.code();
    }
    return ExitCode::success;
}

struct LedgerTest : ::testing::Test {
    TemporaryFolder folder;
    std::string path = folder.file("ledger.db");
};

TEST_F(LedgerTest, TenAnswersAtATenthFillABudgetOfOneAndTheEleventhIsRefusedBeforeAnyDraw) {
    Ledger ledger(path);
    ledger.add_version("data", "data", {}, budget(1));
    int draws = 0;
    const auto draw = each([&] { return ++draws % 2; });
    for (int i = 0; i < 10; ++i) ledger.answer("data", tenth, queries(i, 1), draw);
    EXPECT_EQ(ledger.spending("data")->epsilon, 1);
    EXPECT_EQ(code_of([&] { ledger.answer("data", tenth, queries(10, 1), draw); }), ExitCode::budget);
    EXPECT_EQ(draws, 10);
    EXPECT_EQ(ledger.spending("data")->answers, 10);
}

TEST_F(LedgerTest, AnAnswerIsRememberedAcrossProcessesModelsAndMechanisms) {
    {
        Ledger ledger(path);
        ledger.add_version("data", "data", {}, budget(Rational(1, 2)));
        const auto answers = ledger.answer("data", half, queries(7, 1), always(3));
        EXPECT_EQ(answers[0].label, 3);
        EXPECT_FALSE(answers[0].remembered);
    }
    Ledger again(path);  // the budget is gone, the answer is not
    const auto never = each([]() -> int { throw std::logic_error("drawn twice"); });
    const auto answers = again.answer("data", {Rational(9), 0, "cauchy", "{}"}, queries(7, 1), never);
    EXPECT_EQ(answers[0].label, 3);
    EXPECT_TRUE(answers[0].remembered);
    EXPECT_EQ(again.spending("data")->answers, 1);
}

TEST_F(LedgerTest, WhatIsRememberedIsReadWithoutACharge) {
    Ledger ledger(path);
    ledger.add_version("data", "data", {}, budget(2));
    ledger.add_version("data", "later", {});
    ledger.answer("data", half, queries(7, 2), always(3));
    ledger.answer("data", tenth, queries(9, 1), always(-1));
    const auto lost = [](std::span<const std::size_t>) -> std::vector<int> {
        throw std::logic_error("crash");
    };
    EXPECT_THROW(ledger.answer("data", tenth, queries(20, 1), lost),
                 std::logic_error);  // reserved, not drawn
    const Spending before = *ledger.spending("data");
    const auto known =
        ledger.remembered("data", std::vector{query(9), query(5), query(8), query(20), query(8)});
    ASSERT_EQ(known.size(), 5U);
    EXPECT_EQ(known[0]->label, -1);
    EXPECT_EQ(known[0]->epsilon, Rational(1, 10));
    EXPECT_FALSE(known[1] || known[3]);
    for (const std::size_t i : {2, 4}) {
        EXPECT_EQ(known[i]->label, 3);
        EXPECT_EQ(known[i]->epsilon, Rational(1, 2));
        EXPECT_EQ(known[i]->mechanism, "stable_rr");
        EXPECT_EQ(known[i]->guarantee, proved);
    }
    EXPECT_FALSE(ledger.remembered("later", queries(7, 1))[0]) << "an answer about another version";
    EXPECT_EQ(code_of([&] { ledger.remembered("nobody's", queries(7, 1)); }), ExitCode::budget);
    EXPECT_EQ(ledger.spending("data")->answers, before.answers);
    EXPECT_EQ(ledger.spending("data")->epsilon, before.epsilon);
}

// A process that ended between the charge and the answer: nobody saw its draw, so the charge covers another.
TEST_F(LedgerTest, WhatWasChargedAndNotAnsweredIsDrawnAgainUnderThatCharge) {
    const auto lost = [](std::span<const std::size_t>) -> std::vector<int> {
        throw std::logic_error("crash");
    };
    Ledger ledger(path, 0);
    ledger.add_version("data", "data", {}, budget(Rational(1, 5)));
    EXPECT_THROW(ledger.answer("data", tenth, queries(0, 2), lost), std::logic_error);
    EXPECT_EQ(ledger.spending("data")->epsilon, Rational(1, 5));
    const auto answers = ledger.answer("data", tenth, queries(0, 2), always(3));
    EXPECT_EQ(answers[0].label, 3);
    EXPECT_TRUE(answers[0].remembered) << "charged now";
    EXPECT_EQ(ledger.spending("data")->epsilon, Rational(1, 5));
    EXPECT_EQ(ledger.answer("data", tenth, queries(0, 2), always(4))[1].label, 3) << "a second draw";
    EXPECT_EQ(ledger.spending("data")->answers, 2);
    // New queries beside them are charged as ever.
    EXPECT_EQ(code_of([&] { ledger.answer("data", tenth, queries(1, 2), always(1)); }), ExitCode::budget);
}

TEST_F(LedgerTest, OfTwoDrawsUnderOneChargeTheFirstStoredIsSeen) {
    Ledger ledger(path, 0);
    ledger.add_version("data", "data", {}, budget(1));
    const auto slow = [&](std::span<const std::size_t>) {
        EXPECT_EQ(Ledger(path, 0).answer("data", tenth, queries(0, 1), always(5))[0].label, 5);
        return std::vector<int>{6};
    };
    EXPECT_EQ(ledger.answer("data", tenth, queries(0, 1), slow)[0].label, 5);
    EXPECT_EQ(ledger.spending("data")->answers, 1);
}

TEST_F(LedgerTest, EqualQueriesOfOneRequestAreChargedOnce) {
    Ledger ledger(path);
    ledger.add_version("data", "data", {}, budget(1));
    int draws = 0;
    const std::vector<Digest> asked{query(1), query(2), query(1), query(0.0), query(-0.0)};
    const auto answers = ledger.answer("data", tenth, asked, each([&] { return draws++; }));
    EXPECT_EQ(draws, 3);
    EXPECT_EQ(answers[0].label, answers[2].label);
    EXPECT_EQ(answers[3].label, answers[4].label);
    EXPECT_EQ(ledger.spending("data")->answers, 3);
}

// Answers are told as they were drawn; the file says the same.
TEST_F(LedgerTest, WhatIsToldAtOnceIsWhatIsStored) {
    Ledger ledger(path);
    ledger.add_version("data", "data", {}, budget(100, Rational(1, 2)));
    ledger.answer("data", half, queries(3, 2), always(5));
    int next = -1;
    const Charge charge{Rational(1, 10), Rational(1, 1000000), "cauchy", proved};
    const auto told = ledger.answer("data", charge, queries(0, 40), each([&] { return next++; }));
    const auto stored = Ledger(path).remembered("data", queries(0, 40));
    ASSERT_EQ(told.size(), 40U);
    for (std::size_t i = 0; i < told.size(); ++i) {
        EXPECT_EQ(told[i].label, stored[i]->label);
        EXPECT_EQ(told[i].remembered, i == 3 || i == 4);
        EXPECT_EQ(told[i].epsilon, stored[i]->epsilon);
        EXPECT_EQ(told[i].delta, stored[i]->delta);
        EXPECT_EQ(told[i].mechanism, stored[i]->mechanism);
        EXPECT_EQ(told[i].guarantee, stored[i]->guarantee);
        EXPECT_EQ(told[i].together, stored[i]->together);
    }
    EXPECT_EQ(told[0].label, -1) << "a refusal that was paid for is an answer";
    EXPECT_EQ(ledger.spending("data")->answers, 40);
    EXPECT_EQ(ledger.spending("data")->epsilon, 1 + Rational(19, 5));
}

TEST_F(LedgerTest, ARequestThatDoesNotFitIsRefusedWhole) {
    Ledger ledger(path);
    ledger.add_version("data", "data", {}, budget(1));
    int draws = 0;
    try {
        ledger.answer("data", tenth, queries(0, 11), each([&] { return ++draws; }));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::budget);
        EXPECT_NE(error.hint().find("10 more do"), std::string::npos) << error.hint();
    }
    EXPECT_EQ(draws, 0);
    EXPECT_EQ(ledger.spending("data")->answers, 0);
}

TEST_F(LedgerTest, DeltasAddUpToo) {
    Ledger ledger(path);
    ledger.add_version("data", "data", {}, budget(100, Rational(1, 1000)));
    const Charge charge{1, Rational(1, 2000), "ptr", proved};
    ledger.answer("data", charge, queries(0, 2), always(-1));  // refusals are answers
    EXPECT_EQ(ledger.answer("data", charge, queries(1, 1), always(5))[0].label, -1);
    EXPECT_EQ(code_of([&] { ledger.answer("data", charge, queries(2, 1), always(0)); }), ExitCode::budget);
    ledger.answer("data", half, queries(2, 1), always(0));  // pure still fits
}

TEST_F(LedgerTest, AFixedEpsilonBuysMoreThanItsSum) {
    Ledger ledger(path);
    ledger.add_version("fixed", "fixed", {},
                       Account{{2, Rational(1, 100000), Rational(1, 100)}, "add_remove"});
    const Charge small{Rational(1, 100), 0, "stable_rr", proved};
    ledger.answer("fixed", small, queries(0, 1000),
                  always(0));  // the basic sum would be 10
    EXPECT_LE(ledger.spending("fixed")->epsilon, 2);
    EXPECT_EQ(ledger.spending("fixed")->delta, Rational(1, 100000));
    EXPECT_EQ(code_of([&] { ledger.answer("fixed", tenth, queries(5000, 1), always(0)); }), ExitCode::budget);
    const Charge impure{Rational(1, 100), Rational(1, 1000000), "ptr", proved};
    EXPECT_EQ(code_of([&] { ledger.answer("fixed", impure, queries(5000, 1), always(0)); }),
              ExitCode::budget);
    ledger.add_version("adaptive", "adaptive", {}, budget(2, Rational(1, 100000)));
    EXPECT_EQ(code_of([&] { ledger.answer("adaptive", small, queries(0, 1000), always(0)); }),
              ExitCode::budget);
}

TEST_F(LedgerTest, PopulationsHaveAccountsOfTheirOwnAndABudgetIsSetOnce) {
    Ledger ledger(path);
    ledger.add_version("a", "a", {}, budget(1));
    ledger.add_version("a", "a", {}, budget(1));
    EXPECT_EQ(code_of([&] { ledger.add_version("a", "a", {}, budget(2)); }), ExitCode::budget);
    EXPECT_EQ(code_of([&] { ledger.add_version("a", "a", {}, budget(1, Rational(1, 10))); }),
              ExitCode::budget);
    EXPECT_EQ(code_of([&] { ledger.add_version("b", "b", {}, budget(0)); }), ExitCode::usage);
    EXPECT_EQ(code_of([&] { ledger.add_version("b", "b", {}, budget(1, 1)); }), ExitCode::usage);
    EXPECT_EQ(code_of([&] { ledger.answer("b", tenth, queries(0, 1), always(0)); }), ExitCode::budget);
    EXPECT_EQ(code_of([&] {
                  ledger.answer("a", {-1, 0, "x", proved}, queries(0, 1), always(0));
              }),
              ExitCode::usage);
    EXPECT_FALSE(ledger.spending("b").has_value());
    ledger.answer("a", half, queries(0, 2), always(1));
    ledger.add_version("b", "b", {}, budget(1));
    EXPECT_FALSE(ledger.answer("b", half, queries(0, 1), always(0))[0].remembered);
}

TEST_F(LedgerTest, ProcessesRacingForTheLastBudgetHaveExactlyOneWinner) {
    { Ledger(path).add_version("data", "data", {}, budget(half.epsilon)); }
    std::vector<pid_t> children;
    for (int racer = 0; racer < 6; ++racer) {
        children.push_back(fork_child([&, racer] {
            Ledger ledger(path);
            ledger.answer("data", half, queries(racer, 1), always(1));
            return 0;
        }));
    }
    int won = 0, refused_count = 0;
    for (const pid_t child : children) {
        const int status = wait_for(child);
        won += status == 0;
        refused_count += status == static_cast<int>(ExitCode::budget);
    }
    EXPECT_EQ(won, 1);
    EXPECT_EQ(refused_count, 5);
    EXPECT_EQ(Ledger(path).spending("data")->epsilon, half.epsilon);
}

TEST_F(LedgerTest, TheSameQueryAskedAtOnceHasOneAnswerForOneCharge) {
    { Ledger(path).add_version("data", "data", {}, budget(10)); }
    std::vector<pid_t> children;
    for (int racer = 1; racer <= 5; ++racer) {
        children.push_back(fork_child([&, racer] {
            Ledger ledger(path);
            const auto slow = each([&] {
                usleep(100000);
                return racer;
            });
            return ledger.answer("data", half, queries(0, 1), slow)[0].label;
        }));
    }
    std::set<int> labels;
    for (const pid_t child : children) labels.insert(wait_for(child));
    EXPECT_EQ(labels.size(), 1U);
    EXPECT_EQ(Ledger(path).spending("data")->answers, 1);
}

TEST_F(LedgerTest, AProcessKilledBetweenChargeAndStoreHasSpent) {
    { Ledger(path).add_version("data", "data", {}, budget(1)); }
    const pid_t child = fork_child([&] {
        Ledger ledger(path);
        ledger.answer("data", half, queries(0, 1), each([] { return raise(SIGKILL); }));
        return 0;
    });
    EXPECT_EQ(wait_for(child), -SIGKILL);
    Ledger ledger(path, 50);
    EXPECT_EQ(ledger.spending("data")->answers, 1);
    // Asked again it costs nothing, and the answer stays.
    EXPECT_EQ(ledger.answer("data", half, queries(0, 1), always(4))[0].label, 4);
    EXPECT_EQ(ledger.answer("data", half, queries(0, 1), always(5))[0].label, 4);
    EXPECT_EQ(ledger.spending("data")->epsilon, Rational(1, 2));
    ledger.answer("data", half, queries(1, 1), always(0));
    EXPECT_EQ(code_of([&] { ledger.answer("data", half, queries(2, 1), always(0)); }), ExitCode::budget);
}

// The first draw to be stored is the answer, under the terms it was charged with; one stored later is
// dropped.
TEST_F(LedgerTest, AReservationTakenOverMeanwhileHasOneAnswerUnderItsOwnTerms) {
    Ledger slow(path, 0), quick(path, 0);  // nobody waits
    slow.add_version("data", "data", {}, budget(1));
    const auto answers = slow.answer("data", tenth, queries(0, 1), [&](std::span<const std::size_t>) {
        EXPECT_EQ(quick.answer("data", half, queries(0, 1), always(1))[0].label, 1);
        return std::vector<int>{0};
    });
    EXPECT_EQ(answers[0].label, 1);
    EXPECT_EQ(answers[0].epsilon, Rational(1, 2));
    EXPECT_EQ(slow.spending("data")->epsilon, Rational(3, 5));
}

// Two processes whose draws take longer than either waits: both end, and neither pays twice.
TEST_F(LedgerTest, DrawsSlowerThanPatienceEndWithOneAnswer) {
    Ledger(path).add_version("data", "data", {}, budget(100));
    const auto ask = [&](const Charge& charge, int label, int start_ms) {
        return fork_child([=, this] {
            std::this_thread::sleep_for(std::chrono::milliseconds(start_ms));
            Ledger ledger(path, 100);
            const auto answers =
                ledger.answer("data", charge, queries(0, 3), [&](std::span<const std::size_t> asked) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(600));
                    return std::vector<int>(asked.size(), label);
                });
            for (const LedgerAnswer& answer : answers) {
                if (answer.label != 0 || answer.epsilon != tenth.epsilon) return 1;
            }
            return 0;
        });
    };
    const pid_t first = ask(tenth, 0, 0), second = ask(half, 1, 300);
    EXPECT_EQ(wait_for(first), 0);
    EXPECT_EQ(wait_for(second), 0);
    EXPECT_EQ(Ledger(path).spending("data")->answers, 6);
}

// What one version of the data answered is no answer of another.
TEST_F(LedgerTest, AnswersAreRememberedForTheVersionThatGaveThem) {
    Ledger ledger(path);
    ledger.add_version("data", "first", {}, budget(1));
    ledger.add_version("data", "second", {});
    EXPECT_EQ(ledger.answer("first", tenth, queries(0, 1), always(0))[0].label, 0);
    EXPECT_EQ(ledger.answer("second", tenth, queries(0, 1), always(1))[0].label, 1);
    EXPECT_EQ(ledger.answer("first", tenth, queries(0, 1), always(1))[0].label, 0);
    EXPECT_EQ(ledger.spending("data")->answers, 2);
}

TEST_F(LedgerTest, TheFileIsItsOwnersOnly) {
    { Ledger(path).add_version("data", "data", {}, budget(1)); }
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    chmod(path.c_str(), 0644);
    EXPECT_EQ(code_of([&] { Ledger ledger(path); }), ExitCode::input);
}

// A ledger that lost all it held must not pass for one that never held anything.
TEST_F(LedgerTest, AnEmptiedFileIsRefusedAndLeftAsItIs) {
    { Ledger(path).add_version("data", "data", {}, budget(1)); }
    ASSERT_EQ(truncate(path.c_str(), 0), 0);
    try {
        Ledger ledger(path);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_EQ(error.message(), "is empty, as no ledger ever is");
        EXPECT_EQ(error.where(), path);
    }
    EXPECT_EQ(folder.read("ledger.db"), "");
}

TEST_F(LedgerTest, KilledWhileItIsMadeItIsThereCompleteOrNotAtAll) {
    int made = 0;
    for (int delay = 0; delay < 40; ++delay) {
        const std::string file = folder.file("made" + std::to_string(delay) + ".db");
        const pid_t child = fork_child([&] {
            Ledger ledger(file);
            return 0;
        });
        usleep(static_cast<useconds_t>(250 * delay));
        kill(child, SIGKILL);
        wait_for(child);
        struct stat status {};
        const bool is_there = stat(file.c_str(), &status) == 0;
        made += is_there ? 1 : 0;
        EXPECT_TRUE(!is_there || status.st_size > 0) << "after " << delay;
        EXPECT_EQ(code_of([&] { Ledger(file).add_version("data", "data", {}, budget(1)); }),
                  ExitCode::success);
    }
    EXPECT_LT(made, 40) << "none was killed in time";
}

TEST_F(LedgerTest, OtherFilesAreRefused) {
    const auto with_mode = [](const std::string& file) {
        chmod(file.c_str(), 0600);
        return file;
    };
    const std::string text = with_mode(folder.write("notes.txt", std::string(5000, 'x')));
    EXPECT_EQ(code_of([&] { Ledger ledger(text); }), ExitCode::input);
    EXPECT_EQ(folder.read("notes.txt"), std::string(5000, 'x'));
    EXPECT_EQ(code_of([&] { Ledger ledger(folder.path()); }), ExitCode::output);
    EXPECT_EQ(code_of([&] { Ledger ledger(folder.file("no/such/folder.db")); }), ExitCode::output);
    EXPECT_EQ(code_of([&] { Ledger ledger("/dev/null"); }), ExitCode::input);
    const LedgerDatabase tables;
    tables.run("CREATE TABLE notes(n); DROP TABLE notes");
    const std::vector<std::byte> image = tables.bytes();
    const std::string bare = with_mode(
        folder.write("bare.db", std::string(reinterpret_cast<const char*>(image.data()), image.size())));
    EXPECT_EQ(code_of([&] { Ledger ledger(bare); }), ExitCode::input);
    { Ledger ledger(path); }
    std::string bytes = folder.read("ledger.db");
    bytes[68] = static_cast<char>(bytes[68] ^ 1);  // the application id
    const std::string foreign = with_mode(folder.write("foreign.db", bytes));
    EXPECT_EQ(code_of([&] { Ledger ledger(foreign); }), ExitCode::input);
    bytes.resize(bytes.size() / 2);
    const std::string torn = with_mode(folder.write("torn.db", bytes));
    EXPECT_EQ(code_of([&] { Ledger ledger(torn); }), ExitCode::input);
}

}  // namespace ledger_test
}  // namespace holdfast
