// Selection (kernels/ops/backend.hpp): the count least values of every entry, as a sort of everything would
// give them.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "dist/sum/selection_merge.hpp"
#include "kernels/ops/backend.hpp"

namespace holdfast {
namespace {

using Integers = std::vector<std::int64_t>;

Integers sorted(const Selection& selection, std::size_t entry) {
    Integers values(selection.values(entry).begin(), selection.values(entry).end());
    std::sort(values.begin(), values.end());
    return values;
}

Integers least(Integers values, std::size_t count) {
    std::sort(values.begin(), values.end());
    values.resize(std::min(count, values.size()));
    return values;
}

/// Values with many repetitions, both signs and the ends of the range.
Integers draw(std::mt19937_64& engine, std::size_t count) {
    Integers values(count);
    for (std::int64_t& value : values) {
        const auto number = static_cast<std::int64_t>(engine());
        value = number % 4 == 0 ? number : number % 20;
        if (engine() % 50 == 0) value = std::numeric_limits<std::int64_t>::max();
        if (engine() % 50 == 0) value = std::numeric_limits<std::int64_t>::min();
    }
    return values;
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
            const std::int64_t value = draw(engine, 1).front();
            selection.insert(entry, value);
            offered[entry].push_back(value);
            ASSERT_EQ(sorted(selection, entry), least(offered[entry], count));
        }
        EXPECT_TRUE(selection.values(entries - 1).empty());
    }
}

TEST(Selection, ThresholdIsTheLeastValueThatCannotEnter) {
    Selection selection(1, 3);
    for (const std::int64_t value : {5, 9, 7}) {
        EXPECT_EQ(selection.threshold(0), std::numeric_limits<std::int64_t>::max());
        selection.insert(0, value);
    }
    EXPECT_EQ(selection.threshold(0), 9);
    selection.insert(0, 9);
    EXPECT_EQ(sorted(selection, 0), (Integers{5, 7, 9}));
    selection.insert(0, 8);
    EXPECT_EQ(selection.threshold(0), 8);
    EXPECT_EQ(sorted(selection, 0), (Integers{5, 7, 8}));
}

TEST(Selection, OfNoneHoldsNothing) {
    Selection selection(2, 0);
    selection.insert(1, -3);
    EXPECT_TRUE(selection.values(1).empty());
}

TEST(Selection, DoesNotDependOnOrderOrPartition) {
    std::mt19937_64 engine(2);
    for (int repeat = 0; repeat < 200; ++repeat) {
        const std::size_t count = 1 + engine() % 12, parts = 1 + engine() % 5;
        Integers values = draw(engine, engine() % 60);
        const Integers expected = least(values, count);
        std::shuffle(values.begin(), values.end(), engine);
        std::vector<Selection> partial(parts, Selection(1, count));
        for (const std::int64_t value : values) partial[engine() % parts].insert(0, value);
        std::shuffle(partial.begin(), partial.end(), engine);
        Selection merged(1, count);
        for (const Selection& part : partial) merged.merge(part);
        ASSERT_EQ(sorted(merged, 0), expected);
    }
}

TEST(Selection, AloneTheMergeAcrossRanksChangesNothing) {
    Selection selection(1, 2);
    for (const std::int64_t value : {4, -1, 2}) selection.insert(0, value);
    merge_across_ranks(selection, *make_serial_communicator());
    EXPECT_EQ(sorted(selection, 0), (Integers{-1, 2}));
}

}  // namespace
}  // namespace holdfast
