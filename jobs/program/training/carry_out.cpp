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

/// What a rank of this grid holds of so many records.
HeldRecords held_by(const ProcessGrid& grid, std::uint64_t records, std::size_t members, bool wide) {
    const double of_a_member =
        static_cast<double>(records) / static_cast<double>(members) / static_cast<double>(grid.blocks());
    return {of_a_member * static_cast<double>(grid.members().last - grid.members().first), of_a_member, wide};
}

}  // namespace

std::string backend_for(const Settings& settings, const std::string& asked) {
    const bool anywhere = asked == "auto" && settings.certificate.product.exact();
    return settings.host_only() && anywhere ? "cpu" : asked;
}

std::string run_fingerprint(const TrainingPlan& plan, FeatureRange range, FeatureRange targets,
                            const std::string& data_digest, const PublicRecords& beside,
                            const std::string& program) {
    // The program too: what is proved is of the bits of one, and noise that another might put on another sum
    // is not drawn again.
    nlohmann::json rest = {data_digest, beside.digest, plan.normaliser, range.low, range.high, program};
    if (!beside.order.empty()) rest.push_back(beside.order);
    if (plan.network.is_regression()) rest.push_back({targets.low, targets.high});
    return StreamDigest::of(deciding_settings(plan.settings) + rest.dump());
}

TrainingOutcome carry_out(const Context& context, const TrainingRequest& request) {
    // 1. What is asked for.
    const DatasetReader reader(request.data, "train", {context.world.rank(), context.world.size()});
    Configuration asked = request.configuration;
    asked.settings.features = asked.settings.features.pinned();
    asked.settings.network = asked.settings.network.pinned();
    const RunSettings& how = asked.run;
    context.world.give_up_after(how.stall_seconds);
    const Kind& kind = kind_named(asked.settings.training.kind);
    const Settings settings = kind.settled(settle_facts(asked.settings, reader.info()));
    tell_other_count(context, asked.settings.training, reader.info());
    const FeatureMap features = settings.feature_map(reader.info().features, reader.info().range);
    const DataFacts facts = facts_of(reader.info(), !request.public_data.empty());
    const std::optional<Payment> payment = request.paid ? std::nullopt : kind.payment(settings, facts);
    if (payment) require_ledger(request.ledger, request.data);
    if (!request.ledger.empty() && settings.is_dpal()) refuse_dpal();
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
    tell_slow_integers(context, settings, backend->name());
    const std::vector<std::int64_t> levels = settings.kept_levels();
    const auto members = static_cast<std::size_t>(settings.ensemble.members);
    const std::vector<std::size_t> slice = asked_members(request.members, members);
    const std::vector<std::size_t> trained =
        unfinished(context.world, slice,
                   request.joins() ? MemberStore::finished(request.out) : std::vector<std::size_t>());
    const ProcessGrid grid(context.world, how.grid, slice.size(), levels.size(),
                           slice.size() - trained.size());
    const BlockCommunicator sums(context.world, grid.block_group(), {how.transport, backend->name()});
    Records public_records = read_public(request.public_data, reader.info(), settings);
    TrainingPlan plan = make_plan(
        settings, {reader.info().features, reader.info().range, reader.info().rows, public_records.size()},
        backend);
    plan.levels = {levels.begin() + static_cast<std::ptrdiff_t>(grid.levels().first),
                   levels.begin() + static_cast<std::ptrdiff_t>(grid.levels().last)};
    const std::uint64_t stated =
        kind.secret
            ? static_cast<std::uint64_t>(settings.training.expected_records) * reader.info().rows_at_most
            : reader.info().rows;
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
    // What cannot train costs nothing, and begins nothing.
    if (payment || settings.is_dpal()) kind.training(plan, public_records, grid, nullptr);
    context.log->info(
        "{} records, {} of {} members, levels 0..{}, {} parameters, normaliser {:g}, backend {}, {} x {} "
        "ranks (members x levels x blocks {}), sums by {}",
        stated, trained.size(), members, levels.back(), plan.network.parameters(), plan.normaliser,
        plan.backend->name(), context.world.transport(), context.world.size(), grid.text(),
        sums.group().transport());

    plan.held_out = read_held_out(request.validation, reader.info(), settings, features);

    // 4. A new folder, or this run's: where it was interrupted, or where others train their members, each its
    // own.
    install_signal_handlers();
    const std::string whose =
        run_fingerprint(plan, reader.info().range, reader.info().target_range, data_digest, beside);
    const bool first_here =
        context.world.is_root() && RunFolder::create(request.out, request.joins()).claim(whose);
    context.world.barrier();
    const RunFolder run = RunFolder::create(request.out, true);
    const MemberStore store(run, whose, seconds_of_a_group);
    std::optional<Lease> lease;
    if (context.world.is_root() && !trained.empty()) lease = take_lease(context, run, slice);
    const bool finished_before = context.world.any(context.world.is_root() && run.finished());

    // 5. What it costs is charged; then train, and where no member is missing, the result and its manifest.
    bool finished = false;
    std::unique_ptr<Training> training;
    try {
        const Payee payee{data_digest,    reader.info().path,
                          beside,         name_of(settings.certificate.relation),
                          request.ledger, reader.info().measured};
        std::optional<RunKey> key;
        if (request.paid)
            key = RunKey{request.paid->key.derived("run", whose), request.paid->payment};
        else if (kind.secret && !finished_before)
            key = paid_run_key(context, run, store, payment, payee);
        if (context.world.is_root()) {
            settings.features.keep_prefix(run.path());
            settings.network.keep_initial(run.path());
        }
        training = kind.training(plan, public_records, grid, key ? &key->key : nullptr);
        RunManifest manifest = manifest_of(plan, how, reader.info(), data_digest);
        manifest.public_records = beside;
        manifest.arithmetic = training->arithmetic();
        manifest.guarantee =
            (request.paid ? request.paid->claim(settings, facts) : kind.claim(settings, facts)).to_json();
        if (key) manifest.payment = key->payment;
        const KeptStates kept(run, whose, settings, request.keep);
        GroupTraining group(context, how, grid, sums.group(), *training, store, kept, members,
                            {kind.secret, request.trace});
        const nlohmann::json who = machines_of(context.world);
        if (context.world.is_root() && !finished_before)
            record_provenance(run, who,
                              {{"ranks", context.world.size()},
                               {"grid", grid.text()},
                               {"threads", omp_get_max_threads()},
                               {"backend", backend->name()},
                               {"transport", sums.group().transport()}});
        const bool stopped = !finished_before &&
                             !group.run(std::move(records.held), settings.training.steps(), request.joins());
        if (context.world.any(stopped))
            throw Error(ExitCode::interrupted, "interrupted by a signal; a checkpoint was written",
                        request.go_on);
        if (context.world.is_root()) await_members(run, slice, members, lease);
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

}  // namespace holdfast
