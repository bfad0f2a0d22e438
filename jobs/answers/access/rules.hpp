#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jobs/program/context.hpp"
#include "jobs/program/runs/finished_fleet.hpp"
#include "models/certify/record_claim.hpp"
#include "models/privacy/evidence.hpp"
#include "models/settings/relation.hpp"

namespace holdfast {

/// How holdfast access tells whether a label withstands that a record is left out.
class AccessRule {
  public:
    virtual ~AccessRule() = default;

    virtual std::int64_t cap() const { return 1; }               ///< largest distance: public
    virtual const char* law() const { return "one_record_rr"; }  ///< unless another is asked for
    virtual RecordClaim claim() const = 0;
    /// Labels and distances of queries, clipped, as their file has them. Collective; on all ranks. What work
    /// it does, or how long its caller sees it take, is a function of public numbers alone.
    virtual std::vector<Evidence> evidence(const Records& queries) const = 0;
};

/// What the options say of a rule.
struct AccessOptions {
    std::string rule = "vote", boxes;
    double milliseconds = 0;
};

/// Reads what the rule asks. Errors (usage): no release may rest on the fleet by it, or on what it is given
/// beside; (input): a run or file that cannot be used.
std::unique_ptr<AccessRule> access_rule(const Context& context, const FinishedFleet& fleet,
                                        const AccessOptions& options, Relation relation);

// One each:

/// All networks are asked: distance 1 if they agree.
std::unique_ptr<AccessRule> vote_rule(const Context& context, const FinishedFleet& fleet, RecordClaim claim);
/// Distance 1 where N is more confident than the bound of holdfast idp; the same work for every query.
std::unique_ptr<AccessRule> bound_rule(const FinishedFleet& fleet, RecordClaim claim);
/// What a vote says, asked only below the bound; answers held back for so long a query, a public time.
std::unique_ptr<AccessRule> hybrid_rule(const Context& context, const FinishedFleet& fleet, RecordClaim claim,
                                        double milliseconds);
/// The greater of the boxes' distance and the vote's. boxes: a run of the same settings and records.
std::unique_ptr<AccessRule> stable_rule(const Context& context, const FinishedFleet& fleet, RecordClaim claim,
                                        const std::string& boxes, Relation relation);

}  // namespace holdfast
