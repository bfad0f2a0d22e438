#pragma once

#include <string>

#include "jobs/program/context.hpp"
#include "models/training/memory.hpp"

namespace holdfast {

/// What a job may take of this host's memory, in bytes.
struct HostMemory {
    double total = 0, available = 0;  ///< of the machine
    double limit = 0;     ///< what this job is held to, by a control group or by Slurm; 0: nothing
    double left = 0;      ///< available, or what the limit leaves of it
    std::string said_by;  ///< what `left` was read from
};

/// root: of the files below proc/ and sys/. Slurm's limit is that of SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU
/// times SLURM_CPUS_ON_NODE.
HostMemory host_memory(const std::string& root = "");

/// Of this process, in bytes.
double resident_memory();

std::string size_text(double bytes);  ///< "12.3 GiB"

/// Logs what the training takes of this rank's memory, and warns, with the remedy, where the ranks of one
/// host together take more than it has left. Collective.
void tell_memory(const Context& context, const MemoryNeed& need);

}  // namespace holdfast
