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

struct CsvOptions {
    char delimiter = ',';
    std::string label;  ///< column; empty: queries without labels
    std::vector<std::string>
        classes;                 ///< public list of label values, in order; empty: labels are 0, 1, 2, …
    bool regression = false;     ///< the label column holds numbers
    std::string id;              ///< column; empty: row numbers
    std::set<std::string> drop;  ///< columns left out
    std::map<std::string, std::vector<std::string>> categories;  ///< public list of values by column
    CategoryEncoding encoding = CategoryEncoding::one_hot;
};

/// A CSV file (RFC 4180: a header row, quotes, LF or CRLF; plain or gzip), read row by row. Every column that
/// is not label, id, dropped or categorical is numeric. A cell is missing if it is empty or one of NA, N/A,
/// NaN, null, ? (whatever their case, spaces around ignored). Ids: canonical decimal integers as they are,
/// other text by BLAKE2b, 64 bits. Errors (ExitCode::input): empty file, header only, ragged row,
/// unterminated quote, text in a numeric column, unknown category or label value, missing label or id;
/// (ExitCode::usage): an option naming an unknown column (suggests one).
std::unique_ptr<RecordSource> open_csv(const std::string& path, const CsvOptions& options);

}  // namespace holdfast
