#pragma once

#include <chrono>

namespace holdfast {

/// Wall-clock seconds of steps by phase, on one rank. No result depends on them, and no file of a run has
/// them: its bytes are the same on any ranks.
struct PhaseTimes {
    double sums = 0;  ///< this rank's records through every box; where a device adds over ranks, that too
    double reduction = 0;  ///< adding over ranks on the host, and waiting for the others
    double update = 0;     ///< boxes, charges, the optimiser and what is said of the step

    PhaseTimes& operator+=(const PhaseTimes& more) {
        sums += more.sums;
        reduction += more.reduction;
        update += more.update;
        return *this;
    }
};

class Stopwatch {
  public:
    /// Seconds since the last lap, or since it was made.
    double lap() {
        const Clock::time_point before = since_;
        since_ = Clock::now();
        return std::chrono::duration<double>(since_ - before).count();
    }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point since_ = Clock::now();
};

}  // namespace holdfast
