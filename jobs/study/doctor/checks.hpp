#pragma once

#include <string>
#include <vector>

#include "dist/comm/communicator.hpp"

namespace holdfast {

enum class Health {
    ok,
    warn,     ///< works, but slower or tighter than need be
    missing,  ///< not here; the remedy says who needs it
    wrong,    ///< no guarantee holds on this machine until it is mended
};

/// One line of the doctor.
struct Finding {
    std::string name, value;
    Health health = Health::ok;
    std::string remedy{};  ///< empty when ok
};

/// Subnormals, rounding and contraction as this process has them now (models/mathematics.md, environment).
std::vector<Finding> check_arithmetic();
/// Ranks, hosts and launchers. Collective.
std::vector<Finding> check_ranks(const Communicator& world);
/// BLAS, SIMD, HDF5.
std::vector<Finding> check_libraries();
/// CUDA driver, devices, compiler, NCCL: looked for at run time, never required; and what this program was
/// built with.
std::vector<Finding> check_accelerators();
/// Slurm commands, and the job this process belongs to.
std::vector<Finding> check_cluster();

/// What the ranks of one host have between them.
struct HostShare {
    int ranks = 1;
    int cores = 1;  ///< cores that at least one of the ranks may run on
};
/// Of this host. Collective.
HostShare share_of_host(const Communicator& world);

/// Cores, threads, memory, disk, limits of this process.
std::vector<Finding> check_resources(const HostShare& share);

}  // namespace holdfast
