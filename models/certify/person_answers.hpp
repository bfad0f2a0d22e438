#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/certify/answers.hpp"
#include "models/certify/output_bounds.hpp"
#include "models/certify/stable_distance.hpp"

namespace holdfast {

/// What rows of queries are answered by: each, or all that a person has, at once.
enum class AnswerUnit {
    row,
    vote,  ///< a row a vote; of as many the least label
    mean   ///< the label, or number, of the mean of the rows' outputs
};
const char* name_of(AnswerUnit unit);
std::optional<AnswerUnit> answer_unit_named(const std::string& name);

/// The most rows of a person that a mean adds: an int64 holds as many outputs on their grid.
constexpr std::size_t most_rows_of_a_mean = std::size_t{1} << 15;

/// Outputs that a mean adds are whole numbers of 2^-26 within +-2^20: rounded and clamped, which is
/// non-decreasing, so that their sums have no order.
inline constexpr double outputs_per_unit = 0x1p26, greatest_output = 0x1p20;

/// Of every class, the outputs of the rows [first, end), added; one output is that of class 1, beside 0.
/// outputs: [rows, width]; [classes]
std::vector<std::int64_t> added_outputs(const std::vector<double>& outputs, std::size_t width,
                                        std::size_t first, std::size_t end, std::size_t classes);

/// Error (input): a person of more rows than a mean adds.
void check_rows_of_means(std::span<const std::size_t> starts);

/// What rows answer, made one answer a person: person i has the rows [starts[i], starts[i + 1]), in any
/// order. Of a vote the logits are the rows' shares of each class, [persons, classes]; of a mean those of the
/// mean.
Answers answers_of_persons(AnswerUnit unit, const Network& network, const Answers& rows,
                           std::span<const std::size_t> starts);

/// The votes' certificates from those of the rows (models/mathematics.md, answers of a person). levels: of
/// the rows' distances, level 0 among them.
Certificates votes_of_persons(const Certificates& rows, std::span<const std::size_t> starts,
                              std::size_t classes, std::size_t levels);

/// The certificates of means, level by level from 0 on, from bounds of the rows' outputs.
class MeansOfPersons {
  public:
    /// starts must outlive it. Errors: as check_rows_of_means.
    MeansOfPersons(const Network& network, std::span<const std::size_t> starts);
    void add_level(const OutputBounds& rows);
    const Certificates& certificates() const { return found_; }

  private:
    std::size_t outputs_, classes_;
    std::span<const std::size_t> starts_;
    std::size_t level_ = 0;
    Certificates found_;
};

}  // namespace holdfast
