#include "jobs/program/transport.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "dist/comm/nccl.hpp"
#include "jobs/program/ranks.hpp"
#include "kernels/base/error.hpp"
#include "kernels/cuda/cuda.hpp"

namespace holdfast {
namespace {

bool on_gpus(const std::string& backend) {
    return backend == "cuda";
}

/// Of this rank: machines with several GPUs and ranks that see one each both work.
int device_of(const Communicator& world) {
    return world.local_rank() % device_count();
}

TransportGround survey(const Communicator& world, const std::string& backend) {
    TransportGround ground{.built = !nccl_version().empty(), .backend = backend, .ranks = world.size()};
    if (world.any(!on_gpus(backend))) return ground;
    const std::string mine = device_count() == 0 ? "" : device_identity(device_of(world));
    std::set<std::string> different;
    ground.devices = true;
    for (const std::string& one : gathered_text(world, mine)) {
        ground.devices = ground.devices && !one.empty();
        different.insert(one);
    }
    ground.a_device_each = ground.devices && different.size() == static_cast<std::size_t>(world.size());
    return ground;
}

}  // namespace

int choose_device(const std::string& backend, const Communicator& world) {
    if ((backend != "auto" && !on_gpus(backend)) || device_count() == 0) return 0;
    const int device = device_of(world);
    use_device(device);
    return device;
}

std::size_t ranks_of_device(int device, const Communicator& world) {
    const std::string mine = device_identity(device);
    const std::vector<std::string> all = gathered_text(world, mine);
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), mine));
}

bool chooses_nccl(const std::string& transport, const TransportGround& ground) {
    const auto refuse = [](const std::string& why, const std::string& remedy) {
        throw Error(ExitCode::usage, "\"nccl\" cannot be had: " + why, remedy, "run.transport");
    };
    if (transport == "nccl") {
        if (!ground.built)
            refuse("this program is built without it",
                   "use mpi, or build where nccl.h and CUDA are (HOLDFAST_CUDA=ON)");
        if (!on_gpus(ground.backend))
            refuse("the backend is " + ground.backend + ", which sums in host memory",
                   "use mpi, or set run.backend=cuda");
        if (!ground.devices) refuse("a rank has no GPU", "use mpi, or see holdfast doctor");
        if (!ground.a_device_each)
            refuse("two ranks share a GPU", "start no more ranks than GPUs, or use mpi");
        return true;
    }
    return transport == "auto" && ground.built && on_gpus(ground.backend) && ground.a_device_each &&
           ground.ranks > 1;
}

BlockCommunicator::BlockCommunicator(const Communicator& world, const Communicator& block_group,
                                     const TransportRequest& request)
    : block_group_(block_group) {
    if (request.transport == "mpi" || !chooses_nccl(request.transport, survey(world, request.backend)))
        return;
    nccl_ = make_nccl_communicator(block_group, device_of(world));
}

}  // namespace holdfast
