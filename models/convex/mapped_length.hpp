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

/// The same of the mean of the rows [first, end) of (phi, 1): no longer than theirs, and shorter where they
/// differ. A sum of n numbers is off by n 2^-53 of what their sizes add to, at most.
inline Upper mean_length(const Network& network, const FeatureMatrix& features, std::size_t first,
                         std::size_t end) {
    const auto rows = static_cast<double>(end - first);
    Upper squares(1);
    for (std::size_t j = 0; j < network.inputs(); ++j) {
        double sum = 0;
        Upper sizes(0);
        for (std::size_t row = first; row < end; ++row) {
            const auto value = network.transform().apply<double>(features.at(row, j));
            sum += value;
            sizes = sizes + Upper(std::abs(value));
        }
        const Upper mean = (Upper(std::abs(sum)) + sizes * Upper(rows * 0x1p-52)) / rows;
        squares = squares + mean * mean;
    }
    return sqrt(squares);
}

}  // namespace holdfast
