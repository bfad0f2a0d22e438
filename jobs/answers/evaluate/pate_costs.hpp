#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/privacy/evidence.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"

namespace holdfast {

/// For the owner: what all these queries would cost by the mechanisms with normal noise on votes, each answer
/// at each of the epsilons: whatever the votes are, and by a bound that looks at them. {answers, delta,
/// costs:
/// [{mechanism, epsilon_of_any_votes: [epsilons], epsilon_of_these_votes: [epsilons]}], guarantee}. Null
/// without delta, or votes. `parameters`: all but epsilon.
nlohmann::json pate_costs(const std::vector<Evidence>& queries, const std::vector<double>& epsilons,
                          MechanismParameters parameters);

/// The same as lines of a table with a column for each epsilon; empty for null.
std::string pate_lines(const nlohmann::json& costs);

}  // namespace holdfast
