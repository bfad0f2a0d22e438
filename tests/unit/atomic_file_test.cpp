#include "dist/files/atomic_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <vector>

#include "dist/data/generate.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

unsigned mode_of(const std::string& path) {
    struct stat status {};
    stat(path.c_str(), &status);
    return status.st_mode & 0777;
}

/// Runs `work` in a child whose files may not outgrow `bytes`: what a full disk does to a writer. Returns the
/// code of the Error it throws, 0 if it throws none, 99 for any other end.
template <class Work>
int code_on_full_disk(rlim_t bytes, Work work) {
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{bytes, bytes};
        setrlimit(RLIMIT_FSIZE, &limit);
        int code = 0;
        try {
            work();
        } catch (const Error& error) {
            code = static_cast<int>(error.code());
        } catch (...) {
            code = 99;
        }
        std::exit(code);  // through the libraries' own exit handlers, as the program would
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

TEST(AtomicFile, WritesTheBytesPrivatelyAndLeavesNothingElse) {
    TemporaryFolder folder;
    write_file_atomically(folder.file("a"), "hello");
    EXPECT_EQ(folder.read("a"), "hello");
    EXPECT_EQ(mode_of(folder.file("a")), 0600u);
    EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, ReplacesAFileAndKeepsTheModeAskedFor) {
    TemporaryFolder folder;
    folder.write("a", "a much longer text than the new one");
    const mode_t before = umask(022);
    write_file_atomically(folder.file("a"), "new", public_mode);
    umask(before);
    EXPECT_EQ(folder.read("a"), "new");
    EXPECT_EQ(mode_of(folder.file("a")), 0644u);
}

TEST(AtomicFile, AnUncommittedGuardKeepsTheOldFileAndRemovesItsOwn) {
    TemporaryFolder folder;
    folder.write("a", "old");
    {
        AtomicPath guard(folder.file("a"));
        EXPECT_EQ(folder.names().size(), 2u);
    }
    EXPECT_EQ(folder.read("a"), "old");
    EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, TwoGuardsOfOnePathDoNotMeet) {
    TemporaryFolder folder;
    AtomicPath first(folder.file("a")), second(folder.file("a"));
    EXPECT_NE(first.temporary(), second.temporary());
}

/// Leaves so many unfinished writers of `path`, of a process that was killed.
void leave_behind(const std::string& path, int writers) {
    const pid_t child = fork();
    if (child == 0) {
        std::vector<std::unique_ptr<AtomicPath>> guards;
        for (int i = 0; i < writers; ++i) guards.push_back(std::make_unique<AtomicPath>(path));
        kill(getpid(), SIGKILL);
    }
    waitpid(child, nullptr, 0);
}

TEST(AtomicFile, WhatAKilledWriterLeftIsRemovedByTheNext) {
    TemporaryFolder folder;
    leave_behind(folder.file("a"), 3);
    ASSERT_EQ(folder.names().size(), 3u);
    write_file_atomically(folder.file("b"), "another");
    ASSERT_EQ(folder.names().size(), 4u);
    write_file_atomically(folder.file("a"), "next");
    EXPECT_EQ(folder.read("a"), "next");
    EXPECT_THAT(folder.names(), testing::UnorderedElementsAre("a", "b"));
}

TEST(AtomicFile, AWriterThatLivesKeepsItsFile) {
    TemporaryFolder folder;
    leave_behind(folder.file("a"), 2);
    AtomicPath living(folder.file("a"));
    write_file_atomically(folder.file("a"), "first");
    leave_behind(folder.file("a"), 1);
    write_file_atomically(folder.file("a"), "second");
    std::ofstream(living.temporary()) << "third";
    living.commit();
    EXPECT_EQ(folder.read("a"), "third");
    EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, AMissingFolderIsNamed) {
    TemporaryFolder folder;
    try {
        write_file_atomically(folder.file("none/a"), "x");
        FAIL() << "wrote into a folder that is not there";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::output);
        EXPECT_EQ(error.where(), folder.file("none/a"));
        EXPECT_THAT(error.hint(), HasSubstr("folder that exists"));
    }
}

TEST(AtomicFile, AFolderAsTargetIsRefused) {
    TemporaryFolder folder;
    EXPECT_THROW(AtomicPath{folder.path()}, Error);
    EXPECT_THROW(AtomicPath{""}, Error);
}

TEST(AtomicFile, AnUnwritableFolderIsAnError) {
    if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
    TemporaryFolder folder;
    chmod(folder.path().c_str(), 0500);
    EXPECT_THROW(write_file_atomically(folder.file("a"), "x"), Error);
    chmod(folder.path().c_str(), 0700);
}

TEST(AtomicFile, AFullDiskIsAnErrorAndLeavesNothingBehind) {
    TemporaryFolder folder;
    const std::string bytes(100000, 'x');
    EXPECT_EQ(code_on_full_disk(1000, [&] { write_file_atomically(folder.file("a"), bytes); }),
              static_cast<int>(ExitCode::output));
    EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(AtomicFile, ADatasetOnAFullDiskIsAnErrorAndLeavesNothingBehind) {
    TemporaryFolder folder;
    for (const rlim_t limit : {rlim_t{0}, rlim_t{100}, rlim_t{3000}, rlim_t{60000}, rlim_t{500000}}) {
        const int code = code_on_full_disk(
            limit, [&] { write_generated(*make_blobs({}), 20000, 100, folder.file("a.h5")); });
        EXPECT_EQ(code, static_cast<int>(ExitCode::output)) << "limit " << limit;
        EXPECT_THAT(folder.names(), IsEmpty()) << "limit " << limit;
    }
}

TEST(AtomicFile, IsPutInPlaceOnceWhereAsked) {
    const TemporaryFolder folder;
    const auto put = [&](const std::string& text) {
        AtomicPath guard(folder.file("once"));
        std::ofstream(guard.temporary()) << text;
        return guard.commit_unless_there();
    };
    EXPECT_TRUE(put("first"));
    EXPECT_FALSE(put("second"));
    EXPECT_EQ(folder.read("once"), "first");
    EXPECT_EQ(mode_of(folder.file("once")), 0600U);
    EXPECT_THAT(folder.names(), ElementsAre("once"));
}

TEST(AtomicFile, WritesOnceWhereAskedAndNothingOnAFullDisk) {
    const TemporaryFolder folder;
    const auto write = [&](const std::string& text) {
        return write_file_unless_there(folder.file("once"), std::as_bytes(std::span(text)));
    };
    EXPECT_EQ(code_on_full_disk(1000, [&] { write(std::string(100000, 'x')); }),
              static_cast<int>(ExitCode::output));
    EXPECT_THAT(folder.names(), IsEmpty());
    EXPECT_TRUE(write("first"));
    EXPECT_FALSE(write("second"));
    EXPECT_EQ(folder.read("once"), "first");
    EXPECT_EQ(mode_of(folder.file("once")), 0600U);
    EXPECT_THAT(folder.names(), ElementsAre("once"));
}

TEST(AtomicFile, IsWipedBeforeItIsRemoved) {
    const TemporaryFolder folder;
    const std::string path = folder.write("secret", std::string(10000, 's'));
    std::filesystem::create_hard_link(path, folder.file("witness"));
    wipe_file(path);
    EXPECT_THAT(folder.names(), ElementsAre("witness"));
    EXPECT_EQ(folder.read("witness"), std::string(10000, '\0'));
    EXPECT_NO_THROW(wipe_file(path));
    try {
        wipe_file(folder.path());
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::output);
        EXPECT_EQ(error.where(), folder.path());
    }
}

}  // namespace
}  // namespace holdfast
