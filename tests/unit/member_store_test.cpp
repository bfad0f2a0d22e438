#include "dist/runs/member_store.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace member_store_test {

namespace fs = std::filesystem;
using Values = std::vector<std::int64_t>;

struct MemberStoreTest : ::testing::Test {
    TemporaryFolder folder;
    RunFolder run = RunFolder::create(folder.file("run"), false);
    MemberStore store{run, "fingerprint"};
    const std::string metrics = "{\"step\":0}\n{\"step\":1}\n";

    void write(const MemberStore& to, std::size_t member, std::int64_t last = 9) const {
        MemberWriter writer(to, member, 2, 3);
        writer.write({1, 2, 3}, {1, 2, 3});
        writer.write({INT64_MIN, 0x1122334455667788, 0}, {INT64_MAX, 8, last});
        writer.commit(metrics);
    }
    static std::string all_of(const MemberStore& from, std::size_t member, std::size_t levels = 2,
                              std::size_t parameters = 3) {
        MemberReader reader(from, member, levels, parameters);
        std::string text;
        for (std::size_t level = 0; level < levels; ++level) {
            Values lower, upper;
            reader.read(lower, upper);
            for (const Values* values : {&lower, &upper})
                for (const std::int64_t value : *values) text += std::to_string(value) + " ";
        }
        return text + reader.finish();
    }
    std::optional<Error> error(std::size_t member, std::size_t levels = 2, std::size_t parameters = 3) const {
        try {
            all_of(store, member, levels, parameters);
        } catch (const Error& error) {
            EXPECT_TRUE(error.where().starts_with(run.file("members")));
            return error;
        }
        return std::nullopt;
    }
    std::string path_in_folder(std::size_t member) const {
        return fs::relative(store.file(member), folder.path());
    }
};

TEST_F(MemberStoreTest, AMemberComesBackAsWrittenForItsOwnerOnly) {
    write(store, 12);
    EXPECT_EQ(store.file(12), run.file("members/members-00012-00012"));
    EXPECT_EQ(all_of(store, 12),
              "1 2 3 1 2 3 -9223372036854775808 1234605616436508552 0 9223372036854775807 8 9 " + metrics);
    struct stat status {};
    ASSERT_EQ(stat(store.file(12).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    ASSERT_EQ(stat(run.file("members").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(MemberStoreTest, TheFinishedAreThoseWithAFile) {
    EXPECT_TRUE(MemberStore::finished(run.path()).empty());
    for (const std::size_t member : {123456, 2, 10}) write(store, member);
    folder.write("run/members/.members-00003.77-0.partial", "");
    folder.write("run/members/members-4-4", "");
    folder.write("run/members/members-00004-00004x", "");
    folder.write("run/members/members-00005-00004", "");
    folder.write("run/members/member-x.h5", "");
    { const MemberWriter never_committed(store, 5, 2, 3); }
    EXPECT_EQ(MemberStore::finished(run.path()), (std::vector<std::size_t>{2, 10, 123456}));
}

TEST_F(MemberStoreTest, MembersThatFollowOneAnotherShareAFile) {
    const MemberStore shared(run, "fingerprint", 1000);
    EXPECT_FALSE(shared.waiting());
    for (const std::size_t member : {3, 4, 5}) write(shared, member, static_cast<std::int64_t>(member));
    { const MemberWriter never_committed(shared, 6, 2, 3); }
    EXPECT_TRUE(shared.waiting());
    EXPECT_FALSE(shared.due());
    EXPECT_TRUE(MemberStore::finished(run.path()).empty());
    write(shared, 8);  // does not follow: a file of its own
    EXPECT_EQ(MemberStore::finished(run.path()), (std::vector<std::size_t>{3, 4, 5}));
    shared.sync();
    EXPECT_FALSE(shared.waiting());
    EXPECT_EQ(MemberStore::finished(run.path()), (std::vector<std::size_t>{3, 4, 5, 8}));
    EXPECT_EQ(store.file(4), run.file("members/members-00003-00005"));
    for (const std::size_t member : {3, 4, 5})
        EXPECT_NE(all_of(store, member).find(" 8 " + std::to_string(member) + " "), std::string::npos);
    EXPECT_FALSE(error(8));
}

TEST_F(MemberStoreTest, NothingAppearsOfMembersThatWereNotSynced) {
    { write(MemberStore(run, "fingerprint", 1000), 1); }
    EXPECT_TRUE(fs::is_empty(run.file("members")));
}

TEST_F(MemberStoreTest, AnotherRunsMemberIsRefused) {
    write(MemberStore(run, "another"), 1);
    const std::optional<Error> refusal = error(1);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->code(), ExitCode::usage);
    EXPECT_NE(refusal->message().find("another configuration or dataset"), std::string::npos);
}

TEST_F(MemberStoreTest, AMemberIsNotTakenForAnother) {
    write(store, 1);
    fs::rename(store.file(1), run.file("members/members-00002-00002"));
    const std::optional<Error> refusal = error(2);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->code(), ExitCode::input);
}

TEST_F(MemberStoreTest, DamageIsNoticedAndTheRemedyNamed) {
    write(store, 1);
    const std::string name = path_in_folder(1), whole = folder.read(name);
    const auto check = [&](const std::string& damaged, const std::string& how) {
        folder.write(name, damaged);
        const std::optional<Error> found = error(1);
        ASSERT_TRUE(found) << how;
        EXPECT_EQ(found->code(), ExitCode::input) << how;
        EXPECT_NE(found->hint().find("--resume"), std::string::npos) << how;
    };
    for (std::size_t length = 0; length < whole.size(); length += 97)
        check(whole.substr(0, length), "truncated");
    const std::int64_t value = 0x1122334455667788;
    std::string bytes(sizeof value, 0);
    std::memcpy(bytes.data(), &value, sizeof value);
    for (const std::string& part : {bytes, metrics}) {
        const std::size_t at = whole.find(part);
        ASSERT_NE(at, std::string::npos);
        for (std::size_t i = 0; i < part.size(); ++i) {
            std::string changed = whole;
            changed[at + i] = static_cast<char>(changed[at + i] ^ 0x10);
            check(changed, "byte " + std::to_string(at + i));
        }
    }
    folder.write(name, whole);
    EXPECT_FALSE(error(1));
    EXPECT_EQ(error(1, 3)->code(), ExitCode::input);
    EXPECT_EQ(error(1, 2, 4)->code(), ExitCode::input);
    EXPECT_EQ(error(2)->code(), ExitCode::input);  // is not there
}

TEST_F(MemberStoreTest, MembersHaveTheirCheckpointsApart) {
    const auto world = make_serial_communicator();
    store.checkpoints(0).save({{"part-0", {std::byte{1}}}}, *world);
    store.checkpoints(1).save({{"part-0", {std::byte{2}}}}, *world);
    store.checkpoints(0).remove_all();
    EXPECT_TRUE(store.checkpoints(0).load_latest().empty());
    EXPECT_EQ(store.checkpoints(1).load_latest().at(0), CheckpointFolder::Payload{std::byte{2}});
}

TEST_F(MemberStoreTest, OfARunThatKeptNothingNothingIsLeft) {
    run.claim("fingerprint");
    fs::create_directory(run.file("members"));
    run.write_text("provenance.jsonl", "{}\n");
    fs::create_directory(run.file("progress"));
    run.write_text("progress/member-00000.jsonl", "{}\n");
    EXPECT_EQ(store.progress_file(0), run.file("progress/member-00000.jsonl"));
    store.remove_if_empty();
    EXPECT_TRUE(fs::is_empty(run.path()));
    run.claim("fingerprint");
    write(store, 0);
    store.remove_if_empty();
    EXPECT_EQ(MemberStore::finished(run.path()).size(), 1U);
    EXPECT_TRUE(fs::exists(run.file("fingerprint")));
    fs::create_directory(run.file("progress"));
    store.remove_all();
    EXPECT_FALSE(fs::exists(run.file("members")));
    EXPECT_FALSE(fs::exists(run.file("progress")));
    EXPECT_TRUE(fs::exists(run.file("fingerprint")));
}

}  // namespace member_store_test
}  // namespace holdfast
