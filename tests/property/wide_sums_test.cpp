// Sums beyond 64 bits are clamped at the end (models/training/wide_sums.hpp): what lemma `parts` of
// models/mathematics.md says of that, over all sums of a few parts about the limit.

#include "models/training/wide_sums.hpp"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

constexpr std::int64_t limit = std::int64_t{1} << 62;
/// Nothing, a record's entry, and what brings a few of them to the limit, past it, and back.
constexpr std::int64_t parts[] = {0,  1,  7,          limit / 2, limit - 3, limit,
                                  -1, -7, -limit / 2, 3 - limit, -limit};

std::int64_t clamped_sum(std::initializer_list<std::int64_t> values) {
    const StepMessage layout{1, 1, 0};
    WideSums sums(layout);
    for (const std::int64_t value : values) {
        std::vector<std::int64_t> message(layout.size(), 0);
        message[layout.lower(0)] = message[layout.upper(0)] = value;
        sums.add(message, std::vector<std::optional<LeastEntries>>(1));
    }
    const StepSums total = sums.clamped();
    EXPECT_EQ(total.levels[0].lower[0], total.levels[0].upper[0]);
    return total.levels[0].lower[0];
}

template <typename Check>
void for_each_sum(Check check) {
    for (const std::int64_t a : parts) {
        for (const std::int64_t b : parts) {
            for (const std::int64_t c : parts) check(a, b, c);
        }
    }
}

TEST(WideSums, ClampingKeepsOrderAndReach) {
    int clamped = 0;
    for_each_sum([&](std::int64_t a, std::int64_t b, std::int64_t c) {
        const std::int64_t sum = clamped_sum({a, b, c});
        const __int128 exact = static_cast<__int128>(a) + b + c;
        ASSERT_LE(std::abs(sum), limit);
        ASSERT_EQ(sum, clamped_sum({c, a, b}));
        ASSERT_TRUE(sum == exact || (exact > limit && sum == limit) || (exact < -limit && sum == -limit));
        clamped += sum != exact ? 1 : 0;
        for (const std::int64_t gamma : {1, 7}) {  // one record more
            const std::int64_t moved = clamped_sum({a, b, c, gamma}) - sum;
            ASSERT_LE(0, moved);
            ASSERT_LE(moved, gamma);
        }
    });
    EXPECT_GT(clamped, 100);
}

// What may be added is at least what is: upper sums are charged after the clamp, by something never negative.
TEST(WideSums, ChargesAfterTheClampStillEnclose) {
    for_each_sum([&](std::int64_t a, std::int64_t b, std::int64_t c) {
        for (const std::int64_t change : {-7, -1, 0, 1, 7}) {
            const std::int64_t charge = std::max<std::int64_t>(change, 0);
            ASSERT_LE(clamped_sum({a, b, c, change}), clamped_sum({a, b, c}) + charge);
            ASSERT_GE(clamped_sum({a, b, c, -change}), clamped_sum({a, b, c}) - charge);
        }
    });
}

}  // namespace
}  // namespace holdfast
