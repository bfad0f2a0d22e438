#include "jobs/answers/release/paid_evidence.hpp"

#include "jobs/program/queries.hpp"
#include "jobs/program/ranks.hpp"

namespace holdfast {
std::vector<Evidence> PaidEvidence::of(std::span<const std::size_t> paid) const {
    const std::vector<Certificates> members = certificates(agreed(context_.world, paid));
    if (members.size() > 1) return ensemble_evidence(run_, members);
    std::vector<Evidence> evidence;
    for (std::size_t q = 0; q < paid.size(); ++q) evidence.push_back(evidence_of(run_, members.front(), q));
    return evidence;
}

void PaidEvidence::help() const {
    for (;;) {
        const std::vector<std::size_t> paid = agreed(context_.world, {});
        if (paid.empty()) return;
        certificates(paid);
    }
}

void PaidEvidence::done() const {
    agreed(context_.world, {});
}

std::vector<Certificates> PaidEvidence::certificates(std::span<const std::size_t> paid) const {
    return certify_members(context_, run_, questions_.chosen(paid), Asker::release);
}

}  // namespace holdfast
