#include "models/privacy/mechanisms/gaussian_votes.hpp"

#include <algorithm>

namespace holdfast {

std::vector<Rational> GaussianVotesLaw::exact_law(const Evidence& evidence) const {
    const std::vector<double> doubles = law(evidence);
    std::vector<Rational> fractions(doubles.begin(), doubles.end());
    const auto likeliest = std::max_element(fractions.begin(), fractions.end());
    *likeliest = 1;
    for (auto other = fractions.begin(); other != fractions.end(); ++other) {
        if (other != likeliest) *likeliest -= *other;
    }
    return fractions;
}

int draw_greatest(const GaussianCounts& counts, const std::vector<std::int64_t>& votes, RandomBits& bits) {
    int best = 0;
    std::int64_t best_sum = 0;
    for (std::size_t j = 0; j < votes.size(); ++j) {
        const std::int64_t sum = counts.draw(votes[j], bits);
        if (j == 0 || sum > best_sum) {
            best = static_cast<int>(j);
            best_sum = sum;
        }
    }
    return best;
}

}  // namespace holdfast
