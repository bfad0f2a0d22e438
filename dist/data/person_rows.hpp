#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "dist/data/dataset.hpp"
#include "dist/data/person_rule.hpp"

namespace holdfast {

/// Gathers the rows of persons, in memory, and makes their records by a rule.
class PersonRows {
  public:
    /// columns: of a row. The rule, which takes several rows, must outlive it.
    PersonRows(const PersonRule& rule, std::size_t columns, bool wide, std::uint64_t seed);

    /// order: the value of the rule's feature before it is scaled. A label or a target; the other is 0.
    void add(std::uint64_t id, const std::vector<double>& features, std::int32_t label, double target,
             double order);

    /// Are there rows enough to be hashed together, all of them of other persons than the one whose row comes
    /// next?
    bool ends_before(std::uint64_t id) const {
        return rows_.size() >= hashed_together && rows_.back().id != id;
    }

    using Visit = std::function<void(std::uint64_t id, const std::vector<double>& features,
                                     std::int32_t label, double target)>;
    /// Person by person, a person's rows side by side, in an order that the rows alone decide. A summary has
    /// the label and the target of the last row where an order says which that is; else the label that most
    /// of the rows have, of those the greatest, and the mean target. How many rows were left out of persons
    /// of more than V. No row is left then.
    std::uint64_t visit(const Visit& use);

  private:
    static constexpr std::size_t hashed_together = 4096;  // rows, by all threads
    struct Row {
        std::uint64_t id, hash;
        double order;
        std::size_t at;
    };
    void hash_contents();  ///< of what is in contents_, which is empty then
    void hash_rows();
    std::vector<double> features_of(const Row& row) const;
    void summarise(std::span<const Row> rows, const Visit& use) const;

    const PersonRule& rule_;
    std::size_t columns_;
    std::uint64_t seed_;
    FeatureMatrix features_;
    std::vector<std::int32_t> labels_;
    std::vector<double> targets_;
    std::vector<Row> rows_;         ///< hash: of the content, until visit()
    std::vector<double> contents_;  ///< [the last of rows_, columns + 2], not yet hashed
};

}  // namespace holdfast
