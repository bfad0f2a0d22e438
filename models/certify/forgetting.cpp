#include "models/certify/forgetting.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "models/privacy/votes.hpp"

namespace holdfast {
namespace {

/// [classes]: what the member may answer without so many of its records.
std::vector<bool> open_labels(const MemberAnswer& member, std::int64_t forgotten,
                              const std::vector<std::int64_t>& levels, int classes) {
    std::vector<bool> open(static_cast<std::size_t>(classes), false);
    open[static_cast<std::size_t>(member.label)] = true;
    if (levels[static_cast<std::size_t>(member.distance)] >= forgotten) return open;
    for (std::size_t j = 0; j < open.size(); ++j) {
        const std::int64_t beaten = member.class_distances.empty() ? 0 : member.class_distances[j];
        if (beaten == 0 || levels[static_cast<std::size_t>(beaten) - 1] < forgotten) open[j] = true;
    }
    return open;
}

}  // namespace

bool winner_stays(const std::vector<MemberAnswer>& members, const std::vector<std::int64_t>& forgotten,
                  const std::vector<std::int64_t>& levels, int classes) {
    ensure(forgotten.size() == members.size() && !levels.empty(), "one count a member, and level 0");
    const auto cap = static_cast<std::int64_t>(levels.size()) - 1;
    const int winner = aggregate(members, classes, cap).label;
    std::vector<std::int64_t> least_lead(static_cast<std::size_t>(classes), 0);
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::vector<bool> open = open_labels(members[i], forgotten[i], levels, classes);
        for (std::size_t rival = 0; rival < open.size(); ++rival) {
            std::int64_t least = 1;
            for (std::size_t label = 0; label < open.size(); ++label) {
                const std::int64_t lead =
                    (label == static_cast<std::size_t>(winner) ? 1 : 0) - (label == rival ? 1 : 0);
                if (open[label]) least = std::min(least, lead);
            }
            least_lead[rival] += least;
        }
    }
    for (int rival = 0; rival < classes; ++rival) {
        const std::int64_t needed = wins_tie(winner, rival, classes) ? 0 : 1;
        if (rival != winner && least_lead[static_cast<std::size_t>(rival)] < needed) return false;
    }
    return true;
}

}  // namespace holdfast
