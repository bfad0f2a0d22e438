#include "jobs/program/runs/late_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LateFiles, WhatComesLateIsWaitedForAndSaid) {
    const TemporaryFolder folder;
    int looks = 0;
    testing::internal::CaptureStderr();
    await_files(
        folder.path(), [&] { return ++looks > 15; }, "the key");
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                AllOf(HasSubstr(folder.path()), HasSubstr("the key"), HasSubstr("waits")));
    EXPECT_EQ(looks, 16);
    EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(LateFiles, WhatDoesNotComeIsAnErrorThatStartsNothingAnew) {
    const TemporaryFolder folder;
    try {
        await_files(
            folder.path(), [] { return false; }, "the key", std::chrono::milliseconds(0));
        FAIL() << "it was never there";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::output);
        EXPECT_EQ(error.where(), folder.path());
        EXPECT_THAT(error.message(), HasSubstr("does not see the key"));
        EXPECT_THAT(error.hint(), HasSubstr("nothing is paid for twice"));
    }
}

}  // namespace
}  // namespace holdfast
