#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "kernels/backends.hpp"
#include "kernels/cuda/cuda.hpp"
#include "kernels/cuda/host_executed.hpp"

namespace holdfast {

/// HOLDFAST_REQUIRE_GPU=1: a machine that should have a device fails where it finds none.
inline bool gpu_required() {
    const char* value = std::getenv("HOLDFAST_REQUIRE_GPU");
    return value != nullptr && std::string(value) == "1";
}

/// A backend by its name() for tests: those of make_backend, or "cuda (host)" with so much memory.
inline std::shared_ptr<const Backend> backend_for_test(const std::string& name,
                                                       std::size_t memory_bytes = std::size_t{1} << 30) {
    if (name == "cuda (host)") return make_host_executed_backend(memory_bytes);
    return make_backend(name);
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
