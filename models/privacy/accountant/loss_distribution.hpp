#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/privacy/rational.hpp"

namespace holdfast {

/// The units of distributions that are composed with each other.
struct LossGrid {
    unsigned loss_bits = 0;  ///< losses are multiples of 2^-loss_bits
    unsigned mass_bits = 0;  ///< masses are multiples of 2^-mass_bits

    Rational loss_at(std::int64_t index) const { return as_rational(index) / power_of_two(loss_bits); }
};

/// A privacy loss that is dominated by (first + i) 2^-loss_bits with mass masses[i] 2^-mass_bits, by infinity
/// with mass `infinite`: delta(eps) <= infinite + sum of mass (1 - e^(eps - loss)) over the losses above eps
/// (models/privacy/mathematics.md, dominating losses). Masses are rounded up, so that they may add up to more
/// than 1; to less than 2.
struct LossDistribution {
    std::int64_t first = 0;
    std::vector<Integer> masses;
    Integer infinite = 0;
};

/// A privacy loss on two grids, whose masses add up: small losses on a fine grid, and losses beyond `reach`
/// units of the fine grid on one of 2^apart times its unit (models/privacy/mathematics.md, two grids).
struct TwoGridLoss {
    static constexpr std::int64_t reach = std::int64_t{1} << 16;

    LossDistribution near, far;
    unsigned apart = 0;  ///< 0: `far` has no masses
};

/// The loss of two mechanisms that follow each other, each with this loss. Both tails of `far` are cut by at
/// most `mass` in units of a mass.
TwoGridLoss squared(const TwoGridLoss& loss, const LossGrid& grid, const Integer& mass);
/// The same with the unit of the fine grid doubled; `grid`: the one before. apart > 0.
TwoGridLoss coarsen_near(const TwoGridLoss& loss, const LossGrid& grid);

/// The same, dominated on a grid of half as many losses, multiples of 2^-(loss_bits - 1); loss_bits > 0. A
/// loss between two of them is split among both so that its mean of e^-loss stays: delta grows at no epsilon
/// by more than that takes (models/privacy/mathematics.md, coarser losses).
LossDistribution coarsened(const LossDistribution& loss, const LossGrid& grid);

/// The loss of `times` (>= 1) mechanisms that follow each other, each with this loss: exact products of
/// integers, masses rounded up. Both tails are cut on the way, to infinity and to the least loss kept; that
/// costs at most 2^-13 log2(times) allowance in delta.
LossDistribution composed(const LossDistribution& loss, std::int64_t times, const LossGrid& grid,
                          const Rational& allowance);

/// The least epsilon >= 0 with delta(epsilon) <= delta, rounded up; none if more than delta is at infinity.
std::optional<Rational> epsilon_of_loss(const LossDistribution& loss, const LossGrid& grid,
                                        const Rational& delta);

}  // namespace holdfast
