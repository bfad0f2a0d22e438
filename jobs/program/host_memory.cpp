#include "jobs/program/host_memory.hpp"

#include <spdlog/logger.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <vector>

#include "jobs/program/ranks.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

std::string line_of(const std::string& path) {
    std::string line;
    std::getline(std::ifstream(path), line);
    return line;
}

/// 0: no number, as in "max".
double number(const std::string& text) {
    return std::max(0.0, std::strtod(text.c_str(), nullptr));
}

double environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? 0 : number(value);
}

/// A field of meminfo, or of a process's status, which are in kB.
double memory_field(const std::string& path, const std::string& name) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name + ":")) return number(line.substr(name.size() + 1)) * 1024;
    }
    return 0;
}

void hold(HostMemory& memory, double limit, double left, const std::string& by) {
    if (limit <= 0) return;
    memory.limit = memory.limit == 0 ? limit : std::min(memory.limit, limit);
    if (left >= memory.left) return;
    memory.left = std::max(0.0, left);
    memory.said_by = by;
}

/// Control groups v2, from this process's own up to the root: each holds all that are in it.
void hold_by_groups(HostMemory& memory, const std::string& root) {
    std::string group = line_of(root + "/proc/self/cgroup");
    group = group.starts_with("0::/") ? group.substr(3) : "/";
    while (true) {
        const std::string folder = root + "/sys/fs/cgroup" + (group == "/" ? "" : group);
        const double limit = number(line_of(folder + "/memory.max"));
        hold(memory, limit, limit - number(line_of(folder + "/memory.current")),
             "memory.max of its control group");
        if (group.size() <= 1) return;
        group.resize(std::max<std::size_t>(1, group.rfind('/')));
    }
}

/// Control groups v1, which say that they hold nothing by the largest number of pages.
void hold_by_old_groups(HostMemory& memory, const std::string& root) {
    constexpr double nothing = 0x1p62;
    const std::string marker = ":memory:";
    std::ifstream file(root + "/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const std::size_t at = line.find(marker);
        if (at == std::string::npos) continue;
        std::string group = line.substr(at + marker.size());
        // In a container the group's own folder is often the root that it sees.
        while (true) {
            const std::string folder = root + "/sys/fs/cgroup/memory" + (group == "/" ? "" : group);
            const double limit = number(line_of(folder + "/memory.limit_in_bytes"));
            if (limit < nothing)
                hold(memory, limit, limit - number(line_of(folder + "/memory.usage_in_bytes")),
                     "memory.limit_in_bytes of its control group");
            if (group.size() <= 1) break;
            group.resize(std::max<std::size_t>(1, group.rfind('/')));
        }
    }
}

constexpr double mebibyte = 1 << 20;

void hold_by_slurm(HostMemory& memory) {
    const double node = environment("SLURM_MEM_PER_NODE") * mebibyte;
    if (node > 0) return hold(memory, node, node, "SLURM_MEM_PER_NODE");
    const double cores = environment("SLURM_MEM_PER_CPU") * environment("SLURM_CPUS_ON_NODE") * mebibyte;
    hold(memory, cores, cores, "SLURM_MEM_PER_CPU");
}

/// What a rank takes, and what its host has left for all of them.
struct Share {
    double need, left;
};

const char* remedy_of(const MemoryNeed& need, double left_of_one) {
    if (need.total() <= left_of_one)
        return "the ranks take too much together: start fewer of them on a machine";
    if (need.records > need.total() / 2)
        return "the data take most of it: give the blocks to more ranks and machines (run.grid)";
    const double rest = need.records + need.state + need.step;
    return need.selections > rest
               ? "a level k keeps 2 k least values of every parameter: give the levels to more ranks and "
                 "machines (run.grid), list fewer (certificate.level_list), or set certificate.budget = "
                 "\"per_epoch\""
               : "the levels take most of it: give the levels to more ranks and machines (run.grid), list "
                 "fewer "
                 "(certificate.level_list), "
                 "or start fewer ranks here";
}

}  // namespace

HostMemory host_memory(const std::string& root) {
    HostMemory memory;
    const std::string fields = root + "/proc/meminfo";
    memory.total = memory_field(fields, "MemTotal");
    memory.left = memory.available = memory_field(fields, "MemAvailable");
    memory.said_by = "MemAvailable of /proc/meminfo";
    hold_by_groups(memory, root);
    hold_by_old_groups(memory, root);
    hold_by_slurm(memory);
    return memory;
}

double resident_memory() {
    return memory_field("/proc/self/status", "VmRSS");
}

std::string size_text(double bytes) {
    const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
    return printed("%.1f %s", bytes, units[unit]);
}

void tell_memory(const Context& context, const MemoryNeed& need) {
    context.log->info("a rank takes about {} of memory: records {}, boxes {}, a step {}, least values {}",
                      size_text(need.total()), size_text(need.records), size_text(need.state),
                      size_text(need.step), size_text(need.selections));
    const HostMemory here = host_memory();
    const Share mine{need.total(), here.left};
    const std::vector<std::string> hosts = host_names(context.world);
    const auto gathered = context.world.all_gather(std::as_bytes(std::span(&mine, 1)));
    Share worst{0, 0};
    std::string where;
    for (const std::string& host : hosts) {
        Share together{0, 0};
        for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
            if (hosts[rank] != host) continue;
            Share its{};
            std::memcpy(&its, gathered[rank].data(), sizeof its);
            together = {together.need + its.need, its.left};
        }
        if (where.empty() || together.need - together.left > worst.need - worst.left) {
            worst = together;
            where = host;
        }
    }
    if (worst.left > 0 && worst.need > worst.left)
        context.log->warn("this takes about {} of memory on {}, which has {} left ({}): {}",
                          size_text(worst.need), where, size_text(worst.left), here.said_by,
                          remedy_of(need, worst.left));
}

}  // namespace holdfast
