#include "models/fleet/vote.hpp"

#include <atomic>

#include "kernels/base/error.hpp"

namespace holdfast {

std::vector<Vote> vote_of(const FleetOutputs& fleet, const Communicator& world, const Records& queries) {
    const Decision& decision = fleet.decision();
    const std::vector<double> nominal = fleet.nominal(queries);
    std::vector<Vote> votes(queries.size());
    for (std::size_t q = 0; q < queries.size(); ++q)
        votes[q].label = decision.label([&](std::size_t o) { return nominal[q * decision.rows() + o]; });
    std::vector<std::int64_t> against(queries.size(), 0);
    fleet.visit(queries, [&](const ModelsBlock& block) {
        for (std::size_t r = 0; r < block.records; ++r) {
            const std::size_t q = block.first_record + r;
            std::int64_t others = 0;
            for (std::size_t i = 0; i < block.count; ++i) {
                const auto row = [&](std::size_t o) { return block.at(r, o, i); };
                others += decision.label(row) != votes[q].label ? 1 : 0;
            }
            std::atomic_ref(against[q]).fetch_add(others, std::memory_order_relaxed);
        }
    });
    world.sum(against);
    for (std::size_t q = 0; q < queries.size(); ++q) votes[q].against = against[q];
    return votes;
}

}  // namespace holdfast
