#include "jobs/program/runs/payer.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "jobs/program/next_command.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "kernels/base/error.hpp"
#include "models/nets/model_file.hpp"
#include "models/nets/public_model.hpp"
#include "models/privacy/measure/constants.hpp"
#include "models/privacy/measure/drawn_labels.hpp"

namespace holdfast {
namespace {

bool sold(const std::vector<LedgerPayment>& payments, const std::string& measured) {
    return std::any_of(payments.begin(), payments.end(), [&](const LedgerPayment& payment) {
        return payment.mechanism == measured_mechanism && payment.result == measured;
    });
}

void add_records(const nlohmann::json& cost, std::vector<std::string>& digests) {
    if (!cost.is_object() || cost["mechanism"] != pretrained_mechanism) return;
    for (const nlohmann::json& digest : cost["parameters"].value("records", nlohmann::json::array()))
        if (digest.is_string()) digests.push_back(digest);
}

Error private_queries(const std::string& message, const std::string& hint, const std::string& name) {
    return Error(ExitCode::usage, message + ": nothing was charged",
                 hint + ". This message is for the owner of the ledger alone", name);
}

}  // namespace

std::vector<std::string> pretraining_records(const Settings& settings) {
    std::vector<std::string> digests;
    if (names_model(settings.network.initial))
        add_records(read_model(settings.network.initial).model.cost, digests);
    if (settings.features.map == FeatureSettings::Map::prefix)
        add_records(read_model(settings.features.prefix).model.cost, digests);
    return digests;
}

void refuse_private_models(const Ledger& ledger, const std::vector<std::string>& records,
                           const std::string& path) {
    for (const std::string& digest : records) {
        if (const auto known = ledger.population_of(digest))
            throw Error(ExitCode::usage,
                        "a model that network.initial or features.prefix names was trained on records of "
                        "population '" +
                            *known + "', whose account is in this ledger: nothing was charged",
                        "name a model of public records", path);
    }
}

void refuse_known_people(const Ledger& ledger, const PublicQueries& queries) {
    const std::vector<std::uint64_t> contents = hash_contents(queries.records);
    const IdKind kind = queries.given_ids ? IdKind::given : IdKind::row_number;
    const KnownRecords known = ledger.known_records(
        queries.given_ids ? std::span(queries.records.ids) : std::span<const std::uint64_t>(),
        {name_of(kind), contents, false});
    const std::string all = " of the " + std::to_string(contents.size()) + " queries have ";
    if (!known.by_id.empty())
        throw private_queries(std::to_string(known.by_id.size()) + all +
                                  "ids of people of this ledger, and no budget covers answers about them",
                              "take them out: holdfast account --queries lists them", queries.name);
    if (known.by_features.empty()) return;
    const std::string alike =
        std::to_string(known.by_features.size()) + all + "the very features of records of this ledger";
    if (!queries.said)
        throw private_queries(alike,
                              "take them out; if they are other people who happen to be alike, say so with "
                              "--queries-are-public",
                              queries.name);
    const bool compared = queries.given_ids && known.uncompared.empty();
    if (compared || 2 * known.by_features.size() <= contents.size()) return;
    throw private_queries(alike + ", and their ids cannot be compared",
                          "give queries the same kind of ids as the private records (holdfast import --id)",
                          queries.name);
}

std::string held_population(const std::string& population) {
    return population + ".held";
}

Relation counted_by(const Account& account) {
    return account.relation == name_of(Relation::substitute) ? Relation::substitute : Relation::add_remove;
}

void require_ledger(const std::string& path, const std::string& data) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return;
    const std::string ledger = path.empty() ? beside_dataset(data, ".ledger") : path;
    throw Error(ExitCode::usage,
                path.empty() ? "what is published is paid for, and no ledger is named" : "no such ledger",
                "its owner opens an account first: holdfast account --ledger " + ledger + " --data " + data +
                    " --budget EPSILON" + (path.empty() ? "; then --ledger " + ledger : ""),
                path.empty() ? "--ledger" : path);
}

void check_payer(const Ledger& ledger, const Payee& payee) {
    const std::optional<std::string> population = ledger.population_of(payee.dataset);
    if (!population)
        throw Error(ExitCode::usage,
                    "this ledger knows no population of the data that the run was trained on",
                    "its owner adds them: holdfast account --ledger " + payee.ledger + " --data " +
                        payee.path + " --budget EPSILON",
                    payee.ledger);
    if (payee.beside.records > 0 && !ledger.public_checked(payee.beside.digest))
        throw Error(
            ExitCode::usage,
            "the public records that the run trains on were not held against the people of this ledger, "
            "or not since some were added: nothing was charged",
            "its owner checks them: holdfast account --ledger " + payee.ledger + " --public FILE",
            payee.ledger);
    if (!payee.measured.empty() && !sold(ledger.payments(*population), payee.measured))
        throw Error(
            ExitCode::usage,
            "this ledger was not charged for the constants that were measured from the data: nothing was "
            "charged",
            "name the ledger that holdfast measure charged, or measure the table again by this one",
            payee.ledger);
    refuse_private_models(ledger, payee.pretrained, payee.ledger);
    const std::string counted = ledger.account(*population)->relation;
    if (counted == payee.relation) return;
    if (counted == label_relation)
        throw Error(ExitCode::usage,
                    "the account of " + *population + " is for labels alone: nothing was charged",
                    "what is learnt from drawn labels costs nothing more (noise.law = \"none\", holdfast "
                    "publish); all else needs an account in another ledger",
                    payee.ledger);
    throw Error(ExitCode::usage,
                "the account of " + *population + " counts " + counted + " neighbours; under " +
                    payee.relation + " it would be spent twice: nothing was charged",
                "train with certificate.relation = \"" + counted + "\"", payee.ledger);
}

Rational delta_left(const Ledger& ledger, const std::string& population) {
    const Budget budget = ledger.account(population)->budget;
    if (budget.gaussian) {
        Rational left = budget.delta_apart;
        for (const LedgerPayment& payment : ledger.payments(population))
            if (payment.mechanism == named_mechanism || payment.mechanism == tested_mechanism)
                left -= payment.delta;
        return left;
    }
    const Spending spent = *ledger.spending(population);
    // What a Renyi account does not set apart counts as spent with the first release.
    return budget.renyi_order && spent.delta == 0 ? budget.delta_apart : Rational(budget.delta - spent.delta);
}

}  // namespace holdfast
