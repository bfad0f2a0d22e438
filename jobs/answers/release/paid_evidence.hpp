#pragma once

#include <span>
#include <vector>

#include "jobs/program/runs/finished_run.hpp"
#include "models/privacy/evidence.hpp"

namespace holdfast {

/// What a law may look at, of the queries that rank 0 has paid for: all ranks work, every level is asked for
/// every query. steps: of a regression's predictions (PredictionSteps).
class PaidEvidence {
  public:
    PaidEvidence(const Context& context, const FinishedRun& run, const Questions& questions,
                 std::size_t steps)
        : context_(context), run_(run), questions_(questions), steps_(steps) {}

    std::vector<Evidence> of(std::span<const std::size_t> paid) const;  ///< on rank 0
    void help() const;  ///< on the other ranks, until rank 0 has done
    void done() const;  ///< on rank 0

  private:
    std::vector<Certificates> certificates(std::span<const std::size_t> paid) const;
    const Context& context_;
    const FinishedRun& run_;
    const Questions& questions_;
    std::size_t steps_;
};

}  // namespace holdfast
