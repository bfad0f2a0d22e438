// At the same stable distance no pure mechanism keeps the noiseless label more often than stable_rr: it is
// the optimal binary symmetric law (models/privacy/mathematics.md, stable randomised response).
// Accuracy may still differ where the noiseless label is wrong.

#include <gtest/gtest.h>

#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"

namespace holdfast {
namespace {

TEST(StableRr, IsNeverBelowAnotherPureMechanismAtTheSameDistance) {
    constexpr std::int64_t cap = 120;
    for (const double epsilon : {0.01, 0.1, 0.3, 1.0, 3.0, 10.0}) {
        const Mechanism best("stable_rr", {epsilon, 0, 2, cap, 0});
        for (const MechanismInfo& info : mechanism_table()) {
            if (info.needs_delta || info.needs_votes || info.gap != nullptr || !info.releasable()) continue;
            const Mechanism other(info.name, {epsilon, 0, 2, cap, 0});
            for (std::int64_t h = 0; h <= cap; ++h) {
                Evidence evidence;
                evidence.label = 1;
                evidence.distance = h;
                evidence.class_distances = {h + 1, 0};
                evidence.cap = cap;
                EXPECT_GE(best.law(evidence)[1], other.law(evidence)[1] * (1 - 1e-12))
                    << info.name << " epsilon " << epsilon << " h " << h;
            }
        }
    }
}

}  // namespace
}  // namespace holdfast
