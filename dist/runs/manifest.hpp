#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dist/data/public_facts.hpp"
#include "dist/runs/run_folder.hpp"
#include "kernels/base/version.hpp"

namespace holdfast {

/// What a run keeps of the dataset it was trained on.
struct DatasetFacts : PublicFacts {  ///< all but PublicFacts::source
    std::string path;
    std::uint64_t rows = 0;  ///< found: for the owner only
    std::uint64_t features = 0;
    std::uint64_t classes = 0;
    std::string digest;  ///< of the set of records: RecordDigest
};

/// Records trained on beside the private ones.
struct PublicRecords {
    std::uint64_t records = 0;
    std::string digest;  ///< empty: there are none
    /// Of the records in their order, where steps take them row after row; empty: no step depends on it.
    std::string order = "";
    bool operator==(const PublicRecords&) const = default;
};

/// manifest.json: what a finished run is and what made it. This is its one writer and its one reader. Runs of
/// other formats are refused: they have no seal either (dist/files/seal.hpp).
struct RunManifest {
    static constexpr std::uint64_t format = 4;

    std::string kind;  ///< of training, and so of what the folder holds: training.kind
    std::string program = "holdfast", version = holdfast::version();
    nlohmann::json configuration;  ///< {"section.key": value, …} of every option
    DatasetFacts dataset;
    PublicRecords public_records;
    std::uint64_t members = 0, steps = 0, parameters = 0;
    std::vector<std::int64_t> levels;
    std::vector<std::vector<std::uint64_t>> layers;  ///< [in, out] of each
    double normaliser = 0;
    std::string relation;
    bool sample = false;  ///< of a fleet: it was asked to leave out only some records; stated where true
    std::string digest;   ///< of the result: names the run
    std::string metrics;  ///< digest of metrics.jsonl; empty: there is none
    nlohmann::json arithmetic;  ///< the grids on which the guarantee holds bit by bit
    nlohmann::json guarantee;   ///< as Guarantee::to_json() words it
    /// {token, epsilon, delta, mechanism, parameters}: what a ledger was charged for it; null: nothing.
    nlohmann::json payment;

    nlohmann::json to_json() const;
    void write(const RunFolder& run) const;
    /// Errors (input), naming the file and the field: damaged, incomplete, or of a format that is not known.
    static RunManifest read(const RunFolder& run);
};

}  // namespace holdfast
