#include "jobs/answers/account/files.hpp"

#include "dist/data/dataset.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {
namespace {

std::vector<std::uint64_t> ids_of(const DatasetReader& reader) {
    if (reader.info().ids == IdKind::row_number)
        throw Error(ExitCode::input, "its records have no ids: whose they are cannot be told",
                    "import it with --id, or --id-from-content, as the private records", reader.info().path);
    return reader.read_ids(0, reader.info().rows);
}

}  // namespace

void check_public_file(const Context& context, const std::string& ledger, const std::string& name) {
    const DatasetReader reader(name);
    const std::vector<std::uint64_t> ids = ids_of(reader);
    const std::string digest = digest_of_records(reader);
    Ledger(ledger).record_public(digest, ids);
    context.print({{"public", name}, {"digest", digest}, {"records", ids.size()}, {"known", 0}},
                  name + ": none of its " + std::to_string(ids.size()) + " ids (" +
                      name_of(reader.info().ids) +
                      ") names a person of this ledger; train --public may take it until people are added\n");
}

void tell_known_queries(const Context& context, const std::string& ledger, const std::string& name) {
    const DatasetReader reader(name, "test");
    const std::vector<std::uint64_t> known = Ledger(ledger).people_among(ids_of(reader));
    std::string text = "for the owner alone: " + std::to_string(known.size()) + " of " +
                       std::to_string(reader.info().rows) + " queries are people of this ledger\n";
    for (const std::uint64_t id : known) text += std::to_string(id) + "\n";
    context.print({{"for_the_owner_alone", true}, {"queries", reader.info().rows}, {"known", known}}, text);
}

}  // namespace holdfast
