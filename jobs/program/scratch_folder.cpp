#include "jobs/program/scratch_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "kernels/base/error.hpp"

namespace holdfast {

ScratchFolder::ScratchFolder() {
    const char* parent = std::getenv("TMPDIR");
    path_ = std::string(parent != nullptr && *parent != '\0' ? parent : "/tmp") + "/holdfast-advise-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr)
        throw Error(ExitCode::output, std::string("no temporary folder: ") + std::strerror(errno),
                    "set TMPDIR to a folder that may be written", path_);
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace holdfast
