#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

/// What a model is worth on held-out persons, from one noisy table of them: each person is in one cell
/// (models/privacy/mathematics.md, score table). Of two classes a row is a bin of the lead of class 1, of
/// more the class answered; a column is the true class.
struct ScoreTable {
    static constexpr std::size_t score_bins = 64;  ///< of width 1/4, the lower half answers class 0

    std::size_t rows = 0, classes = 0;
    std::vector<double> persons;  ///< [rows, classes], with noise once it is drawn

    /// Of two classes: the bin of a lead (logit of class 1 less that of class 0) under the label answered.
    static std::size_t bin_of(double lead, std::int32_t label);
    /// Which class a row answers.
    std::size_t answer_of(std::size_t row) const;
    bool scored() const { return classes == 2; }
    double at(std::size_t row, std::size_t label) const { return persons[row * classes + label]; }
    /// As a ledger keeps it, and back. Error (input): damaged, `where`.
    std::string text() const;
    static ScoreTable of(const std::string& text, const std::string& where);
};

/// Noise of a table that costs (epsilon, delta) for neighbours of one person: discrete Laplace for delta = 0,
/// else normal.
struct TableNoise {
    std::string law;   ///< "laplace" or "gaussian"
    double scale = 0;  ///< in persons: s of exp(-|k|/s), or the standard deviation
    Rational epsilon, delta;
    bool replaced = false;  ///< neighbours by `substitute`: two cells move

    /// Errors (usage): epsilon <= 0, delta outside [0, 1), or noise beyond all counts.
    static TableNoise of(const Rational& epsilon, const Rational& delta, const std::string& relation);
    double deviation() const;  ///< standard deviation of a cell's noise
    /// Persons with noise, cell by cell, of counts in shares of whole_person.
    std::vector<double> noisy(const std::vector<std::int64_t>& counts, RandomBits& bits) const;
    /// Without token and guarantee.
    Payment payment(const std::string& parameters) const;
};

/// A number and its standard error: of the noise, exactly through what is linear, and of sampling persons.
struct Estimate {
    double value = 0, error = 0;
};

/// What follows of a table alone: no proof rests on it.
struct Figures {
    double persons = 0;
    Estimate accuracy, balanced;
    std::vector<double> class_parts;  ///< [classes], of the persons
    Estimate auc, brier;              ///< of two classes
    nlohmann::json to_json(bool scored) const;
};
Figures figures_of(const ScoreTable& table, double deviation);

extern const char* const validation_mechanism;

}  // namespace holdfast
