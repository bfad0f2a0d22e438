#pragma once

#include <cstdint>
#include <string>

#include "kernels/base/error.hpp"

namespace holdfast {

/// Columns of a dataset or of what is imported. What is kept of every one of them, its name, its range, its
/// statistics, is far more than a value of it.
inline constexpr std::uint64_t most_columns = std::uint64_t{1} << 22;

/// Error (input) that names `where`, if there are more.
inline void require_width(std::uint64_t columns, const std::string& where) {
    if (columns <= most_columns) return;
    throw Error(ExitCode::input,
                "has " + std::to_string(columns) + " features, more than the " +
                    std::to_string(most_columns) + " that are taken",
                "keep those that matter, or hash them into fewer", where);
}

}  // namespace holdfast
