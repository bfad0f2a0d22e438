#pragma once

/// Marks code that is written once and runs both on the host and on a CUDA device. Such code calls only other
/// marked functions, fma and nearbyint (correctly rounded on both), and constexpr functions of the standard
/// library.
#ifdef __CUDACC__
#define HOLDFAST_PORTABLE __host__ __device__
#else
#define HOLDFAST_PORTABLE
#endif
