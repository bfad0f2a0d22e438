#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dist/data/person_rule.hpp"
#include "dist/data/range.hpp"

namespace holdfast {

/// One column of a table, and what its cells become.
struct Column {
    enum class Kind { number, date, category };

    std::string name = {};
    /// The table's column, where this is one of two parts of a column whose type nobody has stated: its
    /// number, or the bucket of its text (parts_of_undeclared). Empty: the column of its name.
    std::string reads = {};
    Kind kind = Kind::number;
    /// In the column's own units, of a date in days since 1970-01-01: mapped to [0, 1]. Unknown: stored as it
    /// is.
    Range range = unknown_range;
    /// Of a category, in order; an empty one stands for a missing cell.
    std::vector<std::string> values = {};
    bool integer = false;  ///< of a category: one feature, its place in `values`; else one each
    /// Of a category whose values nobody has stated: a cell counts as the bucket of a public hash that it
    /// falls into, of so many, "#0", "#1", …; or as the last of `values`, if its bucket is none of them. 0:
    /// as itself.
    std::size_t buckets = 0;
    /// Of a category whose values nobody has stated: they are those that holdfast measure names, and the last
    /// of `values`, for any other cell; until then none, and a record has the place of its cell in a list
    /// that the dataset keeps to itself (PrivateNames).
    bool named = false;
    std::string format = {};             ///< of a date: "%d.%m.%Y"
    std::string unit = {};               ///< for people
    std::optional<double> missing = {};  ///< what a missing number or date counts as; none: an error

    std::size_t features() const { return kind == Kind::category && !integer ? values.size() : 1; }
    const std::string& cell_column() const { return reads.empty() ? name : reads; }
    bool is_unnamed() const { return named && values.empty(); }
    /// The bucket of a cell's text, TRUE, True, T, t and 1 being one text, FALSE, False, F, f and 0 another.
    std::size_t hashed_bucket(const std::string& cell) const;
    /// Where the bucket stands in `values`, of a column with buckets.
    std::size_t place_of_bucket(std::size_t bucket) const;
};

/// Buckets of a column of unknown values; the value of all that are not counted apart.
inline constexpr std::size_t usual_buckets = 256;
inline constexpr const char* other_values = "#other";
std::string bucket_name(std::size_t bucket);
/// One feature, the place of the bucket: as it is before anything is known of the column.
Column hashed_column(const std::string& name, std::size_t buckets = usual_buckets);
/// One feature, the place of the cell among those that were found: likewise.
Column unnamed_column(const std::string& name);
/// A column of a table whose type nobody has stated: its number, and the bucket of its text. What a cell
/// becomes depends on that cell alone (models/privacy/mathematics.md, undeclared columns).
std::vector<Column> parts_of_undeclared(const std::string& name);
/// The bucket that every number has in the text part.
std::size_t bucket_of_numbers(const Column& text_part);
/// What a cell of such a column is called, in UTF-8: other bytes are replaced.
std::string name_of_cell(const std::string& cell);

/// What the cells of a table mean: how a row becomes features and a label. It goes with the dataset, its runs
/// and its models, so that whoever asks them names columns and not positions.
struct Schema {
    std::vector<Column> columns = {};  ///< in the order of their features
    std::string label = {};            ///< column; empty: none
    std::vector<std::string> classes = {};
    bool regression = false;
    Range target_range = unknown_range;      ///< of a regression; unknown: stored as it is
    std::string id = {};                     ///< column; empty: none
    std::optional<PersonRule> persons = {};  ///< the id names persons: what becomes of their rows
    char delimiter = ',', decimal = '.';
    char thousands = 0;                           ///< between groups of three digits; 0: none
    std::vector<std::string> missing_words = {};  ///< beside the empty cell, NA, N/A, NaN, null and ?
    /// Ranges, categories or classes were found in the private records: not public, and not for a file that
    /// leaves the house.
    bool found = false;
    bool measured = false;  ///< ranges were drawn from private records, and paid for: of that table alone
    bool withheld = false;  ///< of what was found nothing is here: no row can be read by it

    /// Is there a column of categories that nobody has named? What is made of them is no public function of
    /// a record.
    bool has_unnamed() const;
    std::size_t features() const;                    ///< of a row
    std::size_t record_features() const;             ///< of a record, which a person's rows may make
    std::vector<Range> record_ranges() const;        ///< [record_features()]; unknown: as it is
    std::vector<std::string> feature_names() const;  ///< [features()]; "sex=Male" of a category
    std::vector<Range> feature_ranges() const;       ///< [features()]; unknown: as it is
    std::vector<double> missing_values() const;      ///< [features()], what a gap counts as; NaN: an error
    /// Do both make the same features of the same row?
    bool same_features(const Schema& other) const;
    /// What may leave the house: all, or where something was found in private records, names and types alone.
    Schema public_part() const;
};

nlohmann::json to_json(const Schema& schema);
/// Errors (input), naming the field: `path` is where it stands.
Schema schema_from_json(const nlohmann::json& object, const std::string& path);
/// Of the text that a dataset, a run or a model keeps; nothing where that is empty.
std::optional<Schema> kept_schema(const std::string& text, const std::string& path);

/// What may leave the house of it, if there is one.
std::optional<Schema> public_schema(const std::optional<Schema>& schema);

/// Forms that dates are looked for in, where nothing is said of them.
inline constexpr const char* usual_dates[] = {"%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d"};
/// Days since 1970-01-01; none: the text is no date of this format ("%d.%m.%Y"), or its year has fewer than
/// four digits where the format does not say %y.
std::optional<double> days_of(const std::string& text, const std::string& format);

}  // namespace holdfast
