#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/program/page/guarantee_card.hpp"
#include "jobs/program/page/summary.hpp"

namespace holdfast {

// A run folder as the report reads it. Every field may be missing from the files but what a manifest must
// have (dist/runs/manifest.hpp): numbers are then NaN or empty, texts empty; what is there must have its
// type.

/// manifest.json, as texts and figures.
struct ManifestView {
    std::string kind;   ///< of training
    std::string token;  ///< of the payment for it; empty: a ledger was charged nothing for the run
    std::string program, version, digest, relation;
    std::vector<std::pair<std::string, std::string>> configuration;  ///< "section.key" and its value, sorted
    std::vector<std::pair<std::string, std::string>> dataset;        ///< field and value
    double steps, members, parameters;
    double epsilon, delta;  ///< of the payment; NaN: none
    std::vector<double> levels;
    GuaranteeText guarantee;

    bool boxes() const { return kind == "boxes"; }  ///< are there levels, and distances by them?
    bool fleet() const { return kind == "fleet"; }  ///< networks that each do without a record?
    /// A field of the dataset; empty: there is none.
    std::string dataset_field(const std::string& name) const;
};

/// One line of metrics.jsonl.
struct TrainingRow {
    double member, step, level;
    double accuracy, accuracy_lower, accuracy_upper;     ///< nominal, and its bounds over the box of `level`
    double width_mean, width_max;                        ///< of the parameters' intervals
    std::vector<double> layer_width_mean, charge_share;  ///< [layers], of older programs empty
    std::vector<double> undecided;                       ///< [hidden layers], of older programs empty
};

/// A figure by whole number: certified fraction by level, or queries by stable distance.
struct Distribution {
    std::vector<double> at, amount;
};

/// Expected accuracy of one mechanism, one value an epsilon.
struct PrivateAccuracy {
    std::string mechanism, setting;  ///< setting: "single" (mean over members) or "ensemble"
    double delta;
    std::vector<double> accuracy;
    GuaranteeText guarantee;
};

/// Expected accuracy of one route, one value a number of answers.
struct BudgetRoute {
    std::string route, setting;  ///< setting: "single" (mean over members) or "ensemble"
    std::vector<double> accuracy;
    GuaranteeText guarantee;
};

/// What so many answers come to where all together may cost so much.
struct BudgetFigures {
    double epsilon, delta;
    std::vector<double> answers;
    std::vector<BudgetRoute> routes;
    std::string refused;  ///< why there are none
};

/// Mean loss of the best, the nominal and the worst training within k changed records, [levels].
struct CertifiedLoss {
    std::string loss;
    std::vector<double> k, best, nominal, worst;
};

/// Of a fleet: on how many queries a rule is sure that all networks agree, as fractions of them.
struct FleetRule {
    std::string rule;        ///< "vote" or "bound"
    double answered, right;  ///< sure, and with the true label
    double accuracy;         ///< expected, all others answered at random
};

/// evaluation.json.
struct RunEvaluation {
    std::string data, relation, digest;
    double queries, classes, members;
    double accuracy_single, accuracy_ensemble;
    double accuracy_lowest, accuracy_highest;           ///< of the ensemble (jobs/program/quality.hpp)
    double commonest, balanced;                         ///< likewise
    double auc, brier, log_loss, calibration_error;     ///< of its probabilities, where there are some
    double explained, squared_error;                    ///< of a regression
    bool beats_guessing, tells_classes_apart;           ///< for sure, at 95%
    Distribution certified_single, certified_ensemble;  ///< fraction by k
    Distribution distance_single, distance_ensemble;    ///< number of queries by h
    std::vector<double> epsilons;
    std::vector<PrivateAccuracy> private_accuracy;
    std::optional<BudgetFigures> budget;  ///< of evaluate --budget
    CertifiedLoss certified_loss;         ///< of a regression, or of evaluate --loss; else without levels
    std::vector<FleetRule> rules;         ///< of a fleet
    GuaranteeText guarantee;
};

/// A class in idp.json.
struct FleetBound {
    std::size_t label;
    double lower, upper, seconds;
    bool complete;
    std::string record;  ///< whose removal attains `lower`; empty: none found
};

/// A record in influence_records.csv.
struct RecordFigures {
    std::string id;
    double labels_changed, largest_change, mean_change;
    double newton;     ///< what one step estimates for largest_change; NaN: nothing
    double memorised;  ///< 1: the network knows its label, and without it does not; NaN: not asked
};

/// What holdfast idp and holdfast influence left in a fleet's folder.
struct FleetFigures {
    std::vector<FleetBound> bounds;  ///< of the classes that were asked; empty without idp.json
    GuaranteeText bound_guarantee;
    double queries = 0;          ///< that influence was asked about
    double queries_changed = 0;  ///< that some record changes
    std::string newton;          ///< how far its estimates are off, in words; empty: none
    std::vector<RecordFigures>
        records;  ///< those that matter most first; empty without influence_records.csv
};

/// Of the population that pays for the run, as a ledger has it.
struct AccountView {
    std::string ledger;      ///< its path
    std::string population;  ///< empty: the ledger has no account of the run's
    SpentAndLeft amounts{};
    bool published = false;  ///< was the model of the run published?
};

struct RunFiles {
    std::string folder;
    std::optional<AccountView> account;  ///< of report --ledger
    ManifestView manifest;
    std::vector<TrainingRow> training;        ///< empty without metrics.jsonl
    std::optional<RunEvaluation> evaluation;  ///< empty before `holdfast evaluate`
    FleetFigures fleet;                       ///< of a fleet
};

/// Reads manifest.json, metrics.jsonl and evaluation.json of a run folder, and of a fleet's idp.json,
/// influence.json and influence_records.csv; all but the first may be missing.
/// Errors (ExitCode::input), each naming the file: no such folder, no manifest, malformed JSON, a field of
/// another type.
RunFiles read_run_files(const std::string& folder);

/// The field "guarantee" of an object. Error (input): of another type.
GuaranteeText guarantee_field(const nlohmann::json& object);

}  // namespace holdfast
