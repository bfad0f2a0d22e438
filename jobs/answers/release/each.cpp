#include <nlohmann/json.hpp>

#include "jobs/answers/release/release.hpp"

namespace holdfast {

Answered answer_each(const Release& release, Ledger& ledger, RandomBits& bits) {
    const ReleaseRequest& request = release.request;
    const Mechanism mechanism = mechanism_for(release, request.mechanism, request.epsilon, request.delta);
    const Guarantee claim =
        claim_of(release, mechanism.guarantee(name_of(release.run.settings.certificate.relation)));
    const auto draw = [&](std::span<const std::size_t> paid) {
        std::vector<int> labels;
        for (const Evidence& query : release.evidence.of(paid)) labels.push_back(mechanism.draw(query, bits));
        return labels;
    };
    const Charge charge{mechanism.epsilon(), mechanism.delta(), request.mechanism, claim.to_json().dump(),
                        mechanism.info().gaussian};
    return answer_charged(ledger, release.dataset(), charge, release.digests, draw, request.epsilon,
                          request.delta);
}

}  // namespace holdfast
