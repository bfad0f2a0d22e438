#include "models/privacy/ledger/layout.hpp"

#include <sodium.h>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/base/error.hpp"
#include "models/privacy/guarantee.hpp"
#include "models/privacy/ledger/database.hpp"

namespace holdfast {
namespace {

constexpr int application_id = 0x486c6466;  // "Hldf": tells a ledger from other SQLite files
constexpr int layout_version = 4;

// Rows name their account by number: millions of people take little room, and an account can be renamed. An
// answer's terms are those of the charge it was drawn under; while it has no label, of the last reservation.
// It answers a query about one version of the data.
constexpr const char* layout = R"(
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

void create_layout(const LedgerDatabase& database) {
    database.run(layout);
    database.run(payments_layout);
    database.run(sessions_layout);
    std::array<std::byte, 32> key;
    randombytes_buf(key.data(), key.size());
    Statement(database, "INSERT INTO people_key VALUES(?)").bind(key).step();
    database.run("PRAGMA application_id = " + std::to_string(application_id));
    set_version(database);
}

void migrate_layout_1(const LedgerDatabase& database) {
    database.run(set_layout_1_aside);
    create_layout(database);
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
    set_version(database);
}

void migrate_layout_3(const LedgerDatabase& database) {
    require_tables(database, {"versions", "people", "people_key", "spent", "guarantees", "charges", "answers",
                              "payments", "curves", "results", "publications"});
    database.run(sessions_layout);
    set_version(database);
}

}  // namespace

void create_or_migrate_layout(const LedgerDatabase& database) {
    Transaction transaction(database);
    const std::int64_t tables = database.number("SELECT count(*) FROM sqlite_master");
    if (tables == 0 && database.number("PRAGMA application_id") == 0) create_layout(database);
    if (database.number("PRAGMA application_id") != application_id) {
        throw Error(ExitCode::input, "an SQLite file, but not a ledger",
                    "name a ledger of this program, or a new file", database.path());
    }
    const std::int64_t version = database.number("PRAGMA user_version");
    if (version == 1) migrate_layout_1(database);
    if (version == 2) migrate_layout_2(database);
    if (version == 3) migrate_layout_3(database);
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
