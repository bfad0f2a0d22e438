#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dist/data/dataset.hpp"
#include "models/convex/convex_bounds.hpp"
#include "models/convex/symmetric.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// How far the removal of any k records may move a query's margin, by the records themselves and the
/// curvature of their loss at the result (models/mathematics.md, influence of removals): a member of one
/// logit learnt by the logistic loss in full batches, with an l2 penalty and one row a person. Of the
/// records: for unlearning and for the owner, never for a release.
class Influences {
  public:
    static constexpr std::size_t most_columns = 1000;
    /// Does the theorem cover trainings like this one, of these records?
    static bool cover(const Settings& settings, const Network& network, const Records& records);

    /// Of what they cover: the member's records, mapped and weighed as its training saw them, and the
    /// parameters it ended with; for up to so many removals. The network must outlive it.
    Influences(const Settings& settings, const FeatureMap& features, const Network& network,
               const Records& records, std::span<const std::int64_t> parameters, std::size_t most);

    /// Of each query, with the sign of its logit: by how much at most k removals may move the exact logit
    /// towards 0, k = 0..most; +infinity where nothing is shown. [queries][most + 1]
    std::vector<std::vector<Upper>> moved(const Records& queries, std::span<const double> signs) const;

    /// How many removals something is shown of.
    std::size_t shown() const;

  private:
    /// Of up to so many removals: the inverse Hessian, in coordinates, is within `half` of `middle`, and the
    /// training without the records ends within `settled` of its minimum.
    struct Level {
        bool shown = false;
        double middle = 0;
        Upper half, settled;
    };
    struct Spectrum {
        double least;
        Upper greatest, removed;
    };
    void choose_coordinates(const std::vector<double>& rows);
    void add_up(std::span<const double> parameters);
    /// How a query is drawn by the first 0, 1, … of counts: by the gradients that draw it most, and |x| and
    /// |W x|.
    struct Drawn {
        std::vector<Upper> straight;
        Upper size, length;
    };
    std::vector<Drawn> drawn(std::span<const double> rows, std::span<const double> signs,
                             std::span<const std::size_t> counts) const;
    Drawn drawn_by(std::span<const double> row, std::span<const double> mapped, std::span<const double> parts,
                   std::span<const std::size_t> counts) const;
    void set_levels(const std::vector<double>& rows);
    Level level_of(std::size_t removed, const std::vector<Drawn>& records, std::size_t at,
                   std::vector<Upper>& within) const;
    Spectrum spectrum_within(const std::vector<Upper>& within, std::size_t removed) const;
    Upper settled(Upper start) const;
    Upper share_without(std::size_t removed) const;
    std::size_t gone(std::size_t level) const { return std::min(level, records_); }

    Settings settings_;
    ConvexBounds bounds_;
    const Network& network_;
    std::size_t size_, records_;  ///< size_: columns and the bias
    double share_;                ///< f(n) / B
    Upper theta_;                 ///< |theta|
    std::vector<double> margins_, pulls_;
    std::vector<bool> positive_;
    Upper margin_off_, pull_off_;
    Symmetric metric_, ridge_;    ///< W, and lambda W W'
    std::vector<double> rows_;    ///< W phi of each record, as computed
    std::vector<Upper> lengths_;  ///< at least those of the exact ones
    Upper metric_size_, row_off_, longest_;
    std::vector<double> sum_;  ///< W times the sum of gradients
    Upper sum_size_, sum_off_, rest_;
    std::vector<Upper> pulled_;  ///< [most + 1]: |W sum of u_r| of so many records
    std::vector<Level> levels_;  ///< [most + 1]
};

}  // namespace holdfast
