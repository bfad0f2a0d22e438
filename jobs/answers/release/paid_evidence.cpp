#include "jobs/answers/release/paid_evidence.hpp"

#include "jobs/program/queries.hpp"
#include "jobs/program/ranks.hpp"
#include "jobs/program/transport.hpp"
#include "kernels/base/error.hpp"
#include "models/certify/prediction_steps.hpp"

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
    const Questions chosen = questions_.chosen(paid);
    if (!run_.network.is_regression()) return certify_members(context_, run_, chosen, Asker::release);
    PredictionSteps steps(run_.manifest.dataset.target_range, steps_);
    const auto [first, last] = share_of(context_.world, chosen.rows.size());
    const bool has_boxes = run_.certificate->output_bounds(
        0, run_.features(part_of(chosen.rows, first, last)), choose_device(run_.how.backend, context_.world),
        [&](std::size_t, const OutputBounds& bounds) {
            steps.add_level({gathered(context_.world, bounds.lower), gathered(context_.world, bounds.upper)});
        });
    ensure(has_boxes, "answers of a regression rest on boxes");
    std::vector<Certificates> of_run;
    of_run.push_back(std::move(steps).certificates());
    return of_run;
}

}  // namespace holdfast
