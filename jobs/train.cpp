// holdfast train: an ensemble with boxes for every level.
//   holdfast train --config jobs/configs/quickstart.toml --data blobs.h5 --out run
//   mpirun -n 4 holdfast train --data blobs.h5 --out run --set certificate.levels=100
//   mpirun -n 2 holdfast train --data blobs.h5 --out run --backend cuda --transport nccl
//   holdfast train --data blobs.h5 --out run --resume

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>

#include "dist/files/digest.hpp"
#include "dist/layout/distribute.hpp"
#include "dist/runs/checkpoint.hpp"
#include "dist/runs/manifest.hpp"
#include "jobs/configuration.hpp"
#include "jobs/job.hpp"
#include "jobs/progress.hpp"
#include "jobs/transport.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/version.hpp"
#include "models/boxes/trainer.hpp"
#include "models/certify/claims.hpp"

namespace holdfast {
namespace {

struct Request {
    std::string config, data, out, public_data, backend, transport;
    std::vector<std::string> overrides;
    bool resume = false;

    /// --backend and --transport are the last of the overrides.
    std::vector<std::string> all_overrides() const {
        std::vector<std::string> all = overrides;
        if (!backend.empty()) all.push_back("run.backend=" + backend);
        if (!transport.empty()) all.push_back("run.transport=" + transport);
        return all;
    }
};

/// The settings with the public number of records that the dataset states, unless they state one themselves.
Settings settle_count(Settings settings, const DatasetInfo& info) {
    if (settings.training.expected_records == 0)
        settings.training.expected_records = static_cast<std::int64_t>(info.expected_records);
    return settings;
}

/// Against public numbers alone: how many records were found decides no exit code.
void check_against_count(const Settings& settings) {
    const std::int64_t records = settings.training.expected_records;
    const auto refuse = [&](const std::string& key, std::int64_t value, const std::string& hint) {
        throw Error(ExitCode::usage,
                    key + " = " + std::to_string(value) + " exceeds the stated " + std::to_string(records) +
                        " records",
                    hint, key);
    };
    if (records == 0) return;
    const std::int64_t largest = settings.certificate.level_values().back();
    if (largest > records)
        refuse(settings.certificate.contiguous_levels() ? "certificate.levels" : "certificate.level_list",
               largest, "no dataset is so many records away: lower it");
    if (settings.ensemble.members > records)
        refuse("ensemble.members", settings.ensemble.members, "lower it, or train on more records");
}

/// For the owner: what of the private records the public range clamps. Collective.
void report_clamped(const Context& context, const ProcessGrid& grid, const std::vector<MemberRecords>& held,
                    FeatureRange range) {
    std::int64_t outside[] = {0};
    for (const MemberRecords& member : held) {
        if (grid.levels().first == 0)
            outside[0] += static_cast<std::int64_t>(values_outside(member.records.features, range));
    }
    context.world.sum(outside);
    if (outside[0] > 0)
        context.log->warn(
            "for the owner: {} values of the records lie outside the public range {} and count "
            "as its ends",
            outside[0], text_of(range));
}

/// Every public record, on every rank: they are few beside the private ones, and every member trains on all
/// of them.
Records read_public(const std::string& name, const DatasetInfo& private_data, const Settings& settings) {
    Records records{FeatureMatrix(private_data.features, false), {}, {}, {}};
    if (name.empty()) return records;
    const DatasetReader reader(name);
    if (reader.info().features != private_data.features) {
        throw Error(ExitCode::input,
                    std::to_string(reader.info().features) + " features, but " + private_data.path + " has " +
                        std::to_string(private_data.features),
                    "give both the same columns", reader.info().path);
    }
    records = reader.read_all();
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (records.labels.empty() || records.labels[i] >= settings.network.classes) {
            throw Error(ExitCode::input,
                        "row " + std::to_string(i) + " has no label below network.classes = " +
                            std::to_string(settings.network.classes),
                        "label the public records as the private ones", reader.info().path);
        }
    }
    return records;
}

/// The states of a member's checkpoint files that concern this rank's levels, joined.
std::optional<MemberState> resumed_state(const std::vector<MemberState>& states, std::uint64_t member,
                                         const std::vector<std::int64_t>& levels) {
    MemberState joined;
    joined.member = member;
    for (const MemberState& state : states) {
        if (state.member != member) continue;
        joined.step = state.step;
        joined.normalisers = state.normalisers;
        if (joined.metrics.empty()) {
            joined.metrics = state.metrics;
        } else {
            for (std::size_t i = 0; i < joined.metrics.size(); ++i) joined.metrics[i].merge(state.metrics[i]);
        }
        for (const LevelState& level : state.levels) {
            if (std::binary_search(levels.begin(), levels.end(), level.k)) joined.levels.push_back(level);
        }
    }
    if (joined.levels.empty()) return std::nullopt;
    std::sort(joined.levels.begin(), joined.levels.end(),
              [](const LevelState& a, const LevelState& b) { return a.k < b.k; });
    if (joined.levels.size() != levels.size())
        throw Error(ExitCode::input, "the checkpoint lacks levels of member " + std::to_string(member),
                    "a file of it was deleted: restore it, or train into a new folder");
    return joined;
}

/// Trains this rank's members in turn. All ranks step together, so that they agree on checkpoints and on
/// stopping.
class Rounds {
  public:
    Rounds(const Context& context, const RunSettings& how, const ProcessGrid& grid,
           const Communicator& block_group, const CheckpointFolder& checkpoints,
           std::vector<MemberTrainer>& trainers)
        : context_(context),
          how_(how),
          grid_(grid),
          block_group_(block_group),
          checkpoints_(checkpoints),
          trainers_(trainers) {}

    void run() {
        std::int64_t total = 0;
        for (const MemberTrainer& trainer : trainers_) total += trainer.steps();
        Progress progress(context_, "train", total);
        double last_checkpoint = 0;
        std::int64_t steps_since = 0;
        for (;;) {
            const auto current = std::find_if(trainers_.begin(), trainers_.end(),
                                              [](const MemberTrainer& trainer) { return !trainer.done(); });
            const bool by_steps = how_.checkpoint_steps > 0 && steps_since >= how_.checkpoint_steps;
            const bool by_time = context_.world.is_root() && how_.checkpoint_seconds > 0 &&
                                 progress.seconds() - last_checkpoint >= how_.checkpoint_seconds;
            std::int64_t flags[] = {current != trainers_.end(), context_.interrupted_by_signal(),
                                    by_steps || by_time};
            context_.world.max(flags);
            const auto [unfinished, interrupted, due] = flags;
            if (unfinished != 0 && (interrupted != 0 || due != 0)) {
                save();
                last_checkpoint = progress.seconds();
                steps_since = 0;
            }
            if (unfinished == 0) return;
            if (interrupted != 0) {
                throw Error(ExitCode::interrupted, "interrupted by a signal; a checkpoint was written",
                            "go on with the same command and --resume");
            }
            if (current != trainers_.end()) current->step(block_group_);
            ++steps_since;
            progress.advance_to(std::accumulate(
                trainers_.begin(), trainers_.end(), std::int64_t{0},
                [](std::int64_t sum, const MemberTrainer& trainer) { return sum + trainer.state().step; }));
        }
    }

  private:
    void save() const {
        std::vector<std::pair<std::string, CheckpointFolder::Payload>> files;
        for (const MemberTrainer& trainer : trainers_) {
            if (grid_.block() != 0) break;
            const MemberState& state = trainer.state();
            files.emplace_back(
                "member-" + std::to_string(state.member) + "-level-" + std::to_string(state.levels.front().k),
                state.packed());
        }
        checkpoints_.save(files, context_.world);
        context_.log->info("checkpoint written");
    }

    const Context& context_;
    const RunSettings& how_;
    const ProcessGrid& grid_;
    const Communicator& block_group_;  ///< of the grid, as its sums travel
    const CheckpointFolder& checkpoints_;
    std::vector<MemberTrainer>& trainers_;
};

/// Sends every level's box and every step's metrics to rank 0, which writes them in order. Returns the
/// digest.
std::string write_results(const Context& context, const RunFolder& run, const Settings& settings,
                          const ProcessGrid& grid, const std::vector<MemberTrainer>& trainers,
                          std::size_t parameters) {
    const std::vector<std::int64_t> levels = settings.certificate.level_values();
    const auto rank = context.world.rank();
    std::optional<BoxesWriter> writer;
    if (rank == 0)
        writer.emplace(run, static_cast<std::size_t>(settings.ensemble.members), levels, parameters);
    std::string metrics_lines;
    // One message of one level, or of the metrics alone, from its owner to rank 0.
    const auto collect = [&](int owner, auto make) {
        MemberState part;
        if (rank == owner) part = make();
        if (owner != 0 && rank == owner) context.world.send(part.packed(), 0);
        if (owner != 0 && rank == 0) part = MemberState::unpacked(context.world.receive(owner));
        return part;
    };
    for (std::size_t member = 0; member < static_cast<std::size_t>(settings.ensemble.members); ++member) {
        const auto trainer = [&]() -> const MemberTrainer& {
            return trainers[member - grid.members().first];
        };
        std::vector<StepMetrics> metrics;
        for (std::size_t level = 0; level < levels.size(); ++level) {
            const int owner = grid.rank_of(member, level, 0);
            const bool first_of_group = level == 0 || owner != grid.rank_of(member, level - 1, 0);
            const MemberState part = collect(owner, [&] {
                MemberState state;
                state.levels.push_back(trainer().box(level - grid.levels().first));
                if (first_of_group) state.metrics = trainer().state().metrics;
                return state;
            });
            if (rank != 0) continue;
            writer->write(member, level, part.levels[0].lower, part.levels[0].upper);
            for (std::size_t i = 0; i < part.metrics.size(); ++i) {
                if (level == 0) metrics.push_back(part.metrics[i]);
                if (level != 0) metrics[i].merge(part.metrics[i]);
            }
        }
        for (const StepMetrics& step : metrics) metrics_lines += step.to_json(member).dump() + "\n";
    }
    if (rank != 0) return "";
    run.write_text("metrics.jsonl", metrics_lines);
    return writer->commit();
}

/// Whatever decides the boxes: what a checkpoint must agree with to go on to the same bytes.
std::string fingerprint(const TrainingPlan& plan, const std::string& data_digest,
                        const std::string& public_digest) {
    const FeatureRange range = plan.network.transform().range;
    const nlohmann::json rest = {data_digest, public_digest, plan.normaliser, range.low, range.high};
    return StreamDigest::of(deciding_settings(plan.settings) + rest.dump());
}

/// The grids on which the guarantee holds bit by bit, all of them public (kernels/base/arithmetic.hpp).
nlohmann::json arithmetic_of(const TrainingPlan& plan) {
    const GradientScale scale = plan.settings.clip.scale(plan.backend->precision());
    const double unit = std::ldexp(1.0, scale.exponent);
    const double least_gamma =
        unit * static_cast<double>(std::min(scale.weight_units, scale.bias_units)) / (1 + scale.rounding);
    const double last_impulse = plan.settings.training.learning_rate_at(plan.settings.training.steps() - 1) /
                                plan.normaliser * least_gamma;
    return {{"parameter_unit", parameter_unit},
            {"parameter_limit", parameter_value(parameter_limit_units)},
            {"precision", to_json(Configuration{plan.settings, {}})["training.precision"]},
            {"gradient_unit", unit},
            // A record's charge is rounded up by at most this part: Gamma to the grid, then its response.
            {"charge_rounding", scale.rounding + parameter_unit / last_impulse}};
}

RunManifest manifest_of(const TrainingPlan& plan, const RunSettings& how, const DatasetInfo& info,
                        const std::string& data_digest, const PublicRecords& public_records,
                        const std::string& boxes_digest, const Guarantee& claim) {
    RunManifest manifest;
    manifest.kind = plan.settings.training.kind;
    manifest.version = version();
    manifest.configuration = to_json({plan.settings, how});
    manifest.dataset = {
        info.path,    info.rows, info.features, static_cast<std::uint64_t>(plan.settings.network.classes),
        info.scaling, info.ids,  info.range,    info.population,
        data_digest};
    manifest.public_records = public_records;
    manifest.members = static_cast<std::uint64_t>(plan.settings.ensemble.members);
    manifest.steps = static_cast<std::uint64_t>(plan.settings.training.steps());
    manifest.parameters = plan.network.parameters();
    manifest.levels = plan.settings.certificate.level_values();
    for (const LayerShape& layer : plan.network.layers()) manifest.layers.push_back({layer.in, layer.out});
    manifest.normaliser = plan.normaliser;
    manifest.relation = name_of(plan.settings.certificate.relation);
    manifest.digest = boxes_digest;
    manifest.arithmetic = arithmetic_of(plan);
    manifest.guarantee = claim.to_json();
    return manifest;
}

std::string summary_of(const TrainingPlan& plan, std::int64_t last_level, const std::string& boxes_digest,
                       const Guarantee& claim) {
    const nlohmann::json arithmetic = arithmetic_of(plan);
    char grids[240];
    std::snprintf(grids, sizeof grids,
                  "%s precision, exact in units of 2^-50 (parameters, within +-1024) and 2^%d (gradients); "
                  "rounding adds at most %.1g of a record's charge\n",
                  arithmetic["precision"].get<std::string>().c_str(),
                  plan.settings.clip.scale(plan.backend->precision()).exponent,
                  arithmetic["charge_rounding"].get<double>());
    return "trained " + std::to_string(plan.settings.ensemble.members) + " x " +
           std::to_string(plan.settings.training.steps()) + " steps, levels 0.." +
           std::to_string(last_level) + ", boxes " + boxes_digest.substr(0, 16) + "\n" + grids +
           claim.text() + "\n";
}

void train(const Context& context, const Request& request) {
    // 1. What is asked for.
    const DatasetReader reader(request.data);
    const Configuration asked = read_configuration(request.config, request.all_overrides());
    const RunSettings& how = asked.run;
    const Settings settings = settle_count(asked.settings, reader.info());
    if (how.threads > 0) omp_set_num_threads(static_cast<int>(how.threads));
    check_against_count(settings);

    // 2. What computes, and what adds; who holds what: the records travel to their members.
    const int device = choose_device(how.backend, context.world);
    const auto backend =
        make_backend(how.backend, settings.training.precision, settings.certificate.product, device);
    const std::vector<std::int64_t> levels = settings.certificate.level_values();
    const ProcessGrid grid(context.world, how.grid, static_cast<std::size_t>(settings.ensemble.members),
                           levels.size());
    const BlockCommunicator sums(context.world, grid.block_group(),
                                 {how.transport, how.transport_timeout, backend->name()});
    std::vector<MemberRecords> held =
        distribute(reader, grid, context.world, static_cast<std::size_t>(settings.ensemble.members),
                   static_cast<std::size_t>(settings.network.classes),
                   static_cast<std::uint64_t>(settings.training.seed));
    const Records public_records = read_public(request.public_data, reader.info(), settings);
    RecordDigest digest;
    for (const MemberRecords& member : held) {
        if (grid.levels().first == 0) digest.add(member.records);
    }
    RecordDigest of_public;
    of_public.add(public_records);
    const std::string data_digest = digest.hex(context.world),
                      public_digest = of_public.hex(*make_serial_communicator());
    report_clamped(context, grid, held, reader.info().range);

    // 3. The plan every member follows.
    TrainingPlan plan = make_plan(
        settings, {reader.info().features, reader.info().range, reader.info().rows, public_records.size()},
        backend);
    plan.levels = {levels.begin() + static_cast<std::ptrdiff_t>(grid.levels().first),
                   levels.begin() + static_cast<std::ptrdiff_t>(grid.levels().last)};
    context.log->info(
        "{} records, {} members, levels 0..{}, {} parameters, normaliser {:g}, backend {}, {} x {} ranks "
        "(members x levels x blocks {}), sums by {}",
        reader.info().rows, settings.ensemble.members, levels.back(), plan.network.parameters(),
        plan.normaliser, plan.backend->name(), context.world.transport(), context.world.size(), grid.text(),
        sums.group().transport());

    // 4. A new folder, or where an interrupted run stopped.
    if (context.world.is_root()) RunFolder::create(request.out, request.resume);
    context.world.barrier();
    const RunFolder run = RunFolder::create(request.out, true);
    const CheckpointFolder checkpoints(run.file("checkpoints"),
                                       fingerprint(plan, data_digest, public_digest));
    std::vector<MemberState> saved;
    if (request.resume) {
        for (const auto& payload : checkpoints.load_latest()) saved.push_back(MemberState::unpacked(payload));
        if (saved.empty()) context.log->info("no checkpoint in {}: starting from the beginning", request.out);
    }
    std::vector<MemberTrainer> trainers;
    for (MemberRecords& member : held) {
        std::optional<MemberState> state = resumed_state(saved, member.member, plan.levels);
        trainers.emplace_back(plan, std::move(member.records), public_records,
                              state ? *state : MemberTrainer::fresh_state(plan, member.member));
    }

    // 5. Train.
    Rounds(context, how, grid, sums.group(), checkpoints, trainers).run();

    // 6. Boxes, metrics and manifest; then the checkpoints have served.
    const std::string boxes_digest =
        write_results(context, run, settings, grid, trainers, plan.network.parameters());
    const Guarantee claim =
        certificate_claim(settings, {reader.info().scaling, reader.info().ids, public_records.size() > 0});
    const RunManifest manifest = manifest_of(plan, how, reader.info(), data_digest,
                                             {public_records.size(), public_digest}, boxes_digest, claim);
    if (context.world.is_root()) {
        manifest.write(run);
        checkpoints.remove_all();
    }
    context.world.barrier();
    context.print(manifest.to_json(), summary_of(plan, levels.back(), boxes_digest, claim));
}

}  // namespace

Run declare_train(CLI::App& app) {
    auto request = std::make_shared<Request>();
    app.add_option("--config", request->config, "TOML file of the options below");
    app.add_option("--data", request->data, "Dataset FILE[:SPLIT], split train by default")->required();
    app.add_option("--out", request->out, "New run folder (0700)")->required();
    app.add_option("--public", request->public_data,
                   "Public records FILE[:SPLIT] to train on beside: never charged");
    app.add_option("--set", request->overrides, "section.key=value, over the file; repeatable")
        ->allow_extra_args(false);
    app.add_option("--backend", request->backend, "Short for --set run.backend=, and over it");
    app.add_option("--transport", request->transport, "Short for --set run.transport=, and over it");
    app.add_flag("--resume", request->resume,
                 "Go on from the last checkpoint of --out, on any number of ranks");
    app.footer(options_help() + app.get_footer());
    return [request](const Context& context) { train(context, *request); };
}

}  // namespace holdfast
