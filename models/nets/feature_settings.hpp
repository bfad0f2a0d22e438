#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/nets/feature_map.hpp"

namespace holdfast {

template <typename Section>
struct BasicOption;  // models/settings/option.hpp

/// Section "features".
struct FeatureSettings {
    enum class Map { none, bins, fourier, prefix, scattering };
    Map map = Map::none;
    std::int64_t bins = 16;                  ///< of equal width, of every column
    std::vector<std::int64_t> column_bins;   ///< instead: one number a column
    std::vector<std::vector<double>> edges;  ///< instead of both: of every column, or one list a column
    bool keep = true;
    double hot = 1.0;
    bool trend = false;
    std::vector<std::int64_t> pairs;  ///< [i, j, i, j, …], columns counted from 0
    std::int64_t frequencies = 128;
    double bandwidth = 1.0;
    std::int64_t seed = 0;      ///< public: of the frequencies
    std::string prefix;         ///< a model file
    std::string prefix_digest;  ///< of the model in it; empty: of whichever is there
    std::vector<std::int64_t>
        image;  ///< [channels, height, width] of a scattering; []: a square of one channel
    std::vector<double> weights{Scattering::usual_weights.begin(), Scattering::usual_weights.end()};
    double norm_limit = 0;  ///< 0: none

    /// With the digest of the prefix that is there now. Errors (input), as read_model's.
    FeatureSettings pinned() const;
    /// Copies the prefix, if there is one, into the folder of a run. Errors (input), as make's: what lies
    /// there afterwards is the one that is meant; (output), as AtomicPath's.
    void keep_prefix(const std::string& folder) const;
    /// With the prefix that lies in the folder of a run.
    FeatureSettings kept_in(const std::string& folder) const;
    /// Errors (usage): what does not fit the columns; equal widths of a range that nobody stated; a prefix
    /// that has no hidden layers, or shift and scale beside those it has; columns that are no image. (input):
    /// the prefix is not there, or is another one than prefix_digest says.
    FeatureMap make(std::size_t columns, InputTransform input) const;
};

std::vector<BasicOption<FeatureSettings>> feature_options();
/// Error (usage): settings that contradict.
void check(const FeatureSettings& settings);

}  // namespace holdfast
