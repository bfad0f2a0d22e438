#include "models/privacy/outcome_law.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr unsigned weight_bits = 112;

std::size_t index(std::int64_t distance, std::size_t entries) {
    return std::min(static_cast<std::size_t>(distance), entries - 1);
}

Rational fraction(Word128 numerator, unsigned long bits) {
    Rational result(to_integer(numerator), power_of_two(bits));
    result.canonicalize();
    return result;
}

std::vector<double> to_doubles(const std::vector<Rational>& exact) {
    std::vector<double> result;
    for (const Rational& p : exact) result.push_back(p.get_d());
    return result;
}

/// Nodes and weights of Gauss-Legendre quadrature on [0, 1], exact for polynomials of degree below 2 n.
struct Quadrature {
    explicit Quadrature(std::size_t n) : nodes(n), weights(n) {
        for (std::size_t i = 0; i < n; ++i) {
            double x =
                std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (static_cast<double>(n) + 0.5));
            double derivative = 0;
            for (int step = 0; step < 60; ++step) {  // Newton from a close guess
                double previous = 1, value = x;      // Legendre P_0, P_1
                for (std::size_t k = 2; k <= n; ++k) {
                    const double order = static_cast<double>(k);
                    const double next = ((2 * order - 1) * x * value - (order - 1) * previous) / order;
                    previous = value;
                    value = next;
                }
                derivative = static_cast<double>(n) * (x * value - previous) / (x * x - 1);
                const double change = value / derivative;
                x -= change;
                if (std::abs(change) < 1e-16) break;
            }
            nodes[i] = (1 + x) / 2;
            weights[i] = 1 / ((1 - x * x) * derivative * derivative);
        }
    }
    std::vector<double> nodes, weights;
};

/// result[j] = product of all factors but factors[j], without division.
std::vector<double> products_of_others(const std::vector<double>& factors) {
    std::vector<double> result(factors.size(), 1.0);
    double before = 1, after = 1;
    for (std::size_t j = 0; j < factors.size(); ++j) {
        result[j] *= before;
        before *= factors[j];
    }
    for (std::size_t j = factors.size(); j-- > 0;) {
        result[j] *= after;
        after *= factors[j];
    }
    return result;
}

/// Integral over s in [0, 1] of the product over i != j of (constant_i + slope_i s), exactly.
Rational integral_of_product(const std::vector<Rational>& constants, const std::vector<Rational>& slopes,
                             std::size_t j) {
    std::vector<Rational> polynomial{1};
    for (std::size_t i = 0; i < constants.size(); ++i) {
        if (i == j) continue;
        std::vector<Rational> product(polynomial.size() + 1, 0);
        for (std::size_t k = 0; k < polynomial.size(); ++k) {
            product[k] += polynomial[k] * constants[i];
            product[k + 1] += polynomial[k] * slopes[i];
        }
        polynomial = std::move(product);
    }
    Rational integral = 0;
    for (std::size_t k = 0; k < polynomial.size(); ++k)
        integral += polynomial[k] / Rational(static_cast<unsigned long>(k + 1));
    return integral;
}

class FlipLaw final : public OutcomeLaw {
  public:
    FlipLaw(FlipTable table, int classes, DistanceUsed used)
        : table_(std::move(table)), classes_(classes), used_(used) {}

    std::vector<Rational> exact_law(const Evidence& evidence) const override {
        const Rational each = fraction(entry(evidence), 128);
        std::vector<Rational> result(static_cast<std::size_t>(classes_), each);
        result[static_cast<std::size_t>(evidence.label)] = 1 - each * (classes_ - 1);
        return result;
    }
    std::vector<double> law(const Evidence& evidence) const override {
        return to_doubles(exact_law(evidence));
    }
    int draw(const Evidence& evidence, RandomBits& bits) const override {
        const Word128 uniform = draw_128_bits(bits), others = static_cast<Word128>(classes_ - 1);
        // Below others * entry, the remainder is uniform: that range is a multiple of `others` long.
        const int moved = (evidence.label + 1 + static_cast<int>(uniform % others)) % classes_;
        const int flip = uniform < others * entry(evidence) ? 1 : 0;
        return flip * moved + (1 - flip) * evidence.label;
    }

  private:
    Word128 entry(const Evidence& evidence) const {
        const std::int64_t distance = used_ == DistanceUsed::stable   ? evidence.distance
                                      : used_ == DistanceUsed::sparse ? evidence.sparse_distance
                                                                      : 0;
        return table_[index(distance, table_.size())];
    }
    FlipTable table_;
    int classes_;
    DistanceUsed used_;
};

class ReleaseOrRefuseLaw final : public OutcomeLaw {
  public:
    ReleaseOrRefuseLaw(std::vector<Word128> table, int classes)
        : table_(std::move(table)), classes_(classes) {}

    std::vector<Rational> exact_law(const Evidence& evidence) const override {
        std::vector<Rational> result(static_cast<std::size_t>(classes_) + 1, 0);
        result[static_cast<std::size_t>(evidence.label)] =
            fraction(table_[index(evidence.distance, table_.size())], 128);
        result.back() = 1 - result[static_cast<std::size_t>(evidence.label)];
        return result;
    }
    std::vector<double> law(const Evidence& evidence) const override {
        return to_doubles(exact_law(evidence));
    }
    int draw(const Evidence& evidence, RandomBits& bits) const override {
        return draw_128_bits(bits) < table_[index(evidence.distance, table_.size())] ? evidence.label : -1;
    }

  private:
    std::vector<Word128> table_;
    int classes_;
};

/// Weights of every class under its distance.
std::vector<Word128> weights_of(const std::vector<Word128>& table, const Evidence& evidence) {
    std::vector<Word128> weights;
    weights.reserve(evidence.class_distances.size());
    for (const std::int64_t distance : evidence.class_distances)
        weights.push_back(table[index(distance, table.size())]);
    return weights;
}

class ExponentialLaw final : public OutcomeLaw {
  public:
    explicit ExponentialLaw(std::vector<Word128> weights) : table_(std::move(weights)) {}

    std::vector<Rational> exact_law(const Evidence& evidence) const override {
        const std::vector<Word128> weights = weights_of(table_, evidence);
        const Word128 total = std::accumulate(weights.begin(), weights.end(), Word128{0});
        const Integer space = power_of_two(256);
        // floor(u total/2^256) falls below `end` for the ceil(end 2^256/total) least u.
        const auto draws_below = [&](Word128 end) {
            return ceil(Rational(to_integer(end) * space) / Rational(to_integer(total)));
        };
        std::vector<Rational> result;
        Word128 begin = 0;
        for (const Word128 weight : weights) {
            Rational p(draws_below(begin + weight) - draws_below(begin), space);
            p.canonicalize();
            result.push_back(p);
            begin += weight;
        }
        return result;
    }
    std::vector<double> law(const Evidence& evidence) const override {
        const std::vector<Word128> weights = weights_of(table_, evidence);
        std::vector<double> result(weights.begin(), weights.end());
        const double total = std::accumulate(result.begin(), result.end(), 0.0);
        for (double& p : result) p /= total;
        return result;
    }
    int draw(const Evidence& evidence, RandomBits& bits) const override {
        const std::vector<Word128> weights = weights_of(table_, evidence);
        const Word128 total = std::accumulate(weights.begin(), weights.end(), Word128{0});
        const Word128 position = below(draw_256_bits(bits), total);
        Word128 end = 0;
        int chosen = 0;
        for (const Word128 weight : weights) {  // every class is visited, whatever is drawn
            end += weight;
            chosen += position >= end ? 1 : 0;
        }
        return chosen;
    }

  private:
    std::vector<Word128> table_;
};

class PermuteAndFlipLaw final : public OutcomeLaw {
  public:
    explicit PermuteAndFlipLaw(std::vector<Word128> weights) : table_(std::move(weights)) {}

    /// Think of each class arriving at a uniform time t: P(j) = a_j times the integral of prod_{i != j} (1 -
    /// a_i t).
    std::vector<Rational> exact_law(const Evidence& evidence) const override {
        std::vector<Rational> accepts, slopes;
        for (const Word128 weight : weights_of(table_, evidence)) {
            accepts.push_back(fraction(weight, weight_bits));
            slopes.push_back(-accepts.back());
        }
        const std::vector<Rational> ones(accepts.size(), 1);
        std::vector<Rational> result;
        for (std::size_t j = 0; j < accepts.size(); ++j)
            result.push_back(accepts[j] * integral_of_product(ones, slopes, j));
        return result;
    }
    std::vector<double> law(const Evidence& evidence) const override {
        std::vector<double> accepts;
        for (const Word128 weight : weights_of(table_, evidence)) {
            accepts.push_back(std::ldexp(static_cast<double>(weight), -static_cast<int>(weight_bits)));
        }
        const Quadrature quadrature((accepts.size() + 1) / 2);
        std::vector<double> result(accepts.size(), 0.0), factors(accepts.size());
        for (std::size_t node = 0; node < quadrature.nodes.size(); ++node) {
            for (std::size_t i = 0; i < accepts.size(); ++i)
                factors[i] = 1 - accepts[i] * quadrature.nodes[node];
            const std::vector<double> products = products_of_others(factors);
            for (std::size_t j = 0; j < accepts.size(); ++j)
                result[j] += quadrature.weights[node] * accepts[j] * products[j];
        }
        return result;
    }
    int draw(const Evidence& evidence, RandomBits& bits) const override {
        const std::vector<Word128> weights = weights_of(table_, evidence);
        std::vector<std::size_t> order(weights.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (std::size_t left = order.size(); left > 1; --left) {
            std::swap(order[left - 1], order[static_cast<std::size_t>(below(draw_128_bits(bits), left))]);
        }
        int chosen = -1;
        for (const std::size_t candidate :
             order) {  // a coin for every class, also after the first acceptance
            const bool accepted = (draw_128_bits(bits) >> (128 - weight_bits)) < weights[candidate];
            chosen = accepted && chosen < 0 ? static_cast<int>(candidate) : chosen;
        }
        ensure(chosen >= 0, "the label's own class distance is 0 and always accepted");
        return chosen;
    }

  private:
    std::vector<Word128> table_;
};

class NoisyArgmaxLaw final : public OutcomeLaw {
  public:
    explicit NoisyArgmaxLaw(NoiseTable table)
        : table_(std::move(table)), largest_(static_cast<std::int64_t>(table_.tails.size()) - 1) {
        // Above the last sum anything weighs: below 1e-25 of the mass, no double shows it.
        const double least = static_cast<double>(table_.total) * 1e-25;
        while (
            visible_<largest_&& static_cast<double>(table_.tails[static_cast<std::size_t>(visible_)])> least)
            ++visible_;
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

}  // namespace

std::unique_ptr<const OutcomeLaw> make_flip_law(FlipTable table, int classes, DistanceUsed used) {
    return std::make_unique<FlipLaw>(std::move(table), classes, used);
}
std::unique_ptr<const OutcomeLaw> make_release_or_refuse_law(std::vector<Word128> table, int classes) {
    return std::make_unique<ReleaseOrRefuseLaw>(std::move(table), classes);
}
std::unique_ptr<const OutcomeLaw> make_exponential_law(std::vector<Word128> weights) {
    return std::make_unique<ExponentialLaw>(std::move(weights));
}
std::unique_ptr<const OutcomeLaw> make_permute_and_flip_law(std::vector<Word128> weights) {
    return std::make_unique<PermuteAndFlipLaw>(std::move(weights));
}
std::unique_ptr<const OutcomeLaw> make_noisy_argmax_law(NoiseTable table) {
    return std::make_unique<NoisyArgmaxLaw>(std::move(table));
}

}  // namespace holdfast
