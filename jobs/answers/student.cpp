// holdfast student: a model trained on public queries and on nothing of the private records but the labels
// that were released for them. They are paid for, and what is computed from them costs nothing more: the
// model is for anyone, as often as one likes.
//   holdfast release --run run --queries public.h5 --mechanism gaussian_argmax … --ledger hospital.db
//   holdfast student --run run --queries public.h5 --ledger hospital.db --out model.h5

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "jobs/program/configuration.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/rounded.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "jobs/program/runs/payer.hpp"
#include "jobs/program/training/public_training.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/boxes/trainer.hpp"
#include "models/certify/answers.hpp"
#include "models/certify/claims.hpp"
#include "models/nets/model_file.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"

namespace holdfast {
namespace {

struct StudentRequest {
    std::string run, queries, ledger, out, config, public_test;
    std::vector<std::string> overrides;
};

/// Steps cost nothing, and one public record may pull as it likes. What --config says instead, says all.
constexpr const char* own_defaults[] = {"training.epochs=300", "training.learning_rate=0.5", "clip.gamma=1"};

/// What the ledger remembers of the queries.
struct Lesson {
    std::vector<std::size_t> labelled;  ///< queries that have a label
    std::vector<std::int32_t> labels;   ///< [labelled]
    std::vector<LedgerAnswer> answers;  ///< one a query, refusals included, of equal queries the first
    std::int64_t refusals = 0;
};

/// Errors (input): no answers, or refusals alone; (budget) nobody in the ledger has the data.
Lesson lesson_of(const Ledger& ledger, const std::string& dataset, const Records& queries,
                 const StudentRequest& request) {
    const std::vector<Digest> digests = query_digests(queries);
    const std::vector<std::optional<LedgerAnswer>> known = ledger.remembered(dataset, digests);
    Lesson lesson;
    std::set<Digest> seen;
    for (std::size_t q = 0; q < known.size(); ++q) {
        if (!known[q]) continue;
        if (seen.insert(digests[q]).second) {
            lesson.answers.push_back(*known[q]);
            if (known[q]->label == refused) ++lesson.refusals;
        }
        if (known[q]->label == refused) continue;
        lesson.labelled.push_back(q);
        lesson.labels.push_back(known[q]->label);
    }
    if (lesson.labelled.empty())
        throw Error(ExitCode::input,
                    lesson.answers.empty()
                        ? "the ledger remembers no answer to any of these queries"
                        : "all the answers that the ledger remembers to these queries are refusals",
                    "have them answered first: holdfast release --run " + request.run + " --queries " +
                        request.queries + " --ledger " + request.ledger,
                    request.ledger);
    return lesson;
}

/// A plain training on public records: no noise, no boxes, one member. Errors (usage).
Configuration student_configuration(const StudentRequest& request, std::size_t classes) {
    std::vector<std::string> overrides;
    if (request.config.empty()) overrides.assign(std::begin(own_defaults), std::end(own_defaults));
    overrides.insert(overrides.end(), request.overrides.begin(), request.overrides.end());
    Configuration configuration = read_configuration(request.config, overrides);
    Settings& settings = configuration.settings;
    settings = plain_settings(settings);
    settings.network.classes = static_cast<std::int64_t>(classes);
    settings.training.normalise = Normalise::expected;
    check(settings);
    return configuration;
}

std::vector<std::int64_t> trained(const TrainingPlan& plan, Records records) {
    const auto alone = make_serial_communicator();
    const Records none;  // beside: these are public themselves
    MemberTrainer trainer(plan, std::move(records), none, MemberTrainer::fresh_state(plan, 0));
    while (!trainer.done()) trainer.step(*alone);
    const LevelState& point = trainer.state().levels.front();
    ensure(point.lower == point.upper, "without changed records a box is a point");
    return point.lower;
}

/// What the answers cost together.
struct Cost {
    Rational epsilon, delta;
    std::string composition;
};

bool is_gaussian(const std::string& mechanism) {
    const std::span<const MechanismInfo> known = mechanism_table();
    return std::any_of(known.begin(), known.end(),
                       [&](const MechanismInfo& info) { return info.gaussian && info.name == mechanism; });
}

/// By the root of the sum of mu^2, at the largest delta of an answer; nothing where one is not Gaussian.
std::optional<Cost> gaussian_cost(const std::vector<LedgerAnswer>& answers) {
    std::map<std::pair<Rational, Rational>, Rational> squares;  // of terms
    Rational sum = 0, delta = 0;
    for (const LedgerAnswer& answer : answers) {
        if (!is_gaussian(answer.mechanism) || answer.delta == 0) return std::nullopt;
        const auto [square, fresh] = squares.try_emplace({answer.epsilon, answer.delta});
        if (fresh) {
            const Rational mu = gaussian_mu(answer.epsilon, answer.delta);
            square->second = mu * mu;
        }
        sum += square->second;
        delta = std::max(delta, answer.delta);
    }
    return Cost{gaussian_epsilon(sqrt_upper(sum), delta), delta, "Gaussian, by the sum of mu^2"};
}

/// The least of what is proved of them: the sum of their own terms, Gaussian composition, and all that their
/// account has spent, as it composes that. Only the last where something was paid for as a whole: it may have
/// refused queries that are then not among these answers, which shows in the model.
Cost cost_of(const std::vector<LedgerAnswer>& answers, const Spending& spent) {
    Cost least{spent.epsilon, spent.delta, "all that the account has spent"}, sum{0, 0, "sum of the terms"};
    if (spent.payments > 0) return least;
    for (const LedgerAnswer& answer : answers) {
        sum.epsilon += answer.epsilon;
        sum.delta += answer.delta;
    }
    if (sum.epsilon <= least.epsilon) least = sum;
    if (const std::optional<Cost> gaussian = gaussian_cost(answers);
        gaussian && gaussian->epsilon <= least.epsilon)
        least = *gaussian;
    return least;
}

/// Post-processing: what holds of the answers together (models/privacy/mathematics.md, student).
Guarantee claim_of(const Settings& settings, const Lesson& lesson, const Cost& cost, const Account& account) {
    Guarantee claim =
        Guarantee::proved("the parameters, and all that is computed from them alone, are (" +
                              decimal_text(cost.epsilon) + ", " + decimal_text(cost.delta) +
                              ")-differentially private: a function of public queries and models and of " +
                              std::to_string(lesson.answers.size()) + " answers released before",
                          account.relation);
    claim.require(measured_settings_condition);
    state_public_models(settings, claim);
    claim.require(queries_condition);
    claim.require(
        "which queries were asked, and at what price, was not chosen by looking at earlier answers "
        "(if it was, the budget of the account bounds what they cost: epsilon " +
        decimal_text(account.budget.epsilon) + ", delta " + decimal_text(account.budget.delta) + ")");
    std::set<std::string> seen;
    for (const LedgerAnswer& answer : lesson.answers) {
        if (!seen.insert(answer.guarantee).second) continue;
        const nlohmann::json own = nlohmann::json::parse(answer.guarantee);
        if (own.contains("gap")) claim.weaken(own["gap"]);
        for (const nlohmann::json& condition : own["conditions"]) claim.require(condition);
    }
    return claim;
}

double accuracy_of(const Context& context, const Model& model, const Backend& backend,
                   const std::string& name) {
    const Records queries = read_queries(context, {model.feature_map(), model.schema}, name);
    require_labels(queries, model.network.classes(), name);
    const Answers answers = answers_of(model.network, backend, model.parameters,
                                       model.feature_map()(part_of(queries, 0, queries.size())));
    return fraction_right(queries.labels, [&](std::size_t q) { return answers.labels[q]; });
}

void print(const Context& context, const StudentRequest& request, const Model& model,
           const std::string& digest, std::optional<double> accuracy) {
    const nlohmann::json& learnt = model.cost["parameters"];
    nlohmann::json object = {{"model", digest},    {"file", request.out},
                             {"kind", model.kind}, {"parameters", model.parameters.size()},
                             {"cost", model.cost}, {"guarantee", model.guarantee}};
    std::string text = printed("%zu parameters, model %s, for anyone in ", model.parameters.size(),
                               digest.substr(0, 16).c_str());
    text += request.out + "\n";
    text +=
        printed("trained on %lld labels, of %lld answers %lld refusals\n", learnt["labels"].get<long long>(),
                learnt["answers"].get<long long>(), learnt["refusals"].get<long long>());
    text += "epsilon " + round_up_text(model.cost["epsilon"].get<double>()) + ", delta " +
            round_up_text(model.cost["delta"].get<double>()) + ", charged when they were released\n";
    if (accuracy) {
        object["accuracy"] = *accuracy;
        text += printed("accuracy %.4f on public records\n", *accuracy);
    }
    context.print(object, text + Guarantee::lines_of(model.guarantee) + "\n");
}

void student(const Context& context, const StudentRequest& request) {
    if (!context.world.is_root()) return;
    // 1. What was released of the run, for which queries. Their own labels, if any, are left where they are.
    require_ledger(request.ledger);
    const FinishedRun run = FinishedRun::open(request.run);
    const auto [settings, how] = student_configuration(request, run.classes());
    const NamedQueries named = read_named_queries(context, run.form(), request.queries);
    const Records& queries = named.records;
    const Ledger ledger(request.ledger);
    refuse_private_models(ledger, pretraining_records(settings), request.ledger);
    // The release was told whether people look alike: ids decide here.
    refuse_known_people(ledger, {queries, named.has_ids, request.queries, true});
    if (!request.public_test.empty()) {
        const NamedQueries tested = read_named_queries(context, run.form(), request.public_test);
        refuse_known_people(ledger, {tested.records, tested.has_ids, request.public_test, true});
    }
    const std::string& dataset = run.manifest.dataset.digest;
    const Lesson lesson = lesson_of(ledger, dataset, queries, request);
    const std::string population = ledger.population_of(dataset).value();
    const Account account = ledger.account(population).value();
    const Cost cost = cost_of(lesson.answers, ledger.spending(population).value());
    const Guarantee claim = claim_of(settings, lesson, cost, account);

    // 2. Trained on these labels as on any public records, all of which count.
    Records records = chosen_records(queries, lesson.labelled);
    records.labels = lesson.labels;
    const FeatureMap features = settings.feature_map(run.features.columns(), run.features.range());
    const auto backend = plain_backend(how, settings.training);
    const TrainingPlan plan = plain_plan(settings, features, records.size(), backend);
    const std::vector<std::int64_t> parameters = trained(plan, features(std::move(records)));

    // 3. The model, for anyone.
    const Model model{plan.network,
                      settings.training.precision,
                      parameters,
                      "student",
                      "holdfast",
                      version(),
                      claim.to_json(),
                      {{"epsilon", shown(cost.epsilon)},
                       {"delta", shown(cost.delta)},
                       {"mechanism", "released_labels"},
                       {"parameters",
                        {{"labels", lesson.labelled.size()},
                         {"answers", lesson.answers.size()},
                         {"refusals", lesson.refusals},
                         {"composition", cost.composition}}}},
                      features,
                      public_schema(run.schema())};
    const std::string digest = write_model(request.out, model);

    // 4. What it learnt from, and how well, where somebody has public labels.
    std::optional<double> accuracy;
    if (!request.public_test.empty()) accuracy = accuracy_of(context, model, *backend, request.public_test);
    print(context, request, model, digest, accuracy);
}

}  // namespace

Run declare_student(const Command& command) {
    auto request = std::make_shared<StudentRequest>();
    command.add_option("--run", request->run, "Run folder of holdfast train, whose labels were released")
        .required();
    command
        .add_option("--queries", request->queries,
                    "Public dataset FILE[:SPLIT], split test by default, that was given to holdfast release; "
                    "labels are not read")
        .required();
    command.add_option("--ledger", request->ledger, "The file that paid for the answers and remembers them")
        .required();
    command
        .add_output("--out", request->out, OutputKind::kept,
                    "The model file: replaces none, unless it is the same model")
        .required();
    command.add_option("--config", request->config,
                       "TOML file of the options below; none: " + joined(own_defaults));
    command.add_option("--set", request->overrides, "section.key=value, over the file; repeatable")
        .one_at_a_time();
    command.add_option("--public-test", request->public_test,
                       "Public records FILE[:SPLIT] with labels: how many of them the model gets right");
    command.add_footer(options_help());
    return [request](const Context& context) { student(context, *request); };
}

}  // namespace holdfast
