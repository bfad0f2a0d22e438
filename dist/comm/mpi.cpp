#include "dist/comm/mpi.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "dist/comm/mpi_watch.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/utf8.hpp"

namespace holdfast {
namespace {

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

struct Machine {
    int number;  ///< the least rank on it
    int local_rank;
};

/// Made and destroyed under the watch's lock.
class MpiCommunicator final : public Communicator {
  public:
    MpiCommunicator(Handle handle, Machine machine, MpiWatch& watch)
        : handle_(std::move(handle)), machine_(machine), watch_(watch) {
        check_mpi(MPI_Comm_set_errhandler(handle_->get(), MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        check_mpi(MPI_Comm_rank(handle_->get(), &rank_), "MPI_Comm_rank");
        check_mpi(MPI_Comm_size(handle_->get(), &size_), "MPI_Comm_size");
    }
    MpiCommunicator(const MpiCommunicator&) = delete;
    MpiCommunicator& operator=(const MpiCommunicator&) = delete;
    ~MpiCommunicator() override {
        const auto lock = watch_.calls();
        handle_.reset();
    }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string transport() const override { return "mpi"; }
    int local_rank() const override { return machine_.local_rank; }
    std::vector<int> machines() const override { return gathered(*this, std::vector<int>{machine_.number}); }
    void give_up_after(double seconds) const override { watch_.give_up_after(seconds); }

    void await(const std::function<bool()>& done) const override {
        watch_.begin_wait();
        Communicator::await([&] {
            if (done()) return true;
            watch_.throw_if_stalled();
            return false;
        });
        watch_.end_wait();
    }

    void sum(std::span<std::int64_t> values) const override { reduce(values, MPI_SUM); }
    void min(std::span<std::int64_t> values) const override { reduce(values, MPI_MIN); }
    void max(std::span<std::int64_t> values) const override { reduce(values, MPI_MAX); }
    void barrier() const override {
        run("MPI_Ibarrier", [&](Requests& requests) { return MPI_Ibarrier(comm(), &requests[0]); });
    }

    void broadcast(std::vector<std::byte>& bytes, int root) const override {
        std::uint64_t length = bytes.size();
        const auto cast = [&](void* from, int count) {
            run("MPI_Ibcast", [&](Requests& requests) {
                return MPI_Ibcast(from, count, MPI_BYTE, root, comm(), &requests[0]);
            });
        };
        cast(&length, sizeof length);
        bytes.resize(length);
        for (std::size_t at = 0; at < length; at += max_piece)
            cast(bytes.data() + at, static_cast<int>(std::min(max_piece, length - at)));
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
            // What is empty is not sent: the other rank, which knows, does not wait for it.
            const auto swap = [&](const void* out, std::size_t sending, void* in, std::size_t receiving) {
                run("MPI_Irecv and MPI_Isend", [&](Requests& requests) {
                    int status = MPI_SUCCESS;
                    if (receiving > 0)
                        status = MPI_Irecv(in, static_cast<int>(receiving), MPI_BYTE, from, message_tag,
                                           comm(), &requests[0]);
                    if (status != MPI_SUCCESS || sending == 0) return status;
                    return MPI_Isend(out, static_cast<int>(sending), MPI_BYTE, to, message_tag, comm(),
                                     &requests[1]);
                });
            };
            const std::uint64_t sending = outgoing[to].size();
            std::uint64_t receiving = 0;
            swap(&sending, sizeof sending, &receiving, sizeof receiving);
            incoming[from].resize(receiving);
            for (std::size_t at = 0; at < std::max(sending, receiving); at += max_piece) {
                const std::size_t out = at < sending ? std::min(max_piece, sending - at) : 0;
                const std::size_t in = at < receiving ? std::min(max_piece, receiving - at) : 0;
                swap(outgoing[to].data() + std::min<std::size_t>(at, sending), out,
                     incoming[from].data() + std::min<std::size_t>(at, receiving), in);
            }
        }
        return incoming;
    }

    void send(std::span<const std::byte> bytes, int to) const override {
        const std::uint64_t length = bytes.size();
        const auto send = [&](const void* from, int count) {
            run("MPI_Isend", [&](Requests& requests) {
                return MPI_Isend(from, count, MPI_BYTE, to, message_tag, comm(), &requests[0]);
            });
        };
        send(&length, sizeof length);
        for (std::size_t at = 0; at < length; at += max_piece)
            send(bytes.data() + at, static_cast<int>(std::min(max_piece, bytes.size() - at)));
    }

    std::vector<std::byte> receive(int from) const override {
        const auto receive = [&](void* into, int count) {
            run("MPI_Irecv", [&](Requests& requests) {
                return MPI_Irecv(into, count, MPI_BYTE, from, message_tag, comm(), &requests[0]);
            });
        };
        std::uint64_t length = 0;
        receive(&length, sizeof length);
        std::vector<std::byte> bytes(length);
        for (std::size_t at = 0; at < length; at += max_piece)
            receive(bytes.data() + at, static_cast<int>(std::min(max_piece, bytes.size() - at)));
        return bytes;
    }

    std::unique_ptr<Communicator> split(int colour) const override {
        barrier();  // the one call that can only block: made once all ranks are there
        const auto lock = watch_.calls();
        MPI_Comm part = MPI_COMM_NULL;
        check_mpi(MPI_Comm_split(comm(), colour, rank_, &part), "MPI_Comm_split");
        return std::make_unique<MpiCommunicator>(Handle(part, true), machine_, watch_);
    }

  private:
    using Requests = std::array<MPI_Request, 2>;

    MPI_Comm comm() const { return handle_->get(); }

    /// `start` begins what `operation` names; returns when it is done.
    template <typename Start>
    void run(const char* operation, Start start) const {
        Requests requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        {
            const auto lock = watch_.calls();
            check_mpi(start(requests), operation);
        }
        await([&] {
            const auto lock = watch_.calls();
            int done = 0;
            check_mpi(
                MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
                operation);
            return done != 0;
        });
    }

    void reduce(std::span<std::int64_t> values, MPI_Op operation) const {
        if (values.size() < static_cast<std::size_t>(size_)) {
            // Fewer values than ranks would go around in a ring, a rank after the other.
            std::vector<std::int64_t> padded(size_);
            std::copy(values.begin(), values.end(), padded.begin());
            reduce(padded, operation);
            std::copy_n(padded.begin(), values.size(), values.begin());
            return;
        }
        for (std::size_t at = 0; at < values.size(); at += max_piece) {
            const int count = static_cast<int>(std::min(max_piece, values.size() - at));
            run("MPI_Iallreduce", [&](Requests& requests) {
                return MPI_Iallreduce(MPI_IN_PLACE, values.data() + at, count, MPI_INT64_T, operation, comm(),
                                      &requests[0]);
            });
        }
    }

    std::optional<Handle> handle_;
    Machine machine_;
    MpiWatch& watch_;
    int rank_ = 0;
    int size_ = 1;
};

/// Of this rank, among those that share its machine's memory.
Machine machine_of_this_rank() {
    int rank = 0;
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    MPI_Comm part = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &part),
              "MPI_Comm_split_type");
    const Handle handle(part, true);
    Machine machine{rank, 0};
    check_mpi(MPI_Comm_rank(handle.get(), &machine.local_rank), "MPI_Comm_rank");
    check_mpi(MPI_Bcast(&machine.number, 1, MPI_INT, 0, handle.get()), "MPI_Bcast");
    return machine;
}

/// Settings are read once MPI is there, and its start needs this one: the last that the command line has.
double stall_seconds(std::span<char* const> words) {
    constexpr std::string_view name = "run.stall_seconds=";
    double seconds = default_stall_seconds;
    for (const std::string_view word : words) {
        const std::size_t at = word.find(name);
        if (at == std::string_view::npos) continue;
        const char* const begin = word.data() + at + name.size();
        std::from_chars(begin, word.data() + word.size(), seconds);  // the settings refuse what is no number
    }
    return seconds;
}

}  // namespace

MpiSession::MpiSession(int& argc, char**& argv, const std::function<void()>& start_libraries) {
    if (!launched_by_mpi()) {
        world_ = make_serial_communicator();
        return;
    }
    // Open MPI's own choice for two or three ranks takes twice as long as a sum that blocks.
    ::setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "3", 0);
    watch_ = std::make_unique<MpiWatch>();
    watch_->give_up_after(stall_seconds({argv, static_cast<std::size_t>(argc)}));
    const auto lock = watch_->calls();
    int provided = MPI_THREAD_SINGLE;
    check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_SERIALIZED)
        throw Error(ExitCode::usage, "it may be called by one thread only", "use an MPI built with threads",
                    "MPI");
    check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    world_ =
        std::make_unique<MpiCommunicator>(Handle(MPI_COMM_WORLD, false), machine_of_this_rank(), *watch_);
    watch_->start(MPI_COMM_WORLD);
    start_libraries();
}

MpiSession::~MpiSession() {
    if (watch_ == nullptr) return;
    try {
        watch_->leave();
        world_->await([&] { return watch_->left(); });
    } catch (const Error& error) {
        fail(static_cast<int>(error.code()), error.what());
    }
    world_.reset();
    const auto lock = watch_->calls();
    MPI_Finalize();
}

void MpiSession::fail(int code, const std::string& text) const {
    using namespace std::chrono_literals;
    // Who may not speak is ended by the one who does, unless that one is lost.
    if (watch_ != nullptr && !watch_->may_speak()) std::this_thread::sleep_for(10s);
    std::cerr << printable("holdfast: " + text + "\n")
              << std::flush;  // at once, or mpirun's words come between
    if (world_->size() == 1) return;
    watch_->expect_end(code);
    const auto lock = watch_->calls();
    MPI_Abort(MPI_COMM_WORLD, code);
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
