#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/ops/engine.hpp"
#include "kernels/ops/row_weight.hpp"

namespace holdfast {

/// The most rows of a person whose weight tells how many there are: up to here no two weights are equal.
constexpr std::uint64_t most_rows_of_a_person = 32768;

/// The n of row_weight(n), n up to most_rows_of_a_person.
inline std::uint64_t rows_of_weight(double weight) {
    return static_cast<std::uint64_t>((std::int64_t{1} << 30) / weight_units(weight));
}

/// Of the rows `indices`, of whole persons side by side: where the next person begins whose first row is at
/// `first`.
inline std::size_t end_of_person(const RecordSet& records, std::span<const std::uint32_t> indices,
                                 std::size_t first) {
    if (!records.rows_of_persons) return first + 1;
    return std::min<std::size_t>(first + rows_of_weight(records.weights[indices[first]]), indices.size());
}

}  // namespace holdfast
