#include "kernels/base/floating_point.hpp"

#include <limits>

#include "kernels/base/error.hpp"

namespace holdfast {

// volatile keeps the compiler from answering for the processor.

bool keeps_subnormal_results() {
    volatile double least_normal = std::numeric_limits<double>::min();
    volatile float least_normal_single = std::numeric_limits<float>::min();
    volatile double half = least_normal / 2;
    volatile float half_single = least_normal_single / 2;
    return half != 0 && half_single != 0;
}

bool keeps_subnormal_operands() {
    volatile double subnormal = std::numeric_limits<double>::denorm_min();
    volatile double scaled = subnormal * 0x1p200;
    return scaled != 0;
}

bool rounds_to_nearest() {
    volatile double one = 1.0, tiny = 0x1p-60;
    volatile double above = one + tiny, below = one - tiny;
    return above == one && below == one;
}

void require_sound_arithmetic() {
    const char* fault = !keeps_subnormal_results()    ? "subnormal results are flushed to zero"
                        : !keeps_subnormal_operands() ? "subnormal operands are read as zero"
                        : !rounds_to_nearest()        ? "results are not rounded to nearest"
                                                      : nullptr;
    if (fault == nullptr) return;
    throw Error(
        ExitCode::arithmetic, std::string("no guarantee holds on this thread: ") + fault,
        "a library has changed the processor's mode (-ffast-math, fesetround, LD_PRELOAD): remove it; "
        "holdfast doctor shows more",
        "floating point");
}

}  // namespace holdfast
