#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "dist/data/record_source.hpp"
#include "dist/data/schema.hpp"

namespace holdfast {

/// Rows of a table, read by a schema that was made elsewhere: of the dataset that a model was trained on.
struct Table {
    Records records;  ///< features as an import by that schema has them; labels where all rows have one
    std::vector<std::int32_t> some_labels;  ///< [rows] where some rows have none of the classes: -1
    std::vector<std::string> names;         ///< [rows]: the id as it stands, or the line where there is none
    bool has_ids = false;
    std::vector<std::string> ignored;               ///< columns that the schema does not name
    std::uint64_t filled = 0;                       ///< missing cells, by the schema's rule
    std::map<std::string, OtherCells> other_cells;  ///< by column, where there are some
    std::vector<std::string> outside;  ///< "age: 3 values outside [0, 120], the first in lines 4, 7": clamped
};

/// Does the name say that it is a table of text? .csv, .tsv and .txt, each with .gz too; .parquet, of which
/// CsvReader says how it becomes one.
bool is_table(const std::string& path);

/// The first so many rows of a CSV file, or all (0); where the schema makes one record of a person's rows,
/// those records. Errors (input): what open_csv() and its problems say.
Table read_table(const std::string& path, const Schema& schema, std::uint64_t first = 0,
                 const std::string& encoding = "utf-8");

}  // namespace holdfast
