// What the threads of a fleet take from (jobs/training/fleet/part_queue.hpp): every part once, and with as
// many others as a pass holds.

#include "jobs/training/fleet/part_queue.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <numeric>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using Parts = std::vector<std::size_t>;

struct PartQueueTest : ::testing::Test {
    static constexpr std::size_t networks = 10 * FleetParts::part_size + 1, parameters = 3;
    TemporaryFolder folder;
    FleetParts parts{RunFolder::create(folder.file("run"), false),
                     "whose",
                     {Precision::double_precision, networks, parameters}};

    static std::vector<Parts> all_of(PartQueue& queue, std::size_t networks_at_a_time) {
        std::vector<Parts> taken;
        while (true) {
            const std::span<const std::size_t> some = queue.take(networks_at_a_time);
            if (some.empty()) return taken;
            taken.emplace_back(some.begin(), some.end());
        }
    }
};

TEST_F(PartQueueTest, HandsOutWhatFollowsOnOneAnotherAsFarAsAPassHolds) {
    const Parts left{0, 1, 2, 4, 6, 7, 8, 9, 10};
    const auto taken = [&](std::size_t at_a_time) {
        PartQueue queue(parts, left);
        return all_of(queue, at_a_time);
    };
    // A pass of the host holds less than a part.
    EXPECT_EQ(taken(8), (std::vector<Parts>{{0}, {1}, {2}, {4}, {6}, {7}, {8}, {9}, {10}}));
    // The last part is of one network.
    EXPECT_EQ(taken(63), (std::vector<Parts>{{0}, {1}, {2}, {4}, {6}, {7}, {8}, {9, 10}}));
    EXPECT_EQ(taken(64), (std::vector<Parts>{{0, 1}, {2}, {4}, {6, 7}, {8, 9}, {10}}));
    EXPECT_EQ(taken(129), (std::vector<Parts>{{0, 1, 2}, {4}, {6, 7, 8, 9, 10}}));
    EXPECT_EQ(taken(1024), taken(129));
    EXPECT_EQ(PartQueue(parts, left).networks(), 8 * FleetParts::part_size + 1);
    EXPECT_EQ(PartQueue(parts, {}).networks(), 0U);
    PartQueue empty(parts, {});
    EXPECT_TRUE(empty.take(1024).empty());
}

TEST_F(PartQueueTest, ThreadsTakeEveryPartOnce) {
    Parts left(parts.count());
    std::iota(left.begin(), left.end(), 0);
    PartQueue queue(parts, left);
    std::vector<int> times(parts.count(), 0);
#pragma omp parallel num_threads(4)
    for (auto some = queue.take(64); !some.empty(); some = queue.take(64)) {
        for (const std::size_t part : some) {
#pragma omp atomic
            ++times[part];
        }
    }
    EXPECT_EQ(times, std::vector<int>(parts.count(), 1));
}

TEST_F(PartQueueTest, KeepsEveryPartsOwnNetworks) {
    parts.make_folder();
    const Parts left{8, 9, 10};
    PartQueue queue(parts, left);
    const std::span<const std::size_t> some = queue.take(1024);
    ASSERT_EQ(some.size(), 3U);
    const auto rows = [](std::size_t first, std::size_t count) {
        std::vector<std::int64_t> values(count * parameters);
        std::iota(values.begin(), values.end(), static_cast<std::int64_t>(first * parameters));
        return values;
    };
    const std::size_t first = parts.first(8);
    queue.keep(some, rows(first, networks - first));
    for (const std::size_t part : left) EXPECT_TRUE(parts.finished(part)) << part;
    EXPECT_FALSE(parts.finished(7));
    // The whole of it, as one that trains part by part would have kept it.
    for (std::size_t part = 0; part < 8; ++part) parts.write(part, rows(parts.first(part), parts.size(part)));
    std::vector<std::uint64_t> ids(networks - 1);
    std::iota(ids.begin(), ids.end(), 0);
    const std::string digest = parts.join(ids);
    for (const std::size_t part : left) parts.write(part, rows(parts.first(part), parts.size(part)));
    EXPECT_EQ(parts.join(ids), digest);
}

}  // namespace
}  // namespace holdfast
