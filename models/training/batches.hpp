#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dist/data/dataset.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// The batch of an epoch that takes a record, from 0; training.batches or more: none does. A matter of its id
/// alone, or as published of its row.
std::uint64_t batch_of(const TrainingSettings& settings, std::uint64_t id, std::uint64_t row,
                       std::int64_t epoch);
/// The first step that a dataset with this record takes otherwise than one without it: the first whose batch
/// takes it, or as published one behind it. steps(): none does.
std::int64_t first_step_of(const TrainingSettings& settings, std::uint64_t id, std::uint64_t row);

/// The batches of a rank's records, indexed once an epoch. A record's batch depends on its id alone (or, as
/// published, on its row).
class Batches {
  public:
    /// The records must outlive it; at most 2^32 of them.
    Batches(const TrainingSettings& settings, const Records& records)
        : settings_(settings), records_(records) {}

    /// Of the batch a step takes: indices into the records, ascending; valid until the next epoch is asked
    /// for.
    std::span<const std::uint32_t> of_step(std::int64_t step);

  private:
    void index(std::int64_t epoch);

    TrainingSettings settings_;
    const Records& records_;
    std::int64_t epoch_ = -1;             ///< that is indexed
    std::vector<std::uint32_t> indices_;  ///< batch after batch
    std::vector<std::size_t> first_;      ///< [batches + 1], of each batch in indices_
};

/// The public records that steps take. They are the same for every neighbour, so nothing depends on their
/// ids: with training.public_batch_size, so many a step, row after row and again from the first; else the
/// batches of their ids.
class PublicBatches {
  public:
    /// The records must outlive it.
    PublicBatches(const TrainingSettings& settings, const Records& records)
        : by_id_(settings, records),
          size_(static_cast<std::uint64_t>(settings.public_batch_size)),
          records_(records.size()) {}

    std::span<const std::uint32_t> of_step(std::int64_t step);  ///< valid until the next is asked for

  private:
    Batches by_id_;
    std::uint64_t size_, records_;
    std::vector<std::uint32_t> indices_;
};

}  // namespace holdfast
