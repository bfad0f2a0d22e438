#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dist/layout/distribute.hpp"
#include "dist/layout/process_grid.hpp"
#include "dist/runs/member_store.hpp"
#include "jobs/program/context.hpp"
#include "jobs/program/runs/kept_states.hpp"
#include "jobs/program/runs/run_settings.hpp"
#include "models/kinds/trainer.hpp"

namespace holdfast {

/// Trains the members of this rank's group one after the other. Members share nothing: no other group is
/// waited for, and what is agreed on in a step, the group's ranks agree on.
class GroupTraining {
  public:
    struct Manner {
        bool secret;  ///< when it does what is not shown
        bool trace;
    };
    /// block_group: of the grid, as its sums travel; all_members: of the run. What is referred to must
    /// outlive this.
    GroupTraining(const Context& context, const RunSettings& how, const ProcessGrid& grid,
                  const Communicator& block_group, const Training& training, const MemberStore& store,
                  const KeptStates& kept, std::size_t all_members, Manner manner);

    /// joins: goes on from checkpoints and kept states, where there are any. False: stopped by a signal,
    /// after a checkpoint.
    bool run(std::vector<MemberRecords> members, std::int64_t steps, bool joins);

  private:
    struct Agreement {
        bool stop, checkpoint;
    };
    Agreement agreed(double seconds) const;
    void share(std::vector<CheckpointFolder::Payload>& saved);
    std::unique_ptr<Trainer> start(std::size_t member, Records records, const CheckpointFolder& checkpoints,
                                   bool joins);
    void settle();
    void save(const Trainer& trainer, const CheckpointFolder& checkpoints, double seconds);
    std::vector<std::pair<std::string, CheckpointFolder::Payload>> parts_of(const Trainer& trainer) const;

    const Context& context_;
    const RunSettings& how_;
    const Communicator& group_;
    bool writes_state_, tells_progress_;
    const Communicator& block_group_;
    const Training& training_;
    const MemberStore& store_;
    const KeptStates& kept_;
    std::size_t all_members_;
    bool secret_, trace_;
    bool from_kept_ = false;  ///< the member in training was started from a state that was kept
    double last_checkpoint_ = 0;
    std::int64_t steps_since_ = 0;
    std::vector<std::size_t> waiting_;  ///< finished, and perhaps without a file yet
};

}  // namespace holdfast
