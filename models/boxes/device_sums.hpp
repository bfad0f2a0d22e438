#pragma once

#include <memory>
#include <span>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "kernels/ops/step_engine.hpp"
#include "models/boxes/gradient_sums.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// Gradient bounds of all levels over the records of a batch on every rank, by a backend that computes whole
/// steps: gradient_sums() and its reduction in one, with the same bits. The sums leave the device once, after
/// the reduction where the transport adds on the device.
class DeviceSums {
  public:
    /// Null: the backend has no engine. Backend, engine and records must outlive it; a later batch holds
    /// indices into these records, private ones first.
    template <typename Real>
    static std::unique_ptr<DeviceSums> make(const Network& network, const BasicBackend<Real>& backend,
                                            const Clip& clip, const Records& private_records,
                                            const Records& public_records) {
        return over(backend.step_engine(shape_of(network, clip)), network, private_records, public_records);
    }

    struct Result {
        std::int64_t records;  ///< of the batch, on all ranks
        std::vector<LevelSums> levels;
    };
    /// Collective over the ranks. Selections are those of this rank's records.
    Result reduced(std::span<const BoxView> boxes, std::span<const Batch> batches,
                   std::span<const std::int64_t> selection_counts, const Communicator& ranks);

  private:
    static StepShape shape_of(const Network& network, const Clip& clip);
    static std::unique_ptr<DeviceSums> over(std::unique_ptr<StepEngine> engine, const Network& network,
                                            const Records& private_records, const Records& public_records);
    DeviceSums(const Network& network, std::unique_ptr<StepEngine> engine);
    std::vector<std::int64_t> message_of_all(std::span<const StepLevel> levels,
                                             std::span<const Batch> batches, const Communicator& ranks);

    std::size_t parameters_;
    std::unique_ptr<StepEngine> engine_;
};

}  // namespace holdfast
