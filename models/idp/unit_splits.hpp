#pragma once

#include "models/idp/difference_bounds.hpp"

namespace holdfast::verify {

// What of unit splits (models/mathematics.md) goes unit by unit. False: no point of the box has those signs.

/// Narrows the intervals of z of layer l in w by the signs of units of N.
bool give_signs(std::span<const UnitSplit> units, std::size_t l, DifferenceBounds::Workspace& w);
/// Those of z' = z + d by the signs of units of the twin, and those of z and d by both.
bool give_twin_signs(std::span<const UnitSplit> units, std::size_t l, DifferenceBounds::Workspace& w);
/// For find_open(): which units have either sign.
void keep_intervals(std::size_t l, DifferenceBounds::Workspace& w);
/// Adds to w.costs how much the relaxations of each unit raised the last bounds, of `count` of the lanes.
void add_costs(const PreparedNetwork& network, std::size_t lanes, std::span<const double> above,
               DifferenceBounds::Workspace& w);
/// part.open, part.cost.
void find_open(const PreparedNetwork& network, const DifferenceBounds::Workspace& w, SplitBox& part);

}  // namespace holdfast::verify
