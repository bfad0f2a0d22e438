#include "jobs/passive_waiting.hpp"

#include <unistd.h>

#include <cstdlib>

namespace holdfast {

void wait_passively(char** arguments) {
    constexpr const char* policy = "OMP_WAIT_POLICY";
    if (std::getenv(policy) != nullptr) return;
    if (::setenv(policy, "passive", 1) != 0) return;
    ::execv("/proc/self/exe", arguments);
    // Without that file waiting threads spin: slower on a busy machine, the same results.
}

}  // namespace holdfast
