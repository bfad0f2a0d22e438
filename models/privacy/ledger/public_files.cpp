#include "models/privacy/ledger/public_files.hpp"

#include "kernels/base/error.hpp"
#include "models/privacy/ledger/accounts.hpp"

namespace holdfast {
namespace {

/// All three only grow: equal sums, and nobody was added.
std::int64_t known(const LedgerDatabase& database) {
    return database.number(
        "SELECT (SELECT count(*) FROM people) + (SELECT count(*) FROM contents) + "
        "(SELECT count(*) FROM versions)");
}

/// The places of the values whose hashes are in a table.
std::vector<std::size_t> places_in(const LedgerDatabase& database, const std::string& table,
                                   std::span<const std::uint64_t> values) {
    Statement find(database, "SELECT 1 FROM " + table + " WHERE hash = ?");
    const std::vector<std::byte> key = people_key(database);
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (find.bind(hashes_of(values.subspan(i, 1), key).front()).step()) places.push_back(i);
        find.reset();
    }
    return places;
}

std::string several(std::size_t count, const std::string& what) {
    return std::to_string(count) + " of its " + what;
}

}  // namespace

KnownRecords find_known_records(const LedgerDatabase& database, std::span<const std::uint64_t> ids,
                                const RecordMarks& marks) {
    KnownRecords known{
        places_in(database, "people", ids), places_in(database, "contents", marks.contents), {}};
    Statement other(database,
                    "SELECT DISTINCT population, id_kind FROM versions JOIN accounts a ON a.id = account "
                    "WHERE id_kind <> ? OR id_kind NOT IN ('given', 'content') ORDER BY population, id_kind");
    other.bind(marks.id_kind);
    while (other.step()) known.uncompared.emplace_back(other.text(0), other.text(1));
    return known;
}

KnownRecords note_public_file(const LedgerDatabase& database, const std::string& digest,
                              std::span<const std::uint64_t> ids, const RecordMarks& marks) {
    KnownRecords found = find_known_records(database, ids, marks);
    if (!found.by_id.empty())
        throw Error(
            ExitCode::input, several(found.by_id.size(), "ids name people of this ledger: it is not public"),
            "take them out; for the owner alone: who they are is as private as the records", database.path());
    if (!found.by_features.empty() && !marks.other_people)
        throw Error(
            ExitCode::input,
            several(found.by_features.size(), "records have the very features of some of this ledger"),
            "take them out; surely other people, who happen to be alike: say so with --other-people. "
            "For the owner alone",
            database.path());
    for (const auto& [population, kind] : found.uncompared) {
        if (kind != "unknown" || marks.other_people) continue;
        throw Error(ExitCode::input,
                    "a dataset of '" + population +
                        "' was added by an earlier version, which kept neither the kind of its ids nor its "
                        "features: the records cannot be compared",
                    "add it again: holdfast account --ledger " + database.path() +
                        " --data FILE; surely other people: say so with --other-people",
                    database.path());
    }
    Statement(database,
              "INSERT INTO public_files(digest, known) VALUES(?, ?) "
              "ON CONFLICT(digest) DO UPDATE SET known = excluded.known")
        .bind(digest)
        .bind(known(database))
        .step();
    return found;
}

bool is_public_file(const LedgerDatabase& database, const std::string& digest) {
    Statement select(database, "SELECT known FROM public_files WHERE digest = ?");
    return select.bind(digest).step() && select.integer(0) == known(database);
}

}  // namespace holdfast
