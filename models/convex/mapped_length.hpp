#pragma once

#include <cmath>

#include "dist/data/dataset.hpp"
#include "models/convex/upper.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// |(phi, 1)|_2 of a row of mapped features, phi as a network without hidden layers sees it.
inline Upper mapped_length(const Network& network, const FeatureMatrix& features, std::size_t row) {
    Upper squares(1);
    for (std::size_t j = 0; j < network.inputs(); ++j) {
        const Upper value(std::abs(network.transform().apply<double>(features.at(row, j))));
        squares = squares + value * value;
    }
    return sqrt(squares);
}

}  // namespace holdfast
