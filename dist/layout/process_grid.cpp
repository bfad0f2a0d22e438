#include "dist/layout/process_grid.hpp"

#include <charconv>
#include <vector>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

std::vector<std::size_t> parse(const std::string& text) {
    std::vector<std::size_t> sizes;
    const char* at = text.data();
    const char* end = text.data() + text.size();
    while (at <= end) {
        std::size_t size = 0;
        const auto [next, status] = std::from_chars(at, end, size);
        if (status != std::errc() || size == 0 || (next != end && *next != 'x')) return {};
        sizes.push_back(size);
        at = next + 1;
    }
    return sizes;
}

}  // namespace

ProcessGrid::ProcessGrid(const Communicator& world, const std::string& wanted, std::size_t members,
                         std::size_t levels, std::size_t finished)
    : members_(members - finished), levels_(levels) {
    const auto ranks = static_cast<std::size_t>(world.size());
    if (wanted == "auto") {
        for (std::size_t groups = 1; groups <= members_ && groups <= ranks; ++groups) {
            if (ranks % groups == 0) member_groups_ = groups;
        }
        blocks_ = ranks / member_groups_;
    } else {
        const std::vector<std::size_t> sizes = parse(wanted);
        if (sizes.size() != 3 || sizes[0] * sizes[1] * sizes[2] != ranks || sizes[0] > members ||
            sizes[1] > levels) {
            throw Error(ExitCode::usage,
                        "grid \"" + wanted + "\" does not fit " + std::to_string(ranks) + " ranks, " +
                            std::to_string(members) + " members and " + std::to_string(levels) + " levels",
                        "write MEMBERSxLEVELSxBLOCKS with that product, or auto", "run.grid");
        }
        member_groups_ = sizes[0];
        level_groups_ = sizes[1];
        blocks_ = sizes[2];
    }
    const auto rank = static_cast<std::size_t>(world.rank());
    block_ = rank % blocks_;
    level_group_ = rank / blocks_ % level_groups_;
    member_group_ = rank / blocks_ / level_groups_;
    block_group_ = world.split(static_cast<int>(rank / blocks_));
    member_group_ranks_ = world.split(static_cast<int>(member_group_));
}

std::string ProcessGrid::text() const {
    return std::to_string(member_groups_) + "x" + std::to_string(level_groups_) + "x" +
           std::to_string(blocks_);
}

std::size_t ProcessGrid::group_of(std::size_t index, std::size_t groups, std::size_t count) {
    std::size_t group = 0;
    while (!slice(group, groups, count).contains(index)) ++group;
    return group;
}

int ProcessGrid::rank_in_level_group(std::size_t member, std::size_t level_group, std::size_t block) const {
    return static_cast<int>(
        (group_of(member, member_groups_, members_) * level_groups_ + level_group) * blocks_ + block);
}

int ProcessGrid::rank_in_member_group(std::size_t level, std::size_t block) const {
    return static_cast<int>(group_of(level, level_groups_, levels_) * blocks_ + block);
}

int ProcessGrid::rank_of(std::size_t member, std::size_t level, std::size_t block) const {
    return rank_in_level_group(member, group_of(level, level_groups_, levels_), block);
}

}  // namespace holdfast
