#include "jobs/answers/statement/document.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "jobs/answers/statement/sections.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "kernels/base/version.hpp"

namespace holdfast {
namespace {

using Json = nlohmann::ordered_json;

/// What guarantees leave open, each gap once.
std::vector<std::string> gaps_of(const Json& releases) {
    std::vector<std::string> gaps;
    for (const Json& release : releases) {
        const std::string gap = release.at("guarantee").value("gap", "");
        if (!gap.empty() && std::find(gaps.begin(), gaps.end(), gap) == gaps.end()) gaps.push_back(gap);
    }
    return gaps;
}

Json statement_of(const Ledger& ledger, const std::string& population) {
    const std::optional<Account> account = ledger.account(population);
    if (!account)
        throw Error(ExitCode::usage, "this ledger has no account of the population '" + population + "'",
                    "name one that it has, or leave the option out for all of them", "--population");
    const Released released{ledger.terms(population), ledger.payments(population)};
    const std::vector<DatasetVersion> versions = ledger.versions(population);
    const Json releases = releases_of(released);
    Json statement = {{"population", population},
                      {"period", period_of(released)},  // null: nothing yet
                      {"status", status_of(releases)},
                      {"privacy_loss", privacy_loss_of(*ledger.spending(population), account->relation)},
                      {"unit_of_privacy", unit_of(versions)},
                      {"neighbours", neighbours_of(account->relation)},
                      {"composition", composition_section(account->budget)},
                      {"releases", releases},
                      {"threat_model", threat_model()},
                      {"trust_model", trust_model()},
                      {"data_handling", data_handling()},
                      {"assumptions", assumptions(gaps_of(releases))},
                      {"not_covered", not_covered()}};
    const std::vector<std::string> uncompared = ledger.uncompared(population);
    if (!uncompared.empty()) {
        statement["not_covered"]["other_accounts"] =
            "The ids of other accounts of this ledger (" + joined(uncompared) +
            ") are of another kind and cannot be compared: a person who is in one of them too has a second "
            "budget there. That nobody is rests on the owner's word.";
    }
    statement["nist_sp_800_226"] = nist_section(statement);
    statement["registry_entry"] = registry_entry(statement);
    return statement;
}

Json chain_section(const ChainState& chain) {
    Json section = {
        {"chain_head", chain.head},
        {"meaning",
         "Every row of the ledger is in a hash chain and was verified for this statement. Who keeps "
         "this head can have it looked for later (holdfast account --check --head): a ledger that "
         "was put back, cut or written anew does not have it. Without a kept head nothing shows "
         "that."}};
    if (chain.migrated_from > 0)
        section["begins"] = "The chain begins where the ledger left layout " +
                            std::to_string(chain.migrated_from) + ": what was changed before is not shown.";
    return section;
}

}  // namespace

Json statement_document(const Ledger& ledger, const std::vector<std::string>& populations) {
    Json statements = Json::array();
    for (const std::string& population : populations) statements.push_back(statement_of(ledger, population));
    return {{"software", {{"name", "Holdfast"}, {"version", version()}}},
            {"ledger", chain_section(ledger.chain())},
            {"statements", statements}};
}

}  // namespace holdfast
