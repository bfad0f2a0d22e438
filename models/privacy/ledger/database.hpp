#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "models/privacy/ledger/chain.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast {

/// The connection to a ledger's file; every return of SQLite is checked here. Errors as
/// models/privacy/ledger/ledger.hpp says of the file: ExitCode::output where it cannot be made, written or
/// had; ExitCode::input where it is not a ledger of this program, or others may read it.
class LedgerDatabase {
  public:
    /// Opens the file `path`; its tables are models/privacy/ledger/layout.hpp's. `patience` in milliseconds:
    /// how long to wait for the lock, a minute at least. A file that may not be written is opened to be read.
    LedgerDatabase(const std::string& path, int patience);
    /// One without tables, in memory.
    LedgerDatabase();
    ~LedgerDatabase();
    LedgerDatabase(const LedgerDatabase&) = delete;
    LedgerDatabase& operator=(const LedgerDatabase&) = delete;

    const std::string& path() const { return path_; }
    /// What a file of it holds.
    std::vector<std::byte> bytes() const;
    void run(const std::string& sql) const;
    /// The one integer that a query gives.
    std::int64_t number(const std::string& sql) const;
    /// Of the last statement that wrote: the row it inserted, and how many it changed.
    std::int64_t last_row() const;
    std::int64_t changed_rows() const;
    /// All rows are chained already: none of what this transaction touched is left to be.
    void forget_touched() const { touched_.clear(); }

  private:
    friend class Statement;
    friend class Transaction;
    friend class ReadTransaction;
    void open(int patience, bool writable);
    [[noreturn]] void fail(const std::string& what) const;
    void note_touched(const char* table, std::int64_t row) const;

    /// Of this text: one that nobody uses, or a new one. Preparing a statement takes longer than running it.
    sqlite3_stmt* take(const std::string& sql) const;
    void give_back(const std::string& sql, sqlite3_stmt* statement) const noexcept;

    std::string path_;
    sqlite3* handle_ = nullptr;
    mutable std::mutex idle_mutex_;
    mutable std::multimap<std::string, sqlite3_stmt*> idle_;  // by their texts
    mutable TouchedRows touched_;                             // by the transaction that is open
};

/// A prepared statement: bind in order, step, read columns.
class Statement {
  public:
    Statement(const LedgerDatabase& database, std::string sql);
    ~Statement();
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    Statement& bind(const std::string& text);
    Statement& bind(std::span<const std::byte> blob);
    Statement& bind(std::int64_t value);
    Statement& bind_null();
    bool step();   ///< true if there is a row
    void reset();  ///< ready to be bound and run again
    bool is_null(int column) const;
    std::int64_t integer(int column) const;
    std::string text(int column) const;
    std::vector<std::byte> blob(int column) const;
    /// The row as bytes that no other row has: of each column its type, its length and its value.
    std::vector<std::byte> canonical_row() const;

  private:
    void check(int status) const;
    const LedgerDatabase& database_;
    std::string sql_;
    sqlite3_stmt* statement_;
    int bound_ = 0;
};

/// Begun IMMEDIATE: the writers' lock is held from the first read on, so what was read still holds at commit.
/// Undone unless committed; what it touched is chained then.
class Transaction {
  public:
    explicit Transaction(const LedgerDatabase& database);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

  private:
    const LedgerDatabase& database_;
    bool open_ = true;
};

/// What is read within it was there at one moment.
class ReadTransaction {
  public:
    explicit ReadTransaction(const LedgerDatabase& database);
    ~ReadTransaction();
    ReadTransaction(const ReadTransaction&) = delete;
    ReadTransaction& operator=(const ReadTransaction&) = delete;

  private:
    const LedgerDatabase& database_;
};

}  // namespace holdfast
