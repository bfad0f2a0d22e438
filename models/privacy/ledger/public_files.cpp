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
    Statement find(database, "SELECT account FROM people WHERE hash = ?");
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
    Statement(database,
              "INSERT INTO public_files(digest, people) VALUES(?, ?) "
              "ON CONFLICT(digest) DO UPDATE SET people = excluded.people")
        .bind(digest)
        .bind(people(database))
        .step();
}

bool is_public_file(const LedgerDatabase& database, const std::string& digest) {
    Statement select(database, "SELECT people FROM public_files WHERE digest = ?");
    return select.bind(digest).step() && select.integer(0) == people(database);
}

}  // namespace holdfast
