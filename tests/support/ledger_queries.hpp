#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "kernels/base/error.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

// What tests of the ledger ask it with.

inline std::vector<Digest> query(double value) {
    return {query_digest(std::span<const double>(&value, 1))};
}

inline Ledger::Draw always(int label) {
    return [label](std::span<const std::size_t> asked) { return std::vector<int>(asked.size(), label); };
}

/// What `action` throws: it must, with a hint.
template <typename Action>
Error error_of(Action action) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty());
        return error;
    }
    ADD_FAILURE() << "no Error thrown";
    return Error(ExitCode::success, "");
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

}  // namespace holdfast
