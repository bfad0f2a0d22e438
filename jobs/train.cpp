// holdfast train: an ensemble with boxes for every level.
//   holdfast train --config jobs/configs/quickstart.toml --data blobs.h5 --out run
//   mpirun -n 4 holdfast train --data blobs.h5 --out run --set certificate.levels=100
//   mpirun -n 2 holdfast train --data blobs.h5 --out run --backend cuda --transport nccl
//   holdfast train --data blobs.h5 --out run --resume
//   holdfast train --data blobs.h5 --out run --set ensemble.members=100 --members 25:50
//   holdfast train --data patients.h5 --out run --set training.kind=noisy --set clip.kind=norm --ledger l.db

#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "dist/files/digest.hpp"
#include "dist/layout/distribute.hpp"
#include "dist/runs/manifest.hpp"
#include "dist/runs/member_store.hpp"
#include "jobs/agreed.hpp"
#include "jobs/configuration.hpp"
#include "jobs/dataset_identity.hpp"
#include "jobs/host_memory.hpp"
#include "jobs/job.hpp"
#include "jobs/kept_states.hpp"
#include "jobs/member_progress.hpp"
#include "jobs/payer.hpp"
#include "jobs/progress.hpp"
#include "jobs/provenance.hpp"
#include "jobs/run_key.hpp"
#include "jobs/step_trace.hpp"
#include "jobs/train.hpp"
#include "jobs/transport.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/number_of.hpp"
#include "kernels/base/version.hpp"
#include "models/certify/claims.hpp"
#include "models/kinds/kinds.hpp"
#include "models/training/plan.hpp"

namespace holdfast {
namespace {

struct Request : TrainingRequest {
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

}  // namespace

Settings settle_count(Settings settings, const DatasetInfo& info) {
    if (settings.training.expected_records == 0)
        settings.training.expected_records = static_cast<std::int64_t>(info.expected_records);
    return settings;
}

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
    if (settings.network.classes == 1) {
        if (records.targets.empty() && records.labels.empty())
            throw Error(ExitCode::input, "no targets", "import the public records with --regression",
                        reader.info().path);
        return records;
    }
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

PublicRecords identify_public(const Records& records, const TrainingSettings& training) {
    const auto digest_of = [&](RecordDigest digest) {
        digest.add(records);
        return digest.hex(*make_serial_communicator());
    };
    return {records.size(), digest_of(RecordDigest()),
            training.public_batch_size > 0 ? digest_of(RecordDigest(true)) : ""};
}

Records as_trained(Records records, const Settings& settings, const FeatureMap& features,
                   FeatureRange targets) {
    if (settings.network.classes == 1) records = with_targets(std::move(records), targets);
    return features(std::move(records));
}

namespace {

/// The members that --members FIRST:LAST asks for, or all. Error (usage).
std::vector<std::size_t> asked_members(const std::string& slice, std::size_t members) {
    std::size_t first = 0, last = members;
    if (!slice.empty()) {
        const std::string_view text = slice;
        const std::size_t colon = text.find(':');
        const bool cut = colon != std::string_view::npos;
        first = number_of<std::size_t>(text.substr(0, colon)).value_or(members);
        last = cut ? number_of<std::size_t>(text.substr(colon + 1)).value_or(0) : 0;
        if (first >= last || last > members)
            throw Error(ExitCode::usage,
                        "\"" + slice + "\" names no members of the " + std::to_string(members) + " there are",
                        "give FIRST:LAST, counted from 0 and without LAST, as 0:" + std::to_string(members),
                        "--members");
    }
    std::vector<std::size_t> asked;
    for (std::size_t member = first; member < last; ++member) asked.push_back(member);
    return asked;
}

/// Those of `asked` that nobody has finished yet, as rank 0 sees the folder. Collective.
std::vector<std::size_t> unfinished(const Communicator& world, const std::vector<std::size_t>& asked,
                                    const std::vector<std::size_t>& finished) {
    std::vector<std::size_t> left;
    std::set_difference(asked.begin(), asked.end(), finished.begin(), finished.end(),
                        std::back_inserter(left));
    return agreed(world, left);
}

/// Trains the members of this rank's group one after the other. Members share nothing: no other group is
/// waited for, and what is agreed on in a step, the group's ranks agree on.
class GroupTraining {
  public:
    GroupTraining(const Context& context, const RunSettings& how, const ProcessGrid& grid,
                  const Communicator& block_group, const Training& training, const MemberStore& store,
                  const KeptStates& kept, std::size_t all_members, bool secret, bool trace)
        : context_(context),
          how_(how),
          group_(grid.member_group()),
          writes_state_(grid.block() == 0),
          tells_progress_(!secret && grid.block() == 0 && grid.holds_last_level()),
          block_group_(block_group),
          training_(training),
          store_(store),
          kept_(kept),
          all_members_(all_members),
          secret_(secret),
          trace_(trace) {}

    /// False: stopped by a signal, after a checkpoint.
    bool run(std::vector<MemberRecords> members, std::int64_t steps, bool joins) {
        const std::int64_t all_steps = steps * static_cast<std::int64_t>(members.size());
        const Progress::Show show = trace_    ? Progress::Show::nothing  // the trace says how far it is
                                    : secret_ ? Progress::Show::tenths
                                              : Progress::Show::times;
        Progress progress(context_, "train", all_steps, show);
        StepTrace trace(context_, trace_, all_steps);
        for (std::size_t i = 0; i < members.size(); ++i) {
            const CheckpointFolder checkpoints = store_.checkpoints(members[i].member);
            const std::unique_ptr<Trainer> trainer =
                start(members[i].member, std::move(members[i].records), checkpoints, joins);
            std::set<std::int64_t> wanted = kept_.wanted(members[i].member);
            if (from_kept_) wanted.erase(trainer->steps_done());
            MemberProgress told(tells_progress_, store_, members[i].member, all_members_, *trainer,
                                context_.world);
            while (!trainer->done()) {
                if (wanted.contains(trainer->steps_done()))
                    kept_.of(members[i].member, trainer->steps_done()).save(parts_of(*trainer), group_);
                const Agreement now = agreed(progress.seconds());
                if (now.stop || now.checkpoint) save(*trainer, checkpoints, progress.seconds());
                if (now.stop) {
                    told.stopped(*trainer);
                    trace.finish();
                    return false;
                }
                PhaseTimes times;
                trainer->step(block_group_, times);
                trace.add(members[i].member, *trainer, times);
                told.step_done(*trainer);
                ++steps_since_;
                progress.advance_to(static_cast<std::int64_t>(i) * steps + trainer->steps_done());
            }
            trainer->write_result(store_);
            if (group_.is_root()) checkpoints.remove_all();
        }
        trace.finish();
        return true;
    }

  private:
    struct Agreement {
        bool stop, checkpoint;
    };
    Agreement agreed(double seconds) const {
        const bool by_steps = how_.checkpoint_steps > 0 && steps_since_ >= how_.checkpoint_steps;
        const bool by_time =
            how_.checkpoint_seconds > 0 && seconds - last_checkpoint_ >= how_.checkpoint_seconds;
        std::int64_t flags[] = {context_.interrupted_by_signal(), by_steps || by_time};
        if (group_.size() > 1) group_.max(flags);
        return {flags[0] != 0, flags[1] != 0};
    }
    /// From the newest checkpoint that is sound; where there is none, from the last state that was kept; its
    /// group's first rank says which are not.
    std::unique_ptr<Trainer> start(std::size_t member, Records records, const CheckpointFolder& checkpoints,
                                   bool joins) {
        const auto passed_over = [&](const Error& error) {
            if (group_.is_root() && !context_.quiet)
                std::cerr << std::string("holdfast: ") + error.what() + "; the one before it is used\n";
        };
        std::vector<CheckpointFolder::Payload> saved;
        if (joins) saved = checkpoints.load_latest(passed_over);
        from_kept_ = false;
        if (joins && saved.empty()) {
            std::optional<KeptStates::State> kept =
                kept_.last(member, std::numeric_limits<std::int64_t>::max(), passed_over);
            from_kept_ = kept.has_value();
            if (kept) saved = std::move(kept->parts);
        }
        std::unique_ptr<Trainer> trainer = training_.start(member, std::move(records), saved);
        if (trainer->steps_done() > 0 && !secret_)
            context_.log->info("member {} goes on from step {} of {}", member, trainer->steps_done(),
                               trainer->steps());
        return trainer;
    }
    /// Of the one member that has moved: those before it are finished, those behind it have not begun.
    void save(const Trainer& trainer, const CheckpointFolder& checkpoints, double seconds) {
        checkpoints.save(parts_of(trainer), group_);
        if (!secret_) context_.log->info("checkpoint written");
        last_checkpoint_ = seconds;
        steps_since_ = 0;
    }

    /// This rank's file of a checkpoint, if it has one.
    std::vector<std::pair<std::string, CheckpointFolder::Payload>> parts_of(const Trainer& trainer) const {
        if (!writes_state_) return {};
        return {{"part-" + std::to_string(group_.rank()), trainer.packed_state()}};
    }

    const Context& context_;
    const RunSettings& how_;
    const Communicator& group_;
    bool writes_state_, tells_progress_;
    const Communicator& block_group_;  ///< of the grid, as its sums travel
    const Training& training_;
    const MemberStore& store_;
    const KeptStates& kept_;
    std::size_t all_members_;  ///< of the run
    bool secret_;              ///< when it does what is not shown
    bool trace_;
    bool from_kept_ = false;  ///< the member in training was started from a state that was kept
    double last_checkpoint_ = 0;
    std::int64_t steps_since_ = 0;
};

}  // namespace

std::string run_fingerprint(const TrainingPlan& plan, FeatureRange range, FeatureRange targets,
                            const std::string& data_digest, const PublicRecords& beside) {
    // The program too: what is proved is of the bits of one, and noise that another might put on another sum
    // is not drawn again.
    nlohmann::json rest = {data_digest, beside.digest, plan.normaliser, range.low, range.high, version()};
    if (!beside.order.empty()) rest.push_back(beside.order);
    if (plan.network.is_regression()) rest.push_back({targets.low, targets.high});
    return StreamDigest::of(deciding_settings(plan.settings) + rest.dump());
}

namespace {

/// All but the digest of the result.
RunManifest manifest_of(const TrainingPlan& plan, const RunSettings& how, const DatasetInfo& info,
                        const std::string& data_digest, const PublicRecords& public_records,
                        const nlohmann::json& arithmetic, const Guarantee& claim) {
    RunManifest manifest;
    manifest.kind = plan.settings.training.kind;
    manifest.configuration = to_json({plan.settings, how});
    manifest.dataset = dataset_facts(info, plan.settings.network.classes, data_digest);
    manifest.public_records = public_records;
    manifest.members = static_cast<std::uint64_t>(plan.settings.ensemble.members);
    manifest.steps = static_cast<std::uint64_t>(plan.settings.training.steps());
    manifest.parameters = plan.network.parameters();
    manifest.levels = plan.settings.certificate.level_values();
    for (const LayerShape& layer : plan.network.layers()) manifest.layers.push_back({layer.in, layer.out});
    manifest.normaliser = plan.normaliser;
    manifest.relation = name_of(plan.settings.certificate.relation);
    manifest.arithmetic = arithmetic;
    manifest.guarantee = claim.to_json();
    return manifest;
}

/// What may be shown of a secret run: all but what is known of the records.
nlohmann::json public_part(const RunManifest& manifest) {
    nlohmann::json shown = manifest.to_json();
    shown.erase("dataset");
    shown.erase("public");
    return shown;
}

std::string summary_of_secret(const RunManifest& manifest, const std::string& arithmetic) {
    std::string text = "trained " + std::to_string(manifest.steps) + " steps, " +
                       std::to_string(manifest.parameters) + " parameters, " + manifest.kind + " " +
                       manifest.digest.substr(0, 16) + "\n" + arithmetic + "\n";
    if (const nlohmann::json& paid = manifest.payment; !paid.is_null()) {
        char cost[160];
        std::snprintf(cost, sizeof cost, "cost epsilon %g, delta %g: noise multiplier %.5g (%s)\n",
                      paid["epsilon"].get<double>(), paid["delta"].get<double>(),
                      paid["parameters"]["noise_multiplier"].get<double>(),
                      paid["parameters"]["accountant"].get<std::string>().c_str());
        text += cost;
    }
    return text + Guarantee::text_of(manifest.guarantee) + "\n";
}

std::string summary_of(const RunManifest& manifest, const std::string& arithmetic) {
    return "trained " + std::to_string(manifest.members) + " x " + std::to_string(manifest.steps) +
           " steps, levels 0.." + std::to_string(manifest.levels.back()) + ", " + manifest.kind + " " +
           manifest.digest.substr(0, 16) + private_digest + "\n" + arithmetic + "\n" +
           Guarantee::text_of(manifest.guarantee) + "\n";
}

/// Joins the members to the finished run, if they are all there. For one rank; several jobs may do so at
/// once, with the same bytes. True: the run is finished, and nothing but its result is left.
bool finish(const RunFolder& run, const MemberStore& store, const Training& training, RunManifest manifest) {
    // Looked at before the manifest: who takes members away has written that.
    const std::vector<std::size_t> all = asked_members("", manifest.members),
                                   there = MemberStore::finished(run.path());
    if (!run.finished()) {
        if (!std::includes(there.begin(), there.end(), all.begin(), all.end())) return false;
        try {
            manifest.digest = training.join(run, store);
            manifest.write(run);
        } catch (const Error&) {
            if (!run.finished()) throw;  // else another job has, and taken the members away
        }
    }
    store.remove_all();
    return true;
}

/// What a slice leaves where others are still to come.
void print_slice(const Context& context, const RunFolder& run, std::size_t trained, std::uint64_t members) {
    const std::size_t there = MemberStore::finished(run.path()).size();
    context.print({{"members", members}, {"finished_members", there}, {"finished", false}},
                  "trained " + std::to_string(trained) + " members; " + std::to_string(there) + " of " +
                      std::to_string(members) +
                      " are there: the run is finished once the others are trained into this folder\n");
}

/// What a rank of this grid holds of so many records.
HeldRecords held_by(const ProcessGrid& grid, std::uint64_t records, std::size_t members, bool wide) {
    const double of_a_member =
        static_cast<double>(records) / static_cast<double>(members) / static_cast<double>(grid.blocks());
    return {of_a_member * static_cast<double>(grid.members().last - grid.members().first), of_a_member, wide};
}

/// Where no device computes what is asked, "auto" is none.
std::string backend_for(const Settings& settings, const std::string& asked) {
    const bool anywhere = asked == "auto" && settings.certificate.product.exact();
    return settings.host_only() && anywhere ? "cpu" : asked;
}

}  // namespace

TrainingOutcome carry_out(const Context& context, const TrainingRequest& request) {
    // 1. What is asked for.
    const DatasetReader reader(request.data);
    Configuration asked = request.configuration;
    asked.settings.features = asked.settings.features.pinned();
    asked.settings.network = asked.settings.network.pinned();
    const RunSettings& how = asked.run;
    const Kind& kind = kind_named(asked.settings.training.kind);
    const Settings settings = kind.settled(settle_count(asked.settings, reader.info()));
    const FeatureMap features = settings.feature_map(reader.info().features, reader.info().range);
    const DataFacts facts = facts_of(reader.info(), !request.public_data.empty());
    const std::optional<Payment> payment = kind.payment(settings, facts);
    if (payment) require_ledger(request.ledger);
    if (how.threads > 0) omp_set_num_threads(static_cast<int>(how.threads));
    check_against_count(settings);
    require_keepable(request.keep, settings, kind.secret);
    if (request.keep.any() && !request.validation.records.empty())
        throw Error(ExitCode::usage,
                    "states are kept to be gone on from without the records held out, by holdfast verify and "
                    "unlearn",
                    "leave one of the two out", "--validation");

    // 2. What computes, and what adds; the plan every member follows, and what it takes of memory.
    const std::string computing = backend_for(settings, how.backend);
    const int device = choose_device(computing, context.world);
    const auto backend =
        make_backend(computing, settings.training.arithmetic(), settings.certificate.product, device);
    const std::vector<std::int64_t> levels = settings.certificate.level_values();
    const auto members = static_cast<std::size_t>(settings.ensemble.members);
    const std::vector<std::size_t> slice = asked_members(request.members, members);
    const std::vector<std::size_t> trained =
        unfinished(context.world, slice,
                   request.joins() ? MemberStore::finished(request.out) : std::vector<std::size_t>());
    const ProcessGrid grid(context.world, how.grid, slice.size(), levels.size(),
                           slice.size() - trained.size());
    const BlockCommunicator sums(context.world, grid.block_group(),
                                 {how.transport, how.transport_timeout, backend->name()});
    Records public_records = read_public(request.public_data, reader.info(), settings);
    TrainingPlan plan = make_plan(
        settings, {reader.info().features, reader.info().range, reader.info().rows, public_records.size()},
        backend);
    plan.levels = {levels.begin() + static_cast<std::ptrdiff_t>(grid.levels().first),
                   levels.begin() + static_cast<std::ptrdiff_t>(grid.levels().last)};
    const std::uint64_t stated =
        kind.secret ? static_cast<std::uint64_t>(settings.training.expected_records) : reader.info().rows;
    tell_memory(context,
                memory_of(plan, held_by(grid, stated, members, reader.info().wide), omp_get_max_threads()));

    // 3. Who holds what: the records travel to their members.
    Distributed records = distribute(reader, grid, context.world,
                                     {members, trained, static_cast<std::size_t>(settings.network.classes),
                                      static_cast<std::uint64_t>(settings.training.seed)});
    const std::string data_digest = records.all.hex(context.world);
    const PublicRecords beside = identify_public(public_records, settings.training);
    if (!kind.secret) report_clamped(context, grid, records.held, reader.info().range);
    for (MemberRecords& member : records.held)
        member.records =
            as_trained(std::move(member.records), settings, features, reader.info().target_range);
    public_records = as_trained(std::move(public_records), settings, features, reader.info().target_range);
    if (payment) kind.training(plan, public_records, grid, nullptr);  // what cannot train costs nothing
    context.log->info(
        "{} records, {} of {} members, levels 0..{}, {} parameters, normaliser {:g}, backend {}, {} x {} "
        "ranks (members x levels x blocks {}), sums by {}",
        stated, trained.size(), members, levels.back(), plan.network.parameters(), plan.normaliser,
        plan.backend->name(), context.world.transport(), context.world.size(), grid.text(),
        sums.group().transport());

    plan.held_out = read_held_out(request.validation, reader.info(), settings, features);

    // 4. A new folder, or this run's: where it was interrupted, or where others train their members.
    const std::string whose =
        run_fingerprint(plan, reader.info().range, reader.info().target_range, data_digest, beside);
    const bool first_here =
        context.world.is_root() && RunFolder::create(request.out, request.joins()).claim(whose);
    context.world.barrier();
    const RunFolder run = RunFolder::create(request.out, true);
    const MemberStore store(run, whose);
    const bool finished_before = context.world.any(context.world.is_root() && run.finished());

    // 5. What it costs is charged; then train, and where no member is missing, the result and its manifest.
    bool finished = false;
    std::unique_ptr<Training> training;
    try {
        const Payee payee{data_digest, reader.info().path, beside, name_of(settings.certificate.relation),
                          request.ledger};
        std::optional<RunKey> key;
        if (kind.secret && !finished_before) key = paid_run_key(context, run, store, payment, payee);
        if (context.world.is_root()) {
            settings.features.keep_prefix(run.path());
            settings.network.keep_initial(run.path());
        }
        training = kind.training(plan, public_records, grid, key ? &key->key : nullptr);
        RunManifest manifest = manifest_of(plan, how, reader.info(), data_digest, beside,
                                           training->arithmetic(), kind.claim(settings, facts));
        if (key) manifest.payment = key->payment;
        const KeptStates kept(run, whose, settings, request.keep);
        GroupTraining group(context, how, grid, sums.group(), *training, store, kept, members, kind.secret,
                            request.trace);
        if (context.world.is_root() && !finished_before)
            record_provenance(run, {{"ranks", context.world.size()},
                                    {"grid", grid.text()},
                                    {"threads", omp_get_max_threads()},
                                    {"backend", backend->name()},
                                    {"transport", sums.group().transport()}});
        const bool stopped = !finished_before &&
                             !group.run(std::move(records.held), settings.training.steps(), request.joins());
        if (context.world.any(stopped))
            throw Error(ExitCode::interrupted, "interrupted by a signal; a checkpoint was written",
                        request.go_on);
        finished = context.world.any(context.world.is_root() && finish(run, store, *training, manifest));
        if (finished && kind.secret && context.world.is_root()) {
            if (payment) record_bought(run, store, payee, RunManifest::read(run).digest);
            destroy_run_key(run);
        }
    } catch (const Error&) {
        if (first_here && !request.joins() && context.world.size() == 1) store.remove_if_empty();
        throw;
    }

    return {finished, trained.size(), members, training->arithmetic_text()};
}

void add_keep_options(CLI::App& app, StatesToKeep& keep) {
    const CLI::Range counts(std::int64_t{0}, std::int64_t{1000000});
    app.add_option("--keep-states", keep.checked,
                   "Keep the state before and after so many steps of every member, the last among them, in "
                   "states/ of the run: for holdfast verify, which recomputes them. As private as the run, "
                   "and each as large as a checkpoint")
        ->check(counts);
    app.add_option("--slices", keep.slices,
                   "Keep, in states/ too, the state before each of so many equal parts of the first epoch: "
                   "holdfast unlearn trains a member again only from the part on that took a forgotten "
                   "record. Every epoch takes every record, so only an epoch of many batches is worth "
                   "slices, and one alone most")
        ->check(counts);
}

namespace {

void train(const Context& context, Request request) {
    request.configuration = read_configuration(request.config, request.all_overrides());
    const TrainingOutcome outcome = carry_out(context, request);
    if (!context.world.is_root()) return;
    const RunFolder run = RunFolder::create(request.out, true);
    if (!outcome.finished) return print_slice(context, run, outcome.trained, outcome.members);
    const RunManifest result = RunManifest::read(run);
    if (kind_named(result.kind).secret)
        return context.print(public_part(result), summary_of_secret(result, outcome.arithmetic));
    nlohmann::json shown = result.to_json();
    shown["for_the_owner_alone"] = {"dataset", "public", "digest"};
    context.print(shown, summary_of(result, outcome.arithmetic));
}

}  // namespace

Run declare_train(CLI::App& app) {
    auto request = std::make_shared<Request>();
    app.add_option("--config", request->config, "TOML file of the options below");
    app.add_option("--data", request->data, "Dataset FILE[:SPLIT], split train by default")->required();
    app.add_option("--out", request->out, "New run folder (0700)")->required();
    app.add_option(
        "--public", request->public_data,
        "Public records FILE[:SPLIT] to train on beside: never charged. Batches of their own, and "
        "steps of them alone: training.public_batch_size, training.public_steps. Where a ledger pays, "
        "only what holdfast account --public has checked");
    add_validation_options(app, request->validation,
                           "how well the run and its widest boxes do on them goes into metrics.jsonl, for "
                           "the owner. They decide nothing: a training that stops by them is no longer the "
                           "one that its boxes enclose (holdfast pretrain stops, on public records)");
    app.add_option("--set", request->overrides, "section.key=value, over the file; repeatable")
        ->allow_extra_args(false);
    app.add_option("--backend", request->backend, "Short for --set run.backend=, and over it");
    app.add_option("--transport", request->transport, "Short for --set run.transport=, and over it");
    app.add_option("--ledger", request->ledger,
                   "Of training.kind = \"noisy\": the file that pays for the whole training before it begins "
                   "(holdfast account opens it)");
    app.add_option("--members", request->members,
                   "Only the members FIRST:LAST, from 0 and without LAST, and go on where they stopped: jobs "
                   "may train slices into one --out at once, and the last finishes the run");
    add_keep_options(app, request->keep);
    app.add_flag("--resume", request->resume,
                 "Go on from the last checkpoints of --out, on any number of ranks");
    app.add_flag(
        "--trace", request->trace,
        "Log how the boxes of the largest level of rank 0 grow, layer by layer: mean and largest width, "
        "activations that may change sign, the share of charge in the width (all in metrics.jsonl "
        "too), and seconds by phase (in no file of the run, whose bytes are the same on any machine). "
        "For the owner alone: this log depends on the records without protection. Long runs log some "
        "200 lines, each with the time since the one before");
    app.footer(options_help() + app.get_footer());
    return [request](const Context& context) { train(context, *request); };
}

}  // namespace holdfast
