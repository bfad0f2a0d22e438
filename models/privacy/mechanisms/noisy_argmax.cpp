// PATE: the class of the greatest noisy count of votes.

#include <algorithm>
#include <cmath>

#include "models/privacy/mechanisms/mechanism_info.hpp"
#include "models/privacy/mechanisms/noise_table.hpp"
#include "models/privacy/mechanisms/products.hpp"

namespace holdfast::mechanisms {
namespace {

/// Ties of noisy counts are drawn at random.
class NoisyArgmaxLaw final : public OutcomeLaw {
  public:
    explicit NoisyArgmaxLaw(NoiseTable table)
        : table_(std::move(table)), largest_(static_cast<std::int64_t>(table_.tails.size()) - 1) {
        // Above the last sum anything weighs: below 1e-25 of the mass, no double shows it.
        const double least = static_cast<double>(table_.total) * 1e-25;
        const auto shows = [&](std::int64_t magnitude) {
            return static_cast<double>(table_.tails[static_cast<std::size_t>(magnitude)]) > least;
        };
        while (visible_ < largest_ && shows(visible_)) ++visible_;
    }

    std::vector<Rational> exact_law(const Evidence& evidence) const override {
        const Rational total(to_integer(table_.total));
        std::vector<Rational> result(evidence.votes.size(), 0), below(result.size()), at(result.size());
        for (std::int64_t sum = -table_.range; sum <= top(); ++sum) {
            for (std::size_t i = 0; i < result.size(); ++i) {
                below[i] = Rational(to_integer(weight_below(sum, evidence.votes[i]))) / total;
                at[i] = Rational(to_integer(weight_below(sum + 1, evidence.votes[i]))) / total - below[i];
            }
            for (std::size_t j = 0; j < result.size(); ++j)
                result[j] += at[j] * integral_of_product(below, at, j);
        }
        return result;
    }
    /// P(j) = sum over y of P(sum_j = y) times the integral over priorities s of prod (P(sum_i < y) + s
    /// P(sum_i = y)).
    std::vector<double> law(const Evidence& evidence) const override {
        const double total = static_cast<double>(table_.total);
        const auto [least, most] = std::minmax_element(evidence.votes.begin(), evidence.votes.end());
        const std::int64_t first = std::max(-table_.range, *most - visible_),
                           last = std::min(top(), *most + visible_);
        const Quadrature quadrature((evidence.votes.size() + 1) / 2);
        std::vector<double> result(evidence.votes.size(), 0.0), under(result.size()), at(result.size()),
            factors(result.size());
        for (std::int64_t sum = first; sum <= last; ++sum) {
            for (std::size_t i = 0; i < result.size(); ++i) {
                const Word128 under_weight = weight_below(sum, evidence.votes[i]);
                under[i] = static_cast<double>(under_weight) / total;
                at[i] = static_cast<double>(weight_below(sum + 1, evidence.votes[i]) - under_weight) / total;
            }
            for (std::size_t node = 0; node < quadrature.nodes.size(); ++node) {
                for (std::size_t i = 0; i < factors.size(); ++i)
                    factors[i] = under[i] + quadrature.nodes[node] * at[i];
                const std::vector<double> products = products_of_others(factors);
                for (std::size_t j = 0; j < result.size(); ++j)
                    result[j] += quadrature.weights[node] * at[j] * products[j];
            }
        }
        return result;
    }
    int draw(const Evidence& evidence, RandomBits& bits) const override {
        int best = 0;
        std::int64_t best_sum = -table_.range - 1;
        Word128 best_priority = 0;
        for (std::size_t j = 0; j < evidence.votes.size(); ++j) {
            const std::int64_t sum = std::clamp(evidence.votes[j] + draw_noise(bits), -table_.range, top());
            const Word128 priority = draw_128_bits(bits);  // breaks ties: post-processing of the noisy counts
            if (sum > best_sum || (sum == best_sum && priority > best_priority)) {
                best = static_cast<int>(j);
                best_sum = sum;
                best_priority = priority;
            }
        }
        return best;
    }

  private:
    std::int64_t top() const { return largest_; }  ///< members + range: also the largest clamped sum

    /// |noise| >= k exactly for the 2 tails[k] least positions, of which the odd half is negative.
    std::int64_t draw_noise(RandomBits& bits) const {
        const Word128 position = below(draw_256_bits(bits), table_.total);
        std::int64_t magnitude = 0;
        for (std::size_t k = 1; k < table_.tails.size(); ++k)
            magnitude += position < 2 * table_.tails[k] ? 1 : 0;
        return (position & 1) != 0 ? -magnitude : magnitude;
    }
    /// Weight of a clamped sum below `sum` for a count of `votes`.
    Word128 weight_below(std::int64_t sum, std::int64_t votes) const {
        if (sum <= -table_.range) return 0;
        if (sum > top()) return table_.total;
        const std::int64_t least_noise = sum - votes;  // sums below: noise < least_noise
        if (least_noise > 0) return table_.total - table_.tails[static_cast<std::size_t>(least_noise)];
        const std::int64_t magnitude = 1 - least_noise;  // noise <= -magnitude
        return magnitude > largest_ ? 0 : table_.tails[static_cast<std::size_t>(magnitude)];
    }

    NoiseTable table_;
    std::int64_t largest_;
    std::int64_t visible_ = 1;
};

std::unique_ptr<const OutcomeLaw> noisy_argmax_law(const LawParameters& p) {
    return std::make_unique<NoisyArgmaxLaw>(noise_table(p.epsilon / 2, p.members));
}

}  // namespace

extern constinit const MechanismInfo noisy_argmax{
    .name = "noisy_argmax",
    .law = "greatest of votes + discrete Lap(2/eps)",
    .needs_votes = true,
    .condition = "each record is assigned to its ensemble member by a keyed hash of its own id",
    .make_law = noisy_argmax_law,
};

}  // namespace holdfast::mechanisms
