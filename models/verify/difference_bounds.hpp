#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "models/verify/twin.hpp"

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

/// Upper bounds of some targets over a box of inputs, each by one affine function that is an upper bound at
/// every point of the box, rounding included.
struct BoxBounds {
    std::vector<double> upper;         ///< [targets]: the greatest value of the function over the box
    std::vector<double> coefficients;  ///< [targets, inputs] of the function
};

/// Bounds of a network and its twin over boxes: difference propagation forward, linear bounds backward
/// (mathematics.md, difference propagation). Not for two threads at once.
class DifferenceBounds {
  public:
    explicit DifferenceBounds(const PreparedNetwork& network);
    /// low, high: [inputs], within the twin's box.
    void bound(const Twin& twin, const double* low, const double* high, std::span<const BoundTarget> targets,
               const BoundRules& rules, BoxBounds& bounds);

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
        AlignedVector<double> values, differences, alpha, epsilon;  // [widest, lanes]
        AlignedVector<double> z_low, z_high, d_low, d_high;         // [widest]
    };

  private:
    const PreparedNetwork* network_;
    Workspace workspace_;
};

}  // namespace holdfast
