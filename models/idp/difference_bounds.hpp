#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "models/idp/twin.hpp"

namespace holdfast {

/// value * z + difference * (z' - z), of row `row` of the last layer: N has z there, the twin z'. What is
/// bounded is of this kind: cf C_N - cg C_(N_-i) is {row, cf - cg, -cg}.
struct BoundTarget {
    std::size_t row;
    double value, difference;
};

/// Which parts of the method take part: all of them, but where they are compared.
struct BoundRules {
    bool differences = true;  ///< relaxations of e = max(z', 0) - max(z, 0) by d = z' - z
    bool symbolic = true;     ///< bounds of deeper layers' units passed back to the inputs
};

/// The part of a box where unit `unit` of hidden layer `layer`, of N or of the twin, has sign * z >= 0.
struct UnitSplit {
    std::size_t layer, unit;
    bool of_twin;
    double sign;  ///< 1 or -1
};

/// Where bounds are of a part of a box only: and what is known of how they come to be least there.
struct SplitBox {
    std::span<const UnitSplit> units;
    std::span<const double> levels;  ///< [targets]: no lower bound of it is of use
    std::vector<double>
        multipliers;     ///< [targets, units], >= 0: where the search for them begins, then the best
    bool empty = false;  ///< no point of the box is in that part: there are no bounds then
    std::optional<UnitSplit> open =
        {};           ///< of the units of either sign there, that whose relaxations cost most
    double cost = 0;  ///< how much of all bounds together
};

/// Upper bounds of some targets over a box of inputs, each by one affine function that is an upper bound at
/// every point of the box, rounding included.
struct BoxBounds {
    std::vector<double> upper;         ///< [targets]: the greatest value of the function over the box
    std::vector<double> coefficients;  ///< [targets, inputs] of the function
};

/// Bounds of a network and its twin over boxes: difference propagation forward, linear bounds backward
/// (models/mathematics.md, difference propagation). Not for two threads at once.
class DifferenceBounds {
  public:
    explicit DifferenceBounds(const PreparedNetwork& network);
    /// low, high: [inputs], within the twin's box.
    void bound(const Twin& twin, const double* low, const double* high, std::span<const BoundTarget> targets,
               const BoundRules& rules, BoxBounds& bounds);
    /// Of the part of the box where its units have their signs, not of a hull (models/mathematics.md, unit
    /// splits).
    void bound(const Twin& twin, const double* low, const double* high, std::span<const BoundTarget> targets,
               const BoundRules& rules, SplitBox& part, BoxBounds& bounds);

    /// Of one layer of units: relaxations, [column_stride] each.
    struct Units {
        AlignedVector<double> chord, chord_at_0, slope;                       // of max(z, 0)
        AlignedVector<double> upper_z, upper_d, upper_at_0;                   // of e, from above
        AlignedVector<double> lower_z, lower_d, lower_below_0;                // of e, from below
        AlignedVector<double> middle, radius, e_middle, e_radius, twin_most;  // of a, of e; a' at most
    };
    /// What the kernel writes in.
    struct Workspace {
        AlignedVector<double> centre, radius;  // of the box, padded
        std::vector<Units> units;
        std::vector<AlignedVector<double>> hull_radius;  // of d of each layer, where the twin is a hull
        AlignedVector<double> values, differences, alpha, epsilon;                // [widest, lanes]
        AlignedVector<double> z_low, z_high, d_low, d_high, twin_low, twin_high;  // [widest]
        // Of unit splits: signs of coefficients of every layer, values at a point, multipliers and slopes.
        std::vector<AlignedVector<double>> alphas, epsilons;                       // [hidden][stride, lanes]
        AlignedVector<double> first_alpha, first_epsilon, best_alpha;              // [widest, lanes]
        AlignedVector<double> point, change, next_point, next_change;              // [widest, lanes]
        AlignedVector<double> multipliers, slopes, best_multipliers, best_slopes;  // [units, lanes]
        std::vector<AlignedVector<double>> low_z, high_z, low_twin, high_twin, costs;  // [hidden][stride]
    };

  private:
    void prepare(const double* low, const double* high, std::size_t targets, BoxBounds& bounds);

    const PreparedNetwork* network_;
    Workspace workspace_;
};

}  // namespace holdfast
