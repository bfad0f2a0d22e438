// The rules that ask the bound of holdfast idp: alone, and with a vote on what lies below it.

#include <chrono>
#include <thread>

#include "jobs/answers/access/rules.hpp"
#include "jobs/program/queries.hpp"
#include "kernels/base/error.hpp"
#include "models/fleet/vote.hpp"
#include "models/idp/idp_bounds.hpp"
#include "models/idp/program_answer.hpp"

namespace holdfast {
namespace {

using Clock = std::chrono::steady_clock;

/// In which the bound's networks answer, whatever they were trained in: so do those of these rules, all of
/// them, or an answer would be about another label than the bound.
constexpr Precision precision = Precision::double_precision;

/// N, and the confidence from which no record that is left out changes its label.
class Bound {
  public:
    Bound(const FinishedFleet& fleet, const std::string& path)
        : network_(fleet.networks.network()),
          bounds_(IdpBounds::read(fleet.folder, fleet.manifest, network_.classes())),
          features_(fleet.networks.features()),
          plain_(plain_network(network_, precision, fleet.networks.nominal())) {
        if (bounds_.range != query_range(fleet.manifest.dataset.range))
            throw Error(ExitCode::input, "the bound is of queries in another range",
                        "run holdfast idp again on this fleet", path);
    }

    std::size_t classes() const { return network_.classes(); }
    std::vector<Evidence> evidence(const Records& queries) const {
        const Records mapped = features_(queries);
        std::vector<Evidence> all;
        std::vector<double> seen(network_.inputs());
        for (std::size_t q = 0; q < mapped.size(); ++q) {
            for (std::size_t j = 0; j < seen.size(); ++j)
                seen[j] = network_.transform().apply<double>(mapped.features.at(q, j));
            const ProgramAnswer answer = program_answer(plain_, classes(), precision, seen);
            Evidence evidence;
            evidence.classes = static_cast<int>(classes());
            evidence.label = static_cast<int>(answer.label);
            evidence.distance = bounds_.stays(answer.label, answer.confidence) ? 1 : 0;
            evidence.cap = 1;
            all.push_back(evidence);
        }
        return all;
    }

  private:
    const Network& network_;
    IdpBounds bounds_;
    const FeatureMap& features_;
    PlainNetwork plain_;
};

class BoundRule final : public AccessRule {
  public:
    BoundRule(const FinishedFleet& fleet, RecordClaim claim)
        : bound_(fleet, fleet.folder.file(IdpBounds::file_name)), claim_(std::move(claim)) {}
    RecordClaim claim() const override { return claim_; }
    std::vector<Evidence> evidence(const Records& queries) const override { return bound_.evidence(queries); }

  private:
    Bound bound_;
    RecordClaim claim_;
};

/// What a vote would say, asked only where the bound does not. That is told by how long it takes, so the
/// answers are held back until a public time, whatever was asked.
class HybridRule final : public AccessRule {
  public:
    HybridRule(const Context& context, const FinishedFleet& fleet, RecordClaim claim, double milliseconds)
        : context_(context),
          bound_(fleet, fleet.folder.file(IdpBounds::file_name)),
          outputs_(fleet.networks, context.world, precision),
          claim_(std::move(claim)),
          each_(milliseconds) {
        const double needed = slowest(fleet.networks.features().columns());
        if (!(each_.count() >= 2 * needed))
            throw Error(ExitCode::usage,
                        "answers are held back until a public time, in which every query could be voted on, "
                        "twice over: of this fleet, here, at least " +
                            std::to_string(2 * needed) + " milliseconds a query",
                        "give more, or --rule vote, which always takes as long as it takes",
                        "--milliseconds");
        claim_.require("every answer is ready within the public " + std::to_string(milliseconds) +
                       " milliseconds a query, until which it is held back");
        claim_.require(
            "nobody who asks sees the machine at work: its load tells on which queries the networks voted");
    }

    RecordClaim claim() const override { return claim_; }
    std::vector<Evidence> evidence(const Records& queries) const override {
        const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                              each_ * static_cast<double>(queries.size()));
        std::vector<Evidence> all = bound_.evidence(queries);
        std::vector<std::size_t> below;
        for (std::size_t q = 0; q < all.size(); ++q)
            if (all[q].distance == 0) below.push_back(q);
        const std::vector<Vote> votes =
            vote_of(outputs_, context_.world, outputs_.mapped(chosen_records(queries, below)));
        for (std::size_t i = 0; i < below.size(); ++i) all[below[i]].distance = votes[i].removal_distance();
        std::this_thread::sleep_until(until);
        return all;
    }

  private:
    /// Milliseconds of a vote, of one query and of each of several, whichever is more; of queries of zeros.
    double slowest(std::size_t columns) const {
        double most = 0;
        const std::vector<double> zeros(columns, 0);
        for (const std::size_t count : {1, 32}) {
            Records queries{FeatureMatrix(columns, true), {}, {}, {}};
            for (std::size_t i = 0; i < count; ++i) {
                queries.features.append(zeros.data());
                queries.ids.push_back(i);
                queries.rows.push_back(i);
            }
            const auto start = Clock::now();
            vote_of(outputs_, context_.world, outputs_.mapped(queries));
            const std::chrono::duration<double, std::milli> took = Clock::now() - start;
            most = std::max(most, took.count() / static_cast<double>(count));
        }
        // The slowest rank's, in nanoseconds: all come to the same.
        std::vector<std::int64_t> agreed{static_cast<std::int64_t>(1e6 * most)};
        context_.world.max(agreed);
        return 1e-6 * static_cast<double>(agreed.front());
    }

    const Context& context_;
    Bound bound_;
    FleetOutputs outputs_;
    RecordClaim claim_;
    std::chrono::duration<double, std::milli> each_;
};

}  // namespace

std::unique_ptr<AccessRule> bound_rule(const FinishedFleet& fleet, RecordClaim claim) {
    return std::make_unique<BoundRule>(fleet, std::move(claim));
}

std::unique_ptr<AccessRule> hybrid_rule(const Context& context, const FinishedFleet& fleet, RecordClaim claim,
                                        double milliseconds) {
    if (milliseconds <= 0)
        throw Error(ExitCode::usage, "until when are answers to be held back?",
                    "give the public time of an answer, such as --milliseconds 50", "--milliseconds");
    return std::make_unique<HybridRule>(context, fleet, std::move(claim), milliseconds);
}

}  // namespace holdfast
