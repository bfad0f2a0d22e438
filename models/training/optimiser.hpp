#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/training/settings.hpp"
#include "models/training/update_rule.hpp"

namespace holdfast {

/// What multiplies integers in an update (models/training/update_rule.hpp, with the lemmas it rests on).
using Factor = BasicFactor<64>;
/// To 62 bits of significand, which a double has, and units of 2^-125, rounded down: below those nothing is
/// left of any integer. Error (usage): 2^62 or more.
Factor factor_of(double value);

/// How far the response to one record's gradient reaches: R_t(1) of the charge rule per_epoch
/// (models/mathematics.md, core and radius), in integers.
class ImpulseResponse {
  public:
    virtual ~ImpulseResponse() = default;
    /// Takes step t (counted from 0), in which the record may act; `first_of_epoch`: it may act again from
    /// here.
    virtual void advance(std::int64_t step, double normaliser, bool first_of_epoch) = 0;
    /// Bound on |what one record's gradients moved a parameter by| after the steps taken, in parameter units.
    virtual std::int64_t radius() const = 0;
};

/// One end of a level's box: the parameters, and what the optimiser keeps beside each, [slots, parameters].
struct BoxEnd {
    std::span<std::int64_t> parameters, slots;
};

/// Integer updates of parameters and slots by gradient sums, linear up to roundings:
///   non-decreasing in parameters and slots, non-increasing in the sums (so boxes are updated by swapping
///   bounds), and
///   a change of the sum by at most Gamma moves the result by at most what impulse_response says.
class Optimiser {
  public:
    virtual ~Optimiser() = default;
    /// [slots, parameters], beside the parameters that a training begins with.
    virtual std::vector<std::int64_t> initial_slots(std::span<const std::int64_t> parameters) const = 0;
    /// What precedes the update of a box whose ends cannot be moved one by one: the published step of an l1
    /// penalty. Of a point give it twice.
    virtual void before(std::int64_t step, BoxEnd lower, BoxEnd upper) const = 0;
    /// In place; sums in gradient grid units [parameters]; the step divides by `normaliser`.
    virtual void update(std::int64_t step, double normaliser, BoxEnd end,
                        std::span<const std::int64_t> sums) const = 0;
    /// Of a gradient entry of at most `gamma_units`.
    virtual std::unique_ptr<ImpulseResponse> impulse_response(std::int64_t gamma_units) const = 0;
};

/// The response of an optimiser that advances Responses of update_rule.hpp by its own factors:
/// respond(responses, step, normaliser, gamma_units, first_of_epoch).
template <typename Rule, typename Responses>
class ResponseOf final : public ImpulseResponse {
  public:
    ResponseOf(const Rule& rule, std::int64_t gamma_units) : rule_(rule), gamma_units_(gamma_units) {}

    void advance(std::int64_t step, double normaliser, bool first_of_epoch) override {
        rule_.respond(responses_, step, normaliser, gamma_units_, first_of_epoch);
    }
    std::int64_t radius() const override { return responses_.radius(); }

  private:
    Rule rule_;
    std::int64_t gamma_units_;
    Responses responses_;
};

/// The optimiser of the settings, for sums in units of 2^gradient_exponent.
/// Error (usage): settings whose update is not monotone (models/mathematics.md, update rule).
std::unique_ptr<Optimiser> make_optimiser(const TrainingSettings& settings, int gradient_exponent);

// Those there are, a file each; make_optimiser() picks among them.

/// theta <- (1 - alpha_t l2) theta - (alpha_t / B) sum, clamped to the public parameter limit.
/// Error (usage): alpha_t l2 > 1 for some step.
std::unique_ptr<Optimiser> make_sgd(const TrainingSettings& settings, int gradient_exponent);
/// w <- momentum w - sum / B; theta <- theta + alpha_t w (models/mathematics.md, momentum).
std::unique_ptr<Optimiser> make_momentum(const TrainingSettings& settings, int gradient_exponent);
/// Momentum with weight decay, dampening or Nesterov's step, as an average of what descends without
/// (models/mathematics.md, averaged momentum).
/// Error (usage): within the steps of this training a parameter that no gradient moves swings past 0.
std::unique_ptr<Optimiser> make_averaged_momentum(const TrainingSettings& settings, int gradient_exponent);

}  // namespace holdfast
