// NCCL itself on one GPU: a group of one rank takes every call, and a peer that never comes is the real thing
// for the deadline. Several ranks: tests/gpu/nccl_ranks.sh.

#include "dist/comm/nccl.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "kernels/base/error.hpp"
#include "kernels/cuda/cuda.hpp"
#include "tests/support/quiet_communicator.hpp"

namespace holdfast {
namespace {

using std::chrono::milliseconds;

class NcclTest : public testing::Test {
  protected:
    void SetUp() override {
        const std::string problem = nccl_version().empty() ? "built without NCCL"
                                    : device_count() == 0  ? "no usable GPU"
                                                           : "";
        const char* required = std::getenv("HOLDFAST_REQUIRE_GPU");
        if (problem.empty()) {
            library_ = make_nccl_library(0);
            use_device(0);
        } else if (required != nullptr && std::string(required) == "1") {
            FAIL() << "HOLDFAST_REQUIRE_GPU=1, but " << problem;
        } else {
            GTEST_SKIP() << problem;
        }
    }

    /// What becomes of it within `patience`.
    template <typename Look>
    static CollectiveState outcome(Look look, milliseconds patience = std::chrono::minutes(2)) {
        const auto start = std::chrono::steady_clock::now();
        for (;;) {
            const CollectiveState state = look();
            if (state.is != CollectiveState::Is::working) return state;
            if (std::chrono::steady_clock::now() - start > patience) return state;
            std::this_thread::sleep_for(milliseconds(1));
        }
    }
    std::unique_ptr<CollectiveGroup> group_of_one() const {
        auto group = library_->join(library_->new_id(), 0, 1);
        const CollectiveState state = outcome([&] { return group->state(); });
        EXPECT_EQ(state.is, CollectiveState::Is::done) << state.what;
        return group;
    }

    std::shared_ptr<const CollectiveLibrary> library_;
};

/// Integers on the device, and a stream.
class Device {
  public:
    explicit Device(const std::vector<std::int64_t>& values) : size_(values.size()) {
        EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
        EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), cudaSuccess);
        EXPECT_EQ(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
    }
    ~Device() {
        EXPECT_EQ(cudaFree(data_), cudaSuccess);
        EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    DeviceSpan span() const { return {data_, size_, stream_}; }
    cudaStream_t stream() const { return stream_; }
    std::vector<std::int64_t> values() const {
        std::vector<std::int64_t> host(size_);
        EXPECT_EQ(cudaMemcpy(host.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
        return host;
    }

  private:
    std::size_t bytes() const { return size_ * sizeof(std::int64_t); }
    std::size_t size_;
    std::int64_t* data_ = nullptr;
    cudaStream_t stream_ = nullptr;
};

/// Lets a stream wait until it is opened.
class Gate {
  public:
    explicit Gate(cudaStream_t stream) {
        EXPECT_EQ(cudaLaunchHostFunc(
                      stream,
                      [](void* open) {
                          while (!static_cast<std::atomic<bool>*>(open)->load())
                              std::this_thread::sleep_for(milliseconds(1));
                      },
                      &open_),
                  cudaSuccess);
    }
    void open() { open_ = true; }

  private:
    std::atomic<bool> open_ = false;
};

TEST_F(NcclTest, AddsWholeNumbersExactlyInTheOrderOfTheStream) {
    const std::vector<std::int64_t> values{0, 1, -1, INT64_MAX, INT64_MIN, (std::int64_t{1} << 53) + 1};
    const auto group = group_of_one();
    const Device device(values);
    Gate gate(device.stream());
    group->sum(device.span());
    ASSERT_EQ(outcome([&] { return group->state(); }).is, CollectiveState::Is::done);
    EXPECT_EQ(group->state(device.stream()).is, CollectiveState::Is::working);  // behind the gate
    gate.open();
    const CollectiveState state = outcome([&] { return group->state(device.stream()); });
    EXPECT_EQ(state.is, CollectiveState::Is::done) << state.what;
    EXPECT_EQ(device.values(), values);
    group->finish();
    EXPECT_EQ(outcome([&] { return group->state(); }).is, CollectiveState::Is::done);
}

TEST_F(NcclTest, AbortedGroupHasFailedAndRefusesSums) {
    const auto group = group_of_one();
    const Device device({1, 2, 3});
    group->abort();
    group->abort();
    EXPECT_EQ(group->state().is, CollectiveState::Is::failed);
    EXPECT_EQ(group->state(device.stream()).is, CollectiveState::Is::failed);
    EXPECT_THROW(group->sum(device.span()), Error);
    EXPECT_THROW(group->finish(), Error);
}

TEST_F(NcclTest, IdsDiffer) {
    EXPECT_NE(library_->new_id(), library_->new_id());
}

/// Rank 0 of two whose other rank is never there.
class Deserted final : public QuietCommunicator {
  public:
    int size() const override { return 2; }
    void await(const std::function<bool()>& done) const override {
        const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(3);
        while (!done()) {
            if (std::chrono::steady_clock::now() > late)
                throw Error(ExitCode::communication, "nobody came", "see the other", "deserted");
        }
    }
};

TEST_F(NcclTest, RankThatNeverComesEndsTheMeetingInTime) {
    const Deserted host;
    const auto start = std::chrono::steady_clock::now();
    try {
        make_nccl_communicator(host, 0);
        FAIL() << "met nobody";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::communication);
        EXPECT_FALSE(error.hint().empty());
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

}  // namespace
}  // namespace holdfast
