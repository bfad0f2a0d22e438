// holdfast release: answers under differential privacy. Prints the labels, what they cost and the guarantee;
// nothing else about the run leaves it. First it compares the queries with the people of the ledger, and a
// refusal is for the owner alone. From then on what it prints, charges and exits with is a function of public
// things, the ledger's balance and the drawn labels: it charges before it computes anything from the records,
// and it then does the same work whatever they are.
//   holdfast account --ledger hospital.db --data patients.h5 --budget 10 --budget-delta 1e-5
//   holdfast release --run run --queries new.h5:test --epsilon 0.1 --ledger hospital.db
//   holdfast release --run run --queries new.h5:test --total-epsilon 1 --total-delta 1e-6 --ledger h.db
//   holdfast release --run run --queries new.h5:test --session ward --epsilon 1 --delta 1e-6 --ledger h.db

#include "jobs/answers/release/release.hpp"

#include <algorithm>

#include "jobs/program/job.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/runs/payer.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/certify/claims.hpp"
#include "models/certify/prediction_steps.hpp"

namespace holdfast {
namespace {

/// How the options want the queries answered.
using Way = Answered (*)(const Release& release, Ledger& ledger, RandomBits& bits);

/// The way, and the request as that way reads it: a total for a session or a batch is its epsilon. Errors
/// (usage): no amount, or two.
std::pair<Way, ReleaseRequest> way_of(ReleaseRequest request) {
    if (!request.aggregate.empty() && request.epsilon == 0)
        throw Error(ExitCode::usage, "what may the number cost?",
                    "give --epsilon, and --delta for normal noise", "--epsilon");
    if (request.total_epsilon != 0) {
        if (request.by != "session" && request.by != "batch") {
            if (request.batch || !request.session.empty())
                throw Error(ExitCode::usage,
                            "a total is answered in a session or as a batch only if it says so",
                            request.batch ? "give --by batch" : "give --by session", "--by");
            return {answer_for_total, request};
        }
        if (request.by == "batch" && !request.session.empty())
            throw Error(ExitCode::usage, "a batch is answered outside any session", "give one of them",
                        "--session");
        request.epsilon = request.total_epsilon;
        request.delta = request.total_delta;
        request.batch = request.by == "batch";
    }
    if (request.batch) return {answer_batch, request};
    if (!request.session.empty()) return {answer_in_session, request};
    if (request.by == "session")
        throw Error(ExitCode::usage, "a session has a name, by which it goes on another day",
                    "give one, such as --session ward", "--session");
    if (request.epsilon == 0)
        throw Error(ExitCode::usage, "what may an answer cost?",
                    "give --epsilon for each answer, or --total-epsilon for all of them", "--epsilon");
    return {answer_each, request};
}

/// What is left open follows from the run; of a regression numbers are given one by one, in steps of their
/// public range. Errors (usage).
ReleaseRequest settled(ReleaseRequest request, const FinishedRun& run, bool each) {
    constexpr std::size_t usual_steps = 100;
    const bool numbers = run.network.is_regression();
    const auto require = [](bool holds, const char* message, const char* hint, const char* option) {
        if (!holds) throw Error(ExitCode::usage, message, hint, option);
    };
    if (request.mechanism.empty())
        request.mechanism = numbers ? "permute_and_flip" : default_mechanism().name;
    require(numbers || request.steps == 0, "a classifier gives labels, not numbers", "leave it out",
            "--steps");
    if (!numbers) return request;
    require(each && request.aggregate.empty(), "the numbers of a regression are given one by one",
            "give --epsilon for each of them, and nothing else", "--epsilon");
    require(request.answer == "row", "intervals are of rows", "leave --answer out", "--answer");
    require(run.manifest.dataset.target_range != default_feature_range,
            "numbers are given in steps of their public range, and nobody has stated it",
            "import the table with --target-range, and train again", "--steps");
    const std::optional<Schema> schema = run.schema();
    require(!schema || !schema->found,
            "its range was found in the records, and would be given with the numbers",
            "state it: holdfast schema writes one to be filled in; import and train by that", "--steps");
    if (request.steps == 0) request.steps = usual_steps;
    return request;
}

/// Names of the questions in the ledger: the same query in other steps is another question.
std::vector<Digest> digests_of(const Questions& questions, FeatureRange range, std::size_t steps) {
    std::vector<Digest> digests = query_digests(questions);
    const std::string in = printed("%zu steps of %a to %a", steps, range.low, range.high);
    if (steps > 0)
        for (Digest& digest : digests) digest = bag_digest(in, std::span(&digest, 1));
    return digests;
}

/// What the steps stand for: their middles, in the target's own units.
std::vector<double> values_of(const FinishedRun& run, std::size_t count) {
    std::vector<double> values;
    if (count == 0) return values;
    const PredictionSteps steps(run.manifest.dataset.target_range, count);
    const std::optional<Schema> schema = run.schema();
    for (std::size_t step = 0; step < count; ++step)
        values.push_back(in_units(steps.middle_of(step), schema));
    return values;
}

void release(const Context& context, const ReleaseRequest& options) {
    // 1. What is public: the run's settings, what it may claim, how it is to answer, the queries.
    require_ledger(options.ledger);
    const auto [answer, asked] = way_of(options);
    const FinishedRun run = FinishedRun::open(asked.run);
    run.certificate->release_claim();  // an Error where no release may rest on it
    const ReleaseRequest request = settled(asked, run, answer == answer_each);
    require_public_queries(request.queries, run.manifest.dataset, request.public_queries);
    const Questions questions =
        read_questions(context, run.form(), request.queries, request.answer, request.first);
    const PaidEvidence evidence(context, run, questions, request.steps);
    if (!context.world.is_root()) return evidence.help();

    // 2. Charged first; then the boxes are asked, the answers drawn and stored. Remembered answers cost
    // nothing.
    constexpr std::size_t most_distances = std::size_t{1} << 27;  // a gigabyte
    if (request.steps * questions.size() > most_distances)
        throw Error(ExitCode::usage, "so many steps of so many queries do not fit into memory",
                    "ask fewer queries at a time, or in fewer steps", "--steps");
    Ledger ledger(request.ledger);
    check_payer(ledger, {run.manifest.dataset.digest, run.manifest.dataset.path, run.manifest.public_records,
                         name_of(run.settings.certificate.relation), request.ledger,
                         run.manifest.dataset.measured, pretraining_records(run.settings)});
    refuse_known_people(ledger,
                        {questions.rows, questions.given_ids, request.queries, request.public_queries});
    SystemRandomBits bits;
    const std::vector<Digest> digests =
        digests_of(questions, run.manifest.dataset.target_range, request.steps);
    const Release release{context, request, run, digests, evidence};
    if (!request.aggregate.empty()) {
        release_aggregate(release, questions, ledger);
        return evidence.done();
    }
    Answered answered = answer(release, ledger, bits);
    answered.values = values_of(run, request.steps);
    evidence.done();

    // 3. The labels, the cost, and the terms each was drawn under.
    const std::string payer = ledger.population_of(run.manifest.dataset.digest).value();
    print_answers(context, std::move(answered), ledger.spending(payer).value());
}

}  // namespace

Mechanism mechanism_for(const Release& release, const std::string& name, double epsilon, double delta,
                        double mu) {
    const FinishedRun& run = release.run;
    const bool ensemble = release.ensemble();
    Mechanism mechanism(name, {epsilon, delta, release.classes(), distance_cap(run, ensemble),
                               ensemble ? run.settings.ensemble.members : 0, mu, release.request.threshold});
    check_releasable(mechanism.info());
    AvailableEvidence available = available_evidence(run, ensemble);
    available.classes = release.classes();
    if (const auto error = misfit(mechanism.info(), available)) throw *error;
    return mechanism;
}

Guarantee claim_of(const Release& release, const Guarantee& drawn) {
    const FinishedRun& run = release.run;
    RecordClaim claim = run.certificate->release_claim();
    if (run.members() > 1) claim.combine(aggregation_guarantee(run.aggregation()));
    return claim_about_labels(claim, drawn, release.request.public_queries);
}

Run declare_release(const Command& command) {
    auto request = std::make_shared<ReleaseRequest>();
    command.add_option("--run", request->run, "Run folder of holdfast train").required();
    add_asking_options(command, request->queries, request->ledger);
    const Argument epsilon = command.add_option(
        "--epsilon", request->epsilon, "Privacy per answer, public; of a session or a batch: of all of it");
    const Argument delta =
        command.add_option("--delta", request->delta, "Likewise, for mechanisms that take one");
    const Argument mechanism =
        command.add_option("--mechanism", request->mechanism,
                           "One of the list below (default: stable_rr; of a regression permute_and_flip)");
    command
        .add_option("--steps", request->steps,
                    "Of a regression: its numbers are given in so many equal steps of their public range, 2 "
                    "to 4096 (default: 100)")
        .within<std::uint64_t>(2, PredictionSteps::most);
    command.add_option(
        "--threshold", request->threshold,
        "Of confident_argmax: the fraction of members that seem to agree; public, 0.7 unless given");
    add_public_queries_option(command, request->public_queries);
    add_answer_option(command, request->answer);
    command.add_option("--first", request->first, "Only the first so many queries; 0: all");
    const Argument session = command.add_option(
        "--session", request->session,
        "Answer in the session of this name: labels without noise, any number of them, for --epsilon and "
        "--delta charged at opening; a query too near to the boundary is refused");
    command.add_option("--refusals", request->refusals, "So many refusals end the session: fixed at opening")
        .needs(session)
        .show_default();
    command
        .add_option("--answers", request->answers,
                    "About how many queries the session is for: splits its epsilon; fixed at opening")
        .needs(session)
        .show_default();
    const Argument batch = command.add_flag(
        "--batch", request->batch,
        "All labels of the file at once, or none if one of the queries is too near to the boundary: paid for "
        "once, refused or not");
    const Argument total = command.add_option(
        "--total-epsilon", request->total_epsilon,
        "Answer the whole file for this, charged at once: the amount of one answer and its "
        "mechanism follow from the number of queries");
    command.add_option("--total-delta", request->total_delta, "Likewise").needs(total);
    command
        .add_option("--by", request->by,
                    "With a total: stable_rr, stable_gauss, session (with --session), batch, or auto for the "
                    "better of the first two")
        .needs(total)
        .show_default();
    const Argument aggregate = command.add_option(
        "--aggregate", request->aggregate,
        "No labels: one noisy number of the distances of the whole file, for --epsilon once: mean, least, "
        "quantile:P, certified:SHARE (how many records may change so that this share of the labels stays) or "
        "right:SHARE (stays, and is right). With --delta by normal noise");
    batch.excludes(session).excludes(mechanism);
    for (const Argument each : {session, batch, total, mechanism}) aggregate.excludes(each);
    session.excludes(mechanism);
    for (const Argument each : {epsilon, delta, mechanism}) total.excludes(each);
    command.add_footer("Mechanisms:\n" + mechanism_help());
    return [request](const Context& context) { release(context, *request); };
}

}  // namespace holdfast
