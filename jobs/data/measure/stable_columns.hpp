#pragma once

#include <optional>
#include <string>

#include "jobs/program/job.hpp"

namespace holdfast {

/// What `measure --support` is asked.
struct SupportChoice {
    std::string data, ledger, out, run;
    std::optional<double> epsilon, delta;  ///< what it costs
};

/// Tells which columns the l1 penalty of a convex run left in its model, or refuses, once, for a charge to
/// the account of the records that it was trained on, and writes their dataset without the others
/// (models/privacy/mathematics.md, stable support). Root alone works; the others wait.
void choose_stable_columns(const Context& context, const SupportChoice& choice);

}  // namespace holdfast
