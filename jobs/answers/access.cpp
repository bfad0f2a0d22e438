// holdfast access: label-only access to a network, by what leaving a record out changes. Prints labels, what
// they cost and the guarantee. As holdfast release: a refusal of queries is for the owner alone, it charges
// before it asks any network, and what it then prints, charges and exits with is a function of public things,
// the ledger's balance and the drawn labels.
//   holdfast account --ledger hospital.db --data patients.h5 --budget 10
//   holdfast access --run fleet --queries new.h5:test --rule vote --epsilon 0.5 --ledger hospital.db
//   holdfast access --run fleet --queries new.h5 --rule stable --boxes run --epsilon 0.1 --ledger hospital.db

#include <algorithm>
#include <nlohmann/json.hpp>

#include "jobs/answers/access/rules.hpp"
#include "jobs/answers/answered.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/ranks.hpp"
#include "jobs/program/runs/payer.hpp"
#include "kernels/base/error.hpp"
#include "models/certify/claims.hpp"
#include "models/idp/idp_bounds.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {
namespace {

struct AccessRequest {
    std::string run, queries, ledger, law;
    AccessOptions how;
    double epsilon = 0;
    std::uint64_t first = 0;
    bool public_queries = false;  ///< said, against their look
};

/// Whose neighbours the payer counts; one a fleet of whose data the ledger does not know is none of these.
Relation counted_relation(const Ledger& ledger, const FinishedFleet& fleet) {
    const auto population = ledger.population_of(fleet.manifest.dataset.digest);
    const bool substitute =
        population && ledger.account(*population)->relation == name_of(Relation::substitute);
    return substitute ? Relation::substitute : Relation::add_remove;
}

/// What rank 0 reads of the ledger, on all ranks. Collective.
Relation agreed_relation(const Context& context, const AccessRequest& request, const FinishedFleet& fleet) {
    std::int64_t substitute = 0;
    if (context.world.is_root())
        substitute = counted_relation(Ledger(request.ledger), fleet) == Relation::substitute ? 1 : 0;
    return context.world.any(substitute != 0) ? Relation::substitute : Relation::add_remove;
}

Mechanism law_of(const AccessRequest& request, const AccessRule& rule, std::size_t classes) {
    const std::string name = request.law.empty() ? rule.law() : request.law;
    if (rule.cap() > 1 && name != rule.law())
        throw bad_option("law", name + " is of a vote alone, and the boxes' distances reach further",
                         std::string("leave --law out: ") + rule.law());
    return Mechanism(name, {request.epsilon, 0, static_cast<int>(classes), rule.cap(), 0});
}

Guarantee claim_of(const AccessRule& rule, const Mechanism& law, Relation relation, bool public_queries) {
    return claim_about_labels(rule.claim(), law.guarantee(name_of(relation)), public_queries);
}

void access(const Context& context, const AccessRequest& request) {
    // 1. What is public: the fleet's settings, whose neighbours count, the rule, the queries.
    require_ledger(request.ledger);
    const FinishedFleet fleet = FinishedFleet::open(request.run);
    const Relation relation = agreed_relation(context, request, fleet);
    require_public_queries(request.queries, fleet.manifest.dataset, request.public_queries);
    const NamedQueries named = read_named_queries(context, fleet.form(), request.queries, request.first);
    const Records& queries = named.records;
    const FeatureRange range = query_range(fleet.manifest.dataset.range);
    if (range != fleet.manifest.dataset.range) tell_clipped(context, queries, range);
    const auto rule = access_rule(context, fleet, request.how, relation);
    const Mechanism law = law_of(request, *rule, fleet.networks.network().classes());
    const auto evidence_of = [&](std::span<const std::size_t> paid) {
        const std::vector<std::size_t> chosen = agreed(context.world, paid);
        return chosen.empty() ? std::vector<Evidence>()
                              : rule->evidence(clipped(chosen_records(queries, chosen), range));
    };
    if (!context.world.is_root()) {
        while (!evidence_of({}).empty()) continue;
        return;
    }

    // 2. Charged first; then the networks are asked, the answers drawn and stored.
    Ledger ledger(request.ledger);
    check_payer(ledger,
                {fleet.manifest.dataset.digest, fleet.manifest.dataset.path, fleet.manifest.public_records,
                 name_of(relation), request.ledger, fleet.manifest.dataset.measured,
                 pretraining_records(kept_configuration(fleet.folder, fleet.manifest).settings)});
    refuse_known_people(ledger, {queries, named.has_ids, request.queries, request.public_queries});
    const Guarantee claim = claim_of(*rule, law, relation, request.public_queries);
    SystemRandomBits bits;
    const auto draw = [&](std::span<const std::size_t> paid) {
        std::vector<int> labels;
        for (const Evidence& query : evidence_of(paid)) labels.push_back(law.draw(query, bits));
        return labels;
    };
    const Charge charge{law.epsilon(), 0, law.info().name, claim.to_json().dump(), false};
    Answered answered = answer_charged(ledger, fleet.manifest.dataset.digest, charge, query_digests(queries),
                                       draw, request.epsilon, 0);
    evidence_of({});

    // 3. The labels, the cost, and the terms each was drawn under.
    const std::string payer = ledger.population_of(fleet.manifest.dataset.digest).value();
    print_answers(context, std::move(answered), ledger.spending(payer).value());
}

}  // namespace

Run declare_access(const Command& command) {
    auto request = std::make_shared<AccessRequest>();
    command.add_option("--run", request->run, "Run folder of holdfast fleet, of all records").required();
    add_asking_options(command, request->queries, request->ledger);
    command.add_option("--epsilon", request->epsilon, "Privacy per answer, public").required();
    command
        .add_option(
            "--rule", request->how.rule,
            "How it is told whether a label withstands that any one record is left out: bound compares "
            "N's confidence with the bound of holdfast idp; vote asks every network; hybrid asks them "
            "only below the bound; stable joins the vote with the distances of --boxes")
        .one_of({"bound", "vote", "hybrid", "stable"})
        .show_default();
    command.add_option("--boxes", request->how.boxes,
                       "Of the stable rule: run folder of holdfast train, of the same settings and data");
    command
        .add_option("--milliseconds", request->how.milliseconds,
                    "Of the hybrid rule: the public time of an answer, until which it is held back, so that "
                    "no time tells whether the networks were asked")
        .positive();
    command
        .add_option("--law", request->law,
                    "one_record_rr (of votes; the default), or idp_exponential: no noise where the label "
                    "withstands, as published")
        .one_of({"one_record_rr", "idp_exponential"});
    add_public_queries_option(command, request->public_queries);
    command.add_option("--first", request->first, "Only the first so many queries; 0: all");
    command.add_footer(
        "Queries are clipped to the public range of the features, [0, 1] where the data declare none. The "
        "account says whose neighbours count; under add_remove the time of an answer tells the number of "
        "records. A label that withstands is kept with probability min(1 - (C-1) e^-eps/C, e^eps/C), any "
        "other answer is a class at random; --rule stable keeps a label of distance h with less noise the "
        "greater h is. An answer is remembered, whoever draws it, as those of holdfast release.\n\n");
    return [request](const Context& context) { access(context, *request); };
}

}  // namespace holdfast
