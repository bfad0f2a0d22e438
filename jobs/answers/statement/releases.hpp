#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

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

}  // namespace holdfast
