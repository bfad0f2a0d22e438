#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "dist/data/dataset.hpp"
#include "kernels/ops/engine.hpp"
#include "models/certify/stable_distance.hpp"
#include "models/convex/influences.hpp"
#include "models/convex/radius.hpp"
#include "models/convex/upper.hpp"
#include "models/nets/feature_map.hpp"
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

    /// From now on distances are those of queries that may lie anywhere within so far of where they are, in
    /// l2 and in the units of the features before `map` (models/mathematics.md, joint distance of convex
    /// runs). Influences and means of rows are of queries that stay: neither is asked then. Error (usage):
    /// not proved through this map (require_bounded_moves).
    void move_queries(double radius, const FeatureMap& map);
    bool moves_queries() const { return move_.has_value(); }

    /// No distance is larger, whatever the records: public, at most 2^20.
    std::int64_t cap() const { return cap_; }
    /// What one record may move a computed margin by, or what a moved query leaves of it, rounding included,
    /// of a query whose |(m(x), 1)|_2 is `length`: of the query alone.
    double step_of(Upper length) const;
    /// Labels, bit by bit those of answers_of(), and distances; the work is the same for any parameters.
    Certificates of(const Backend& backend, const std::vector<std::int64_t>& parameters,
                    const Records& queries) const;
    /// The same where the removal of k records moves all parameters by at most radii[k] units in the 2-norm,
    /// radii[0] = 0, or by k times the radius: distances up to the last k
    /// (models/mathematics.md, convex removals). With the influences of a member's records, whichever bound
    /// is less (influence of removals).
    Certificates of_removals(const Backend& backend, const std::vector<std::int64_t>& parameters,
                             const std::vector<std::int64_t>& radii, const Records& queries,
                             const Influences* influences = nullptr) const;

    /// Of persons, each with the rows [starts[i], starts[i + 1]) of `rows`, by the mean of their rows'
    /// outputs (AnswerUnit::mean): labels, bit by bit those of answers_of_persons(), and distances; of
    /// removals by their radii, where there are some (models/mathematics.md, convex means). Error (input): a
    /// person of more rows than a mean adds.
    Certificates of_means(const Backend& backend, const std::vector<std::int64_t>& parameters,
                          const std::vector<std::int64_t>& radii, const Records& rows,
                          std::span<const std::size_t> starts) const;

  private:
    /// What a query's gap may be moved by: by its length as parameters are, by its rows' roundings as it is.
    struct Reach {
        Upper length, roundings;
        bool bounded = true;  ///< no output of any run is beyond the grid of means
    };
    Reach reach_of_mean(const Records& rows, std::size_t first, std::size_t end) const;
    /// Queries that move: how far, by what map, and how far that may take what rows are multiplied with.
    struct Move {
        double radius;
        FeatureMap map;
        Upper reach;
    };
    /// What is left of a query's margin where its row moves by so much, once for all roundings.
    Upper moved_by(Upper margin, Upper length) const;
    /// How far radii[k] units move a margin's row. [radii]
    std::vector<Upper> margins_moved(const std::vector<std::int64_t>& radii) const;
    /// How many levels 0, 1, … of a query of this length leave a gap as it is.
    using CountLevels = std::function<std::int64_t(std::size_t query, Upper length, double gap)>;
    Certificates counted(const Backend& backend, const std::vector<std::int64_t>& parameters,
                         const Records& queries, std::int64_t cap, const CountLevels& levels_below) const;

    const Network& network_;
    double rounding_, margin_, margin_step_;  ///< of a query of length 1; the last is both
    double row_;                              ///< no row of parameters is longer
    std::int64_t cap_;
    std::optional<Move> move_;
};

}  // namespace holdfast
