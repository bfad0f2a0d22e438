#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

// The sections of a statement that follow from the terms of an account, in words for people who decide by
// them.

nlohmann::ordered_json privacy_loss_of(const Spending& spent);
nlohmann::ordered_json unit_of(const std::vector<DatasetVersion>& versions);
nlohmann::ordered_json neighbours_of(const std::string& relation);
nlohmann::ordered_json composition_section(const Budget& budget);

/// The same of every account: who sees what, who is trusted, how data are kept, what is assumed, what is
/// left.
nlohmann::ordered_json threat_model();
nlohmann::ordered_json trust_model();
nlohmann::ordered_json data_handling();
/// `gaps`: what the guarantees of releases leave open.
nlohmann::ordered_json assumptions(const std::vector<std::string>& gaps);
nlohmann::ordered_json not_covered();

}  // namespace holdfast
