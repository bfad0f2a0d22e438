#include "jobs/program/training/carry_out.hpp"

#include <omp.h>

#include <spdlog/logger.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "dist/files/digest.hpp"
#include "dist/layout/distribute.hpp"
#include "dist/runs/lease.hpp"
#include "dist/runs/member_store.hpp"
#include "jobs/program/host_memory.hpp"
#include "jobs/program/ranks.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/late_files.hpp"
#include "jobs/program/runs/payer.hpp"
#include "jobs/program/runs/provenance.hpp"
#include "jobs/program/runs/run_key.hpp"
#include "jobs/program/training/group_training.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "jobs/program/transport.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/number_of.hpp"
#include "kernels/cpu/fused_integers.hpp"
#include "models/dpal/dpal_training.hpp"
#include "models/kinds/kinds.hpp"

namespace holdfast {
namespace {

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

/// A configuration of another table, perhaps: both counts are public.
void tell_other_count(const Context& context, const TrainingSettings& asked, const DatasetInfo& info) {
    const auto stated = static_cast<std::int64_t>(info.expected_records);
    if (asked.expected_records == 0 || stated == 0 || asked.expected_records == stated) return;
    context.log->warn("training.expected_records = {}, but the dataset states {}: {} {}",
                      asked.expected_records, stated,
                      asked.normalise == Normalise::expected ? "steps divide by" : "the training counts on",
                      asked.expected_records);
}

/// For the owner: another setting would be faster here.
void tell_slow_integers(const Context& context, const Settings& settings, const std::string& backend) {
    const Arithmetic arithmetic = settings.training.arithmetic();
    if (arithmetic.precision != Precision::fixed || arithmetic.activation_bits == 8 || backend != "cpu" ||
        !cpu::fused_integers().empty())
        return;
    context.log->warn(
        "integers of 16 bits are slower here than single precision, as the processor has no AMX or VNNI; "
        "training.activation_bits = 8 is faster");
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
            manifest.metrics = StreamDigest::of(run.read_text("metrics.jsonl", ""));
            manifest.write(run);
        } catch (const Error&) {
            if (!run.finished()) throw;  // else another job has, and taken the members away
        }
    }
    store.remove_all();
    return true;
}

/// For one rank. Of a slice that others train, too, a job waits for none, and says who does.
Lease take_lease(const Context& context, const RunFolder& run, const std::vector<std::size_t>& slice) {
    Lease lease = Lease::take(run, slice.front(), slice.back() + 1, host_name());
    if (!lease.is_locked())
        context.log->warn("{}: this file system has no locks: see to it that no other job trains the same",
                          run.path());
    return lease;
}

/// For one rank, once all others are done. Files of members that are finished may be seen late here: those of
/// this job, and once all jobs have said that they are done, everybody's, or nobody would join them.
void await_members(const RunFolder& run, const std::vector<std::size_t>& slice, std::size_t members,
                   const std::optional<Lease>& lease) {
    std::set<std::size_t> finished(slice.begin(), slice.end());
    if (lease) finished.merge(lease->finish());
    if (finished.size() < members) finished = {slice.begin(), slice.end()};
    const auto there = [&] {
        const std::vector<std::size_t> seen = MemberStore::finished(run.path());
        return run.finished() || std::includes(seen.begin(), seen.end(), finished.begin(), finished.end());
    };
    await_files(run.path(), there, "every member that is finished");
}

/// A training as it is settled for its dataset.
struct Settled {
    const Kind& kind;
    Settings settings;
    FeatureMap features;
    DataFacts facts;
    std::optional<Payment> payment;  ///< which a ledger makes now
    std::uint64_t stated;            ///< rows: in public of a secret kind

    std::size_t members() const { return static_cast<std::size_t>(settings.ensemble.members); }
};

Settled settle(const TrainingRequest& request, const DatasetInfo& info) {
    Settings asked = request.configuration.settings;
    asked.features = asked.features.pinned();
    asked.network = asked.network.pinned();
    const Kind& kind = kind_named(asked.training.kind);
    const Settings settings = kind.settled(settle_facts(asked, info));
    const DataFacts facts = facts_of(info, !request.public_data.empty());
    return {kind,
            settings,
            settings.feature_map(info.features, info.range),
            facts,
            request.paid ? std::nullopt : kind.payment(settings, facts),
            kind.secret ? static_cast<std::uint64_t>(settings.training.expected_records) * info.rows_at_most
                        : info.rows};
}

/// Error (usage): what is asked for does not go together.
void check(const TrainingRequest& request, const Settled& settled) {
    if (settled.payment) require_ledger(request.ledger, request.data);
    if (!request.ledger.empty() && settled.settings.is_dpal()) refuse_dpal();
    check_against_count(settled.settings);
    require_keepable(request.keep, settled.settings, settled.kind.secret);
    if (request.keep.any() && !request.validation.records.empty())
        throw Error(ExitCode::usage,
                    "states are kept to be gone on from without the records held out, by holdfast verify and "
                    "unlearn",
                    "leave one of the two out", "--validation");
}

std::shared_ptr<const Backend> backend_of(const Context& context, const Settings& settings,
                                          const std::string& asked) {
    const std::string computing = backend_for(settings, asked);
    return make_backend(computing, settings.training.arithmetic(), settings.certificate.product,
                        choose_device(computing, context.world));
}

/// What computes, what adds, and which members. Collective.
struct Machine {
    Machine(const Context& context, const TrainingRequest& request, const Settled& settled)
        : backend(backend_of(context, settled.settings, request.configuration.run.backend)),
          levels(settled.settings.kept_levels()),
          slice(asked_members(request.members, settled.members())),
          trained(
              unfinished(context.world, slice,
                         request.joins() ? MemberStore::finished(request.out) : std::vector<std::size_t>())),
          grid(context.world, request.configuration.run.grid, slice.size(), levels.size(),
               slice.size() - trained.size()),
          sums(context.world, grid.block_group(), {request.configuration.run.transport, backend->name()}) {
        tell_slow_integers(context, settled.settings, backend->name());
    }

    std::shared_ptr<const Backend> backend;
    std::vector<std::int64_t> levels;
    std::vector<std::size_t> slice, trained;  ///< asked for; of these, whom nobody has finished yet
    ProcessGrid grid;
    BlockCommunicator sums;
};

/// What every member follows, at the levels of this rank.
TrainingPlan plan_of(const Settled& settled, const Machine& machine, const DatasetInfo& info,
                     std::size_t public_rows) {
    TrainingPlan plan =
        make_plan(settled.settings, {info.features, info.range, info.rows, public_rows}, machine.backend);
    const ProcessGrid::Slice held = machine.grid.levels();
    plan.levels = {machine.levels.begin() + static_cast<std::ptrdiff_t>(held.first),
                   machine.levels.begin() + static_cast<std::ptrdiff_t>(held.last)};
    return plan;
}

/// What a rank of this grid holds of so many records.
HeldRecords held_by(const ProcessGrid& grid, std::uint64_t records, std::size_t members, bool wide) {
    const double of_a_member =
        static_cast<double>(records) / static_cast<double>(members) / static_cast<double>(grid.blocks());
    return {of_a_member * static_cast<double>(grid.members().last - grid.members().first), of_a_member, wide};
}

/// Who holds what.
struct Held {
    std::vector<MemberRecords> members;
    std::string digest;  ///< of every record
    PublicRecords beside;
};

/// The records travel to their members; these and the public ones are then as the training sees them.
/// Collective.
Held hold(const Context& context, const DatasetReader& reader, const Settled& settled, const Machine& machine,
          Records& public_records) {
    const DatasetInfo& info = reader.info();
    const Settings& settings = settled.settings;
    Distributed records =
        distribute(reader, machine.grid, context.world,
                   {settled.members(), machine.trained, static_cast<std::size_t>(settings.network.classes),
                    static_cast<std::uint64_t>(settings.training.seed)});
    Held held{std::move(records.held), records.all.hex(context.world),
              identify_public(public_records, settings.training)};
    if (!settled.kind.secret) report_clamped(context, machine.grid, held.members, info.range);
    const auto map = [&](Records& all) {
        all = as_trained(std::move(all), settings, settled.features, info.target_range);
    };
    for (MemberRecords& member : held.members) map(member.records);
    map(public_records);
    return held;
}

/// All that a training comes from, once the run folder is its own.
struct Started {
    const Context& context;
    const TrainingRequest& request;
    const DatasetInfo& info;
    const Settled& settled;
    const Machine& machine;
    const TrainingPlan& plan;
    const Records& public_records;
    Held& held;
    const std::string& whose;
    const RunFolder& run;
    const MemberStore& store;

    const RunSettings& how() const { return request.configuration.run; }
    bool root() const { return context.world.is_root(); }
    Payee payee() const {
        return {held.digest,    info.path,    held.beside, name_of(settled.settings.certificate.relation),
                request.ledger, info.measured};
    }
};

/// What the training draws from, if it does; what it costs is charged before this returns. Collective.
std::optional<RunKey> key_of(const Started& job, bool finished) {
    if (const auto& paid = job.request.paid)
        return RunKey{paid->key.derived("run", job.whose), paid->payment};
    if (!job.settled.kind.secret || finished) return std::nullopt;
    Payee payee = job.payee();
    payee.pretrained = pretraining_records(job.settled.settings);
    return paid_run_key(job.context, job.run, job.store, job.settled.payment, payee);
}

RunManifest manifest_of_run(const Started& job, const Training& training, const std::optional<RunKey>& key) {
    RunManifest manifest = manifest_of(job.plan, job.how(), job.info, job.held.digest);
    manifest.public_records = job.held.beside;
    manifest.arithmetic = training.arithmetic();
    const auto claim = job.request.paid ? job.request.paid->claim : job.settled.kind.claim;
    manifest.guarantee = claim(job.settled.settings, job.settled.facts).to_json();
    if (key) manifest.payment = key->payment;
    return manifest;
}

/// Collective. Error (interrupted): a signal has stopped it, after a checkpoint.
void train_members(const Started& job, const Training& training) {
    const Settled& settled = job.settled;
    const Communicator& sums = job.machine.sums.group();
    const KeptStates kept(job.run, job.whose, settled.settings, job.request.keep);
    GroupTraining group(job.context, job.how(), job.machine.grid, sums, training, job.store, kept,
                        settled.members(), {settled.kind.secret, job.request.trace});
    const nlohmann::json who = machines_of(job.context.world);
    if (job.root())
        record_provenance(job.run, who,
                          {{"ranks", job.context.world.size()},
                           {"grid", job.machine.grid.text()},
                           {"threads", omp_get_max_threads()},
                           {"backend", job.machine.backend->name()},
                           {"transport", sums.transport()}});
    const bool stopped =
        !group.run(std::move(job.held.members), settled.settings.training.steps(), job.request.joins());
    if (job.context.world.any(stopped))
        throw Error(ExitCode::interrupted, "interrupted by a signal; a checkpoint was written",
                    job.request.go_on);
}

/// Charges, trains, and where no member is missing joins them to the run. Collective.
TrainingOutcome train(const Started& job, const std::optional<Lease>& lease) {
    const Communicator& world = job.context.world;
    const Settled& settled = job.settled;
    const RunFolder& run = job.run;
    const bool finished_before = world.any(job.root() && run.finished());
    const std::optional<RunKey> key = key_of(job, finished_before);
    if (job.root()) {
        settled.settings.features.keep_prefix(run.path());
        settled.settings.network.keep_initial(run.path());
    }
    const std::unique_ptr<Training> training =
        settled.kind.training(job.plan, job.public_records, job.machine.grid, key ? &key->key : nullptr);
    const RunManifest manifest = manifest_of_run(job, *training, key);
    if (!finished_before) train_members(job, *training);
    if (job.root()) await_members(run, job.machine.slice, settled.members(), lease);
    const bool finished = world.any(job.root() && finish(run, job.store, *training, manifest));
    if (finished && settled.kind.secret && job.root()) {
        if (settled.payment) record_bought(run, job.store, job.payee(), RunManifest::read(run).digest);
        destroy_run_key(run);
    }
    return {finished, job.machine.trained.size(), settled.members(), training->arithmetic_text()};
}

}  // namespace

std::string backend_for(const Settings& settings, const std::string& asked) {
    const bool anywhere = asked == "auto" && settings.certificate.product.exact();
    return settings.host_only() && anywhere ? "cpu" : asked;
}

std::string run_fingerprint(const TrainingPlan& plan, const PublicFacts& facts,
                            const std::string& data_digest, const PublicRecords& beside,
                            const std::string& program) {
    // The program too: what is proved is of the bits of one, and noise that another might put on another sum
    // is not drawn again.
    nlohmann::json rest = {data_digest, beside.digest, plan.normaliser, deciding_facts(facts), program};
    if (!beside.order.empty()) rest.push_back(beside.order);
    return StreamDigest::of(deciding_settings(plan.settings) + rest.dump());
}

TrainingOutcome carry_out(const Context& context, const TrainingRequest& request) {
    // 1. A folder that holds something else is refused before anything is read, charged or written.
    if (context.world.is_root() && !request.joins()) RunFolder::require_new(request.out);

    // 2. What is asked for.
    const DatasetReader reader(request.data, "train", {context.world.rank(), context.world.size()});
    const DatasetInfo& info = reader.info();
    const RunSettings& how = request.configuration.run;
    context.world.give_up_after(how.stall_seconds);
    if (how.threads > 0) omp_set_num_threads(static_cast<int>(how.threads));
    const Settled settled = settle(request, info);
    tell_other_count(context, request.configuration.settings.training, info);
    check(request, settled);

    // 3. What computes, and what adds; the plan every member follows, and what it takes of memory.
    const Machine machine(context, request, settled);
    Records public_records = read_public(request.public_data, info, settled.settings);
    TrainingPlan plan = plan_of(settled, machine, info, public_records.size());
    tell_memory(context, memory_of(plan, held_by(machine.grid, settled.stated, settled.members(), info.wide),
                                   omp_get_max_threads()));

    // 4. Who holds what. What cannot train costs nothing, and begins nothing.
    Held held = hold(context, reader, settled, machine, public_records);
    if (settled.payment || settled.settings.is_dpal())
        settled.kind.training(plan, public_records, machine.grid, nullptr);
    context.log->info(
        "{} records, {} of {} members, levels 0..{}, {} parameters, normaliser {:g}, backend {}, {} x {} "
        "ranks (members x levels x blocks {}), sums by {}",
        settled.stated, machine.trained.size(), settled.members(), machine.levels.back(),
        plan.network.parameters(), plan.normaliser, plan.backend->name(), context.world.transport(),
        context.world.size(), machine.grid.text(), machine.sums.group().transport());
    plan.held_out = read_held_out(request.validation, info, settled.settings, settled.features);

    // 5. A new folder, or this run's: where it was interrupted, or where others train their members, each its
    // own.
    install_signal_handlers();
    const std::string whose = run_fingerprint(plan, info, held.digest, held.beside);
    const bool first_here =
        context.world.is_root() && RunFolder::create(request.out, request.joins()).claim(whose);
    context.world.barrier();
    const RunFolder run = RunFolder::create(request.out, true);
    const MemberStore store(run, whose, seconds_of_a_group);
    std::optional<Lease> lease;
    if (context.world.is_root() && !machine.trained.empty()) lease = take_lease(context, run, machine.slice);

    // 6. What it costs is charged; then train, and where no member is missing, the result and its manifest.
    try {
        return train(
            {context, request, info, settled, machine, plan, public_records, held, whose, run, store}, lease);
    } catch (const Error&) {
        if (first_here && !request.joins() && context.world.size() == 1) store.remove_if_empty();
        throw;
    }
}

}  // namespace holdfast
