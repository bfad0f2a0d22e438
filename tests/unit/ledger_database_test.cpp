#include "models/privacy/ledger/database.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

struct LedgerDatabaseTest : ::testing::Test {
    LedgerDatabaseTest() {
        database.run("CREATE TABLE numbers(n INTEGER UNIQUE)");
        Statement insert(database, "INSERT INTO numbers VALUES(?)");
        for (const std::int64_t n : {1, 2, 3}) {
            insert.bind(n).step();
            insert.reset();
        }
    }

    LedgerDatabase database;
};

constexpr const char* above = "SELECT n FROM numbers WHERE n > ? ORDER BY n";

TEST_F(LedgerDatabaseTest, AStatementIsUsedAgainWithoutWhatWasBoundAndReadBefore) {
    for (const std::int64_t least : {0, 1, 2}) {
        Statement select(database, above);
        ASSERT_TRUE(select.bind(least).step());  // the other rows are not read
        EXPECT_EQ(select.integer(0), least + 1);
    }
    Statement unbound(database, above);
    EXPECT_FALSE(unbound.step()) << "no number is above NULL";
}

TEST_F(LedgerDatabaseTest, StatementsOfOneTextDoNotShareTheirRows) {
    Statement one(database, above), other(database, above);
    ASSERT_TRUE(one.bind(std::int64_t{0}).step());
    ASSERT_TRUE(other.bind(std::int64_t{1}).step());
    ASSERT_TRUE(one.step());
    EXPECT_EQ(one.integer(0), 2);
    EXPECT_EQ(other.integer(0), 2);
}

TEST_F(LedgerDatabaseTest, AStatementThatFailedWorksAgain) {
    const char* const text = "INSERT INTO numbers VALUES(?)";
    EXPECT_THROW(Statement(database, text).bind(std::int64_t{1}).step(), Error);
    Statement(database, text).bind(std::int64_t{4}).step();
    EXPECT_EQ(database.number("SELECT count(*) FROM numbers"), 4);
}

TEST_F(LedgerDatabaseTest, NothingThatIsOpenKeepsATransactionFromItsEnd) {
    {
        Transaction transaction(database);
        ASSERT_TRUE(Statement(database, above).bind(std::int64_t{0}).step());
        Statement(database, "INSERT INTO numbers VALUES(?)").bind(std::int64_t{9}).step();
        transaction.commit();
    }
    {
        const Transaction undone(database);
        Statement(database, "INSERT INTO numbers VALUES(?)").bind(std::int64_t{10}).step();
    }
    EXPECT_EQ(database.number("SELECT max(n) FROM numbers"), 9);
}

TEST_F(LedgerDatabaseTest, ThreadsTakeStatementsSideBySide) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i) {
                Statement select(database, above);
                EXPECT_TRUE(select.bind(std::int64_t{2}).step());
                EXPECT_EQ(select.integer(0), 3);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace holdfast
