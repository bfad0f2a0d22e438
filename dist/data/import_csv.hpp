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
    bool undeclared = false;  ///< columns of which nothing is said have no type, else they are numbers
    std::string text_encoding = "utf-8";  ///< one of text_encodings
};

/// The schema that such options make of this file: every column that is not label, id, dropped, a category or
/// a date is a number; no ranges. A first column without a name, in which R and pandas write row numbers, is
/// left out. Errors (usage): an option names an unknown column (suggests one); (input): no header, two
/// columns of one name, another column without one.
Schema schema_of_csv(const std::string& path, const CsvOptions& options);

enum class CsvUse {
    /// Label and id must be there, where the schema names them. A cell that does not fit its column counts as
    /// missing (RecordSource::tolerated), and a row whose label is none of the stated ones is no record
    /// (RecordSource::unlabelled): each row is judged by itself.
    training,
    strict,  ///< likewise, and such cells and rows are problems
    queries  ///< label and id are read where the file has them; other cells as strictly
};

/// A CSV file (RFC 4180: a header row, quotes, LF or CRLF; plain or gzip), read row by row, its columns by
/// name, in whatever order they stand; those that the schema does not name are left out (info().ignored). A
/// cell is missing if it is empty, one of NA, N/A, NaN, null, ? (whatever their case, spaces around ignored)
/// or a word of the schema's. Ids: read_id(). Of queries, a label that is missing or no class is -1, and such
/// a target is NaN. Errors (ExitCode::input): empty file, header only, columns missing, unterminated quote.
/// What is wrong with a row is in `problems`, and the row marked: a missing id; where it is not read for
/// training also too many or few cells, text in a numeric column, an unknown category.
std::unique_ptr<RecordSource> open_csv(const std::string& path, const Schema& schema,
                                       CsvUse use = CsvUse::training, const std::string& encoding = "utf-8");
/// Of schema_of_csv().
std::unique_ptr<RecordSource> open_csv(const std::string& path, const CsvOptions& options,
                                       CsvUse use = CsvUse::training);

/// What a cell says when it is missing, beside the words of a schema.
bool is_missing_cell(const std::string& cell);
/// The number of a cell whose column has no type: a number, or a date by %Y-%m-%d or %d.%m.%Y in days since
/// 1970-01-01. In a table with ; or tabs between its cells one comma is a decimal comma too. Nothing: it is
/// text.
std::optional<double> number_of_undeclared(const std::string& cell, const Schema& schema);
/// The character that splits the header line, which is public, into most columns.
char delimiter_of_header(const std::string& path, const std::string& encoding = "utf-8");
std::string trimmed_cell(const std::string& cell);
/// The number that a whole cell is, written so; thousands 0: without groups. Nothing: it is none.
std::optional<double> number_of_cell(const std::string& cell, char decimal, char thousands);

}  // namespace holdfast
