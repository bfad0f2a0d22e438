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

GridShape GridShape::of(std::size_t ranks, const std::string& wanted, std::size_t members, std::size_t levels,
                        std::size_t finished) {
    if (wanted == "auto") {
        GridShape shape;
        for (std::size_t groups = 1; groups <= members - finished && groups <= ranks; ++groups) {
            if (ranks % groups == 0) shape.members = groups;
        }
        shape.blocks = ranks / shape.members;
        return shape;
    }
    const std::vector<std::size_t> sizes = parse(wanted);
    if (sizes.size() != 3 || sizes[0] * sizes[1] * sizes[2] != ranks || sizes[0] > members ||
        sizes[1] > levels) {
        throw Error(ExitCode::usage,
                    "grid \"" + wanted + "\" does not fit " + std::to_string(ranks) + " ranks, " +
                        std::to_string(members) + " members and " + std::to_string(levels) + " levels",
                    "write MEMBERSxLEVELSxBLOCKS with that product, or auto", "run.grid");
    }
    return {sizes[0], sizes[1], sizes[2]};
}

std::string GridShape::text() const {
    return std::to_string(members) + "x" + std::to_string(levels) + "x" + std::to_string(blocks);
}

ProcessGrid::ProcessGrid(const Communicator& world, const std::string& wanted, std::size_t members,
                         std::size_t levels, std::size_t finished)
    : members_(members - finished),
      levels_(levels),
      shape_(GridShape::of(static_cast<std::size_t>(world.size()), wanted, members, levels, finished)) {
    const auto rank = static_cast<std::size_t>(world.rank());
    block_ = rank % shape_.blocks;
    level_group_ = rank / shape_.blocks % shape_.levels;
    member_group_ = rank / shape_.blocks / shape_.levels;
    block_group_ = world.split(static_cast<int>(rank / shape_.blocks));
    member_group_ranks_ = world.split(static_cast<int>(member_group_));
}

std::size_t ProcessGrid::group_of(std::size_t index, std::size_t groups, std::size_t count) {
    std::size_t group = 0;
    while (!slice(group, groups, count).contains(index)) ++group;
    return group;
}

int ProcessGrid::rank_in_level_group(std::size_t member, std::size_t level_group, std::size_t block) const {
    return static_cast<int>(
        (group_of(member, shape_.members, members_) * shape_.levels + level_group) * shape_.blocks + block);
}

int ProcessGrid::rank_in_member_group(std::size_t level, std::size_t block) const {
    return static_cast<int>(group_of(level, shape_.levels, levels_) * shape_.blocks + block);
}

}  // namespace holdfast
