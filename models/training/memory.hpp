#pragma once

#include "models/training/plan.hpp"

namespace holdfast {

/// The records of one rank, as far as they take memory: of all its members, which it holds at once, and of
/// one.
struct HeldRecords {
    double all = 0, of_a_member = 0;
    bool wide = false;  ///< features as doubles, not floats
};

/// What a training takes of a host's memory at its peak, in bytes. A device's own memory is not in it.
struct MemoryNeed {
    double records = 0;     ///< held, and their batches
    double state = 0;       ///< boxes of every level, with the optimiser's slots
    double checkpoint = 0;  ///< while the state is written
    double step = 0;        ///< sums and boxes of a step, packed parameters, what each thread adds up
    double selections = 0;  ///< the least values of every entry that the levels of a step keep

    double total() const {
        const double between = checkpoint, within = step + selections;
        return records + state + (between > within ? between : within);
    }
};

/// Of one rank with the levels of `plan`, by the sizes of what MemberTrainer and the engines of the host
/// allocate; for the other kinds, which have no levels, of their one point. A function of the plan and of how
/// many records there are.
MemoryNeed memory_of(const TrainingPlan& plan, const HeldRecords& records, int threads);

}  // namespace holdfast
