#pragma once

#include <cstdint>
#include <vector>

#include "models/privacy/rational.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

// Integer probabilities whose ratios are bounded exactly. Entry h of a table belongs to distance h. Tables
// end at the cap, at `longest_table`, or where they stop changing; a larger h means the last entry (a
// 1-Lipschitz distance stays so when capped). Why rounding breaks no ratio: the law drawn is the table
// itself, over a power of two; each entry is rounded up to at least e^-epsilon times (its predecessor less
// delta), with e^-epsilon itself bounded above, so the inequality that privacy asks for holds between the
// integers, not only between the real numbers they stand for.

using ProbabilityTable = std::vector<Word128>;

inline constexpr std::int64_t longest_table = 65536;

/// Of the last entry that a table for distances up to `cap` may need.
std::int64_t last_entry(std::int64_t cap);
ProbabilityTable to_words(const std::vector<Integer>& entries);
Word128 entry_at(const ProbabilityTable& table, std::int64_t distance);

/// numerator/2^bits
Rational fraction(Word128 numerator, unsigned long bits);
std::vector<double> to_doubles(const std::vector<Rational>& exact);

}  // namespace holdfast
