// Selection (kernels/ops/panel_operations.hpp): the count least values of every entry, as a sort of
// everything would give them.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "dist/sum/selection_merge.hpp"
#include "kernels/cpu/least_kernels.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "kernels/ops/panel_operations.hpp"
#include "tests/support/selections.hpp"

namespace holdfast {
namespace {

using Integers = std::vector<std::int64_t>;

Integers least(Integers values, std::size_t count) {
    std::sort(values.begin(), values.end());
    values.resize(std::min(count, values.size()));
    return values;
}

/// Values with many repetitions, both signs and the ends of what a sum of gradients can be.
std::int64_t draw(std::mt19937_64& engine) {
    constexpr std::int64_t end = std::int64_t{1} << 62;
    const auto number = static_cast<std::int64_t>(engine()) / 2;
    switch (engine() % 25) {
        case 0:
            return end;
        case 1:
            return -end;
        default:
            return number % 4 == 0 ? number : number % 20;
    }
}

TEST(Selection, KeepsTheLeastOfEveryEntry) {
    std::mt19937_64 engine(1);
    for (const std::size_t count : {1, 2, 3, 17, 100}) {
        constexpr std::size_t entries = 5;
        Selection selection(entries, count);
        EXPECT_EQ(selection.entries(), entries);
        EXPECT_EQ(selection.count(), count);
        std::vector<Integers> offered(entries);
        for (int i = 0; i < 400; ++i) {
            const std::size_t entry = engine() % (entries - 1);  // the last stays empty
            const std::int64_t value = draw(engine);
            selection.insert(entry, value);
            offered[entry].push_back(value);
            const Integers expected = least(offered[entry], count);
            if (engine() % 3 > 0) continue;  // whoever looks is not to change what is kept
            ASSERT_EQ(sorted_values(selection, entry), expected);
        }
        EXPECT_TRUE(selection.values(entries - 1).empty());
    }
}

// What is at or above the threshold may be left out by a caller: it must change nothing.
TEST(Selection, NothingAtTheThresholdIsNeeded) {
    std::mt19937_64 engine(5);
    for (const std::size_t count : {1, 3, 10}) {
        Selection selection(1, count);
        Integers offered;
        std::size_t left_out = 0;
        for (int i = 0; i < 500; ++i) {
            const std::int64_t value = draw(engine);
            offered.push_back(value);
            if (offered.size() <= count) {
                EXPECT_GT(selection.threshold(0), value);
            }
            if (value >= selection.threshold(0)) {
                ++left_out;
            } else {
                selection.insert(0, value);
            }
        }
        EXPECT_EQ(sorted_values(selection, 0), least(offered, count));
        EXPECT_GT(left_out, 400U);  // and it keeps most away
    }
}

// What is dropped is at or above the threshold, and so are not the least: of values that are all equal,
// sorted either way, few of them below the others, or any.
TEST(Selection, DropsOnlyWhatIsNotAmongTheLeast) {
    std::mt19937_64 engine(7);
    const auto expect_least_left = [](Integers values, std::size_t count) {
        const Integers expected = least(values, count);
        const Integers before = least(values, values.size());
        const LeftValues left = cpu::drop_some()(values.data(), values.size(), count);
        ASSERT_GE(left.size, count);
        ASSERT_LT(left.size, before.size());
        values.resize(left.size);
        ASSERT_EQ(least(values, count), expected);
        ASSERT_EQ(least(values, left.size), least(before, left.size));
        ASSERT_LE(left.threshold, before[left.size]);
        ASSERT_GE(left.threshold, expected.back());
    };
    for (const std::string& target : simd_targets()) {
        SCOPED_TRACE(target);
        const SimdTargetOverride only(target);
        for (int repeat = 0; repeat < 300; ++repeat) {
            const std::size_t count = 1 + engine() % 60;
            Integers values(2 * count);
            for (std::int64_t& value : values) value = draw(engine);
            expect_least_left(values, count);
            std::sort(values.begin(), values.end(), std::greater<>());
            expect_least_left(values, count);
            std::sort(values.begin(), values.end());
            expect_least_left(values, count);
            const std::size_t low = engine() % (2 * count);
            for (std::size_t i = 0; i < values.size(); ++i) values[i] = i < low ? -7 : 5;
            expect_least_left(values, count);
        }
    }
}

// The vectors must be worth having: of values without repetitions most of what could go goes.
TEST(Selection, DropsAThirdOfManyValues) {
    std::mt19937_64 engine(8);
    for (const std::string& target : simd_targets()) {
        SCOPED_TRACE(target);
        const SimdTargetOverride only(target);
        std::size_t left = 0;
        constexpr std::size_t count = 50, repeats = 100;
        for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
            Integers values(2 * count);
            for (std::int64_t& value : values) value = static_cast<std::int64_t>(engine() >> 20U);
            left += cpu::drop_some()(values.data(), values.size(), count).size;
        }
        EXPECT_LT(left, repeats * (count + count / 3));
    }
}

TEST(Selection, OfNoneHoldsNothing) {
    Selection selection(2, 0);
    selection.insert(1, -3);
    EXPECT_TRUE(selection.values(1).empty());
}

TEST(Selection, DoesNotDependOnOrder) {
    std::mt19937_64 engine(2);
    for (int repeat = 0; repeat < 200; ++repeat) {
        const std::size_t count = 1 + engine() % 12;
        Integers values(engine() % 60);
        for (std::int64_t& value : values) value = draw(engine);
        const Integers expected = least(values, count);
        std::shuffle(values.begin(), values.end(), engine);
        Selection selection(1, count);
        for (const std::int64_t value : values) selection.insert(0, value);
        ASSERT_EQ(sorted_values(selection, 0), expected);
    }
}

// Four threads, 300 stripes (more than there are locks) of one entry each, many rounds: every stripe is
// worked once a call, never by two threads at once, and the entries keep the least of what all threads
// offered.
TEST(Selection, IsSharedByThreadsStripeByStripe) {
    constexpr std::size_t stripes = 300, threads = 4, rounds = 50, count = 7;
    Selection selection(stripes, count);
    std::vector<std::atomic<int>> inside(stripes), visits(stripes);
    std::atomic<bool> together{false};
    std::vector<Integers> offered(stripes);
    std::vector<std::thread> workers;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        workers.emplace_back([&, thread] {
            for (std::size_t round = 0; round < rounds; ++round) {
                selection.for_each_stripe(stripes, [&](std::size_t stripe) {
                    if (inside[stripe].fetch_add(1) != 0) together = true;
                    const auto value =
                        static_cast<std::int64_t>((thread * 7919 + round * 104729 + stripe) % 1009);
                    selection.insert(stripe, value);
                    offered[stripe].push_back(value);
                    ++visits[stripe];
                    inside[stripe].fetch_sub(1);
                });
            }
        });
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_FALSE(together);
    for (std::size_t stripe = 0; stripe < stripes; ++stripe) {
        EXPECT_EQ(visits[stripe], threads * rounds);
        ASSERT_EQ(sorted_values(selection, stripe), least(offered[stripe], count));
    }
}

TEST(Selection, SumsTheTermsOfTheLeast) {
    Selection selection(2, 2);
    for (const std::int64_t value : {4, -1, 2}) selection.insert(0, value);
    const auto alone = make_serial_communicator();
    EXPECT_EQ(sum_of_least(
                  selection, [](std::int64_t value) { return value; }, *alone),
              (Integers{1, 0}));
    EXPECT_EQ(sum_of_least(
                  selection, [](std::int64_t value) { return value * value; }, *alone),
              (Integers{5, 0}));
}

}  // namespace
}  // namespace holdfast
