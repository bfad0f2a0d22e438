#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dist/data/dataset.hpp"
#include "models/nets/feature_map.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

// Which columns the l1 penalty of a convex run leaves in its model, and how many changed records away another
// choice is (models/privacy/mathematics.md, stable support).

/// What every input of a network is made of: [inputs], a column each. Error (usage): inputs that mix columns.
std::vector<std::size_t> columns_of_inputs(const FeatureMap& features);

/// Of groups of inputs: which are used, and the stable distance of that choice.
struct Support {
    std::vector<bool> used;
    std::int64_t distance = 0;
};

/// One more step of a finished run, over all of its records and as long as its lemma allows: the inputs whose
/// parameters then pass the soft threshold are those that are used: after a long training by whole batches
/// those of the model. By how much a record moves what
/// meets the threshold is public.
class StableSupport {
  public:
    static constexpr std::size_t no_group = SIZE_MAX;

    /// Errors (usage): no l1 penalty; several members; as convex_radius().
    StableSupport(const Settings& settings, const FeatureMap& features);

    std::int64_t threshold() const { return threshold_; }  ///< in parameter units
    std::int64_t moved() const { return moved_; }          ///< of any parameter before it, by one record
    std::int64_t cap() const;                              ///< no distance is larger: public, at most 2^20

    /// Parameters as they meet the threshold, from those of the run on these records, mapped as it was
    /// trained on them.
    std::vector<std::int64_t> stepped(const Records& records, std::vector<std::int64_t> parameters) const;
    /// groups: [inputs], each below `count` or no_group. A group is used where some parameter of it is beyond
    /// the threshold; biases have none.
    Support of(std::span<const std::int64_t> stepped, std::span<const std::size_t> groups,
               std::size_t count) const;

    /// What lets a support pass, at a distance, or refuses: propose, test, release. Errors (usage): as
    /// Mechanism.
    Mechanism test(double epsilon, double delta) const;
    /// What that looks at.
    Evidence evidence(const Support& support) const;

  private:
    Settings step_;
    const FeatureMap& features_;
    std::int64_t threshold_, moved_, box_;
};

}  // namespace holdfast
