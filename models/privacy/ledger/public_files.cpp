#include "models/privacy/ledger/public_files.hpp"

#include "kernels/base/error.hpp"
#include "models/privacy/ledger/accounts.hpp"

namespace holdfast {
namespace {

/// People are only ever added: equal numbers, equal people.
std::int64_t people(const LedgerDatabase& database) {
    return database.number("SELECT count(*) FROM people");
}

}  // namespace

std::vector<std::uint64_t> find_people_among(const LedgerDatabase& database,
                                             std::span<const std::uint64_t> ids) {
    std::vector<std::uint64_t> found;
    Statement find(database, "SELECT account FROM people WHERE id_hash = ?");
    const std::vector<std::byte> key = people_key(database);
    for (const std::uint64_t id : ids) {
        if (find.bind(hashes_of({&id, 1}, key).front()).step()) found.push_back(id);
        find.reset();
    }
    return found;
}

void note_public_file(const LedgerDatabase& database, const std::string& digest,
                      std::span<const std::uint64_t> ids) {
    if (const std::size_t shared = find_people_among(database, ids).size(); shared > 0)
        throw Error(ExitCode::input,
                    std::to_string(shared) + " of its ids name people of this ledger: it is not public",
                    "take them out; for the owner alone: who they are is as private as the records",
                    database.path());
    // A table of its own, made by the first who needs it: no ledger of before has to be brought up to date.
    database.run(
        "CREATE TABLE IF NOT EXISTS public_files(digest TEXT PRIMARY KEY, people INTEGER NOT NULL) STRICT");
    Statement(database, "INSERT OR REPLACE INTO public_files VALUES(?, ?)")
        .bind(digest)
        .bind(people(database))
        .step();
}

bool is_public_file(const LedgerDatabase& database, const std::string& digest) {
    if (database.number("SELECT count(*) FROM sqlite_master WHERE name = 'public_files'") == 0) return false;
    Statement select(database, "SELECT people FROM public_files WHERE digest = ?");
    return select.bind(digest).step() && select.integer(0) == people(database);
}

}  // namespace holdfast
