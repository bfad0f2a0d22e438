#pragma once

#include <string>
#include <vector>

#include "tools/checks/audit.hpp"

namespace holdfast {

/// One way to look at published convex parameters, and a publication that it finds out: as NoisyAudit.
struct PublishedAudit {
    std::string subject;
    Claim claim;
    Play honest;
    std::string fault;  ///< of the broken one
    Play broken;
    std::int64_t runs = 0;  ///< in each world: enough for what is broken to be found but for 1e-6
};

/// Two worlds: no record, and one that moves the parameters as far as their radius says.
std::vector<PublishedAudit> published_audits();

Finding audit_published(const PublishedAudit& audit, bool honest, std::int64_t runs, const Rational& error,
                        const SecretKey& key);

}  // namespace holdfast
