#pragma once

#include <cuda_runtime.h>

#include <optional>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/cuda/cublas_lt.hpp"
#include "kernels/cuda/host_executor.hpp"

namespace holdfast::device {

inline void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    const bool memory = status == cudaErrorMemoryAllocation;
    throw Error(ExitCode::internal, std::string(what) + ": " + cudaGetErrorString(status),
                memory ? "let fewer ranks share a device, or use --set run.backend=cpu"
                       : "see nvidia-smi and dmesg; --set run.backend=cpu gives the same bytes",
                "CUDA");
}

/// Blocks on a multiprocessor, at least: with one alone nothing is done while its threads wait for each other.
/// 0: as the compiler pleases, which gives all but the products of boxes two or more.
template <typename Kernel>
constexpr int blocks_at_once() {
    if constexpr (requires { Kernel::blocks_at_once; }) return Kernel::blocks_at_once;
    return 0;
}

/// Runs the phases of a kernel on the device (kernels/cuda/kernel.hpp).
template <typename Kernel>
__global__ void __launch_bounds__(Kernel::threads, blocks_at_once<Kernel>()) drive(const Kernel kernel) {
    __shared__ typename Kernel::Shared shared;
    typename Kernel::Registers registers;
    const Block block{static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y),
                      static_cast<int>(blockIdx.z)};
    const int thread = static_cast<int>(threadIdx.x);
    kernel.begin(block, thread, registers);
    const int steps = kernel.steps(block);
    for (int step = 0; step < steps; ++step) {
        kernel.load(block, step, thread, shared);
        __syncthreads();
        kernel.compute(block, step, thread, shared, registers);
        __syncthreads();
    }
    kernel.store(block, thread, shared, registers);
}

/// A stream of the device that is current when it is made.
class Stream {
  public:
    Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"); }
    ~Stream() { cudaStreamDestroy(stream_); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    cudaStream_t get() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

/// Runs the kernels on one CUDA device, everything in the order of its queue. Usable from any thread that
/// calls bind() first.
class CudaExecutor {
  public:
    /// products: of integers, by cuBLASLt.
    CudaExecutor(int ordinal, bool products)
        : ordinal_((check(cudaSetDevice(ordinal), "the device"), ordinal)) {
        if (products) cublas_.emplace();
        std::uint64_t keep_all = UINT64_MAX;  // freed memory stays with the pool, as steps reuse it
        check(cudaDeviceGetDefaultMemPool(&pool_, ordinal_), "the device's memory pool");
        check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_all),
              "the device's memory pool");
    }

    class Event {
      public:
        explicit Event(const CudaExecutor&) {
            check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "an event");
        }
        ~Event() { cudaEventDestroy(event_); }
        Event(const Event&) = delete;
        Event& operator=(const Event&) = delete;
        cudaEvent_t get() const { return event_; }

      private:
        cudaEvent_t event_ = nullptr;
    };

    void bind() const { check(cudaSetDevice(ordinal_), "the device"); }
    void* stream() const { return compute_.get(); }
    std::size_t free_memory() const {
        std::size_t free = 0, total = 0;
        synchronize();
        check(cudaMemPoolTrimTo(pool_, 0), "the device's memory pool");
        check(cudaMemGetInfo(&free, &total), "the device's memory");
        return free / 10 * 9;  // the rest for the runtime and for fragments
    }

    void* allocate(std::size_t bytes) const {
        void* memory = nullptr;
        check(cudaMallocAsync(&memory, bytes, compute_.get()), "device memory");
        return memory;
    }
    void release(void* memory, std::size_t) const noexcept { cudaFreeAsync(memory, compute_.get()); }
    void* allocate_pinned(std::size_t bytes) const {
        void* memory = nullptr;
        check(cudaMallocHost(&memory, bytes), "pinned host memory");
        return memory;
    }
    void release_pinned(void* memory) const noexcept { cudaFreeHost(memory); }

    void upload(void* to, const void* from, std::size_t bytes, Queue queue = Queue::compute) const {
        if (bytes == 0) return;
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, of(queue)), "a copy to the device");
    }
    void download(void* to, const void* from, std::size_t bytes) const {
        if (bytes == 0) return;
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, of(Queue::compute)),
              "a copy from the device");
    }
    void copy(void* to, const void* from, std::size_t bytes) const {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, of(Queue::compute)),
              "a copy on the device");
    }
    void fill(void* memory, int byte, std::size_t bytes) const {
        if (bytes == 0) return;
        check(cudaMemsetAsync(memory, byte, bytes, of(Queue::compute)), "filling device memory");
    }

    void record(const Event& event, Queue queue) const {
        check(cudaEventRecord(event.get(), of(queue)), "an event");
    }
    void wait(const Event& event, Queue queue) const {
        check(cudaStreamWaitEvent(of(queue), event.get(), 0), "waiting for an event");
    }
    void wait_on_host(const Event& event) const {
        check(cudaEventSynchronize(event.get()), "waiting for an event");
    }
    void synchronize() const { check(cudaStreamSynchronize(compute_.get()), "a step on the device"); }

    template <typename Kernel>
    void launch(const Kernel& kernel) const {
        const Extent extent = kernel.extent();
        if (extent.x == 0 || extent.y == 0 || extent.z == 0) return;  // CUDA takes no empty launch
        const dim3 blocks(static_cast<unsigned>(extent.x), static_cast<unsigned>(extent.y),
                          static_cast<unsigned>(extent.z));
        drive<Kernel><<<blocks, Kernel::threads, 0, compute_.get()>>>(kernel);
        check(cudaGetLastError(), "a kernel's launch");
    }

    int longest_product() const { return IntegerProduct::longest; }
    void multiply(const IntegerProduct& product) const { cublas_.value().multiply(product, compute_.get()); }

  private:
    cudaStream_t of(Queue queue) const { return queue == Queue::compute ? compute_.get() : copy_.get(); }

    int ordinal_;
    std::optional<CublasLt> cublas_;
    cudaMemPool_t pool_ = nullptr;
    Stream compute_, copy_;
};

}  // namespace holdfast::device
