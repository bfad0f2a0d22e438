#include "models/privacy/ledger/chain.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <unordered_map>

#include "dist/files/digest.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/ledger/database.hpp"
#include "models/privacy/ledger/query_digest.hpp"

namespace holdfast {
namespace {

// Their numbers are part of the format: 1 and up.
constexpr std::array chained_rows{"accounts", "versions",     "people_key", "guarantees",
                                  "charges",  "answers",      "payments",   "curves",
                                  "results",  "publications", "sessions",   "public_files"};
// Covered as a whole; their rows in the order of all their columns.
constexpr std::array chained_wholes{"people", "contents"};
constexpr std::int64_t beginning = 0;  // the table of the first entry; its row is the layout before

constexpr std::size_t most_findings = 5;

bool is_whole(std::int64_t table) {
    return table > static_cast<std::int64_t>(chained_rows.size());
}

std::string name_of(std::int64_t table) {
    const auto place = static_cast<std::size_t>(table - 1);
    return is_whole(table) ? chained_wholes[place - chained_rows.size()] : chained_rows[place];
}

/// BLAKE2b under the ledger's key: whoever sees a head, as in a statement, learns nothing of the rows.
class KeyedDigest {
  public:
    explicit KeyedDigest(const std::vector<std::byte>& key) {
        crypto_generichash_init(&state_, reinterpret_cast<const unsigned char*>(key.data()), key.size(),
                                sizeof(Digest));
    }
    KeyedDigest& add(std::span<const std::byte> bytes) {
        crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()),
                                  bytes.size());
        return *this;
    }
    KeyedDigest& add(std::int64_t value) {
        std::array<std::byte, 8> bytes;
        for (std::size_t i = 0; i < 8; ++i)
            bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i);
        return add(bytes);
    }
    Digest finish() {
        Digest digest;
        crypto_generichash_final(&state_, reinterpret_cast<unsigned char*>(digest.data()), digest.size());
        return digest;
    }

  private:
    crypto_generichash_state state_;
};

std::vector<std::byte> key_of(const LedgerDatabase& database) {
    Statement select(database, "SELECT bytes FROM people_key");
    if (!select.step() || select.blob(0).size() != sizeof(Digest))
        throw Error(ExitCode::input, "the ledger is damaged: its key is not there",
                    "restore it from its last copy", database.path());
    return select.blob(0);
}

Digest digest_at(const Statement& statement, int column) {
    const std::vector<std::byte> bytes = statement.blob(column);
    Digest digest{};
    std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
    return digest;
}

std::string hexadecimal(const Digest& digest) {
    return hex_of({reinterpret_cast<const unsigned char*>(digest.data()), digest.size()});
}

struct Entry {
    std::int64_t table = beginning, row = 0;
    Digest digest{};
};

Digest head_after(const std::vector<std::byte>& key, const Digest& head, const Entry& entry) {
    return KeyedDigest(key).add(head).add(entry.table).add(entry.row).add(entry.digest).finish();
}

/// Of a statement's row, whose first column is its id.
Digest digest_of_row(const std::vector<std::byte>& key, std::int64_t table, const Statement& row) {
    return KeyedDigest(key).add(table).add(row.canonical_row()).finish();
}

Digest digest_of_whole(const LedgerDatabase& database, const std::vector<std::byte>& key,
                       std::int64_t table) {
    KeyedDigest digest(key);
    digest.add(table);
    Statement all(database, "SELECT hash, account FROM " + name_of(table) + " ORDER BY hash, account");
    while (all.step()) digest.add(all.integer(0)).add(all.integer(1));
    return digest.finish();
}

/// Appends to the chain, whose last head it knows.
class Appender {
  public:
    Appender(const LedgerDatabase& database, const std::vector<std::byte>& key)
        : key_(key), insert_(database, "INSERT INTO chain VALUES(?, ?, ?, ?, ?)") {
        Statement last(database, "SELECT id, head FROM chain ORDER BY id DESC LIMIT 1");
        if (!last.step()) return;
        entries_ = last.integer(0);
        head_ = digest_at(last, 1);
    }
    void add(const Entry& entry) {
        head_ = head_after(key_, head_, entry);
        insert_.bind(++entries_).bind(entry.table).bind(entry.row).bind(entry.digest).bind(head_).step();
        insert_.reset();
    }

  private:
    const std::vector<std::byte>& key_;
    Statement insert_;
    std::int64_t entries_ = 0;
    Digest head_{};
};

/// What a check found, the first few of it in words.
class Findings {
  public:
    void add(const std::string& finding) {
        if (++count_ <= most_findings) text_ += (text_.empty() ? "" : "; ") + finding;
    }
    void throw_if_any(const std::string& path) const {
        if (count_ == 0) return;
        const std::string more =
            count_ > most_findings ? "; and " + std::to_string(count_ - most_findings) + " more" : "";
        throw Error(ExitCode::input, "the ledger is damaged: " + text_ + more,
                    "nothing was charged; restore it from its last copy, or ask who changed it", path);
    }

  private:
    std::string text_;
    std::size_t count_ = 0;
};

std::string name_of_row(std::int64_t table, std::int64_t row) {
    return is_whole(table) ? "the table " + name_of(table)
                           : "row " + std::to_string(row) + " of " + name_of(table);
}

/// By tables and rows, what the chain says of each last.
using LastDigests = std::map<std::int64_t, std::unordered_map<std::int64_t, Digest>>;

LastDigests walk_chain(const LedgerDatabase& database, const std::vector<std::byte>& key,
                       Findings& findings) {
    const auto tables = static_cast<std::int64_t>(chained_rows.size() + chained_wholes.size());
    LastDigests last;
    Digest head{};
    std::int64_t expected = 0;
    Statement entries(database, "SELECT id, subject, row, digest, head FROM chain ORDER BY id");
    while (entries.step()) {
        const Entry entry{entries.integer(1), entries.integer(2), digest_at(entries, 3)};
        head = head_after(key, head, entry);
        ++expected;
        const bool known =
            expected == 1 ? entry.table == beginning : entry.table >= 1 && entry.table <= tables;
        if (entries.integer(0) != expected || !known || digest_at(entries, 4) != head) {
            findings.add("its chain breaks at entry " + std::to_string(expected));
            return last;
        }
        if (expected > 1) last[entry.table][entry.row] = entry.digest;
    }
    if (expected == 0) findings.add("its chain is gone");
    return last;
}

void compare_rows(const LedgerDatabase& database, const std::vector<std::byte>& key, std::int64_t table,
                  std::unordered_map<std::int64_t, Digest> last, Findings& findings) {
    Statement rows(database, "SELECT * FROM " + name_of(table) + " ORDER BY 1");
    while (rows.step()) {
        const auto found = last.find(rows.integer(0));
        if (found == last.end()) {
            findings.add(name_of_row(table, rows.integer(0)) + " was added by another program");
            continue;
        }
        if (found->second != digest_of_row(key, table, rows))
            findings.add(name_of_row(table, rows.integer(0)) + " was changed");
        last.erase(found);
    }
    for (const auto& [row, digest] : last) findings.add(name_of_row(table, row) + " was deleted");
}

/// What SQLite finds: pages, indexes, types, ranges, and rows that name others.
void check_file(const LedgerDatabase& database, Findings& findings) {
    Statement pages(database, "PRAGMA integrity_check(5)");
    while (pages.step())
        if (pages.text(0) != "ok") findings.add(pages.text(0));
    Statement references(database, "PRAGMA foreign_key_check");
    while (references.step())
        findings.add("a row of " + references.text(0) + " names one of " + references.text(2) +
                     " that is not there");
}

}  // namespace

std::optional<TouchedRow> chained_row(std::string_view table, std::int64_t row) {
    std::int64_t number = 0;
    for (const auto* name : chained_rows) {
        ++number;
        if (table == name) return TouchedRow(number, row);
    }
    for (const auto* name : chained_wholes) {
        ++number;
        if (table == name) return TouchedRow(number, 0);
    }
    return std::nullopt;
}

void begin_chain(const LedgerDatabase& database, std::int64_t migrated_from) {
    const std::vector<std::byte> key = key_of(database);
    {
        Appender chain(database, key);
        chain.add({beginning, migrated_from, {}});
    }
    TouchedRows all;
    for (std::int64_t table = 1; !is_whole(table); ++table) {
        Statement rows(database, "SELECT id FROM " + name_of(table));
        while (rows.step()) all.insert({table, rows.integer(0)});
    }
    for (const char* whole : chained_wholes) all.insert(*chained_row(whole, 0));
    extend_chain(database, all);
    database.forget_touched();
}

void extend_chain(const LedgerDatabase& database, const TouchedRows& touched) {
    if (touched.empty()) return;
    const std::vector<std::byte> key = key_of(database);
    Appender chain(database, key);
    for (const auto& [table, row] : touched) {
        if (is_whole(table)) {
            chain.add({table, 0, digest_of_whole(database, key, table)});
            continue;
        }
        Statement select(database, "SELECT * FROM " + name_of(table) + " WHERE id = ?");
        ensure(select.bind(row).step(), "no row of a ledger is ever deleted");
        chain.add({table, row, digest_of_row(key, table, select)});
    }
}

ChainState chain_state(const LedgerDatabase& database) {
    Statement last(database, "SELECT id, head FROM chain ORDER BY id DESC LIMIT 1");
    ensure(last.step(), "a ledger that was verified has a chain");
    return {hexadecimal(digest_at(last, 1)), last.integer(0),
            database.number("SELECT row FROM chain WHERE id = 1")};
}

bool chain_had(const LedgerDatabase& database, const std::string& head) {
    Statement heads(database, "SELECT head FROM chain");
    while (heads.step())
        if (hexadecimal(digest_at(heads, 0)) == head) return true;
    return false;
}

// All of it, at some 9 us a charge. From a checkpoint on it would be less, and a charge deleted before that
// would be one that was never spent.
void verify_ledger(const LedgerDatabase& database) {
    const ReadTransaction unchanging(database);
    Findings findings;
    check_file(database, findings);
    const std::vector<std::byte> key = key_of(database);
    LastDigests last = walk_chain(database, key, findings);
    for (std::int64_t table = 1; !is_whole(table); ++table)
        compare_rows(database, key, table, std::move(last[table]), findings);
    for (const char* whole : chained_wholes) {
        const std::int64_t table = chained_row(whole, 0)->first;
        if (last[table][0] != digest_of_whole(database, key, table))
            findings.add(name_of_row(table, 0) + " was changed");
    }
    findings.throw_if_any(database.path());
}

}  // namespace holdfast
