#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/ops/loss.hpp"

namespace holdfast {

/// How far stated probabilities can be relied on. Of several classes each figure is the one of two classes
/// taken of each against all others: their mean (auc), half their sum (brier, calibration_error).
struct ProbabilityQuality {
    std::vector<double> predicted, share;  ///< [classes]: mean probability, and part of the queries
    double auc = 0;                        ///< of the classes that occur beside others; 1/2: of one class
    double brier = 0, log_loss = 0;
    double calibration_error = 0;  ///< expected: between mean and share of each of ten bins of equal width
};

/// How good answers are, beside guessing.
struct Quality {
    std::vector<std::vector<std::uint64_t>> confusion;  ///< [true class][answered class]
    std::uint64_t queries = 0, persons = 0;             ///< who asks them
    double accuracy = 0, lowest = 0, highest = 0;       ///< its interval of 95% (Wilson), over such persons
    double commonest = 0;                               ///< of who always says the commonest class
    double balanced = 0;         ///< mean over the classes that occur of the part that is right
    double balanced_lowest = 0;  ///< where its interval of 95% begins
    double chance = 1;           ///< the balanced accuracy of who guesses
    std::optional<ProbabilityQuality> probabilities;  ///< unset: the loss makes none

    /// Is it sure, at that interval, to be better than the commonest class?
    bool beats_guessing() const { return lowest > commonest; }
    /// And with all classes counted alike, which is what weights of classes are for?
    bool tells_classes_apart() const { return balanced_lowest > chance; }
};

/// labels, truth: [queries], at least one; both below `classes`. probabilities: [queries, classes], or none.
/// ids: [queries] of persons, or none: one query each. Of whom has several, an interval takes them for as
/// good as one and the same: n queries count as n^2 over the sum of the squares of each person's (Kish 1965).
Quality quality_of(std::span<const std::int32_t> labels, std::span<const std::int32_t> truth,
                   std::size_t classes, std::span<const double> probabilities = {},
                   std::span<const std::uint64_t> ids = {});

/// What logits [queries, outputs] say of the classes, [queries, classes]; empty: the loss makes no
/// probabilities.
std::vector<double> probabilities_of(Loss loss, std::span<const double> logits, std::size_t outputs);

/// How good a regression's answers are, beside always saying the mean. Errors in the range of the targets.
struct NumericQuality {
    std::size_t queries = 0;
    double squared_error = 0, absolute_error = 0;  ///< means
    double variance = 0;                           ///< of the targets: who says their mean errs by it
    double gain_deviation = 0;                     ///< standard error of variance - squared_error

    /// The part of the variance that the answers explain (R^2): 1 where all are right, 0 or less where the
    /// mean is as good.
    double explained() const { return variance > 0 ? 1 - squared_error / variance : 0; }
    /// Is it sure, at 95% over such queries, to err less than the mean?
    bool beats_guessing() const;
};

/// answers, targets: [queries], at least one; ids as above.
NumericQuality quality_of(std::span<const double> answers, std::span<const double> targets,
                          std::span<const std::uint64_t> ids = {});
/// {mean_squared_error, mean_absolute_error, explained_variance, beats_guessing}
nlohmann::json to_json(const NumericQuality& quality);
/// unit: how long the targets' range is where their owner counts, 1 where that is not known.
std::string text_of(const NumericQuality& quality, double unit);

/// {accuracy, interval, persons, commonest_class, balanced_accuracy, beats_guessing, confusion}, and of
/// probabilities {auc, brier, log_loss, calibration_error, mean_probability, class_share}
nlohmann::json to_json(const Quality& quality);
/// Some lines: the figures, a table of up to ten classes, and a sentence where the model is no better than
/// guessing. names: of the classes, or none.
std::string text_of(const Quality& quality, const std::vector<std::string>& names = {});

}  // namespace holdfast
