#pragma once

#include <string>
#include <utility>
#include <vector>

// What the reader of a page decides by, before anything else on it.
namespace holdfast {

/// Of an account, in epsilon and delta.
struct SpentAndLeft {
    double epsilon, delta;  ///< spent
    double epsilon_budget, delta_budget;
};

/// Lines of a question and its answer (HTML); those without an answer are left out.
std::string summary_card(const std::vector<std::pair<std::string, std::string>>& lines);

/// Differential privacy for somebody whose record may be in the table. `what`: "this model"; `person`: a
/// record is a person with all rows, not one row. Rounded against whoever claims it.
std::string promise_text(double epsilon, double delta, const std::string& relation, bool person,
                         const std::string& what);
/// "epsilon 0.6 of 2 and delta 1e-06 of 2e-06; left: epsilon 1.4"; spent is rounded upward, left downward.
std::string spending_text(const SpentAndLeft& account);

}  // namespace holdfast
