#include "models/certify/person_answers.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"
#include "models/certify/margins.hpp"

namespace holdfast {
namespace {

std::int64_t units_of(double output) {
    const double inside = output >= -greatest_output ? std::min(output, greatest_output) : -greatest_output;
    return std::llrint(inside * outputs_per_unit);
}

/// Bounds of the score of every class, of one person at one level.
struct Scores {
    std::vector<std::int64_t> lower, upper;  // [classes]

    /// Is c the answer before j, whatever the scores within their bounds? Of equal ones the least class is.
    bool beats(std::size_t c, std::size_t j) const {
        return lower[c] > upper[j] || (lower[c] == upper[j] && c < j);
    }
    bool beaten(std::size_t j) const {
        for (std::size_t c = 0; c < lower.size(); ++c)
            if (c != j && beats(c, j)) return true;
        return false;
    }
    bool certified(std::size_t c) const {
        for (std::size_t j = 0; j < lower.size(); ++j)
            if (j != c && !beats(c, j)) return false;
        return true;
    }
    /// Of known scores, a level of which bounds are not looked at.
    std::int32_t winner() const {
        return static_cast<std::int32_t>(
            greatest_logit(lower.size(), [&](std::size_t c) { return lower[c]; }));
    }
};

/// Leading levels at which something holds go up by one, if it holds at `level` and did at all before.
void extend(std::int64_t& leading, std::size_t level, bool holds) {
    if (holds && leading == static_cast<std::int64_t>(level)) ++leading;
}

}  // namespace

const char* name_of(AnswerUnit unit) {
    if (unit == AnswerUnit::row) return "row";
    return unit == AnswerUnit::vote ? "vote" : "mean";
}

std::optional<AnswerUnit> answer_unit_named(const std::string& name) {
    for (const AnswerUnit unit : {AnswerUnit::row, AnswerUnit::vote, AnswerUnit::mean})
        if (name == name_of(unit)) return unit;
    return std::nullopt;
}

std::vector<std::int64_t> added_outputs(const std::vector<double>& outputs, std::size_t width,
                                        std::size_t first, std::size_t end, std::size_t classes) {
    std::vector<std::int64_t> scores(classes);
    for (std::size_t r = first; r < end; ++r) {
        for (std::size_t c = 0; c < width; ++c)
            scores[classes - width + c] += units_of(outputs[r * width + c]);
    }
    return scores;
}

void check_rows_of_means(std::span<const std::size_t> starts) {
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
        if (starts[i + 1] - starts[i] > most_rows_of_a_mean)
            throw Error(
                ExitCode::input,
                "a person of more rows than the " + std::to_string(most_rows_of_a_mean) + " that a mean adds",
                "ask for votes: --answer vote", "--answer");
    }
}

Answers answers_of_persons(AnswerUnit unit, const Network& network, const Answers& rows,
                           std::span<const std::size_t> starts) {
    if (unit == AnswerUnit::row) return rows;
    if (unit == AnswerUnit::mean) check_rows_of_means(starts);
    const std::size_t width = network.outputs(), classes = network.classes();
    Answers persons;
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
        const auto count = static_cast<double>(starts[i + 1] - starts[i]);
        Scores scores;
        if (unit == AnswerUnit::vote) {
            scores.lower.resize(classes);
            for (std::size_t r = starts[i]; r < starts[i + 1]; ++r)
                ++scores.lower[static_cast<std::size_t>(rows.labels[r])];
            for (const std::int64_t votes : scores.lower)
                persons.logits.push_back(static_cast<double>(votes) / count);
        } else {
            scores.lower =
                added_outputs(rows.logits, width, starts[i], starts[i + 1], std::max(classes, width));
            for (std::size_t c = scores.lower.size() - width; c < scores.lower.size(); ++c)
                persons.logits.push_back(static_cast<double>(scores.lower[c]) / outputs_per_unit / count);
        }
        if (!network.is_regression()) persons.labels.push_back(scores.winner());
    }
    return persons;
}

Certificates votes_of_persons(const Certificates& rows, std::span<const std::size_t> starts,
                              std::size_t classes, std::size_t levels) {
    Certificates persons;
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
        std::vector<std::int64_t> beaten(classes);
        std::int64_t distance = 0;
        std::int32_t label = 0;
        for (std::size_t level = 0; level < levels; ++level) {
            const auto k = static_cast<std::int64_t>(level);
            Scores votes{std::vector<std::int64_t>(classes), std::vector<std::int64_t>(classes)};
            for (std::size_t r = starts[i]; r < starts[i + 1]; ++r) {
                if (rows.distances[r] >= k) ++votes.lower[static_cast<std::size_t>(rows.labels[r])];
                for (std::size_t j = 0; j < classes; ++j)
                    if (rows.class_distances[r * classes + j] <= k) ++votes.upper[j];
            }
            if (level == 0) label = votes.winner();  // every row has its label there
            for (std::size_t j = 0; j < classes; ++j) extend(beaten[j], level, votes.beaten(j));
            if (level > 0) extend(distance, level - 1, votes.certified(static_cast<std::size_t>(label)));
        }
        persons.labels.push_back(label);
        persons.distances.push_back(distance);
        persons.class_distances.insert(persons.class_distances.end(), beaten.begin(), beaten.end());
    }
    return persons;
}

MeansOfPersons::MeansOfPersons(const Network& network, std::span<const std::size_t> starts)
    : outputs_(network.outputs()), classes_(network.classes()), starts_(starts) {
    check_rows_of_means(starts);
    const std::size_t persons = starts.size() - 1;
    found_ = {std::vector<std::int32_t>(persons), std::vector<std::int64_t>(persons),
              std::vector<std::int64_t>(persons * classes_)};
}

void MeansOfPersons::add_level(const OutputBounds& rows) {
    for (std::size_t i = 0; i + 1 < starts_.size(); ++i) {
        const Scores means{added_outputs(rows.lower, outputs_, starts_[i], starts_[i + 1], classes_),
                           added_outputs(rows.upper, outputs_, starts_[i], starts_[i + 1], classes_)};
        if (level_ == 0) found_.labels[i] = means.winner();
        for (std::size_t j = 0; j < classes_; ++j)
            extend(found_.class_distances[i * classes_ + j], level_, means.beaten(j));
        if (level_ > 0)
            extend(found_.distances[i], level_ - 1,
                   means.certified(static_cast<std::size_t>(found_.labels[i])));
    }
    ++level_;
}

}  // namespace holdfast
