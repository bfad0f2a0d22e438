#pragma once

#include <cstddef>
#include <vector>

#include "jobs/study/risk/attacked.hpp"
#include "jobs/study/risk/report.hpp"

namespace holdfast {

/// Each column guessed by who knows the others, the label and the model: that of a few values which, beside
/// how common it is among those held out, makes the label likeliest. Values are the column's own where they
/// are few, else the middles of equal parts; a guess is right where it is the nearest to the truth. One row a
/// person, of 1000 persons a side at most. Evenly taken, so many columns at most; error: of all intervals
/// together. Those that differ most come first.
std::vector<AttributeAttack> attribute_attacks(const AttackedRun& attacked, const AskedPersons& persons,
                                               std::size_t most_columns, const Rational& error);

}  // namespace holdfast
