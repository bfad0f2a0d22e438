#include "models/training/batches.hpp"

#include <numeric>

#include "dist/layout/assignment.hpp"
#include "kernels/base/threads.hpp"

namespace holdfast {

std::uint64_t batch_of(const TrainingSettings& settings, std::uint64_t id, std::uint64_t row,
                       std::int64_t epoch) {
    if (settings.batching == Batching::sequential)
        return row / static_cast<std::uint64_t>(settings.batch_size);
    return Assignment(static_cast<std::uint64_t>(settings.seed))
        .batch(id, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(settings.batches));
}

// Every epoch takes all that any takes, the first among them. The rows behind one that goes move up by one,
// so the batch it was in, and no batch before, takes another record.
std::int64_t first_step_of(const TrainingSettings& settings, std::uint64_t id, std::uint64_t row) {
    const std::uint64_t batch = batch_of(settings, id, row, 0);
    return batch < static_cast<std::uint64_t>(settings.batches) ? static_cast<std::int64_t>(batch)
                                                                : settings.steps();
}

std::span<const std::uint32_t> Batches::of_step(std::int64_t step) {
    if (step / settings_.batches != epoch_) index(step / settings_.batches);
    const auto batch = static_cast<std::size_t>(step % settings_.batches);
    return std::span(indices_).subspan(first_[batch], first_[batch + 1] - first_[batch]);
}

std::span<const std::uint32_t> PublicBatches::of_step(std::int64_t step) {
    if (size_ == 0 || records_ == 0) return by_id_.of_step(step);
    indices_.resize(size_);
    const std::uint64_t first = static_cast<std::uint64_t>(step) % records_ * (size_ % records_) % records_;
    for (std::uint64_t i = 0; i < size_; ++i)
        indices_[i] = static_cast<std::uint32_t>((first + i) % records_);
    return indices_;
}

// A counting sort by batch. Rows behind the last sequential batch are in none.
void Batches::index(std::int64_t epoch) {
    const bool same_every_epoch = settings_.batches == 1 && settings_.batching == Batching::hashed;
    if (same_every_epoch && epoch_ >= 0) {
        epoch_ = epoch;
        return;
    }
    const auto batches = static_cast<std::uint64_t>(settings_.batches);
    std::vector<std::uint64_t> batch(records_.size());
    constexpr double work_of_a_hash = 50;  // in multiply-adds
    const int threads = threads_for(work_of_a_hash * static_cast<double>(batch.size()));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::size_t i = 0; i < batch.size(); ++i)
        batch[i] = batch_of(settings_, records_.ids[i], records_.rows[i], epoch);
    first_.assign(batches + 1, 0);
    for (const std::uint64_t number : batch) {
        if (number < batches) ++first_[number + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    indices_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (batch[i] < batches) indices_[next[batch[i]]++] = static_cast<std::uint32_t>(i);
    }
    epoch_ = epoch;
}

}  // namespace holdfast
