#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dist/data/range.hpp"
#include "kernels/ops/whole_persons.hpp"

namespace holdfast {

/// What one number says of a feature in all rows of a person; `count` of the rows themselves.
enum class RowSummary { last, mean, min, max, count };
const char* name_of(RowSummary summary);
std::optional<RowSummary> row_summary_named(const std::string& name);

/// What a table of several rows a person becomes. Each record is a function of the person's own rows alone,
/// in any order: no person moves another's (models/mathematics.md, rows of a person).
struct PersonRule {
    std::uint64_t rows_at_most = 0;  ///< V, public: who has more keeps V; 0: not stated, one and no more
    bool keep_last = false;          ///< the last V; else those of least keyed hash
    std::string order = {};          ///< the feature by which a row is later than another; empty: none is
    std::vector<RowSummary> summaries = {};  ///< not empty: one record a person, of all rows
    /// [features of a record] by which summaries of rows that are not scaled are, where they were measured;
    /// empty: rows are scaled before.
    std::vector<Range> ranges = {};

    bool summarises() const { return !summaries.empty(); }
    bool takes_several() const { return summarises() || rows_at_most > 0; }
    bool says(RowSummary summary) const {
        return std::find(summaries.begin(), summaries.end(), summary) != summaries.end();
    }
    /// Where the feature stands by which rows are ordered; behind the last: nowhere. Errors (usage): the
    /// order is none of the names; a last row is asked for and no order; rows are counted without a limit.
    std::size_t order_column(const std::vector<std::string>& names) const;
    /// Of the records made of rows with these features: "pulse_last", "pulse_mean", …, "rows".
    std::vector<std::string> feature_names(const std::vector<std::string>& names) const;
    std::size_t features(std::size_t of_row) const;
    /// Of the records: `ranges`, or those that rows have.
    std::vector<Range> ranges_of_records(const std::vector<Range>& of_rows) const;
    bool operator==(const PersonRule&) const = default;
};

}  // namespace holdfast
