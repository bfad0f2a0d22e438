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

/// Collective. Every rank reads its share of the rows by hyperslab and sends each record to the ranks that
/// need it (its member's, one block each); none ever holds more than its own records and one slab. Errors
/// (input): what DatasetReader finds, two records of one id, a label of `classes` or more.
std::vector<MemberRecords> distribute(const DatasetReader& reader, const ProcessGrid& grid,
                                      const Communicator& world, std::size_t members, std::size_t classes,
                                      std::uint64_t seed);

/// A digest of the set of records: the same for any order and any partition. Collective over `world` if each
/// record is on exactly one rank. Identifies the dataset version to the ledger.
class RecordDigest {
  public:
    void add(const Records& records);
    std::string hex(const Communicator& world) const;  ///< collective

  private:
    std::uint64_t sums_[4] = {};
};

}  // namespace holdfast
