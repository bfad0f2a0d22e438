#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dist/layout/process_grid.hpp"

namespace holdfast {

/// Seconds of one step on one rank, linear in its records and in its levels: what four measurements say.
struct StepCost {
    double fixed = 0, level = 0, record = 0, record_level = 0;

    double seconds(double records, double levels) const {
        return fixed + level * levels + records * (record + record_level * levels);
    }
    /// Of the first step, when every box is one point: its records pass once, whatever the levels.
    double first(double records, double levels) const {
        return fixed + level * levels + records * (record + record_level);
    }
    /// Through the seconds of few and many records, of few and many levels; what noise would make negative
    /// is 0.
    struct Measured {
        double records, levels, seconds;
    };
    static StepCost through(const Measured& few_few, const Measured& many_few, const Measured& few_many,
                            const Measured& many_many);
};

/// How fast ranks add: a message passes log2 of them twice, and its bytes twice.
struct Link {
    double latency = 2e-6, bandwidth = 1e10;  ///< seconds, bytes a second
    bool measured = false;
    double all_reduce(double bytes, std::size_t ranks) const;
};

/// What a training asks for, whatever the ranks.
struct Demand {
    std::size_t members = 1, levels = 1;  ///< levels: with the nominal run
    std::int64_t steps = 1;               ///< of a member
    double records = 0;                   ///< of a member's step
    double words_of_level = 0;            ///< int64 that ranks add a step and level
    double selected_bytes = 0;            ///< that ranks exchange of selections a step, of all levels
    double part_capacity = 1e18;  ///< records of one reduction on one rank, of all ranks that share it
    bool first_is_point = true;   ///< the first step takes no selection
    std::size_t cores = 0;        ///< that all ranks share; 0: every rank has its threads' own
    std::size_t threads = 1;      ///< of a rank
};

/// One layout of the ranks, and the time that it takes; of the rank that has most to do.
struct Prediction {
    std::string layout;  ///< "data", "ensemble", "levels"
    GridShape grid;
    bool taken_by_auto = false;
    std::size_t members = 0, levels = 0;      ///< of a rank, one after the other and at once
    double records = 0;                       ///< of a rank's step
    double computing = 0, communication = 0;  ///< seconds of a step
    double seconds = 0;                       ///< of the training's steps
};

/// The layouts that so many ranks allow: records shared out alone; members first, as run.grid = "auto" does;
/// levels first. Those that come to the same are there once.
std::vector<Prediction> predictions(const Demand& demand, const StepCost& cost, const Link& link,
                                    std::size_t ranks);

}  // namespace holdfast
