#include "dist/runs/checkpoint.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

namespace fs = std::filesystem;
using Payload = CheckpointFolder::Payload;

Payload payload(std::size_t size, unsigned seed) {
    Payload bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed + 31 * i);
    return bytes;
}

struct CheckpointTest : ::testing::Test {
    TemporaryFolder folder;
    std::string path = folder.file("checkpoints");
    CheckpointFolder checkpoints{path, "fingerprint"};
    std::unique_ptr<Communicator> world = make_serial_communicator();

    void save(unsigned seed) const {
        checkpoints.save({{"a", payload(100, seed)}, {"b", payload(3, seed)}}, *world);
    }
    std::string newest(const std::string& name) const {
        std::uint64_t number = 0;
        for (const auto& entry : fs::directory_iterator(path))
            number = std::max<std::uint64_t>(number, std::stoull(entry.path().filename()));
        return path + "/" + std::to_string(number) + "/" + name;
    }
    std::vector<Payload> loaded() const {
        std::vector<Payload> payloads = checkpoints.load_latest();
        std::sort(payloads.begin(), payloads.end(),
                  [](const Payload& x, const Payload& y) { return x.size() > y.size(); });
        return payloads;
    }
    ExitCode code() const {
        try {
            checkpoints.load_latest();
        } catch (const Error& error) {
            EXPECT_FALSE(error.hint().empty());
            EXPECT_FALSE(error.where().empty());
            return error.code();
        }
        return ExitCode::success;
    }
    static std::string bytes_of(const std::string& file) {
        std::ifstream stream(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    }
    static void write(const std::string& file, const std::string& bytes) {
        std::ofstream(file, std::ios::binary) << bytes;
    }
};

TEST_F(CheckpointTest, ComesBackAsSaved) {
    EXPECT_TRUE(checkpoints.load_latest().empty());
    save(1);
    EXPECT_EQ(loaded(), (std::vector<Payload>{payload(100, 1), payload(3, 1)}));
    checkpoints.save({{"empty", {}}}, *world);
    EXPECT_EQ(loaded(), std::vector<Payload>{Payload{}});
}

TEST_F(CheckpointTest, TheLastTwoAreKept) {
    for (unsigned seed = 1; seed <= 12; ++seed) save(seed);  // past 9: numbers, not names, are ordered
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"11", "12"}));
    EXPECT_EQ(loaded()[0], payload(100, 12));
}

TEST_F(CheckpointTest, FilesAreTheirOwnersOnly) {
    save(1);
    struct stat status {};
    ASSERT_EQ(stat(newest("a").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(CheckpointTest, TruncationAnywhereIsNoticedAndTheOneBeforeServes) {
    save(1);
    save(2);
    const std::string file = newest("a"), whole = bytes_of(file);
    for (std::size_t length = 0; length < whole.size(); length += 7) {
        write(file, whole.substr(0, length));
        EXPECT_EQ(loaded()[0], payload(100, 1)) << "cut to " << length;
    }
    write(file, whole);
    EXPECT_EQ(loaded()[0], payload(100, 2));
}

TEST_F(CheckpointTest, AMissingFileAndOneOfAnotherCheckpointAreNoticedAndSaid) {
    save(1);
    save(2);
    std::vector<std::string> heard;
    const auto first_seed = [&] {
        heard.clear();
        const auto payloads =
            checkpoints.load_latest([&](const Error& error) { heard.push_back(error.where()); });
        return payloads.at(0);
    };
    EXPECT_EQ(first_seed(), payload(100, 2));
    EXPECT_TRUE(heard.empty());
    for (const char* name : {"a", "b", "files"}) {
        const std::string whole = bytes_of(newest(name));
        fs::remove(newest(name));
        EXPECT_EQ(first_seed(), payload(100, 1)) << name;
        EXPECT_EQ(heard, std::vector<std::string>{newest(name)});
        write(newest(name), bytes_of(path + "/1/" + name));  // sound by itself
        EXPECT_EQ(first_seed(), payload(100, 1)) << name;
        EXPECT_EQ(heard.size(), 1U);
        write(newest(name), whole);
    }
    EXPECT_EQ(first_seed(), payload(100, 2));
    fs::remove_all(fs::path(newest("a")).parent_path());
    fs::create_directories(path + "/7");
    EXPECT_EQ(first_seed(), payload(100, 1)) << "an empty folder";
}

TEST_F(CheckpointTest, AChangedByteAnywhereIsNoticed) {
    save(1);
    const std::string file = newest("a"), whole = bytes_of(file);
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0x10);
        write(file, changed);
        EXPECT_EQ(code(), ExitCode::input) << "byte " << at;
    }
    write(file, whole + "x");
    EXPECT_EQ(code(), ExitCode::input);
}

TEST_F(CheckpointTest, WithoutASoundOneThereIsAnErrorNotAFreshStart) {
    save(1);
    save(2);
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
        if (entry.is_regular_file()) fs::resize_file(entry.path(), 40);
    }
    EXPECT_EQ(code(), ExitCode::input);
}

TEST_F(CheckpointTest, AnotherRunsCheckpointIsRefused) {
    save(1);
    save(2);
    for (const char* another : {"another", "fingerprins"}) {  // shorter, and as long
        try {
            CheckpointFolder(path, another).load_latest();
            FAIL() << another;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            EXPECT_NE(std::string(error.what()).find("another configuration or dataset"), std::string::npos);
        }
    }
}

TEST_F(CheckpointTest, WhatAKilledWriterLeftIsNoCheckpointAndIsSweptAway) {
    save(1);
    fs::create_directories(path + "/.writing");
    write(path + "/.writing/a", "half");
    EXPECT_EQ(loaded()[0], payload(100, 1));
    save(2);
    EXPECT_FALSE(fs::exists(path + "/.writing"));
    EXPECT_EQ(loaded()[0], payload(100, 2));
}

TEST_F(CheckpointTest, ASaveThatFailsLeavesThoseBefore) {
    save(1);
    try {
        checkpoints.save({{"no/such/folder", payload(3, 2)}}, *world);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::output);
    }
    EXPECT_FALSE(fs::exists(path + "/.writing"));
    EXPECT_EQ(loaded()[0], payload(100, 1));
    const CheckpointFolder first(folder.file("other"), "fingerprint");
    EXPECT_THROW(first.save({{"no/such/folder", payload(3, 2)}}, *world), Error);
    EXPECT_FALSE(fs::exists(folder.file("other")));
}

TEST_F(CheckpointTest, RemoveAllLeavesNothing) {
    save(1);
    checkpoints.remove_all();
    EXPECT_FALSE(fs::exists(path));
    EXPECT_TRUE(checkpoints.load_latest().empty());
}

}  // namespace
}  // namespace holdfast
