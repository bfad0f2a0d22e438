// holdfast verify: is a finished run what its manifest says? Much less work than to train again.
//   holdfast verify --run run
//   holdfast train --data blobs.h5 --out run --keep-states 3
//   holdfast verify --run run --data blobs.h5

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "dist/files/digest.hpp"
#include "dist/files/hdf5.hpp"
#include "dist/layout/distribute.hpp"
#include "jobs/forgetting/kept_members.hpp"
#include "jobs/forgetting/request_log.hpp"
#include "jobs/forgetting/verify/fleet.hpp"
#include "jobs/program/findings.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/finished_fleet.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "jobs/program/runs/kept_states.hpp"
#include "jobs/program/scratch_folder.hpp"
#include "jobs/program/training/carry_out.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/arithmetic.hpp"
#include "kernels/base/error.hpp"
#include "models/kinds/kinds.hpp"
#include "models/noisy/noisy_claim.hpp"
#include "models/privacy/selection/runs_law.hpp"

namespace holdfast {
namespace {

struct VerifyRequest {
    std::string run, data, public_data, backend = "reference";
    std::vector<std::string> unlearned;
    std::optional<std::uint64_t> steps;
    bool retrain = false;
};

Error wrong(const std::string& problem) {
    return Error(ExitCode::input, problem);
}

void require_same(const std::string& what, const nlohmann::json& stated, const nlohmann::json& follows) {
    if (stated != follows)
        throw wrong(what + " is stated as " + stated.dump() + " and follows from the settings as " +
                    follows.dump());
}

/// Everything of a run that what it states of its settings decides.
class Stated {
  public:
    Stated(const FinishedRun& run, const std::string& backend)
        : run_(run),
          plan_(make_plan(run.settings,
                          {run.manifest.dataset.features, run.manifest.dataset.range,
                           run.manifest.dataset.rows, run.manifest.public_records.records},
                          make_backend(backend, run.settings.training.arithmetic(),
                                       run.settings.certificate.product, 0))) {}

    const TrainingPlan& plan() const { return plan_; }
    /// A prefix is named as it was when the run was trained, wherever it lies now.
    std::string fingerprint() const {
        TrainingPlan as_trained = plan_;
        as_trained.settings = configuration_from_json(run_.manifest.configuration).settings;
        return run_fingerprint(as_trained, run_.manifest.dataset, run_.manifest.dataset.digest,
                               run_.manifest.public_records, run_.manifest.version);
    }
    bool same_program() const { return run_.manifest.version == program_identity(); }

    std::string check_numbers() const {
        const RunManifest& manifest = run_.manifest;
        nlohmann::json layers = nlohmann::json::array();
        for (const LayerShape& layer : plan_.network.layers()) layers.push_back({layer.in, layer.out});
        require_same("members", manifest.members, run_.settings.ensemble.members);
        require_same("steps", manifest.steps, run_.settings.training.steps());
        require_same("parameters", manifest.parameters, plan_.network.parameters());
        require_same("levels", manifest.levels, run_.settings.certificate.level_values());
        require_same("layers", manifest.layers, layers);
        require_same("normaliser", manifest.normaliser, plan_.normaliser);
        require_same("relation", manifest.relation, name_of(run_.settings.certificate.relation));
        return "members, steps, parameters, levels, layers, normaliser and relation follow from the settings";
    }
    std::string check_claim() const {
        if (!same_program()) return "not checked: worded by holdfast " + run_.manifest.version;
        const Kind& kind = kind_named(run_.manifest.kind);
        const nlohmann::json& paid = run_.manifest.payment;
        const bool chosen = !paid.is_null() && paid["mechanism"] == selection_mechanism;
        require_same("the guarantee", run_.manifest.guarantee,
                     chosen ? selection_claim(run_.settings, facts_of(run_.manifest),
                                              decimal_value(paid["epsilon"].get<double>(), "epsilon"),
                                              decimal_value(paid["delta"].get<double>(), "delta"))
                                  .to_json()
                            : kind.claim(run_.settings, facts_of(run_.manifest)).to_json());
        return "worded by manifest.json as its settings demand: \"" +
               run_.manifest.guarantee["status"].get<std::string>() + "\"";
    }
    std::string check_fingerprint() const {
        if (!same_program()) return "not checked: made by holdfast " + run_.manifest.version;
        require_same("the fingerprint", run_.folder.read_text("fingerprint", ""), fingerprint());
        return "of these settings, data and program";
    }

  private:
    const FinishedRun& run_;
    TrainingPlan plan_;
};

std::string check_digest(const FinishedRun& run) {
    const std::string digest = digest_of_boxes(run.folder);
    if (digest != run.manifest.digest)
        throw wrong("its values have digest " + digest.substr(0, 16) + ", manifest.json names " +
                    run.manifest.digest.substr(0, 16));
    return "digest " + digest.substr(0, 16);
}

/// Level 0 is a point, every box lies in the next, and parameters keep to their limits. Midpoint-radius
/// products need not nest, and exactly k removals of as many as there are enclose no fewer.
std::string check_boxes(const FinishedRun& run) {
    const bool exactly_k = run.settings.training.normalise == Normalise::actual &&
                           run.settings.certificate.relation == Relation::remove;
    const bool nested = run.certificate->nested() && !exactly_k;
    const BoxesReader boxes(run.folder);
    std::vector<std::int64_t> lower, upper, inner_lower, inner_upper;
    for (std::size_t member = 0; member < boxes.members(); ++member) {
        for (std::size_t level = 0; level < boxes.levels().size(); ++level) {
            boxes.read(member, level, lower, upper);
            const auto fail = [&](const std::string& problem) {
                return wrong("member " + std::to_string(member) + ", level " +
                             std::to_string(boxes.levels()[level]) + ": " + problem);
            };
            // What convex removals leave is a length around the point, not parameters.
            const bool bounded = level == 0 || !run.settings.is_convex();
            for (std::size_t p = 0; p < lower.size(); ++p) {
                if (lower[p] > upper[p]) throw fail("a lower end above its upper one");
                if (level == 0 && lower[p] != upper[p]) throw fail("no point");
                if (bounded && (lower[p] < -parameter_limit_units || upper[p] > parameter_limit_units))
                    throw fail("beyond the limit of a parameter");
                if (nested && level > 0 && (inner_lower[p] < lower[p] || inner_upper[p] > upper[p]))
                    throw fail("does not hold the box of the level before");
            }
            std::swap(lower, inner_lower);
            std::swap(upper, inner_upper);
        }
    }
    return std::to_string(boxes.members()) + " points" +
           (nested ? ", each in its " + std::to_string(boxes.levels().size() - 1) + " boxes, which are nested"
                   : "; boxes of these settings need not be nested");
}

std::string check_metrics(const FinishedRun& run) {
    metrics_of_members(run.folder, run.manifest);
    return std::to_string(run.manifest.members * run.manifest.steps) + " lines, one a step";
}

std::string check_log(const FinishedRun& run) {
    const RequestLog log = RequestLog::read(run.folder);
    if (log.entries().empty()) throw wrong("is empty");
    if (log.pending() != nullptr) throw wrong("the last request is not done");
    const nlohmann::json& asked = log.entries()[log.entries().size() - 2];
    require_same("the run that the last request made", log.entries().back()["run_after"],
                 run.manifest.digest);
    require_same("the data that it left", asked["data_after"], run.manifest.dataset.digest);
    return std::to_string(log.entries().size()) + " entries in a chain, the last " + log.head().substr(0, 16);
}

/// distances.h5 holds what certificates.json was made of.
std::string check_distances(const FinishedRun& run) {
    const auto file = hdf5::File::open_sealed(run.folder.file("distances.h5"));
    const hdf5::Dataset labels = file.dataset("label"), distances = file.dataset("distance");
    if (labels.shape().size() != 2 || labels.shape() != distances.shape() ||
        labels.shape()[0] != run.manifest.members)
        throw wrong("unexpected shapes");
    StreamDigest digest;
    const std::uint64_t count = labels.shape()[1];
    std::vector<std::int32_t> label(count);
    std::vector<std::int64_t> distance(count);
    for (std::uint64_t member = 0; member < run.manifest.members; ++member) {
        labels.read({member, 0}, {1, count}, label.data());
        distances.read({member, 0}, {1, count}, distance.data());
        digest.add_values(std::span<const std::int32_t>(label));
        digest.add_values(std::span<const std::int64_t>(distance));
    }
    const auto ensemble_labels = file.dataset("ensemble_label").read_all<std::int32_t>();
    const auto ensemble_distances = file.dataset("ensemble_distance").read_all<std::int64_t>();
    digest.add_values(std::span<const std::int32_t>(ensemble_labels));
    digest.add_values(std::span<const std::int64_t>(ensemble_distances));
    const nlohmann::json stated = run.folder.read_json("certificates.json");
    if (!stated.is_object() || stated.value("digest", nlohmann::json()) != digest.hex())
        throw wrong("certificates.json was made of other distances");
    return std::to_string(count) + " queries, as certificates.json says";
}

std::string check_data(const FinishedRun& run, const DatasetReader& reader) {
    const std::string digest = digest_of_records(reader);
    require_same("the digest of the records", run.manifest.dataset.digest, digest);
    if (const std::string fact = changed_fact(run.manifest.dataset, reader.info()); !fact.empty())
        throw wrong(fact);
    return std::to_string(reader.info().rows) + " records, digest " + digest.substr(0, 16);
}

/// Takes steps of the training again, from states that were kept of it.
class StepCheck {
  public:
    StepCheck(const FinishedRun& run, const Stated& stated, const DatasetReader& reader,
              const std::string& public_data, std::vector<KeptStates::Step> steps,
              std::vector<std::size_t> members)
        : run_(run),
          stated_(stated),
          kept_(run.folder, stated.fingerprint(), run.settings),
          steps_(std::move(steps)),
          alone_(make_serial_communicator()),
          members_(std::move(members)) {
        Records public_records = read_public(public_data, reader.info(), run.settings);
        if (identify_public(public_records, run.settings.training) != run.manifest.public_records)
            throw Error(ExitCode::input, "the run was trained on other public records beside",
                        "name those it was trained with, or none where there were none", "--public");
        public_records_ = seen(std::move(public_records));
        grid_ = std::make_unique<ProcessGrid>(*alone_, "1x1x1", members_.size(),
                                              run.settings.kept_levels().size());
        training_ = kind_named(run.manifest.kind).training(stated.plan(), public_records_, *grid_, nullptr);
        Distributed all = distribute(
            reader, *grid_, *alone_,
            {run.members(), members_, run.classes(), static_cast<std::uint64_t>(run.settings.training.seed)});
        for (MemberRecords& member : all.held) records_[member.member] = seen(std::move(member.records));
    }

    const std::vector<KeptStates::Step>& steps() const { return steps_; }
    const std::vector<std::size_t>& members() const { return members_; }
    /// The whole training of a member.
    std::string check(std::size_t member) const {
        const std::unique_ptr<Trainer> trainer = training_->start(member, records_.at(member), {});
        PhaseTimes unasked;
        while (!trainer->done()) trainer->step(*alone_, unasked);
        compare_result(*trainer, member);
        return "trained again, it comes to the parameters and boxes of the run";
    }
    std::string check(const KeptStates::Step& step) const {
        const std::unique_ptr<Trainer> trainer = at(step.member, step.step);
        PhaseTimes unasked;
        trainer->step(*alone_, unasked);
        if (trainer->done()) {
            compare_result(*trainer, step.member);
            return "comes to the parameters and boxes of the run";
        }
        if (trainer->packed_state() != at(step.member, step.step + 1)->packed_state())
            throw wrong("it comes to another state than the one that was kept after it");
        return "comes to the state that was kept after it, bit by bit";
    }

  private:
    Records seen(Records records) const {
        return as_trained(std::move(records), run_.settings, run_.features,
                          run_.manifest.dataset.target_range);
    }
    std::unique_ptr<Trainer> at(std::size_t member, std::int64_t step) const {
        std::unique_ptr<Trainer> trainer =
            training_->start(member, records_.at(member), kept_.of(member, step).load_latest());
        if (trainer->steps_done() != step) throw wrong("the state kept for it is of another step");
        return trainer;
    }
    /// By the file that a training would leave of the member.
    void compare_result(const Trainer& trainer, std::size_t member) const {
        const ScratchFolder scratch;
        const MemberStore store(RunFolder::create(scratch.file("run"), false), stated_.fingerprint());
        trainer.write_result(store);
        const BoxesReader boxes(run_.folder);
        MemberReader again(store, member, boxes.levels().size(), boxes.parameters());
        std::vector<std::int64_t> lower, upper, again_lower, again_upper;
        for (std::size_t level = 0; level < boxes.levels().size(); ++level) {
            boxes.read(member, level, lower, upper);
            again.read(again_lower, again_upper);
            if (lower != again_lower || upper != again_upper)
                throw wrong("it comes to another box of level " + std::to_string(boxes.levels()[level]));
        }
    }

    const FinishedRun& run_;
    const Stated& stated_;
    KeptStates kept_;
    std::vector<KeptStates::Step> steps_;
    std::unique_ptr<Communicator> alone_;
    std::vector<std::size_t> members_;
    Records public_records_;
    std::unique_ptr<ProcessGrid> grid_;
    std::unique_ptr<Training> training_;
    std::map<std::size_t, Records> records_;
};

/// At most so many, spread over all that are there.
std::vector<KeptStates::Step> chosen(const std::vector<KeptStates::Step>& there, std::size_t most) {
    if (there.size() <= most) return there;
    std::vector<KeptStates::Step> steps;
    for (std::size_t i = 0; i < most; ++i) steps.push_back(there[(2 * i + 1) * there.size() / (2 * most)]);
    return steps;
}

/// The steps that were taken again and came to what is there.
struct Again {
    std::uint64_t steps = 0;
    std::size_t ends = 0;  ///< members whose last step is one of them: their boxes are what it comes to
};

std::vector<std::size_t> members_of(const std::vector<KeptStates::Step>& steps) {
    std::vector<std::size_t> members;
    for (const KeptStates::Step& step : steps) {
        if (members.empty() || members.back() != step.member) members.push_back(step.member);
    }
    return members;
}

Again check_steps(const FinishedRun& run, const Stated& stated, const DatasetReader& reader,
                  const VerifyRequest& request, Findings& findings) {
    const KeptStates kept(run.folder, stated.fingerprint(), run.settings);
    const std::size_t most = request.steps.value_or(std::numeric_limits<std::size_t>::max());
    std::vector<KeptStates::Step> steps;
    if (!request.retrain) steps = chosen(kept.found(), most);
    if (steps.empty() && request.steps.value_or(0) > 0 && !request.retrain)
        findings.check("steps", [&]() -> std::string {
            throw Error(ExitCode::input, "the run kept no states to take one again from",
                        "train with --keep-states", run.folder.file("states"));
        });
    std::vector<std::size_t> members = members_of(steps);
    for (std::size_t member = 0; request.retrain && member < run.members(); ++member)
        members.push_back(member);
    Again done;
    if (members.empty()) return done;
    std::unique_ptr<StepCheck> again;
    findings.check(request.retrain ? "records" : "records of the kept steps", [&] {
        again = std::make_unique<StepCheck>(run, stated, reader, request.public_data, steps, members);
        return (request.retrain ? std::to_string(members.size()) + " members to train"
                                : std::to_string(steps.size()) + " steps to take") +
               " again by the " + request.backend + " backend";
    });
    if (again == nullptr) return done;
    for (const std::size_t member : again->members()) {
        if (!request.retrain ||
            !findings.check("member " + std::to_string(member), [&] { return again->check(member); }))
            continue;
        done.steps += run.manifest.steps;
        ++done.ends;
    }
    for (const KeptStates::Step& step : again->steps()) {
        if (!findings.check("member " + std::to_string(step.member) + ", step " + std::to_string(step.step),
                            [&] { return again->check(step); }))
            continue;
        ++done.steps;
        if (static_cast<std::uint64_t>(step.step) + 1 == run.manifest.steps) ++done.ends;
    }
    return done;
}

/// What is claimed of the training and was not found here.
void leave_steps_open(const FinishedRun& run, const Again& again, Findings& findings) {
    const std::uint64_t all = run.manifest.members * run.manifest.steps;
    if (again.steps == all) return;
    std::string words =
        std::to_string(again.steps) + " of " + std::to_string(all) + " steps were taken again";
    if (again.ends > 0)
        words += ", the last of " + std::to_string(again.ends) + " of " +
                 std::to_string(run.manifest.members) + " members among them";
    findings.leave_open("guarantee", words +
                                         ": that the others made this result of these records, which the "
                                         "guarantee needs, is said by manifest.json alone");
}

/// Error (usage): options of the other kind of run.
void require_fitting(const VerifyRequest& request, bool fleet) {
    if (fleet && !request.data.empty())
        throw Error(ExitCode::usage, "a fleet keeps no steps that could be taken again", "leave --data out",
                    "--data");
    if (!fleet && !request.unlearned.empty())
        throw Error(ExitCode::usage, "only a fleet has networks without a record",
                    "name a run of holdfast fleet with --run", "--unlearned");
}

void conclude(const Context& context, const std::string& run, const Findings& findings) {
    findings.print(context, run);
    if (!findings.sound()) findings.refuse(run);
}

/// A run's own folder: what its files say of themselves, and what they hold.
struct Folder {
    std::unique_ptr<FinishedRun> run;
    std::unique_ptr<Stated> stated;  ///< null: no run was found, and a check has said so
};

Folder check_folder(const std::string& path, const std::string& prefix, const std::string& backend,
                    Findings& findings) {
    Folder folder;
    const auto check = [&](const std::string& what, auto action) { findings.check(prefix + what, action); };
    check("manifest.json", [&] {
        folder.run = std::make_unique<FinishedRun>(FinishedRun::open(path));
        folder.stated = std::make_unique<Stated>(*folder.run, backend);
        return folder.run->manifest.kind + ", trained by holdfast " + folder.run->manifest.version;
    });
    if (!folder.stated) return folder;
    const FinishedRun& run = *folder.run;
    check("boxes.h5", [&] { return check_digest(run); });
    check("metrics.jsonl", [&] { return check_metrics(run); });
    check("fingerprint", [&] { return folder.stated->check_fingerprint(); });
    if (run.folder.has(RequestLog::file_name)) check(RequestLog::file_name, [&] { return check_log(run); });
    if (run.folder.has("certificates.json") && !run.network.is_regression())
        check("distances.h5", [&] { return check_distances(run); });
    check("boxes", [&] { return check_boxes(run); });
    check("settings", [&] { return folder.stated->check_numbers(); });
    check("guarantee", [&] { return folder.stated->check_claim(); });
    return folder;
}

void verify(const Context& context, const VerifyRequest& request) {
    if (!context.world.is_root()) return;
    Findings findings;
    const bool fleet = is_fleet(request.run);
    require_fitting(request, fleet);
    if (fleet) {
        const auto check_own = [&](const std::string& path) {
            const std::size_t failed = findings.failed();
            check_folder(path, path + "/", request.backend, findings);
            return findings.failed() == failed;
        };
        check_fleet_run(request.run, request.unlearned, check_own, findings);
        return conclude(context, request.run, findings);
    }
    // 1. The folder by itself.
    const Folder folder = check_folder(request.run, "", request.backend, findings);

    // 2. The records, and steps of the training taken again from them.
    Again again;
    if (folder.stated && !request.data.empty()) {
        if (request.retrain && kind_named(folder.run->manifest.kind).secret)
            throw Error(ExitCode::usage, "the noise of this training is not kept: it cannot be trained again",
                        "leave --retrain out", "--retrain");
        std::optional<DatasetReader> reader;
        findings.check("data", [&] {
            reader.emplace(request.data);
            return check_data(*folder.run, *reader);
        });
        if (reader) again = check_steps(*folder.run, *folder.stated, *reader, request, findings);
    }
    if (folder.stated) leave_steps_open(*folder.run, again, findings);
    conclude(context, request.run, findings);
}

}  // namespace

Run declare_verify(const Command& command) {
    auto request = std::make_shared<VerifyRequest>();
    command.add_option("--run,run", request->run, "Run folder of holdfast train or fleet").required();
    command.add_option(
        "--data", request->data,
        "The dataset FILE[:SPLIT] it was trained on: check its digest, and take the steps again that "
        "train --keep-states kept");
    command
        .add_option(
            "--unlearned", request->unlearned,
            "Of a fleet: run folder of holdfast unlearn or train, whose parameters must be, bit by bit "
            "in the fleet's precision, those of a network without one record; which, is said. "
            "Repeatable")
        .one_at_a_time();
    command.add_option("--public", request->public_data, "The public records it was trained with, if any");
    command.add_option("--steps", request->steps,
                       "With --data: at most so many steps; all that were kept by default");
    command
        .add_flag("--retrain", request->retrain,
                  "With --data: train every member again, from its first step to its last, and compare")
        .needs(command.option("--data"));
    command
        .add_option(
            "--backend", request->backend,
            "What takes them: the plain loops of the specification by default, whatever trained the run")
        .show_default();
    command.add_footer(
        "A line a check, then what was left open, then a summary; exit 0 if all checks hold, else 3. What is "
        "checked: seals and digests of boxes.h5, metrics.jsonl, distances.h5 and the log of requests; "
        "metrics "
        "for every step; that points lie in their boxes and boxes in the next; that numbers, fingerprint and "
        "the words of the guarantee follow from the settings; with --data the digest of the records, and "
        "kept "
        "steps, or with --retrain all, bit by bit: the boxes of a member are what its last step comes to. "
        "Whatever step was not taken again is said to be open: the guarantee is then manifest.json's word. "
        "With --unlearned the checks of that run's own folder come first. This finds damage and faults of "
        "machines. Who can write the folder could write another run that is as sound: keep the digest "
        "elsewhere.\n\n");
    return [request](const Context& context) { verify(context, *request); };
}

}  // namespace holdfast
