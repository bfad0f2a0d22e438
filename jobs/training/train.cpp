// holdfast train: a model, with boxes, with noise, or convex.
//   holdfast train --config jobs/configs/quickstart.toml --data blobs.h5 --out run
//   mpirun -n 4 holdfast train --data blobs.h5 --out run --set certificate.levels=100
//   mpirun -n 2 holdfast train --data blobs.h5 --out run --backend cuda --transport nccl
//   holdfast train --data blobs.h5 --out run --resume
//   holdfast train --data blobs.h5 --out run --set ensemble.members=100 --members 25:50
//   holdfast train --data patients.h5 --out run --set training.kind=noisy --set clip.kind=norm --ledger l.db

#include <cstdio>
#include <nlohmann/json.hpp>

#include "dist/runs/member_store.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/rounded.hpp"
#include "jobs/program/training/carry_out.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/kinds/kinds.hpp"

namespace holdfast {
namespace {

struct TrainRequest : TrainingRequest {
    std::string config, backend, transport;
    std::vector<std::string> overrides;

    /// --backend and --transport are the last of the overrides.
    std::vector<std::string> all_overrides() const {
        std::vector<std::string> all = overrides;
        if (!backend.empty()) all.push_back("run.backend=" + backend);
        if (!transport.empty()) all.push_back("run.transport=" + transport);
        return all;
    }
};

/// What may be shown of a secret run: all but what is known of the records.
nlohmann::json public_part(const RunManifest& manifest) {
    nlohmann::json shown = manifest.to_json();
    shown.erase("dataset");
    shown.erase("public");
    shown.erase("metrics");
    return shown;
}

std::string summary_of_secret(const RunManifest& manifest, const std::string& arithmetic) {
    std::string text = "trained " + std::to_string(manifest.steps) + " steps, " +
                       std::to_string(manifest.parameters) + " parameters, " + manifest.kind + " " +
                       manifest.digest.substr(0, 16) + "\n" + arithmetic + "\n";
    if (const nlohmann::json& paid = manifest.payment; !paid.is_null()) {
        text +=
            "cost epsilon " + round_up_text(paid["epsilon"].get<double>()) + ", delta " +
            round_up_text(paid["delta"].get<double>()) +
            printed(": noise multiplier %.5g (%s)\n", paid["parameters"]["noise_multiplier"].get<double>(),
                    paid["parameters"]["accountant"].get<std::string>().c_str());
    }
    return text + Guarantee::lines_of(manifest.guarantee) + "\n";
}

/// How to go on where a ledger has paid: nothing more is charged.
std::string next_of(const TrainRequest& request) {
    if (request.ledger.empty()) return "";
    std::string model = request.out;
    while (model.size() > 1 && model.back() == '/') model.pop_back();
    return next_command(
        {"publish", "--run", request.out, "--ledger", request.ledger, "--out", model + "-model.h5"});
}

/// The owner measures it, on the records that are there for that; a model without levels is published.
std::string next_of_unpaid(const TrainRequest& request, const RunManifest& manifest) {
    const std::string tests = test_split(request.data);
    if (tests.empty()) return next_command({"report", request.out});
    if (why_not_released(request.configuration.settings.certificate.relation))
        return next_command({"certify", "--run", request.out, "--queries", tests});
    std::vector<std::string> words{"evaluate", "--run", request.out, "--data", tests};
    if (manifest.kind == "boxes" && manifest.dataset.classes > 1)
        words.insert(words.end(), {"--epsilon", "0.1,1"});
    return next_command(words);
}

std::string summary_of(const RunManifest& manifest, const std::string& arithmetic) {
    return "trained " + (manifest.members > 1 ? std::to_string(manifest.members) + " members x " : "") +
           std::to_string(manifest.steps) + " steps, levels 0.." + std::to_string(manifest.levels.back()) +
           ", " + manifest.kind + " " + manifest.digest.substr(0, 16) + private_digest + "\n" + arithmetic +
           "\n" + Guarantee::lines_of(manifest.guarantee) + "\n";
}

/// What a slice leaves where others are still to come.
void print_slice(const Context& context, const RunFolder& run, std::size_t trained, std::uint64_t members) {
    const std::size_t there = MemberStore::finished(run.path()).size();
    context.print({{"members", members}, {"finished_members", there}, {"finished", false}},
                  "trained " + std::to_string(trained) + " members; " + std::to_string(there) + " of " +
                      std::to_string(members) +
                      " are there: the run is finished once the others are trained into this folder\n");
}

void train(const Context& context, TrainRequest request) {
    request.configuration = read_configuration(request.config, request.all_overrides());
    const TrainingOutcome outcome = carry_out(context, request);
    if (!context.world.is_root()) return;
    const RunFolder run = RunFolder::create(request.out, true);
    if (!outcome.finished) return print_slice(context, run, outcome.trained, outcome.members);
    const RunManifest result = RunManifest::read(run);
    if (kind_named(result.kind).secret)
        return context.print(public_part(result),
                             summary_of_secret(result, outcome.arithmetic) + next_of(request));
    nlohmann::json shown = result.to_json();
    shown["for_the_owner_alone"] = {"dataset", "public", "digest"};
    context.print(shown, summary_of(result, outcome.arithmetic) + next_of_unpaid(request, result));
}

}  // namespace

Run declare_train(const Command& command) {
    auto request = std::make_shared<TrainRequest>();
    command.add_option("--config", request->config, "TOML file of the options below");
    command.add_option("--data", request->data, "Dataset FILE[:SPLIT], split train by default").required();
    command.add_option("--out", request->out, "New run folder (0700)").required();
    command.add_option(
        "--public", request->public_data,
        "Public records FILE[:SPLIT] to train on beside: never charged. Batches of their own, and "
        "steps of them alone: training.public_batch_size, training.public_steps. Where a ledger pays, "
        "only what holdfast account --public has checked");
    add_validation_options(command, request->validation,
                           "how well the run and its widest boxes do on them goes into metrics.jsonl, for "
                           "the owner. They decide nothing: a training that stops by them is no longer the "
                           "one that its boxes enclose (holdfast pretrain stops, on public records)");
    command.add_option("--set", request->overrides, "section.key=value, over the file; repeatable")
        .one_at_a_time();
    command.add_option("--backend", request->backend, "Short for --set run.backend=, and over it");
    command.add_option("--transport", request->transport, "Short for --set run.transport=, and over it");
    command.add_option(
        "--ledger", request->ledger,
        "Of training.kind = \"noisy\": the file that pays for the whole training before it begins "
        "(holdfast account opens it)");
    command.add_option(
        "--members", request->members,
        "Only the members FIRST:LAST, from 0 and without LAST, and go on where they stopped: jobs "
        "may train slices into one --out at once, and the last finishes the run");
    add_keep_options(command, request->keep);
    command.add_flag("--resume", request->resume,
                     "Go on from the last checkpoints of --out, on any number of ranks");
    command.add_flag(
        "--trace", request->trace,
        "Log how the boxes of the largest level of rank 0 grow, layer by layer: mean and largest width, "
        "activations that may change sign, the share of charge in the width (all in metrics.jsonl "
        "too), and seconds by phase (in no file of the run, whose bytes are the same on any machine). "
        "For the owner alone: this log depends on the records without protection. Long runs log some "
        "200 lines, each with the time since the one before");
    command.add_footer(
        options_help() +
        "Between hosts sums, boxes and networks travel in clear, records not at all: every host reads "
        "the whole of --data. Keep that network private, or lay it through an encrypted one such as "
        "WireGuard.\n");
    return [request](const Context& context) { train(context, *request); };
}

}  // namespace holdfast
