#pragma once

#include <vector>

#include "dist/data/dataset.hpp"
#include "dist/layout/process_grid.hpp"

namespace holdfast {

/// The records of one ensemble member that this rank holds.
struct MemberRecords {
    std::size_t member;
    Records records;
};

/// A digest of the set of records: the same for any order and any partition. Collective over `world` if each
/// record is on exactly one rank. Identifies the dataset version to the ledger.
class RecordDigest {
  public:
    /// rows: the row that a record stands on is a part of it, so the order counts too.
    explicit RecordDigest(bool rows = false) : rows_(rows) {}
    void add(const Records& records);
    std::string hex(const Communicator& world) const;  ///< collective

  private:
    bool rows_;
    std::uint64_t sums_[4] = {};
};

/// How records find their members.
struct Sharing {
    std::size_t members;  ///< of the ensemble
    /// Those the grid shares out, ascending: number i of the grid is the ensemble's trained[i].
    std::vector<std::size_t> trained;
    std::size_t classes;  ///< 1: a regression, which takes targets, or labels as numbers
    std::uint64_t seed;
};

struct Distributed {
    std::vector<MemberRecords> held;
    RecordDigest all;  ///< of every record, of members that are not trained too; each on one rank
};

/// Collective. The ranks of a machine read all rows, each its share by hyperslab, and hand each record to
/// those among them that need it (its member's, one block each): no record crosses the network between
/// machines. None ever holds more than its own records and one slab. Errors (input): what DatasetReader
/// finds, two records of one id and one trained member unless they are a person's rows, no labels, or one of
/// `classes` or more; no targets for a regression.
Distributed distribute(const DatasetReader& reader, const ProcessGrid& grid, const Communicator& world,
                       const Sharing& sharing);

}  // namespace holdfast
