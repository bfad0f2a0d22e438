#include "models/boxes/validation.hpp"

#include "models/certify/loss_bounds.hpp"

namespace holdfast {

Validation::Validation(const TrainingPlan& plan) : plan_(plan) {
    if (plan.held_out == nullptr) return;
    const Records& records = plan.held_out->records;
    for (std::size_t i = 0; i < records.size(); ++i) targets_.push_back(records.view().target(i));
    outputs_ = std::make_unique<const OutputBounder>(plan.network, *plan.backend, records);
}

bool Validation::due(std::int64_t steps) const {
    return outputs_ != nullptr &&
           (steps % plan_.held_out->every == 0 || steps == plan_.settings.training.steps());
}

ValidationMetrics Validation::of(const LevelState& least, const LevelState& widest) const {
    const auto mean_over = [&](const std::vector<std::int64_t>& lower,
                               const std::vector<std::int64_t>& upper) {
        return mean_of(loss_bounds(plan_.network.loss(), outputs_->over(lower, upper), targets_));
    };
    const LossBounds bounds = mean_over(widest.lower, widest.upper);
    ValidationMetrics metrics;
    metrics.there = true;
    metrics.loss_lower = bounds.best;
    metrics.loss_upper = bounds.worst;
    metrics.accuracy_lower = bounds.surely;
    metrics.accuracy_upper = bounds.possibly;
    if (least.k != 0) return metrics;
    const LossBounds nominal = mean_over(least.lower, least.lower);
    metrics.loss = nominal.worst;
    metrics.accuracy = nominal.surely;
    return metrics;
}

}  // namespace holdfast
