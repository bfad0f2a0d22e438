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
std::vector<ColumnGroup> column_groups(const DatasetInfo& info, const std::optional<Schema>& schema);
/// Equal of equal ones: the records of two schemas may be the same.
std::string digest_of(const std::vector<ColumnGroup>& groups);
/// [groups]: is it kept, where the candidates `chosen`, ascending, are?
std::vector<bool> kept_groups(const std::vector<ColumnGroup>& groups, const std::vector<std::size_t>& chosen);
/// Of those that are kept, ascending.
std::vector<std::size_t> features_of_groups(const std::vector<ColumnGroup>& groups,
                                            const std::vector<bool>& kept);

/// What the ledger keeps: the constants of the columns that stay, and which were chosen.
std::string constants_text(const DatasetInfo& info, const std::string& token,
                           const std::vector<ColumnGroup>& groups, const std::vector<std::size_t>& chosen);
std::string schema_without(std::optional<Schema> schema, const std::vector<bool>& kept,
                           const std::vector<std::size_t>& features);
/// All splits, with these features alone.
void write_chosen(const std::string& out, const DatasetInfo& info, const std::string& text,
                  const std::vector<std::size_t>& features, const std::string& schema);

/// What is left of the account, where that is one epsilon at its delta.
std::optional<double> left_of_account(const Budget& budget, const Spending& spent);

}  // namespace holdfast
