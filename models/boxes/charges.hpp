#pragma once

#include <memory>

#include "dist/comm/communicator.hpp"
#include "models/boxes/state.hpp"
#include "models/training/gradient_sums.hpp"
#include "models/training/optimiser.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// How what k changed records can do is charged to the boxes (models/mathematics.md, charges): one class a
/// ChargeRule.
class Charges {
  public:
    virtual ~Charges() = default;
    /// The box T^k of a level of the state: encloses the parameters of every run on every neighbour at
    /// distance <= k.
    virtual LevelState box(const LevelState& level) const = 0;
    /// How many least values of every entry the sums of a level must keep.
    virtual std::int64_t selected(std::int64_t k) const = 0;
    /// Takes step t (counted from 0), which divides by `normaliser`, of a level whose sums over this dataset
    /// and its box are given; they are widened in place where they are charged. Collective over the ranks.
    virtual void update(std::int64_t step, double normaliser, LevelState& level, LevelSums& sums,
                        const Communicator& ranks) const = 0;
    /// After step t of all levels.
    virtual void advance(std::int64_t step, double normaliser) = 0;
};

/// Takes a step of both ends of a box: an update falls with the sum, so the lower end takes the upper sum.
void step_ends(const Optimiser& optimiser, std::int64_t step, double normaliser, BoxEnd lower, BoxEnd upper,
               const LevelSums& sums);

/// The optimiser must outlive it.
std::unique_ptr<Charges> make_charges(const TrainingPlan& plan, const Optimiser& optimiser);

}  // namespace holdfast
