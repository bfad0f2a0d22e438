#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/privacy/evidence.hpp"
#include "models/privacy/guarantee.hpp"

namespace holdfast {

/// One ensemble member's answer to one query. Members are trained on disjoint records, assigned by keyed
/// hash, so a changed record changes one member.
struct MemberAnswer {
    int label = 0;
    /// The label stays for up to this many changed records of this member; capped at the public level count,
    /// 1-Lipschitz.
    std::int64_t distance = 0;
    /// [classes] or empty: d_b, the least number of changed records after which the label may be b. 0 for
    /// `label`; 1-Lipschitz each. Either all members have them or none.
    std::vector<std::int64_t> class_distances;
};

/// How votes and distances become one label and one distance.
enum class Aggregation {
    stable,  ///< the least number of records that changes the winner: stable and 1-Lipschitz
             ///< (models/mathematics.md, ensemble distance)
    paper,   ///< Theorem 5.3 of 000: binary only, not 1-Lipschitz
};

/// Largest distance `stable` can give: (floor(T/2) + 1) (cap + 1) - 1, public.
std::int64_t ensemble_cap(std::int64_t members, std::int64_t member_cap);

/// Evidence for one query, votes included. Two classes: 1 wins a tie; more: the least index wins.
///
/// Winner's distance: turning member i costs h_i + 1 (d_ib with per-class distances: exactly d_ib for a turn
/// to b), and the least cost at which another class overtakes, less one. class_distances[j]: without
/// per-member class distances the least cost after which j wins, exactly; with them the largest over c of the
/// least cost at which j overtakes c, a lower bound of it. Both are 0 for the winner only where no other
/// class could win for nothing, and 1-Lipschitz: every set of turns costs at most one more on a neighbour (a
/// member whose label differs has distance 0 on both sides, and turning it back costs 1). With
/// Aggregation::paper: distance is max(0, sum of the n least h_i + n - 1), n = ceil(|n_1 - n_0|/2), and no
/// class_distances. Errors (ExitCode::input): no members, label out of range, distance outside [0,
/// member_cap], class distances of the wrong size; (ExitCode::usage): paper with other than two classes.
Evidence aggregate(const std::vector<MemberAnswer>& members, int classes, std::int64_t member_cap,
                   Aggregation aggregation = Aggregation::stable);

/// What the aggregation proves of its distance.
Guarantee aggregation_guarantee(Aggregation aggregation);

/// "stable" or "paper", as ensemble.aggregate says; Error (ExitCode::usage) otherwise.
Aggregation aggregation_from_name(const std::string& name);

}  // namespace holdfast
