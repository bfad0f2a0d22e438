#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "dist/comm/communicator.hpp"

namespace holdfast {

/// Which of its machine's GPUs this rank takes, made current for the calling thread; 0 where there is none or
/// the backend ("auto", "cpu", …) uses none. To be called before the backend is made.
int choose_device(const std::string& backend, const Communicator& world);

/// How many ranks have this rank's GPU, itself among them. Collective. Error (usage): it cannot be used.
std::size_t ranks_of_device(int device, const Communicator& world);

struct TransportRequest {
    std::string transport;  ///< "auto", "mpi" or "nccl": run.transport
    std::string backend;    ///< that was made, by its own name
};

/// What a choice of transport rests on, the same on every rank.
struct TransportGround {
    bool built = false;  ///< with NCCL
    std::string backend;
    bool a_device_each = false;  ///< every rank has a GPU, and none has another's
    bool devices = false;        ///< every rank has one, be it shared
    int ranks = 1;
};
/// Whether NCCL adds. Error (usage): it is asked for where it cannot be.
bool chooses_nccl(const std::string& transport, const TransportGround& ground);

/// The block group as its sums travel: itself, or NCCL over it. No result depends on which.
class BlockCommunicator {
  public:
    /// Collective over the world; `block_group` must outlive this.
    BlockCommunicator(const Communicator& world, const Communicator& block_group,
                      const TransportRequest& request);
    const Communicator& group() const { return nccl_ != nullptr ? *nccl_ : block_group_; }

  private:
    const Communicator& block_group_;
    std::unique_ptr<Communicator> nccl_;
};

}  // namespace holdfast
