#pragma once

#include "models/nets/feature_map.hpp"
#include "models/privacy/rational.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// What a change of one record moves the parameters of a convex run by, in parameter units (2^-50): public,
/// rounding included (models/mathematics.md, convex radius). Datasets k apart: k times as much.
struct ConvexRadius {
    Rational all;     ///< |theta_D - theta_D'|_2 <= all, over all parameters of a member
    Rational group;   ///< the same of one group (ConvexBounds), and so of any one of its parameters
    Rational margin;  ///< of any row theta_a - theta_b that decides between two classes (of one logit: the
                      ///< row itself)
    Rational row;     ///< not a change: |theta_c|_2 of no row of any run exceeds it
};

/// Of settings of training.kind = "convex" on records that `features` has mapped, from public numbers alone.
/// Errors (usage): the number of records is not stated; steps
/// longer than the theorem allows.
ConvexRadius convex_radius(const Settings& settings, const FeatureMap& features, Relation relation);

}  // namespace holdfast
