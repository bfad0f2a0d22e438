#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dist/data/import_csv.hpp"
#include "dist/data/schema.hpp"

namespace holdfast {

/// What a CSV file looks like: a proposal for its owner, made of all of its rows. It is private, as they are.
struct TableGuess {
    Schema schema;  ///< ranges as found; categories and classes as found, sorted
    std::uint64_t rows = 0;
    std::vector<std::string> dropped;       ///< columns of text with as many values as an id or a name has
    bool unnamed_first = false;             ///< the first column has no name, and is left out
    std::vector<std::string> possible_ids;  ///< columns with a value of their own in every row
    std::map<std::string, std::uint64_t> missing;  ///< cells, by column
};

/// What the options say of the table stands; delimiter, decimal or thousands 0: the likeliest. Errors
/// (input): no header, no rows, numbers or dates that two forms read as different values (names the options
/// of both); (usage): an unknown column.
TableGuess guess_schema(const std::string& path, const CsvOptions& options);

}  // namespace holdfast
