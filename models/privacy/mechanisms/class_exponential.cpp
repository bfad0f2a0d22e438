// The exponential mechanism over the classes' distances.

#include <numeric>

#include "models/privacy/mechanisms/class_weights.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast::mechanisms {
namespace {

/// P(j) ~ weights[d_j].
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

std::unique_ptr<const OutcomeLaw> class_exponential_law(const LawParameters& p) {
    return std::make_unique<ExponentialLaw>(exponential_weights(p.epsilon / 2, p.cap + 1));
}

}  // namespace

extern constinit const MechanismInfo class_exponential{
    .name = "class_exponential",
    .law = "class j with probability ~ e^(-eps d_j/2)",
    .needs_class_distances = true,
    .condition = nested_distances,
    .make_law = class_exponential_law,
};

}  // namespace holdfast::mechanisms
