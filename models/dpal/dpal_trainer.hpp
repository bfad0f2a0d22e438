#pragma once

#include <memory>
#include <span>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "dist/data/dataset.hpp"
#include "models/dpal/dpal_noise.hpp"
#include "models/noisy/noisy_trainer.hpp"
#include "models/training/phase_times.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// Training as it is published, step by step (models/privacy/mathematics.md, published adversarial training):
/// a batch of the records, another of adversarial ones, a step of theta_1 by the reconstruction and of
/// theta_2 by the objective of both. Batches are those of hashed ids, the adversarial one the next of the
/// epoch. Of the variants: no auto-encoder, no adversarial records. Not private.
class DpalTrainer {
  public:
    /// The plan must outlive it. Error (usage): public records beside; more than one rank.
    DpalTrainer(const TrainingPlan& plan, Records records, NoisyState state);
    static NoisyState fresh_state(const TrainingPlan& plan);

    std::int64_t steps() const { return plan_.settings.training.steps(); }
    void step(const Communicator& ranks, PhaseTimes& times);
    const NoisyState& state() const { return state_; }

    /// What a step adds up over the records of two batches.
    struct Sums {
        std::vector<std::int64_t> gradient;     ///< [parameters] of the objective, units of the clip's grid
        std::vector<double> reconstruction;     ///< [out, in + 1] of the first layer
        double weight = 0;                      ///< of all records together, as the objective counts them
        std::int64_t records = 0, correct = 0;  ///< that are not adversarial
    };
    /// With the noise of the labels, in the coefficients of every class.
    Sums sums_of(std::span<const std::uint32_t> benign, std::span<const std::uint32_t> adversarial) const;
    const DpalNoise& noise() const { return noise_; }

  private:
    struct Part;  // records of one kind, at most a panel
    std::vector<Part> parts_of(std::span<const std::uint32_t> benign,
                               std::span<const std::uint32_t> adversarial) const;
    void add(const Part& part, const PackedNetwork<double>& parameters, DpalPass& pass,
             std::vector<double>& x, Sums& sums) const;

    const TrainingPlan& plan_;
    std::unique_ptr<const Records> records_;
    std::unique_ptr<Optimiser> optimiser_;
    Batches batches_;
    DpalNoise noise_;
    NoisyState state_;
};

}  // namespace holdfast
