#pragma once

#include <string>
#include <vector>

namespace holdfast {

/// The instruction set the kernels run on here: "AVX3", "AVX2", "NEON", "EMU128" (no SIMD: slow), …
std::string simd_target();

/// Those that this program was built for and this processor has, the best first.
std::vector<std::string> simd_targets();

/// Has the kernels of the whole process run on one of simd_targets() for as long as it lives: for tests and
/// measurements, while no other thread computes.
class SimdTargetOverride {
  public:
    explicit SimdTargetOverride(const std::string& target);
    ~SimdTargetOverride();
    SimdTargetOverride(const SimdTargetOverride&) = delete;
    SimdTargetOverride& operator=(const SimdTargetOverride&) = delete;
};

}  // namespace holdfast
