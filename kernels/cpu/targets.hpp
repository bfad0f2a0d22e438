#pragma once

// Instruction sets that kernels are not compiled for; to be included before Highway. Tiles are arrays of
// vectors, so vectors have a size the compiler knows: on Arm NEON, not SVE.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
