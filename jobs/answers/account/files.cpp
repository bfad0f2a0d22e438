#include "jobs/answers/account/files.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "dist/data/dataset.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {
namespace {

DatasetIdentity identify_with_ids(const DatasetReader& reader) {
    if (reader.info().ids == IdKind::row_number)
        throw Error(ExitCode::input, "its records have no ids: whose they are cannot be told",
                    "import it with --id, or --id-from-content, as the private records", reader.info().path);
    return identify(reader);
}

/// Empty where all ids could be compared.
std::string uncompared_text(const KnownRecords& known, const std::string& id_kind) {
    if (known.uncompared.empty()) return "";
    std::string others;
    for (const auto& [population, kind] : known.uncompared)
        others += (others.empty() ? "'" : ", '") + population + "' (" + kind + ")";
    return "its ids (" + id_kind + ") cannot be compared with those of " + others +
           ": there only features were\n";
}

nlohmann::json uncompared_json(const KnownRecords& known) {
    nlohmann::json others = nlohmann::json::array();
    for (const auto& [population, kind] : known.uncompared)
        others.push_back({{"population", population}, {"ids", kind}});
    return others;
}

}  // namespace

void check_public_file(const Context& context, const std::string& ledger, const std::string& name,
                       bool other_people) {
    const DatasetIdentity file = identify_with_ids(DatasetReader(name));
    const KnownRecords known =
        Ledger(ledger).record_public(file.digest, file.ids, {file.id_kind, file.contents, other_people});
    const std::string features =
        known.by_features.empty() ? "and no record has the features of one there"
                                  : "though " + std::to_string(known.by_features.size()) +
                                        " records have the features of some there: other people, as was said";
    context.print({{"public", name},
                   {"digest", file.digest},
                   {"records", file.ids.size()},
                   {"known", 0},
                   {"equal_features", known.by_features.size()},
                   {"uncompared", uncompared_json(known)}},
                  name + ": none of its " + std::to_string(file.ids.size()) + " ids (" + file.id_kind +
                      ") names a person of this ledger, " + features +
                      "; train --public may take it until people are added\n" +
                      uncompared_text(known, file.id_kind));
}

void tell_known_queries(const Context& context, const std::string& ledger, const std::string& name) {
    const DatasetIdentity queries = identify_with_ids(DatasetReader(name, "test"));
    const KnownRecords known =
        Ledger(ledger).known_records(queries.ids, {queries.id_kind, queries.contents, false});
    std::vector<std::size_t> places;
    std::set_union(known.by_id.begin(), known.by_id.end(), known.by_features.begin(), known.by_features.end(),
                   std::back_inserter(places));
    std::vector<std::uint64_t> ids;
    for (const std::size_t place : places) ids.push_back(queries.ids[place]);
    std::string text = "for the owner alone: " + std::to_string(known.by_id.size()) + " of " +
                       std::to_string(queries.ids.size()) + " queries are people of this ledger, " +
                       std::to_string(known.by_features.size()) + " have the features of one\n" +
                       uncompared_text(known, queries.id_kind);
    for (const std::uint64_t id : ids) text += std::to_string(id) + "\n";
    context.print({{"for_the_owner_alone", true},
                   {"queries", queries.ids.size()},
                   {"known", ids},
                   {"uncompared", uncompared_json(known)}},
                  text);
}

}  // namespace holdfast
