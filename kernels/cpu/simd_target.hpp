#pragma once

#include <string>

namespace holdfast {

/// The instruction set the kernels run on here: "AVX3", "AVX2", "NEON", "EMU128" (no SIMD: slow), …
std::string simd_target();

}  // namespace holdfast
