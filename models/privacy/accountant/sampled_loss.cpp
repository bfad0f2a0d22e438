#include "models/privacy/accountant/sampled_loss.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "models/privacy/big_float.hpp"

namespace holdfast {
namespace {

mpfr_rnd_t opposite(mpfr_rnd_t rounding) {
    return rounding == MPFR_RNDU ? MPFR_RNDD : MPFR_RNDU;
}

struct Bounds {
    BigFloat lower, upper;
    Bounds() = default;
    explicit Bounds(const Rational& value) : lower(value, MPFR_RNDD), upper(value, MPFR_RNDU) {}
    /// The bound that makes a result which grows with this number round that way.
    mpfr_srcptr get(mpfr_rnd_t rounding) const { return rounding == MPFR_RNDU ? upper.get() : lower.get(); }
    mpfr_ptr get(mpfr_rnd_t rounding) { return rounding == MPFR_RNDU ? upper.get() : lower.get(); }
    void swap(Bounds& other) {
        mpfr_swap(lower.get(), other.lower.get());
        mpfr_swap(upper.get(), other.upper.get());
    }
};

constexpr mpfr_rnd_t both_ways[] = {MPFR_RNDD, MPFR_RNDU};

/// P = (1-q) N(0, sigma^2) + q N(1, sigma^2) against Q = N(0, sigma^2) for a removal, against
/// Q = (1-q) N(0, sigma^2) + q N(-1, sigma^2) for a substitution. Their likelihood ratio rises with x.
class SampledPair {
  public:
    SampledPair(const Rational& rate, const Rational& sigma, Relation relation)
        : substitute_(relation == Relation::substitute),
          rate_(rate),
          stay_(Rational(1 - rate)),
          variance_(Rational(sigma * sigma)),
          half_shift_(Rational(1 / (2 * sigma * sigma))) {
        for (const mpfr_rnd_t rounding : both_ways) {
            mpfr_sqrt_ui(scale_.get(rounding), 2, rounding);
            mpfr_mul(scale_.get(rounding), scale_.get(rounding), BigFloat(sigma, rounding).get(), rounding);
            // e^(1/(2 sigma^2)) (1 - q)/(2 q)
            mpfr_ptr mixed = mixed_.get(rounding);
            mpfr_exp(mixed, half_shift_.get(rounding), rounding);
            mpfr_mul(mixed, mixed, stay_.get(rounding), rounding);
            mpfr_div(mixed, mixed, rate_.get(opposite(rounding)), rounding);
            mpfr_div_2ui(mixed, mixed, 1, rounding);
        }
    }

    /// The greatest P(E) - growth Q(E) of any event E: the tails beyond the threshold.
    void profile(Bounds& result, const Bounds& growth) const {
        if (substitute_ && mpfr_cmp_ui(growth.lower.get(), 1) < 0) return swapped_profile(result, growth);
        Bounds threshold, centred, other;
        set_threshold(threshold, growth);
        set_normal_tail(centred, threshold, 0);
        set_tail(result, threshold, 1, centred);
        if (substitute_)
            set_tail(other, threshold, -1, centred);
        else
            other.swap(centred);
        for (const mpfr_rnd_t rounding : both_ways) {
            const mpfr_rnd_t away = opposite(rounding);
            mpfr_mul(other.get(away), other.get(away), growth.get(away), away);
            mpfr_sub(result.get(rounding), result.get(rounding), other.get(away), rounding);
        }
        mpfr_max(result.lower.get(), result.lower.get(), BigFloat().get(), MPFR_RNDD);
    }

  private:
    /// A substitution seen from the other side is one too: H(growth) = 1 - growth (1 - H(1/growth)).
    void swapped_profile(Bounds& result, const Bounds& growth) const {
        Bounds inverse;
        for (const mpfr_rnd_t rounding : both_ways)
            mpfr_ui_div(inverse.get(rounding), 1, growth.get(opposite(rounding)), rounding);
        profile(result, inverse);
        for (const mpfr_rnd_t rounding : both_ways) {
            const mpfr_rnd_t away = opposite(rounding);
            mpfr_ptr value = result.get(rounding);
            mpfr_ui_sub(value, 1, value, away);
            mpfr_mul(value, value, growth.get(away), away);
            mpfr_ui_sub(value, 1, value, rounding);
        }
    }

    /// Where P's density is growth times Q's.
    void set_threshold(Bounds& threshold, const Bounds& growth) const {
        BigFloat spare;
        for (const mpfr_rnd_t rounding : both_ways) {
            mpfr_ptr value = threshold.get(rounding);
            if (substitute_) {
                // e^(x/sigma^2) = r + sqrt(r^2 + growth), r = (growth - 1) e^(1/(2 sigma^2)) (1-q)/(2q)
                mpfr_sub_ui(value, growth.get(rounding), 1, rounding);
                mpfr_mul(value, value, mixed_.get(rounding), rounding);
                mpfr_sqr(spare.get(), value, rounding);
                mpfr_add(spare.get(), spare.get(), growth.get(rounding), rounding);
                mpfr_sqrt(spare.get(), spare.get(), rounding);
                mpfr_add(value, value, spare.get(), rounding);
                mpfr_log(value, value, rounding);
                mpfr_mul(value, value, variance_.get(rounding), rounding);
            } else {
                // e^(x/sigma^2) = e^(1/(2 sigma^2)) (growth - (1-q))/q; up to 1-q the ratio is above growth.
                mpfr_sub(value, growth.get(rounding), stay_.get(opposite(rounding)), rounding);
                if (mpfr_sgn(value) <= 0) {
                    mpfr_set_inf(value, -1);
                    continue;
                }
                mpfr_div(value, value, rate_.get(opposite(rounding)), rounding);
                mpfr_log(value, value, rounding);
                mpfr_mul(value, value, variance_.get(rounding), rounding);
                mpfr_add_d(value, value, 0.5, rounding);
            }
        }
    }

    /// The mass above x of (1-q) N(0, sigma^2) + q N(shift, sigma^2); centred: of the former alone.
    void set_tail(Bounds& result, const Bounds& x, long shift, const Bounds& centred) const {
        Bounds shifted;
        set_normal_tail(shifted, x, shift);
        for (const mpfr_rnd_t rounding : both_ways) {
            mpfr_ptr value = result.get(rounding), other = shifted.get(rounding);
            mpfr_mul(value, centred.get(rounding), stay_.get(rounding), rounding);
            mpfr_mul(other, other, rate_.get(rounding), rounding);
            mpfr_add(value, value, other, rounding);
        }
    }

    /// The mass of N(shift, sigma^2) above x, erfc((x - shift)/(sigma sqrt 2))/2: at the lower end rounded
    /// up, and from below less what was rounded and twice the width, since erfc falls by less than 2 a unit.
    /// erfc takes nearly all of the time.
    void set_normal_tail(Bounds& result, const Bounds& x, long shift) const {
        Bounds argument;
        for (const mpfr_rnd_t rounding : both_ways) {
            mpfr_ptr value = argument.get(rounding);
            mpfr_sub_si(value, x.get(rounding), shift, rounding);
            mpfr_div(value, value, scale_.get(mpfr_sgn(value) > 0 ? opposite(rounding) : rounding), rounding);
        }
        mpfr_erfc(result.upper.get(), argument.lower.get(), MPFR_RNDU);
        if (mpfr_inf_p(argument.lower.get()) != 0) {
            mpfr_erfc(result.lower.get(), argument.upper.get(), MPFR_RNDD);
        } else {
            BigFloat fall;
            mpfr_sub(fall.get(), argument.upper.get(), argument.lower.get(), MPFR_RNDU);
            mpfr_mul_2ui(fall.get(), fall.get(), 1, MPFR_RNDU);
            mpfr_set(result.lower.get(), result.upper.get(), MPFR_RNDD);
            mpfr_nextbelow(result.lower.get());
            mpfr_sub(result.lower.get(), result.lower.get(), fall.get(), MPFR_RNDD);
            mpfr_max(result.lower.get(), result.lower.get(), BigFloat().get(), MPFR_RNDD);
        }
        for (const mpfr_rnd_t rounding : both_ways)
            mpfr_div_2ui(result.get(rounding), result.get(rounding), 1, rounding);
    }

    bool substitute_;
    Bounds rate_, stay_, variance_, half_shift_, scale_, mixed_;
};

/// One point of the profile: height is the greatest P(E) - growth Q(E), growth = e^loss.
struct Point {
    std::int64_t index;  ///< of the loss, in units of the grid
    Bounds growth, height;
};

void set(Point& point, std::int64_t index, const SampledPair& pair, const LossGrid& grid) {
    point.index = index;
    for (const mpfr_rnd_t rounding : both_ways) {
        mpfr_ptr growth = point.growth.get(rounding);
        mpfr_set_q(growth, grid.loss_at(index).get_mpq_t(), rounding);
        mpfr_exp(growth, growth, rounding);
    }
    pair.profile(point.height, point.growth);
}

/// Upwards from 0 until the profile is at most `cut`, downwards as far, which cuts no more (of an addition a
/// loss is never more likely to be large than of a removal), but not beyond the least loss, where there is
/// one: with much noise that lies far beyond all losses that have a mass. Neighbours are the further apart
/// the further from 0, by a 64th: what this costs grows with mass times loss squared, of which little is
/// there.
std::deque<Point> points_of(const SampledPair& pair, const LossGrid& grid, const Rational& cut,
                            unsigned apart, std::optional<std::int64_t> least) {
    // Beyond the fine grid of two they are multiples of the coarse one's unit.
    const auto spacing = [&](std::int64_t index) {
        const std::int64_t next = index + std::max<std::int64_t>(1, index / 64);
        return (next <= TwoGridLoss::reach ? next : (((next - 1) >> apart) + 1) << apart) - index;
    };
    const BigFloat enough(cut, MPFR_RNDD);
    std::deque<Point> points;
    set(points.emplace_back(), 0, pair, grid);
    while (mpfr_greater_p(points.back().height.upper.get(), enough.get()) != 0) {
        const std::int64_t last = points.back().index;
        set(points.emplace_back(), last + spacing(last), pair, grid);
    }
    const std::int64_t end = std::max(least.value_or(INT64_MIN), -points.back().index);
    while (points.front().index > end) {
        const std::int64_t first = points.front().index;
        set(points.emplace_front(), std::max(end, first - spacing(-first)), pair, grid);
    }
    return points;
}

/// How steeply the chord from a to b falls, b the next point.
void set_slope(Bounds& slope, const Bounds& growth_a, const Bounds& height_a, const Point& b) {
    BigFloat width;
    for (const mpfr_rnd_t rounding : both_ways) {
        const mpfr_rnd_t away = opposite(rounding);
        mpfr_sub(slope.get(rounding), height_a.get(rounding), b.height.get(away), rounding);
        mpfr_sub(width.get(), b.growth.get(away), growth_a.get(rounding), away);
        mpfr_div(slope.get(rounding), slope.get(rounding), width.get(), rounding);
    }
    mpfr_max(slope.lower.get(), slope.lower.get(), BigFloat().get(), MPFR_RNDD);
}

Integer mass_units(const BigFloat& mass, const LossGrid& grid) {
    BigFloat scaled;
    Integer result;
    mpfr_mul_2ui(scaled.get(), mass.get(), grid.mass_bits, MPFR_RNDU);
    mpfr_get_z(result.get_mpz_t(), scaled.get(), MPFR_RNDU);
    return result;
}

/// The pair whose profile is the chords through the points, from (0, 1) on: at each point's growth Q has the
/// mass by which the chords get less steep, P growth times that. `own` is the loss of P against Q, `swapped`
/// that of Q against P.
struct PairLosses {
    TwoGridLoss own, swapped;
};

/// Without masses, for the losses from `first` to `last`.
TwoGridLoss empty_loss(std::int64_t first, std::int64_t last, unsigned apart) {
    const auto between = [](std::int64_t low, std::int64_t high) {
        return LossDistribution{low, std::vector<Integer>(static_cast<std::size_t>(high - low) + 1), 0};
    };
    if (apart == 0) return {between(first, last), {}, 0};
    const std::int64_t reach = TwoGridLoss::reach;
    return {between(std::max(first, -reach), std::min(last, reach)),
            between(first >> apart, ((last - 1) >> apart) + 1), apart};
}

Integer& mass_at(TwoGridLoss& loss, std::int64_t index) {
    const bool far = loss.apart > 0 && std::abs(index) > TwoGridLoss::reach;
    LossDistribution& part = far ? loss.far : loss.near;
    return part.masses[static_cast<std::size_t>((far ? index >> loss.apart : index) - part.first)];
}

Integer& infinite_mass(TwoGridLoss& loss) {
    return (loss.apart > 0 ? loss.far : loss.near).infinite;
}

PairLosses losses_of(const std::deque<Point>& points, const LossGrid& grid, unsigned apart) {
    const std::int64_t first = points.front().index, last = points.back().index;
    PairLosses losses{empty_loss(first, last, apart), empty_loss(-last, -first, apart)};
    Bounds slope;
    BigFloat mass;
    set_slope(slope, Bounds(0), Bounds(1), points.front());
    mpfr_ui_sub(mass.get(), 1, slope.lower.get(), MPFR_RNDU);
    infinite_mass(losses.swapped) = mass_units(mass, grid);
    for (std::size_t i = 0; i < points.size(); ++i) {
        Bounds next;  // after the last point the profile stays where it is
        if (i + 1 < points.size()) set_slope(next, points[i].growth, points[i].height, points[i + 1]);
        mpfr_sub(mass.get(), slope.upper.get(), next.lower.get(), MPFR_RNDU);
        mpfr_max(mass.get(), mass.get(), BigFloat().get(), MPFR_RNDU);
        mass_at(losses.swapped, -points[i].index) = mass_units(mass, grid);
        mpfr_mul(mass.get(), mass.get(), points[i].growth.upper.get(), MPFR_RNDU);
        mass_at(losses.own, points[i].index) = mass_units(mass, grid);
        slope.swap(next);
    }
    infinite_mass(losses.own) = mass_units(points.back().height.upper, grid);
    return losses;
}

}  // namespace

std::vector<TwoGridLoss> sampled_losses(const Rational& sampling_rate, double noise_multiplier,
                                        Relation relation, const LossGrid& grid, const Rational& cut,
                                        unsigned apart) {
    const SampledPair pair(sampling_rate, Rational(noise_multiplier), relation);
    if (relation == Relation::substitute)
        return {losses_of(points_of(pair, grid, cut, apart, std::nullopt), grid, apart).own};
    std::int64_t least = Integer(floor(log_lower(1 - sampling_rate) * power_of_two(grid.loss_bits))).get_si();
    if (least < -TwoGridLoss::reach) least = (least >> apart) << apart;
    PairLosses losses = losses_of(points_of(pair, grid, cut, apart, least), grid, apart);
    return {std::move(losses.own), std::move(losses.swapped)};
}

std::vector<LossDistribution> sampled_losses(const Rational& sampling_rate, double noise_multiplier,
                                             Relation relation, const LossGrid& grid, const Rational& cut) {
    std::vector<LossDistribution> losses;
    for (TwoGridLoss& loss : sampled_losses(sampling_rate, noise_multiplier, relation, grid, cut, 0))
        losses.push_back(std::move(loss.near));
    return losses;
}

}  // namespace holdfast
