#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dist/runs/run_folder.hpp"

namespace holdfast {

/// Adds a line to provenance.jsonl of a run: what --version says of this program, the host of rank 0, when it
/// began by UTC, and `how` (ranks, grid, …). Beside the manifest, whose bytes are the same on any machine; no
/// line depends on a record. For one rank. Error (output).
void record_provenance(const RunFolder& run, const nlohmann::json& how);

}  // namespace holdfast
