// holdfast evaluate: for the data owner, who has the true labels. Nothing here is private: 0600, not for
// release.
//   mpirun -n 2 holdfast evaluate --run run --data blobs.h5:test --epsilon 0.1,0.3,1,3
//   holdfast evaluate --run fleet --data crypto.h5:test

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "jobs/answers/evaluate/budget_routes.hpp"
#include "jobs/answers/evaluate/certified_losses.hpp"
#include "jobs/answers/evaluate/fleet.hpp"
#include "jobs/answers/evaluate/pate_costs.hpp"
#include "jobs/answers/evaluate/poisoned_votes.hpp"
#include "jobs/answers/evaluate/published.hpp"
#include "jobs/answers/moved_queries.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/quality.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/runs/finished_fleet.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "jobs/program/runs/publication.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/certify/claims.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"
#include "models/privacy/routes/answers_route.hpp"

namespace holdfast {
namespace {

struct EvaluateRequest {
    std::string run, data;
    std::vector<double> epsilons;
    double delta = 1e-5;
    std::vector<std::string> budget;
    std::vector<std::int64_t> answers{1, 10, 100, 1000, 10000, 1000000};
    bool poisoning = false;
    bool losses = false;
    std::vector<std::string> attacks;
    std::vector<double> radii;
    std::string norm = "linf";
};

/// The deltas at which a mechanism is shown: those it can take.
std::vector<double> deltas_of(const MechanismInfo& info, double delta) {
    std::vector<double> deltas;
    if (!info.needs_delta) deltas.push_back(0);
    if (info.takes_delta && delta > 0) deltas.push_back(delta);
    return deltas;
}

std::vector<std::int64_t> distances_of(const std::vector<Evidence>& evidence) {
    std::vector<std::int64_t> distances;
    for (const Evidence& query : evidence) distances.push_back(query.distance);
    return distances;
}

Guarantee guarantee_of(const Mechanism& mechanism, const FinishedRun& run, bool ensemble) {
    RecordClaim claim = run.certificate->claim();
    const Relation relation = run.settings.certificate.relation;
    if (const char* why = why_not_released(relation))
        return Guarantee::not_private("answers by the relation " + std::string(name_of(relation)), why);
    if (ensemble && run.members() > 1) claim.combine(aggregation_guarantee(run.aggregation()));
    return claim_about_labels(claim, mechanism.guarantee(name_of(relation)));
}

/// What a mechanism may see of each query, by a member and by the ensemble. Truth must outlive it.
struct Evidences {
    EvidenceTable single, ensemble;

    Evidences(const FinishedRun& run, const std::vector<Certificates>& members,
              const std::vector<Evidence>& of_ensemble, const std::vector<std::int32_t>& truth)
        : single(single_evidence(run, members, truth)), ensemble(static_cast<int>(run.classes()), truth) {
        ensemble.add_model(of_ensemble);
    }
};

/// moved: of queries that do, at least.
nlohmann::json private_accuracies(const FinishedRun& run, const Evidences& evidences,
                                  const EvaluateRequest& request, bool moved = false) {
    nlohmann::json rows = nlohmann::json::array();
    if (!run.certificate->by_answers() || request.epsilons.empty()) return rows;
    for (const MechanismInfo& info : mechanism_table()) {
        if (moved && (info.needs_votes || info.needs_sparse_levels || !info.releasable())) continue;
        for (const double delta : deltas_of(info, request.delta)) {
            for (const bool ensemble : {false, true}) {
                if (misfit(info, available_evidence(run, ensemble))) continue;
                nlohmann::json accuracies = nlohmann::json::array();
                std::optional<Guarantee> claim;
                const EvidenceTable& evidence = ensemble ? evidences.ensemble : evidences.single;
                const std::int64_t cap =
                    info.needs_sparse_levels ? distance_cap(run, ensemble) : evidence.farthest();
                for (const double epsilon : request.epsilons) {
                    const Mechanism mechanism(info.name, {epsilon, delta, static_cast<int>(run.classes()),
                                                          cap, ensemble ? run.settings.ensemble.members : 0});
                    if (!claim) claim = guarantee_of(mechanism, run, ensemble);
                    accuracies.push_back(moved ? assured_accuracy(mechanism, evidence)
                                               : expected_accuracy(mechanism, evidence));
                }
                rows.push_back({{"mechanism", info.name},
                                {"delta", delta},
                                {"setting", ensemble ? "ensemble" : "single"},
                                {"accuracy", accuracies},
                                {"guarantee", claim->to_json()}});
            }
        }
    }
    return rows;
}

/// The run with queries that move, if it is said how far: the same wherever they do.
class MovedRun {
  public:
    static std::optional<MovedRun> open(const EvaluateRequest& request) {
        if (request.radii.empty()) return std::nullopt;
        if (request.epsilons.empty())
            throw Error(ExitCode::usage, "what an answer costs is not said", "give one or more, as 0.1,1",
                        "--epsilon");
        return MovedRun(request);
    }
    nlohmann::json accuracies(const Context& context, const Records& data,
                              const EvaluateRequest& request) const {
        const std::vector<Certificates> members = certify_members(context, run_, data, Asker::owner);
        const Evidences evidences(run_, members, ensemble_evidence(run_, members), data.labels);
        Guarantee claim = run_.certificate->claim();
        claim.combine(moved_.claim());
        return {{"input_radius", moved_.radius},
                {"norm", request.norm},
                {"within", moved_.text()},
                {"guarantee", claim.to_json()},
                {"private_accuracy", private_accuracies(run_, evidences, request, true)}};
    }

  private:
    explicit MovedRun(const EvaluateRequest& request)
        : run_(FinishedRun::open(request.run)), moved_(*move_queries(run_, request.radii, request.norm)) {}

    FinishedRun run_;
    MovedQueries moved_;
};

nlohmann::json histogram(const std::vector<std::int64_t>& distances) {
    std::map<std::int64_t, std::int64_t> counts;
    for (const std::int64_t distance : distances) ++counts[distance];
    nlohmann::json values = nlohmann::json::array(), sizes = nlohmann::json::array();
    for (const auto& [value, count] : counts) {
        values.push_back(value);
        sizes.push_back(count);
    }
    return {{"value", values}, {"count", sizes}};
}

std::string accuracy_lines(const nlohmann::json& result, const nlohmann::json& rows) {
    std::string text;
    for (const auto& row : rows) {
        // An ensemble of one is the single model, unless its vote is what is noised.
        if (result["members"] == 1 && row["setting"] == "ensemble" &&
            !mechanism_info(row["mechanism"]).needs_votes)
            continue;
        const double delta = row["delta"];
        std::string name = row["mechanism"];
        if (delta > 0) name += printed(" (delta %g)", delta);
        text += printed("%-31s%-10s", name.c_str(), row["setting"].get<std::string>().c_str());
        for (const double accuracy : row["accuracy"]) text += printed("%-11.4f", accuracy);
        text += "\n";
    }
    return text;
}

std::string table_of(const nlohmann::json& result, const FinishedRun& run) {
    std::string text;
    if (!run.certificate->by_answers()) {
        text = "any number of answers, by the published parameters, have the nominal accuracy\n";
    } else if (!result["epsilons"].empty()) {
        text += why_not_released(run.settings.certificate.relation)
                    ? "no private answers, release refuses them: expected accuracy if it did not\n"
                    : "expected private accuracy\n";
        text += printed("%-31s%-10s", "mechanism", "setting");
        for (const double epsilon : result["epsilons"]) text += printed("eps %-7g", epsilon);
        text += "\n";
    }
    text += accuracy_lines(result, result["private_accuracy"]);
    if (result.contains("moved"))
        text += "wherever queries move within " + result["moved"]["within"].get<std::string>() +
                ", at least\n" + accuracy_lines(result, result["moved"]["private_accuracy"]);
    text += pate_lines(result["pate"]);
    text += printed("nominal accuracy  single %.4f  ensemble %.4f\n",
                    result["accuracy"]["single"].get<double>(), result["accuracy"]["ensemble"].get<double>());
    return text;
}

void evaluate_regression(const Context& context, const EvaluateRequest& request, const FinishedRun& run) {
    if (!request.epsilons.empty() || !request.budget.empty())
        throw Error(ExitCode::usage, "prices are shown of labels alone, and a regression has none",
                    "leave it out; holdfast release gives its numbers at a price each",
                    request.epsilons.empty() ? "--budget" : "--epsilon");
    const Records data = read_queries(context, run.form(), request.data);
    const std::vector<double> targets =
        require_targets(data, run.manifest.dataset.target_range, request.data);
    const NumericQuality quality = quality_of(nominal_logits(run, data), targets, data.ids);
    nlohmann::json result = {{"data", request.data},
                             {"queries", data.size()},
                             {"classes", run.classes()},
                             {"relation", name_of(run.settings.certificate.relation)},
                             {"members", run.members()},
                             {"quality", to_json(quality)},
                             {"guarantee", run.certificate->claim().to_json()}};
    std::string text = text_of(quality, 1);
    if (!run.settings.noisy()) {
        result["certified_loss"] = certified_losses(context, run, data, targets);
        text += loss_table(result["certified_loss"]);
    }
    context.print(result, text + kept_evaluation(context, run.folder, result) +
                              next_command({"report", run.folder.path()}));
}

/// The options of boxes have no meaning elsewhere.
void refuse_boxes_options(const EvaluateRequest& request, const std::string& what) {
    const auto refuse = [&](bool given, const char* option) {
        if (given)
            throw Error(ExitCode::usage, "not of " + what, "leave it out, or name a run of boxes", option);
    };
    refuse(!request.budget.empty(), "--budget");
    refuse(request.losses, "--loss");
    refuse(request.poisoning, "--poisoning");
}

/// Of attacks that are measured as they are published.
void refuse_attacks(const EvaluateRequest& request) {
    if (!request.attacks.empty())
        throw Error(ExitCode::usage, "attacks are measured here of training.kind = \"dpal\" alone",
                    "of a model: holdfast certify --model M --attack", "--attack");
}

/// Of a fleet: what every network answers alike.
void evaluate_networks(const Context& context, const EvaluateRequest& request) {
    refuse_boxes_options(request, "a leave-one-out fleet");
    refuse_attacks(request);
    if (!request.radii.empty())
        throw Error(ExitCode::usage, "not of a leave-one-out fleet", "leave it out, or name a run of boxes",
                    "--input-radius");
    evaluate_fleet(context, {request.run, request.data, request.epsilons});
}

void evaluate(const Context& context, const EvaluateRequest& request) {
    // 1. The run, and queries with their true labels.
    if (is_fleet(request.run)) return evaluate_networks(context, request);
    if (!(request.delta >= 0 && request.delta < 1))
        throw Error(ExitCode::usage, "not in [0, 1)", "give 0, or a value such as 1e-6", "--delta");
    std::optional<TotalBudget> budget;
    if (!request.budget.empty()) budget = parse_budget(request.budget, request.answers);
    const FinishedRun run = FinishedRun::open(request.run);
    if (run.settings.is_dpal()) {
        refuse_boxes_options(request, "training.kind = \"dpal\"");
        return evaluate_published(context, run, {request.data, request.attacks, request.radii});
    }
    refuse_attacks(request);
    const std::optional<MovedRun> moved = MovedRun::open(request);
    if (run.network.is_regression()) return evaluate_regression(context, request, run);
    if (request.poisoning && run.members() < 2)
        throw Error(ExitCode::usage, "votes are counted of an ensemble, and this run has one member",
                    "train with ensemble.members = 2 or more, or leave --poisoning out", "--poisoning");
    if (run.certificate->by_answers() && !request.poisoning && request.epsilons.empty() && !budget)
        throw Error(ExitCode::usage, "an answer has a price",
                    "give one or more, as 0.1,1, or what all may cost together: --budget 1,1e-5",
                    "--epsilon");
    const Records data = read_queries(context, run.form(), request.data);
    require_labels(data, run.classes(), request.data);

    // 2. Certificates, and from them what a mechanism may see of each query.
    const std::vector<Certificates> members = certify_members(context, run, data, Asker::owner);
    const std::vector<Evidence> ensemble = ensemble_evidence(run, members);
    const Evidences evidences(run, members, ensemble, data.labels);

    double single_accuracy = 0;
    for (const Certificates& member : members)
        single_accuracy += fraction_right(data.labels, [&](std::size_t q) { return member.labels[q]; }) /
                           static_cast<double>(members.size());
    std::vector<std::int32_t> labels;
    for (const Evidence& evidence : ensemble) labels.push_back(evidence.label);
    const Quality quality = quality_of(
        labels, data.labels, run.classes(),
        probabilities_of(run.network.loss(), nominal_logits(run, data), run.network.outputs()), data.ids);

    // 3. Accuracy, certified fractions, distances, and every mechanism's exact expected accuracy.
    const std::vector<std::int64_t> ensemble_distances = distances_of(ensemble);
    const std::int64_t farthest = *std::max_element(ensemble_distances.begin(), ensemble_distances.end());
    std::vector<std::int64_t> ensemble_k(static_cast<std::size_t>(farthest) + 1);
    for (std::size_t k = 0; k < ensemble_k.size(); ++k) ensemble_k[k] = static_cast<std::int64_t>(k);
    const std::vector<std::int64_t> levels = shown_levels(run, members);
    const std::vector<std::int64_t> single_counts =
        distance_counts(members, static_cast<std::int64_t>(levels.size()) - 1);
    nlohmann::json result = {
        {"data", request.data},
        {"queries", data.size()},
        {"classes", run.classes()},
        {"levels", levels},
        {"relation", name_of(run.settings.certificate.relation)},
        {"members", run.members()},
        {"accuracy", {{"single", single_accuracy}, {"ensemble", quality.accuracy}}},
        {"quality", to_json(quality)},
        {"certified_fraction",
         {{"single", certified_fractions(single_counts)},
          {"ensemble",
           {{"k", ensemble_k},
            {"fraction", certified_fractions(distance_counts(ensemble_distances, farthest))}}}}},
        {"distances", {{"single", single_counts}, {"ensemble", histogram(ensemble_distances)}}},
        {"epsilons", request.epsilons},
        {"private_accuracy", private_accuracies(run, evidences, request)},
        {"pate", pate_costs(ensemble, request.epsilons,
                            {0, request.delta, static_cast<int>(run.classes()), distance_cap(run, true),
                             run.settings.ensemble.members})},
        {"guarantee", run.certificate->claim().to_json()}};
    if (moved) result["moved"] = moved->accuracies(context, data, request);
    if (budget) result["budget"] = budget_routes(run, evidences.single, evidences.ensemble, data, *budget);
    if (request.poisoning) result["poisoning"] = poisoned_votes(context, run, members, data);
    if (request.losses)
        result["certified_loss"] =
            certified_losses(context, run, data, {data.labels.begin(), data.labels.end()});

    // 4. For the owner's eyes.
    const std::string last =
        kept_evaluation(context, run.folder, result) + next_command({"report", run.folder.path()});
    const auto schema = run.schema();
    context.print(result, table_of(result, run) +
                              text_of(quality, schema ? schema->classes : std::vector<std::string>()) +
                              (request.losses ? loss_table(result["certified_loss"]) : "") +
                              (budget ? budget_text(result["budget"]) : "") +
                              (request.poisoning ? poisoned_votes_text(result["poisoning"]) : "") + last);
}

}  // namespace

Run declare_evaluate(const Command& command) {
    auto request = std::make_shared<EvaluateRequest>();
    command.add_option("--run", request->run, "Run folder of holdfast train or holdfast fleet").required();
    command
        .add_option("--data", request->data,
                    "Dataset FILE[:SPLIT] with labels or targets, split test by default, or such a CSV table")
        .required();
    command
        .add_option("--epsilon", request->epsilons,
                    "Privacy per answer, a comma-separated list; of noisy runs, whose answers are free: none")
        .separated_by(',');
    command
        .add_option(
            "--budget", request->budget,
            "EPS[,DELTA] for all answers together, delta 1e-5 if left out: the accuracy of every route")
        .separated_by(',');
    command
        .add_option("--answers", request->answers, "With --budget: how many answers, a comma-separated list")
        .separated_by(',')
        .show_default();
    command.add_flag(
        "--loss", request->losses,
        "The loss and the accuracy of the worst, the nominal and the best training within k changed "
        "records, for every k; of a regression always");
    command.add_option("--delta", request->delta, "For mechanisms that take one").show_default();
    command.add_flag(
        "--poisoning", request->poisoning,
        "Of an ensemble: how many answers stay right on every dataset so many records away, by counting "
        "votes alone, with the members' certificates, and by a run-off election");
    const Argument radius =
        command
            .add_option(
                "--input-radius", request->radii,
                "How far queries may move, in units of the features: with --epsilon, how often an answer "
                "is right at least, wherever they do; of boxes and of convex runs one radius. Of "
                "training.kind = \"dpal\" how far attacks of l-infinity move each feature, one or several")
            .separated_by(',');
    command
        .add_option("--norm", request->norm,
                    "linf: every feature by as much, of boxes; l2: the length of all, of convex runs")
        .show_default()
        .needs(radius);
    command
        .add_option("--attack", request->attacks,
                    "Of training.kind = \"dpal\": any of fgsm, ifgsm, mim, pgd, in place of them all")
        .separated_by(',');
    command.add_footer(
        "Of a leave-one-out fleet: how many queries all networks answer alike, and of how many the bound of "
        "holdfast idp is sure of that (once it was run); the accuracy if these are answered without noise "
        "and "
        "all others at random, and with --epsilon that of holdfast access by --rule vote and bound. As "
        "there, queries "
        "are clipped to the public range of the features, [0, 1] where the data declare none; those of the "
        "nominal "
        "accuracy are not.\n\n");
    return [request](const Context& context) { evaluate(context, *request); };
}

}  // namespace holdfast
