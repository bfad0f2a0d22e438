#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

/// The instruction set the kernels run on here: "AVX3", "AVX2", "NEON", "EMU128" (no SIMD: slow), …
std::string simd_target();

/// Those that this program was built for and this processor has, the best first; "AMX" is the best of the
/// others with tiles for the integers of fixed precision.
std::vector<std::string> simd_targets();

/// What multiplies the integers of fixed precision: vectors, or tiles (kernels/cpu/integer_tiles.hpp), of AMX
/// wherever it is granted.
enum class Tiles : std::uint8_t { none, plain, amx };
Tiles tiles_in_use();

/// Has the kernels of the whole process run on one of simd_targets(), or with "plain tiles", for as long as
/// it lives: for tests and measurements, while no other thread computes.
class SimdTargetOverride {
  public:
    explicit SimdTargetOverride(const std::string& target);
    ~SimdTargetOverride();
    SimdTargetOverride(const SimdTargetOverride&) = delete;
    SimdTargetOverride& operator=(const SimdTargetOverride&) = delete;
};

}  // namespace holdfast
