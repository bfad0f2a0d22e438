#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dist/runs/checkpoint.hpp"
#include "dist/runs/run_folder.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// Which states of a training stay when it is finished. All of it public: nothing of the records decides it.
struct StatesToKeep {
    std::int64_t checked = 0;  ///< of every member, steps that holdfast verify takes again: --keep-states
    std::int64_t slices = 0;   ///< parts of the first epoch, each of which holdfast unlearn can begin at
    std::string as_in;         ///< and the same as this run folder has

    bool any() const { return checked > 0 || slices > 1 || !as_in.empty(); }
};

/// States of a training that stay when it is finished, so that holdfast verify can take single steps again,
/// and holdfast unlearn begins at the first that a forgotten record has touched:
///   states/12/340/   of member 12 after 340 steps, as a checkpoint
/// Each names its member and step under its checksum: one that was moved is not taken for another.
class KeptStates {
  public:
    /// fingerprint: as MemberStore's.
    KeptStates(const RunFolder& run, std::string fingerprint, const Settings& settings,
               StatesToKeep keep = {})
        : folder_(run.file("states")),
          fingerprint_(std::move(fingerprint)),
          settings_(settings),
          keep_(std::move(keep)) {}

    /// The states that are to be kept of a member.
    std::set<std::int64_t> wanted(std::size_t member) const;
    /// Those that are there, by name alone.
    std::set<std::int64_t> steps_of(std::size_t member) const;
    CheckpointFolder of(std::size_t member, std::int64_t step) const;

    struct State {
        std::int64_t step;
        std::vector<CheckpointFolder::Payload> parts;
    };
    using PassedOver = std::function<void(const Error&)>;
    /// The last one of a member that is sound, after at most so many steps; `passed_over` hears of those that
    /// are not.
    std::optional<State> last(std::size_t member, std::int64_t most, const PassedOver& passed_over) const;
    /// Makes those that `from` has of a member, after at most so many steps, this run's too; for one process.
    /// Those that are there stay; of those that are not sound `passed_over` hears. Error (output).
    void take_over(const KeptStates& from, std::size_t member, std::int64_t most,
                   const PassedOver& passed_over) const;

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
    StatesToKeep keep_;
};

/// Error (usage), naming the option: a training whose states are not for keeping, or cannot be gone on from.
void require_keepable(const StatesToKeep& keep, const Settings& settings, bool secret);

class Command;
/// Declares --keep-states and --slices.
void add_keep_options(const Command& command, StatesToKeep& keep);

}  // namespace holdfast
