// holdfast pretrain: a model of public records alone, stopped where it is best on other public records. It is
// what a training of private records starts from (network.initial), or the frozen prefix of its features.
//   holdfast pretrain --data public.h5 --validation public.h5:test --patience 5 --out start.h5
//   holdfast train --data patients.h5 --out run --set network.initial=start.h5

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "dist/data/dataset.hpp"
#include "jobs/program/configuration.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/progress.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/payer.hpp"
#include "jobs/program/training/held_out.hpp"
#include "jobs/program/training/public_training.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "kernels/base/version.hpp"
#include "models/boxes/trainer.hpp"
#include "models/certify/claims.hpp"
#include "models/nets/model_file.hpp"
#include "models/privacy/guarantee.hpp"

namespace holdfast {
namespace {

struct PretrainRequest {
    std::string config, data, out;
    std::vector<std::string> overrides;
    ValidationRequest validation;
    std::int64_t patience = 0;
};

/// Parameters after so many steps, and what the held out records said of them, if there were any.
struct Candidate {
    std::vector<std::int64_t> parameters;
    std::int64_t steps = 0;
    ValidationMetrics validation;
};

struct Pretraining {
    Candidate best;
    std::int64_t taken = 0;  ///< steps
};

/// Errors (usage).
Configuration public_configuration(const PretrainRequest& request) {
    Configuration configuration = read_configuration(request.config, request.overrides);
    Settings& settings = configuration.settings;
    settings = plain_settings(settings);
    if (request.patience > 0 && request.validation.records.empty())
        throw Error(ExitCode::usage, "nothing says where the training is best",
                    "name held out public records by --validation", "--patience");
    settings.features = settings.features.pinned();
    settings.network = settings.network.pinned();
    check(settings);
    return configuration;
}

/// The step with the least loss on the held out records, the earlier of equals, and after it no more than
/// `patience` looks; without them, or with patience 0, the last.
Pretraining pretrained(const Context& context, const TrainingPlan& plan, Records records,
                       std::int64_t patience) {
    const auto alone = make_serial_communicator();
    const Records none{FeatureMatrix(records.features.columns(), false), {}, {}, {}};
    MemberTrainer trainer(plan, std::move(records), none, MemberTrainer::fresh_state(plan, 0));
    Progress progress(context, "pretrain", trainer.steps(), Progress::Show::times);
    std::optional<Candidate> best;
    std::int64_t looks_since = 0;
    while (!trainer.done() && (patience == 0 || looks_since < patience)) {
        trainer.step(*alone);
        progress.advance_to(trainer.state().step);
        const ValidationMetrics& seen = trainer.state().metrics.back().validation;
        if (patience == 0 || !seen.there) continue;
        ++looks_since;
        if (best && !(seen.loss < best->validation.loss)) continue;
        best = Candidate{trainer.state().levels.front().lower, trainer.state().step, seen};
        looks_since = 0;
    }
    const MemberState& end = trainer.state();
    if (!best) best = Candidate{end.levels.front().lower, end.step, end.metrics.back().validation};
    return {std::move(*best), end.step};
}

Guarantee claim_of(const Settings& settings) {
    Guarantee claim = Guarantee::proved(
        "a function of public records alone: it costs no private record anything, and a training that starts "
        "from it, or looks through it, starts from a public constant",
        "add_remove");
    claim.require(
        "the records of --data and --validation are public: they concern nobody whose records are private, "
        "and were not chosen by looking at those");
    claim.require(settings_condition);
    state_public_models(settings, claim);
    return claim;
}

/// No budget, and the names of the records: a ledger that knows them refuses what starts from the model.
nlohmann::json cost_of_public_records(const PretrainRequest& request, const Settings& settings,
                                      const DatasetReader& reader) {
    std::vector<std::string> records = pretraining_records(settings);
    records.push_back(digest_of_records(reader));
    if (!request.validation.records.empty())
        records.push_back(digest_of_records(DatasetReader(request.validation.records)));
    return {{"epsilon", 0},
            {"delta", 0},
            {"mechanism", pretrained_mechanism},
            {"parameters", {{"records", records}}}};
}

void print(const Context& context, const PretrainRequest& request, const Model& model,
           const std::string& digest, const Pretraining& result) {
    nlohmann::json object = {{"model", digest},
                             {"file", request.out},
                             {"parameters", model.parameters.size()},
                             {"steps", result.best.steps},
                             {"steps_taken", result.taken},
                             {"guarantee", model.guarantee}};
    std::string text = std::to_string(model.parameters.size()) + " parameters, model " +
                       digest.substr(0, 16) + ", for anyone in " + request.out + "\n" +
                       std::to_string(result.best.steps) + " of " + std::to_string(result.taken) +
                       " steps taken";
    if (const ValidationMetrics& seen = result.best.validation; seen.there) {
        const bool numbers = model.network.is_regression();
        object["validation_loss"] = seen.loss;
        if (!numbers) object["validation_accuracy"] = seen.accuracy;
        text += printed(", where the loss of the records held out is %.4g", seen.loss);
        if (!numbers) text += printed(", accuracy %.4f", seen.accuracy);
    }
    context.print(object, text + "\n" + Guarantee::lines_of(model.guarantee) + "\n");
}

void pretrain(const Context& context, const PretrainRequest& request) {
    if (!context.world.is_root()) return;
    // 1. What is asked for, and the public records.
    const auto [settings, how] = public_configuration(request);
    const DatasetReader reader(request.data);
    const FeatureMap features = settings.feature_map(reader.info().features, reader.info().range);
    const auto held_out = read_held_out(request.validation, reader.info(), settings, features);
    Records records = as_trained(read_public(request.data, reader.info(), settings), settings, features,
                                 reader.info().target_range);
    if (records.size() == 0)
        throw Error(ExitCode::input, "no records to train on", "name a split that has some", request.data);

    // 2. The plan: of public records all count, so a step divides by how many there are.
    TrainingPlan plan = plain_plan(settings, features, records.size(), plain_backend(how, settings.training));
    plan.held_out = held_out;

    // 3. Trained; then the model, for anyone.
    const Pretraining result = pretrained(context, plan, std::move(records), request.patience);
    const Model model{plan.network,
                      settings.training.precision,
                      result.best.parameters,
                      "pretrained",
                      "holdfast",
                      version(),
                      claim_of(settings).to_json(),
                      cost_of_public_records(request, settings, reader),
                      features,
                      public_schema(kept_schema(reader.info().schema, reader.info().path))};
    print(context, request, model, write_model(request.out, model), result);
}

}  // namespace

Run declare_pretrain(const Command& command) {
    auto request = std::make_shared<PretrainRequest>();
    command.add_option("--config", request->config, "TOML file of the options below");
    command.add_option("--data", request->data, "Public dataset FILE[:SPLIT], split train by default")
        .required();
    command
        .add_output("--out", request->out, OutputKind::kept,
                    "The model file: replaces none, unless it is the same model")
        .required();
    add_validation_options(command, request->validation, "how good the training is, by their mean loss");
    command
        .add_option(
            "--patience", request->patience,
            "Stop once so many looks at --validation in a row were no better, and keep the best; 0: take "
            "every step and keep the last. Safe here, where all is public. A training of private "
            "records must not stop so: the step at which it does would tell of them, and no box holds "
            "for runs of other lengths; find the number here and state it as training.epochs")
        .within(std::int64_t{0}, std::int64_t{1000000});
    command.add_option("--set", request->overrides, "section.key=value, over the file; repeatable")
        .one_at_a_time();
    command.add_footer(options_help());
    return [request](const Context& context) { pretrain(context, *request); };
}

}  // namespace holdfast
