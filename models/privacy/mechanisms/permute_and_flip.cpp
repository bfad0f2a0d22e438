// Permute and flip over the classes' distances (McKenna and Sheldon 2020): never worse than the exponential
// mechanism.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/base/error.hpp"
#include "models/privacy/mechanisms/class_weights.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"
#include "models/privacy/mechanisms/products.hpp"

namespace holdfast::mechanisms {
namespace {

/// Classes in random order, each accepted with probability weights[d_j]/2^112.
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

std::unique_ptr<const OutcomeLaw> permute_and_flip_law(const LawParameters& p) {
    return std::make_unique<PermuteAndFlipLaw>(exponential_weights(p.epsilon / 2, p.cap + 1));
}

}  // namespace

extern constinit const MechanismInfo permute_and_flip{
    .name = "permute_and_flip",
    .law = "classes in random order, each accepted with e^(-eps d_j/2)",
    .needs_class_distances = true,
    .condition = nested_distances,
    .make_law = permute_and_flip_law,
};

}  // namespace holdfast::mechanisms
