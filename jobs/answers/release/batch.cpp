#include <algorithm>
#include <nlohmann/json.hpp>

#include "jobs/answers/release/together.hpp"

namespace holdfast {
namespace {

Guarantee batch_guarantee(const Mechanism& test, const std::string& relation) {
    Guarantee claim =
        Guarantee::proved("the labels of a file of queries, all of them or none, are together (" +
                              decimal_text(test.epsilon()) + ", " + decimal_text(test.delta()) +
                              ")-differentially private, whatever their number",
                          relation);
    claim.require(test.info().condition);
    return claim;
}

}  // namespace

Answered answer_batch(const Release& release, Ledger& ledger, RandomBits& bits) {
    const ReleaseRequest& request = release.request;
    const Mechanism test = mechanism_for(release, "ptr", request.epsilon, request.delta);
    const Guarantee claim =
        claim_of(release, batch_guarantee(test, name_of(release.run.settings.certificate.relation)));
    const auto draw = [&](std::span<const std::size_t> paid) {
        const std::vector<Evidence> evidence = release.evidence.of(paid);
        Evidence least = evidence.front();
        for (const Evidence& query : evidence) least.distance = std::min(least.distance, query.distance);
        const bool passes = test.draw(least, bits) != refused;
        std::vector<int> labels;
        for (const Evidence& query : evidence) labels.push_back(passes ? query.label : refused);
        return labels;
    };
    const nlohmann::json parameters = {{"kind", "batch"}};
    return answer_under(
        {"", test.epsilon(), test.delta(), {}, "batch", parameters.dump(), claim.to_json().dump()}, "batch",
        release, ledger, draw);
}

}  // namespace holdfast
