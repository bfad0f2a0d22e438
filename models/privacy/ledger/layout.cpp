#include "models/privacy/ledger/layout.hpp"

#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "dist/files/atomic_file.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/guarantee.hpp"
#include "models/privacy/ledger/chain.hpp"
#include "models/privacy/ledger/database.hpp"

namespace holdfast {
namespace {

constexpr int application_id = 0x486c6466;  // "Hldf": tells a ledger from other SQLite files
constexpr int layout_version = 6;

// Layout 6: every row has an id that stays, so that the chain can name it, and what it names is there. Rows
// name their account by number: millions of people take little room, and an account can be renamed. An
// answer's terms are those of the charge it was drawn under; while it has no label, of the last reservation.
// It answers a query about one version of the data. The ledger does not know how many classes a run has: that
// a label is one of them follows from the chain, which has it as it was drawn.
constexpr const char* layout = R"(
CREATE TABLE accounts(id INTEGER PRIMARY KEY, population TEXT NOT NULL UNIQUE,
                      relation TEXT NOT NULL CHECK(relation IN ('add_remove', 'substitute', 'label')),
                      epsilon TEXT NOT NULL CHECK(epsilon GLOB '[1-9]*'), delta TEXT NOT NULL CHECK(IS_DELTA(delta)),
                      fixed_epsilon TEXT CHECK(fixed_epsilon GLOB '[1-9]*'), renyi_order INTEGER CHECK(renyi_order > 1),
                      delta_apart TEXT NOT NULL CHECK(IS_DELTA(delta_apart)), gaussian INTEGER NOT NULL) STRICT;
CREATE TABLE versions(id INTEGER PRIMARY KEY, dataset TEXT NOT NULL UNIQUE,
                      account INTEGER NOT NULL REFERENCES accounts(id), ids INTEGER NOT NULL CHECK(ids >= 0),
                      id_kind TEXT NOT NULL DEFAULT 'unknown') STRICT;
CREATE TABLE people(hash INTEGER PRIMARY KEY, account INTEGER NOT NULL REFERENCES accounts(id)) STRICT;
CREATE TABLE contents(hash INTEGER NOT NULL, account INTEGER NOT NULL REFERENCES accounts(id),
                      PRIMARY KEY(hash, account)) STRICT;
CREATE TABLE people_key(id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE guarantees(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE payments(id INTEGER PRIMARY KEY, account INTEGER NOT NULL REFERENCES accounts(id),
                      dataset TEXT NOT NULL REFERENCES versions(dataset), token TEXT NOT NULL,
                      epsilon TEXT NOT NULL CHECK(epsilon GLOB '[0-9]*'), delta TEXT NOT NULL CHECK(IS_DELTA(delta)),
                      mechanism TEXT NOT NULL, parameters TEXT NOT NULL,
                      guarantee INTEGER NOT NULL REFERENCES guarantees(id), time INTEGER NOT NULL,
                      mu_squared TEXT CHECK(mu_squared GLOB '[0-9]*'), UNIQUE(dataset, token)) STRICT;
CREATE TABLE charges(id INTEGER PRIMARY KEY, account INTEGER NOT NULL REFERENCES accounts(id),
                     dataset TEXT NOT NULL REFERENCES versions(dataset), query BLOB NOT NULL,
                     epsilon TEXT NOT NULL CHECK(epsilon GLOB '[0-9]*'), delta TEXT NOT NULL CHECK(IS_DELTA(delta)),
                     mechanism TEXT NOT NULL, guarantee INTEGER NOT NULL REFERENCES guarantees(id),
                     time INTEGER NOT NULL, payment INTEGER REFERENCES payments(id)) STRICT;
CREATE INDEX charges_costs ON charges(account, epsilon, delta) WHERE payment IS NULL;
CREATE TABLE answers(id INTEGER PRIMARY KEY, account INTEGER NOT NULL, dataset TEXT NOT NULL, query BLOB NOT NULL,
                     charge INTEGER NOT NULL REFERENCES charges(id), label INTEGER CHECK(label >= -1),
                     UNIQUE(account, dataset, query)) STRICT;
CREATE TABLE curves(id INTEGER PRIMARY KEY, payment INTEGER NOT NULL REFERENCES payments(id),
                    renyi_order INTEGER NOT NULL, rho TEXT NOT NULL CHECK(rho GLOB '[0-9]*'),
                    UNIQUE(payment, renyi_order)) STRICT;
CREATE TABLE results(id INTEGER PRIMARY KEY REFERENCES payments(id), digest TEXT NOT NULL) STRICT;
CREATE TABLE publications(id INTEGER PRIMARY KEY, payment INTEGER NOT NULL REFERENCES payments(id),
                          model TEXT NOT NULL, time INTEGER NOT NULL, UNIQUE(payment, model)) STRICT;
CREATE TABLE sessions(id INTEGER PRIMARY KEY REFERENCES payments(id), account INTEGER NOT NULL REFERENCES accounts(id),
                      name TEXT NOT NULL, run TEXT NOT NULL, program TEXT NOT NULL, epsilon_one TEXT NOT NULL,
                      epsilon_two TEXT NOT NULL, delta TEXT NOT NULL CHECK(IS_DELTA(delta)), width INTEGER NOT NULL,
                      refusals INTEGER NOT NULL CHECK(refusals >= 0), refused INTEGER NOT NULL CHECK(refused >= 0),
                      threshold INTEGER NOT NULL, UNIQUE(account, name)) STRICT;
CREATE TABLE public_files(id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE,
                          known INTEGER NOT NULL CHECK(known >= 0)) STRICT;
CREATE TABLE chain(id INTEGER PRIMARY KEY, subject INTEGER NOT NULL, row INTEGER NOT NULL, digest BLOB NOT NULL,
                   head BLOB NOT NULL) STRICT;
)";

// What layout 4 called its columns, tables that others name first.
struct Moved {
    const char *table, *columns, *from;
};
constexpr Moved moved_from_layout_4[] = {
    {"accounts",
     "id, population, relation, epsilon, delta, fixed_epsilon, renyi_order, delta_apart, gaussian", nullptr},
    {"versions", "dataset, account, ids", nullptr},
    {"people", "hash, account", "id_hash, account"},
    {"people_key", "bytes", nullptr},
    {"guarantees", "id, text", nullptr},
    {"payments",
     "id, account, dataset, token, epsilon, delta, mechanism, parameters, guarantee, time, mu_squared",
     nullptr},
    {"charges", "id, account, dataset, query, epsilon, delta, mechanism, guarantee, time, payment", nullptr},
    {"answers", "account, dataset, query, charge, label", nullptr},
    {"curves", "payment, renyi_order, rho", nullptr},
    {"results", "id, digest", "payment, digest"},
    {"publications", "payment, model, time", nullptr},
    {"sessions",
     "id, account, name, run, program, epsilon_one, epsilon_two, delta, width, refusals, refused, threshold",
     "payment, account, name, run, program, epsilon_one, epsilon_two, delta, width, refusals, refused, "
     "threshold"},
};

// Charges that layout 4 counted as spent and does not have, or has and did not count.
constexpr const char* miscounted_in_layout_4 = R"(
SELECT count(*) FROM (
    SELECT account, epsilon, delta, answers FROM spent WHERE answers <> 0
    EXCEPT SELECT account, epsilon, delta, count(*) FROM charges WHERE payment IS NULL GROUP BY account, epsilon, delta
    UNION ALL
    SELECT * FROM (
        SELECT account, epsilon, delta, count(*) FROM charges WHERE payment IS NULL GROUP BY account, epsilon, delta
        EXCEPT SELECT account, epsilon, delta, answers FROM spent))
)";

// The tables of layout 1 and 2.
constexpr const char* layout_4_base = R"(
CREATE TABLE accounts(id INTEGER PRIMARY KEY, population TEXT NOT NULL UNIQUE,
                      relation TEXT NOT NULL CHECK(relation IN ('add_remove', 'substitute')),
                      epsilon TEXT NOT NULL, delta TEXT NOT NULL, fixed_epsilon TEXT,
                      renyi_order INTEGER, delta_apart TEXT NOT NULL DEFAULT '0') STRICT;
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
)";

// What layout 3 added: a release paid for once, under its token, with its curve where it has one; the one
// result that it bought; and the models that left the house under it. They name each other by number.
constexpr const char* payments_layout = R"(
CREATE TABLE payments(id INTEGER PRIMARY KEY, account INTEGER NOT NULL, dataset TEXT NOT NULL, token TEXT NOT NULL,
                      epsilon TEXT NOT NULL, delta TEXT NOT NULL, mechanism TEXT NOT NULL, parameters TEXT NOT NULL,
                      guarantee INTEGER NOT NULL, time INTEGER NOT NULL, UNIQUE(dataset, token)) STRICT;
CREATE TABLE curves(payment INTEGER NOT NULL, renyi_order INTEGER NOT NULL, rho TEXT NOT NULL,
                    PRIMARY KEY(payment, renyi_order)) STRICT;
CREATE TABLE results(payment INTEGER PRIMARY KEY, digest TEXT NOT NULL) STRICT;
CREATE TABLE publications(payment INTEGER NOT NULL, model TEXT NOT NULL, time INTEGER NOT NULL,
                          PRIMARY KEY(payment, model)) STRICT;
)";

// What layout 4 added: accounts of Gaussian privacy, answers that a payment covers, and sessions: what each
// is about, its public terms, how many queries it refused, and its threshold, which nothing but the law
// reads.
constexpr const char* sessions_layout = R"(
ALTER TABLE accounts ADD COLUMN gaussian INTEGER NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN mu_squared TEXT;
ALTER TABLE charges ADD COLUMN payment INTEGER;
CREATE TABLE sessions(payment INTEGER PRIMARY KEY, account INTEGER NOT NULL, name TEXT NOT NULL, run TEXT NOT NULL,
                      program TEXT NOT NULL, epsilon_one TEXT NOT NULL, epsilon_two TEXT NOT NULL,
                      delta TEXT NOT NULL, width INTEGER NOT NULL, refusals INTEGER NOT NULL,
                      refused INTEGER NOT NULL, threshold INTEGER NOT NULL, UNIQUE(account, name)) STRICT;
)";

// Its accounts could name no order: all they say stays as it was.
constexpr const char* take_over_layout_2 = R"(
ALTER TABLE accounts ADD COLUMN renyi_order INTEGER;
ALTER TABLE accounts ADD COLUMN delta_apart TEXT NOT NULL DEFAULT '0';
)";

constexpr const char* set_layout_1_aside = R"(
ALTER TABLE spent RENAME TO old_spent;
ALTER TABLE charges RENAME TO old_charges;
ALTER TABLE answers RENAME TO old_answers;
)";

// Layout 1 kept a dataset's relation as a budget of "DATASET:relation": 1 add_remove, 2 substitute. The two
// guarantees, written before, are numbered likewise.
constexpr const char* take_over_layout_1 = R"(
INSERT INTO accounts(population, relation, epsilon, delta, fixed_epsilon)
    SELECT 'dataset-' || substr(dataset, 1, 16),
           CASE (SELECT epsilon FROM budgets WHERE dataset = b.dataset || ':relation')
                WHEN '2' THEN 'substitute' ELSE 'add_remove' END,
           epsilon, delta, fixed_epsilon
    FROM budgets b WHERE dataset NOT GLOB '*:relation';
INSERT INTO versions SELECT b.dataset, a.id, 0
    FROM budgets b JOIN accounts a ON a.population = 'dataset-' || substr(b.dataset, 1, 16)
    WHERE b.dataset NOT GLOB '*:relation';
INSERT INTO spent SELECT v.account, o.epsilon, o.delta, o.answers
    FROM old_spent o JOIN versions v ON v.dataset = o.dataset;
INSERT INTO charges(id, account, dataset, query, epsilon, delta, mechanism, guarantee, time)
    SELECT o.id, v.account, o.dataset, o.query, o.epsilon, o.delta, o.mechanism,
           CASE a.relation WHEN 'substitute' THEN 2 ELSE 1 END, o.time
    FROM old_charges o JOIN versions v ON v.dataset = o.dataset JOIN accounts a ON a.id = v.account;
INSERT INTO answers SELECT v.account, o.dataset, o.query, last.id, o.label
    FROM old_answers o JOIN versions v ON v.dataset = o.dataset
         JOIN (SELECT dataset, query, max(id) AS id FROM old_charges GROUP BY dataset, query) last
              ON last.dataset = o.dataset AND last.query = o.query;
DROP TABLE budgets;
DROP TABLE old_spent;
DROP TABLE old_charges;
DROP TABLE old_answers;
)";

void set_version(const LedgerDatabase& database) {
    database.run("PRAGMA user_version = " + std::to_string(layout_version));
}

/// `layout` with its short form of a range written out: a fraction below 1.
std::string layout_text() {
    std::string text = layout;
    const std::string call = "IS_DELTA(";
    for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call)) {
        const std::size_t end = text.find(')', at);
        const std::string column = text.substr(at + call.size(), end - at - call.size());
        text.replace(at, end + 1 - at,
                     column + " = '0' OR (" + column + " GLOB '[1-9]*/[1-9]*' AND CAST(" + column +
                         " AS REAL) <= CAST(substr(" + column + ", instr(" + column +
                         ", '/') + 1) AS REAL))");
    }
    return text;
}

void make_key(const LedgerDatabase& database) {
    std::array<std::byte, 32> key;
    randombytes_buf(key.data(), key.size());
    Statement(database, "INSERT INTO people_key(bytes) VALUES(?)").bind(key).step();
}

void set_application(const LedgerDatabase& database) {
    database.run("PRAGMA application_id = " + std::to_string(application_id));
}

void migrate_layout_1(const LedgerDatabase& database) {
    database.run(set_layout_1_aside);
    database.run(layout_4_base);
    database.run(payments_layout);
    database.run(sessions_layout);
    make_key(database);
    for (const char* relation : {"add_remove", "substitute"}) {
        const Guarantee unrecorded =
            Guarantee::as_published("a label drawn by an earlier version of this program",
                                    "that version did not record the guarantee it drew under", relation);
        Statement(database, "INSERT INTO guarantees(text) VALUES(?)")
            .bind(unrecorded.to_json().dump())
            .step();
    }
    database.run(take_over_layout_1);
}

void require_tables(const LedgerDatabase& database, std::initializer_list<const char*> tables) {
    for (const char* table : tables)
        database.number("SELECT count(*) FROM " + std::string(table));  // an Error if it is not there
}

void migrate_layout_2(const LedgerDatabase& database) {
    require_tables(database,
                   {"versions", "people", "people_key", "spent", "guarantees", "charges", "answers"});
    database.run(take_over_layout_2);
    database.run(payments_layout);
    database.run(sessions_layout);
}

void migrate_layout_3(const LedgerDatabase& database) {
    require_tables(database, {"versions", "people", "people_key", "spent", "guarantees", "charges", "answers",
                              "payments", "curves", "results", "publications"});
    database.run(sessions_layout);
}

/// What its charges say it has spent must be what it was said to have.
void migrate_layout_4(const LedgerDatabase& database, std::int64_t migrated_from) {
    if (database.number(miscounted_in_layout_4) > 0)
        throw Error(ExitCode::input,
                    "the ledger is damaged: what was spent is not what its charges add up to",
                    "restore it from its last copy", database.path());
    for (const Moved& moved : moved_from_layout_4)
        database.run("ALTER TABLE " + std::string(moved.table) + " RENAME TO old_" + moved.table);
    database.run(layout_text());
    for (const Moved& moved : moved_from_layout_4) {
        const std::string from = moved.from ? moved.from : moved.columns, table = moved.table;
        database.run("INSERT INTO " + table + "(" + moved.columns + ") SELECT " + from + " FROM old_" +
                     table);
    }
    for (auto moved = std::rbegin(moved_from_layout_4); moved != std::rend(moved_from_layout_4); ++moved)
        database.run("DROP TABLE old_" + std::string(moved->table));
    database.run("DROP TABLE spent");
    begin_chain(database, migrated_from);
}

/// Its accounts counted no labels: all rows are those of layout 6, and the chain has them as they are.
void migrate_layout_5(const LedgerDatabase& database) {
    constexpr const char* tables[] = {"accounts",   "versions",     "people",   "contents",     "people_key",
                                      "guarantees", "payments",     "charges",  "answers",      "curves",
                                      "results",    "publications", "sessions", "public_files", "chain"};
    database.run("DROP INDEX charges_costs");
    for (const std::string table : tables) database.run("ALTER TABLE " + table + " RENAME TO old_" + table);
    database.run(layout_text());
    for (const std::string table : tables)
        database.run("INSERT INTO " + table + " SELECT * FROM old_" + table);
    for (auto table = std::rbegin(tables); table != std::rend(tables); ++table)
        database.run("DROP TABLE old_" + std::string(*table));
}

}  // namespace

void make_ledger_file(const std::string& path) {
    const LedgerDatabase database;
    Transaction transaction(database);
    database.run(layout_text());
    make_key(database);
    set_application(database);
    set_version(database);
    begin_chain(database, 0);
    transaction.commit();
    write_file_unless_there(path, database.bytes());
}

bool is_ledger_file(const std::string& path) {
    constexpr std::size_t id_offset = 68;  // the SQLite database file format, section 1.3
    std::array<char, id_offset + 4> head{};
    std::ifstream stream(path, std::ios::binary);
    if (!stream.read(head.data(), head.size()) || !std::string(head.data()).starts_with("SQLite format 3"))
        return false;
    std::uint32_t id = 0;
    for (std::size_t i = id_offset; i < head.size(); ++i) id = id << 8 | static_cast<unsigned char>(head[i]);
    return id == application_id;
}

void migrate_layout(const LedgerDatabase& database) {
    // A ledger of this layout is only read: nobody else is held back, and the file may be read-only.
    if (database.number("PRAGMA application_id") == application_id &&
        database.number("PRAGMA user_version") == layout_version)
        return;
    Transaction transaction(database);
    if (database.number("PRAGMA application_id") != application_id) {
        throw Error(ExitCode::input, "an SQLite file, but not a ledger",
                    "name a ledger of this program, or a new file", database.path());
    }
    const std::int64_t version = database.number("PRAGMA user_version");
    if (version == 1) migrate_layout_1(database);
    if (version == 2) migrate_layout_2(database);
    if (version == 3) migrate_layout_3(database);
    if (version >= 1 && version < 5) migrate_layout_4(database, version);
    if (version == 5) migrate_layout_5(database);
    if (version >= 1 && version < layout_version) set_version(database);
    if (database.number("PRAGMA user_version") != layout_version) {
        throw Error(ExitCode::input, "a ledger of another version of this program",
                    "use the version that wrote it", database.path());
    }
    transaction.commit();
}

std::string migrated_population(const std::string& dataset) {
    return "dataset-" + dataset.substr(0, 16);
}

}  // namespace holdfast
