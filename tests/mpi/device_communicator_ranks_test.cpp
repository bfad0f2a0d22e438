// A device communicator over the ranks that mpirun gives, with a library whose device is the host. Every rank
// runs every test.

#include "dist/comm/device_communicator.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/fake_collectives.hpp"
#include "tests/support/mpi_world.hpp"

namespace holdfast {
namespace {

class DeviceCommunicatorTest : public testing::Test {
  protected:
    std::unique_ptr<Communicator> make() { return make_device_communicator(*world, library_); }
    std::int64_t of_all(std::int64_t here) const {
        world->sum(std::span<std::int64_t>(&here, 1));
        return here;
    }

    DeviceCommunicatorTest() {
        log_.polls = 3;
        log_.wire = world;
    }

    FakeLog log_;
    std::shared_ptr<const CollectiveLibrary> library_ = std::make_shared<FakeLibrary>(log_, world->rank());
};

TEST_F(DeviceCommunicatorTest, RanksMeetUnderTheIdOfTheFirst) {
    const auto group = make();
    const bool alone = world->size() == 1;
    EXPECT_EQ(of_all(log_.ids), alone ? 0 : 1);
    EXPECT_EQ(of_all(log_.joins), alone ? 0 : world->size());
    for (const std::vector<std::byte>& id : world->all_gather(log_.last_id))
        EXPECT_EQ(id, alone ? std::vector<std::byte>()
                            : (std::vector<std::byte>{std::byte{0x5a}, {}, std::byte{1}}));
}

TEST_F(DeviceCommunicatorTest, AddsInDeviceMemory) {
    const auto group = make();
    const std::int64_t rank = world->rank(), size = world->size();
    std::vector<std::int64_t> values{rank, (std::int64_t{1} << 60) / size, -rank};
    group->sum(DeviceSpan{values.data(), values.size(), nullptr});
    group->wait(nullptr);
    EXPECT_EQ(values, (std::vector<std::int64_t>{size * (size - 1) / 2, (std::int64_t{1} << 60) / size * size,
                                                 -size * (size - 1) / 2}));
}

TEST_F(DeviceCommunicatorTest, ForwardsWhatTheHostDoes) {
    const auto group = make();
    const int rank = world->rank(), size = world->size();
    EXPECT_EQ(group->rank(), rank);
    EXPECT_EQ(group->size(), size);
    EXPECT_EQ(group->local_rank(), world->local_rank());
    EXPECT_EQ(group->is_root(), rank == 0);
    std::vector<std::int64_t> sum{rank, 1}, least{rank}, greatest{rank};
    group->sum(sum);
    group->min(least);
    group->max(greatest);
    EXPECT_EQ(sum, (std::vector<std::int64_t>{size * (size - 1) / 2, size}));
    EXPECT_EQ(least, (std::vector<std::int64_t>{0}));
    EXPECT_EQ(greatest, (std::vector<std::int64_t>{size - 1}));
    EXPECT_TRUE(group->any(rank == size - 1));
    group->barrier();

    const std::vector<std::byte> mine(static_cast<std::size_t>(rank) + 1, static_cast<std::byte>(rank));
    std::vector<std::byte> last = rank == size - 1 ? mine : std::vector<std::byte>();
    group->broadcast(last, size - 1);
    EXPECT_EQ(last, std::vector<std::byte>(static_cast<std::size_t>(size), static_cast<std::byte>(size - 1)));
    const auto gathered = group->all_gather(mine);
    const auto exchanged = group->exchange(std::vector<std::vector<std::byte>>(size, mine));
    EXPECT_EQ(gathered, exchanged);
    ASSERT_EQ(gathered.size(), static_cast<std::size_t>(size));
    EXPECT_EQ(gathered[0], (std::vector<std::byte>{std::byte{0}}));
    if (rank == 1) group->send(mine, 0);
    if (rank == 0 && size > 1) {
        EXPECT_EQ(group->receive(1), gathered[1]);
    }
}

TEST_F(DeviceCommunicatorTest, PartsMeetAndAddOnTheirOwn) {
    const auto whole = make();
    const int ids_before = log_.ids;
    const auto wire = world->split(world->rank() % 2);  // the fake's line for the part that joins next
    log_.wire = wire.get();
    const auto part = whole->split(world->rank() % 2);
    EXPECT_EQ(part->size(), wire->size());
    EXPECT_EQ(part->rank(), wire->rank());
    EXPECT_EQ(part->local_rank(), world->local_rank());
    // 2 ranks: two of one each; 3: one of two; 4: two of two.
    EXPECT_EQ(of_all(log_.ids - ids_before), std::max(0, std::min(world->size() - 2, 2)));

    std::int64_t value = world->rank();
    part->sum(DeviceSpan{&value, 1, nullptr});
    part->wait(nullptr);
    std::int64_t expected = 0;
    for (int rank = world->rank() % 2; rank < world->size(); rank += 2) expected += rank;
    EXPECT_EQ(value, expected);

    // Equal within a part of several ranks, different from that of the other.
    const auto here = part->all_gather(log_.last_id);
    if (part->size() > 1) {
        for (const auto& id : here) EXPECT_EQ(id, log_.last_id);
        EXPECT_EQ(log_.last_id[1], static_cast<std::byte>(world->rank() % 2));
    }
}

TEST_F(DeviceCommunicatorTest, LostPeerEndsEveryRankThatWaits) {
    const auto group = make();
    std::int64_t value = 1;
    group->sum(DeviceSpan{&value, 1, nullptr});
    group->wait(nullptr);
    if (world->size() == 1) return;  // one rank alone has nobody to lose
    log_.fails_after = 0;
    EXPECT_THROW(group->wait(nullptr), Error);
    EXPECT_EQ(of_all(log_.aborts), world->size());
}

TEST(LocalRank, CountsTheRanksOfAMachine) {
    // All ranks of a test run on one machine.
    EXPECT_EQ(world->local_rank(), world->rank());
    EXPECT_EQ(world->split(world->rank() % 2)->local_rank(), world->rank());
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
    return holdfast::run_on_ranks(argc, argv);
}
