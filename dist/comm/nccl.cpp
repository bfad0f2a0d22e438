#include "dist/comm/nccl.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstring>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/base/loaded_library.hpp"
#include "kernels/cuda/cuda.hpp"

namespace holdfast {
namespace {

constexpr const char* remedy = "NCCL_DEBUG=INFO says more; run.transport=mpi does without NCCL";

/// NCCL of the version built against, loaded when it is first asked for: the program starts where it is not,
/// and without the memory that it takes.
class Nccl {
    // Above the functions, which are looked up in it.
    LoadedLibrary library_{"libnccl.so." + std::to_string(NCCL_MAJOR), HOLDFAST_NCCL_FOLDER};

  public:
    Nccl() {
        if (!library_.found())
            throw Error(ExitCode::usage, "libnccl.so." + std::to_string(NCCL_MAJOR) + " is not installed",
                        "run.transport=mpi does without NCCL, or install it", "nccl");
    }

    decltype(ncclGetUniqueId)* get_unique_id = function<decltype(ncclGetUniqueId)>("ncclGetUniqueId");
    decltype(ncclCommInitRankConfig)* init =
        function<decltype(ncclCommInitRankConfig)>("ncclCommInitRankConfig");
    decltype(ncclCommGetAsyncError)* async_error =
        function<decltype(ncclCommGetAsyncError)>("ncclCommGetAsyncError");
    decltype(ncclAllReduce)* all_reduce = function<decltype(ncclAllReduce)>("ncclAllReduce");
    decltype(ncclCommFinalize)* finalize = function<decltype(ncclCommFinalize)>("ncclCommFinalize");
    decltype(ncclCommAbort)* abort = function<decltype(ncclCommAbort)>("ncclCommAbort");
    decltype(ncclCommDestroy)* destroy = function<decltype(ncclCommDestroy)>("ncclCommDestroy");
    decltype(ncclGetErrorString)* error_string = function<decltype(ncclGetErrorString)>("ncclGetErrorString");
    decltype(ncclGetLastError)* last_error = function<decltype(ncclGetLastError)>("ncclGetLastError");

  private:
    template <typename Function>
    Function* function(const char* name) const {
        auto* const found = library_.function<Function>(name);
        if (found == nullptr && library_.found())
            throw Error(ExitCode::usage, std::string("the NCCL that is installed has no ") + name,
                        "install " + std::to_string(NCCL_MAJOR) + "." + std::to_string(NCCL_MINOR) +
                            " or later, or use run.transport=mpi",
                        "nccl");
        return found;
    }
};

const Nccl& nccl() {
    static const Nccl loaded;
    return loaded;
}

std::string words(ncclResult_t status, ncclComm_t group) {
    const std::string detail = group == nullptr ? "" : nccl().last_error(group);
    return nccl().error_string(status) + (detail.empty() ? "" : ": " + detail);
}

/// A group that does not block is in progress after a call that went well.
void check(ncclResult_t status, const char* operation, ncclComm_t group = nullptr) {
    if (status == ncclSuccess || status == ncclInProgress) return;
    throw Error(ExitCode::communication, std::string(operation) + " failed: " + words(status, group), remedy,
                "nccl");
}

/// Move-only owner of an ncclComm_t.
class Handle {
  public:
    explicit Handle(ncclComm_t group) : group_(group) {}
    Handle(Handle&& other) noexcept : group_(std::exchange(other.group_, nullptr)) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    Handle& operator=(Handle&&) = delete;
    ~Handle() { abort(); }

    ncclComm_t get() const { return group_; }
    // Both end the handle whatever they answer, and nothing could be done about a failure.
    void abort() noexcept {
        if (group_ != nullptr) static_cast<void>(nccl().abort(std::exchange(group_, nullptr)));
    }
    void destroy() noexcept {
        if (group_ != nullptr) static_cast<void>(nccl().destroy(std::exchange(group_, nullptr)));
    }

  private:
    ncclComm_t group_;
};

/// Starts to meet the other ranks. What NCCL hands out beside an error is given back.
Handle start_joining(const ncclUniqueId& id, int rank, int size) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t group = nullptr;
    const ncclResult_t status = nccl().init(&group, size, id, rank, &config);
    Handle handle(group);
    check(status, "ncclCommInitRankConfig", group);
    return handle;
}

class NcclGroup final : public CollectiveGroup {
  public:
    explicit NcclGroup(Handle handle) : handle_(std::move(handle)) {}
    NcclGroup(const NcclGroup&) = delete;
    NcclGroup& operator=(const NcclGroup&) = delete;
    ~NcclGroup() override {
        if (finished_ && state().is == CollectiveState::Is::done) handle_.destroy();
    }

    CollectiveState state() const override {
        if (handle_.get() == nullptr) return {CollectiveState::Is::failed, "it was aborted"};
        ncclResult_t of_group = ncclSuccess;
        const ncclResult_t status = nccl().async_error(handle_.get(), &of_group);
        if (status != ncclSuccess)
            return {CollectiveState::Is::failed, "ncclCommGetAsyncError: " + words(status, handle_.get())};
        if (of_group == ncclInProgress) return {CollectiveState::Is::working};
        if (of_group == ncclSuccess) return {CollectiveState::Is::done};
        return {CollectiveState::Is::failed, words(of_group, handle_.get())};
    }

    CollectiveState state(void* stream) const override {
        const CollectiveState of_group = state();
        if (of_group.is != CollectiveState::Is::done) return of_group;
        const cudaError_t status = cudaStreamQuery(static_cast<cudaStream_t>(stream));
        if (status == cudaSuccess) return {CollectiveState::Is::done};
        if (status == cudaErrorNotReady) return {CollectiveState::Is::working};
        return {CollectiveState::Is::failed, std::string("CUDA: ") + cudaGetErrorString(status)};
    }

    void sum(DeviceSpan values) override {
        ensure_joined();
        check(nccl().all_reduce(values.data, values.data, values.size, ncclInt64, ncclSum, handle_.get(),
                                static_cast<cudaStream_t>(values.stream)),
              "ncclAllReduce", handle_.get());
    }

    void finish() override {
        ensure_joined();
        check(nccl().finalize(handle_.get()), "ncclCommFinalize", handle_.get());
        finished_ = true;
    }

    void abort() noexcept override { handle_.abort(); }

  private:
    void ensure_joined() const {
        if (handle_.get() == nullptr)
            throw Error(ExitCode::communication, "the ranks have given up their sums", remedy, "nccl");
    }

    Handle handle_;
    bool finished_ = false;
};

class NcclLibrary final : public CollectiveLibrary {
  public:
    explicit NcclLibrary(int device) : device_(device) {}

    std::string name() const override { return "nccl"; }

    std::vector<std::byte> new_id() const override {
        ncclUniqueId id;
        check(nccl().get_unique_id(&id), "ncclGetUniqueId");
        std::vector<std::byte> bytes(sizeof id);
        std::memcpy(bytes.data(), &id, sizeof id);
        return bytes;
    }

    std::unique_ptr<CollectiveGroup> join(std::span<const std::byte> bytes, int rank,
                                          int size) const override {
        ncclUniqueId id;
        ensure(bytes.size() == sizeof id, "rank 0 has broadcast an NCCL id");
        std::memcpy(&id, bytes.data(), sizeof id);
        use_device(device_);
        return std::make_unique<NcclGroup>(start_joining(id, rank, size));
    }

  private:
    int device_;
};

}  // namespace

std::string nccl_version() {
    return std::to_string(NCCL_MAJOR) + "." + std::to_string(NCCL_MINOR) + "." + std::to_string(NCCL_PATCH);
}

std::shared_ptr<const CollectiveLibrary> make_nccl_library(int device) {
    return std::make_shared<NcclLibrary>(device);
}

std::unique_ptr<Communicator> make_nccl_communicator(const Communicator& host, int device,
                                                     std::chrono::duration<double> timeout) {
    return make_device_communicator(host, make_nccl_library(device), timeout);
}

}  // namespace holdfast
