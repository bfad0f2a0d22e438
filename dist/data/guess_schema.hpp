#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dist/data/schema.hpp"

namespace holdfast {

/// What a CSV file looks like: a proposal for its owner, made of all of its rows. It is private, as they are.
struct TableGuess {
    Schema schema;  ///< ranges as found; categories and classes as found, sorted
    std::uint64_t rows = 0;
    std::vector<std::string> dropped;       ///< columns of text with as many values as an id or a name has
    std::vector<std::string> possible_ids;  ///< columns with a value of their own in every row
    std::map<std::string, std::uint64_t> missing;  ///< cells, by column
};

/// label: column; empty: none. regression: it holds numbers. id: column; empty: none. drop: columns that are
/// left out. delimiter 0: the likeliest. Errors (input): no header, no rows; (usage): an unknown column.
TableGuess guess_schema(const std::string& path, const std::string& label, bool regression,
                        const std::string& id, const std::vector<std::string>& drop, char delimiter);

}  // namespace holdfast
