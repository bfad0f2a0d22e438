#include "jobs/program/quality.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "jobs/program/rounded.hpp"
#include "kernels/base/text.hpp"

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

TEST(Quality, NumbersMustErrLessThanTheMeanForSure) {
    std::vector<double> targets, answers, guesses;
    for (int q = 0; q < 400; ++q) {
        targets.push_back(q % 2);
        answers.push_back(q % 2 == 0 ? 0.3 : 0.6);
        guesses.push_back(q % 4 < 2 ? 0.5 + 0.02 * (q % 2) : 0.5 - 0.018 * (q % 2));  // explains 0.002 or so
    }
    const NumericQuality sure = quality_of(answers, targets), unsure = quality_of(guesses, targets);
    EXPECT_TRUE(sure.beats_guessing());
    EXPECT_GT(unsure.explained(), 0);
    EXPECT_FALSE(unsure.beats_guessing());
    EXPECT_THAT(text_of(unsure, 1), HasSubstr("not shown to be better"));
    EXPECT_THAT(text_of(sure, 1), Not(HasSubstr("not shown to be better")));
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

TEST(Quality, ItsIntervalIsOfPersonsNotOfTheirRows) {
    // Each of 40 asks five times and is told the same: as sure as 40 answers, not as 200.
    std::vector<std::int32_t> truth, labels, truth_once, labels_once;
    std::vector<double> targets, answers;
    std::vector<std::uint64_t> ids;
    for (int person = 0; person < 40; ++person) {
        truth_once.push_back(person % 2);
        labels_once.push_back(person % 4 == 0 ? 1 - person % 2 : person % 2);
        for (int row = 0; row < 5; ++row) {
            truth.push_back(truth_once.back());
            labels.push_back(labels_once.back());
            targets.push_back(person % 2);
            answers.push_back(person % 5 < 3 ? 0.5 : person % 2);
            ids.push_back(static_cast<std::uint64_t>(person) * 17);
        }
    }
    const Quality rows = quality_of(labels, truth, 2), once = quality_of(labels_once, truth_once, 2),
                  persons = quality_of(labels, truth, 2, {}, ids);
    EXPECT_DOUBLE_EQ(persons.lowest, once.lowest);
    EXPECT_DOUBLE_EQ(persons.highest, once.highest);
    EXPECT_DOUBLE_EQ(persons.balanced_lowest, once.balanced_lowest);
    EXPECT_LT(persons.lowest, rows.lowest);
    EXPECT_THAT(text_of(persons), HasSubstr("of 200 queries of 40 persons"));
    EXPECT_THAT(text_of(rows), Not(HasSubstr("persons")));
    EXPECT_NEAR(quality_of(answers, targets, ids).gain_deviation,
                std::sqrt(5) * quality_of(answers, targets).gain_deviation, 1e-12);
}

// What is said of two figures is what their prints say: .8349 is not "as often or more" right than .8322.
TEST(Quality, ComparesFiguresAsTheyArePrinted) {
    const auto text_for = [](std::size_t right_ones, std::size_t right_zeros) {
        std::vector<std::int32_t> truth(1000, 0), labels(1000, 0);
        std::fill(truth.begin(), truth.begin() + 168, 1);
        std::fill(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(right_ones), 1);
        std::fill(labels.begin() + static_cast<std::ptrdiff_t>(168 + right_zeros), labels.end(), 1);
        return text_of(quality_of(labels, truth, 2));
    };
    const std::string above = text_for(100, 735), same = text_for(100, 732), below = text_for(100, 700);
    EXPECT_THAT(above, HasSubstr("accuracy 0.8350"));
    EXPECT_THAT(above, HasSubstr("The accuracy is higher than the baseline's, which may be chance"));
    EXPECT_THAT(same, HasSubstr("The accuracy equals the baseline's."));
    EXPECT_THAT(below, HasSubstr("The accuracy is lower than the baseline's."));
    std::vector<double> targets{0, 1, 0, 1}, worse{1, 0, 0, 1};
    EXPECT_THAT(text_of(quality_of(worse, targets), 1),
                HasSubstr("The error is higher than the baseline's."));
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
    EXPECT_FALSE(guess.tells_classes_apart());
    // Of 5 in 100 all are found, and 10 others taken for them: seldom right enough, yet no guess.
    std::fill(truth.begin(), truth.end(), 0);
    std::fill(truth.begin(), truth.begin() + 5, 1);
    std::vector<std::int32_t> weighed = truth;
    std::fill(weighed.begin() + 5, weighed.begin() + 15, 1);
    const Quality rare = quality_of(weighed, truth, 2);
    EXPECT_FALSE(rare.beats_guessing());
    EXPECT_NEAR(rare.balanced_lowest, 0.947 - 1.96 * 0.5 * std::sqrt(85.0 / 95 * 10 / 95 / 95), 1e-3);
    EXPECT_THAT(text_of(rare), Not(HasSubstr("not shown")));
    EXPECT_THAT(text_of(rare), HasSubstr("above that of guessing, 0.5000"));
}

TEST(Quality, OfProbabilities) {
    // By hand: pairs of (1, 0) in order 3 of 4; squares .01 + .25 + .09 + .36.
    const std::vector<std::int32_t> truth{0, 1, 1, 0}, labels{0, 0, 1, 1};
    const std::vector<double> probabilities{0.9, 0.1, 0.5, 0.5, 0.3, 0.7, 0.4, 0.6};
    const Quality quality = quality_of(labels, truth, 2, probabilities);
    ASSERT_TRUE(quality.probabilities);
    EXPECT_DOUBLE_EQ(quality.probabilities->auc, 0.75);
    EXPECT_NEAR(quality.probabilities->brier, 0.71 / 4, 1e-12);
    EXPECT_NEAR(quality.probabilities->log_loss, -std::log(0.9 * 0.5 * 0.7 * 0.4) / 4, 1e-12);
    // Every query lies in a bin of its own.
    EXPECT_NEAR(quality.probabilities->calibration_error, (0.1 + 0.5 + 0.3 + 0.6) / 4, 1e-12);
    EXPECT_NEAR(quality.probabilities->predicted[1], 1.9 / 4, 1e-12);
    EXPECT_DOUBLE_EQ(quality.probabilities->share[1], 0.5);
    EXPECT_THAT(text_of(quality), HasSubstr("AUC 0.7500"));
    EXPECT_EQ(to_json(quality)["auc"], 0.75);
}

TEST(Quality, WhatIsTrueOnAverageIsCalibrated) {
    // Of ten queries at .3 three are of class 1; who says .5 of them all is off by .2, and tells none apart.
    std::vector<std::int32_t> truth(10, 0);
    std::fill(truth.begin(), truth.begin() + 3, 1);
    std::vector<double> right, flat;
    for (int q = 0; q < 10; ++q) {
        right.insert(right.end(), {0.7, 0.3});
        flat.insert(flat.end(), {0.5, 0.5});
    }
    EXPECT_NEAR(quality_of(truth, truth, 2, right).probabilities->calibration_error, 0, 1e-12);
    EXPECT_NEAR(quality_of(truth, truth, 2, flat).probabilities->calibration_error, 0.2, 1e-12);
    EXPECT_DOUBLE_EQ(quality_of(truth, truth, 2, flat).probabilities->auc, 0.5);
    EXPECT_FALSE(quality_of(truth, truth, 2).probabilities);
}

TEST(Quality, SeveralClassesAgainstTheRest) {
    const std::vector<std::int32_t> truth{0, 1, 2};
    const std::vector<double> sure{1, 0, 0, 0, 1, 0, 0, 0, 1};
    const Quality quality = quality_of(truth, truth, 3, sure);
    EXPECT_DOUBLE_EQ(quality.probabilities->auc, 1);
    EXPECT_DOUBLE_EQ(quality.probabilities->brier, 0);
    EXPECT_DOUBLE_EQ(quality.probabilities->calibration_error, 0);
    const std::vector<double> wrong{0, 1, 0, 0, 0, 1, 1, 0, 0};
    EXPECT_DOUBLE_EQ(quality_of(truth, truth, 3, wrong).probabilities->brier, 1);
    EXPECT_NEAR(quality_of(truth, truth, 3, wrong).probabilities->log_loss, -std::log(1e-15), 1e-9);
}

TEST(Quality, ProbabilitiesOfLogits) {
    const std::vector<double> logits{0, std::log(3.0)};
    EXPECT_THAT(probabilities_of(Loss::binary_cross_entropy, logits, 1),
                testing::Pointwise(testing::DoubleNear(1e-12), {0.5, 0.5, 0.25, 0.75}));
    EXPECT_THAT(probabilities_of(Loss::cross_entropy, logits, 2),
                testing::Pointwise(testing::DoubleNear(1e-12), {0.25, 0.75}));
    EXPECT_THAT(probabilities_of(Loss::one_vs_rest, logits, 2),
                testing::Pointwise(testing::DoubleNear(1e-12), {0.4, 0.6}));
    EXPECT_TRUE(probabilities_of(Loss::hinge, logits, 1).empty());
}

TEST(Rounded, CostsGoUpAndBalancesDown) {
    EXPECT_EQ(round_up_text(0.19504, 4), "0.1951");
    EXPECT_EQ(round_up_text(0.195004), "0.195004");
    EXPECT_EQ(round_up_text(0.1950041), "0.195005");
    EXPECT_EQ(round_down_text(0.19506, 4), "0.195");
    EXPECT_EQ(round_up_text(0.99999, 4), "1");
    EXPECT_EQ(round_up_text(1.00001e-5, 4), "1.001e-05");
    EXPECT_EQ(round_down_text(9.9999e-6, 4), "9.999e-06");
    for (const double exact : {0.0, 0.1, 0.3, 1.0, 10.0, 1e-5, 2048.0}) {
        EXPECT_EQ(round_up_text(exact, 4), round_down_text(exact, 4));
        EXPECT_EQ(round_up_text(exact), printed("%g", exact));
    }
}

}  // namespace
}  // namespace holdfast
