#pragma once

#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "models/dpal/dpal_noise.hpp"

namespace holdfast {

/// Monte Carlo inference as it is published: the mean scores of n draws of noise, and their bounds. Its draws
/// are the same for every query. Nothing of it is proved.
class DpalAnswers {
  public:
    /// Settings and network must outlive it; parameters [network.parameters()].
    DpalAnswers(const Settings& settings, const Network& network, std::vector<std::int64_t> parameters);

    struct Answer {
        std::int32_t label;
        double lower, upper;  ///< of its class's score, and of the greatest other
    };
    /// Of each query, attacked first by `attack` ("": not at all) of l-infinity `radius`, in units of its
    /// features, within their range, against the label it has.
    std::vector<Answer> of(const Records& queries, const std::string& attack, double radius) const;
    /// What is published of an answer as its robust size, for moves `radius`; in units of the features.
    double size(const Answer& answer, double radius) const;

  private:
    const Settings& settings_;
    const Network& network_;
    std::vector<std::int64_t> parameters_;
    DpalNoise noise_;
    std::vector<LayerNoise> draws_;
};

}  // namespace holdfast
