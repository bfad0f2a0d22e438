#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dist/comm/communicator.hpp"
#include "dist/runs/run_folder.hpp"

namespace holdfast {

/// {"hosts": {NAME: ranks}, "instruction_sets": {INSTRUCTION SET: ranks}} of all ranks. Collective.
nlohmann::json machines_of(const Communicator& world);

/// Adds a line to provenance.jsonl of a run: what --version says of this program, the machines, when it began
/// by UTC, and `how` (ranks, grid, …). Beside the manifest, whose bytes are the same on any machine; no line
/// depends on a record. For one rank. Error (output).
void record_provenance(const RunFolder& run, const nlohmann::json& machines, const nlohmann::json& how);

}  // namespace holdfast
