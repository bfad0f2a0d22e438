#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

/// The ids in a file, one a line as a table's column of ids has them (read_id), quoted or not; empty lines
/// are skipped.
struct IdList {
    std::string path;
    std::vector<std::uint64_t> ids;    ///< in their order in the file, as often as there
    std::vector<std::uint64_t> lines;  ///< [ids], from 1

    /// Error (input): the file cannot be read, has no id, or has a line that is none.
    static IdList read(const std::string& path);
};

}  // namespace holdfast
