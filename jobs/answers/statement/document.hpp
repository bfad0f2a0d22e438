#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

/// {software, ledger, statements[]}: for each population, from the ledger alone, what was released about its
/// people and under which guarantee, in the terms of NIST SP 800-226 (Guidelines for Evaluating Differential
/// Privacy Guarantees, 2025) and of the deployments registry of OpenDP. Equal histories of releases give
/// equal documents but for the head of the chain, which is drawn by a secret key, whatever the records: no
/// id, digest, count or path of the data is in it, and no token. Error (ExitCode::usage): a population
/// without an account; ExitCode::input: a ledger whose texts are damaged.
nlohmann::ordered_json statement_document(const Ledger& ledger, const std::vector<std::string>& populations);

}  // namespace holdfast
