#include "jobs/passive_waiting.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>

namespace holdfast {

void wait_passively(char** arguments) {
    constexpr const char* policy = "OMP_WAIT_POLICY";
    // Started by a loader's own command line, that file would be the loader.
    const bool by_the_kernel = ::getauxval(AT_BASE) != 0;
    if (std::getenv(policy) != nullptr || !by_the_kernel) return;
    if (::setenv(policy, "passive", 1) != 0) return;
    ::execv("/proc/self/exe", arguments);
    // Without that file waiting threads spin: slower on a busy machine, the same results.
}

}  // namespace holdfast
