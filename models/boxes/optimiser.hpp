#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/boxes/settings.hpp"
#include "models/boxes/update_rule.hpp"

namespace holdfast {

/// What multiplies integers in an update (models/boxes/update_rule.hpp, with the lemmas it rests on).
using Factor = BasicFactor<64>;
/// To 62 bits of significand, which a double has, and units of 2^-125, rounded down: below those nothing is
/// left of any integer. Error (usage): 2^62 or more.
Factor factor_of(double value);

/// How far the response to one record's gradient reaches: R_t(1) of the core + radius budget (section 2), in
/// integers.
class ImpulseResponse {
  public:
    virtual ~ImpulseResponse() = default;
    /// Takes step t (counted from 0), in which the record may act; `first_of_epoch`: it may act again from
    /// here.
    virtual void advance(std::int64_t step, double normaliser, bool first_of_epoch) = 0;
    /// Bound on |what one record's gradients moved a parameter by| after the steps taken, in parameter units.
    virtual std::int64_t radius() const = 0;
};

/// Integer updates theta <- theta(theta, gradient sums), linear up to one rounding:
///   non-decreasing in theta, non-increasing in the sums (so boxes are updated by swapping bounds), and
///   a change of the sum by at most Gamma moves the result by at most what impulse_response says.
class Optimiser {
  public:
    virtual ~Optimiser() = default;
    /// In place, [parameters]; sums in gradient grid units; the step divides by `normaliser`.
    virtual void update(std::int64_t step, double normaliser, std::span<std::int64_t> parameters,
                        std::span<const std::int64_t> sums) const = 0;
    /// Of a gradient entry of at most `gamma_units`.
    virtual std::unique_ptr<ImpulseResponse> impulse_response(std::int64_t gamma_units) const = 0;
};

/// theta <- (1 - alpha_t l2) theta - (alpha_t / B) sum, clamped to the public parameter limit.
/// Error (usage): alpha_t l2 > 1 for some step, where the update is not monotone (mathematics section 2).
/// The unit of the sums is 2^gradient_exponent.
std::unique_ptr<Optimiser> make_sgd(const Settings& settings, int gradient_exponent);

}  // namespace holdfast
