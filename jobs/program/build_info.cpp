#include "jobs/program/build_info.hpp"

#include <nlohmann/json.hpp>

#include "dist/comm/mpi.hpp"
#include "dist/comm/nccl.hpp"
#include "dist/files/hdf5_version.hpp"
#include "kernels/base/version.hpp"
#include "kernels/cpu/simd_target.hpp"

namespace holdfast {
namespace {

std::string or_else(const std::string& text, const std::string& otherwise) {
    return text.empty() ? otherwise : text;
}

}  // namespace

BuildInfo build_info() {
    return {{{"commit", commit()},
             {"sources", sources()},
             {"compiler", HOLDFAST_COMPILER},
             {"build_type", or_else(HOLDFAST_BUILD_TYPE, "none")},
             {"options", HOLDFAST_OPTIONS},
             {"mpi", MpiSession::library_version()},
             {"cuda", or_else(HOLDFAST_CUDA_VERSION, "none")},
             {"nccl", or_else(nccl_version(), "none")},
             {"hdf5", hdf5_library_version()},
             {"simd", simd_target()}}};
}

std::string program_identity() {
    return std::string(version()) + "+" + sources();
}

std::string BuildInfo::text() const {
    std::string lines = std::string("holdfast ") + version();
    for (const auto& [name, value] : facts)
        lines += "\n" + name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + value;
    return lines;
}

nlohmann::json BuildInfo::to_json() const {
    nlohmann::json object = {{"program", "holdfast"}, {"version", version()}};
    for (const auto& [name, value] : facts) object[name] = value;
    return object;
}

}  // namespace holdfast
