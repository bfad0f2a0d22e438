#pragma once

#include <span>

#include "models/convex/upper.hpp"
#include "models/nets/scattering.hpp"

namespace holdfast {

/// Of a linear function w of a scattering's entries: how fast it can change with the image, in units of the
/// range, and how fast with the entries before their weights (models/mathematics.md, scattering slope).
struct ScatteringSlope {
    Upper by_image, by_entries;
};

/// w: [map.outputs()], each up to 2^-52 of itself.
ScatteringSlope slope_of(const Scattering& map, std::span<const double> w);

}  // namespace holdfast
