#include "jobs/release/release.hpp"

namespace holdfast {

Answered answer_each(const Release& release, Ledger& ledger, RandomBits& bits) {
    const ReleaseRequest& request = release.request;
    const Mechanism mechanism = mechanism_for(release, request.mechanism, request.epsilon, request.delta);
    const Guarantee claim =
        claim_of(release.run, mechanism.guarantee(name_of(release.run.settings.certificate.relation)));
    const auto draw = [&](std::span<const std::size_t> paid) {
        std::vector<int> labels;
        for (const Evidence& query : release.evidence.of(paid)) labels.push_back(mechanism.draw(query, bits));
        return labels;
    };
    const Charge charge{mechanism.epsilon(), mechanism.delta(), request.mechanism, claim.to_json().dump(),
                        mechanism.info().gaussian};
    Answered answered;
    std::int64_t charged = 0;
    for (LedgerAnswer& answer : ledger.answer(release.dataset(), charge, release.digests, draw)) {
        charged += answer.remembered ? 0 : 1;
        answered.answers.emplace_back(std::move(answer));
    }
    const std::int64_t remembered = static_cast<std::int64_t>(answered.answers.size()) - charged;
    answered.cost = {{"epsilon_per_answer", request.epsilon},
                     {"delta_per_answer", request.delta},
                     {"charged_answers", charged},
                     {"remembered_answers", remembered}};
    answered.said = std::to_string(charged) + " answers charged at epsilon " +
                    decimal_text(mechanism.epsilon()) + ", " + std::to_string(remembered) + " remembered";
    return answered;
}

}  // namespace holdfast
