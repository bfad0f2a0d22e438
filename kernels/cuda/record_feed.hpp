#pragma once

#include <memory>
#include <vector>

#include "kernels/cuda/buffer.hpp"
#include "kernels/cuda/record_kernels.hpp"
#include "kernels/cuda/step_plan.hpp"

namespace holdfast::device {

/// Up to StepPlan::chunk records of one set, as the kernels read them.
struct Chunk {
    ConstVariants x;  // [inputs, chunk], the same for all levels
    Labels labels;
    int records;
};

/// Brings records to the device: once, if their features fit into half its memory; else again in every pass,
/// through two page-locked buffers whose copies run beside the kernels.
template <typename Executor>
class RecordFeed {
  public:
    /// in_double: else the network sees floats.
    RecordFeed(const Executor& executor, std::size_t inputs, InputTransform transform, bool in_double)
        : executor_(executor), inputs_(inputs), transform_(transform), in_double_(in_double) {}

    void set_records(std::span<const RecordSet> sets, std::size_t memory_bytes) {
        sets_.clear();
        streams_.clear();
        bytes_ = 0;
        std::size_t bytes = 0;
        for (const RecordSet& set : sets) bytes += set.count * row_bytes(set);
        resident_ = bytes <= memory_bytes / 2;
        for (const RecordSet& set : sets) {
            sets_.push_back({set, Memory(executor_), Memory(executor_), Memory(executor_)});
            Set& held = sets_.back();
            if (set.count == 0) continue;
            if (resident_) put(held.features, raw(set), set.count * row_bytes(set));
            if (set.labels != nullptr) put(held.labels, set.labels, set.count * sizeof(std::int32_t));
            if (set.targets != nullptr) put(held.targets, set.targets, set.count * sizeof(double));
        }
        if (resident_) return;
        const std::size_t widest_row = inputs_ * sizeof(double);
        chunk_limit_ = std::clamp(memory_bytes / 8 / (2 * widest_row), std::size_t{64}, streamed_chunk);
        chunk_limit_ = chunk_limit_ / 64 * 64;
        bytes_ += 2 * chunk_limit_ * widest_row;
        for (int buffer = 0; buffer < 2; ++buffer)
            streams_.push_back(std::make_unique<Stream>(executor_, chunk_limit_ * widest_row));
    }

    bool resident() const { return resident_; }
    std::size_t bytes() const { return bytes_; }  ///< of the device's memory
    std::size_t chunk_limit() const { return resident_ ? preferred_chunk : chunk_limit_; }
    std::size_t sets() const { return sets_.size(); }
    bool selectable(std::size_t set) const { return sets_[set].host.selectable; }
    std::size_t records(std::size_t set) const { return sets_[set].indices.size(); }

    /// The records of a step; `device_indices` has room for all of them.
    void begin_step(std::span<const std::span<const std::uint32_t>> indices, std::uint32_t* device_indices) {
        for (std::size_t set = 0; set < sets_.size(); ++set) {
            sets_[set].indices = indices[set];
            sets_[set].device_indices = device_indices;
            executor_.upload(device_indices, indices[set].data(), indices[set].size_bytes());
            device_indices += indices[set].size();
        }
    }

    /// Records [first, first + count) of a set's batch, into x [inputs, stride].
    Chunk load(std::size_t set, std::size_t first, std::size_t count, double* x, std::size_t stride) {
        const Set& held = sets_[set];
        const std::uint32_t* chosen = held.device_indices + first;
        if (resident_) {
            gather(held.host, held.features.template as<std::byte>(), chosen, count, x, stride);
        } else {
            stream(held.host, held.indices.subspan(first, count), x, stride);
        }
        return {{{x, x}, 0, stride},
                {held.labels.template as<std::int32_t>(), chosen, held.targets.template as<double>()},
                static_cast<int>(count)};
    }

  private:
    using Memory = device::Memory<Executor>;
    /// Enough to fill a device; of buffers that copies fill while kernels run, less.
    static constexpr std::size_t preferred_chunk = 65536, streamed_chunk = 8192;

    struct Set {
        RecordSet host;
        Memory features, labels, targets;
        std::span<const std::uint32_t> indices = {};
        const std::uint32_t* device_indices = nullptr;
    };

    /// One of the two buffers of a pipeline: filled by the host, copied by the copy queue, read by a kernel.
    struct Stream {
        Stream(const Executor& executor, std::size_t bytes)
            : pinned(executor), staged(executor, bytes), copied(executor), consumed(executor) {
            pinned.reserve(bytes);
            executor.record(consumed, Queue::compute);  // orders its allocation before the first copy
        }
        PinnedMemory<Executor> pinned;
        Memory staged;
        typename Executor::Event copied, consumed;
    };

    std::size_t row_bytes(const RecordSet& set) const {
        return inputs_ * (set.wide_features != nullptr ? sizeof(double) : sizeof(float));
    }
    static const std::byte* raw(const RecordSet& set) {
        return set.wide_features != nullptr ? reinterpret_cast<const std::byte*>(set.wide_features)
                                            : reinterpret_cast<const std::byte*>(set.features);
    }
    void put(Memory& memory, const void* from, std::size_t bytes) {
        bytes_ += bytes;
        memory.reserve(bytes);
        executor_.upload(memory.template as<void>(), from, bytes);
    }

    void stream(const RecordSet& set, std::span<const std::uint32_t> indices, double* x, std::size_t stride) {
        Stream& buffer = *streams_[next_stream_];
        next_stream_ = 1 - next_stream_;
        std::byte* pinned = buffer.pinned.template as<std::byte>();
        std::byte* staged = buffer.staged.template as<std::byte>();
        executor_.wait_on_host(buffer.copied);  // its last copy, two chunks ago
        gather_rows(raw(set), row_bytes(set), indices, pinned);
        executor_.wait(buffer.consumed, Queue::copy);
        executor_.upload(staged, pinned, indices.size() * row_bytes(set), Queue::copy);
        executor_.record(buffer.copied, Queue::copy);
        executor_.wait(buffer.copied, Queue::compute);
        gather(set, staged, nullptr, indices.size(), x, stride);
        executor_.record(buffer.consumed, Queue::compute);
    }

    void gather(const RecordSet& set, const std::byte* features, const std::uint32_t* indices,
                std::size_t count, double* x, std::size_t stride) const {
        const auto launch = [&]<typename Feature>(const Feature* typed) {
            const int inputs = static_cast<int>(inputs_), records = static_cast<int>(count);
            if (in_double_) {
                executor_.launch(
                    GatherKernel<Feature, double>{typed, indices, x, stride, inputs, records, transform_});
            } else {
                executor_.launch(
                    GatherKernel<Feature, float>{typed, indices, x, stride, inputs, records, transform_});
            }
        };
        if (set.wide_features != nullptr) {
            launch(reinterpret_cast<const double*>(features));
        } else {
            launch(reinterpret_cast<const float*>(features));
        }
    }

    const Executor& executor_;
    std::size_t inputs_;
    InputTransform transform_;
    bool in_double_;
    bool resident_ = true;
    std::size_t bytes_ = 0;
    std::size_t chunk_limit_ = preferred_chunk;
    std::vector<Set> sets_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::size_t next_stream_ = 0;
};

}  // namespace holdfast::device
