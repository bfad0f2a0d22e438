#include "jobs/answers/evaluate/budget_routes.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "jobs/program/runs/publication.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/certify/claims.hpp"
#include "models/kinds/kinds.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"
#include "models/privacy/routes/answers_route.hpp"
#include "models/privacy/routes/batch_route.hpp"
#include "models/privacy/routes/session_route.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t most_answers = 1000000;
/// Numbers of refusals that a session is tried with, where there are so many answers.
constexpr std::int64_t refusals_tried[] = {1, 4, 16, 64, 256, 1024};

/// A run's evidence and what a route may cost.
struct Question {
    const FinishedRun& run;
    const EvidenceTable& evidence;
    bool ensemble;
    const TotalBudget& budget;
};

/// What one route comes to, one figure a number of answers.
struct Row {
    std::string route;
    std::vector<double> accuracy;
    std::vector<nlohmann::json> terms;
    Guarantee guarantee;
};

/// Mean over the models of a figure that depends on one model's distances.
template <typename Figure>
double mean_over_models(const std::vector<std::vector<DistanceShare>>& models, Figure figure) {
    double sum = 0;
    for (const std::vector<DistanceShare>& shares : models) sum += figure(shares);
    return sum / static_cast<double>(models.size());
}

std::vector<std::vector<DistanceShare>> shares_of(const EvidenceTable& evidence) {
    std::vector<std::vector<DistanceShare>> models;
    for (std::size_t m = 0; m < evidence.models(); ++m) models.push_back(distance_shares(evidence, m));
    return models;
}

std::string pair_text(const TotalBudget& budget) {
    return "(" + decimal_text(budget.epsilon) + ", " + decimal_text(budget.delta) + ")";
}

/// What the distances and the votes prove, and that everything asked by one route keeps the budget.
Guarantee all_together(const Question& of, const std::string& what) {
    RecordClaim claim = of.run.certificate->release_claim();
    if (of.ensemble) claim.combine(aggregation_guarantee(of.run.aggregation()));
    return claim_about_labels(
        claim, Guarantee::proved(what + " together are " + pair_text(of.budget) + "-differentially private",
                                 name_of(of.run.settings.certificate.relation)));
}

Row answers_row(const Question& of, const MechanismInfo& info, const std::vector<AnswerShares>& shares) {
    Row row{info.name, {}, {}, all_together(of, "all answers by " + std::string(info.name))};
    if (info.condition != nullptr) row.guarantee.require(info.condition);
    row.guarantee.require(info.gaussian
                              ? "the account composes Gaussian answers by the sum of their mu^2"
                              : "every answer is asked at the terms shown, fixed beforehand, and the "
                                "account composes such answers by the least bound");
    MechanismParameters sizes;
    sizes.classes = static_cast<int>(of.run.classes());
    sizes.cap = of.evidence.farthest();
    sizes.members = of.ensemble ? of.run.settings.ensemble.members : 0;
    MadeMechanisms made;
    for (const AnswerShares& share : shares) {
        const AnswersFigure figure = answers_accuracy(info, sizes, of.evidence, share, made);
        row.accuracy.push_back(figure.accuracy);
        nlohmann::json& terms = row.terms.emplace_back(nlohmann::json::object());
        if (figure.mu > 0) terms = {{"mu", figure.mu}};
        if (figure.epsilon > 0) terms = {{"epsilon", figure.epsilon}, {"delta", figure.delta}};
    }
    return row;
}

Row session_row(const Question& of) {
    Row row{"session", {}, {}, all_together(of, "all answers and refusals of the session")};
    row.guarantee.require(nested_distances);
    row.guarantee.require(unseen_threshold);
    const auto models = shares_of(of.evidence);
    for (const std::int64_t answers : of.budget.answers) {
        double best = -1;
        nlohmann::json terms;
        for (const std::int64_t refusals : refusals_tried) {
            if (refusals > std::max<std::int64_t>(1, answers)) break;
            const SessionTerms session = session_terms(of.budget.epsilon, of.budget.delta, refusals, answers);
            const double accuracy = mean_over_models(
                models, [&](const auto& shares) { return session_accuracy(shares, session, answers); });
            if (accuracy <= best) continue;
            best = accuracy;
            terms = {{"refusals", refusals}};
        }
        row.accuracy.push_back(best);
        row.terms.push_back(terms);
    }
    return row;
}

Row batch_row(const Question& of) {
    Row row{"batch", {}, {}, all_together(of, "all labels of the batch, or that there are none,")};
    row.guarantee.require(nested_distances);
    const auto models = shares_of(of.evidence);
    for (const std::int64_t answers : of.budget.answers) {
        row.accuracy.push_back(mean_over_models(models, [&](const auto& shares) {
            return batch_accuracy(shares, of.budget.epsilon, of.budget.delta, answers);
        }));
        row.terms.push_back({{"epsilon", shown(of.budget.epsilon)}, {"delta", shown(of.budget.delta)}});
    }
    return row;
}

std::vector<Row> rows_by_answers(const Question& of, const std::vector<AnswerShares>& shares) {
    std::vector<Row> rows;
    for (const MechanismInfo& info : mechanism_table()) {
        // An ensemble of one is the single model, unless its vote is what is noised.
        if (of.ensemble && of.run.members() == 1 && !info.needs_votes) continue;
        if (!info.releasable() || misfit(info, available_evidence(of.run, of.ensemble))) continue;
        if ((info.gaussian || info.needs_delta) && of.budget.delta == 0) continue;
        rows.push_back(answers_row(of, info, shares));
    }
    if (of.budget.delta > 0 && !(of.ensemble && of.run.members() == 1)) {
        rows.push_back(session_row(of));
        rows.push_back(batch_row(of));
    }
    return rows;
}

/// Published parameters answer anything, as often as one likes.
std::vector<Row> rows_by_parameters(const Question& of) {
    const NoiseSettings& noise = of.run.settings.noise;
    const bool fits = noise.law != NoiseSettings::Law::none &&
                      decimal_value(noise.epsilon, "noise.epsilon") <= of.budget.epsilon &&
                      decimal_value(noise.delta, "noise.delta") <= of.budget.delta;
    if (!fits) return {};
    std::vector<std::vector<double>> laws;
    for (const Evidence& distinct : of.evidence.distinct()) {
        laws.emplace_back(of.evidence.classes(), 0.0);
        laws.back()[static_cast<std::size_t>(distinct.label)] = 1;
    }
    const std::size_t numbers = of.budget.answers.size();
    return {{"noisy", std::vector<double>(numbers, of.evidence.mean(laws)),
             std::vector<nlohmann::json>(numbers, nlohmann::json::object()), of.run.certificate->claim()}};
}

/// So do those that are given noise when they are published, an ensemble's average; nothing where they must
/// not leave, or no noise serves.
std::vector<Row> rows_by_publication(const Question& of, const Records& queries) {
    const Kind& kind = kind_named(of.run.manifest.kind);
    const std::optional<Rational> sensitivity = kind.sensitivity(of.run.settings, of.run.features);
    if (!sensitivity || of.ensemble != (of.run.members() > 1)) return {};
    const std::size_t numbers = of.budget.answers.size();
    Row row{"published",
            {},
            std::vector<nlohmann::json>(numbers, nlohmann::json::object()),
            claim_about_publication(of.run.certificate->release_claim(), of.budget.epsilon, of.budget.delta)};
    const std::optional<double> accuracy =
        published_accuracy(of.run, *sensitivity, {of.budget.epsilon, of.budget.delta}, queries);
    if (!accuracy) return {};
    row.accuracy.assign(numbers, *accuracy);
    return {row};
}

nlohmann::json best_of(const nlohmann::json& routes, const std::vector<std::int64_t>& answers) {
    nlohmann::json best = nlohmann::json::array();
    for (std::size_t i = 0; i < answers.size() && !routes.empty(); ++i) {
        const auto found = std::max_element(routes.begin(), routes.end(), [&](const auto& a, const auto& b) {
            return a["accuracy"][i].template get<double>() < b["accuracy"][i].template get<double>();
        });
        best.push_back({{"answers", answers[i]},
                        {"route", (*found)["route"]},
                        {"setting", (*found)["setting"]},
                        {"accuracy", (*found)["accuracy"][i]}});
    }
    return best;
}

}  // namespace

TotalBudget parse_budget(const std::vector<std::string>& budget, std::vector<std::int64_t> answers) {
    const auto refuse = [](const std::string& message, const std::string& hint, const std::string& option) {
        return Error(ExitCode::usage, message, hint, option);
    };
    if (budget.empty() || budget.size() > 2)
        throw refuse("not EPS or EPS,DELTA", "give what all answers may cost, as 1,1e-5", "--budget");
    TotalBudget total{parse_rational(budget[0], "--budget"),
                      parse_rational(budget.size() > 1 ? budget[1] : "1e-5", "--budget"), std::move(answers)};
    if (total.epsilon < Rational(1, 1000000) || total.epsilon > 1000)
        throw refuse("epsilon not in [1e-6, 1000]", "give what all answers may cost, as 1,1e-5", "--budget");
    if (total.delta != 0 && (total.delta < parse_rational("1e-30", "--budget") || total.delta >= 1))
        throw refuse("delta neither 0 nor in [1e-30, 1)",
                     "give a value far below one over the number of records, as 1,1e-5", "--budget");
    std::sort(total.answers.begin(), total.answers.end());
    total.answers.erase(std::unique(total.answers.begin(), total.answers.end()), total.answers.end());
    if (total.answers.empty() || total.answers.front() < 1 || total.answers.back() > most_answers)
        throw refuse("not in [1, 1000000]", "give numbers of answers, as 1,100,10000", "--answers");
    return total;
}

nlohmann::json budget_routes(const FinishedRun& run, const EvidenceTable& single,
                             const EvidenceTable& ensemble, const Records& queries,
                             const TotalBudget& budget) {
    nlohmann::json routes = nlohmann::json::array();
    nlohmann::json result = {
        {"epsilon", shown(budget.epsilon)}, {"delta", shown(budget.delta)}, {"answers", budget.answers}};
    const bool by_answers = run.certificate->by_answers();
    std::vector<AnswerShares> shares;
    try {
        if (by_answers) run.certificate->release_claim();
    } catch (const Error& error) {
        result["refused"] = error.message();
    }
    const bool serves = !result.contains("refused");
    for (const std::int64_t answers : budget.answers) {
        if (serves && by_answers) shares.emplace_back(budget.epsilon, budget.delta, answers);
    }
    for (const bool together : {false, true}) {
        const Question of{run, together ? ensemble : single, together, budget};
        if (!serves) break;
        std::vector<Row> rows = by_answers ? rows_by_answers(of, shares) : rows_by_parameters(of);
        for (Row& row : rows_by_publication(of, queries)) rows.push_back(std::move(row));
        for (const Row& row : rows)
            routes.push_back({{"route", row.route},
                              {"setting", together ? "ensemble" : "single"},
                              {"accuracy", row.accuracy},
                              {"terms", row.terms},
                              {"guarantee", row.guarantee.to_json()}});
    }
    if (serves && routes.empty() && !by_answers)
        result["refused"] = "the parameters of this run cost more than the budget, or have no noise";
    result["best"] = best_of(routes, budget.answers);
    result["routes"] = std::move(routes);
    return result;
}

std::string budget_text(const nlohmann::json& budget) {
    std::string text;
    text +=
        printed("expected accuracy where all answers together may cost (%g, %g), refusals counted as wrong\n",
                budget["epsilon"].get<double>(), budget["delta"].get<double>());
    if (budget.contains("refused")) return text + budget["refused"].get<std::string>() + "\n";
    text += printed("%-21s%-10s", "route", "setting");
    for (const auto& answers : budget["answers"])
        text += printed("%-9lld", static_cast<long long>(answers.get<std::int64_t>()));
    text += "answers\n";
    for (const auto& row : budget["routes"]) {
        text += printed("%-21s%-10s", row["route"].get<std::string>().c_str(),
                        row["setting"].get<std::string>().c_str());
        for (const auto& accuracy : row["accuracy"]) text += printed("%-9.4f", accuracy.get<double>());
        text += "\n";
    }
    for (const auto& best : budget["best"])
        text += printed("best for %lld: %s (%s) %.4f\n",
                        static_cast<long long>(best["answers"].get<std::int64_t>()),
                        best["route"].get<std::string>().c_str(), best["setting"].get<std::string>().c_str(),
                        best["accuracy"].get<double>());
    return text +
           "For the owner's eyes: these figures depend on the records, and what is chosen by them is outside "
           "the guarantee\n";
}

}  // namespace holdfast
