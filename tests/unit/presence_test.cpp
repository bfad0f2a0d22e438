// Who counts as lost, and when a job stands still.

#include "dist/comm/presence.hpp"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

Sign sign(bool waits, std::uint64_t operations, const char* host = "") {
    Sign sign;
    sign.waits = waits ? 1 : 0;
    sign.operations = operations;
    std::snprintf(sign.host, sizeof sign.host, "%s", host);
    return sign;
}

TEST(Presence, OneRankThatComputesKeepsAllOthersWaiting) {
    Presence presence(3);
    for (int second = 0; second < 2000; ++second) {
        presence.pass(1);
        presence.hear(0, sign(true, 5));
        presence.hear(1, sign(false, 5));  // rank 2 is silent
    }
    EXPECT_EQ(presence.still(), 0);
    for (int second = 0; second < 10; ++second) {
        presence.pass(1);
        presence.hear(0, sign(true, 5));
        presence.hear(1, sign(true, 5));
    }
    EXPECT_EQ(presence.still(), 10);
    EXPECT_EQ(presence.missing(), "rank 2");
}

TEST(Presence, FinishedOperationsAreProgress) {
    Presence presence(2);
    for (std::uint64_t second = 0; second < 2000; ++second) {
        presence.pass(1);
        presence.hear(0, sign(true, 5));
        presence.hear(1, sign(true, second / 10));
    }
    EXPECT_LT(presence.still(), 10);
}

TEST(Presence, NamesWhoIsSilentAndNobodyElse) {
    Presence presence(4);
    presence.hear(2, sign(false, 1, "node7"));
    Sign last = sign(true, 1);
    last.kind = Sign::leaving;
    presence.hear(3, last);
    for (int second = 0; second < 100; ++second) {
        presence.pass(1);
        presence.hear(0, sign(true, 1));
        if (second % 30 == 0) presence.hear(1, sign(true, 1));  // late is not lost
    }
    EXPECT_EQ(presence.missing(), "rank 2 (node7)");
    presence.hear(2, sign(true, 1, "node7"));
    EXPECT_EQ(presence.missing(), "");
}

}  // namespace
}  // namespace holdfast
