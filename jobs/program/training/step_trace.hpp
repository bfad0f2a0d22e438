#pragma once

#include <cstdint>
#include <string>

#include "jobs/program/context.hpp"
#include "models/kinds/trainer.hpp"

namespace holdfast {

/// `train --trace`: what steps say of themselves and the time of their phases, on the log. At most about
/// most_lines of them, evenly spread: a line's times are those of all steps since the line before.
class StepTrace {
  public:
    static constexpr std::int64_t most_lines = 200;

    /// steps: of all members this rank trains. Not shown: says nothing.
    StepTrace(const Context& context, bool shown, std::int64_t steps)
        : context_(context), shown_(shown), every_((steps + most_lines - 1) / most_lines) {}

    /// After each step of a member.
    void add(std::size_t member, const Trainer& trainer, const PhaseTimes& times);
    /// What the steps took together.
    void finish() const;

  private:
    const Context& context_;
    bool shown_;
    std::int64_t every_, steps_ = 0;
    PhaseTimes since_line_, all_;
};

}  // namespace holdfast
