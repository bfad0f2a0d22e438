#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "dist/comm/device_communicator.hpp"

namespace holdfast {

/// Version of the NCCL this program is built for ("2.28.9"), which it loads when it is asked for; empty in a
/// program built without it.
std::string nccl_version();

/// NCCL on this device, for the calling thread. Error (usage): a program built without it, or where it is not
/// installed.
std::shared_ptr<const CollectiveLibrary> make_nccl_library(int device);

/// `host` with sums in the memory of GPUs: see make_device_communicator.
std::unique_ptr<Communicator> make_nccl_communicator(const Communicator& host, int device,
                                                     std::chrono::duration<double> timeout);

}  // namespace holdfast
