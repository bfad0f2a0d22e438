#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

/// What this program was built of and runs with: `--version`, and provenance.jsonl of a run. No result
/// depends on it: bytes are the same whatever compiled them.
struct BuildInfo {
    /// [name, value], in the order they are shown: commit, compiler, build_type, options, mpi, cuda, nccl,
    /// hdf5, simd (chosen at run time). "none" where something is not there, "unknown" where nobody said.
    std::vector<std::pair<std::string, std::string>> facts;

    std::string text() const;  ///< "holdfast VERSION", then a line a fact
    nlohmann::json to_json() const;
};

BuildInfo build_info();

/// Of the sources, as git says it when they are built: 40 digits, "-modified" behind them where files differ;
/// "unknown" outside a clone. Defined by jobs/commit.cmake.
const char* commit();

}  // namespace holdfast
