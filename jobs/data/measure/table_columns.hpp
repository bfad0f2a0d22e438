#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "dist/data/schema.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

// Columns of a scaled dataset, some of which are chosen under privacy, and the dataset without the others.

/// What is kept or left out together: a column of the table, or where no schema is known, a feature.
struct ColumnGroup {
    std::string name;
    std::vector<std::size_t> features;
    bool one_hot = false;   ///< a category, one feature a value
    bool candidate = true;  ///< else kept in any case
};

/// Error (input): a dataset that has no such columns: unscaled, without labels, of pictures, or chosen
/// already.
void check_scaled(const DatasetInfo& info);

/// A column by which rows are ordered and the number of rows are what records are made by: they are kept.
std::vector<ColumnGroup> column_groups(const DatasetInfo& info);
/// Equal of equal ones: the records of two schemas may be the same.
std::string digest_of(const std::vector<ColumnGroup>& groups);
/// [groups]: is it kept, where the candidates `chosen`, ascending, are?
std::vector<bool> kept_groups(const std::vector<ColumnGroup>& groups, const std::vector<std::size_t>& chosen);
/// What the ledger keeps: the constants of the columns that stay, and which were chosen.
std::string constants_text(const DatasetInfo& info, const std::string& token,
                           const std::vector<ColumnGroup>& groups, const std::vector<std::size_t>& chosen);
/// All splits without the columns that are not kept, by what the ledger keeps: another version of its
/// population's data, of so many features.
std::size_t write_chosen(Ledger& ledger, const std::string& population, const std::string& out,
                         const DatasetInfo& info, const std::string& text,
                         const std::vector<ColumnGroup>& groups, const std::vector<bool>& kept);

/// What is left of the account, where that is one epsilon at its delta.
std::optional<double> left_of_account(const Budget& budget, const Spending& spent);

}  // namespace holdfast
