// Ranks hold shares of a fleet and count together: the same vote on any number of ranks.

#include "models/fleet/vote.hpp"

#include "tests/support/fleets.hpp"
#include "tests/support/mpi_world.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

TEST(VoteOfRanks, IsThatOfOne) {
    const TemporaryFolder folder;  // each rank its own
    Settings settings;
    settings.network.hidden = {6};
    settings.network.classes = 3;
    const FeatureRange range{-2, 2};
    const Network network = settings.network.make(settings.feature_map(4, range));
    for (const std::size_t others : {0, 2, 50}) {
        const std::string path = folder.file("run-" + std::to_string(others));
        test::write_fleet(path, settings, 4, range, test::networks_near(network, others + 1, 0.3, 1),
                          test::some_ids(others));
        const FinishedFleet fleet = FinishedFleet::open(path);
        const Records queries = test::any_queries(40, 4, 2);
        const auto alone = make_serial_communicator();
        const FleetOutputs whole(fleet.networks, *alone), share(fleet.networks, *world),
            streamed(fleet.networks, *world, 0);
        const std::vector<Vote> expected = vote_of(whole, *alone, queries);
        for (const FleetOutputs* of : {&share, &streamed}) {
            const std::vector<Vote> votes = vote_of(*of, *world, queries);
            for (std::size_t q = 0; q < 40; ++q) {
                EXPECT_EQ(votes[q].label, expected[q].label);
                EXPECT_EQ(votes[q].against, expected[q].against);
            }
        }
        std::vector<std::int64_t> held{share.count()};
        world->sum(held);
        EXPECT_EQ(held.front(), static_cast<std::int64_t>(others));
    }
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
    return holdfast::run_on_ranks(argc, argv);
}
