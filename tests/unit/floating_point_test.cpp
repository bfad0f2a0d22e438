#include "kernels/base/floating_point.hpp"

#include <gtest/gtest.h>

#include <cfenv>

#include "kernels/base/error.hpp"

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace holdfast {
namespace {

TEST(FloatingPoint, IsSoundHere) {
    EXPECT_NO_THROW(require_sound_arithmetic());
}

void expect_refused(const char* words) {
    try {
        require_sound_arithmetic();
        ADD_FAILURE() << "nothing said of: " << words;
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::arithmetic);
        EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    }
}

TEST(FloatingPoint, OfAnotherRoundingIsRefused) {
    for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        std::fesetround(mode);
        const bool nearest = rounds_to_nearest();
        std::fesetround(FE_TONEAREST);
        EXPECT_FALSE(nearest) << mode;
    }
    EXPECT_TRUE(rounds_to_nearest());
}

#ifdef __x86_64__
TEST(FloatingPoint, ThatFlushesSubnormalsIsRefused) {
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8000U);  // FTZ
    expect_refused("results are flushed");
    _mm_setcsr(before | 0x0040U);  // DAZ
    expect_refused("subnormal");
    _mm_setcsr(before | 0x2000U);  // round down
    expect_refused("rounded to nearest");
    _mm_setcsr(before);
    EXPECT_NO_THROW(require_sound_arithmetic());
}
#endif

}  // namespace
}  // namespace holdfast
