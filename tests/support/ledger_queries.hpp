#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "kernels/base/error.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "tests/support/error_of.hpp"

namespace holdfast {

// What tests of the ledger ask it with.

inline std::vector<Digest> query(double value) {
    return {query_digest(std::span<const double>(&value, 1))};
}

inline Ledger::Draw always(int label) {
    return [label](std::span<const std::size_t> asked) { return std::vector<int>(asked.size(), label); };
}

/// Runs SQL on a file that no Ledger holds.
inline void run_sql(const std::string& path, const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    sqlite3_close(handle);
    chmod(path.c_str(), 0600);
}

/// After what was done to it, a ledger of layout 4, as its owner could make it: the next opening migrates it,
/// and begins its chain with what is there then.
inline constexpr const char* as_layout_4 = R"(
DROP TABLE chain; DROP TABLE contents; DROP TABLE public_files; DROP INDEX charges_costs;
CREATE TABLE spent AS SELECT account, epsilon, delta, count(*) AS answers FROM charges WHERE payment IS NULL
    GROUP BY 1, 2, 3;
ALTER TABLE people RENAME COLUMN hash TO id_hash; ALTER TABLE results RENAME COLUMN id TO payment;
ALTER TABLE sessions RENAME COLUMN id TO payment; PRAGMA user_version = 4;
)";

}  // namespace holdfast
