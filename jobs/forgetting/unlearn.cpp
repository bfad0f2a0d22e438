// holdfast unlearn: a run without the records of some ids, to the bytes that training without them gives; and
// which answers that leaves as they are, before anything is trained.
//   holdfast unlearn --run run --data patients.h5 --ids leave.txt --queries patients.h5:test
//   holdfast unlearn --run run --data patients.h5 --ids leave.txt --out run2 --out-data patients2.h5
//   mpirun -n 4 holdfast unlearn --run run --data patients.h5 --ids leave.txt --out run2 --out-data p2.h5
//   holdfast unlearn --run run2 --log

#include <spdlog/logger.h>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "dist/layout/assignment.hpp"
#include "dist/layout/distribute.hpp"
#include "dist/runs/lease.hpp"
#include "jobs/forgetting/kept_members.hpp"
#include "jobs/forgetting/request_log.hpp"
#include "jobs/forgetting/unlearn/forgotten.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/ranks.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "jobs/program/runs/kept_states.hpp"
#include "jobs/program/training/carry_out.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/certify/forgetting.hpp"
#include "models/dpal/dpal_training.hpp"
#include "models/kinds/kinds.hpp"
#include "models/training/batches.hpp"

namespace holdfast {
namespace {

struct UnlearnRequest {
    std::string run, data, ids, rows, queries, out, out_data, public_data, backend;
    StatesToKeep keep;
    bool log = false;
};

/// What carrying the request out comes to, the same on every rank.
struct Plan {
    std::vector<std::int64_t> forgotten;  ///< [members]: records of each
    std::vector<std::size_t> retrained;   ///< members, ascending
    std::vector<std::int64_t> from;       ///< [retrained] after how many steps each goes on
    std::int64_t before = 0;              ///< records that were forgotten earlier
    bool rescaled = false;                ///< fewer records make longer steps: no certificate covers that
    std::int64_t withdrawn = 0;           ///< rows of persons who stay, where rows are what goes
    bool ends_persons = false;            ///< some of those have none left

    bool by_rows() const { return withdrawn > 0; }
    std::int64_t records() const {
        std::int64_t sum = 0;
        for (const std::int64_t count : forgotten) sum += count;
        return sum;
    }
};

void require_options(const UnlearnRequest& request) {
    const auto need = [](const std::string& value, const char* option, const char* hint) {
        if (value.empty()) throw Error(ExitCode::usage, "is missing", hint, option);
    };
    need(request.data, "--data", "name the dataset that the run was trained on");
    if (request.rows.empty())
        need(request.ids, "--ids", "name a file of the ids that are to be forgotten, one a line");
    if (request.out.empty() != request.out_data.empty())
        throw Error(
            ExitCode::usage, "--out and --out-data go together",
            "name both: the run without the records, and the dataset without them; or neither, to see "
            "what would be done",
            request.out.empty() ? "--out" : "--out-data");
}

/// The new run is checked; or the same command makes it.
std::string next_of(const UnlearnRequest& request, bool done) {
    if (done) return next_command({"verify", request.out, "--data", request.out_data});
    if (!request.out.empty()) return "";
    return next_command({"unlearn", "--run", request.run, "--data", request.data, "--ids", request.ids,
                         "--out", request.run + "-without", "--out-data",
                         beside_dataset(request.data, "-without.h5")});
}

/// A run that can be trained again in part.
void require_unlearnable(const FinishedRun& run) {
    if (run.settings.is_dpal()) refuse_dpal();
    if (kind_named(run.manifest.kind).secret)
        throw Error(
            ExitCode::usage,
            "a run with noise was trained to be published, and what is published cannot be taken back",
            "the cost that was charged covers every one of its records; train a new model of the others",
            run.folder.path());
    if (run.network.is_regression())
        throw Error(ExitCode::usage, "a regression's predictions have no distances to be forgotten by",
                    "train it again without the records, by train", run.folder.path());
    if (run.manifest.version != program_identity())
        throw Error(ExitCode::usage,
                    "it was trained by holdfast " + run.manifest.version + " and this is " +
                        program_identity() + ", whose members may differ from those that stay",
                    "use that program, or train the whole run again without the records", run.folder.path());
}

/// The settings that a fresh training on what is left would have; on these ranks, not those it was trained
/// on.
Configuration configuration_of(const FinishedRun& run, const std::string& backend) {
    Configuration configuration = configuration_from_json(run.manifest.configuration);
    configuration.run.grid = "auto";
    configuration.run.transport = "auto";
    if (!backend.empty()) configuration.run.backend = backend;
    return configuration;
}

TrainingPlan training_plan(const FinishedRun& run, const Configuration& configuration, std::uint64_t found) {
    const RunManifest& manifest = run.manifest;
    return make_plan(
        configuration.settings,
        {manifest.dataset.features, manifest.dataset.range, found, manifest.public_records.records},
        make_backend("reference", run.settings.training.arithmetic(), run.settings.certificate.product, 0));
}

/// Under the name that the run was claimed by: of another's states none is sound.
KeptStates states_of(const FinishedRun& run) {
    return {run.folder, run.folder.read_text("fingerprint", ""), run.settings};
}

/// [members] the first step that is another without the forgotten records; the number of steps: none is.
/// Members without forgotten records come to the same bytes, unless what they all share depends on how many
/// records there are, or on which row each stands.
std::vector<std::int64_t> first_changed_steps(const FinishedRun& run, const Forgetting& forgetting,
                                              bool rescaled) {
    const TrainingSettings& training = run.settings.training;
    const Assignment assignment(static_cast<std::uint64_t>(training.seed));
    if (rescaled && !forgetting.ids.empty()) return std::vector<std::int64_t>(run.members(), 0);
    std::vector<std::int64_t> first(run.members(), training.steps());
    for (std::size_t i = 0; i < forgetting.ids.size(); ++i) {
        const std::int64_t step = first_step_of(training, forgetting.ids[i], forgetting.rows[i]);
        std::int64_t& owner = first[assignment.member(forgetting.ids[i], run.members())];
        owner = std::min(owner, step);
    }
    return first;
}

/// A member goes on from the last of its states that no forgotten record has touched.
Plan plan_of(const FinishedRun& run, const Forgetting& forgetting, double normaliser,
             const KeptStates::PassedOver& passed_over) {
    const Assignment assignment(static_cast<std::uint64_t>(run.settings.training.seed));
    Plan plan{std::vector<std::int64_t>(run.members(), 0),
              {},
              {},
              static_cast<std::int64_t>(forgetting.before),
              normaliser != run.manifest.normaliser,
              static_cast<std::int64_t>(forgetting.withdrawn.size()),
              forgetting.ends_persons};
    for (const std::uint64_t id : forgetting.ids) ++plan.forgotten[assignment.member(id, run.members())];
    const std::vector<std::int64_t> first = first_changed_steps(run, forgetting, plan.rescaled);
    const KeptStates kept = states_of(run);
    for (std::size_t member = 0; member < run.members(); ++member) {
        if (first[member] == run.settings.training.steps()) continue;
        const std::optional<KeptStates::State> state = kept.last(member, first[member], passed_over);
        plan.retrained.push_back(member);
        plan.from.push_back(state ? state->step : 0);
    }
    return plan;
}

Plan shared(const Communicator& world, Plan plan) {
    std::vector<std::int64_t> words(plan.forgotten);
    words.insert(words.end(), plan.retrained.begin(), plan.retrained.end());
    words.insert(words.end(), plan.from.begin(), plan.from.end());
    words.push_back(plan.ends_persons ? 1 : 0);
    words.push_back(plan.withdrawn);
    words.push_back(plan.rescaled ? 1 : 0);
    words.push_back(plan.before);
    words.push_back(static_cast<std::int64_t>(plan.forgotten.size()));
    const auto told = agreed(world, std::vector<std::size_t>(words.begin(), words.end()));
    words.assign(told.begin(), told.end());
    const auto members = static_cast<std::ptrdiff_t>(words.back());
    const auto retrained = (static_cast<std::ptrdiff_t>(words.size()) - members - 5) / 2;
    return {{words.begin(), words.begin() + members},
            {words.begin() + members, words.begin() + members + retrained},
            {words.begin() + members + retrained, words.end() - 5},
            words[words.size() - 2],
            words[words.size() - 3] != 0,
            words[words.size() - 4],
            words[words.size() - 5] != 0};
}

/// What is said of answers: by certificates that enclose every removal.
Guarantee unchanged_guarantee(const FinishedRun& run) {
    Guarantee claim = Guarantee::proved(
        "the label of every query that is said to stay is, bit by bit, the one that this program gives when "
        "it trains afresh on the dataset without the forgotten records, as --out-data writes it: whatever "
        "else the file says, its number of records too, stays as it is",
        name_of(run.settings.certificate.relation));
    claim.rest_on(run.certificate->claim());
    return claim;
}

struct Unchanged {
    std::vector<std::int32_t> labels;  ///< [queries] of the run as it is
    std::vector<bool> stays;           ///< [queries]: provably
};

/// Do the levels enclose what goes? A person who loses rows and stays is replaced; one who is gone is
/// removed.
bool covers(Relation relation, const Plan& plan) {
    if (plan.by_rows()) return relation == Relation::substitute && !plan.ends_persons;
    return relation == Relation::add_remove || relation == Relation::remove;
}

/// Collective. Where the relation does not enclose what goes, only members without forgotten records stay.
Unchanged unchanged_by(const Context& context, const FinishedRun& run, const Plan& plan,
                       const Records& queries) {
    const std::vector<Certificates> members = certify_members(context, run, queries, Asker::owner);
    const bool covered = covers(run.settings.certificate.relation, plan);
    const std::vector<std::int64_t> levels = covered ? run.levels() : std::vector<std::int64_t>{0};
    const std::size_t classes = run.classes();
    Unchanged result;
    for (std::size_t q = 0; q < queries.size(); ++q) {
        std::vector<MemberAnswer> answers;
        for (const Certificates& member : members) {
            MemberAnswer answer{member.labels[q], covered ? member.distances[q] : 0, {}};
            if (covered && classes > 2)
                answer.class_distances.assign(
                    member.class_distances.begin() + static_cast<std::ptrdiff_t>(q * classes),
                    member.class_distances.begin() + static_cast<std::ptrdiff_t>((q + 1) * classes));
            answers.push_back(std::move(answer));
        }
        result.labels.push_back(evidence_of(run, members, q).label);
        result.stays.push_back(!plan.rescaled &&
                               winner_stays(answers, plan.forgotten, levels, static_cast<int>(classes)));
    }
    return result;
}

/// unchanged.csv of the run: id,label,stays; 0600.
void write_unchanged(const RunFolder& run, const Records& queries, const Unchanged& unchanged) {
    std::string text = "id,label,stays\n";
    for (std::size_t q = 0; q < queries.size(); ++q)
        text += std::to_string(queries.ids[q]) + "," + std::to_string(unchanged.labels[q]) + "," +
                (unchanged.stays[q] ? "1\n" : "0\n");
    run.write_text("unchanged.csv", text);
}

/// What was found and done, for the owner's screen.
struct Report {
    nlohmann::json object = nlohmann::json::object();
    std::string text;
};

std::string counted(std::int64_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Collective.
void report_unchanged(const Context& context, const FinishedRun& run, const Plan& plan,
                      const std::string& name, Report& report) {
    const Records queries = read_queries(context, run.form(), name);
    const Unchanged unchanged = unchanged_by(context, run, plan, queries);
    const auto stay =
        static_cast<std::int64_t>(std::count(unchanged.stays.begin(), unchanged.stays.end(), true));
    const Guarantee claim = unchanged_guarantee(run);
    if (plan.rescaled)
        report.text +=
            "the run states no public number of records, and fewer of them make longer steps: no "
            "label is certain to stay\n";
    report.object["queries"] = queries.size();
    report.object["stay"] = stay;
    report.object["guarantee"] = claim.to_json();
    report.text += std::to_string(stay) + " of " + std::to_string(queries.size()) +
                   " queries keep their label" + (claim.is_proved() ? ", provably" : "") +
                   ": each of them in " + run.folder.file("unchanged.csv") + "\n" + claim.lines() + "\n";
    if (context.world.is_root()) write_unchanged(run.folder, queries, unchanged);
}

/// ", but for …": of the steps that are kept, if any.
std::string resumed_text(const FinishedRun& run, const Plan& plan) {
    std::int64_t kept = 0;
    for (const std::int64_t from : plan.from) kept += from;
    if (kept == 0) return "";
    const auto all = static_cast<std::int64_t>(plan.from.size()) * run.settings.training.steps();
    return ", but for the first " + std::to_string(kept) + " of their " + std::to_string(all) +
           " steps, before which no forgotten record acted";
}

void report_plan(const FinishedRun& run, const Plan& plan, bool doing, Report& report) {
    report.object["forgotten"] = plan.records();
    report.object["forgotten_before"] = plan.before;
    report.object["members"] = run.members();
    report.object["retrained"] = plan.retrained;
    report.object["from_steps"] = plan.from;
    report.object["steps"] = run.settings.training.steps();
    if (plan.by_rows()) report.object["withdrawn_rows"] = plan.withdrawn;
    if (plan.by_rows()) report.text += counted(plan.withdrawn, "row") + " of ";
    report.text +=
        counted(plan.records(), plan.by_rows() ? "person" : "record") + (doing ? " forgotten" : " to forget");
    if (plan.before > 0) report.text += ", " + std::to_string(plan.before) + " forgotten before";
    report.text += ": " + std::string(doing ? "trained " : "to train ") +
                   counted(static_cast<std::int64_t>(plan.retrained.size()), "member") + " of " +
                   std::to_string(run.members()) + " anew" + resumed_text(run, plan) + "\n";
}

/// The members that stay were trained on these records, facts and public records. Errors (input, usage).
void require_same_data(const FinishedRun& run, const DatasetInfo& info, const Forgetting& forgetting,
                       const PublicRecords& beside) {
    require_trained_on(run.manifest.dataset, forgetting.digest, info);
    if (beside != run.manifest.public_records)
        throw Error(ExitCode::usage, "the run was trained on other public records beside",
                    "name those it was trained with, in their order then where it had batches of them "
                    "(training.public_batch_size), or none where there were none",
                    "--public");
}

/// Of members that stay all their states, of the others those that no forgotten record has touched; the
/// training keeps the rest anew.
void keep_states(const FinishedRun& run, const Forgetting& forgetting, const Plan& plan, const KeptStates& to,
                 const KeptStates::PassedOver& passed_over) {
    const KeptStates from = states_of(run);
    const std::vector<std::int64_t> first = first_changed_steps(run, forgetting, plan.rescaled);
    const auto known = [](const Error&) {};  // said when the state to go on from was looked for
    for (std::size_t member = 0; member < run.members(); ++member) {
        const bool stays = first[member] == run.settings.training.steps();
        to.take_over(from, member, first[member], stays ? passed_over : known);
    }
}

/// On rank 0. The folder of the new run: its own from here on, with the members that stay; the same again
/// goes on.
void prepare(const FinishedRun& run, const UnlearnRequest& request, const DatasetReader& reader,
             const Forgetting& forgetting, const Plan& plan, const std::string& fingerprint,
             const KeptStates::PassedOver& passed_over) {
    const bool written = is_written(reader, forgetting, request.out_data);
    const RunFolder out = RunFolder::create(request.out, true);
    out.claim(fingerprint);
    const std::size_t members = run.members();
    const std::optional<Lease> lease =
        out.finished() ? std::nullopt : std::optional(Lease::take(out, 0, members, host_name()));
    const SecretKey key = request_key(out, run.folder);
    RequestLog log = RequestLog::read(out);
    if (log.entries().empty()) {
        log = RequestLog::read(run.folder);
        log.append(out, {{"kind", "asked"},
                         {"program", "holdfast " + program_identity()},
                         {"tokens", tokens_of(key, forgetting.named)},
                         {"retrained", plan.retrained},
                         {"data_before", forgetting.digest},
                         {"data_after", forgetting.digest_left},
                         {"run_before", run.manifest.digest}});
    }
    if (!written) write_without(reader, forgetting, request.out_data);
    if (out.finished()) return;
    std::vector<std::size_t> stay;
    for (std::size_t member = 0; member < run.members(); ++member) {
        if (!std::binary_search(plan.retrained.begin(), plan.retrained.end(), member)) stay.push_back(member);
    }
    keep_members(run, stay, out, MemberStore(out, fingerprint, seconds_of_a_group));
    keep_states(run, forgetting, plan, KeptStates(out, fingerprint, run.settings), passed_over);
}

/// On rank 0: the request is done.
RunManifest note_done(const std::string& path) {
    const RunFolder out = RunFolder::open(path);
    const RunManifest manifest = RunManifest::read(out);
    RequestLog log = RequestLog::read(out);
    if (log.pending() != nullptr) log.append(out, {{"kind", "done"}, {"run_after", manifest.digest}});
    return manifest;
}

void report_done(const FinishedRun& run, const UnlearnRequest& request, const RunManifest& after, bool again,
                 Report& report) {
    const RequestLog log = RequestLog::read(RunFolder::open(request.out));
    report.object["again"] = again;
    report.object["run_before"] = run.manifest.digest;
    report.object["run_after"] = after.digest;
    report.object["out"] = request.out;
    report.object["out_data"] = request.out_data;
    report.object["log_head"] = log.head();
    if (again) report.text += "this was done before: nothing was trained\n";
    report.text += after.kind + " " + run.manifest.digest.substr(0, 16) + " is now " +
                   after.digest.substr(0, 16) + ", in " + request.out + ", by the records of " +
                   request.out_data + ": the bytes that training on them alone gives\nrequest log " +
                   log.head() + " (keep it: " + "unlearn --log shows whether the log still ends so)\n" +
                   "what was forgotten is still in " + request.data + ", " +
                   (request.rows.empty() ? request.ids : request.rows) + " and " + request.run +
                   ": delete them, and every copy\n";
}

/// Collective.
RunManifest retrain(const Context& context, const UnlearnRequest& request, const Configuration& configuration,
                    const std::string& split) {
    TrainingRequest training;
    training.configuration = configuration;
    training.data = request.out_data + ":" + split;
    training.out = request.out;
    training.public_data = request.public_data;
    training.keep = request.keep;
    training.keep.as_in = request.run;
    training.resume = true;
    training.go_on = "go on with the same command";
    carry_out(context, training);
    return context.world.is_root() ? note_done(request.out) : RunManifest();
}

void print_log(const Context& context, const RunFolder& run) {
    const RequestLog log = RequestLog::read(run);
    std::string text;
    for (const nlohmann::json& entry : log.entries()) {
        const auto digest = [&](const char* name) { return entry[name].get<std::string>().substr(0, 16); };
        text += std::to_string(entry["entry"].get<std::int64_t>()) + "  " + entry["time"].get<std::string>() +
                "  ";
        if (entry["kind"] == "asked")
            text += "asked to forget " +
                    counted(static_cast<std::int64_t>(entry["tokens"].size()), "record") + " of run " +
                    digest("run_before") + ": " +
                    counted(static_cast<std::int64_t>(entry["retrained"].size()), "member") +
                    " to train, data " + digest("data_before") + " -> " + digest("data_after") + "\n";
        else
            text += "done: run " + digest("run_after") + "\n";
    }
    if (log.pending() != nullptr)
        text += "the last request is not done: the command that began it goes on with it\n";
    text += std::to_string(log.entries().size()) +
            " entries, every one follows the one before; the last is " + log.head() + "\n";
    context.print({{"entries", log.entries()}, {"head", log.head()}, {"pending", log.pending() != nullptr}},
                  text);
}

void unlearn(const Context& context, const UnlearnRequest& request) {
    if (request.log) {
        if (context.world.is_root()) print_log(context, RunFolder::open(request.run));
        return;
    }
    // 1. The run, the records it was trained on, and those that are to be forgotten.
    require_options(request);
    const FinishedRun run = FinishedRun::open(request.run);
    require_unlearnable(run);
    const DatasetReader reader(request.data);
    const IdList asked = request.ids.empty() ? IdList() : IdList::read(request.ids);
    const Configuration configuration = configuration_of(run, request.backend);
    const Records public_records = read_public(request.public_data, reader.info(), run.settings);
    const PublicRecords beside = identify_public(public_records, run.settings.training);

    // 2. Whose members they are, and what that leaves of the others.
    Forgetting forgetting;
    Plan plan;
    std::string fingerprint;
    const auto passed_over = [&](const Error& error) {
        context.log->warn("{}; an earlier state is used, or none", error.what());
    };
    if (context.world.is_root()) {
        const RequestLog log = RequestLog::read(run.folder);
        const std::string key = run.folder.file(RequestLog::key_name);
        const bool known = !log.entries().empty() && std::filesystem::exists(key);
        const SecretKey secret = known ? SecretKey::read(key) : SecretKey::fresh();
        forgetting = request.rows.empty() ? look_up(reader, asked, secret, log.tokens())
                                          : look_up_rows(reader, request.rows, secret, log.tokens());
        require_same_data(run, reader.info(), forgetting, beside);
        const TrainingPlan training = training_plan(run, configuration, forgetting.left);
        plan = plan_of(run, forgetting, training.normaliser, passed_over);
        fingerprint = run_fingerprint(training, reader.info(), forgetting.digest_left, beside);
    }
    plan = shared(context.world, std::move(plan));

    // 3. Which answers stay as they are.
    Report report;
    const bool doing = !request.out.empty() && plan.records() > 0;
    report_plan(run, plan, doing, report);
    if (!request.queries.empty()) {
        if (plan.records() > 0 && !plan.by_rows())
            learn_from_records(
                run, reader,
                static_cast<std::size_t>(*std::max_element(plan.forgotten.begin(), plan.forgotten.end())));
        report_unchanged(context, run, plan, request.queries, report);
    }
    if (plan.records() == 0) report.text += "all of it was forgotten before: nothing to do\n";

    // 4. The new run: what stays is taken over, the rest trained without the records.
    if (doing) {
        std::error_code ignored;
        const bool again = std::filesystem::exists(request.out + "/manifest.json", ignored);
        context.world.barrier();
        if (context.world.is_root())
            prepare(run, request, reader, forgetting, plan, fingerprint, passed_over);
        context.world.barrier();
        const RunManifest after = retrain(context, request, configuration, reader.info().split);
        if (context.world.is_root()) report_done(run, request, after, again, report);
    }
    report.text += next_of(request, doing);
    context.print(report.object, report.text);
}

}  // namespace

Run declare_unlearn(const Command& command) {
    auto request = std::make_shared<UnlearnRequest>();
    command.add_option("--run", request->run, "Run folder of holdfast train, which stays as it is")
        .required();
    command.add_option("--data", request->data,
                       "The dataset FILE[:SPLIT] it was trained on, split train by default");
    const Argument ids =
        command.add_option("--ids", request->ids,
                           "File of the ids to forget, one a line, as the table's column of ids has them");
    command
        .add_option("--rows", request->rows,
                    "Instead: a CSV table of the rows to withdraw, of persons who have others and stay; of "
                    "the columns "
                    "that the imported table had")
        .excludes(ids);
    command.add_option(
        "--queries", request->queries,
        "Dataset FILE[:SPLIT], split test by default: say which of their labels provably stay, in "
        "unchanged.csv of --run");
    command.add_option("--out", request->out,
                       "Run folder of the run without the records; without this option nothing is trained");
    command.add_output("--out-data", request->out_data, OutputKind::kept,
                       "Dataset file without the records, its other splits whole");
    command.add_option("--public", request->public_data, "The public records it was trained with, if any");
    command.add_option("--backend", request->backend, "Another run.backend than that of the run");
    add_keep_options(command, request->keep);
    command.add_flag(
        "--log", request->log,
        "Show the requests that led to --run, and check that each entry of the log follows the one "
        "before");
    command.add_footer(
        "Members are trained on disjoint records, so only those that held a forgotten record are trained "
        "anew: "
        "from their first step, or where the run has states (train --slices, --keep-states) from the last "
        "that none of their forgotten records has touched. The states that are sound then go into the new "
        "run, those behind it are written anew at the same steps. A run without --slices keeps none, as each "
        "epoch takes all records of a member. The result is, byte for byte, that "
        "of training on --out-data alone. A request with an id that is not in the data is refused whole "
        "(exit "
        "3, which names the line and not the id); an id twice counts once; one that was forgotten before "
        "counts "
        "as done. Stopped or killed at any moment, the same command goes on; once it is done, it does "
        "nothing. "
        "unlearning.jsonl of the new folder keeps every request: ids stand in it as tokens under the key in "
        "unlearning.key. Delete that key, and nobody can try an id against the log; requests that come again "
        "are then refused instead of recognised. --data, --run and the file of ids are left for their owner "
        "to "
        "delete. What was published or released before cannot be taken back.\n\n");
    return [request](const Context& context) { unlearn(context, *request); };
}

}  // namespace holdfast
