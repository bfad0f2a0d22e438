#include "jobs/program/quality.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Quality, CountsWhoWasTakenForWhom) {
    const std::vector<std::int32_t> truth{0, 0, 0, 1, 1, 2}, labels{0, 0, 1, 1, 0, 2};
    const Quality quality = quality_of(labels, truth, 4);
    EXPECT_EQ(quality.confusion, (std::vector<std::vector<std::uint64_t>>{
                                     {2, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 0}}));
    EXPECT_DOUBLE_EQ(quality.accuracy, 4.0 / 6);
    EXPECT_DOUBLE_EQ(quality.commonest, 0.5);
    EXPECT_DOUBLE_EQ(quality.balanced, (2.0 / 3 + 0.5 + 1) / 3);  // of the classes that occur
}

TEST(Quality, ItsIntervalIsWilsons) {
    // 81 of 263, of Newcombe, Statistics in Medicine 17 (1998), method 3.
    std::vector<std::int32_t> truth(263, 1), labels(263, 0);
    std::fill(labels.begin(), labels.begin() + 81, 1);
    const Quality quality = quality_of(labels, truth, 2);
    EXPECT_NEAR(quality.lowest, 0.2553, 5e-5);
    EXPECT_NEAR(quality.highest, 0.3662, 5e-5);
    const std::vector<std::int32_t> one{0};
    EXPECT_GE(quality_of(one, one, 2).lowest, 0);
    EXPECT_LE(quality_of(one, one, 2).highest, 1);
}

TEST(Quality, SaysWhenAModelIsWorthless) {
    std::vector<std::int32_t> truth(100, 0), all_zero(100, 0);
    std::fill(truth.begin(), truth.begin() + 40, 1);
    const Quality guess = quality_of(all_zero, truth, 2), good = quality_of(truth, truth, 2);
    EXPECT_FALSE(guess.beats_guessing());
    EXPECT_DOUBLE_EQ(guess.balanced, 0.5);
    EXPECT_THAT(text_of(guess), HasSubstr("not shown to be better"));
    EXPECT_TRUE(good.beats_guessing());
    EXPECT_THAT(text_of(good, {"well", "ill"}), Not(HasSubstr("not shown")));
    EXPECT_THAT(text_of(good, {"well", "ill"}), HasSubstr("ill"));
    EXPECT_EQ(to_json(good)["beats_guessing"], true);
}

}  // namespace
}  // namespace holdfast
