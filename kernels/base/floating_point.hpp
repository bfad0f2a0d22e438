#pragma once

namespace holdfast {

// What the proofs assume of the processor (kernels/base/arithmetic.hpp), as this thread finds it now. A
// library built with -ffast-math sets flush-to-zero as it is loaded; threads take over the mode of the one
// that starts them.

bool keeps_subnormal_results();   ///< no FTZ
bool keeps_subnormal_operands();  ///< no DAZ
bool rounds_to_nearest();

/// Error (arithmetic) unless all of them hold. A few nanoseconds: at the start of every job and of every
/// thread that computes.
void require_sound_arithmetic();

}  // namespace holdfast
