#pragma once

// Instruction sets that kernels are not compiled for; to be included before Highway. Tiles are arrays of
// vectors, so vectors have a size the compiler knows: on Arm NEON, not SVE. A processor without AVX2 gets the
// plain code, but where HOLDFAST_SIMD is ALL.
#ifdef HOLDFAST_ALL_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3)
#else
#define HWY_DISABLED_TARGETS \
    (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3 | HWY_SSE4)
#endif
