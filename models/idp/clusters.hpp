#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/idp/plain_network.hpp"

namespace holdfast {

/// Networks parted into groups of near ones, [groups] of indices: k-means (Lloyd) by the 2-norm of all
/// parameters, from two to six groups, as many as the elbow of the sums of squares says (paper 001). None is
/// empty, and there are at least two where there are two networks.
std::vector<std::vector<std::size_t>> clusters_of(std::span<const PlainNetwork> networks);

}  // namespace holdfast
