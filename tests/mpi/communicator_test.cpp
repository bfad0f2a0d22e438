// Communicator, grid and merges on the ranks that mpirun gives. Every rank runs every test.

#include <gtest/gtest.h>

#include <algorithm>

#include "dist/files/hdf5.hpp"
#include "dist/layout/process_grid.hpp"
#include "dist/sum/selection_merge.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "tests/support/mpi_world.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {
int keyvals_made = 0;
}

// A parallel HDF5 makes a keyval as it opens: this definition comes before that of MPI.
extern "C" {
int PMPI_Comm_create_keyval(void* copy, void* destroy, int* keyval, void* state);
int MPI_Comm_create_keyval(void* copy, void* destroy, int* keyval, void* state) {
    ++keyvals_made;
    return PMPI_Comm_create_keyval(copy, destroy, keyval, state);
}
}

namespace holdfast {
namespace {

// Beside the watch's thread, no library calls MPI outside its lock: HDF5 has opened before the first file.
TEST(MpiSession, OpensHdf5UnderItsLock) {
    const int before = keyvals_made;
    const TemporaryFolder folder;
    hdf5::File file = hdf5::File::create(folder.file("first.h5"));
    file.close();
    EXPECT_EQ(keyvals_made, before);
}

std::vector<std::byte> bytes_of(int rank, std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i)
        bytes[i] = static_cast<std::byte>((static_cast<std::size_t>(rank) * 31 + i) % 251);
    return bytes;
}

TEST(Communicator, ReducesIntegersExactly) {
    const std::int64_t rank = world->rank(), size = world->size();
    std::vector<std::int64_t> sum{(std::int64_t{1} << 60) / size * (rank % 2 == 0 ? 1 : -1), rank},
        least{rank, -rank}, greatest = least;
    std::int64_t expected = 0;
    for (std::int64_t r = 0; r < size; ++r)
        expected += (std::int64_t{1} << 60) / size * (r % 2 == 0 ? 1 : -1);
    world->sum(sum);
    world->min(least);
    world->max(greatest);
    EXPECT_EQ(sum, (std::vector<std::int64_t>{expected, size * (size - 1) / 2}));
    EXPECT_EQ(least, (std::vector<std::int64_t>{0, -(size - 1)}));
    EXPECT_EQ(greatest, (std::vector<std::int64_t>{size - 1, 0}));
    EXPECT_TRUE(world->any(rank == size - 1));
    EXPECT_FALSE(world->any(false));
}

TEST(Communicator, MovesBytes) {
    const int rank = world->rank(), size = world->size();
    std::vector<std::byte> message = rank == size - 1 ? bytes_of(rank, 1000) : std::vector<std::byte>();
    world->broadcast(message, size - 1);
    EXPECT_EQ(message, bytes_of(size - 1, 1000));

    const auto gathered = world->all_gather(bytes_of(rank, static_cast<std::size_t>(rank) * 7));
    for (int r = 0; r < size; ++r) EXPECT_EQ(gathered[r], bytes_of(r, static_cast<std::size_t>(r) * 7));

    std::vector<std::vector<std::byte>> outgoing;
    for (int r = 0; r < size; ++r)
        outgoing.push_back(
            bytes_of(rank * 10 + r, static_cast<std::size_t>(rank) + static_cast<std::size_t>(r)));
    const auto incoming = world->exchange(outgoing);
    for (int r = 0; r < size; ++r)
        EXPECT_EQ(incoming[r],
                  bytes_of(r * 10 + rank, static_cast<std::size_t>(rank) + static_cast<std::size_t>(r)));
}

TEST(Communicator, SplitsByColour) {
    const auto part = world->split(world->rank() % 2);
    EXPECT_EQ(part->size(), (world->size() + 1 - world->rank() % 2) / 2);
    EXPECT_EQ(part->rank(), world->rank() / 2);
}

TEST(ProcessGrid, EveryMemberLevelAndBlockHasOneRank) {
    for (const std::size_t members : {1, 2, 3, 5}) {
        const ProcessGrid grid(*world, "auto", members, 11);
        std::vector<std::int64_t> owned(members * 11 * grid.blocks());
        for (std::size_t m = grid.members().first; m < grid.members().last; ++m) {
            for (std::size_t l = grid.levels().first; l < grid.levels().last; ++l) {
                ++owned[(m * 11 + l) * grid.blocks() + grid.block()];
                EXPECT_EQ(grid.rank_in_member_group(l, grid.block()), grid.member_group().rank());
            }
        }
        world->sum(owned);
        EXPECT_TRUE(std::all_of(owned.begin(), owned.end(), [](std::int64_t owners) { return owners == 1; }));
    }
}

TEST(ProcessGrid, SharesOutWhatIsNotFinished) {
    const std::string wanted = std::to_string(world->size()) + "x1x1";
    for (const std::size_t finished : {0, 3, 5}) {
        const ProcessGrid grid(*world, wanted, 5, 2, finished);
        std::vector<std::int64_t> owned(5);
        for (std::size_t m = grid.members().first; m < grid.members().last; ++m) ++owned[m];
        world->sum(owned);
        for (std::size_t m = 0; m < owned.size(); ++m) EXPECT_EQ(owned[m], m < 5 - finished) << m;
        EXPECT_EQ(grid.member_group().size(), 1);
    }
}

TEST(ProcessGrid, RefusesAGridThatDoesNotFit) {
    for (const char* wanted : {"2x2", "0x1x1", "5x5x5", "1x1x", "axbxc", "-1x1x1", ""}) {
        EXPECT_THROW(ProcessGrid(*world, wanted, 1, 3), Error) << wanted;
    }
}

TEST(Selection, SumsTheLeastOfAllRecords) {
    constexpr std::size_t entries = 5, kept = 7, per_rank = 40;
    const KeyedHash hash{9};
    const auto value = [&](int rank, std::size_t entry, std::size_t i) {
        return static_cast<std::int64_t>(hash(entry, static_cast<std::uint64_t>(rank) * per_rank + i) % 90) -
               45;
    };
    Selection selection(entries, kept);
    std::vector<std::vector<std::int64_t>> all(entries);
    for (std::size_t entry = 0; entry < entries; ++entry) {
        for (std::size_t i = 0; i < per_rank; ++i) {
            selection.insert(entry, value(world->rank(), entry, i));
            for (int rank = 0; rank < world->size(); ++rank) all[entry].push_back(value(rank, entry, i));
        }
    }
    const std::vector<std::int64_t> sums = sum_of_least(
        selection, [](std::int64_t least) { return least * least * least; }, *world);
    for (std::size_t entry = 0; entry < entries; ++entry) {
        std::sort(all[entry].begin(), all[entry].end());
        std::int64_t expected = 0;
        for (std::size_t i = 0; i < kept; ++i) expected += all[entry][i] * all[entry][i] * all[entry][i];
        EXPECT_EQ(sums[entry], expected);
    }
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
    return holdfast::run_on_ranks(argc, argv);
}
