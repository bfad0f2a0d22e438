#pragma once

#include <functional>
#include <vector>

#include "dist/data/dataset.hpp"
#include "kernels/ops/engine.hpp"
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

/// How far the features of a query may move at a level, from where they count and within the public range.
/// Rises with the level. Empty: not at all.
using InputRadius = std::function<double(std::size_t level)>;

/// In which order levels are asked.
enum class LevelSearch {
    bisection,   ///< nested boxes (of exact products): the fewest
    ascending,   ///< up to the first that does not hold
    exhaustive,  ///< every level for every query: the work is a function of public numbers alone, for
                 ///< releases
    each_apart   ///< bisection of each query by itself, of as many rounds whatever it finds: likewise
};

/// Stable distances over levels 0..levels-1 of which level 0 is the nominal point, queries in
/// common panels. Distances count levels: with contiguous levels they are k, else the index, which alone is
/// 1-Lipschitz (models/mathematics.md, smoothness). With a radius a level certifies or beats a class where it
/// does so at every input that the query may be (models/mathematics.md, input box); the label is that of the
/// query as it is.
Certificates certify(const Network& network, const Backend& backend, const Records& queries,
                     std::size_t levels, const LevelLoader& load, LevelSearch search,
                     const InputRadius& radius = {});

}  // namespace holdfast
