#pragma once

#include <functional>
#include <vector>

#include "dist/store/dataset.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// One member's certificates of the queries, in their order.
struct Certificates {
    std::vector<std::int32_t> labels;     ///< [queries] nominal label
    std::vector<std::int64_t> distances;  ///< [queries] h: how many leading levels 1..h certify the label
    std::vector<std::int64_t>
        class_distances;  ///< [queries, classes] d_j: leading levels 0.. at which class j is beaten
};

/// Loads the box of one level (an index, not a k).
using LevelLoader = std::function<void(std::size_t level, std::vector<std::int64_t>& lower,
                                       std::vector<std::int64_t>& upper)>;

/// Stable distances of section 3 over levels 0..levels-1 of which level 0 is the nominal point. With `nested`
/// boxes (all but Product::rump) levels are searched by bisection, queries in common panels; otherwise level
/// by level. Distances count levels: with contiguous levels they are k, else the index, which alone is
/// 1-Lipschitz. `with_class_distances`: also d_j (for two classes they follow from h and are always given).
template <typename Real>
Certificates certify(const Network& network, const BasicBackend<Real>& backend, const Records& queries,
                     std::size_t levels, const LevelLoader& load, bool nested, bool with_class_distances);

}  // namespace holdfast
