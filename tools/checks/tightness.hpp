#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/training/settings.hpp"

namespace holdfast {

/// How wide boxes are beside what they must hold: a training of two features and four hidden units on a few
/// records, every neighbour made of one catalogue of candidates trained as well (models/mathematics.md,
/// enclosure).
struct TightnessProblem {
    Relation relation = Relation::add_remove;
    ChargeRule charge_rule = ChargeRule::per_epoch;
    std::int64_t records = 40, epochs = 3, batches = 2, k = 1;
    double gamma = 0.05, learning_rate = 1.0;
    std::uint64_t seed = 1;
};

/// Of one layer after one step, mean widths over its parameters.
struct TightnessRow {
    std::int64_t step;
    std::size_t layer;
    double reached;  ///< by the trainings on all neighbours of the catalogue: the least a box could be, if
                     ///< these were all there are
    double box;      ///< of T^k
    double core;     ///< of its core, what is left of it without the radius; per_batch: of the box itself
};

struct Tightness {
    std::int64_t trainings = 0;  ///< of neighbours
    bool held = true;            ///< none left its box
    std::vector<TightnessRow> rows;
};

/// Neighbours at distance k: all removals of k records; k candidates added, or put in the place of any k
/// records, with candidates at the corners of the range of features and of either label; k is 1 or 2.
Tightness tightness_of(const TightnessProblem& problem);

}  // namespace holdfast
