#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/privacy/ledger/ledger.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

// Which columns of a table tell its labels apart, chosen from the records under privacy
// (models/privacy/mathematics.md, chosen columns).

/// What is asked for. All of it is public.
struct FeatureRequest {
    std::string relation = "add_remove";  ///< of the account that pays
    std::size_t columns = 0, chosen = 0;  ///< 0 < chosen < columns
    std::size_t classes = 2;
};

/// What each draw costs: the counts of labels first, then one draw a chosen column, all pure.
struct FeatureLaw {
    double rate = 0;  ///< epsilon of a draw where a person is added or removed; twice that where replaced
    Rational epsilon = 0, mu_squared = 0;  ///< of all draws together

    /// The greatest rate, to ten digits, at which all draws together cost no more. Error (usage): below any
    /// use.
    static FeatureLaw within_epsilon(const FeatureRequest& request, const Rational& epsilon);
    static FeatureLaw within_mu_squared(const FeatureRequest& request, const Rational& mu_squared);
};

/// Without token and guarantee. `of`: names what the columns were measured by, if they were.
Payment payment_for(const FeatureRequest& request, const FeatureLaw& law, const std::string& of);

/// How much a row of each label counts, in parts of 2^16, so that all labels count alike: from noisy counts
/// of persons by label, in shares of 2^-16. [classes]
std::vector<std::int64_t> draw_label_weights(const std::vector<std::int64_t>& counts, const FeatureLaw& law,
                                             RandomBits& bits);

/// The rows of one column by bin and label, in shares of 2^-16 of a person.
class LabelCounts {
  public:
    LabelCounts(std::size_t bins, std::size_t classes) : classes_(classes), shares_(bins * classes) {}
    void add(std::size_t bin, std::size_t label, std::int64_t share) {
        shares_[bin * classes_ + label] += share;
    }
    /// How many persons the most frequent label of each bin has, all bins together, rounded up: a person more
    /// makes it 0 or 1 more.
    std::int64_t score() const;

  private:
    std::size_t classes_;
    std::vector<std::int64_t> shares_;  ///< [bins, classes]
};

/// Permute and flip, one column after the other, each at the law's rate: places in `scores`, ascending.
std::vector<std::size_t> draw_features(std::vector<std::int64_t> scores, std::size_t chosen,
                                       const FeatureLaw& law, RandomBits& bits);

}  // namespace holdfast
