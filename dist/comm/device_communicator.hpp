#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dist/comm/communicator.hpp"

namespace holdfast {

/// How far a library is with what it does on its own.
struct CollectiveState {
    enum class Is { working, done, failed };
    Is is = Is::working;
    std::string what{};  ///< of a failure, in the library's words
};

/// This rank's place among ranks that add in device memory (an ncclComm_t). Calls return at once; state()
/// says how far the last one is, and the next follows only when it is done. Error (communication): a refused
/// call.
class CollectiveGroup {
  public:
    virtual ~CollectiveGroup() = default;  ///< gives it back; one that is not finished is aborted
    virtual CollectiveState state() const = 0;
    /// Of all that is on the stream, by whomever; a failure of the group counts too.
    virtual CollectiveState state(void* stream) const = 0;
    virtual void sum(DeviceSpan values) = 0;  ///< in place
    virtual void finish() = 0;                ///< the last call
    virtual void abort() noexcept = 0;        ///< from here on the group has failed
};

/// What a device communicator takes of a library: NCCL (dist/comm/nccl.hpp), or a test's own.
class CollectiveLibrary {
  public:
    virtual ~CollectiveLibrary() = default;
    virtual std::string name() const = 0;
    /// Bytes by which the ranks of one new group find each other.
    virtual std::vector<std::byte> new_id() const = 0;
    virtual std::unique_ptr<CollectiveGroup> join(std::span<const std::byte> id, int rank,
                                                  int size) const = 0;
};

/// `host`, whose every operation it forwards, with sums in device memory beside. Collective: rank 0's id is
/// broadcast over `host`, which must outlive the result. One rank alone joins nothing: its sums are there.
/// A failure of the library, or of the host's await(), aborts the group and throws Error (communication),
/// here and in sum() and wait().
std::unique_ptr<Communicator> make_device_communicator(const Communicator& host,
                                                       std::shared_ptr<const CollectiveLibrary> library);

}  // namespace holdfast
