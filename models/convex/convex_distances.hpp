#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dist/data/dataset.hpp"
#include "kernels/ops/engine.hpp"
#include "models/certify/stable_distance.hpp"
#include "models/convex/radius.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// How many k = 0, 1, 2, … have k step < gap: ceil(gap / step) exactly, and no more than `most` <= 2^52.
/// gap >= 0, step > 0. Lemma: gaps that differ by at most `step` give counts that differ by at most one.
std::int64_t steps_below(double gap, double step, std::int64_t most);

/// Stable distances of linear models, by how far one record moves a margin
/// (models/mathematics.md, convex distance).
class ConvexDistances {
  public:
    ConvexDistances(const Network& network, const ConvexRadius& radius);

    /// No distance is larger, whatever the records: public, at most 2^20.
    std::int64_t cap() const { return cap_; }
    /// s: what one record may move a computed margin of the query by, rounding included; of the query alone.
    double step_of(const Records& queries, std::size_t query) const;
    /// Labels, bit by bit those of answers_of(), and distances; the work is the same for any parameters.
    Certificates of(const Backend& backend, const std::vector<std::int64_t>& parameters,
                    const Records& queries) const;

  private:
    void add_to(Certificates& result, const std::vector<double>& logits, double step) const;

    const Network& network_;
    double margin_step_;  ///< of a query of length 1
    std::int64_t cap_;
};

}  // namespace holdfast
