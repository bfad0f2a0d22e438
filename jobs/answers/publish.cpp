// holdfast publish: the parameters of a run, as a file that anyone may have. Those of training.kind = "noisy"
// were paid for before the run's first step; those of "convex" are paid for here, before noise is drawn for
// them. To publish the same again costs nothing more.
//   holdfast publish --run run --ledger hospital.db --out model.h5
//   holdfast publish --run convex --ledger hospital.db --out model.h5 --epsilon 1 --delta 1e-5

#include <spdlog/logger.h>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/rounded.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "jobs/program/runs/payer.hpp"
#include "jobs/program/runs/publication.hpp"
#include "jobs/program/runs/run_key.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/certify/claims.hpp"
#include "models/kinds/kinds.hpp"
#include "models/nets/model_file.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "models/privacy/measure/drawn_labels.hpp"

namespace holdfast {
namespace {

struct PublishRequest {
    std::string run, ledger, out;
    std::optional<double> epsilon, delta;
};

/// What the ledger was charged for the run: what leaves says that, and not what manifest.json says of it.
/// Errors (budget): nothing; other parameters, or none yet.
LedgerPayment payment_for(const FinishedRun& run, const PublishRequest& request) {
    const Ledger ledger(request.ledger);
    const nlohmann::json& stated = run.manifest.payment;
    const std::string token = stated.is_null() ? "" : stated["token"].get<std::string>(),
                      dataset = run.manifest.dataset.digest;
    if (const std::optional<std::string> population = ledger.population_of(dataset)) {
        for (const LedgerPayment& payment : ledger.payments(*population)) {
            if (payment.dataset != dataset || payment.token != token) continue;
            if (payment.result == run.manifest.digest) return payment;
            throw Error(ExitCode::budget,
                        payment.result.empty() ? "its training has not ended in this ledger"
                                               : "the ledger was charged for other parameters",
                        payment.result.empty() ? "end it: the command that began it, with --resume"
                                               : "the folder was changed since it was written: train again",
                        request.run);
        }
    }
    throw Error(ExitCode::budget, "this ledger was not charged for the run: nothing is published",
                "name the ledger that the run was trained with", request.ledger);
}

/// Those of a training that was paid for, and whose noise nobody can draw again: a crash may have left the
/// key.
PaidParameters trained_parameters(const FinishedRun& run, const PublishRequest& request) {
    if (request.epsilon || request.delta)
        throw Error(ExitCode::usage,
                    "this run was paid for when it was trained, at its own epsilon and delta",
                    "leave --epsilon and --delta out", request.epsilon ? "--epsilon" : "--delta");
    LedgerPayment payment = payment_for(run, request);
    destroy_run_key(run.folder);
    return {parameters_of(run), std::move(payment)};
}

/// What the labels of the run were drawn for, where this ledger drew them: all else that it learnt from is
/// public.
std::optional<LedgerPayment> payment_of_labels(const FinishedRun& run, const PublishRequest& request) {
    const std::string& dataset = run.manifest.dataset.digest;
    if (run.manifest.dataset.label_law.empty()) return std::nullopt;
    const Ledger ledger(request.ledger);
    const std::optional<std::string> population = ledger.population_of(dataset);
    if (!population) return std::nullopt;
    for (LedgerPayment& payment : ledger.payments(*population)) {
        if (payment.mechanism != drawn_labels_mechanism || payment.result.empty() ||
            DrawnLabels::of(payment.result, request.ledger).dataset != dataset)
            continue;
        // Public records among which are those people would tell their labels.
        Payee payee{dataset, run.manifest.dataset.path, run.manifest.public_records, label_relation,
                    request.ledger};
        payee.pretrained = pretraining_records(run.settings);
        check_payer(ledger, payee);
        return std::move(payment);
    }
    return std::nullopt;
}

/// Those of a training of any kind on such labels.
PaidParameters parameters_of_labels(const FinishedRun& run, LedgerPayment payment,
                                    const PublishRequest& request) {
    if (request.epsilon || request.delta)
        throw Error(ExitCode::usage,
                    "its labels were paid for when they were drawn, and nothing else is private",
                    "leave --epsilon and --delta out", request.epsilon ? "--epsilon" : "--delta");
    if (run.members() > 1 && run.network.layers().size() > 1)
        throw Error(ExitCode::usage, "the members of an ensemble are no one network",
                    "train with ensemble.members = 1", "ensemble.members");
    Guarantee claim = claim_about_drawn_labels(facts_of(run.manifest), payment.epsilon);
    state_public_models(run.settings, claim);
    payment.guarantee = claim.to_json().dump();
    return {parameters_of(run), std::move(payment)};
}

/// Those of a training without noise, which they are now given.
PaidParameters protected_parameters(const Context& context, const FinishedRun& run,
                                    const Rational& sensitivity, const PublishRequest& request) {
    if (!request.epsilon)
        throw Error(ExitCode::usage, "what the publication may cost is not stated",
                    "give --epsilon, and --delta for less noise: they are charged to the ledger",
                    "--epsilon");
    const PublicationTerms terms{decimal_value(*request.epsilon, "--epsilon"),
                                 decimal_value(request.delta.value_or(0), "--delta")};
    return noisy_parameters(context, run, sensitivity, terms, request.ledger, request.out);
}

Model model_of(const FinishedRun& run, const PaidParameters& paid) {
    return {run.network,
            run.settings.training.precision,
            paid.parameters,
            run.manifest.kind,
            run.manifest.program,
            run.manifest.version,
            nlohmann::json::parse(paid.payment.guarantee),
            {{"epsilon", shown(paid.payment.epsilon)},
             {"delta", shown(paid.payment.delta)},
             {"mechanism", paid.payment.mechanism},
             {"parameters", nlohmann::json::parse(paid.payment.parameters)}},
            run.features,
            public_schema(run.schema())};
}

/// How to go on: the model is asked about the test records of the dataset, if it has some; else about
/// whatever table comes next.
std::string next_of(const PublishRequest& request, const std::string& dataset) {
    const std::string tests = test_split(dataset);
    return next_command({"predict", "--model", request.out, tests.empty() ? "NEW.csv" : tests, "--out",
                         beside_dataset(request.out, "-answers.csv")});
}

void print(const Context& context, const PublishRequest& request, const FinishedRun& run, const Model& model,
           const std::string& digest, const char* charged) {
    const std::string file = printed("%zu parameters, model %s, for anyone in ", model.parameters.size(),
                                     digest.substr(0, 16).c_str()) +
                             request.out;
    const std::string text = "epsilon " + round_up_text(model.cost["epsilon"].get<double>()) + ", delta " +
                             round_up_text(model.cost["delta"].get<double>()) + ", charged " + charged + "\n";
    context.print({{"model", digest},
                   {"file", request.out},
                   {"kind", model.kind},
                   {"parameters", model.parameters.size()},
                   {"cost", model.cost},
                   {"guarantee", model.guarantee}},
                  file + "\n" + text + Guarantee::lines_of(model.guarantee) + "\n");
    // For the owner alone, as the data's name is: not among what may be shown with the model.
    std::string next = next_of(request, run.manifest.dataset.path);
    next.pop_back();
    context.log->info(next);
}

void publish(const Context& context, const PublishRequest& request) {
    if (!context.world.is_root()) return;
    // 1. A run whose parameters may leave.
    require_ledger(request.ledger);
    const FinishedRun run = FinishedRun::open(request.run);
    const std::optional<LedgerPayment> labels = payment_of_labels(run, request);
    const Kind& kind = kind_named(run.manifest.kind);
    if (!labels) kind.require_publishable(run.settings);
    const std::optional<Rational> sensitivity =
        labels ? std::nullopt : kind.sensitivity(run.settings, run.features);

    // 2. What was paid for, and holds noise that nobody can draw again.
    const PaidParameters paid = labels        ? parameters_of_labels(run, *labels, request)
                                : sensitivity ? protected_parameters(context, run, *sensitivity, request)
                                              : trained_parameters(run, request);

    // 3. The ledger knows that the model is out before anyone can see the file. After a crash between the
    // two, the same command again writes the same bytes.
    const Model model = model_of(run, paid);
    const std::string digest = write_model(request.out, model, [&](const std::string& name) {
        Ledger(request.ledger).record_publication(paid.payment.dataset, paid.payment.token, name);
    });

    // 4. What has left the house.
    print(context, request, run, model, digest,
          labels        ? "when its labels were drawn"
          : sensitivity ? "once"
                        : "when it was trained");
}

}  // namespace

Run declare_publish(const Command& command) {
    auto request = std::make_shared<PublishRequest>();
    command
        .add_option(
            "--run", request->run,
            "Run folder of holdfast train, of training.kind = \"noisy\" or \"convex\", or of any kind on "
            "labels that holdfast measure drew")
        .required();
    command
        .add_option("--ledger", request->ledger,
                    "The file that pays, or that paid for a training of kind \"noisy\"")
        .required();
    command
        .add_output("--out", request->out, OutputKind::kept,
                    "The model file: replaces none, unless it is the same model")
        .required();
    command.add_option("--epsilon", request->epsilon,
                       "Of kind \"convex\": what the parameters cost, charged once; public");
    command.add_option("--delta", request->delta,
                       "Beside --epsilon: Gaussian noise; 0: pure, by Laplace noise");
    return [request](const Context& context) { publish(context, *request); };
}

}  // namespace holdfast
