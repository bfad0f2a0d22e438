#include "models/privacy/ledger.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <thread>

#include "kernels/base/error.hpp"
#include "models/privacy/composition.hpp"

namespace holdfast {
namespace {

constexpr int application_id = 0x486c6466;  // "Hldf": tells a ledger from other SQLite files
constexpr int layout_version = 1;

constexpr const char* layout = R"(
CREATE TABLE budgets(dataset TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL, fixed_epsilon TEXT) STRICT;
CREATE TABLE spent(dataset TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, answers INTEGER NOT NULL,
                   PRIMARY KEY(dataset, epsilon, delta)) STRICT;
CREATE TABLE charges(id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, query BLOB NOT NULL, epsilon TEXT NOT NULL,
                     delta TEXT NOT NULL, mechanism TEXT NOT NULL, time INTEGER NOT NULL) STRICT;
CREATE TABLE answers(dataset TEXT NOT NULL, query BLOB NOT NULL, token BLOB NOT NULL, claimed INTEGER NOT NULL,
                     label INTEGER, PRIMARY KEY(dataset, query)) STRICT;
)";

void start_sodium() {
    if (sodium_init() < 0) {
        throw Error(ExitCode::internal, "libsodium cannot start",
                    "check that the machine offers getrandom or /dev/urandom");
    }
}

std::int64_t now_in_milliseconds() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

Digest query_digest(std::span<const double> features) {
    start_sodium();
    std::vector<unsigned char> bytes;
    bytes.reserve(8 * features.size() + 8);
    const auto append = [&](std::uint64_t word) {
        for (int shift = 0; shift < 64; shift += 8)
            bytes.push_back(static_cast<unsigned char>(word >> shift));
    };
    append(features.size());
    for (std::size_t i = 0; i < features.size(); ++i) {
        if (!std::isfinite(features[i])) {
            throw Error(ExitCode::input, "a query with NaN or infinity", "remove or fill it",
                        "feature " + std::to_string(i));
        }
        append(features[i] == 0 ? 0 : std::bit_cast<std::uint64_t>(features[i]));
    }
    Digest digest;
    crypto_generichash(reinterpret_cast<unsigned char*>(digest.data()), digest.size(), bytes.data(),
                       bytes.size(), nullptr, 0);
    return digest;
}

std::string content_digest(std::span<const std::byte> bytes) {
    start_sodium();
    Digest digest;
    crypto_generichash(reinterpret_cast<unsigned char*>(digest.data()), digest.size(),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
    std::string text;
    for (const std::byte byte : digest) {
        for (const int shift : {4, 0})
            text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> shift & 15U];
    }
    return text;
}

/// The connection; every return of SQLite is checked here.
struct Ledger::Database {
    Database(const std::string& file, int patience);
    ~Database() { sqlite3_close(handle); }
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    [[noreturn]] void fail(const std::string& what) const;
    void run(const char* sql) const;
    std::int64_t number(const char* sql) const;
    void create_or_check_layout() const;

    std::string path;
    sqlite3* handle = nullptr;
};

namespace {

/// A prepared statement: bind in order, step, read columns.
template <typename Connection>
class Statement {
  public:
    Statement(const Connection& connection, const char* sql) : connection_(connection) {
        if (sqlite3_prepare_v2(connection.handle, sql, -1, &statement_, nullptr) != SQLITE_OK)
            connection.fail("cannot be read");
    }
    ~Statement() { sqlite3_finalize(statement_); }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    Statement& bind(const std::string& text) {
        check(sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                                SQLITE_TRANSIENT));
        return *this;
    }
    Statement& bind(std::span<const std::byte> blob) {
        check(sqlite3_bind_blob(statement_, ++bound_, blob.data(), static_cast<int>(blob.size()),
                                SQLITE_TRANSIENT));
        return *this;
    }
    Statement& bind(std::int64_t value) {
        check(sqlite3_bind_int64(statement_, ++bound_, value));
        return *this;
    }
    Statement& bind_null() {
        check(sqlite3_bind_null(statement_, ++bound_));
        return *this;
    }
    /// True if there is a row.
    bool step() {
        const int status = sqlite3_step(statement_);
        if (status != SQLITE_ROW && status != SQLITE_DONE) connection_.fail("cannot be read or written");
        return status == SQLITE_ROW;
    }
    void reset() {
        check(sqlite3_reset(statement_));
        bound_ = 0;
    }
    bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
    std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
    std::string text(int column) const {
        const unsigned char* begin = sqlite3_column_text(statement_, column);
        if (begin == nullptr) connection_.fail("holds an empty field where a number belongs");
        return reinterpret_cast<const char*>(begin);
    }

  private:
    void check(int status) const {
        if (status != SQLITE_OK) connection_.fail("cannot be written");
    }
    const Connection& connection_;
    sqlite3_stmt* statement_ = nullptr;
    int bound_ = 0;
};
template <typename Connection>
Statement(const Connection&, const char*) -> Statement<Connection>;

/// Begun IMMEDIATE: the writers' lock is held from the first read on, so what was read still holds at commit.
template <typename Connection>
class Transaction {
  public:
    explicit Transaction(const Connection& connection) : connection_(connection) {
        connection.run("BEGIN IMMEDIATE");
    }
    ~Transaction() {
        if (open_) sqlite3_exec(connection_.handle, "ROLLBACK", nullptr, nullptr, nullptr);
    }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit() {
        connection_.run("COMMIT");
        open_ = false;
    }

  private:
    const Connection& connection_;
    bool open_ = true;
};

/// Creates the file for its owner only (the journal inherits the mode); refuses one that others may read.
void make_private_file(const std::string& path) {
    const int created = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (created < 0) {
        throw Error(ExitCode::output, std::string("the ledger cannot be opened: ") + std::strerror(errno),
                    "name a file in a folder you may write to", path);
    }
    struct stat status {};
    const int failed = ::fstat(created, &status);
    ::close(created);
    if (failed != 0 || !S_ISREG(status.st_mode)) {
        throw Error(ExitCode::input, "not a regular file", "name a ledger file, or a new one", path);
    }
    if ((status.st_mode & 077) != 0) {
        throw Error(ExitCode::input, "others may read or write this ledger", "run: chmod 600 " + path, path);
    }
}

}  // namespace

Ledger::Database::Database(const std::string& file, int patience) : path(file) {
    make_private_file(file);
    const int status =
        sqlite3_open_v2(file.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, nullptr);
    try {
        if (status != SQLITE_OK) fail("cannot be opened");
        sqlite3_extended_result_codes(handle, 1);
        sqlite3_busy_timeout(handle, std::max(patience, 60000));
        run("PRAGMA journal_mode = DELETE");
        run("PRAGMA synchronous = EXTRA");
        create_or_check_layout();
    } catch (...) {
        sqlite3_close(handle);
        throw;
    }
}

void Ledger::Database::fail(const std::string& what) const {
    const int code = handle == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle) & 0xff;
    const std::string detail = handle == nullptr ? "out of memory" : sqlite3_errmsg(handle);
    const std::string message = "the ledger " + what + ": " + detail;
    switch (code) {
        case SQLITE_NOTADB:
        case SQLITE_CORRUPT:
        case SQLITE_ERROR:
            throw Error(ExitCode::input, message,
                        "name a ledger of this program; restore a damaged one from its last copy", path);
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            throw Error(ExitCode::output, message, "another process holds it: try again", path);
        default:
            throw Error(ExitCode::output, message, "check the disk and the file's permissions", path);
    }
}

void Ledger::Database::run(const char* sql) const {
    if (sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail("cannot be written");
}

std::int64_t Ledger::Database::number(const char* sql) const {
    Statement statement(*this, sql);
    if (!statement.step()) fail("cannot be read");
    return statement.integer(0);
}

void Ledger::Database::create_or_check_layout() const {
    Transaction transaction(*this);
    const std::int64_t tables = number("SELECT count(*) FROM sqlite_master");
    if (tables == 0 && number("PRAGMA application_id") == 0) {
        run(layout);
        run(("PRAGMA application_id = " + std::to_string(application_id)).c_str());
        run(("PRAGMA user_version = " + std::to_string(layout_version)).c_str());
    }
    if (number("PRAGMA application_id") != application_id) {
        throw Error(ExitCode::input, "an SQLite file, but not a ledger",
                    "name a ledger of this program, or a new file", path);
    }
    if (number("PRAGMA user_version") != layout_version) {
        throw Error(ExitCode::input, "a ledger of another version of this program",
                    "use the version that wrote it", path);
    }
    transaction.commit();
}

namespace {

void check_amounts(const Rational& epsilon, const Rational& delta) {
    if (epsilon <= 0 || epsilon > 1000000)
        throw Error(ExitCode::usage, "not in (0, 1000000]", "give a number such as 1", "epsilon");
    if (delta < 0 || delta >= 1)
        throw Error(ExitCode::usage, "not in [0, 1)", "give 0 or a value such as 1e-6", "delta");
}

template <typename Connection>
std::optional<Budget> read_budget(const Connection& connection, const std::string& dataset) {
    Statement select(connection, "SELECT epsilon, delta, fixed_epsilon FROM budgets WHERE dataset = ?");
    if (!select.bind(dataset).step()) return std::nullopt;
    Budget budget{parse_rational(select.text(0), "ledger"), parse_rational(select.text(1), "ledger"),
                  std::nullopt};
    if (!select.is_null(2)) budget.fixed_epsilon = parse_rational(select.text(2), "ledger");
    return budget;
}

/// What `answers` answers cost under a budget of fixed epsilon: free of delta while the basic sum fits.
void cost_of_fixed(Spending& spending) {
    const Rational& each = *spending.budget.fixed_epsilon;
    spending.epsilon = basic_composition(each, spending.answers);
    if (spending.epsilon <= spending.budget.epsilon || spending.budget.delta == 0) return;
    spending.epsilon = least_composition(each, spending.answers, spending.budget.delta);
    spending.delta = spending.budget.delta;
}

/// The account with `more` further answers at `charge`.
template <typename Connection>
Spending account(const Connection& connection, const std::string& dataset, const Budget& budget,
                 const Charge& charge, std::int64_t more) {
    Spending spending{budget, more, charge.epsilon * Rational(static_cast<long>(more)),
                      charge.delta * Rational(static_cast<long>(more))};
    Statement select(connection, "SELECT epsilon, delta, answers FROM spent WHERE dataset = ?");
    select.bind(dataset);
    while (select.step()) {
        const Rational answers(static_cast<long>(select.integer(2)));
        spending.answers += select.integer(2);
        spending.epsilon += parse_rational(select.text(0), "ledger") * answers;
        spending.delta += parse_rational(select.text(1), "ledger") * answers;
    }
    if (budget.fixed_epsilon) cost_of_fixed(spending);
    return spending;
}

bool fits(const Spending& spending) {
    return spending.epsilon <= spending.budget.epsilon && spending.delta <= spending.budget.delta;
}

/// Rounded up, shortest form: 1e-06, 0.1.
std::string decimal(const Rational& value) {
    char text[64];
    const auto [end, status] = std::to_chars(text, text + sizeof text, round_up(value));
    ensure(status == std::errc(), "a double prints in 64 characters");
    return std::string(text, end);
}

template <typename Connection>
void refuse_unless_affordable(const Connection& connection, const std::string& dataset, const Budget& budget,
                              const Charge& charge, std::int64_t more) {
    if (budget.fixed_epsilon && (charge.epsilon != *budget.fixed_epsilon || charge.delta != 0)) {
        throw Error(ExitCode::budget,
                    "this dataset's budget is for pure answers at epsilon " + decimal(*budget.fixed_epsilon) +
                        " each",
                    "ask at that epsilon, by a mechanism without delta", connection.path);
    }
    if (fits(account(connection, dataset, budget, charge, more))) return;
    std::int64_t affordable = 0, too_many = more;  // cost grows with the number of answers
    while (too_many - affordable > 1) {
        const std::int64_t middle = affordable + (too_many - affordable) / 2;
        (fits(account(connection, dataset, budget, charge, middle)) ? affordable : too_many) = middle;
    }
    const Spending spent = account(connection, dataset, budget, charge, 0);
    throw Error(ExitCode::budget,
                "the budget of this dataset is epsilon " + decimal(budget.epsilon) + ", delta " +
                    decimal(budget.delta) + "; " + decimal(spent.epsilon) + " is spent on " +
                    std::to_string(spent.answers) + " answers and " + std::to_string(more) +
                    " more do not fit: nothing was drawn",
                affordable > 0 ? "at this epsilon " + std::to_string(affordable) + " more do"
                               : "no answer at this epsilon fits any more",
                connection.path);
}

template <typename Connection>
void record_charge(const Connection& connection, const std::string& dataset, const Charge& charge,
                   const Digest& query, const Claim& claim, std::int64_t now) {
    const std::string epsilon = charge.epsilon.get_str(), delta = charge.delta.get_str();
    Statement spent(connection,
                    "INSERT INTO spent VALUES(?, ?, ?, 1) ON CONFLICT DO UPDATE SET answers = answers + 1");
    spent.bind(dataset).bind(epsilon).bind(delta).step();
    Statement entry(
        connection,
        "INSERT INTO charges(dataset, query, epsilon, delta, mechanism, time) VALUES(?, ?, ?, ?, ?, ?)");
    entry.bind(dataset).bind(query).bind(epsilon).bind(delta).bind(charge.mechanism).bind(now).step();
    Statement answer(connection, "INSERT OR REPLACE INTO answers VALUES(?, ?, ?, ?, NULL)");
    answer.bind(dataset).bind(query).bind(claim.token).bind(now).step();
}

}  // namespace

Ledger::Ledger(const std::string& path, int patience) : patience_(patience) {
    start_sodium();
    database_ = std::make_unique<Database>(path, patience);
}
Ledger::~Ledger() = default;
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;

void Ledger::set_budget(const std::string& dataset, const Budget& budget) {
    check_amounts(budget.epsilon, budget.delta);
    if (budget.fixed_epsilon) check_amounts(*budget.fixed_epsilon, 0);
    Transaction transaction(*database_);
    if (const std::optional<Budget> earlier = read_budget(*database_, dataset)) {
        if (earlier->epsilon == budget.epsilon && earlier->delta == budget.delta &&
            earlier->fixed_epsilon == budget.fixed_epsilon)
            return;
        throw Error(ExitCode::budget,
                    "this dataset's budget was set to epsilon " + decimal(earlier->epsilon) + ", delta " +
                        decimal(earlier->delta) +
                        (earlier->fixed_epsilon ? ", " + decimal(*earlier->fixed_epsilon) + " an answer"
                                                : std::string()) +
                        " and stays so",
                    "leave the budget out, or give the same", database_->path);
    }
    Statement insert(*database_, "INSERT INTO budgets VALUES(?, ?, ?, ?)");
    insert.bind(dataset).bind(budget.epsilon.get_str()).bind(budget.delta.get_str());
    if (budget.fixed_epsilon) insert.bind(budget.fixed_epsilon->get_str());
    insert.step();
    transaction.commit();
}

std::optional<Spending> Ledger::spending(const std::string& dataset) const {
    const std::optional<Budget> budget = read_budget(*database_, dataset);
    if (!budget) return std::nullopt;
    return account(*database_, dataset, *budget, Charge{0, 0, ""}, 0);
}

Ledger::Charged Ledger::charge(const std::string& dataset, const Charge& charge,
                               std::span<const Digest> queries) {
    check_amounts(charge.epsilon, charge.delta);
    Charged result;
    result.known.resize(queries.size());
    Transaction transaction(*database_);
    const std::optional<Budget> budget = read_budget(*database_, dataset);
    if (!budget) {
        throw Error(ExitCode::budget, "no budget was set for this dataset: nothing was drawn",
                    "give its total epsilon and delta first", database_->path);
    }
    const std::int64_t now = now_in_milliseconds();
    std::map<Digest, std::size_t> seen;
    Statement select(*database_, "SELECT label, claimed FROM answers WHERE dataset = ? AND query = ?");
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const bool first = seen.emplace(queries[i], i).second;
        select.bind(dataset).bind(queries[i]);
        const bool present = select.step();
        const bool answered = present && !select.is_null(0);
        // A claim from the future is a clock set back: waiting for it could last for ever.
        const std::int64_t age = present ? now - select.integer(1) : 0;
        const bool awaited = present && !answered && age >= 0 && age < patience_;
        if (answered) result.known[i] = LedgerAnswer{static_cast<int>(select.integer(0)), true};
        if (!answered && !awaited && first) result.claims.push_back({i, {}});
        select.reset();
    }
    if (result.claims.empty()) return result;
    refuse_unless_affordable(*database_, dataset, *budget, charge,
                             static_cast<std::int64_t>(result.claims.size()));
    for (Claim& claim : result.claims) {
        randombytes_buf(claim.token.data(), claim.token.size());
        record_charge(*database_, dataset, charge, queries[claim.query], claim, now);
    }
    transaction.commit();
    return result;
}

void Ledger::store(const std::string& dataset, std::span<const Digest> queries, std::span<const Claim> claims,
                   std::span<const int> labels) {
    ensure(claims.size() == labels.size(), "one label a claim");
    if (claims.empty()) return;
    Transaction transaction(*database_);
    Statement update(
        *database_,
        "UPDATE answers SET label = ? WHERE dataset = ? AND query = ? AND token = ? AND label IS NULL");
    for (std::size_t c = 0; c < claims.size(); ++c) {
        update.bind(std::int64_t{labels[c]})
            .bind(dataset)
            .bind(queries[claims[c].query])
            .bind(claims[c].token);
        update.step();
        update.reset();
    }
    transaction.commit();
}

std::vector<LedgerAnswer> Ledger::answer(const std::string& dataset, const Charge& charge,
                                         std::span<const Digest> queries,
                                         const std::function<int(std::size_t)>& draw) {
    std::vector<bool> paid(queries.size(), false);
    for (;;) {
        const Charged charged = this->charge(dataset, charge, queries);
        std::vector<int> labels;
        for (const Claim& claim : charged.claims) {
            labels.push_back(draw(claim.query));
            paid[claim.query] = true;
        }
        store(dataset, queries, charged.claims, labels);
        const auto missing = [](const std::optional<LedgerAnswer>& answer) { return !answer.has_value(); };
        if (charged.claims.empty() && std::none_of(charged.known.begin(), charged.known.end(), missing)) {
            std::vector<LedgerAnswer> answers;
            for (std::size_t i = 0; i < queries.size(); ++i)
                answers.push_back({charged.known[i]->label, !paid[i]});
            return answers;
        }
        if (charged.claims.empty())
            std::this_thread::sleep_for(std::chrono::milliseconds(20));  // another process is drawing
    }
}

}  // namespace holdfast
