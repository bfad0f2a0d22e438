#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "dist/runs/checkpoint.hpp"
#include "dist/runs/run_folder.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// States of a training that stay when it is finished, so that holdfast verify can take single steps again:
///   states/12/340/   of member 12 after 340 steps, as a checkpoint
class KeptStates {
  public:
    /// `count`: of every member, how many steps are kept; 0: none. fingerprint: as MemberStore's.
    KeptStates(const RunFolder& run, std::string fingerprint, const Settings& settings, std::int64_t count)
        : folder_(run.file("states")),
          fingerprint_(std::move(fingerprint)),
          settings_(settings),
          count_(count) {}

    /// The states that are kept of a member: before each kept step and, but for the training's last, after
    /// it. Of so many equal parts of the training one step each, by the public seed, and of the last part
    /// the last.
    std::set<std::int64_t> wanted(std::size_t member) const;
    CheckpointFolder of(std::size_t member, std::int64_t step) const;

    struct Step {
        std::size_t member;
        std::int64_t step;
    };
    /// The steps that can be taken again from what is there, in order of member and step: those with a state
    /// before and, but for the last, after.
    std::vector<Step> found() const;

  private:
    std::string folder_, fingerprint_;
    Settings settings_;
    std::int64_t count_;
};

/// Error (usage): a training whose states are not for keeping, or cannot be gone on from.
void require_keepable(const Settings& settings, bool secret);

}  // namespace holdfast
