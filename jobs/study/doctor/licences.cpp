#include "jobs/study/doctor/licences.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dist/comm/mpi.hpp"
#include "dist/comm/nccl.hpp"

namespace holdfast {
namespace {

/// HOLDFAST_VERSIONS is "Boost=1.74.0 CLI11=2.1.2 …", as CMake found them (jobs/CMakeLists.txt).
std::string version_of(const std::string& found_as) {
    std::istringstream versions(HOLDFAST_VERSIONS);
    for (std::string word; versions >> word;) {
        if (word.rfind(found_as + "=", 0) == 0) return word.substr(found_as.size() + 1);
    }
    return "";
}

std::string padded(const std::string& text, std::size_t width) {
    return text + std::string(std::max(text.size() + 2, width) - text.size(), ' ');
}

}  // namespace

std::vector<LinkedLibrary> linked_libraries() {
    std::vector<LinkedLibrary> libraries{
        {"MPI", "MPI", "libmpi", MpiSession::library_version(), "BSD-3-Clause (Open MPI)", "ranks"},
        {"HDF5", "HDF5", "libhdf5", "", "BSD-3-Clause", "datasets, boxes, model files"},
        {"libaec", "", "libsz", "", "BSD-2-Clause", "compressed datasets, for HDF5"},
        {"zlib", "ZLIB", "libz", "", "Zlib", "compressed tables"},
        {"SQLite", "SQLITE", "libsqlite3", "", "blessing (public domain)", "ledgers"},
        {"libsodium", "SODIUM", "libsodium", "", "ISC", "random bits, keys, digests"},
        {"GMP", "GMPXX", "libgmp", "", "LGPL-3.0-or-later OR GPL-2.0-or-later", "exact probabilities"},
        {"MPFR", "MPFR", "libmpfr", "", "LGPL-3.0-or-later", "exp and log rounded up or down"},
        {"Highway", "HWY", "libhwy", "", "Apache-2.0", "vector instructions"},
        {"OpenBLAS", "OPENBLAS", "libopenblas", "", "BSD-3-Clause",
         "the rate that bench compares with, loaded when asked for"},
        {"Boost.Serialization", "Boost", "libboost", "", "BSL-1.0", "states of a training"},
        {"CLI11", "CLI11", "", "", "BSD-3-Clause", "the command line"},
        {"JSON for Modern C++", "nlohmann_json", "", "", "MIT", "JSON"},
        {"toml++", "tomlplusplus", "libtomlplusplus", "", "MIT", "configurations"},
        {"spdlog", "spdlog", "libspdlog", "", "MIT", "the log"},
        {"fmt", "", "libfmt", version_of("fmt"), "MIT", "spdlog's text"},
        {"Random123", "", "", "", "BSD-3-Clause", "public random numbers"},
        {"GCC's libraries", "OpenMP", "libgomp libstdc++ libgcc_s", "",
         "GPL-3.0-or-later WITH GCC-exception-3.1", "C++ and threads"},
        {"GNU C library", "Threads", "libc libm ld-linux", "", "LGPL-2.1-or-later", "C"},
    };
    const std::string cuda = version_of("CUDAToolkit");
    if (!cuda.empty()) {
        libraries.push_back({"CUDA", "CUDAToolkit", "", cuda, "NVIDIA CUDA EULA",
                             "GPUs; its runtime is linked, cuBLAS is loaded when asked for"});
    }
    if (!nccl_version().empty()) {
        libraries.push_back(
            {"NCCL", "", "", nccl_version(), "BSD-3-Clause", "sums of GPUs, loaded when asked for"});
    }
    for (LinkedLibrary& library : libraries) {
        if (library.version.empty() && !library.found_as.empty())
            library.version = version_of(library.found_as);
    }
    return libraries;
}

std::string licences_text(const std::vector<LinkedLibrary>& libraries) {
    std::string text;
    for (const LinkedLibrary& library : libraries) {
        text += padded(library.name, 21) + padded(library.version, 17) + padded(library.licence, 41) +
                library.purpose + "\n";
    }
    return text;
}

nlohmann::json licences_json(const std::vector<LinkedLibrary>& libraries) {
    nlohmann::json list = nlohmann::json::array();
    for (const LinkedLibrary& library : libraries) {
        list.push_back({{"name", library.name},
                        {"found_as", library.found_as},
                        {"files", library.files},
                        {"version", library.version},
                        {"licence", library.licence},
                        {"purpose", library.purpose}});
    }
    return {{"libraries", list}};
}

}  // namespace holdfast
