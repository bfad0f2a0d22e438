#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "dist/data/dataset.hpp"
#include "dist/runs/member_store.hpp"
#include "models/training/phase_times.hpp"

namespace holdfast {

/// Training of one member, whatever the kind: what this rank does of it.
class Trainer {
  public:
    virtual ~Trainer() = default;

    virtual std::int64_t steps() const = 0;  ///< of the whole training
    virtual std::int64_t steps_done() const = 0;
    bool done() const { return steps_done() >= steps(); }
    /// Collective over the member's block group. Adds to `times`.
    virtual void step(const Communicator& block_group, PhaseTimes& times) = 0;
    /// What the last step says of itself, for its owner: one line of figures, on this rank's levels.
    virtual std::string step_text() const = 0;
    /// The same as a line of metrics.jsonl, which may lack what other ranks' levels say.
    virtual nlohmann::json step_json(std::size_t member) const = 0;

    /// What Training::start needs to go on, of this rank's part.
    virtual std::vector<std::byte> packed_state() const = 0;
    /// Of a member that is done: its file of the store, written by the first rank of its group. Collective
    /// over the group. Error (output).
    virtual void write_result(const MemberStore& store) const = 0;
};

/// A kind of training, set up for one run.
class Training {
  public:
    virtual ~Training() = default;

    /// From the beginning; or, with `saved`, from what packed_state() gave on every rank that held a part, on
    /// whatever grid. Error (input): parts are missing.
    virtual std::unique_ptr<Trainer> start(std::size_t member, Records records,
                                           const std::vector<CheckpointFolder::Payload>& saved) const = 0;

    /// Once every member has its file: joins them to the result of the run and metrics.jsonl, and returns its
    /// digest. For one rank. Errors: as MemberReader's; (output).
    virtual std::string join(const RunFolder& run, const MemberStore& store) const = 0;

    /// The grids on which the guarantee holds bit by bit, all of them public (kernels/base/arithmetic.hpp).
    virtual nlohmann::json arithmetic() const = 0;
    virtual std::string arithmetic_text() const = 0;  ///< the same as a sentence
};

}  // namespace holdfast
