// holdfast release: answers under differential privacy. Prints the labels, what they cost and the guarantee;
// nothing else about the run leaves it. What it prints, charges and exits with is a function of public
// things, the ledger's balance and the drawn labels: it charges before it computes anything from the records,
// and it then does the same work whatever they are.
//   holdfast account --ledger hospital.db --data patients.h5 --budget 10
//   holdfast release --run run --queries new.h5:test --epsilon 0.1 --ledger hospital.db

#include <cstring>
#include <map>

#include "jobs/finished_run.hpp"
#include "jobs/payer.hpp"
#include "jobs/queries.hpp"
#include "kernels/base/error.hpp"
#include "models/certify/claims.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"

namespace holdfast {
namespace {

struct Request {
    std::string run, queries, ledger, mechanism = default_mechanism().name;
    double epsilon = 0, delta = 0;
    std::optional<double> threshold;
    std::uint64_t first = 0;
};

/// A mechanism of public parameters that this run can feed. Errors (usage).
Mechanism mechanism_for(const Request& request, const FinishedRun& run, bool ensemble) {
    Mechanism mechanism(
        request.mechanism,
        {request.epsilon, request.delta, static_cast<int>(run.classes()), distance_cap(run, ensemble),
         ensemble ? run.settings.ensemble.members : 0, 0, request.threshold});
    check_releasable(mechanism.info());
    if (const auto error = misfit(mechanism.info(), available_evidence(run, ensemble))) throw *error;
    return mechanism;
}

Guarantee claim_of(const FinishedRun& run, bool ensemble, const Mechanism& mechanism) {
    Guarantee claim = run.certificate->release_claim();
    if (ensemble) claim.combine(aggregation_guarantee(run.aggregation()));
    claim.combine(mechanism.guarantee(name_of(run.settings.certificate.relation)));
    claim.require(
        "whoever asks sees labels, cost and exit code: the work is the same for all records, but the "
        "processor's caches and branches, timed by a neighbour on the machine, are not covered");
    return claim;
}

/// Rank 0's list, on all ranks. Collective.
std::vector<std::size_t> agreed(const Communicator& world, std::span<const std::size_t> chosen) {
    std::vector<std::byte> bytes(chosen.size_bytes());
    std::memcpy(bytes.data(), chosen.data(), bytes.size());
    world.broadcast(bytes, 0);
    std::vector<std::size_t> list(bytes.size() / sizeof(std::size_t));
    std::memcpy(list.data(), bytes.data(), bytes.size());
    return list;
}

/// What a mechanism may look at, of the queries that rank 0 has paid for: all ranks work, every level is
/// asked for every query.
class PaidEvidence {
  public:
    PaidEvidence(const Context& context, const FinishedRun& run, const Records& queries)
        : context_(context), run_(run), queries_(queries) {}

    /// On rank 0.
    std::vector<Evidence> of(std::span<const std::size_t> paid) const {
        const std::vector<Certificates> members = certificates(agreed(context_.world, paid));
        std::vector<Evidence> evidence;
        for (std::size_t q = 0; q < paid.size(); ++q) {
            evidence.push_back(members.size() > 1 ? evidence_of(run_, members, q)
                                                  : evidence_of(run_, members.front(), q));
        }
        return evidence;
    }
    /// On the other ranks: helps until rank 0 has done.
    void help() const {
        for (;;) {
            const std::vector<std::size_t> paid = agreed(context_.world, {});
            if (paid.empty()) return;
            certificates(paid);
        }
    }
    void done() const { agreed(context_.world, {}); }

  private:
    std::vector<Certificates> certificates(std::span<const std::size_t> paid) const {
        return certify_members(context_, run_, chosen_records(queries_, paid), Asker::release);
    }
    const Context& context_;
    const FinishedRun& run_;
    const Records& queries_;
};

nlohmann::json cost_of(const Request& request, const std::vector<LedgerAnswer>& answers,
                       const Spending& spent) {
    const auto charged = std::count_if(answers.begin(), answers.end(),
                                       [](const LedgerAnswer& answer) { return !answer.remembered; });
    return {{"epsilon_per_answer", request.epsilon},
            {"delta_per_answer", request.delta},
            {"charged_answers", charged},
            {"remembered_answers", static_cast<std::int64_t>(answers.size()) - charged},
            {"spent_epsilon", shown(spent.epsilon)},
            {"spent_delta", shown(spent.delta)},
            {"budget_epsilon", shown(spent.budget.epsilon)},
            {"budget_delta", shown(spent.budget.delta)}};
}

/// Under which terms the answers were drawn: those of now, and of each earlier time an answer is remembered
/// from. {mechanism, epsilon, delta, answers: how many, guarantee}, those of now first.
nlohmann::json terms_of(const std::vector<LedgerAnswer>& answers) {
    std::map<std::string, std::size_t> places;
    nlohmann::json terms = nlohmann::json::array();
    for (const bool remembered : {false, true}) {
        for (const LedgerAnswer& answer : answers) {
            if (answer.remembered != remembered) continue;
            const std::string key =
                answer.mechanism + answer.epsilon.get_str() + "," + answer.delta.get_str() + answer.guarantee;
            const auto [place, fresh] = places.try_emplace(key, terms.size());
            if (fresh)
                terms.push_back({{"mechanism", answer.mechanism},
                                 {"epsilon", shown(answer.epsilon)},
                                 {"delta", shown(answer.delta)},
                                 {"answers", 0},
                                 {"guarantee", nlohmann::json::parse(answer.guarantee)}});
            terms[place->second]["answers"] = terms[place->second]["answers"].get<std::int64_t>() + 1;
        }
    }
    return terms;
}

void print(const Context& context, const Request& request, const std::vector<LedgerAnswer>& answers,
           const Spending& spent) {
    nlohmann::json labels = nlohmann::json::array();
    std::string text;
    for (const LedgerAnswer& answer : answers) {
        labels.push_back(answer.label == refused ? nlohmann::json() : nlohmann::json(answer.label));
        text += answer.label == refused ? "refused\n" : std::to_string(answer.label) + "\n";
    }
    const nlohmann::json cost = cost_of(request, answers, spent), terms = terms_of(answers);
    context.log->info(
        "{} answers charged at epsilon {:g}, {} remembered; spent epsilon {} of {}, delta {} of {}",
        cost["charged_answers"].get<std::int64_t>(), request.epsilon,
        cost["remembered_answers"].get<std::int64_t>(), decimal_text(spent.epsilon),
        decimal_text(spent.budget.epsilon), decimal_text(spent.delta), decimal_text(spent.budget.delta));
    for (const nlohmann::json& term : terms) {
        context.log->info("{} answers by {} at epsilon {:g}, delta {:g}: {}",
                          term["answers"].get<std::int64_t>(), term["mechanism"].get<std::string>(),
                          term["epsilon"].get<double>(), term["delta"].get<double>(),
                          Guarantee::text_of(term["guarantee"]));
    }
    context.print({{"labels", labels}, {"cost", cost}, {"terms", terms}}, text);
}

void release(const Context& context, const Request& request) {
    // 1. What is public: the run's settings, what it may claim, the mechanism, the queries.
    require_ledger(request.ledger);
    const FinishedRun run = FinishedRun::open(request.run);
    const bool ensemble = run.members() > 1;
    const Mechanism mechanism = mechanism_for(request, run, ensemble);
    const Guarantee claim = claim_of(run, ensemble, mechanism);
    const Records queries = read_queries(context, run.features, request.queries, request.first);
    const PaidEvidence evidence(context, run, queries);
    if (!context.world.is_root()) return evidence.help();

    // 2. Charged first; then the boxes are asked, the answers drawn and stored. Remembered answers cost
    // nothing.
    Ledger ledger(request.ledger);
    check_payer(ledger, {run.manifest.dataset.digest, run.manifest.dataset.path, run.manifest.public_records,
                         name_of(run.settings.certificate.relation), request.ledger});
    SystemRandomBits bits;
    const auto draw = [&](std::span<const std::size_t> paid) {
        std::vector<int> labels;
        for (const Evidence& query : evidence.of(paid)) labels.push_back(mechanism.draw(query, bits));
        return labels;
    };
    const std::vector<LedgerAnswer> answers =
        ledger.answer(run.manifest.dataset.digest,
                      {mechanism.epsilon(), mechanism.delta(), request.mechanism, claim.to_json().dump()},
                      query_digests(queries), draw);
    evidence.done();

    // 3. The labels, the cost, and the terms each was drawn under.
    const std::string payer = ledger.population_of(run.manifest.dataset.digest).value();
    print(context, request, answers, ledger.spending(payer).value());
}

}  // namespace

Run declare_release(CLI::App& app) {
    auto request = std::make_shared<Request>();
    app.add_option("--run", request->run, "Run folder of holdfast train")->required();
    app.add_option("--queries", request->queries,
                   "Dataset FILE[:SPLIT], split test by default; labels are not read")
        ->required();
    app.add_option("--epsilon", request->epsilon, "Privacy per answer, public")->required();
    app.add_option("--delta", request->delta, "Per answer, for mechanisms that take one");
    app.add_option(
        "--threshold", request->threshold,
        "Of confident_argmax: the fraction of members that seem to agree; public, 0.7 unless given");
    app.add_option("--mechanism", request->mechanism, "One of the list below")->capture_default_str();
    app.add_option("--ledger", request->ledger,
                   "SQLite file that knows the population's account (holdfast account opens it)")
        ->required();
    app.add_option("--first", request->first, "Only the first so many queries; 0: all");
    app.footer("Mechanisms:\n" + mechanism_help() + app.get_footer());
    return [request](const Context& context) { release(context, *request); };
}

}  // namespace holdfast
