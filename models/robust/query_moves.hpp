#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dist/data/dataset.hpp"
#include "models/convex/upper.hpp"
#include "models/nets/feature_map.hpp"
#include "models/nets/network.hpp"
#include "models/robust/hidden_slope.hpp"

namespace holdfast {

/// Error (usage), about --norm: what a query's length in l2 does to such logits is not proved (pooling; maps
/// of features but a scattering and a limit of the norm; fixed precision; a network that scales or cuts what
/// its features are mapped to).
void require_bounded_moves(const Network& network, const FeatureMap& map, Precision precision);

/// What a moved query does to the leads of a model, every number bounded from above
/// (models/mathematics.md, deep radius).
class QueryMoves {
  public:
    /// parameters: [network.parameters()]. The network must outlive it; of what require_bounded_moves()
    /// allows.
    QueryMoves(const Network& network, FeatureMap map, Precision precision,
               const std::vector<std::int64_t>& parameters);

    /// Of one class over another, as they are at a query: what no rounding at a moved one takes away, at most
    /// 0 or NaN where nothing is left, and how much of it a move by 1 takes.
    struct Lead {
        double left;
        Upper slope;
        /// What is left wherever the query moves within the radius; at most 0 or NaN: nothing.
        double within(double radius) const;
    };
    /// Of the classes of one query.
    class OfQuery {
      public:
        /// mapped: as the network reads it. logits: [classes] as computed (deciding_values).
        OfQuery(const QueryMoves& moves, const FeatureMatrix& mapped, std::size_t query,
                const double* logits);
        Lead lead(std::size_t c, std::size_t j) const;
        /// The largest within which the class leads all others; 0: none.
        double radius(std::size_t label) const;

      private:
        const QueryMoves& moves_;
        const double* logits_;
        Upper off_;                 // what roundings before the last layer do, at both ends
        std::vector<Upper> sizes_;  // [classes]: |b_c| + sum of |w_ci| |z_i|, or more
    };

    /// How fast leads change with the parameters, beside |(m(x), 1)|, where queries move so far
    /// (models/mathematics.md, joint distance): of the map alone.
    static Upper reach(const Network& network, const FeatureMap& map, double radius);

  private:
    /// Of w_c - w_j, or w_c: how fast it changes with the input, in the units of scale_, at most, and how
    /// fast with each feature's own move, whatever their signs.
    struct Slope {
        Upper length, moved;
    };
    Slope slope(std::size_t c, std::size_t j) const;
    const Slope& pair(std::size_t c, std::size_t j) const;
    Upper length(std::size_t c, std::size_t j) const;

    const Network& network_;
    FeatureMap map_;
    std::size_t columns_, classes_;
    std::vector<std::int64_t> rows_;  // [classes, columns]; of class 1 of two: 0
    std::vector<double> row_sizes_;   // of each entry, at least
    std::optional<HiddenSlope> hidden_;
    double rounding_, underflow_;
    Upper scale_, mapped_;               // mapped_: what a map's own rounding does, at both ends
    std::vector<Slope> slopes_, pairs_;  // [classes]; of c > j, one after the other
};

}  // namespace holdfast
