#include "jobs/program/passive_waiting.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace holdfast {

void wait_passively(char** arguments) {
    constexpr const char* policy = "OMP_WAIT_POLICY";
    // Started by a loader's own command line, the file below would be the loader.
    const bool by_the_kernel = ::getauxval(AT_BASE) != 0;
    if (std::getenv(policy) != nullptr || !by_the_kernel) return;
    std::error_code none;  // by its own name, which is how processes are known
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", none);
    if (none || ::setenv(policy, "passive", 1) != 0) return;
    ::execv(program.c_str(), arguments);
    // Without that file waiting threads spin: slower on a busy machine, the same results.
}

}  // namespace holdfast
