#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

// The sections of a statement that follow from the terms of an account, in words for people who decide by
// them.

nlohmann::ordered_json privacy_loss_of(const Spending& spent, const std::string& relation);
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

/// All that was charged to a population, as the ledger has it.
struct Released {
    std::vector<LedgerTerms> answers;
    std::vector<LedgerPayment> payments;

    bool any() const { return !answers.empty() || !payments.empty(); }
    std::int64_t models() const;  ///< published
};

/// One entry a release: answers of equal terms together, then payments with the models published under them.
nlohmann::ordered_json releases_of(const Released& released);

/// The days of the first and of the last; null where there are none.
nlohmann::ordered_json period_of(const Released& released);

/// What the weakest of their guarantees says: "proved", or how many are not.
std::string status_of(const nlohmann::ordered_json& releases);

/// The statement of one population in the terms of NIST SP 800-226: the components of its pyramid, from the
/// top.
nlohmann::ordered_json nist_section(const nlohmann::ordered_json& statement);

/// An entry for the deployments registry of OpenDP, in its fields. What a ledger cannot know is null.
nlohmann::ordered_json registry_entry(const nlohmann::ordered_json& statement);

}  // namespace holdfast
