#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/privacy/aggregate.hpp"

namespace holdfast {

/// What an ensemble says by an election of two rounds, and for how many poisoned records it says so.
struct RunOff {
    int label;
    std::int64_t distance;
};

/// Run-off election (Rezaei, Banihashem, Chegini, Feizi 2023): the two classes with the most votes meet in a
/// second round, in which every member votes for the one of them whose logit is greater; ties go to the least
/// index. For three classes or more; of two it is the vote itself.
///
/// logits: [members, classes], member i's greatest (least index first) being that of its label; class
/// distances are not looked at.
///
/// The distance is no more than the least number of changed records after which another class may be elected,
/// less one (models/privacy/mathematics.md, run-off distance). It is for reports on poisoning: nothing is
/// proved of how it moves from one dataset to a neighbour, so no release may rest on it.
RunOff run_off(const std::vector<MemberAnswer>& members, std::span<const double> logits, int classes);

}  // namespace holdfast
