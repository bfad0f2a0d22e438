#include "jobs/program/scratch_folder.hpp"

#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

/// A disk is waited for at the end of every file, and many are written: `advise` took 18 s for 2 s of work.
std::string parent_of_scratch() {
    const char* asked = std::getenv("TMPDIR");
    if (asked != nullptr && *asked != '\0') return asked;
    std::error_code absent;
    const std::filesystem::path memory = "/dev/shm";
    constexpr std::uintmax_t gigabyte = 1 << 30;
    const std::uintmax_t available = std::filesystem::space(memory, absent).available;
    return !absent && available >= gigabyte && ::access(memory.c_str(), W_OK | X_OK) == 0 ? memory : "/tmp";
}

}  // namespace

ScratchFolder::ScratchFolder() {
    path_ = parent_of_scratch() + "/holdfast-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr)
        throw Error(ExitCode::output, std::string("no temporary folder: ") + std::strerror(errno),
                    "set TMPDIR to a folder that may be written", path_);
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace holdfast
