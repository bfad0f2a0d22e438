#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/answers/answered.hpp"
#include "jobs/answers/release/paid_evidence.hpp"
#include "models/privacy/guarantee.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

/// What the options ask for.
struct ReleaseRequest {
    std::string run, queries, answer = "row", ledger;
    std::string mechanism;  ///< "": the usual one
    double epsilon = 0, delta = 0;
    std::optional<double> threshold;  ///< of a mechanism that takes one
    std::uint64_t first = 0;
    std::string session;  ///< its name, where one is asked
    std::int64_t refusals = 1, answers = usual_session_answers;
    bool batch = false, public_queries = false;  ///< the second: said, against their look
    double total_epsilon = 0, total_delta = 0;
    std::string by = "auto";  ///< with a total: "auto", "session", "batch" or a mechanism
    std::string aggregate;    ///< of the distances of all queries, in place of labels
    std::size_t steps = 0;    ///< of a regression's predictions; 0: of a classifier, or as many as usual
};

/// What every way of answering has before anything is charged; all of it public but what `evidence`
/// gives.
struct Release {
    const Context& context;
    const ReleaseRequest& request;
    const FinishedRun& run;
    const std::vector<Digest>& digests;  ///< of the queries
    const PaidEvidence& evidence;

    const std::string& dataset() const { return run.manifest.dataset.digest; }
    bool ensemble() const { return run.members() > 1; }
    /// Among how many answers a mechanism chooses.
    int classes() const { return static_cast<int>(request.steps > 0 ? request.steps : run.classes()); }
};

/// A mechanism of public parameters that this run can feed. Errors (usage).
Mechanism mechanism_for(const Release& release, const std::string& name, double epsilon, double delta,
                        double mu = 0);

/// What the run may claim, and what `drawn` says of how answers are drawn from it.
Guarantee claim_of(const Release& release, const Guarantee& drawn);

// One way of answering each, on rank 0, from a ledger that can pay.

/// Every answer is charged on its own.
Answered answer_each(const Release& release, Ledger& ledger, RandomBits& bits);
/// Any number of answers for one charge at opening.
Answered answer_in_session(const Release& release, Ledger& ledger, RandomBits& bits);
/// All labels, or none, for one charge.
Answered answer_batch(const Release& release, Ledger& ledger, RandomBits& bits);
/// The whole file for one charge, by the route that its public numbers choose.
Answered answer_for_total(const Release& release, Ledger& ledger, RandomBits& bits);
/// No labels: one number of the distances of the file, for one charge; prints it.
void release_aggregate(const Release& release, const Questions& questions, Ledger& ledger);

}  // namespace holdfast
