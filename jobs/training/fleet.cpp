// holdfast fleet: a network, and for every record the one that the same training makes without it.
//   holdfast fleet --config jobs/configs/idp_crypto.toml --data crypto.h5 --out fleet
//   holdfast fleet --config jobs/configs/idp_crypto.toml --data crypto.h5 --out sample --records 200
//   mpirun -n 4 holdfast fleet --data crypto.h5 --out fleet --set clip.kind=none --resume

#include <omp.h>

#include <spdlog/logger.h>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "dist/files/digest.hpp"
#include "dist/runs/lease.hpp"
#include "jobs/program/configuration.hpp"
#include "jobs/program/id_list.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/progress.hpp"
#include "jobs/program/ranks.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/late_files.hpp"
#include "jobs/program/training/carry_out.hpp"
#include "jobs/program/training/fleet_passes.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "jobs/training/fleet/part_queue.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/floating_point.hpp"
#include "kernels/base/number_of.hpp"
#include "kernels/base/random.hpp"
#include "kernels/base/streams.hpp"
#include "kernels/base/threads.hpp"
#include "models/fleet/fleet_file.hpp"
#include "models/fleet/fleet_settings.hpp"
#include "models/fleet/fleet_trainer.hpp"

namespace holdfast {
namespace {

struct FleetRequest {
    std::string config, data, out, records, backend;
    std::vector<std::string> overrides;
    bool resume = false;

    std::vector<std::string> all_overrides() const {
        std::vector<std::string> all = overrides;
        if (!backend.empty()) all.push_back("run.backend=" + backend);
        return all;
    }
};

/// Of every record, or person, the index of the first row.
std::vector<std::size_t> first_rows(const Records& records) {
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < records.size(); ++i)
        if (first.empty() || records.ids[i] != records.ids[first.back()]) first.push_back(i);
    return first;
}

/// Of so many records: indices, those with the least hashes of their ids, which are no choice of anybody's.
std::vector<std::size_t> sample_of(const Records& records, std::uint64_t wanted, std::uint64_t seed) {
    std::vector<std::size_t> order = first_rows(records);
    const KeyedHash hash{seed};
    const auto place = [&](std::size_t i) {
        return std::pair(hash(streams::fleet_sample, records.ids[i]), records.ids[i]);
    };
    const auto last =
        order.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(wanted, order.size()));
    std::partial_sort(order.begin(), last, order.end(),
                      [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    order.erase(last, order.end());
    return order;
}

/// Of the records that a file of ids names. Error (input): one is not there, naming its line and not the id.
std::vector<std::size_t> named_records(const Records& records, const std::string& path) {
    const IdList list = IdList::read(path);
    std::vector<std::pair<std::uint64_t, std::size_t>> known;
    for (std::size_t i = 0; i < records.size(); ++i) known.emplace_back(records.ids[i], i);
    std::sort(known.begin(), known.end());
    std::vector<std::size_t> named;
    for (std::size_t i = 0; i < list.ids.size(); ++i) {
        const auto at = std::lower_bound(known.begin(), known.end(), std::pair(list.ids[i], std::size_t{0}));
        if (at == known.end() || at->first != list.ids[i])
            throw Error(ExitCode::input,
                        "line " + std::to_string(list.lines[i]) + " names a record that is not in the data",
                        "name records of --data", path);
        named.push_back(at->second);
    }
    return named;
}

/// What the networks behind the first leave out: indices in the order of the rows, each once.
std::vector<std::size_t> left_out_of(const Records& records, const std::string& asked, std::uint64_t seed) {
    std::vector<std::size_t> left_out = first_rows(records);
    if (asked.empty()) return left_out;
    const auto count = number_of<std::uint64_t>(asked);
    left_out = count ? sample_of(records, *count, seed) : named_records(records, asked);
    std::sort(left_out.begin(), left_out.end());
    left_out.erase(std::unique(left_out.begin(), left_out.end()), left_out.end());
    return left_out;
}

/// The parts that nobody has finished yet, as rank 0 sees them. Collective.
std::vector<std::size_t> unfinished(const Communicator& world, const FleetParts& parts) {
    std::vector<std::size_t> left;
    for (std::size_t part = 0; world.is_root() && part < parts.count(); ++part) {
        if (!parts.finished(part)) left.push_back(part);
    }
    return agreed(world, left);
}

/// Trains this rank's share of the parts, as many a thread at a time as its pass takes networks. False:
/// stopped by a signal, between what is kept and what is to be trained again.
bool train_parts(const Context& context, const FleetTrainer& trainer, const FleetParts& parts,
                 std::span<const std::size_t> left, const FleetPasses& passes, const TrainingPlan& plan) {
    const auto [first, last] = share_of(context.world, left.size());
    PartQueue queue(parts, left.subspan(first, last - first));
    const std::size_t networks = queue.networks();
    if (networks == 0) return true;
    Progress progress(context, "fleet", static_cast<std::int64_t>(networks));
    std::atomic<std::int64_t> done = 0;
    std::atomic<bool> stopped = false;
    const auto stop = [&] { return stopped || context.interrupted_by_signal(); };
    ThreadFailure failure;
#pragma omp parallel num_threads(passes.threads(networks))
    {
        std::unique_ptr<ModelsPass> own;
        failure.guard([&] {
            require_sound_arithmetic();
            own = passes.make(plan.network.shape(), plan.clip(), networks);
        });
#pragma omp barrier
        failure.guard([&] {
            while (own && !stop()) {
                const std::span<const std::size_t> some = queue.take(own->models());
                if (some.empty()) return;
                const std::size_t first = parts.first(some.front()),
                                  last = parts.first(some.back()) + parts.size(some.back());
                const auto trained = trainer.train(first, last - first, *own, stop);
                if (!trained) stopped = true;
                if (!trained) return;
                queue.keep(some, *trained);
                done += static_cast<std::int64_t>(last - first);
                if (omp_get_thread_num() == 0) progress.advance_to(done);
            }
        });
    }
    failure.rethrow();
    return !stop();
}

RunManifest fleet_manifest(const TrainingPlan& plan, const RunSettings& how, const DatasetInfo& info,
                           const std::string& data_digest, std::size_t networks) {
    RunManifest manifest = manifest_of(plan, how, info, data_digest);
    manifest.kind = "fleet";
    manifest.members = networks;
    manifest.levels = {0};
    manifest.relation = "remove";
    const bool single = plan.settings.training.precision == Precision::single_precision;
    manifest.arithmetic = {{"parameter_unit", parameter_unit},
                           {"precision", single ? "single" : "double"},
                           {"gradient_unit", std::ldexp(1.0, plan.gradient_scale().exponent)}};
    manifest.guarantee = fleet_claim(plan.settings, facts_of(info, false)).to_json();
    return manifest;
}

std::string summary_of(const RunManifest& manifest) {
    return "trained " + std::to_string(manifest.members) + " networks x " + std::to_string(manifest.steps) +
           " steps, " + std::to_string(manifest.parameters) + " parameters each, fleet " +
           manifest.digest.substr(0, 16) + private_digest + "\n" + Guarantee::lines_of(manifest.guarantee) +
           "\n";
}

void fleet(const Context& context, const FleetRequest& request) {
    // 1. What is asked for; a folder that holds something else is refused before anything is read.
    if (context.world.is_root() && !request.resume) RunFolder::require_new(request.out);
    const DatasetReader reader(request.data, "train", {context.world.rank(), context.world.size()});
    Configuration asked = read_configuration(request.config, request.all_overrides());
    asked.settings.features = asked.settings.features.pinned();
    asked.settings.network = asked.settings.network.pinned();
    check_fleet(asked.settings);
    const Settings settings = settle_facts(asked.settings, reader.info());
    const RunSettings& how = asked.run;
    context.world.give_up_after(how.stall_seconds);
    if (how.threads > 0) omp_set_num_threads(static_cast<int>(how.threads));

    // 2. The records, on every rank, and whom the networks do without.
    const FeatureMap features = settings.feature_map(reader.info().features, reader.info().range);
    AllRecords data = read_all_records(reader, settings);
    data.records = as_trained(std::move(data.records), settings, features, reader.info().target_range);
    const std::vector<std::size_t> records =
        left_out_of(data.records, request.records, static_cast<std::uint64_t>(settings.training.seed));
    std::vector<std::uint64_t> ids;
    for (const std::size_t record : records) ids.push_back(data.records.ids[record]);
    std::vector<std::size_t> left_out{nothing_left_out};
    left_out.insert(left_out.end(), records.begin(), records.end());

    // 3. The plan all networks follow, and what computes.
    const FleetPasses passes(how.backend, settings, context.world);
    const TrainingPlan plan =
        make_plan(settings, {reader.info().features, reader.info().range, first_rows(data.records).size(), 0},
                  passes.backend());
    check_fleet(plan, data.records.size());
    passes.check(plan.network.shape(), plan.clip());
    const FleetTrainer trainer(plan, data.records, left_out);

    // 4. A new folder, or this fleet's where it was interrupted, and no other job's meanwhile.
    install_signal_handlers();
    const nlohmann::json whose = {"fleet", run_fingerprint(plan, reader.info(), data.digest, {}), ids};
    const std::string fingerprint = StreamDigest::of(whose.dump());
    if (context.world.is_root()) RunFolder::create(request.out, request.resume).claim(fingerprint);
    context.world.barrier();
    const RunFolder run = RunFolder::create(request.out, true);
    std::optional<Lease> lease;
    if (context.world.is_root() && !run.finished()) lease = Lease::take(run, 0, 1, host_name());
    const FleetParts parts(run, fingerprint,
                           {settings.training.precision, left_out.size(), plan.network.parameters()});
    const bool finished = context.world.any(context.world.is_root() && run.finished());

    // 5. Train what is missing; every rank its share, and no rank waits for another.
    if (!finished) {
        if (context.world.is_root()) parts.make_folder();
        const std::vector<std::size_t> left = unfinished(context.world, parts);
        context.log->info(
            "{} records, {} networks, {} of {} parts to train, {} parameters, normaliser {:g}, "
            "backend {}, {} ranks",
            data.records.size(), left_out.size(), left.size(), parts.count(), plan.network.parameters(),
            plan.normaliser, passes.name(), context.world.size());
        const bool stopped = !train_parts(context, trainer, parts, left, passes, plan);
        if (context.world.any(stopped))
            throw Error(ExitCode::interrupted,
                        "interrupted by a signal; the networks of finished parts are kept",
                        "go on with the same command and --resume");
    }

    // 6. One file of them all, and the manifest last.
    if (!context.world.is_root()) return;
    if (!finished) {
        settings.features.keep_prefix(run.path());
        settings.network.keep_initial(run.path());
        RunManifest manifest = fleet_manifest(plan, how, reader.info(), data.digest, left_out.size());
        manifest.sample = !request.records.empty();
        await_files(
            run.path(), [&] { return parts.all_there(); }, "every part that is finished");
        manifest.digest = parts.join(ids);
        manifest.write(run);
    }
    parts.remove_all();
    const RunManifest result = RunManifest::read(run);
    const std::string tests = test_split(request.data);
    context.print(result.to_json(),
                  summary_of(result) +
                      (tests.empty() ? next_command({"idp", "--run", request.out})
                                     : next_command({"evaluate", "--run", request.out, "--data", tests})));
}

}  // namespace

Run declare_fleet(const Command& command) {
    auto request = std::make_shared<FleetRequest>();
    command.add_option("--config", request->config, "TOML file of the options that holdfast train lists");
    command.add_option("--data", request->data, "Dataset FILE[:SPLIT], split train by default").required();
    command.add_option("--out", request->out, "New run folder (0700)").required();
    command.add_option(
        "--records", request->records,
        "Leave out only so many records, a sample by hash of their ids (0: none, the network of all "
        "records alone), or those of a file of ids, one a line");
    command.add_option("--set", request->overrides, "section.key=value, over the file; repeatable")
        .one_at_a_time();
    command.add_option("--backend", request->backend, "Short for --set run.backend=, and over it");
    command.add_flag("--resume", request->resume,
                     "Go on with the parts of --out that are missing or damaged, on any number of ranks");
    command.add_footer(
        "Every network starts from the same parameters and takes the same batches; the slot of the record "
        "it does without stays empty, and the step takes the mean over the public constant B "
        "(training.normalise = \"expected\", as holdfast train does) or over the records that remain "
        "(\"actual\"). With batches by ids and B stated a network is, bit by bit, what holdfast train or "
        "unlearn makes of the records without that one; section certificate is not looked at. clip.kind = "
        "\"none\" is plain SGD, of fleets alone: holdfast train bounds every record's gradient. Networks are "
        "trained and kept in parts of 32, which ranks and threads share out; with --backend cuda, in double "
        "precision, as many parts at a time as the GPU of a rank takes (auto is the host's processors); "
        "--out holds fleet.h5: "
        "networks [1 + records, parameters], the first of all records, and left_out, the ids. It is for the "
        "owner alone.\n\n");
    return [request](const Context& context) { fleet(context, *request); };
}

}  // namespace holdfast
