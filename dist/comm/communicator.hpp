#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/ops/device_span.hpp"

namespace holdfast {

/// run.stall_seconds, until give_up_after() says another.
constexpr double default_stall_seconds = 900;

/// A group of ranks. Collective: every rank of the group calls the same operation in the same order.
/// There is no sum of floating-point numbers: what ranks add is exact (dist/sum), so no order shows in a
/// result. Every failure throws Error with ExitCode::communication.
class Communicator {
  public:
    virtual ~Communicator() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual std::string transport() const = 0;  ///< "serial", "mpi", "nccl"
    /// 0, 1, … among the ranks of the whole program on this machine: what a rank picks its accelerator by.
    virtual int local_rank() const = 0;
    /// [ranks]: equal numbers share a machine. Collective.
    virtual std::vector<int> machines() const { return std::vector<int>(static_cast<std::size_t>(size())); }

    /// Looks, ever less often, until done() holds: every wait for other ranks goes through here. Throws where
    /// the whole job stands still for too long.
    virtual void await(const std::function<bool()>& done) const;
    /// A job in which no rank gets any further for so many seconds is given up; 0: never. One that is only
    /// slow goes on.
    virtual void give_up_after(double /*seconds*/) const {}

    virtual void sum(
        std::span<std::int64_t> values) const = 0;  ///< in place, wraps nowhere: the caller checks ranges
    /// True if sum(DeviceSpan) works: the transport adds in an accelerator's memory, without the host.
    virtual bool sums_on_device() const { return false; }
    /// In place, in the order of the span's stream; returns before the sum is there.
    virtual void sum(DeviceSpan) const { ensure(false, "this transport adds host memory only"); }
    /// Before the host reads what sum(DeviceSpan) left: returns once everything on the span's stream is done,
    /// throws if a rank is lost. A transport without such sums returns at once.
    virtual void wait(void* /*stream*/) const {}
    virtual void min(std::span<std::int64_t> values) const = 0;  ///< in place
    virtual void max(std::span<std::int64_t> values) const = 0;  ///< in place
    virtual void barrier() const = 0;
    virtual void broadcast(std::vector<std::byte>& bytes,
                           int root) const = 0;  ///< resizes on the other ranks

    /// Every rank's bytes in rank order on every rank.
    virtual std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> bytes) const = 0;
    /// outgoing[r] goes to rank r; returns what each rank sent here.
    virtual std::vector<std::vector<std::byte>> exchange(
        const std::vector<std::vector<std::byte>>& outgoing) const = 0;
    virtual void send(std::span<const std::byte> bytes, int to) const = 0;
    virtual std::vector<std::byte> receive(int from) const = 0;

    /// The ranks that passed the same colour, in the order of their ranks here.
    virtual std::unique_ptr<Communicator> split(int colour) const = 0;

    /// True on every rank if it is on any.
    bool any(bool here) const {
        std::int64_t flag = here ? 1 : 0;
        max({&flag, 1});
        return flag != 0;
    }
    bool is_root() const { return rank() == 0; }
};

/// Things [first, last) of several in order.
struct RankShare {
    std::size_t first, last;
};
/// This rank's share of so many; gathered() puts what ranks make of theirs in order again.
inline RankShare share_of(const Communicator& ranks, std::size_t count) {
    const auto rank = static_cast<std::size_t>(ranks.rank()), size = static_cast<std::size_t>(ranks.size());
    return {count * rank / size, count * (rank + 1) / size};
}

/// Every rank's values, one rank behind the other, on every rank. Collective.
template <typename T>
std::vector<T> gathered(const Communicator& ranks, const std::vector<T>& mine) {
    std::vector<T> all;
    for (const std::vector<std::byte>& bytes : ranks.all_gather(std::as_bytes(std::span(mine)))) {
        std::vector<T> part(bytes.size() / sizeof(T));
        std::memcpy(part.data(), bytes.data(), bytes.size());
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

/// One process alone.
std::unique_ptr<Communicator> make_serial_communicator();

}  // namespace holdfast
