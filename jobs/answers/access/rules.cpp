#include "jobs/answers/access/rules.hpp"

#include <nlohmann/json.hpp>

#include "jobs/program/runs/finished_run.hpp"
#include "kernels/base/error.hpp"
#include "models/fleet/access_claim.hpp"
#include "models/fleet/vote.hpp"
#include "models/nets/public_model.hpp"

namespace holdfast {
namespace {

Evidence evidence_of(std::int32_t label, std::int64_t distance, std::int64_t cap, std::size_t classes) {
    Evidence evidence;
    evidence.classes = static_cast<int>(classes);
    evidence.label = label;
    evidence.distance = distance;
    evidence.cap = cap;
    return evidence;
}

class VoteRule final : public AccessRule {
  public:
    VoteRule(const Context& context, const FinishedFleet& fleet, RecordClaim claim)
        : context_(context),
          classes_(fleet.networks.network().classes()),
          outputs_(fleet.networks, context.world),
          claim_(std::move(claim)) {}

    RecordClaim claim() const override { return claim_; }
    std::vector<Evidence> evidence(const Records& queries) const override {
        std::vector<Evidence> all;
        for (const Vote& vote : vote_of(outputs_, context_.world, outputs_.mapped(queries)))
            all.push_back(evidence_of(vote.label, vote.removal_distance(), 1, classes_));
        return all;
    }

  private:
    const Context& context_;
    std::size_t classes_;
    FleetOutputs outputs_;
    RecordClaim claim_;
};

/// Of the boxes: the label, and a distance that moves by one at most between neighbours. Where the file keeps
/// the fleet's networks exactly, N is the boxes' own nominal network, and the vote is about its label.
class StableRule final : public AccessRule {
  public:
    StableRule(const Context& context, const FinishedFleet& fleet, RecordClaim claim, FinishedRun boxes)
        : context_(context),
          outputs_(fleet.networks, context.world),
          exact_(fleet.networks.exact()),
          claim_(std::move(claim)),
          boxes_(std::move(boxes)) {
        claim_.combine(boxes_.certificate->release_claim());
    }

    std::int64_t cap() const override { return std::max<std::int64_t>(1, boxes_.cap()); }
    const char* law() const override { return "unanimous_rr"; }
    RecordClaim claim() const override { return claim_; }
    std::vector<Evidence> evidence(const Records& queries) const override {
        const Certificates found = certify_members(context_, boxes_, queries, Asker::release).front();
        const std::vector<Vote> votes = vote_of(outputs_, context_.world, outputs_.mapped(queries));
        std::vector<Evidence> all;
        for (std::size_t q = 0; q < votes.size(); ++q) {
            const bool same = exact_ && votes[q].label == found.labels[q];
            const std::int64_t voted = same ? votes[q].removal_distance() : 0;
            all.push_back(
                evidence_of(found.labels[q], std::max(found.distances[q], voted), cap(), boxes_.classes()));
        }
        return all;
    }

  private:
    const Context& context_;
    FleetOutputs outputs_;
    bool exact_;
    RecordClaim claim_;
    FinishedRun boxes_;
};

/// Of a configuration, what decides the network of all records: no boxes, no place and no number of threads.
nlohmann::json deciding(const nlohmann::json& configuration) {
    nlohmann::json rest = nlohmann::json::object();
    for (const auto& [key, value] : configuration.items()) {
        const bool decides = !key.starts_with("certificate.") && !key.starts_with("run.") &&
                             (key != "network.initial" || value == middle_start) && key != "features.prefix";
        if (decides) rest[key] = value;
    }
    return rest;
}

void require_alike(const FinishedFleet& fleet, const FinishedRun& boxes, Relation relation) {
    const auto refuse = [&](const std::string& message, const std::string& hint) {
        throw Error(ExitCode::usage, message, hint, "--boxes");
    };
    if (fleet.manifest.dataset.digest != boxes.manifest.dataset.digest)
        refuse("the boxes and the fleet are of different records", "train both on one dataset");
    const nlohmann::json of_fleet = deciding(fleet.manifest.configuration),
                         of_boxes = deciding(boxes.manifest.configuration);
    for (const auto& [key, value] : of_fleet.items()) {
        if (!of_boxes.contains(key) || of_boxes[key] != value)
            refuse("the boxes were trained with another " + key + " than the fleet: another network",
                   "train both with one configuration; section certificate alone may differ");
    }
    if (fleet.networks.settings().training.precision != Precision::double_precision)
        refuse(
            "in single precision a fleet keeps its networks rounded: their vote is not about the boxes' "
            "label",
            "train both with training.precision = \"double\", or use --rule vote");
    if (boxes.settings.certificate.relation != relation)
        refuse(std::string("the account counts ") + name_of(relation) + " neighbours, and the boxes are of " +
                   name_of(boxes.settings.certificate.relation),
               std::string("train the boxes with certificate.relation = \"") + name_of(relation) + "\"");
}

}  // namespace

std::unique_ptr<AccessRule> vote_rule(const Context& context, const FinishedFleet& fleet, RecordClaim claim) {
    return std::make_unique<VoteRule>(context, fleet, std::move(claim));
}

std::unique_ptr<AccessRule> stable_rule(const Context& context, const FinishedFleet& fleet, RecordClaim claim,
                                        const std::string& boxes, Relation relation) {
    if (boxes.empty())
        throw Error(ExitCode::usage, "the stable rule joins the vote with boxes, and there are none",
                    "name a run of holdfast train of the same settings and data, or use --rule vote",
                    "--boxes");
    FinishedRun run = FinishedRun::open(boxes);
    require_alike(fleet, run, relation);
    return std::make_unique<StableRule>(context, fleet, std::move(claim), std::move(run));
}

std::unique_ptr<AccessRule> access_rule(const Context& context, const FinishedFleet& fleet,
                                        const AccessOptions& options, Relation relation) {
    RecordClaim claim = access_claim(fleet.networks.settings(), facts_of(fleet.manifest), relation);
    // Whether it was asked for a sample is public; how many records there are is not.
    if (fleet.manifest.sample || fleet.manifest.members != fleet.manifest.dataset.rows + 1)
        throw Error(ExitCode::usage, "the fleet leaves out only a sample of the records",
                    "train it on all of them: holdfast fleet without --records", "--run");
    if (options.rule == "bound") return bound_rule(fleet, std::move(claim));
    if (options.rule == "hybrid") return hybrid_rule(context, fleet, std::move(claim), options.milliseconds);
    if (options.rule == "stable")
        return stable_rule(context, fleet, std::move(claim), options.boxes, relation);
    return vote_rule(context, fleet, std::move(claim));
}

}  // namespace holdfast
