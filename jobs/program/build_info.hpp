#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {

/// What this program was built of and runs with: `--version`, and provenance.jsonl of a run. No result
/// depends on it: bytes are the same whatever compiled them.
struct BuildInfo {
    /// [name, value], in the order they are shown: commit, sources, compiler, build_type, options, mpi, cuda,
    /// nccl, hdf5, simd (chosen at run time). "none" where something is not there, "unknown" where nobody
    /// said.
    std::vector<std::pair<std::string, std::string>> facts;

    std::string text() const;  ///< "holdfast VERSION", then a line a fact
    nlohmann::json to_json() const;
};

BuildInfo build_info();

/// "0.1.0+" and sources(): names the program in what only the same program may go on with, on any host. The
/// compiler and the options have no part in it, as no result depends on them.
std::string program_identity();

/// A digest of the sources, 16 hexadecimal digits. Defined by jobs/program/commit.cmake.
const char* sources();

/// Of the sources, as git says it when they are built: 40 digits, "-modified" behind them where files differ;
/// "unknown" outside a clone. Defined by jobs/program/commit.cmake.
const char* commit();

}  // namespace holdfast
