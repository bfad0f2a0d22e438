#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/idp/ascent.hpp"

namespace holdfast {

/// The networks that are compared with N. network(i) is called by several threads at once.
struct VerifiedFleet {
    PlainNetwork network;
    std::size_t count;
    std::function<PlainNetwork(std::size_t)> other;
    std::size_t classes;
    Precision precision;
    InputBox box;
    /// N's confidence in class c at an input, as the program computes it, if the program gives c with N and
    /// another class with network i there; nothing otherwise. The input may be moved to one that the program
    /// can be asked at.
    std::function<std::optional<double>(std::size_t i, std::size_t c, std::vector<double>& input)> witness;
};

/// Since some moment that never changes.
double steady_seconds();

struct SearchRules {
    double gap = 1e-3;          ///< relative: upper <= (1 + gap) lower ends the search
    double seconds = 1e300;     ///< of each class; looked at before every box, once each network has a bound
    std::size_t attacked = 30;  ///< networks of the greatest first bounds
    bool branching = true;      ///< cut boxes at all
    bool contraction = true;
    bool units = false;     ///< cut boxes by the signs of hidden units too, where that promises more
    bool clusters = false;  ///< bound hulls of near networks first, for fleets too large to visit
    BoundRules bounds = {};
    std::function<double()> clock = steady_seconds;  ///< asked by several threads at once
};

/// What is known of the iDP deterministic bound of one class: the greatest confidence of N in it at an input
/// where another network of the fleet gives another label (models/mathematics.md, leave-one-out bound).
struct ClassBound {
    double lower = 0;                    ///< attained at the witness; 0 without
    double upper = 0;                    ///< of what the program computes: rounded outward
    std::optional<std::size_t> network;  ///< of the witness
    std::vector<double> input;
    bool complete = false;  ///< the gap was reached
    double seconds = 0;
    std::size_t first_bounds = 0,
                boxes = 0;  ///< networks bounded over the whole box, and boxes visited later
};

ClassBound bound_class(const VerifiedFleet& fleet, std::size_t c, const SearchRules& rules);

}  // namespace holdfast
