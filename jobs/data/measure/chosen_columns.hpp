#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/program/job.hpp"

namespace holdfast {

/// What `measure --features` is asked.
struct ColumnChoice {
    std::string data, ledger, out;
    std::size_t features = 0;            ///< columns to keep
    std::optional<std::size_t> classes;  ///< as the file's schema states them, else 2
    std::optional<double> share, epsilon, delta;
};

/// Chooses columns of a scaled dataset by how well they tell its labels apart, once, for a charge to the
/// account of its population, and writes the dataset without the others
/// (models/privacy/mathematics.md, chosen columns). Root alone works; the others wait.
void choose_columns(const Context& context, const ColumnChoice& choice);

}  // namespace holdfast
