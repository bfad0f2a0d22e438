#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

/// The instruction set the kernels run on here: "AVX3", "AVX2", "NEON", "EMU128" (no SIMD: slow), …
std::string simd_target();

/// Those that this program was built for and this processor has, the best first.
std::vector<std::string> simd_targets();

/// What multiplies the integers of fixed precision: vectors, or tiles (kernels/cpu/integer_tiles.hpp), of AMX
/// wherever it is granted.
enum class Tiles : std::uint8_t { none, plain, amx };
Tiles tiles_in_use();

/// The tiles there are here: "plain tiles", and "AMX" where it is granted.
std::vector<std::string> tile_targets();

/// Has the kernels of the whole process run on one of simd_targets() and no tiles, or on one of
/// tile_targets(), for as long as it lives: for tests and measurements, while no other thread computes.
class SimdTargetOverride {
  public:
    explicit SimdTargetOverride(const std::string& target);
    ~SimdTargetOverride();
    SimdTargetOverride(const SimdTargetOverride&) = delete;
    SimdTargetOverride& operator=(const SimdTargetOverride&) = delete;
};

}  // namespace holdfast
