#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "kernels/ops/row_weight.hpp"
#include "models/privacy/measure/column_tree.hpp"

namespace holdfast {

/// Error (input): a table that does not say whose records it holds, or knows them by the number of their row.
void require_persons(const DatasetInfo& info);

/// The public number of persons; 0: there is none, as where it was found.
std::uint64_t stated_count(const DatasetInfo& info);

/// The classes that its schema names, else 2.
std::size_t stated_classes(const DatasetInfo& info);

/// Whose the rows of a dataset are.
class Persons {
  public:
    /// Errors (input): as weigh_persons().
    explicit Persons(const DatasetReader& reader);
    std::uint64_t count() const { return count_; }
    /// Of a person's unit, what a row adds to a cell: all rows together no more than it.
    std::int64_t share(std::uint64_t row) const {
        return weights_.empty() ? whole_person : part_of(whole_person, weights_[row]);
    }

  private:
    std::uint64_t count_;
    std::vector<double> weights_;  ///< [rows]; empty: 1 each
};

/// How to go on: with advice for what was made of the table.
struct Advised {
    std::uint64_t persons;
    std::size_t features, classes;
    double epsilon, delta;  ///< what is left
    std::string data, ledger;
    bool edges = false;  ///< between bins were measured
};
std::string next_advice(const Advised& advised);

}  // namespace holdfast
