#include "models/privacy/accountant/loss_distribution.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "kernels/base/error.hpp"
#include "models/privacy/big_float.hpp"

namespace holdfast {
namespace {

constexpr unsigned word_bits = 64;

Integer sum(const std::vector<Integer>& masses) {
    return std::accumulate(masses.begin(), masses.end(), Integer(0));
}

Integer shifted_up(const Integer& value, unsigned bits) {
    Integer result;
    mpz_cdiv_q_2exp(result.get_mpz_t(), value.get_mpz_t(), bits);
    return result;
}

/// One integer with `masses` as its digits of `words` words.
Integer packed(const std::vector<Integer>& masses, std::size_t words) {
    std::vector<std::uint64_t> digits(masses.size() * words);
    for (std::size_t i = 0; i < masses.size(); ++i) {
        mpz_export(&digits[i * words], nullptr, -1, sizeof(std::uint64_t), 0, 0, masses[i].get_mpz_t());
    }
    Integer result;
    mpz_import(result.get_mpz_t(), digits.size(), -1, sizeof(std::uint64_t), 0, 0, digits.data());
    return result;
}

/// The product of two polynomials by one product of integers (Kronecker's substitution), each coefficient
/// then rounded up to the units of a mass.
std::vector<Integer> convolved(const std::vector<Integer>& one, const std::vector<Integer>& other,
                               unsigned mass_bits) {
    // A coefficient is at most the product of both sums, which are below 2: it has 2 mass_bits + 2 bits.
    const std::size_t words = (2 * mass_bits + 1 + word_bits) / word_bits;
    const Integer product = packed(one, words) * packed(other, words);
    std::vector<std::uint64_t> digits((one.size() + other.size()) * words);
    mpz_export(digits.data(), nullptr, -1, sizeof(std::uint64_t), 0, 0, product.get_mpz_t());
    std::vector<Integer> result(one.size() + other.size() - 1);
    Integer coefficient;
    for (std::size_t i = 0; i < result.size(); ++i) {
        mpz_import(coefficient.get_mpz_t(), words, -1, sizeof(std::uint64_t), 0, 0, &digits[i * words]);
        result[i] = shifted_up(coefficient, mass_bits);
    }
    return result;
}

/// The finite losses of both.
LossDistribution product(const LossDistribution& one, const LossDistribution& other, const LossGrid& grid) {
    return {one.first + other.first, convolved(one.masses, other.masses, grid.mass_bits), 0};
}

LossDistribution both(const LossDistribution& one, const LossDistribution& other, const LossGrid& grid) {
    const Integer finite_one = sum(one.masses), finite_other = sum(other.masses);
    const Integer limit = power_of_two(grid.mass_bits + 1);
    ensure(finite_one < limit && finite_other < limit, "the masses of a loss add up to less than 2");
    return {one.first + other.first, convolved(one.masses, other.masses, grid.mass_bits),
            shifted_up(one.infinite * (finite_other + other.infinite) + finite_one * other.infinite,
                       grid.mass_bits)};
}

/// Moves as many of the greatest losses to infinity, and of the least to the least one kept, as weigh at most
/// `mass` together, on either side.
void cut_tails(LossDistribution& loss, const Integer& mass) {
    Integer above = 0, below = 0;
    std::size_t end = loss.masses.size(), begin = 0;
    while (end > 1 && above + loss.masses[end - 1] <= mass) above += loss.masses[--end];
    while (begin + 1 < end && below + loss.masses[begin] <= mass) below += loss.masses[begin++];
    loss.masses.resize(end);
    loss.masses.erase(loss.masses.begin(), loss.masses.begin() + static_cast<std::ptrdiff_t>(begin));
    loss.masses.front() += below;
    loss.first += static_cast<std::int64_t>(begin);
    loss.infinite += above;
}

void add(LossDistribution& sum, const LossDistribution& other) {
    sum.infinite += other.infinite;
    if (other.masses.empty()) return;
    if (sum.masses.empty()) sum.first = other.first;
    const std::int64_t first = std::min(sum.first, other.first);
    const auto end = [](const LossDistribution& loss) {
        return loss.first + static_cast<std::int64_t>(loss.masses.size());
    };
    const std::int64_t last = std::max(end(sum), end(other));
    sum.masses.insert(sum.masses.begin(), static_cast<std::size_t>(sum.first - first), Integer(0));
    sum.masses.resize(static_cast<std::size_t>(last - first));
    sum.first = first;
    for (std::size_t i = 0; i < other.masses.size(); ++i)
        sum.masses[static_cast<std::size_t>(other.first - first) + i] += other.masses[i];
}

LossDistribution coarsened(LossDistribution loss, LossGrid grid, unsigned doublings) {
    for (; doublings > 0; --doublings, --grid.loss_bits) loss = coarsened(loss, grid);
    return loss;
}

/// Takes the losses from `first` up to `end`, which lie in `loss`, out of it.
LossDistribution part_of(const LossDistribution& loss, std::int64_t first, std::int64_t end) {
    const auto at = [&](std::int64_t index) { return loss.masses.begin() + (index - loss.first); };
    return {first, std::vector<Integer>(at(first), at(end)), 0};
}

}  // namespace

TwoGridLoss squared(const TwoGridLoss& loss, const LossGrid& grid, const Integer& mass) {
    // (near + far)^2 = near^2 + far (2 near + far): the latter, and what leaves `reach`, on the coarse grid.
    const LossGrid wide{grid.loss_bits - loss.apart, grid.mass_bits};
    LossDistribution beside = coarsened(loss.near, grid, loss.apart);
    for (Integer& each : beside.masses) each *= 2;
    add(beside, loss.far);
    const LossDistribution square = both(loss.near, loss.near, grid);
    const std::int64_t end = square.first + static_cast<std::int64_t>(square.masses.size());
    const std::int64_t from = std::clamp(-TwoGridLoss::reach, square.first, end),
                       to = std::clamp(TwoGridLoss::reach + 1, from, end);
    TwoGridLoss result{part_of(square, from, to), {}, loss.apart};
    result.far = loss.far.masses.empty() ? LossDistribution() : product(loss.far, beside, wide);
    add(result.far, coarsened(part_of(square, square.first, from), grid, loss.apart));
    add(result.far, coarsened(part_of(square, to, end), grid, loss.apart));
    const Integer& infinite = loss.far.infinite;
    const Integer finite = sum(loss.near.masses) + sum(loss.far.masses);
    result.far.infinite = shifted_up(infinite * (2 * finite + infinite), grid.mass_bits);
    if (!result.far.masses.empty()) cut_tails(result.far, mass);
    return result;
}

TwoGridLoss coarsen_near(const TwoGridLoss& loss, const LossGrid& grid) {
    ensure(loss.apart > 0, "a loss on two grids has a finer one");
    TwoGridLoss result{coarsened(loss.near, grid), loss.far, loss.apart - 1};
    if (result.apart == 0) add(result.near, std::exchange(result.far, {}));
    return result;
}

LossDistribution composed(const LossDistribution& loss, std::int64_t times, const LossGrid& grid,
                          const Rational& allowance) {
    // What is cut of the loss of m mechanisms counts times/m times in the end: m/times of 2^-15 allowance
    // each, in at most 2 log2(times) products.
    const Rational share = allowance * power_of_two(grid.mass_bits) / power_of_two(15) / as_rational(times);
    LossDistribution result = loss;
    std::int64_t taken = 1;
    const auto follow = [&](const LossDistribution& other, std::int64_t by) {
        result = both(result, other, grid);
        taken += by;
        cut_tails(result, floor(share * as_rational(taken)));
    };
    for (int bit = std::bit_width(static_cast<std::uint64_t>(times)) - 2; bit >= 0; --bit) {
        follow(result, taken);
        if ((times >> bit & 1) != 0) follow(loss, 1);
    }
    return result;
}

LossDistribution coarsened(const LossDistribution& loss, const LossGrid& grid) {
    // The part of a loss between that moves up, and the one that moves down: 1/(1 + e^-unit), 1/(1 + e^unit).
    constexpr unsigned bits = 128;
    const Rational unit = grid.loss_at(1);
    const Integer up = ceil(power_of_two(bits) / (1 + exp_lower(-unit)));
    const Integer down = ceil(power_of_two(bits) / (1 + exp_lower(unit)));
    const std::int64_t last = loss.first + static_cast<std::int64_t>(loss.masses.size()) - 1;
    LossDistribution result{loss.first >> 1, {}, loss.infinite};
    result.masses.resize(static_cast<std::size_t>(((last + 1) >> 1) - result.first) + 1);
    for (std::size_t i = 0; i < loss.masses.size(); ++i) {
        const std::int64_t index = loss.first + static_cast<std::int64_t>(i);
        Integer* const below = &result.masses[static_cast<std::size_t>((index >> 1) - result.first)];
        if (index % 2 == 0) {
            *below += loss.masses[i];
        } else {
            below[0] += shifted_up(loss.masses[i] * down, bits);
            below[1] += shifted_up(loss.masses[i] * up, bits);
        }
    }
    return result;
}

std::optional<Rational> epsilon_of_loss(const LossDistribution& loss, const LossGrid& grid,
                                        const Rational& delta) {
    const BigFloat allowed(Rational(delta * power_of_two(grid.mass_bits)), MPFR_RNDD);
    BigFloat under(Rational(loss.infinite), MPFR_RNDU), other, ratio, greatest, term;
    mpfr_sub(under.get(), under.get(), allowed.get(), MPFR_RNDU);
    if (mpfr_sgn(under.get()) > 0) return std::nullopt;
    // delta(eps) is the maximum over i of A_i - e^eps B_i, A_i the mass of the losses from the i-th on and
    // B_i the sum of e^-loss over it; so the least epsilon is the greatest log((A_i - delta)/B_i), or 0.
    const std::int64_t last = loss.first + static_cast<std::int64_t>(loss.masses.size()) - 1;
    BigFloat weight(grid.loss_at(-last), MPFR_RNDD), growth(grid.loss_at(1), MPFR_RNDD);
    mpfr_exp(weight.get(), weight.get(), MPFR_RNDD);
    mpfr_exp(growth.get(), growth.get(), MPFR_RNDD);
    for (std::size_t i = loss.masses.size(); i-- > 0;) {
        mpfr_add_z(under.get(), under.get(), loss.masses[i].get_mpz_t(), MPFR_RNDU);
        mpfr_mul_z(term.get(), weight.get(), loss.masses[i].get_mpz_t(), MPFR_RNDD);
        mpfr_add(other.get(), other.get(), term.get(), MPFR_RNDD);
        mpfr_mul(weight.get(), weight.get(), growth.get(), MPFR_RNDD);
        if (mpfr_sgn(under.get()) <= 0) continue;
        mpfr_div(ratio.get(), under.get(), other.get(), MPFR_RNDU);
        mpfr_max(greatest.get(), greatest.get(), ratio.get(), MPFR_RNDU);
    }
    if (mpfr_cmp_ui(greatest.get(), 1) <= 0) return Rational(0);
    mpfr_log(greatest.get(), greatest.get(), MPFR_RNDU);
    return greatest.short_upper();
}

}  // namespace holdfast
