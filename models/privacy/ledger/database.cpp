#include "models/privacy/ledger/database.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include "dist/files/descriptor.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

/// To write, or else to read alone: a ledger that may not be written can still be looked at.
Descriptor opened(const std::string& path, bool& writable) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    writable = file.is_open() || (errno != EACCES && errno != EROFS && errno != EPERM);
    return writable ? std::move(file) : Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

/// Its owner's alone (the journal inherits the mode), and not emptied. True: it may be written.
bool require_private_file(const std::string& path) {
    bool writable = true;
    const Descriptor file = opened(path, writable);
    if (!file.is_open()) {
        throw Error(ExitCode::output, std::string("the ledger cannot be opened: ") + std::strerror(errno),
                    "name a file that you may write to", path);
    }
    struct stat status {};
    const int failed = ::fstat(file.number(), &status);
    if (failed != 0 || !S_ISREG(status.st_mode)) {
        throw Error(ExitCode::input, "not a regular file", "name a ledger file, or a new one", path);
    }
    if ((status.st_mode & 077) != 0) {
        throw Error(ExitCode::input, "others may read or write this ledger", "run: chmod 600 " + path, path);
    }
    if (status.st_size == 0) {
        throw Error(ExitCode::input, "is empty, as no ledger ever is",
                    "restore it from its last copy; if it never held an account, remove it: holdfast account "
                    "--budget makes a new one",
                    path);
    }
    return writable;
}

}  // namespace

LedgerDatabase::LedgerDatabase(const std::string& path, int patience) : path_(path) {
    open(patience, require_private_file(path));
}

LedgerDatabase::LedgerDatabase() : path_(":memory:") {
    open(0, true);
}

void LedgerDatabase::open(int patience, bool writable) {
    const int access = writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    const int status = sqlite3_open_v2(path_.c_str(), &handle_, access | SQLITE_OPEN_FULLMUTEX, nullptr);
    try {
        if (status != SQLITE_OK) fail("cannot be opened");
        sqlite3_extended_result_codes(handle_, 1);
        sqlite3_busy_timeout(handle_, std::max(patience, 60000));
        run("PRAGMA journal_mode = DELETE");
        run("PRAGMA foreign_keys = ON");
        run("PRAGMA synchronous = EXTRA");
        run("PRAGMA cache_size = -65536");  // in KiB: what ten thousands of answers change is written once
        sqlite3_update_hook(
            handle_,
            [](void* database, int, const char*, const char* table, sqlite3_int64 row) {
                static_cast<const LedgerDatabase*>(database)->note_touched(table, row);
            },
            this);
    } catch (...) {
        sqlite3_close(handle_);
        throw;
    }
}

LedgerDatabase::~LedgerDatabase() {
    for (const auto& [sql, statement] : idle_) sqlite3_finalize(statement);
    sqlite3_close(handle_);
}

std::vector<std::byte> LedgerDatabase::bytes() const {
    sqlite3_int64 size = 0;
    const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> image(
        sqlite3_serialize(handle_, "main", &size, 0), &sqlite3_free);
    if (!image) fail("cannot be read");
    const auto* begin = reinterpret_cast<const std::byte*>(image.get());
    return {begin, begin + size};
}

sqlite3_stmt* LedgerDatabase::take(const std::string& sql) const {
    {
        const std::lock_guard lock(idle_mutex_);
        if (auto idle = idle_.extract(sql)) return idle.mapped();
    }
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
        fail("cannot be read");
    return statement;
}

void LedgerDatabase::give_back(const std::string& sql, sqlite3_stmt* statement) const noexcept {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    try {
        const std::lock_guard lock(idle_mutex_);
        idle_.emplace(sql, statement);
    } catch (const std::exception&) {  // no memory to keep it
        sqlite3_finalize(statement);
    }
}

void LedgerDatabase::note_touched(const char* table, std::int64_t row) const {
    if (const auto touched = chained_row(table, row)) touched_.insert(*touched);
}

void LedgerDatabase::fail(const std::string& what) const {
    const int code = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle_) & 0xff;
    const std::string detail = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
    const std::string message = "the ledger " + what + ": " + detail;
    switch (code) {
        case SQLITE_NOTADB:
        case SQLITE_CORRUPT:
        case SQLITE_ERROR:
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
        case SQLITE_TOOBIG:
            throw Error(ExitCode::input, message,
                        "name a ledger of this program; restore a damaged one from its last copy", path_);
        case SQLITE_READONLY:
            throw Error(ExitCode::output, message,
                        "give yourself the right to write the ledger and its folder", path_);
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            throw Error(ExitCode::output, message, "another process holds it: try again", path_);
        default:
            throw Error(ExitCode::output, message, "check the disk and the file's permissions", path_);
    }
}

void LedgerDatabase::run(const std::string& sql) const {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail("cannot be written");
}

std::int64_t LedgerDatabase::number(const std::string& sql) const {
    Statement statement(*this, sql);
    if (!statement.step()) fail("cannot be read");
    return statement.integer(0);
}

std::int64_t LedgerDatabase::last_row() const {
    return sqlite3_last_insert_rowid(handle_);
}

std::int64_t LedgerDatabase::changed_rows() const {
    return sqlite3_changes(handle_);
}

Statement::Statement(const LedgerDatabase& database, std::string sql)
    : database_(database), sql_(std::move(sql)), statement_(database.take(sql_)) {}

Statement::~Statement() {
    database_.give_back(sql_, statement_);
}

void Statement::check(int status) const {
    if (status != SQLITE_OK) database_.fail("cannot be written");
}

Statement& Statement::bind(const std::string& text) {
    check(sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                            SQLITE_TRANSIENT));
    return *this;
}

Statement& Statement::bind(std::span<const std::byte> blob) {
    check(sqlite3_bind_blob(statement_, ++bound_, blob.data(), static_cast<int>(blob.size()),
                            SQLITE_TRANSIENT));
    return *this;
}

Statement& Statement::bind(std::int64_t value) {
    check(sqlite3_bind_int64(statement_, ++bound_, value));
    return *this;
}

Statement& Statement::bind_null() {
    check(sqlite3_bind_null(statement_, ++bound_));
    return *this;
}

bool Statement::step() {
    const int status = sqlite3_step(statement_);
    if (status != SQLITE_ROW && status != SQLITE_DONE) database_.fail("cannot be read or written");
    return status == SQLITE_ROW;
}

void Statement::reset() {
    check(sqlite3_reset(statement_));
    bound_ = 0;
}

bool Statement::is_null(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(statement_, column);
}

std::string Statement::text(int column) const {
    const unsigned char* begin = sqlite3_column_text(statement_, column);
    if (begin == nullptr) database_.fail("holds an empty field where one is needed");
    return reinterpret_cast<const char*>(begin);
}

std::vector<std::byte> Statement::blob(int column) const {
    const auto* begin = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
    return {begin, begin + sqlite3_column_bytes(statement_, column)};
}

std::vector<std::byte> Statement::canonical_row() const {
    std::vector<std::byte> bytes;
    const auto append = [&](std::int64_t value) {
        for (int shift = 0; shift < 64; shift += 8)
            bytes.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> shift));
    };
    for (int column = 0; column < sqlite3_column_count(statement_); ++column) {
        const int type = sqlite3_column_type(statement_, column);
        bytes.push_back(static_cast<std::byte>(type));
        if (type == SQLITE_INTEGER) append(integer(column));
        if (type == SQLITE_NULL || type == SQLITE_INTEGER) continue;
        const std::vector<std::byte> value = blob(column);  // of a text its UTF-8
        append(static_cast<std::int64_t>(value.size()));
        bytes.insert(bytes.end(), value.begin(), value.end());
    }
    return bytes;
}

Transaction::Transaction(const LedgerDatabase& database) : database_(database) {
    database.run("BEGIN IMMEDIATE");
    database.touched_.clear();
}

Transaction::~Transaction() {
    if (open_) sqlite3_exec(database_.handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
    extend_chain(database_, database_.touched_);
    database_.run("COMMIT");
    open_ = false;
}

ReadTransaction::ReadTransaction(const LedgerDatabase& database) : database_(database) {
    database.run("BEGIN");
}

ReadTransaction::~ReadTransaction() {
    sqlite3_exec(database_.handle_, "ROLLBACK", nullptr, nullptr, nullptr);  // nothing was written
}

}  // namespace holdfast
