#pragma once

#include <memory>
#include <string>

#include "dist/comm/communicator.hpp"

namespace holdfast {

/// How many groups share the members, the levels and a member's records out; their product is the ranks.
struct GridShape {
    std::size_t members = 1, levels = 1, blocks = 1;

    /// `wanted`: "auto", or "MxLxB" whose product is the number of ranks. Auto gives members first, then
    /// blocks. `finished`: of the members, how many are not shared out for having been trained before. Error
    /// (usage): a grid that does not fit the ranks, the members or the levels.
    static GridShape of(std::size_t ranks, const std::string& wanted, std::size_t members, std::size_t levels,
                        std::size_t finished = 0);
    std::string text() const;  ///< "2x1x3"
};

/// Ranks as a grid members x levels x blocks. Members and levels need no communication between them; the
/// ranks of one block group share a member's records and add their gradient sums once a step.
class ProcessGrid {
  public:
    /// Of the shape GridShape::of has for all ranks; the members that are shared out have the numbers from 0
    /// on here. Errors: as there.
    ProcessGrid(const Communicator& world, const std::string& wanted, std::size_t members, std::size_t levels,
                std::size_t finished = 0);

    struct Slice {
        std::size_t first, last;  ///< [first, last)
        bool contains(std::size_t index) const { return index >= first && index < last; }
    };
    Slice members() const { return slice(member_group_, shape_.members, members_); }  ///< of this rank
    Slice levels() const { return slice(level_group_, shape_.levels, levels_); }
    bool holds_last_level() const { return levels().last == levels_; }
    std::size_t block() const { return block_; }
    std::size_t blocks() const { return shape_.blocks; }
    const Communicator& block_group() const { return *block_group_; }
    /// The ranks that train this rank's members: levels x blocks.
    const Communicator& member_group() const { return *member_group_ranks_; }
    int rank_in_member_group(std::size_t level, std::size_t block) const;
    std::string text() const { return shape_.text(); }

    std::size_t level_groups() const { return shape_.levels; }
    /// The rank that holds the levels of this group, of this member and block.
    int rank_in_level_group(std::size_t member, std::size_t level_group, std::size_t block) const;

  private:
    static Slice slice(std::size_t group, std::size_t groups, std::size_t count) {
        return {count * group / groups, count * (group + 1) / groups};
    }
    static std::size_t group_of(std::size_t index, std::size_t groups, std::size_t count);

    std::size_t members_, levels_;
    GridShape shape_;
    std::size_t member_group_ = 0, level_group_ = 0, block_ = 0;
    std::unique_ptr<Communicator> block_group_, member_group_ranks_;
};

}  // namespace holdfast
