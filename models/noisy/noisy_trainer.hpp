#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/noisy/poisson_sample.hpp"
#include "models/noisy/robust_sums.hpp"
#include "models/privacy/noise/gaussian_noise.hpp"
#include "models/training/batches.hpp"
#include "models/training/gradient_sums.hpp"
#include "models/training/iterate_average.hpp"
#include "models/training/optimiser.hpp"
#include "models/training/step_metrics.hpp"

namespace holdfast {

/// Keys of a noisy training, of the key of its run.
struct NoisySecrets {
    SecretKey sampling, noise, augment;
    explicit NoisySecrets(const SecretKey& run);
};

/// Everything that noisy training needs to go on, after `step` steps.
struct NoisyState {
    std::int64_t step = 0;
    std::vector<std::int64_t> parameters, slots;
    std::vector<double> centre;  ///< of the inputs, where noise.centre asks for it and it is measured
    IterateAverage average;
    std::vector<StepMetrics> metrics;

    template <typename Archive>
    void serialize(Archive& archive, unsigned) {
        archive& step& parameters& slots& centre& average& metrics;
    }
    std::vector<std::byte> packed() const;
    static NoisyState unpacked(std::span<const std::byte> bytes);  ///< Error (input): damaged
};

/// Private training by noisy gradient sums over the records this rank holds: every record is drawn anew for
/// each step, its whole gradient clipped in the 2-norm, the integers added, noise put on the sum
/// (models/privacy/mathematics.md, noisy training). All ranks draw the same noise, so they hold the same
/// parameters.
class NoisyTrainer {
  public:
    /// The plan, of settings with their multiplier, and the secrets must outlive it.
    NoisyTrainer(const TrainingPlan& plan, Records records, const Records& public_records,
                 const NoisySecrets& secrets, NoisyState state);
    static NoisyState fresh_state(const TrainingPlan& plan);

    std::int64_t steps() const { return plan_.settings.training.steps(); }
    bool done() const { return state_.step >= steps(); }
    /// Collective over the ranks that hold the records. Total: whatever the records are and however many, it
    /// gives a result. Adds to `times`.
    void step(const Communicator& ranks, PhaseTimes& times);

    const NoisyState& state() const { return state_; }
    /// What may be published once it is done: the last parameters, or their average over the last steps,
    /// rounded down.
    std::vector<std::int64_t> result() const;

  private:
    /// Private sums of a step, and how many records they are of and have their label.
    NoisyStepSums sums_of_step(const Communicator& ranks, PhaseTimes& times);
    NoisyStepSums sums_by(GradientSums& sums_of, const StepRecords& records, const Communicator& ranks,
                          PhaseTimes& times) const;
    /// Of one noise copy of each record that is taken.
    NoisyStepSums sums_of_copies(std::span<const std::uint32_t> taken, const Communicator& ranks,
                                 PhaseTimes& times) const;
    std::vector<std::int64_t> noised(std::span<const std::int64_t> sums) const;
    /// The mean of the inputs, of the noised sum of what each record adds of its own.
    std::vector<double> measured_centre(std::span<const std::int64_t> total) const;
    void update(std::vector<std::int64_t> total);

    const TrainingPlan& plan_;
    const NoisySecrets& secrets_;
    std::unique_ptr<const Records> records_;  // where sample and sums find them, wherever the trainer is
    std::unique_ptr<Optimiser> optimiser_;
    std::optional<GaussianNoise> noise_;  ///< unset: none
    PoissonSample sample_;
    Batches public_batches_;
    GradientSums sums_;
    std::optional<RobustSums> robust_sums_;  ///< in their place, of what is clipped as one vector
    NoisyState state_;
};

/// sigma of a step's noise in units of the gradient grid, rounded up. Settings with their multiplier.
double noise_in_units(const TrainingPlan& plan);

}  // namespace holdfast
