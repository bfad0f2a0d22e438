#include "jobs/study/doctor/checks.hpp"

#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <sstream>

#include "dist/comm/mpi.hpp"
#include "dist/comm/nccl.hpp"
#include "dist/files/hdf5_version.hpp"
#include "jobs/program/host_memory.hpp"
#include "jobs/program/ranks.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/floating_point.hpp"
#include "kernels/base/loaded_library.hpp"
#include "kernels/cpu/fused_integers.hpp"
#include "kernels/cpu/integer_tiles.hpp"
#include "kernels/cpu/simd_target.hpp"

namespace holdfast {
namespace {

constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;

Finding judged(const std::string& name, const std::string& value, bool good, Health otherwise,
               const std::string& remedy) {
    return good ? Finding{name, value} : Finding{name, value, otherwise, remedy};
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string find_on_path(const std::string& program) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (folder.empty()) continue;
        folder.append("/").append(program);
        if (access(folder.c_str(), X_OK) == 0) return folder;
    }
    return "";
}

Finding check_program(const std::string& program, const std::string& remedy) {
    const std::string path = find_on_path(program);
    return judged(program, path.empty() ? "not on PATH" : path, !path.empty(), Health::missing, remedy);
}

// ---- arithmetic: volatile keeps the compiler from answering for the processor

bool contraction_off() {
    volatile double source = 1.0 + 0x1p-30;
    const double factor = source;
    volatile double rounded = factor * factor;
    return factor * factor - rounded == 0;  // a fused multiply-subtract leaves the rounding error
}

// ---- libraries

bool processor_has(const std::string& feature) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
        return (line + " ").find(" " + feature + " ") != std::string::npos;
    }
    return false;
}

// OpenBLAS that does not know a processor falls back to kernels without AVX.
bool outdated_kernels(const std::string& core) {
    const bool plain = core == "Prescott" || core == "Core2" || core == "Nehalem" || core == "Penryn";
    return plain && processor_has("avx2");
}

Finding check_blas() {
    // Already loaded where a backend links it; else looked up as the loader would.
    const LoadedLibrary library("libopenblas.so.0");
    const auto describe = library.function<char*()>("openblas_get_config");
    if (describe == nullptr) {
        return {"BLAS", "OpenBLAS not found", Health::missing, "apt-get install libopenblas0-serial"};
    }
    const auto core = library.function<char*()>("openblas_get_corename");
    if (core != nullptr && outdated_kernels(core())) {
        return {"BLAS", describe(), Health::warn,
                std::string("slow: it does not know this processor; set OPENBLAS_CORETYPE=") +
                    (processor_has("avx512f") ? "SkylakeX" : "Haswell") + " for every run on this dataset"};
    }
    const auto parallel = library.function<int()>("openblas_get_parallel");
    const bool serial =
        parallel == nullptr || parallel() == 0 || std::getenv("OPENBLAS_NUM_THREADS") != nullptr;
    return judged("BLAS", describe(), serial, Health::warn,
                  "its threads compete with the ranks: apt-get install libopenblas0-serial, or set "
                  "OPENBLAS_NUM_THREADS=1");
}

Finding check_fma() {
    const bool fused = processor_has("fma") || processor_has("asimd");
    return judged("FMA", fused ? "yes" : "no", fused, Health::warn,
                  "matrix products run at half speed; results are the same within their bounds");
}

// ---- accelerators: the driver's own interface, so that no CUDA header is needed

struct Driver {
    LoadedLibrary library{"libcuda.so.1"};

    int number(const char* query) const {
        const auto ask = library.function<int(int*)>(query);
        int value = 0;
        return ask != nullptr && ask(&value) == 0 ? value : 0;
    }
    bool start() const {
        const auto initialise = library.function<int(unsigned)>("cuInit");
        return initialise != nullptr && initialise(0) == 0;
    }
    std::string device_name(int device) const {
        const auto ask = library.function<int(char*, int, int)>("cuDeviceGetName");
        std::array<char, 128> name{};
        return ask != nullptr && ask(name.data(), static_cast<int>(name.size()) - 1, device) == 0
                   ? name.data()
                   : "unnamed";
    }
};

Finding check_driver(const Driver& driver) {
    const std::string remedy = "needed for GPUs only: install the NVIDIA driver";
    if (!driver.library.found()) return {"CUDA driver", "libcuda.so.1 not found", Health::missing, remedy};
    const int version = driver.number("cuDriverGetVersion");
    return {"CUDA driver", std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10)};
}

Finding check_devices(const Driver& driver) {
    const int count = driver.start() ? driver.number("cuDeviceGetCount") : 0;
    std::string names;
    for (int device = 0; device < count; ++device) {
        names += (names.empty() ? "" : ", ") + driver.device_name(device);
    }
    return judged("GPUs", count == 0 ? "none" : names, count > 0, Health::missing,
                  "needed for the CUDA backend only: see nvidia-smi and CUDA_VISIBLE_DEVICES");
}

Finding check_nccl() {
    const LoadedLibrary library("libnccl.so.2");
    const auto ask = library.function<int(int*)>("ncclGetVersion");
    int version = 0;
    if (ask == nullptr || ask(&version) != 0) {
        return {"NCCL", "libnccl.so.2 not found", Health::missing,
                "needed for several GPUs only: install libnccl2"};
    }
    return {"NCCL", std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
                        std::to_string(version % 100)};
}

/// Its products are another library's.
std::string fixed_on_cuda() {
    try {
        make_backend("cuda", Precision::fixed);
        return ", in fixed precision too";
    } catch (const Error& error) {
        return " in double; " + error.message();
    }
}

/// What this program was built with; without a driver it starts all the same.
Finding check_cuda_backend() {
    try {
        return {"CUDA backend", make_backend("cuda")->name() + " works here" + fixed_on_cuda()};
    } catch (const Error& error) {
        return {"CUDA backend", error.message(), Health::missing,
                "needed for training on GPUs only: build with HOLDFAST_CUDA=ON, and see GPUs above"};
    }
}

Finding check_nccl_transport() {
    const std::string version = nccl_version();
    return judged("NCCL transport", version.empty() ? "not built" : "built, with " + version,
                  !version.empty(), Health::missing,
                  "needed for several GPUs only: build with HOLDFAST_CUDA=ON where nccl.h is");
}

// ---- Slurm

/// Slurm's default fence for PMIx is no barrier: a rank that left MPI_Init may send to one that is still in
/// it.
std::optional<Finding> check_fence() {
    const char* space = std::getenv("PMIX_NAMESPACE");
    if (space == nullptr || std::string(space).rfind("slurm.pmix.", 0) != 0) return std::nullopt;
    const char* fence = std::getenv("SLURM_PMIX_FENCE");
    const std::string value = fence == nullptr ? "tree, Slurm's default" : fence;
    return judged("PMIx fence", value, value == "ring", Health::warn,
                  "a rank may crash in MPI_Init on several nodes: export SLURM_PMIX_FENCE=ring before srun");
}

// ---- resources

// "max 100000" or "200000 100000" (control groups v2): cores' worth of time, 0 without a limit.
double core_quota() {
    std::istringstream line(first_line("/sys/fs/cgroup/cpu.max"));
    double quota = 0, period = 0;
    return line >> quota >> period && period > 0 ? quota / period : 0;
}

Finding check_cores(int cores) {
    const double quota = core_quota();
    std::string text = std::to_string(cores) + " usable of " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN));
    if (quota > 0) text += ", quota " + std::to_string(quota).substr(0, 4);
    return judged("cores", text, quota == 0 || quota + 0.01 >= cores, Health::warn,
                  "the container may use less than it sees: start no more ranks than the quota");
}

Finding check_threads(const HostShare& share) {
    const int threads = omp_get_max_threads();
    const std::string text =
        std::to_string(threads) + " a rank, " + std::to_string(share.ranks) + " rank(s) on this host";
    return judged("OpenMP threads", text, threads * share.ranks <= share.cores, Health::warn,
                  "more threads than cores: set OMP_NUM_THREADS=1 and start at most " +
                      std::to_string(share.cores) + " rank(s) here");
}

Finding check_memory() {
    const HostMemory memory = host_memory();
    const std::string text = size_text(memory.left) + " available of " + size_text(memory.total) +
                             (memory.limit > 0 ? ", limit " + size_text(memory.limit) : "");
    return judged("memory", text, memory.left >= gibibyte, Health::warn,
                  "use fewer levels or ranks, or free some");
}

Finding check_disk(const std::string& name, const std::filesystem::path& folder) {
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(folder, error);
    const bool writable = !error && access(folder.c_str(), W_OK) == 0;
    if (!writable) return {name, "not writable", Health::warn, "run from a folder that you may write"};
    const double available = static_cast<double>(space.available);
    return judged(name, size_text(available) + " available", available >= gibibyte, Health::warn,
                  "free some space");
}

Finding check_limit(const std::string& name, int resource, rlim_t least, const std::string& remedy) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    const bool unlimited = limit.rlim_cur == RLIM_INFINITY;
    return judged(name, unlimited ? "unlimited" : std::to_string(limit.rlim_cur),
                  unlimited || limit.rlim_cur >= least, Health::warn, remedy);
}

}  // namespace

std::vector<Finding> check_arithmetic() {
    const std::string flush =
        "a library has set FTZ or DAZ (-ffast-math, MXCSR): remove it; no guarantee holds";
    return {
        judged("subnormal results", keeps_subnormal_results() ? "kept" : "flushed to zero",
               keeps_subnormal_results(), Health::wrong, flush),
        judged("subnormal operands", keeps_subnormal_operands() ? "kept" : "read as zero",
               keeps_subnormal_operands(), Health::wrong, flush),
        judged("rounding", rounds_to_nearest() ? "to nearest" : "not to nearest", rounds_to_nearest(),
               Health::wrong, "a library has called fesetround: remove it"),
        judged("contraction", contraction_off() ? "off" : "on", contraction_off(), Health::wrong,
               "build with -ffp-contract=off, as the presets do"),
    };
}

HostShare share_of_host(const Communicator& world) {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    ensure(sched_getaffinity(0, sizeof(mine), &mine) == 0, "a process may ask for its cores");
    const std::vector<std::string> names = host_names(world);
    const auto sets = world.all_gather(std::as_bytes(std::span(&mine, 1)));
    cpu_set_t together;
    CPU_ZERO(&together);
    HostShare share{0, 0};
    for (std::size_t rank = 0; rank < names.size(); ++rank) {
        if (names[rank] != host_name()) continue;
        cpu_set_t its;
        std::memcpy(&its, sets[rank].data(), sizeof(its));
        CPU_OR(&together, &together, &its);
        ++share.ranks;
    }
    share.cores = CPU_COUNT(&together);
    return share;
}

std::vector<Finding> check_ranks(const Communicator& world) {
    const std::vector<std::string> names = host_names(world);
    const std::size_t hosts = std::set<std::string>(names.begin(), names.end()).size();
    return {
        {"MPI", MpiSession::library_version()},
        {"ranks", std::to_string(world.size()) + " (" + world.transport() + ") on " + std::to_string(hosts) +
                      (hosts == 1 ? " host" : " hosts")},
        judged("network", hosts == 1 ? "nothing crosses it" : "sums, boxes and networks cross it in clear",
               hosts == 1, Health::warn,
               "keep it private to these hosts, or lay it through an encrypted one such as WireGuard"),
        check_program("mpirun", "apt-get install openmpi-bin"),
    };
}

std::vector<Finding> check_libraries() {
    const std::string simd = simd_target();
    const bool vectors = simd.rfind("EMU", 0) != 0 && simd.rfind("SCALAR", 0) != 0;
    const std::string fused = cpu::fused_integers();
    const std::string fixed =
        fused.empty()
            ? "faster than single with training.activation_bits = 8; with 16 slower, having no AMX or VNNI"
            : "by " + fused + ": no slower than single";
    return {check_blas(),
            judged("SIMD", simd, vectors, Health::warn,
                   "no vector instructions: training is several times slower"),
            check_fma(),
            {"AMX", cpu::amx_refusal().value_or("multiplies the integers of fixed precision")},
            {"fixed precision", fixed},
            {"HDF5", hdf5_library_version()}};
}

std::vector<Finding> check_accelerators() {
    const Driver driver;
    return {check_driver(driver),
            check_devices(driver),
            check_program("nvidia-smi", "needed to look at GPUs only: install the NVIDIA driver"),
            check_program("nvcc", "needed to build the CUDA backend only: install the CUDA toolkit"),
            check_nccl(),
            check_cuda_backend(),
            check_nccl_transport()};
}

std::vector<Finding> check_cluster() {
    std::vector<Finding> findings;
    for (const char* program : {"srun", "sbatch", "sinfo"}) {
        findings.push_back(check_program(program, "needed on a Slurm cluster only: load its module"));
    }
    const char* job = std::getenv("SLURM_JOB_ID");
    const char* tasks = std::getenv("SLURM_NTASKS");
    findings.push_back({"Slurm job", job == nullptr
                                         ? "none"
                                         : std::string(job) + ", tasks " + (tasks == nullptr ? "?" : tasks)});
    if (const auto fence = check_fence()) findings.push_back(*fence);
    return findings;
}

std::vector<Finding> check_resources(const HostShare& share) {
    return {check_cores(share.cores),
            check_threads(share),
            check_memory(),
            check_disk("disk, this folder", "."),
            check_disk("disk, /tmp", "/tmp"),
            check_limit("stack, bytes", RLIMIT_STACK, rlim_t{1} << 20, "ulimit -s 8192"),
            check_limit("open files", RLIMIT_NOFILE, 256, "ulimit -n 1024")};
}

}  // namespace holdfast
