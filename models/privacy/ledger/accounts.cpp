#include "models/privacy/ledger/accounts.hpp"

#include <sodium.h>

#include <algorithm>
#include <map>
#include <set>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/ledger/budget.hpp"
#include "models/privacy/ledger/layout.hpp"
#include "models/privacy/measure/drawn_labels.hpp"

namespace holdfast {
namespace {

constexpr std::size_t ids_worth_threads = 4096;

bool same(const Account& a, const Account& b) {
    return a.budget.epsilon == b.budget.epsilon && a.budget.delta == b.budget.delta &&
           a.budget.fixed_epsilon == b.budget.fixed_epsilon && a.budget.renyi_order == b.budget.renyi_order &&
           a.budget.delta_apart == b.budget.delta_apart && a.budget.gaussian == b.budget.gaussian &&
           a.relation == b.relation;
}

std::string text_of(const Account& terms) {
    const Budget& budget = terms.budget;
    std::string text = "epsilon " + decimal_text(budget.epsilon) + ", delta " + decimal_text(budget.delta);
    if (budget.fixed_epsilon) text += ", " + decimal_text(*budget.fixed_epsilon) + " an answer";
    if (budget.renyi_order) text += ", the Renyi order " + std::to_string(*budget.renyi_order);
    if (budget.gaussian) text += ", as Gaussian privacy";
    if (budget.delta_apart != 0) text += ", delta " + decimal_text(budget.delta_apart) + " apart";
    return text + ", " + terms.relation + " neighbours";
}

/// A Renyi filter that could ever be charged.
void check_renyi(const Budget& budget) {
    if (budget.delta_apart != 0 && !budget.renyi_order && !budget.gaussian)
        throw Error(ExitCode::usage, "only an account of Renyi or Gaussian privacy sets a delta apart",
                    "leave it out", "delta apart");
    if (!budget.renyi_order) return;
    const std::int64_t order = *budget.renyi_order;
    if (budget.fixed_epsilon)
        throw Error(ExitCode::usage,
                    "an account of fixed epsilon composes by the optimal bound, not by Renyi",
                    "choose one of the two", "composition");
    if (!std::binary_search(renyi_orders().begin(), renyi_orders().end(), order))
        throw Error(ExitCode::usage, std::to_string(order) + " is no order that curves are kept at",
                    "take that of order_for_budget", "Renyi order");
    if (budget.delta_apart < 0 || budget.delta_apart >= budget.delta)
        throw Error(ExitCode::usage, "a Renyi account needs a delta, and sets apart less than all of it",
                    "give a delta such as 1e-6", "delta");
    if (renyi_budget(order, budget.epsilon, budget.delta - budget.delta_apart) <= 0)
        throw Error(ExitCode::usage,
                    "at the Renyi order " + std::to_string(order) + " nothing fits epsilon " +
                        decimal_text(budget.epsilon) + " at this delta",
                    "give a larger delta or epsilon, or take the basic rule", "budget");
}

/// A filter of Gaussian privacy that could ever be charged.
void check_gaussian(const Budget& budget) {
    if (!budget.gaussian) return;
    if (budget.fixed_epsilon || budget.renyi_order)
        throw Error(ExitCode::usage, "an account composes by one rule", "choose one of them", "composition");
    if (budget.delta_apart < 0 || budget.delta_apart >= budget.delta)
        throw Error(ExitCode::usage,
                    "an account of Gaussian privacy needs a delta, and sets apart less than all of it",
                    "give a delta such as 1e-6", "delta");
}

void check_terms(const std::string& population, const Account& terms) {
    if (population.empty())
        throw Error(ExitCode::usage, "a population without a name", "name the people it holds", "population");
    check_amounts(terms.budget.epsilon, terms.budget.delta);
    if (terms.budget.fixed_epsilon) check_amounts(*terms.budget.fixed_epsilon, 0);
    check_renyi(terms.budget);
    check_gaussian(terms.budget);
    if (terms.relation != "add_remove" && terms.relation != "substitute" &&
        terms.relation != label_relation) {
        throw Error(ExitCode::usage, "'" + terms.relation + "' is no relation that an account can count",
                    "add_remove, substitute or label", "relation");
    }
}

Error known_elsewhere(const LedgerDatabase& database, const std::string& known) {
    return Error(ExitCode::input, "this dataset was added to the population '" + known + "' before",
                 "keep that name: import it with --population '" + known + "'", database.path());
}

/// A dataset that the ledger knows under another name: only the name that migration made up gives way.
void settle_name(const LedgerDatabase& database, const std::string& population, const std::string& dataset) {
    const std::optional<std::string> known = find_population(database, dataset);
    if (!known || *known == population) return;
    if (*known != migrated_population(dataset) || find_account(database, population))
        throw known_elsewhere(database, *known);
    Statement(database, "UPDATE accounts SET population = ? WHERE population = ?")
        .bind(population)
        .bind(*known)
        .step();
}

/// `shared`: by account, how many.
Error known_people(const LedgerDatabase& database, const std::map<std::int64_t, std::int64_t>& shared) {
    std::string found, names;
    for (const auto& [account, count] : shared) {
        Statement select(database, "SELECT population FROM accounts WHERE id = ?");
        select.bind(account).step();
        const std::string name = "'" + select.text(0) + "'";
        found += (found.empty() ? "" : ", ") + std::to_string(count) + " from " + name;
        names += (names.empty() ? "" : " or ") + name;
    }
    return Error(ExitCode::input, "the dataset holds record ids known from other populations: " + found,
                 "the same people: import it with --population " + names +
                     "; other people under the same numbers: keep them another ledger",
                 database.path());
}

/// An account taken over from layout 1 says of which dataset it is, not of whom. Until its data is added,
/// anybody could be its people, and a new account a second budget for them.
void require_named_accounts(const LedgerDatabase& database) {
    Statement select(
        database,

        "SELECT population, dataset FROM accounts a JOIN versions ON account = a.id WHERE ids = 0");
    while (select.step()) {
        const std::string population = select.text(0);
        if (population != migrated_population(select.text(1))) continue;
        throw Error(ExitCode::budget,
                    "the account '" + population + "' of an earlier version does not say whose it is",
                    "add its dataset first, imported with its --population: holdfast account --ledger " +
                        database.path() + " --data FILE",
                    database.path());
    }
}

void add_people(const LedgerDatabase& database, std::int64_t account, std::span<const std::uint64_t> ids) {
    std::map<std::int64_t, std::int64_t> shared;  // ids known under other accounts
    Statement find(database, "SELECT account FROM people WHERE hash = ?");
    Statement insert(database, "INSERT INTO people VALUES(?, ?)");
    for (const std::int64_t hash : hashes_of(ids, people_key(database))) {
        if (!find.bind(hash).step()) {
            insert.bind(hash).bind(account).step();
            insert.reset();
        } else if (find.integer(0) != account) {
            ++shared[find.integer(0)];
        }
        find.reset();
    }
    if (!shared.empty()) throw known_people(database, shared);
}

/// Notes the contents of records; returns the populations of which some have the same.
std::vector<std::string> add_contents(const LedgerDatabase& database, std::int64_t account,
                                      std::span<const std::uint64_t> contents) {
    Statement find(database,
                   "SELECT population FROM contents JOIN accounts a ON a.id = account "
                   "WHERE hash = ? AND account <> ?");
    Statement insert(database, "INSERT INTO contents VALUES(?, ?) ON CONFLICT DO NOTHING");
    Statement others(database, "SELECT EXISTS(SELECT 1 FROM accounts WHERE id <> ?)");
    others.bind(account).step();
    const bool alone = others.integer(0) == 0;
    std::set<std::string> shared;
    for (const std::int64_t hash : hashes_of(contents, people_key(database))) {
        if (!alone) {
            find.bind(hash).bind(account);
            while (find.step()) shared.insert(find.text(0));
            find.reset();
        }
        insert.bind(hash).bind(account).step();
        insert.reset();
    }
    return {shared.begin(), shared.end()};
}

Error maybe_same_people(const LedgerDatabase& database, const std::vector<std::string>& populations,
                        const std::string& why) {
    std::string names;
    for (const std::string& name : populations) names += (names.empty() ? "'" : " or '") + name + "'";
    return Error(ExitCode::input, why + " " + names,
                 "the same people: import it with --population " + names +
                     "; surely other people, none of whom is there under another id: say so with "
                     "--other-people",
                 database.path());
}

}  // namespace

std::vector<std::byte> people_key(const LedgerDatabase& database) {
    Statement select(database, "SELECT bytes FROM people_key");
    select.step();
    return select.blob(0);
}

// Ascending: neighbours in the table are then written together.
std::vector<std::int64_t> hashes_of(std::span<const std::uint64_t> ids, std::span<const std::byte> key) {
    std::vector<std::int64_t> hashes(ids.size());
#pragma omp parallel for schedule(static) if (ids.size() >= ids_worth_threads)
    for (std::size_t at = 0; at < ids.size(); ++at) {
        unsigned char bytes[8], digest[crypto_generichash_BYTES_MIN];
        for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(ids[at] >> 8 * i);
        crypto_generichash(digest, sizeof digest, bytes, sizeof bytes,
                           reinterpret_cast<const unsigned char*>(key.data()), key.size());
        std::uint64_t hash = 0;
        for (int i = 0; i < 8; ++i) hash |= std::uint64_t{digest[i]} << 8 * i;
        hashes[at] = static_cast<std::int64_t>(hash);
    }
    std::sort(hashes.begin(), hashes.end());
    hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
    return hashes;
}

std::vector<std::string> find_uncompared(const LedgerDatabase& database, const std::string& population,
                                         const std::string& dataset, bool by_features) {
    Statement select(
        database,
        "SELECT DISTINCT a.population FROM versions mine JOIN versions other "
        "ON other.account <> mine.account AND (other.id_kind <> mine.id_kind OR "
        "mine.id_kind NOT IN ('given', 'content') OR (?3 AND EXISTS(SELECT 1 FROM contents c JOIN contents d "
        "ON d.hash = c.hash WHERE c.account = mine.account AND d.account = other.account))) "
        "JOIN accounts a ON a.id = other.account "
        "WHERE mine.account = (SELECT id FROM accounts WHERE population = ?1) "
        "AND (?2 = '' OR mine.dataset = ?2) ORDER BY a.population");
    select.bind(population).bind(dataset).bind(std::int64_t{by_features});
    std::vector<std::string> populations;
    while (select.step()) populations.push_back(select.text(0));
    return populations;
}

std::optional<StoredAccount> find_account(const LedgerDatabase& database, const std::string& population) {
    Statement select(database,
                     "SELECT id, relation, epsilon, delta, fixed_epsilon, renyi_order, delta_apart, gaussian "
                     "FROM accounts WHERE population = ?");
    if (!select.bind(population).step()) return std::nullopt;
    StoredAccount account{
        select.integer(0),
        {{parse_rational(select.text(2), "ledger"), parse_rational(select.text(3), "ledger"), std::nullopt},
         select.text(1)}};
    if (!select.is_null(4)) account.terms.budget.fixed_epsilon = parse_rational(select.text(4), "ledger");
    if (!select.is_null(5)) account.terms.budget.renyi_order = select.integer(5);
    account.terms.budget.delta_apart = parse_rational(select.text(6), "ledger");
    account.terms.budget.gaussian = select.integer(7) != 0;
    return account;
}

StoredAccount require_account(const LedgerDatabase& database, const std::string& population) {
    if (const std::optional<StoredAccount> account = find_account(database, population)) return *account;
    throw Error(
        ExitCode::budget, "no account of the population '" + population + "' was opened",
        "open it once: holdfast account --ledger " + database.path() + " --data FILE --budget EPSILON",
        database.path());
}

StoredAccount require_account_of(const LedgerDatabase& database, const std::string& dataset) {
    if (const std::optional<std::string> population = find_population(database, dataset))
        return require_account(database, *population);
    throw Error(ExitCode::budget, "this ledger knows no population of the dataset that is asked",
                "its owner adds it: holdfast account --ledger " + database.path() + " --data FILE",
                database.path());
}

std::vector<std::string> find_populations(const LedgerDatabase& database) {
    Statement select(database, "SELECT population FROM accounts ORDER BY population");
    std::vector<std::string> populations;
    while (select.step()) populations.push_back(select.text(0));
    return populations;
}

std::optional<std::string> find_population(const LedgerDatabase& database, const std::string& dataset) {
    Statement select(database,
                     "SELECT population FROM versions JOIN accounts a ON a.id = account WHERE dataset = ?");
    if (!select.bind(dataset).step()) return std::nullopt;
    return select.text(0);
}

std::vector<DatasetVersion> find_versions(const LedgerDatabase& database, const std::string& population) {
    Statement select(
        database,
        "SELECT dataset, ids FROM versions JOIN accounts a ON a.id = account WHERE population = ? "
        "ORDER BY dataset");
    select.bind(population);
    std::vector<DatasetVersion> versions;
    while (select.step()) versions.push_back({select.text(0), select.integer(1)});
    return versions;
}

void record_account(const LedgerDatabase& database, const std::string& population, const Account& terms) {
    check_terms(population, terms);
    if (const std::optional<StoredAccount> earlier = find_account(database, population)) {
        if (same(earlier->terms, terms)) return;
        throw Error(ExitCode::budget,
                    "the account of '" + population + "' was opened with " + text_of(earlier->terms) +
                        " and stays so; now it was to be " + text_of(terms),
                    "leave the terms out, or give the same", database.path());
    }
    require_named_accounts(database);
    Statement insert(database,
                     "INSERT INTO accounts(population, relation, epsilon, delta, delta_apart, fixed_epsilon, "
                     "renyi_order, gaussian) VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    insert.bind(population).bind(terms.relation);
    const Budget& budget = terms.budget;
    insert.bind(budget.epsilon.get_str()).bind(budget.delta.get_str()).bind(budget.delta_apart.get_str());
    budget.fixed_epsilon ? insert.bind(budget.fixed_epsilon->get_str()) : insert.bind_null();
    budget.renyi_order ? insert.bind(*budget.renyi_order) : insert.bind_null();
    insert.bind(std::int64_t{budget.gaussian});
    insert.step();
}

void record_version(const LedgerDatabase& database, const std::string& population, const std::string& dataset,
                    std::span<const std::uint64_t> ids, const std::optional<Account>& opening,
                    const RecordMarks& marks) {
    const bool is_new = !find_population(database, dataset);
    settle_name(database, population, dataset);
    if (opening) record_account(database, population, *opening);
    const std::int64_t account = require_account(database, population).id;
    Statement(database,
              "INSERT INTO versions(dataset, account, ids, id_kind) VALUES(?, ?, ?, ?) "
              "ON CONFLICT DO UPDATE SET ids = max(ids, excluded.ids), id_kind = excluded.id_kind")
        .bind(dataset)
        .bind(account)
        .bind(static_cast<std::int64_t>(ids.size()))
        .bind(marks.id_kind)
        .step();
    add_people(database, account, ids);
    const std::vector<std::string> equal = add_contents(database, account, marks.contents);
    if (!is_new || marks.other_people) return;
    if (!equal.empty() && !marks.held_out)
        throw maybe_same_people(database, equal,
                                "the dataset holds records with the very features of some in");
    const std::vector<std::string> uncompared =
        find_uncompared(database, population, dataset, !marks.held_out);
    if (!uncompared.empty())
        throw maybe_same_people(database, uncompared,
                                "the dataset's ids (" + marks.id_kind + ") cannot be compared with those of");
}

}  // namespace holdfast
