#include "jobs/answers/evaluate/fleet.hpp"

#include <spdlog/logger.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "dist/files/digest.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/quality.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/runs/finished_fleet.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/fleet/access_claim.hpp"
#include "models/fleet/fleet_settings.hpp"
#include "models/fleet/vote.hpp"
#include "models/idp/idp_bounds.hpp"
#include "models/idp/program_answer.hpp"
#include "models/idp/verified_fleet.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/routes/answers_route.hpp"

namespace holdfast {
namespace {

/// What a rule is sure of: distance 1 where removing any one record of the fleet leaves the label.
struct Rule {
    const char* name;
    std::vector<Evidence> evidence;
    Guarantee claim;
};

Evidence evidence_of(std::size_t label, bool stays, std::size_t classes) {
    Evidence evidence;
    evidence.classes = static_cast<int>(classes);
    evidence.label = static_cast<int>(label);
    evidence.distance = stays ? 1 : 0;
    evidence.cap = 1;
    return evidence;
}

/// Of whichever records the fleet did without.
void state_sample(const FinishedFleet& fleet, Guarantee& claim) {
    const auto left_out = static_cast<std::uint64_t>(fleet.networks.count());
    if (left_out < fleet.manifest.dataset.rows)
        claim.require("the record is among the " + std::to_string(left_out) + " of " +
                      std::to_string(fleet.manifest.dataset.rows) + " that the fleet did without");
}

Rule by_vote(const FinishedFleet& fleet, const std::vector<Vote>& votes, const FeatureRange& range) {
    Guarantee claim = Guarantee::proved(
        "where every network gives one label, the training without any one record gives it too", "remove");
    claim.require("queries are clipped to " + text_of(range) + ", feature by feature");
    claim.combine(fleet_claim(fleet.networks.settings(), facts_of(fleet.manifest)));
    state_sample(fleet, claim);
    Rule rule{"vote", {}, std::move(claim)};
    for (const Vote& vote : votes)
        rule.evidence.push_back(evidence_of(static_cast<std::size_t>(vote.label), vote.against == 0,
                                            fleet.networks.network().classes()));
    return rule;
}

/// N in double precision, of which the bound is.
Rule by_bound(const FinishedFleet& fleet, const Records& queries) {
    const Network& network = fleet.networks.network();
    const IdpBounds bounds = IdpBounds::read(fleet.folder, fleet.manifest, network.classes());
    constexpr Precision precision = Precision::double_precision;
    const PlainNetwork plain = plain_network(network, precision, fleet.networks.nominal());
    Guarantee claim = idp_claim(bounds.range, static_cast<std::uint64_t>(fleet.networks.count()),
                                fleet.manifest.dataset.rows);
    claim.combine(fleet_claim(fleet.networks.settings(), facts_of(fleet.manifest)));
    Rule rule{"bound", {}, std::move(claim)};
    const InputTransform transform = network.transform();
    const Records asked = clipped(queries, bounds.range);
    std::vector<double> seen(network.inputs());
    for (std::size_t q = 0; q < asked.size(); ++q) {
        for (std::size_t j = 0; j < seen.size(); ++j)
            seen[j] = transform.apply<double>(asked.features.at(q, j));
        const ProgramAnswer answer = program_answer(plain, network.classes(), precision, seen);
        rule.evidence.push_back(
            evidence_of(answer.label, bounds.stays(answer.label, answer.confidence), network.classes()));
    }
    return rule;
}

/// Of the network of all records, unprotected: its queries are not clipped.
Quality quality_of_nominal(const FleetOutputs& outputs, const Records& mapped, const Records& data,
                           std::size_t classes) {
    const std::vector<std::int32_t>& truth = data.labels;
    const Decision& decision = outputs.decision();
    const std::vector<double> values = outputs.nominal(mapped);
    std::vector<std::int32_t> labels;
    for (std::size_t q = 0; q < truth.size(); ++q)
        labels.push_back(decision.label([&](std::size_t o) { return values[q * decision.rows() + o]; }));
    return quality_of(labels, truth, classes, {}, data.ids);
}

/// accuracy: expected, where what the rule is not sure of is answered by a class at random, which tells
/// nobody anything (0-iDP in paper 001).
nlohmann::json figures_of(const Rule& rule, const std::vector<std::int32_t>& truth) {
    std::size_t answered = 0, right = 0;
    for (std::size_t q = 0; q < truth.size(); ++q) {
        answered += rule.evidence[q].distance > 0 ? 1 : 0;
        right += rule.evidence[q].distance > 0 && rule.evidence[q].label == truth[q] ? 1 : 0;
    }
    const auto queries = static_cast<double>(truth.size());
    const double at_random = (queries - static_cast<double>(answered)) / rule.evidence.front().classes;
    return {{"rule", rule.name},
            {"answered", static_cast<double>(answered) / queries},
            {"right", static_cast<double>(right) / queries},
            {"accuracy", (static_cast<double>(right) + at_random) / queries},
            {"guarantee", rule.claim.to_json()}};
}

/// What labels of a fleet may claim under differential privacy, by a mechanism; or why nothing.
Guarantee private_claim(const FinishedFleet& fleet, const Mechanism& mechanism) {
    constexpr Relation relation = Relation::add_remove;
    try {
        const RecordClaim claim = access_claim(fleet.networks.settings(), facts_of(fleet.manifest), relation);
        if (fleet.manifest.sample ||
            static_cast<std::uint64_t>(fleet.networks.count()) < fleet.manifest.dataset.rows)
            return Guarantee::not_private("labels of a fleet", "it leaves out only a sample of the records");
        return claim_about_labels(claim, mechanism.guarantee(name_of(relation)));
    } catch (const Error& error) {
        if (error.code() != ExitCode::usage) throw;
        return Guarantee::not_private("labels of a fleet", error.message());
    }
}

nlohmann::json private_accuracies(const FinishedFleet& fleet, const std::vector<Rule>& rules,
                                  const std::vector<std::int32_t>& truth,
                                  const std::vector<double>& epsilons) {
    nlohmann::json rows = nlohmann::json::array();
    if (epsilons.empty()) return rows;
    const int classes = rules.front().evidence.front().classes;
    for (const char* name : {"one_record_rr", "idp_exponential"}) {
        for (const Rule& rule : rules) {
            EvidenceTable evidence(classes, truth);
            evidence.add_model(rule.evidence);
            nlohmann::json accuracies = nlohmann::json::array();
            std::optional<Guarantee> claim;
            for (const double epsilon : epsilons) {
                const Mechanism mechanism(name, {epsilon, 0, classes, 1, 0});
                if (!claim) claim = private_claim(fleet, mechanism);
                accuracies.push_back(expected_accuracy(mechanism, evidence));
            }
            rows.push_back({{"mechanism", name},
                            {"delta", 0},
                            {"setting", rule.name},
                            {"accuracy", accuracies},
                            {"guarantee", claim->to_json()}});
        }
    }
    return rows;
}

std::string table_of(const nlohmann::json& result) {
    std::string text;
    text += printed("%-8s%12s%12s%26s\n", "rule", "unanimous", "and right", "others at random (0-iDP)");
    for (const nlohmann::json& rule : result["rules"])
        text += printed("%-8s%12.4f%12.4f%26.4f\n", rule["rule"].get<std::string>().c_str(),
                        rule["answered"].get<double>(), rule["right"].get<double>(),
                        rule["accuracy"].get<double>());
    if (!result["epsilons"].empty()) {
        text += "expected private accuracy\n";
        text += printed("%-18s%-10s", "mechanism", "rule");
        for (const double epsilon : result["epsilons"]) text += printed("eps %-7g", epsilon);
        text += "\n";
    }
    for (const nlohmann::json& row : result["private_accuracy"]) {
        text += printed("%-18s%-10s", row["mechanism"].get<std::string>().c_str(),
                        row["setting"].get<std::string>().c_str());
        for (const double accuracy : row["accuracy"]) text += printed("%-11.4f", accuracy);
        text += "\n";
    }
    text += printed("nominal accuracy  %.4f of %lld queries; %lld networks\n",
                    result["accuracy"]["single"].get<double>(), result["queries"].get<long long>(),
                    result["networks"].get<long long>());
    return text;
}

}  // namespace

std::string kept_evaluation(const Context& context, const RunFolder& run, nlohmann::json& result) {
    nlohmann::json figures = result;
    figures.erase("data");
    result["digest"] = StreamDigest::of(figures.dump());
    const bool stored = context.world.is_root() && stores_results(context, run);
    if (stored) run.write_json("evaluation.json", result);
    return "evaluation " + result["digest"].get<std::string>().substr(0, 16) + ", for the data owner only: " +
           (stored ? run.file("evaluation.json") : "not stored, the run folder is read-only") + "\n";
}

void evaluate_fleet(const Context& context, const FleetQuestion& question) {
    // 1. The fleet, and queries with their true labels.
    const FinishedFleet fleet = FinishedFleet::open(question.run);
    const std::size_t classes = fleet.networks.network().classes();
    if (fleet.networks.network().is_regression())
        throw Error(ExitCode::usage, "a regression has no labels that networks could agree on",
                    "holdfast influence shows what every record changes", "--run");
    const Records data = read_queries(context, fleet.form(), question.data);
    require_labels(data, classes, question.data);

    const FeatureRange range = query_range(fleet.manifest.dataset.range);
    if (range != fleet.manifest.dataset.range) tell_clipped(context, data, range);

    // 2. What N says, what all networks say, and what the bound is sure of.
    const FleetOutputs outputs(fleet.networks, context.world);
    const Quality quality = quality_of_nominal(outputs, outputs.mapped(data), data, classes);
    const std::vector<Vote> votes = vote_of(outputs, context.world, outputs.mapped(clipped(data, range)));
    std::vector<Rule> rules{by_vote(fleet, votes, range)};
    if (IdpBounds::known(fleet.folder)) rules.push_back(by_bound(fleet, data));

    // 3. What that is worth.
    nlohmann::json figures = nlohmann::json::array();
    for (const Rule& rule : rules) figures.push_back(figures_of(rule, data.labels));
    nlohmann::json result = {
        {"data", question.data},
        {"queries", data.size()},
        {"classes", classes},
        {"networks", fleet.networks.count() + 1},
        {"relation", "remove"},
        {"members", 1},
        {"accuracy", {{"single", quality.accuracy}}},
        {"quality", to_json(quality)},
        {"rules", figures},
        {"epsilons", question.epsilons},
        {"private_accuracy", private_accuracies(fleet, rules, data.labels, question.epsilons)},
        {"guarantee", fleet.manifest.guarantee}};

    // 4. For the owner's eyes.
    const std::string kept = kept_evaluation(context, fleet.folder, result);
    context.print(result,
                  table_of(result) + text_of(quality) + kept +
                      (rules.size() == 1 ? "no bound yet\n" + next_command({"idp", "--run", question.run})
                                         : next_command({"report", question.run})));
}

}  // namespace holdfast
