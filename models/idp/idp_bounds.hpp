#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "dist/runs/manifest.hpp"
#include "kernels/ops/input_transform.hpp"
#include "models/privacy/guarantee.hpp"

namespace holdfast {

/// What `holdfast idp` found for one class: where N's confidence in it is above `upper`, every network of the
/// fleet gives that class too.
struct IdpClass {
    double lower = 0, upper = 0;          ///< of the iDP deterministic bound
    std::optional<std::uint64_t> record;  ///< whose removal changes the label at the witness
    std::vector<double> input;            ///< the witness, as a query has it; empty without
    double seconds = 0;
    bool complete = false;  ///< upper <= (1 + gap) lower, or as near as the program resolves
};

/// idp.json of a fleet's run folder, for the owner (0600). Confidence is that of the program: the least of
/// the computed margins of a class over the others (program_answer()).
struct IdpBounds {
    static constexpr const char* file_name = "idp.json";

    std::string fleet;   ///< digest of the fleet, as its manifest has it
    FeatureRange range;  ///< of queries: the bounds hold of those clipped to it, feature by feature
    double gap = 0;
    std::vector<std::optional<IdpClass>> classes;  ///< nothing of those that were not asked

    /// Does removing any one record of the fleet leave the label c, given with this confidence? NaN: no.
    bool stays(std::size_t c, double confidence) const {
        return classes[c] && confidence > classes[c]->upper;
    }
    /// Takes over what `earlier`, of the same fleet and range, knows better: every bound of either holds.
    void keep_better(const IdpBounds& earlier);

    /// Every rank's classes on every rank, where each class is known to one at most. Collective.
    void gather(const Communicator& ranks);

    nlohmann::json to_json(const Guarantee& claim, double seconds) const;
    void write(const RunFolder& run, const Guarantee& claim, double seconds) const;
    static bool known(const RunFolder& run);  ///< has such a file been written?
    /// Errors (input): none there; of another fleet; damaged.
    static IdpBounds read(const RunFolder& run, const RunManifest& manifest, std::size_t classes);
};

/// Where queries are clipped to: the range that the dataset declares, else [0, 1].
FeatureRange query_range(const FeatureRange& declared);

/// Of bounds of a fleet without `left_out` of `records` records; it rests on the fleet's own claim.
Guarantee idp_claim(const FeatureRange& range, std::uint64_t left_out, std::uint64_t records);

}  // namespace holdfast
