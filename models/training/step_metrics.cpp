#include "models/training/step_metrics.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/base/text.hpp"

namespace holdfast {

StepMetrics StepMetrics::of(const TrainingSettings& training, std::int64_t step, std::int64_t records) {
    StepMetrics metrics;
    metrics.step = step;
    metrics.epoch = step / training.batches;
    metrics.batch = step % training.batches;
    metrics.records = records;
    metrics.learning_rate = training.learning_rate_at(step);
    return metrics;
}

StepMetrics StepMetrics::of_point(const TrainingSettings& training, std::int64_t step, std::int64_t records,
                                  std::int64_t correct, std::size_t layers) {
    StepMetrics metrics = of(training, step, records);
    metrics.correct = metrics.surely_correct = metrics.possibly_correct = correct;
    metrics.width_mean = metrics.width_max = 0;
    metrics.layer_width_mean.assign(layers, 0);
    metrics.layer_width_max = metrics.charge_share = metrics.layer_width_mean;
    metrics.undecided.assign(layers - 1, 0);
    return metrics;
}

nlohmann::json StepMetrics::to_json(std::size_t member) const {
    const auto fraction = [&](std::int64_t count) {
        return records == 0 || count < 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(records);
    };
    nlohmann::json line = {{"member", member},
                           {"step", step},
                           {"epoch", epoch},
                           {"batch", batch},
                           {"learning_rate", learning_rate},
                           {"records", records},
                           {"accuracy", fraction(correct)},
                           {"level", level},
                           {"accuracy_lower", fraction(surely_correct)},
                           {"accuracy_upper", fraction(possibly_correct)},
                           {"width_mean", width_mean},
                           {"width_max", width_max},
                           {"layer_width_mean", layer_width_mean},
                           {"layer_width_max", layer_width_max},
                           {"undecided", undecided},
                           {"charge_share", charge_share}};
    if (validation.there) {
        line["validation_loss"] = validation.loss;
        line["validation_loss_lower"] = validation.loss_lower;
        line["validation_loss_upper"] = validation.loss_upper;
        line["validation_accuracy"] = validation.accuracy;
        line["validation_accuracy_lower"] = validation.accuracy_lower;
        line["validation_accuracy_upper"] = validation.accuracy_upper;
    }
    if (possibly_correct < 0) {  // a regression
        for (const char* name : {"accuracy", "accuracy_lower", "accuracy_upper", "validation_accuracy",
                                 "validation_accuracy_lower", "validation_accuracy_upper"})
            line.erase(name);
    }
    return line;
}

std::string StepMetrics::text() const {
    std::string line = printed("step %5.0f  k %3.0f", static_cast<double>(step), static_cast<double>(level));
    const auto add = [&](const char* name, const std::vector<double>& values, const char* format,
                         double scale) {
        line += std::string("  ") + name;
        for (const double value : values) line += printed(format, value * scale);
    };
    add("widths", layer_width_mean, " %.2e", 1);
    add("widest", layer_width_max, " %.2e", 1);
    if (!undecided.empty()) add("may change sign", undecided, " %5.1f%%", 100);
    add("charge", charge_share, " %5.1f%%", 100);
    if (validation.there)
        add("validation loss", {validation.loss_lower, validation.loss, validation.loss_upper}, " %.4g", 1);
    return line;
}

void StepMetrics::merge(const StepMetrics& other) {
    const StepMetrics mine = *this;
    if (other.level > level) *this = other;  // the bounds are those of the largest level
    correct = std::max(mine.correct, other.correct);
    validation.loss = std::max(mine.validation.loss, other.validation.loss);
    validation.accuracy = std::max(mine.validation.accuracy, other.validation.accuracy);
}

std::string metrics_lines(const std::vector<StepMetrics>& steps, std::size_t member) {
    std::string lines;
    for (const StepMetrics& step : steps) lines += step.to_json(member).dump() + "\n";
    return lines;
}

}  // namespace holdfast
