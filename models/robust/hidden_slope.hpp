#pragma once

#include <vector>

#include "models/convex/upper.hpp"
#include "models/idp/plain_network.hpp"
#include "models/nets/feature_map.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// What the layers before the last do to what the first one reads, of a length of l, in l2
/// (models/mathematics.md, deep radius).
struct HiddenSlope {
    /// What the last layer reads is no longer than `by_length` l + `alone`, or off what it would read in real
    /// numbers by no more.
    struct Bound {
        Upper by_length, alone;
        Upper at(Upper length) const { return by_length * length + alone; }
    };
    Bound size{Upper(1), Upper()};  ///< by_length: no move comes out longer than so many times itself, either
    Bound rounding;
};

/// map: what the network reads features by, each value as it is computed off by no more than `seen` of
/// itself.
HiddenSlope hidden_slope(const Network& network, const FeatureMap& map, Precision precision,
                         const std::vector<std::int64_t>& parameters, double seen);

/// At least the greatest singular value: by Cholesky (models/mathematics.md, smallest eigenvalue), of great
/// matrices by sums of their rows and columns.
Upper spectral_norm(const AffineLayer& layer);

}  // namespace holdfast
