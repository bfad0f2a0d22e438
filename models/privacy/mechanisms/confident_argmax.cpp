// PATE's confident aggregator: no answer unless many members seem to agree; then the greatest noisy count
// (models/privacy/mathematics.md, confident aggregator).

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/privacy/mechanisms/gaussian_votes.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast::mechanisms {
namespace {

/// Of mu^2, for the test: the greatest count moves by 1 at most where the counts move by sqrt(2), and a test
/// need not be sharp.
const Rational& share_of_test() {
    static const Rational share(1, 5);
    return share;
}

class ConfidentArgmaxLaw final : public GaussianVotesLaw {
  public:
    ConfidentArgmaxLaw(GaussianCounts test, GaussianCounts counts, const Rational& threshold)
        : test_(std::move(test)),
          counts_(std::move(counts)),
          threshold_(threshold.get_d()),
          threshold_units_(test_.in_units(threshold)) {}

    std::vector<double> law(const Evidence& evidence) const override {
        const std::int64_t most = *std::max_element(evidence.votes.begin(), evidence.votes.end());
        const double lead = (static_cast<double>(most) - threshold_) / (test_.sigma() * std::numbers::sqrt2);
        std::vector<double> result = counts_.greatest(evidence.votes);
        for (double& probability : result) probability *= std::erfc(-lead) / 2;
        result.push_back(std::erfc(lead) / 2);
        return result;
    }
    /// Both noises are always drawn.
    int draw(const Evidence& evidence, RandomBits& bits) const override {
        const std::int64_t most = *std::max_element(evidence.votes.begin(), evidence.votes.end());
        const bool passes = test_.draw(most, bits) >= threshold_units_;
        const int label = draw_greatest(counts_, evidence.votes, bits);
        return passes ? label : refused;
    }

  private:
    GaussianCounts test_, counts_;
    double threshold_;  ///< in votes
    std::int64_t threshold_units_;
};

std::unique_ptr<const OutcomeLaw> confident_argmax_law(const LawParameters& p) {
    const auto counts = [&p](const Rational& squared_change, const Rational& share) {
        return GaussianCounts(gaussian_deviation(p.mu, squared_change, share), p.members);
    };
    return std::make_unique<ConfidentArgmaxLaw>(counts(1, share_of_test()),
                                                counts(squared_change_of_counts, 1 - share_of_test()),
                                                p.threshold * as_rational(p.members));
}

}  // namespace

extern constinit const MechanismInfo confident_argmax{
    .name = "confident_argmax",
    .law = "refuse if most votes + N(0, 5/mu^2) < threshold, else greatest of votes + N(0, 2.5/mu^2), mu-GDP",
    .takes_delta = true,
    .needs_delta = true,
    .needs_votes = true,
    .may_refuse = true,
    .takes_threshold = true,
    .gaussian = true,
    .condition = normal_noise_on_votes,
    .make_law = confident_argmax_law,
};

}  // namespace holdfast::mechanisms
