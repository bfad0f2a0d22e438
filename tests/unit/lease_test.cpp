#include "dist/runs/lease.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

struct LeaseTest : ::testing::Test {
    TemporaryFolder folder;
    RunFolder run = RunFolder::create(folder.file("run"), false);

    Lease take(std::size_t first, std::size_t last) const {
        return Lease::take(run, first, last, "node7", std::chrono::milliseconds(0));
    }
    std::string refusal(std::size_t first, std::size_t last) const {
        try {
            take(first, last);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            EXPECT_EQ(error.where(), run.path());
            return error.message();
        }
        return "";
    }
};

TEST_F(LeaseTest, AMemberHasOneJobAndTheOtherIsToldWhich) {
    const Lease all = take(0, 5);
    ASSERT_TRUE(all.is_locked());
    EXPECT_THAT(refusal(2, 3), HasSubstr("process " + std::to_string(getpid()) + " on node7, since 2"));
    EXPECT_THAT(refusal(2, 3), HasSubstr("members 0 to 4"));
}

TEST_F(LeaseTest, SlicesOfOneRunGoTogetherAndWhereTheyMeetTheHolderIsNamed) {
    const Lease first = take(0, 2), second = take(2, 4);
    EXPECT_THAT(refusal(1, 2), HasSubstr("members 0 to 1"));
    EXPECT_THAT(refusal(3, 9), HasSubstr("members 2 to 3"));
    EXPECT_EQ(refusal(4, 9), "");
}

TEST_F(LeaseTest, IsFreeWhenItsHolderEndsHoweverItEnds) {
    { const Lease gone = take(0, 1); }
    int said[2];
    ASSERT_EQ(pipe(said), 0);
    const pid_t child = fork();
    if (child == 0) {
        const Lease held = take(0, 3);
        static_cast<void>(!write(said[1], "x", 1));
        pause();
        _exit(0);
    }
    char byte = 0;
    ASSERT_EQ(read(said[0], &byte, 1), 1);
    EXPECT_THAT(refusal(0, 1), HasSubstr("process " + std::to_string(child)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(refusal(0, 1), "");
}

TEST_F(LeaseTest, EverybodyLearnsWhoseMembersAreFinished) {
    const Lease first = take(0, 2), second = take(2, 3);
    EXPECT_THAT(first.finish(), UnorderedElementsAre(0, 1));
    EXPECT_THAT(second.finish(), UnorderedElementsAre(0, 1, 2));
    const Lease third = take(4, 5);
    {
        const Lease again = Lease::take(RunFolder::create(folder.file("other"), false), 0, 1, "node8");
        EXPECT_THAT(again.finish(), UnorderedElementsAre(0));
    }
    EXPECT_THAT(third.finish(), UnorderedElementsAre(0, 1, 2, 4));
}

TEST_F(LeaseTest, WhatIsTrainedAgainIsNotFinished) {
    take(0, 3).finish();
    const Lease again = take(1, 2), beside = take(7, 8);
    EXPECT_THAT(beside.finish(), UnorderedElementsAre(0, 2, 7));
}

TEST_F(LeaseTest, LinesOfNoUseAreLeftOut) {
    folder.write("run/lease", "finished 0 18446744073709551615\nfinished x\n\nfinished 3\n");
    EXPECT_THAT(take(0, 1).finish(), UnorderedElementsAre(0));
}

}  // namespace
}  // namespace holdfast
