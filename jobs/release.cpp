// holdfast release: answers under differential privacy. Prints the labels, what they cost and the guarantee;
// nothing else about the run leaves it. Charge, then draw, then store (models/privacy/ledger.hpp).
//   holdfast release --run run --queries new.h5:test --epsilon 0.1 --ledger hospital.db --budget 10

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "jobs/finished_run.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/ledger.hpp"
#include "models/privacy/mechanisms.hpp"

namespace holdfast {
namespace {

struct Request {
    std::string run, queries, ledger, mechanism = "stable_rr";
    double epsilon = 0, delta = 0;
    std::optional<double> budget;
    double budget_delta = 0;
    bool fixed = false;
    std::uint64_t first = 0;
};

std::string decimal(const Rational& value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.6g", value.get_d());
    return text;
}

Error no_budget(const Request& request) {
    return Error(ExitCode::usage, "this dataset has no budget yet",
                 "give --budget EPSILON (and --budget-delta) once: it cannot be changed later",
                 request.ledger);
}

/// What can be refused before anything is opened or made.
void check(const Request& request) {
    if (request.budget && !(*request.budget > 0 && std::isfinite(*request.budget)))
        throw Error(ExitCode::usage, "not a positive number", "give the total epsilon, such as 10",
                    "--budget");
    if (!(request.budget_delta >= 0 && request.budget_delta < 1))
        throw Error(ExitCode::usage, "not in [0, 1)", "give 0, or a value such as 1e-6", "--budget-delta");
    std::error_code ignored;
    if (!request.budget && !std::filesystem::exists(request.ledger, ignored)) throw no_budget(request);
}

/// The first release of a dataset sets its budget; later ones may repeat it, never change it.
void settle_budget(Ledger& ledger, const std::string& dataset, const Request& request,
                   const Mechanism& mechanism) {
    if (request.budget) {
        Budget budget{decimal_value(*request.budget, "--budget"),
                      decimal_value(request.budget_delta, "--budget-delta"), std::nullopt};
        if (request.fixed) budget.fixed_epsilon = mechanism.epsilon();
        ledger.set_budget(dataset, budget);
    } else if (!ledger.spending(dataset)) {
        throw no_budget(request);
    }
}

/// A dataset has one account, and it counts what one kind of neighbours could learn: the first release fixes
/// which. The ledger keeps that as an account of its own whose budget is the relation's number. Setting a
/// budget is one transaction, so of two first releases at once one wins and the other is refused here, before
/// any charge.
void settle_relation(Ledger& ledger, const std::string& dataset, Relation relation, const Request& request) {
    const bool substitutes = relation == Relation::substitute;
    try {
        ledger.set_budget(dataset + ":relation", {Rational(substitutes ? 2 : 1), 0, std::nullopt});
    } catch (const Error& error) {
        if (error.code() != ExitCode::budget) throw;
        const std::string other = name_of(substitutes ? Relation::add_remove : Relation::substitute);
        throw Error(ExitCode::usage,
                    "this dataset's account counts " + other + " neighbours; under " + name_of(relation) +
                        " it would be spent twice: nothing was charged",
                    "release from a run trained with certificate.relation = \"" + other + "\"",
                    request.ledger);
    }
}

std::vector<Digest> digests_of(const Records& queries) {
    std::vector<Digest> digests;
    std::vector<double> features(queries.features.columns());
    for (std::size_t q = 0; q < queries.size(); ++q) {
        for (std::size_t j = 0; j < features.size(); ++j) features[j] = queries.features.at(q, j);
        digests.push_back(query_digest(features));
    }
    return digests;
}

void release(const Context& context, const Request& request) {
    // 1. The run, what it may claim, and a mechanism built from public parameters.
    check(request);
    const FinishedRun run = FinishedRun::open(request.run);
    const bool ensemble = run.members() > 1;
    Guarantee claim = release_claim(run.settings, run.facts);
    if (ensemble) claim.combine(aggregation_guarantee(run.aggregation()));
    const Mechanism mechanism(request.mechanism,
                              {request.epsilon, request.delta, static_cast<int>(run.classes()),
                               distance_cap(run, ensemble), ensemble ? run.settings.members : 0});
    if (!mechanism.info().releasable)
        throw Error(ExitCode::usage,
                    request.mechanism + " is not differentially private: for evaluation only",
                    "choose stable_rr or another of holdfast release --help", "--mechanism");
    claim.combine(mechanism.guarantee(name_of(run.settings.relation)));

    // 2. What the mechanism may look at. All ranks work, for every query, whatever the ledger will say.
    const Records queries = read_queries(run, request.queries, request.first);
    const std::vector<Certificates> members =
        certify_members(context, run, queries, mechanism.info().needs_class_distances);
    if (!context.world.is_root()) return context.world.barrier();

    // 3. Charged, drawn and stored by one process; remembered answers cost nothing.
    Ledger ledger(request.ledger);
    const std::string dataset = run.dataset_digest();
    settle_budget(ledger, dataset, request, mechanism);
    settle_relation(ledger, dataset, run.settings.relation, request);
    SystemRandomBits bits;
    const auto draw = [&](std::size_t query) {
        const Evidence evidence =
            ensemble ? evidence_of(run, members, query) : evidence_of(run, members.front(), query);
        return mechanism.draw(evidence, bits);
    };
    const std::vector<LedgerAnswer> answers = ledger.answer(
        dataset, {mechanism.epsilon(), mechanism.delta(), request.mechanism}, digests_of(queries), draw);

    // 4. The labels, the cost and the guarantee.
    nlohmann::json labels = nlohmann::json::array();
    std::string text;
    std::int64_t charged = 0;
    for (const LedgerAnswer& answer : answers) {
        labels.push_back(answer.label == refused ? nlohmann::json() : nlohmann::json(answer.label));
        text += answer.label == refused ? "refused\n" : std::to_string(answer.label) + "\n";
        charged += answer.remembered ? 0 : 1;
    }
    const Spending spent = *ledger.spending(dataset);
    const nlohmann::json cost = {{"epsilon_per_answer", request.epsilon},
                                 {"delta_per_answer", request.delta},
                                 {"charged_answers", charged},
                                 {"remembered_answers", static_cast<std::int64_t>(answers.size()) - charged},
                                 {"spent_epsilon", spent.epsilon.get_d()},
                                 {"spent_delta", spent.delta.get_d()},
                                 {"budget_epsilon", spent.budget.epsilon.get_d()},
                                 {"budget_delta", spent.budget.delta.get_d()}};
    context.log->info(
        "{} answers charged at epsilon {:g}, {} remembered; spent epsilon {} of {}, delta {} of {}", charged,
        request.epsilon, answers.size() - static_cast<std::size_t>(charged), decimal(spent.epsilon),
        decimal(spent.budget.epsilon), decimal(spent.delta), decimal(spent.budget.delta));
    context.log->info("{}", claim.text());
    context.print({{"labels", labels},
                   {"mechanism", request.mechanism},
                   {"cost", cost},
                   {"guarantee", claim.to_json()}},
                  text);
    context.world.barrier();
}

}  // namespace

Run declare_release(CLI::App& app) {
    auto request = std::make_shared<Request>();
    app.add_option("--run", request->run, "Run folder of holdfast train")->required();
    app.add_option("--queries", request->queries,
                   "Dataset FILE[:SPLIT], split test by default; labels are not read")
        ->required();
    app.add_option("--epsilon", request->epsilon, "Privacy per answer, public")->required();
    app.add_option("--delta", request->delta, "Per answer, for mechanisms that take one");
    app.add_option("--mechanism", request->mechanism, "One of the list below")->capture_default_str();
    app.add_option("--ledger", request->ledger,
                   "SQLite file that remembers what each dataset has spent (0600)")
        ->required();
    app.add_option("--budget", request->budget,
                   "Total epsilon this dataset may ever spend: given once, fixed for good");
    app.add_option("--budget-delta", request->budget_delta, "Total delta, likewise");
    app.add_option("--first", request->first, "Only the first so many queries; 0: all");
    app.add_flag("--fixed", request->fixed,
                 "Every answer ever will cost exactly --epsilon: composes by the least of basic, advanced "
                 "and optimal");
    app.footer("Mechanisms:\n" + mechanism_help() + app.get_footer());
    return [request](const Context& context) { release(context, *request); };
}

}  // namespace holdfast
