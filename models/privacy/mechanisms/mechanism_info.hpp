#pragma once

#include <cstdint>
#include <memory>

#include "models/privacy/mechanisms/outcome_law.hpp"
#include "models/privacy/rational.hpp"

namespace holdfast {

/// What the integer tables of a law are built from: checked, exact, public.
struct LawParameters {
    Rational epsilon, delta;  ///< per answer; both 0 where mu was given instead
    Rational mu;              ///< of a gaussian mechanism, else 0
    int classes;
    std::int64_t cap;      ///< the largest distance evidence can have
    std::int64_t members;  ///< ensemble size; 0 for a single model
    Rational threshold;    ///< fraction of the members, in [0, 1]
};

/// All there is to know of a mechanism, in the one file that defines it: a row of the table
/// (models/privacy/mathematics.md, mechanisms).
/// Help, checks, guarantees and what the jobs offer are made from these; mechanism_list.cpp names them all.
struct MechanismInfo {
    const char* name;
    const char* law;           ///< one line
    bool takes_delta = false;  ///< delta may be given
    bool needs_delta = false;  ///< delta > 0 is required
    bool binary_only = false;  ///< refuses more than two classes
    bool needs_votes = false;  ///< ensembles only
    bool needs_class_distances = false;
    bool needs_sparse_levels = false;  ///< speaks of sparse lists of levels only
    bool needs_leave_one_out = false;  ///< of holdfast access: speaks of what leaving a record out changes
    bool may_refuse = false;           ///< one outcome more than classes: no label
    bool takes_threshold = false;      ///< a fraction of the members may be given
    bool gaussian = false;  ///< mu-Gaussian differentially private, mu = gaussian_mu(epsilon, delta)
    /// What privacy rests on beside the draw itself; null: nothing.
    const char* condition = nullptr;
    /// What the published argument leaves open: drawn as published, never as proved. Null: nothing.
    const char* gap = nullptr;
    /// Why it is not differentially private: for evaluation only, drawing is refused. Null: it is.
    const char* not_private = nullptr;
    std::unique_ptr<const OutcomeLaw> (*make_law)(const LawParameters& parameters);

    bool releasable() const { return not_private == nullptr; }
};

/// The condition of every mechanism scaled by the stable distance.
inline constexpr const char* nested_distances =
    "stable distances of neighbouring datasets differ by at most one: they come from nested boxes at every "
    "level 1..K, or from the public radius of a convex run";

}  // namespace holdfast
