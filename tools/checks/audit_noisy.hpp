#pragma once

#include <vector>

#include "models/privacy/accountant/gaussian_steps.hpp"
#include "tools/checks/audit.hpp"

namespace holdfast {

/// One way to look at noisy training, and a training that it finds out: both play with the same canary and
/// say the same number of what they published. `honest` is the trainer of the program.
struct NoisyAudit {
    std::string subject;
    GaussianSteps claimed;  ///< by what every claimed epsilon is computed, of either
    Play honest;
    std::string fault;  ///< of the broken one; empty: there is none
    Play broken;
    std::int64_t runs = 0;  ///< in each world: enough for what is broken to be found but for 1e-6
};

/// The classic two worlds: some records, and the same with one record more or replaced, whose clipped
/// gradient has the full norm in a direction of its own.
std::vector<NoisyAudit> noisy_audits();

/// One finding for each delta.
std::vector<Finding> audit_worlds(const std::string& subject, const GaussianSteps& claimed, const Play& play,
                                  std::int64_t runs, const std::vector<Rational>& deltas,
                                  const Rational& error, const SecretKey& key);

/// One run with many canaries: each in or out by a coin; the tenth with the greatest scores is guessed in,
/// the tenth with the least out.
struct OneRun {
    std::int64_t canaries = 0;
    double multiplier = 0;  ///< that the claim is computed for, in 4 steps
    double noise_part = 1;  ///< of it that the training has; 1: all of it
};
Finding audit_one_run(const OneRun& run, const Rational& delta, const Rational& error, const SecretKey& key);

}  // namespace holdfast
