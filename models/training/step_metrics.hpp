#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/training/settings.hpp"

namespace holdfast {

/// What held out records say of a box: of its networks the mean loss, and of classifiers the accuracy.
struct ValidationMetrics {
    bool there = false;                                  ///< else nobody looked
    double loss = -1, loss_lower = -1, loss_upper = -1;  ///< -1: this rank has no box of it
    double accuracy = -1, accuracy_lower = -1, accuracy_upper = -1;

    template <typename Archive>
    void serialize(Archive& archive, unsigned) {
        archive& there& loss& loss_lower& loss_upper& accuracy& accuracy_lower& accuracy_upper;
    }
};

/// What one step says of itself; -1 where this rank does not hold the level, and
/// of a regression.
struct StepMetrics {
    std::int64_t step = 0, epoch = 0, batch = 0, records = 0;
    std::int64_t correct = -1, surely_correct = -1, possibly_correct = -1;
    std::int64_t level = 0;
    double learning_rate = 0, width_mean = -1, width_max = -1;
    /// Of the box of `level`, layer by layer: the mean and the largest width of its parameters' intervals.
    std::vector<double> layer_width_mean, layer_width_max;
    /// [hidden layers]: of the activations of the batch's records in the box that the step began with, the
    /// fraction that is 0 in some of it and above 0 in some (StepMessage::undecided).
    std::vector<double> undecided;
    /// [layers]: how much of the width is there because records may change, the rest being the spread of
    /// bounds over the box. per_batch: of the width of the step's sum over every neighbour's records, the
    /// part that charging added. per_epoch and both: of the width of T^k after the step, the part that is not
    /// the core's. Widths are summed over the layer's parameters.
    std::vector<double> charge_share;
    /// Of the boxes that the step ended with, where they were looked at: the nominal run, bounds over T^k.
    ValidationMetrics validation = {};

    template <typename Archive>
    void serialize(Archive& archive, unsigned) {
        archive& step& epoch& batch& records& correct& surely_correct& possibly_correct& level& learning_rate&
            width_mean& width_max& layer_width_mean& layer_width_max& undecided& charge_share;
        archive& validation;
    }
    /// What the settings alone say of a step of so many records.
    static StepMetrics of(const TrainingSettings& training, std::int64_t step, std::int64_t records);
    /// Of a point of so many layers, which has no width.
    static StepMetrics of_point(const TrainingSettings& training, std::int64_t step, std::int64_t records,
                                std::int64_t correct, std::size_t layers);
    std::string text() const;  ///< the figures of the largest level and its layers, as one line
    nlohmann::json to_json(std::size_t member) const;
    void merge(const StepMetrics& other);  ///< of the same step, from a rank with other levels
};

/// A member's lines of metrics.jsonl.
std::string metrics_lines(const std::vector<StepMetrics>& steps, std::size_t member);

}  // namespace holdfast
