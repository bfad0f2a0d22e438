#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "kernels/cuda/cuda.hpp"

namespace holdfast {

/// HOLDFAST_REQUIRE_GPU=1: a machine that should have a device fails where it finds none.
inline bool gpu_required() {
    const char* value = std::getenv("HOLDFAST_REQUIRE_GPU");
    return value != nullptr && std::string(value) == "1";
}

}  // namespace holdfast

/// First in a test of the backend `name`: skips it, saying why, where there is no device, and fails if one is
/// required.
#define HOLDFAST_SKIP_WITHOUT_DEVICE(name)                                                 \
    if (const std::string problem = holdfast::cuda_unavailable();                          \
        std::string(name) == "cuda" && !problem.empty()) {                                 \
        if (holdfast::gpu_required()) FAIL() << "HOLDFAST_REQUIRE_GPU=1, but " << problem; \
        GTEST_SKIP() << problem << ": here the kernels run on the host only";              \
    }                                                                                      \
    static_assert(true)
