// holdfast certify: how many records would have to change before each answer could; of a regression, where
// each prediction lies when so many change. Of a published model: how far each query may move.
//   mpirun -n 2 holdfast certify --run run --queries blobs.h5:test
//   holdfast certify --model model.h5 --queries blobs.h5:test --input-radius .01,.02 --attack pgd

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "dist/files/atomic_file.hpp"
#include "dist/files/digest.hpp"
#include "dist/files/hdf5.hpp"
#include "jobs/answers/certify/model.hpp"
#include "jobs/answers/moved_queries.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "jobs/program/transport.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/robust/attack.hpp"

namespace holdfast {
namespace {

struct CertifyRequest {
    std::string run, queries, data, bounds = "interval", answer = "row";
    std::string model, norm = "linf", out, page;
    std::vector<double> input_radius;
    std::vector<std::string> attacks;
    std::uint64_t attack_steps = 40, attack_restarts = 2;
    Smoothing smoothing;
    std::string service_key;
};

struct Result {
    std::vector<Certificates> members;
    std::vector<std::int32_t> labels;     // of the ensemble
    std::vector<std::int64_t> distances;  // of the ensemble
};

/// distances.h5: label, distance [members, queries], ensemble_label, ensemble_distance, id [queries]; 0600.
void write_distances(const FinishedRun& run, const Records& queries, const Result& result) {
    AtomicPath path(run.folder.file("distances.h5"), private_mode);
    auto file = hdf5::File::create(path.temporary(), path.path());
    const std::uint64_t count = queries.size(), members = result.members.size();
    {
        hdf5::Dataset labels = file.create_dataset("label", hdf5::Type::int32, {members, count});
        hdf5::Dataset distances = file.create_dataset("distance", hdf5::Type::int64, {members, count});
        for (std::uint64_t m = 0; m < members; ++m) {
            labels.write({m, 0}, {1, count}, result.members[m].labels.data());
            distances.write({m, 0}, {1, count}, result.members[m].distances.data());
        }
        file.create_dataset("ensemble_label", hdf5::Type::int32, {count})
            .write({0}, {count}, result.labels.data());
        file.create_dataset("ensemble_distance", hdf5::Type::int64, {count})
            .write({0}, {count}, result.distances.data());
        file.create_dataset("id", hdf5::Type::uint64, {count}).write({0}, {count}, queries.ids.data());
    }
    file.close();
    add_seal(path.temporary(), path.path());
    path.commit();
}

std::string stored_place(bool stored, const std::string& path) {
    return (stored ? " in " + path : std::string(": not stored, the run folder is read-only")) + "\n";
}

std::string digest_of(const Result& result) {
    StreamDigest digest;
    for (const Certificates& member : result.members) {
        digest.add_values(std::span(member.labels));
        digest.add_values(std::span(member.distances));
    }
    digest.add_values(std::span(result.labels));
    digest.add_values(std::span(result.distances));
    return digest.hex();
}

/// Of a regression, [levels, queries].
struct Intervals {
    std::vector<std::vector<double>> lower, upper;
};

/// intervals.h5: prediction, id [queries], lower, upper [levels, queries], level [levels]; 0600.
void write_intervals(const FinishedRun& run, const Records& queries, const Intervals& intervals) {
    AtomicPath path(run.folder.file("intervals.h5"), private_mode);
    auto file = hdf5::File::create(path.temporary(), path.path());
    const std::uint64_t count = queries.size(), levels = intervals.lower.size();
    {
        hdf5::Dataset lower = file.create_dataset("lower", hdf5::Type::float64, {levels, count});
        hdf5::Dataset upper = file.create_dataset("upper", hdf5::Type::float64, {levels, count});
        for (std::uint64_t level = 0; level < levels; ++level) {
            lower.write({level, 0}, {1, count}, intervals.lower[level].data());
            upper.write({level, 0}, {1, count}, intervals.upper[level].data());
        }
        file.create_dataset("prediction", hdf5::Type::float64, {count})
            .write({0}, {count}, intervals.lower.front().data());
        file.create_dataset("id", hdf5::Type::uint64, {count}).write({0}, {count}, queries.ids.data());
        file.create_dataset("level", hdf5::Type::int64, {levels}).write({0}, {levels}, run.levels().data());
    }
    file.close();
    add_seal(path.temporary(), path.path());
    path.commit();
}

Intervals intervals_of(const Context& context, const FinishedRun& run, const Records& queries) {
    const auto [first, last] = share_of(context.world, queries.size());
    const Records mine = run.features(part_of(queries, first, last));
    Intervals all;
    run.certificate->output_bounds(0, mine, choose_device(run.how.backend, context.world),
                                   [&](std::size_t, const OutputBounds& bounds) {
                                       all.lower.push_back(gathered(context.world, bounds.lower));
                                       all.upper.push_back(gathered(context.world, bounds.upper));
                                   });
    return all;
}

void certify_regression(const Context& context, const FinishedRun& run, const Questions& questions) {
    if (questions.unit != AnswerUnit::row)
        throw Error(ExitCode::usage, "intervals are of rows", "leave --answer out", "--answer");
    const Records& queries = questions.rows;

    // 2. The interval of every prediction at every level.
    const Intervals intervals = intervals_of(context, run, queries);
    const bool stored = context.world.is_root() && stores_results(context, run.folder);
    if (stored) write_intervals(run, queries, intervals);

    // 3. For the owner: how wide they are.
    StreamDigest digest;
    nlohmann::json table = nlohmann::json::array();
    std::string text =
        "k        mean width  largest width   (of " + std::to_string(queries.size()) + " predictions)\n";
    const std::size_t stride = std::max<std::size_t>(1, run.levels().size() / 10);
    for (std::size_t level = 0; level < run.levels().size(); ++level) {
        digest.add_values(std::span(intervals.lower[level]));
        digest.add_values(std::span(intervals.upper[level]));
        double sum = 0, largest = 0;
        for (std::size_t q = 0; q < queries.size(); ++q) {
            const double width = intervals.upper[level][q] - intervals.lower[level][q];
            sum += width;
            largest = std::max(largest, width);
        }
        const double mean = sum / static_cast<double>(queries.size());
        table.push_back({{"k", run.levels()[level]}, {"width_mean", mean}, {"width_max", largest}});
        if (level % stride != 0 && level + 1 != run.levels().size()) continue;
        text += printed("%-8lld %-11.5g %.5g\n", static_cast<long long>(run.levels()[level]), mean, largest);
    }
    const Guarantee claim = run.certificate->claim();
    const nlohmann::json object = {{"queries", queries.size()},
                                   {"intervals", table},
                                   {"digest", digest.hex()},
                                   {"guarantee", claim.to_json()}};
    if (stored) run.folder.write_json("certificates.json", object);
    context.print(object, text + "intervals " + digest.hex().substr(0, 16) +
                              stored_place(stored, run.folder.file("intervals.h5")) + claim.lines() + "\n" +
                              next_command({"report", run.folder.path()}));
}

/// What released labels would be worth, where some may be.
std::string next_of(const CertifyRequest& request, const FinishedRun& run) {
    if (why_not_released(run.settings.certificate.relation))
        return next_command({"report", run.folder.path()});
    return next_command(
        {"evaluate", "--run", run.folder.path(), "--data", request.queries, "--epsilon", "0.1,1"});
}

/// How far queries may move, if it is said: the distances are then those of queries that do.
std::optional<MovedQueries> moved_by(const CertifyRequest& request, const FinishedRun& run) {
    const auto refuse = [&](bool given, const char* message, const char* hint) {
        if (given && !request.input_radius.empty())
            throw Error(ExitCode::usage, message, hint, "--input-radius");
    };
    refuse(request.bounds != "interval", "no relaxation bounds a query that moves", "leave --bounds out");
    refuse(request.answer != "row", "answers of persons are not certified where rows move",
           "leave --answer out");
    return move_queries(run, request.input_radius, request.norm);
}

/// Of how many removals the records that the run was trained on prove something, if they are named.
std::optional<std::size_t> learnt_from(const CertifyRequest& request, const FinishedRun& run) {
    if (request.data.empty()) return std::nullopt;
    if (!run.certificate->learns_from_records())
        throw Error(ExitCode::usage, "the records prove nothing more of this run",
                    "leave it out: it is for training.kind = \"convex\", certificate.relation = \"remove\" "
                    "and queries that stay",
                    "--data");
    if (request.answer == "mean")
        throw Error(ExitCode::usage, "means of rows are certified without the records",
                    "leave --data or --answer out", "--data");
    return learn_from_records(run, DatasetReader(request.data), run.levels().size());
}

std::string text_of_learnt(std::size_t removals) {
    if (removals > 0)
        return "by the influence of the records on each query, up to " + std::to_string(removals) +
               " of them, where that proves more: for the owner of these records alone\n";
    return "by norms alone, as the influence of the records shows nothing: it is known of one logit learnt "
           "by "
           "binary_cross_entropy with training.batches = 1, training.l2 above 0, no convex.l1, no class "
           "weights and "
           "one row a person; there a larger l2, more epochs or a wider convex.box may help\n";
}

struct CertifiedTable {
    nlohmann::json rows = nlohmann::json::array();
    std::string text;
};

/// What fraction of the queries is certified against k changed records, from the first level on: by its
/// member on average, and by the ensemble, where it has several.
CertifiedTable certified_table(const FinishedRun& run, const Result& result, std::size_t first) {
    const std::vector<std::int64_t> levels = shown_levels(run, result.members);
    const auto most = static_cast<std::int64_t>(levels.size()) - 1;
    const std::vector<double> member = certified_fractions(distance_counts(result.members, most));
    const std::vector<double> ensemble = certified_fractions(distance_counts(result.distances, most));
    const bool several = run.members() > 1;
    CertifiedTable table;
    table.text = printed("k        %s(of %zu queries)\n",
                         several ? "by a member  by the ensemble  " : "certified  ", result.labels.size());
    const std::size_t stride = std::max<std::size_t>(1, levels.size() / 10);
    for (std::size_t level = first; level < levels.size(); ++level) {
        table.rows.push_back(
            {{"k", levels[level]}, {"member", member[level]}, {"ensemble", ensemble[level]}});
        if (level % stride != 0 && level + 1 != levels.size()) continue;
        table.text += printed("%-8lld %6.4f", static_cast<long long>(levels[level]), member[level]);
        table.text += several ? printed("       %6.4f\n", ensemble[level]) : "\n";
    }
    return table;
}

void certify_job(const Context& context, const CertifyRequest& request) {
    // 1. The run and the queries.
    if (request.run.empty())
        throw Error(ExitCode::usage, "nothing is named to certify",
                    "name a run, or --model and a published model", "--run");
    if (request.bounds != "interval" && request.bounds != "best")
        throw Error(ExitCode::usage, "no such bounds: " + request.bounds, "give interval or best",
                    "--bounds");
    const FinishedRun run = FinishedRun::open(request.run);
    const Questions questions = read_questions(context, run.form(), request.queries, request.answer);
    const std::optional<MovedQueries> moved = moved_by(request, run);
    const std::optional<std::size_t> learnt = learnt_from(request, run);
    if (run.network.is_regression()) return certify_regression(context, run, questions);
    const Records queries = questions.answered();
    const bool relaxed =
        request.bounds == "best" && questions.unit != AnswerUnit::mean && run.certificate->relaxes();

    // 2. Every member's stable distances, then the ensemble's.
    Result result{certify_members(context, run, questions, relaxed ? Asker::relaxed : Asker::owner), {}, {}};
    for (const Evidence& evidence : ensemble_evidence(run, result.members)) {
        result.labels.push_back(evidence.label);
        result.distances.push_back(evidence.distance);
    }

    // 3. For the owner: the distances, and a table of certified fractions, which are never beside others'
    // distances.
    const bool stored = context.world.is_root() && stores_results(context, run.folder);
    if (stored) {
        std::filesystem::remove(run.folder.file("certificates.json"));
        write_distances(run, queries, result);
    }
    const std::string digest = digest_of(result);
    auto [rows, text] = certified_table(run, result, moved ? 1 : 0);  // 0: of a query that stays
    Guarantee claim = run.certificate->claim();
    if (run.members() > 1) claim.combine(aggregation_guarantee(run.aggregation()));
    if (learnt.value_or(0) > 0)
        claim.combine(
            Guarantee::proved("where the influence of these very records proves more, a query of stable "
                              "distance h keeps its label "
                              "whichever h of them are removed: such distances are for their owner, and no "
                              "release rests on them"));
    if (moved) claim.combine(moved->claim());
    if (learnt) text += text_of_learnt(*learnt);
    if (moved) text += "wherever a query moves within " + moved->text() + ", too\n";
    if (relaxed)
        text +=
            "by intervals or linear relaxations, whichever prove more; a release counts by intervals alone\n";
    if (request.bounds == "best" && !relaxed)
        text += "by intervals: of this run linear relaxations prove no more\n";
    nlohmann::json object = {
        {"queries", queries.size()}, {"answer", request.answer}, {"bounds", relaxed ? "best" : "interval"},
        {"certified", rows},         {"digest", digest},         {"guarantee", claim.to_json()}};
    if (moved) {
        object["input_radius"] = moved->radius;
        object["norm"] = request.norm;
    }
    if (learnt) object["influence_of"] = *learnt;
    if (stored) run.folder.write_json("certificates.json", object);
    context.print(object, text + "distances " + digest.substr(0, 16) +
                              stored_place(stored, run.folder.file("distances.h5")) + claim.lines() + "\n" +
                              next_of(request, run));
}

}  // namespace

Run declare_certify(const Command& command) {
    auto request = std::make_shared<CertifyRequest>();
    const Argument run = command.add_option("--run", request->run, "Run folder of holdfast train");
    const Argument model = command.add_option(
        "--model", request->model,
        "Or a model file of holdfast publish or tools/python: how far each query may move "
        "until the label could change. Of the model it reads the published parameters "
        "alone, which no ledger pays for; of private records as queries the shares are for "
        "their owner");
    run.excludes(model);
    command.add_option("--queries", request->queries, queries_help).required();
    command
        .add_option(
            "--data", request->data,
            "The dataset FILE[:SPLIT] that a run of training.kind = \"convex\" and certificate.relation = "
            "\"remove\" was trained on, split train by default: distances then rest on the influence of "
            "its records, where that proves more")
        .excludes(model);
    add_answer_option(command, request->answer);
    model.excludes(command.option("--answer"));
    command
        .add_option(
            "--bounds", request->bounds,
            "interval: what a release counts by; best: linear relaxations besides, of dense networks of two "
            "hidden layers or more, for the owner")
        .show_default();
    model.excludes(command.option("--bounds"));
    const Argument radius =
        command
            .add_option(
                "--input-radius", request->input_radius,
                "How far a query may move, in the units of its features: of a model one or several, as "
                ".01,.02; of a run with boxes, or a convex one, one radius, and distances then hold for "
                "records that change and a query that moves at once")
            .separated_by(',');
    command
        .add_option(
            "--norm", request->norm,
            "linf: every feature by as much, of any network and of boxes; l2: the length of all, of models "
            "without pooling and of convex runs; of a smoothed model these and l1, the sum of all")
        .show_default()
        .needs(radius);
    const Argument attack =
        command
            .add_option(
                "--attack", request->attacks,
                "Beside the certificates what attacks find that know every parameter, any of fgsm, ifgsm, "
                "mim, pgd, apgd, margin, and square, which knows logits alone: one counts where the program "
                "itself errs within the radius")
            .separated_by(',')
            .one_of(Attack::names())
            .needs(model);
    command
        .add_option("--attack-steps", request->attack_steps,
                    "Of each attack but fgsm; square asks 25 times as often")
        .show_default()
        .within<std::uint64_t>(1, 100000)
        .needs(attack);
    command.add_option("--attack-restarts", request->attack_restarts, "Random starts of pgd, apgd and square")
        .show_default()
        .within<std::uint64_t>(1, 10000)
        .needs(attack);
    const Argument smoothing =
        command
            .add_option(
                "--smoothing", request->smoothing.noise,
                "Certify the class that the model gives most often under noise of this deviation (of l1, "
                "scale), in units of the features: any model has radii in l2 then, true with "
                "probability 1 - alpha")
            .needs(model)
            .excludes(attack);
    const Argument key =
        command.add_option("--service-key", request->service_key,
                           "Key file of the noise, made where there is none: what is asked again is "
                           "answered alike, and nobody without it knows the draws");
    key.needs(smoothing);
    smoothing.needs(key);
    command.add_option("--draws", request->smoothing.draws, "Of a smoothed query's certificate")
        .show_default()
        .within<std::uint64_t>(1, 10'000'000)
        .needs(smoothing);
    command
        .add_option("--alpha", request->smoothing.alpha,
                    "With how much probability any of the file's smoothed certificates may be false")
        .show_default()
        .needs(smoothing);
    command
        .add_output("--out", request->out, OutputKind::table,
                    "Of a model, a table for its owner alone: row,label,radius of each query")
        .needs(model);
    command
        .add_output("--page", request->page, OutputKind::page,
                    "Of a model, an HTML page for its owner alone: shares by radius, certified and attacked")
        .needs(model);
    return [request](const Context& context) {
        if (!request->model.empty())
            return certify_model(context,
                                 {request->model, request->queries, request->norm, request->input_radius,
                                  request->attacks, request->attack_steps, request->attack_restarts,
                                  request->smoothing, request->service_key, request->page, request->out});
        certify_job(context, *request);
    };
}

}  // namespace holdfast
