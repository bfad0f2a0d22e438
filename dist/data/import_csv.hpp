#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dist/data/record_source.hpp"

namespace holdfast {

/// How text columns with a public list of categories become features.
enum class CategoryEncoding { one_hot, integer };

/// What is said of the columns of one file, by name.
struct CsvOptions {
    char delimiter = ',';
    std::string label = {};  ///< column; empty: queries without labels
    std::vector<std::string> classes =
        {};                   ///< public list of label values, in order; empty: labels are 0, 1, 2, …
    bool regression = false;  ///< the label column holds numbers
    std::string id = {};      ///< column; empty: row numbers
    std::set<std::string> drop = {};  ///< columns left out
    /// Public list of values by column; "#" or "?" alone: nobody has stated one (hashed_column,
    /// unnamed_column).
    std::map<std::string, std::vector<std::string>> categories = {};
    CategoryEncoding encoding = CategoryEncoding::one_hot;
    std::map<std::string, std::string> dates = {};  ///< format by column: "%d.%m.%Y"
    char decimal = '.', thousands = 0;              ///< in numbers; 0: no groups
    std::vector<std::string> missing_words = {};    ///< cells that are missing too
};

/// The schema that such options make of this file: every column that is not label, id, dropped, a category or
/// a date is a number; no ranges. Errors (usage): an option names an unknown column (suggests one); (input):
/// no header, two columns of one name.
Schema schema_of_csv(const std::string& path, const CsvOptions& options);

enum class CsvUse {
    training,  ///< label and id must be there, where the schema names them
    labelled,  ///< likewise, and rows whose label is missing are left out (RecordSource::unlabelled)
    queries    ///< they are read where the file has them
};

/// A CSV file (RFC 4180: a header row, quotes, LF or CRLF; plain or gzip), read row by row, its columns by
/// name, in whatever order they stand; those that the schema does not name are left out (info().ignored). A
/// cell is missing if it is empty, one of NA, N/A, NaN, null, ? (whatever their case, spaces around ignored)
/// or a word of the schema's. Ids: canonical decimal integers as they are, other text by BLAKE2b, 64 bits.
/// Errors (ExitCode::input): empty file, header only, columns missing, unterminated quote. What is wrong with
/// a row is in `problems`, and the row marked: ragged, text in a numeric column, unknown category or label
/// value, missing label or id.
std::unique_ptr<RecordSource> open_csv(const std::string& path, const Schema& schema,
                                       CsvUse use = CsvUse::training);
/// Of schema_of_csv().
std::unique_ptr<RecordSource> open_csv(const std::string& path, const CsvOptions& options,
                                       CsvUse use = CsvUse::training);

/// What a cell says when it is missing, beside the words of a schema.
bool is_missing_cell(const std::string& cell);
std::string trimmed_cell(const std::string& cell);
/// The number that a whole cell is, written so; thousands 0: without groups. Nothing: it is none.
std::optional<double> number_of_cell(const std::string& cell, char decimal, char thousands);

}  // namespace holdfast
