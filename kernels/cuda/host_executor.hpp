#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/cuda/integer_product.hpp"
#include "kernels/cuda/kernel.hpp"

// On an x86-64 baseline std::fma is a call, a third of the time: blocks are compiled twice, with the
// instruction and without.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define HOLDFAST_WITH_FMA __attribute__((flatten, target_clones("fma", "default")))
#else
#define HOLDFAST_WITH_FMA
#endif

namespace holdfast::device {

/// Runs the kernels on the host, in plain loops over blocks and threads: for tests of all that is not
/// hardware. Its "device" has as much memory as it is given. The threads of every other block run backwards,
/// so that one that reads what another writes between the same barriers is seen in one block or the other.
class HostExecutor {
  public:
    explicit HostExecutor(std::size_t memory_bytes, int longest_product = IntegerProduct::longest)
        : memory_(memory_bytes), longest_product_(longest_product) {}

    struct Event {
        explicit Event(const HostExecutor&) {}
    };

    void bind() const {}
    std::size_t free_memory() const { return memory_ - used_; }
    void* stream() const { return nullptr; }

    /// Filled with a pattern: nothing may depend on what new memory holds.
    void* allocate(std::size_t bytes) const {
        if (bytes > free_memory())
            throw Error(ExitCode::input, "the device is out of memory", "give the engine more of it");
        used_ += bytes;
        return std::memset(::operator new(bytes, alignment), garbage, bytes);
    }
    void release(void* memory, std::size_t bytes) const noexcept {
        used_ -= bytes;
        ::operator delete(memory, alignment);
    }
    void* allocate_pinned(std::size_t bytes) const { return ::operator new(bytes, alignment); }
    void release_pinned(void* memory) const noexcept { ::operator delete(memory, alignment); }

    void upload(void* to, const void* from, std::size_t bytes, Queue = Queue::compute) const {
        if (bytes > 0) std::memcpy(to, from, bytes);
    }
    void download(void* to, const void* from, std::size_t bytes) const { upload(to, from, bytes); }
    void copy(void* to, const void* from, std::size_t bytes) const { upload(to, from, bytes); }
    void fill(void* memory, int byte, std::size_t bytes) const {
        if (bytes > 0) std::memset(memory, byte, bytes);
    }

    void record(const Event&, Queue) const {}
    void wait(const Event&, Queue) const {}
    void wait_on_host(const Event&) const {}
    void synchronize() const {}

    template <typename Kernel>
    void launch(const Kernel& kernel) const {
        const Extent extent = kernel.extent();
        const auto shared = std::make_unique<typename Kernel::Shared>();
        std::vector<typename Kernel::Registers> registers(Kernel::threads);
        Block block;
        for (block.z = 0; block.z < extent.z; ++block.z) {
            for (block.y = 0; block.y < extent.y; ++block.y) {
                for (block.x = 0; block.x < extent.x; ++block.x) run_block(kernel, block, *shared, registers);
            }
        }
    }

    /// Products that multiply() adds: a multiple of IntegerProduct::edge.
    int longest_product() const { return longest_product_; }
    void multiply(const IntegerProduct& product) const {
        ensure(product.depth <= longest_product_, "an int32 holds the sums");
        for (int level = 0; level < product.levels; ++level) {
            const auto at = static_cast<std::size_t>(level);
            multiply(product, product.a + at * product.a_level, product.b + at * product.b_level,
                     product.c + at * product.c_level);
        }
    }

  private:
    HOLDFAST_WITH_FMA static void multiply(const IntegerProduct& product, const std::int8_t* a,
                                           const std::int8_t* b, std::int32_t* c) {
        for (int row = 0; row < product.rows; ++row) {
            const std::int8_t* of_row = a + static_cast<std::size_t>(row) * product.stride;
            for (int column = 0; column < product.columns; ++column) {
                const std::int8_t* of_column = b + static_cast<std::size_t>(column) * product.stride;
                std::int32_t sum = 0;
                for (int k = 0; k < product.depth; ++k) sum += of_row[k] * of_column[k];
                *c++ = sum;
            }
        }
    }

    static constexpr std::align_val_t alignment{256};
    static constexpr int garbage = 0xff;  // doubles of it are NaN

    template <typename Kernel>
    HOLDFAST_WITH_FMA static void run_block(const Kernel& kernel, Block block,
                                            typename Kernel::Shared& shared,
                                            std::vector<typename Kernel::Registers>& registers) {
        // A block finds nothing of the one before.
        std::memset(static_cast<void*>(&shared), garbage, sizeof shared);
        std::memset(static_cast<void*>(registers.data()), garbage, registers.size() * sizeof registers[0]);
        const bool backwards = (block.x + block.y + block.z) % 2 != 0;
        const auto every_thread = [&](auto phase) {
            for (int i = 0; i < Kernel::threads; ++i) {
                const int thread = backwards ? Kernel::threads - 1 - i : i;
                phase(thread, registers[static_cast<std::size_t>(thread)]);
            }
        };
        every_thread([&](int thread, auto& own) { kernel.begin(block, thread, own); });
        for (int step = 0; step < kernel.steps(block); ++step) {
            every_thread([&](int thread, auto&) { kernel.load(block, step, thread, shared); });
            every_thread([&](int thread, auto& own) { kernel.compute(block, step, thread, shared, own); });
        }
        every_thread([&](int thread, auto& own) { kernel.store(block, thread, shared, own); });
    }

    std::size_t memory_;
    int longest_product_;
    mutable std::atomic<std::size_t> used_{0};
};

}  // namespace holdfast::device
