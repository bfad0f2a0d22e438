#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dist/data/schema.hpp"
#include "kernels/base/arithmetic.hpp"
#include "models/nets/feature_map.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// A network that anyone may have, with what its parameters guarantee to those whose records they come from.
struct Model {
    Network network;
    Precision precision = Precision::double_precision;  ///< in which its outputs are computed
    std::vector<std::int64_t> parameters;               ///< [network.parameters()], parameter units
    std::string kind;                                   ///< of training, or "elsewhere"
    std::string program, version;                       ///< that trained it
    nlohmann::json guarantee;                           ///< as Guarantee::to_json() words it
    nlohmann::json cost;  ///< {epsilon, delta, mechanism, parameters}; null: no budget was spent on it
    std::optional<FeatureMap> features = std::nullopt;  ///< before the network; none: the identity
    std::optional<Schema> schema = std::nullopt;        ///< of the tables it answers about; none: not known

    FeatureMap feature_map() const {
        return features ? *features : FeatureMap(network.inputs(), network.transform());
    }
};

struct StoredModel {
    Model model;
    std::string digest;  ///< of its file: names it
};

/// Model files, HDF5, of version 1, or 2 or 3 where features are mapped, or 4 where layers are more than
/// dense, or 5 where a schema says what its columns are, or 6 where features are scattered, the oldest that
/// says all:
///   description        uint8, JSON: format "holdfast model", version, layers [[in, out], …], classes, loss,
///                      input {shift, scale, range}, precision, kind, program, program_version, guarantee,
///                      cost; of version 5 and, where it is known, 6, schema as to_json(Schema) has it; of
///                      version 2, features {columns, input {…}, edges, keep, hot, pairs}; of version 3,
///                      features {columns, input {…}, keep, norm_limit, map, …}: of map "bins" edges [[…] of
///                      a column, …], hot, pairs; "fourier" frequencies, how many there are; "prefix" prefix
///                      {input {…}, layers}, of version 6 "scattering" image [channels, height, width],
///                      weights; of version 4, features (if any) as in 3, and layers that are no dense ones
///                      with biases as objects {in, out, bias, convolution {image, window, stride, padding,
///                      dilation, groups}, pooling {kind, …}}: in is channels / groups * window, out channels
///   frequencies        of map "fourier": int64 [frequencies, columns], 2^-40 turns
///   prefix_0/…         of map "prefix": as layer_0/…, of each of its layers
///   layer_0/units      int64 [out, in + 1], the bias last in its row: the parameters
///   layer_0/weight     float64 [out, in], layer_0/bias [out]: the same for other programs, each number
///                      rounded to nearest, as 60 bits may not fit into a double. layer_1/…
///   digest             uint8, hex: BLAKE2b-256 of the description and all integers (frequencies, prefix,
///                      layers), which names the model
/// The file is a function of the model: no time, path or count of anything is in it. A layer sees
/// max(0, what the one before gives), pooled where it says so; the first, (clamp(feature; range) - shift) *
/// scale of each feature, or of each entry that the map makes of them (FeatureMap).

/// Writes `path`, for anyone (0644 less the umask), complete or not at all; returns the digest. The same
/// model again changes nothing. `before`, if any, is called with the digest once all is written and nothing
/// is seen yet: what it throws keeps the file away. Error (output): another file is there; as AtomicPath's.
std::string write_model(const std::string& path, const Model& model,
                        const std::function<void(const std::string& digest)>& before = {});

/// Checks every field, and that nothing in the file contradicts anything else there. Errors (input), naming
/// the file, the field and the remedy: no such file, no model, truncated, damaged, of a newer version.
StoredModel read_model(const std::string& path);

}  // namespace holdfast
