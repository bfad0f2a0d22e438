// Aggregates of distances: over every small file of queries and every pair of neighbours, how far each moves;
// and what the section that defines them warns of moves further.

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/base/error.hpp"
#include "models/privacy/measure/distance_aggregate.hpp"

namespace holdfast::distance_aggregate_test {
namespace {

constexpr std::int64_t cap = 3;
constexpr int classes = 2;

/// What neighbours say of one query: equal labels unless both distances are 0, distances at most 1 apart.
bool neighbours(const Evidence& a, const Evidence& b) {
    if (std::abs(a.distance - b.distance) > 1) return false;
    return a.label == b.label || (a.distance == 0 && b.distance == 0);
}

Evidence answer_of(int label, std::int64_t distance) {
    Evidence answer;
    answer.label = label;
    answer.distance = distance;
    return answer;
}

std::vector<Evidence> every_answer() {
    std::vector<Evidence> answers;
    for (int label = 0; label < classes; ++label)
        for (std::int64_t h = 0; h <= cap; ++h) answers.push_back(answer_of(label, h));
    return answers;
}

/// All lists of `length` of them.
std::vector<std::vector<Evidence>> every_file(std::size_t length) {
    std::vector<std::vector<Evidence>> files{{}};
    for (std::size_t q = 0; q < length; ++q) {
        std::vector<std::vector<Evidence>> longer;
        for (const auto& file : files) {
            for (const Evidence& answer : every_answer()) {
                longer.push_back(file);
                longer.back().push_back(answer);
            }
        }
        files = std::move(longer);
    }
    return files;
}

std::vector<std::vector<std::int32_t>> every_truth(std::size_t length) {
    std::vector<std::vector<std::int32_t>> truths;
    for (std::size_t bits = 0; bits < std::size_t{1} << length; ++bits) {
        truths.emplace_back();
        for (std::size_t q = 0; q < length; ++q)
            truths.back().push_back(static_cast<std::int32_t>(bits >> q & 1));
    }
    return truths;
}

using Number = std::function<std::int64_t(const std::vector<Evidence>&)>;

/// How far it is apart on neighbours, at most.
std::int64_t farthest(const std::vector<std::vector<Evidence>>& files, const Number& number) {
    std::vector<std::int64_t> numbers;
    for (const auto& file : files) numbers.push_back(number(file));
    std::int64_t most = 0;
    for (std::size_t a = 0; a < files.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            if (std::abs(numbers[a] - numbers[b]) <= most) continue;
            if (std::equal(files[a].begin(), files[a].end(), files[b].begin(), neighbours))
                most = std::abs(numbers[a] - numbers[b]);
        }
    }
    return most;
}

/// The definitions, in plain loops.
std::int64_t at_least(const std::vector<Evidence>& file, const std::vector<std::int32_t>* truth,
                      std::int64_t k) {
    std::int64_t count = 0;
    for (std::size_t q = 0; q < file.size(); ++q)
        count += k == 0 || (file[q].distance >= k && (truth == nullptr || file[q].label == (*truth)[q]));
    return count;
}

/// The largest k at which that share of the file is certified, and right.
std::int64_t largest_level(const std::vector<Evidence>& file, const std::vector<std::int32_t>* truth,
                           double share) {
    std::int64_t k = 0;
    while (k < cap && static_cast<double>(at_least(file, truth, k + 1)) >=
                          share * static_cast<double>(file.size()) - 1e-9)
        ++k;
    return k;
}

TEST(DistanceAggregate, IsItsDefinitionOfEveryFile) {
    for (const std::size_t length : {1, 2, 3}) {
        const auto truths = every_truth(length);
        for (const auto& file : every_file(length)) {
            std::vector<std::int64_t> sorted;
            std::int64_t sum = 0;
            for (const Evidence& answer : file) sorted.push_back(answer.distance), sum += answer.distance;
            std::sort(sorted.begin(), sorted.end());
            const auto value = [&](const std::string& name, const std::vector<std::int32_t>& truth = {}) {
                const auto aggregate = DistanceAggregate::of(name, length);
                const std::int64_t units = aggregate.units_of(file, truth);
                EXPECT_EQ(units % DistanceAggregate::unit, 0);
                return units / DistanceAggregate::unit;
            };
            ASSERT_EQ(value("mean"), sum);
            ASSERT_EQ(value("least"), sorted.front());
            ASSERT_EQ(value("quantile:1"), sorted.back());
            ASSERT_EQ(value("quantile:0.5"), sorted[(length + 1) / 2 - 1]);
            for (const double share : {0.1, 0.4, 0.5, 0.75, 1.0}) {
                const std::string text = std::to_string(share);
                ASSERT_EQ(value("certified:" + text), largest_level(file, nullptr, share)) << text;
                for (const auto& truth : truths)
                    ASSERT_EQ(value("right:" + text, truth), largest_level(file, &truth, share)) << text;
            }
        }
    }
}

TEST(DistanceAggregate, NeighboursMoveItByItsSensitivityAndNoMore) {
    for (const std::size_t length : {1, 2, 3}) {
        const auto files = every_file(length);
        for (const std::string name : {"mean", "least", "quantile:0.5", "certified:0.5", "certified:1"}) {
            const auto aggregate = DistanceAggregate::of(name, length);
            EXPECT_EQ(farthest(files, [&](const auto& file) { return aggregate.units_of(file, {}); }),
                      aggregate.sensitivity())
                << name << " of " << length;
        }
        for (const auto& truth : every_truth(length)) {
            const auto aggregate = DistanceAggregate::of("right:0.5", length);
            EXPECT_EQ(farthest(files, [&](const auto& file) { return aggregate.units_of(file, truth); }),
                      aggregate.sensitivity());
        }
    }
}

TEST(DistanceAggregate, OfMoreQueriesThanNumbersHoldStaysWithinItsSensitivity) {
    std::vector<Evidence> far(1000), farther;
    for (std::size_t q = 0; q < far.size(); ++q)
        far[q].distance =
            (std::int64_t{1} << 60) / 1000 / DistanceAggregate::unit - 500 + static_cast<int>(q);
    farther = far;
    for (Evidence& answer : farther) ++answer.distance;
    const auto mean = DistanceAggregate::of("mean", far.size());
    const std::int64_t units = mean.units_of(far, {}), more = mean.units_of(farther, {});
    EXPECT_GE(more, units);
    EXPECT_LE(more - units, mean.sensitivity());
    EXPECT_LE(more, std::int64_t{1} << 60);
    for (Evidence& answer : far) answer.distance = INT64_MAX;
    EXPECT_EQ(mean.units_of(far, {}), (std::int64_t{1} << 60) / mean.sensitivity() * mean.sensitivity());
}

// What is not 1-Lipschitz, and must be found by the same walk.

TEST(WrongAggregates, TheFractionCertifiedMovesByAllOfTheFile) {
    const auto files = every_file(3);
    EXPECT_EQ(farthest(files, [](const auto& file) { return at_least(file, nullptr, 2); }), 3);
}

TEST(WrongAggregates, ADistanceOfAWrongLabelThatIsLeftOutMovesARankFurther) {
    const auto files = every_file(3);
    EXPECT_GT(farthest(files,
                       [](const auto& file) {
                           std::int64_t least = cap;
                           for (const Evidence& answer : file)
                               if (answer.label == 0) least = std::min(least, answer.distance);
                           return least;
                       }),
              1);
}

TEST(WrongAggregates, AMeanOverThoseThatAreRightMovesFurtherThanOne) {
    const auto files = every_file(2);
    EXPECT_GT(farthest(files,
                       [](const auto& file) {
                           std::int64_t sum = 0, count = 0;
                           for (const Evidence& answer : file)
                               if (answer.label == 0) sum += 12 * answer.distance, ++count;
                           return count == 0 ? 0 : sum / count;
                       }),
              12);
}

TEST(DistanceAggregate, NoiseIsThatOfItsSensitivity) {
    const Rational half(1, 2), millionth(1, 1000000);
    const auto unit = static_cast<double>(DistanceAggregate::unit);
    EXPECT_EQ(DistanceAggregate::of("least", 40).noise(half, 0).scale(), 2 * unit);
    EXPECT_EQ(DistanceAggregate::of("mean", 40).noise(half, 0).scale(), 80 * unit);
    const OutputNoise normal = DistanceAggregate::of("mean", 40).noise(half, millionth);
    EXPECT_NEAR(normal.scale() / (40 * unit), 1 / std::sqrt(normal.mu_squared()->get_d()), 1e-6);
    // Drawn anew each time, about the value, as wide as it says.
    const auto mean = DistanceAggregate::of("mean", 4);
    const std::vector<Evidence> file(4, answer_of(0, 5));
    const OutputNoise noise = mean.noise(half, 0);
    constexpr int draws = 20000;
    double sum = 0, squares = 0;
    for (int i = 0; i < draws; ++i) {
        const double off = mean.distance(static_cast<double>(mean.noisy(file, {}, noise))) - 5;
        sum += off;
        squares += off * off;
    }
    const double deviation = std::sqrt(2.0) * mean.distance(noise.scale());
    EXPECT_NEAR(deviation, 2 * std::sqrt(2.0), 1e-9);
    EXPECT_NEAR(sum / draws, 0, 6 * deviation / std::sqrt(draws));
    EXPECT_NEAR(std::sqrt(squares / draws) / deviation, 1, 0.06);
}

TEST(DistanceAggregate, WhatIsNoneIsRefused) {
    for (const char* text : {"", "fraction", "quantile", "quantile:", "quantile:0", "certified:1.1",
                             "certified:-1", "right:x", "right:0.5x", "certified:nan", "median:0.5"})
        EXPECT_THROW(DistanceAggregate::of(text, 3), Error) << text;
    EXPECT_THROW(DistanceAggregate::of("mean", 0), Error);
    EXPECT_THROW(DistanceAggregate::of("mean", 3).noise(0, 0), Error);
}

}  // namespace
}  // namespace holdfast::distance_aggregate_test
