#pragma once

// Instruction sets that kernels are not compiled for; to be included before Highway. Tiles are arrays of
// vectors, so vectors have a size the compiler knows: on Arm NEON, not SVE. A processor with SSSE3 and no SSE4
// is of 2006, and gets the plain code.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3)
