#include "jobs/program/runs/held_persons.hpp"

#include "dist/data/statistics.hpp"
#include "jobs/program/runs/payer.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

void check_held_out(const DatasetInfo& info) {
    if (info.ids != IdKind::given)
        throw Error(ExitCode::input,
                    "who is held out must follow from an id that names a person: it is known by " +
                        std::string(name_of(info.ids)),
                    "import the table with --person", info.path);
    if (info.dealt != Dealt::given && info.dealt != Dealt::no)
        throw Error(ExitCode::input, "its splits were not dealt by ids that name persons",
                    "import the table with --person and --test-fraction", info.path);
    if (!info.has_labels)
        throw Error(ExitCode::input, "has no labels", "validate on labelled records of classes", info.path);
}

}  // namespace

HeldPersons held_persons(const DatasetReader& reader, const Ledger& ledger, const std::string& path) {
    const DatasetInfo& info = reader.info();
    check_held_out(info);
    require_unique_ids(reader);
    HeldPersons held{identify_of_population(reader), "", {}};
    held.population = held_population(held.identity.population);
    if (ledger.population_of(held.identity.digest) != held.population)
        throw Error(ExitCode::usage, "the persons held out have no account of their own in this ledger",
                    "their owner opens it: holdfast account --ledger " + path + " --data " + info.path + ":" +
                        info.split + " --held --budget EPSILON",
                    path);
    held.account = *ledger.account(held.population);
    const std::optional<Account> trained = ledger.account(held.identity.population);
    if (!trained || held.account.relation != trained->relation)
        throw Error(ExitCode::usage,
                    "the account of those held out counts " + held.account.relation +
                        " neighbours, that of those trained on " + (trained ? trained->relation : "none") +
                        ": no bound holds for both",
                    "keep another ledger, in which both count the same", path);
    return held;
}

}  // namespace holdfast
