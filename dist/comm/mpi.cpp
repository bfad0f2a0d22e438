#include "dist/comm/mpi.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

void check(int status, const char* operation) {
    if (status == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(status, text.data(), &length);
    throw Error(ExitCode::communication, std::string(operation) + " failed: " + text.data(),
                "a rank may have died: see its log, then --resume", "MPI");
}

// MPI counts are int: longer messages go in pieces of this many elements.
constexpr std::size_t max_piece = std::size_t{1} << 28;
constexpr int message_tag = 7;

/// Move-only owner of an MPI_Comm; the world is not freed.
class Handle {
  public:
    Handle(MPI_Comm comm, bool owned) : comm_(comm), owned_(owned) {}
    Handle(Handle&& other) noexcept : comm_(other.comm_), owned_(std::exchange(other.owned_, false)) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    Handle& operator=(Handle&&) = delete;
    ~Handle() {
        if (owned_) MPI_Comm_free(&comm_);
    }
    MPI_Comm get() const { return comm_; }

  private:
    MPI_Comm comm_;
    bool owned_;
};

class MpiCommunicator final : public Communicator {
  public:
    MpiCommunicator(Handle handle, int local_rank) : handle_(std::move(handle)), local_rank_(local_rank) {
        check(MPI_Comm_set_errhandler(handle_.get(), MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        check(MPI_Comm_rank(handle_.get(), &rank_), "MPI_Comm_rank");
        check(MPI_Comm_size(handle_.get(), &size_), "MPI_Comm_size");
    }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string transport() const override { return "mpi"; }
    int local_rank() const override { return local_rank_; }
    void sum(std::span<std::int64_t> values) const override { reduce(values, MPI_SUM); }
    void min(std::span<std::int64_t> values) const override { reduce(values, MPI_MIN); }
    void max(std::span<std::int64_t> values) const override { reduce(values, MPI_MAX); }
    void barrier() const override { check(MPI_Barrier(handle_.get()), "MPI_Barrier"); }

    void broadcast(std::vector<std::byte>& bytes, int root) const override {
        std::uint64_t length = bytes.size();
        check(MPI_Bcast(&length, 1, MPI_UINT64_T, root, handle_.get()), "MPI_Bcast");
        bytes.resize(length);
        for (std::size_t at = 0; at < length; at += max_piece) {
            const int count = static_cast<int>(std::min(max_piece, length - at));
            check(MPI_Bcast(bytes.data() + at, count, MPI_BYTE, root, handle_.get()), "MPI_Bcast");
        }
    }

    std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> bytes) const override {
        std::vector<std::vector<std::byte>> gathered(size_);
        gathered[rank_].assign(bytes.begin(), bytes.end());
        for (int root = 0; root < size_; ++root) broadcast(gathered[root], root);
        return gathered;
    }

    // Pairwise in rounds: in round d each rank sends to rank + d and receives from rank - d.
    std::vector<std::vector<std::byte>> exchange(
        const std::vector<std::vector<std::byte>>& outgoing) const override {
        ensure(outgoing.size() == static_cast<std::size_t>(size_), "exchange has one message a rank");
        std::vector<std::vector<std::byte>> incoming(size_);
        incoming[rank_] = outgoing[rank_];
        for (int distance = 1; distance < size_; ++distance) {
            const int to = (rank_ + distance) % size_;
            const int from = (rank_ - distance + size_) % size_;
            std::uint64_t sending = outgoing[to].size(), receiving = 0;
            check(MPI_Sendrecv(&sending, 1, MPI_UINT64_T, to, message_tag, &receiving, 1, MPI_UINT64_T, from,
                               message_tag, handle_.get(), MPI_STATUS_IGNORE),
                  "MPI_Sendrecv");
            incoming[from].resize(receiving);
            for (std::size_t at = 0; at < std::max(sending, receiving); at += max_piece) {
                const std::size_t out = at < sending ? std::min(max_piece, sending - at) : 0;
                const std::size_t in = at < receiving ? std::min(max_piece, receiving - at) : 0;
                check(MPI_Sendrecv(outgoing[to].data() + std::min<std::size_t>(at, sending),
                                   static_cast<int>(out), MPI_BYTE, to, message_tag,
                                   incoming[from].data() + std::min<std::size_t>(at, receiving),
                                   static_cast<int>(in), MPI_BYTE, from, message_tag, handle_.get(),
                                   MPI_STATUS_IGNORE),
                      "MPI_Sendrecv");
            }
        }
        return incoming;
    }

    void send(std::span<const std::byte> bytes, int to) const override {
        std::uint64_t length = bytes.size();
        check(MPI_Send(&length, 1, MPI_UINT64_T, to, message_tag, handle_.get()), "MPI_Send");
        for (std::size_t at = 0; at < length; at += max_piece) {
            const int count = static_cast<int>(std::min(max_piece, bytes.size() - at));
            check(MPI_Send(bytes.data() + at, count, MPI_BYTE, to, message_tag, handle_.get()), "MPI_Send");
        }
    }

    std::vector<std::byte> receive(int from) const override {
        std::uint64_t length = 0;
        check(MPI_Recv(&length, 1, MPI_UINT64_T, from, message_tag, handle_.get(), MPI_STATUS_IGNORE),
              "MPI_Recv");
        std::vector<std::byte> bytes(length);
        for (std::size_t at = 0; at < length; at += max_piece) {
            const int count = static_cast<int>(std::min(max_piece, bytes.size() - at));
            check(MPI_Recv(bytes.data() + at, count, MPI_BYTE, from, message_tag, handle_.get(),
                           MPI_STATUS_IGNORE),
                  "MPI_Recv");
        }
        return bytes;
    }

    std::unique_ptr<Communicator> split(int colour) const override {
        MPI_Comm part = MPI_COMM_NULL;
        check(MPI_Comm_split(handle_.get(), colour, rank_, &part), "MPI_Comm_split");
        return std::make_unique<MpiCommunicator>(Handle(part, true), local_rank_);
    }

  private:
    void reduce(std::span<std::int64_t> values, MPI_Op operation) const {
        for (std::size_t at = 0; at < values.size(); at += max_piece) {
            const int count = static_cast<int>(std::min(max_piece, values.size() - at));
            check(
                MPI_Allreduce(MPI_IN_PLACE, values.data() + at, count, MPI_INT64_T, operation, handle_.get()),
                "MPI_Allreduce");
        }
    }

    Handle handle_;
    int rank_ = 0;
    int size_ = 1;
    int local_rank_;
};

/// Of this rank among those that share its machine's memory.
int rank_on_machine() {
    int rank = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    MPI_Comm part = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &part),
          "MPI_Comm_split_type");
    const Handle machine(part, true);
    check(MPI_Comm_rank(machine.get(), &rank), "MPI_Comm_rank");
    return rank;
}

bool launched_by_mpi() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
        if (std::getenv(name) != nullptr) return true;
    }
    return false;
}

}  // namespace

MpiSession::MpiSession(int& argc, char**& argv) {
    if (!launched_by_mpi()) {
        world_ = make_serial_communicator();
        return;
    }
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    started_ = true;
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    world_ = std::make_unique<MpiCommunicator>(Handle(MPI_COMM_WORLD, false), rank_on_machine());
}

MpiSession::~MpiSession() {
    world_.reset();
    if (started_) MPI_Finalize();
}

void MpiSession::abort(int code) const {
    if (started_) MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
}

std::string MpiSession::library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string version(text.data());
    return version.substr(0, version.find(','));
}

}  // namespace holdfast
