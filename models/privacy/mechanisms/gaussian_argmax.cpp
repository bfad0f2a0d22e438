// PATE: the class of the greatest count of votes with normal noise (models/privacy/mathematics.md, gaussian
// argmax).

#include <algorithm>

#include "models/privacy/mechanisms/gaussian_votes.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast::mechanisms {
namespace {

class GaussianArgmaxLaw final : public GaussianVotesLaw {
  public:
    explicit GaussianArgmaxLaw(GaussianCounts counts) : counts_(std::move(counts)) {}

    std::vector<double> law(const Evidence& evidence) const override {
        return counts_.greatest(evidence.votes);
    }
    int draw(const Evidence& evidence, RandomBits& bits) const override {
        return draw_greatest(counts_, evidence.votes, bits);
    }

  private:
    GaussianCounts counts_;
};

std::unique_ptr<const OutcomeLaw> gaussian_argmax_law(const LawParameters& p) {
    return std::make_unique<GaussianArgmaxLaw>(
        GaussianCounts(gaussian_deviation(p.mu, squared_change_of_counts, 1), p.members));
}

}  // namespace

extern constinit const MechanismInfo gaussian_argmax{
    .name = "gaussian_argmax",
    .law = "greatest of votes + N(0, 2/mu^2), mu-GDP",
    .takes_delta = true,
    .needs_delta = true,
    .needs_votes = true,
    .gaussian = true,
    .condition = normal_noise_on_votes,
    .make_law = gaussian_argmax_law,
};

}  // namespace holdfast::mechanisms
