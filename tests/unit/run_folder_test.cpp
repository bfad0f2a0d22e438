#include "dist/runs/run_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "jobs/program/configuration.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "jobs/program/scratch_folder.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/variable.hpp"

namespace holdfast {
namespace {

template <typename Action>
ExitCode code_of(Action action) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty()) << error.what();
        EXPECT_FALSE(error.where().empty()) << error.what();
        return error.code();
    }
    return ExitCode::success;
}

unsigned mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777;
}

struct RunFolderTest : ::testing::Test {
    TemporaryFolder folder;
    std::string path = folder.file("run");

    /// A run of one member with levels 0..2 and no hidden layer, as training leaves it.
    RunFolder finished(std::size_t members = 1, const std::vector<std::int64_t>& levels = {0, 1, 2},
                       std::size_t parameters = 3) const {
        const RunFolder run = RunFolder::create(path, true);
        BoxesWriter writer(run, members, levels, parameters);
        for (std::size_t member = 0; member < members; ++member) {
            for (std::size_t level = 0; level < levels.size(); ++level) {
                const auto k = static_cast<std::int64_t>(level);
                writer.write(member, level, std::vector<std::int64_t>(parameters, -k),
                             std::vector<std::int64_t>(parameters, k));
            }
        }
        writer.commit();
        run.write_json("manifest.json", manifest());
        return run;
    }
    static nlohmann::json manifest() {
        RunManifest manifest;
        manifest.kind = "boxes";
        manifest.configuration =
            to_json(read_configuration("", {"network.hidden=[]", "certificate.levels=2"}));
        manifest.arithmetic = manifest.guarantee = nlohmann::json::object();
        manifest.dataset.features = 2;
        manifest.dataset.scaling = Scaling::public_constants;
        manifest.dataset.ids = IdKind::given;
        manifest.dataset.digest = "ab";
        return manifest.to_json();
    }
};

TEST_F(RunFolderTest, IsMadeForItsOwnerAndOnlyWhereNothingIs) {
    const RunFolder run = RunFolder::create(path, false);
    EXPECT_EQ(mode_of(path), 0700U);
    RunFolder::create(path, false);  // an empty folder will do
    run.write_text("metrics.jsonl", "{}\n");
    EXPECT_EQ(mode_of(run.file("metrics.jsonl")), 0600U);
    EXPECT_EQ(code_of([&] { RunFolder::create(path, false); }), ExitCode::output);
    EXPECT_EQ(code_of([&] { RunFolder::create(path, true); }), ExitCode::success);
    folder.write("file", "");
    EXPECT_EQ(code_of([&] { RunFolder::create(folder.file("file"), false); }), ExitCode::output);
    EXPECT_EQ(code_of([&] { RunFolder::create(folder.file("file/run"), false); }), ExitCode::output);
}

TEST_F(RunFolderTest, BelongsToTheRunThatClaimedItFirst) {
    const RunFolder run = RunFolder::create(path, false);
    run.claim("one");
    run.claim("one");
    EXPECT_EQ(mode_of(run.file("fingerprint")), 0600U);
    run.write_text("metrics.jsonl", "{}\n");
    run.claim("one");
    EXPECT_EQ(code_of([&] { run.claim("two"); }), ExitCode::usage);
    EXPECT_EQ(folder.read("run/fingerprint"), "one");
    EXPECT_EQ(RunFolder::create(path, true).finished(), false);
    const RunFolder foreign = RunFolder::create(folder.file("foreign"), false);
    folder.write("foreign/.fingerprint.1-0.partial", "");  // of a task that has just begun
    foreign.claim("one");
    const RunFolder occupied = RunFolder::create(folder.file("occupied"), false);
    folder.write("occupied/thesis.txt", "");
    EXPECT_EQ(code_of([&] { occupied.claim("one"); }), ExitCode::output);
}

TEST_F(RunFolderTest, OfManyThatClaimItAtOnceOneRunHasIt) {
    const RunFolder run = RunFolder::create(path, false);
    std::atomic<int> refused = 0, claimed = 0;
    std::vector<std::thread> tasks;
    for (int task = 0; task < 8; ++task) {
        tasks.emplace_back([&, task] {
            try {
                run.claim(task % 2 == 0 ? "even" : "odd");
                ++claimed;
            } catch (const Error&) {
                ++refused;
            }
        });
    }
    for (std::thread& task : tasks) task.join();
    EXPECT_EQ(claimed, 4);
    EXPECT_EQ(refused, 4);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"run"});
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path), {}), 1);
}

TEST_F(RunFolderTest, OpensFinishedRunsOnly) {
    EXPECT_EQ(code_of([&] { RunFolder::open(path); }), ExitCode::input);
    const RunFolder run = RunFolder::create(path, false);
    EXPECT_EQ(code_of([&] { RunFolder::open(path); }), ExitCode::input);
    run.write_json("manifest.json", {{"a", 1}});
    EXPECT_EQ(RunFolder::open(path).read_json("manifest.json").at("a"), 1);
    EXPECT_EQ(code_of([&] { run.read_json("none.json"); }), ExitCode::input);
    const std::string whole = folder.read("run/manifest.json");
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
        folder.write("run/manifest.json", changed);
        EXPECT_EQ(code_of([&] { run.read_json("manifest.json"); }), ExitCode::input) << changed;
        folder.write("run/manifest.json", whole.substr(0, i));
        EXPECT_EQ(code_of([&] { run.read_json("manifest.json"); }), ExitCode::input) << i;
    }
    folder.write("run/manifest.json", "{\"a\": ");
    EXPECT_EQ(code_of([&] { run.read_json("manifest.json"); }), ExitCode::input);
}

TEST_F(RunFolderTest, BoxesComeBackAndTheirDigestNamesThem) {
    const RunFolder run = RunFolder::create(path, false);
    const auto write = [&](std::int64_t last) {
        BoxesWriter writer(run, 2, {0, 3}, 2);
        writer.write(0, 0, {1, 2}, {1, 2});
        writer.write(0, 1, {0, 1}, {2, 3});
        writer.write(1, 0, {INT64_MIN, INT64_MAX}, {5, 6});
        writer.write(1, 1, {7, 8}, {9, last});
        return writer.commit();
    };
    const std::string digest = write(10);
    EXPECT_EQ(digest, write(10));
    EXPECT_NE(digest, write(11));
    EXPECT_EQ(mode_of(run.file("boxes.h5")), 0600U);
    const BoxesReader reader(run);
    EXPECT_EQ(reader.members(), 2U);
    EXPECT_EQ(reader.parameters(), 2U);
    EXPECT_EQ(reader.levels(), (std::vector<std::int64_t>{0, 3}));
    std::vector<std::int64_t> lower, upper;
    reader.read(1, 0, lower, upper);
    EXPECT_EQ(lower, (std::vector<std::int64_t>{INT64_MIN, INT64_MAX}));
    reader.read(1, 1, lower, upper);
    EXPECT_EQ(upper, (std::vector<std::int64_t>{9, 11}));
    EXPECT_NO_THROW(BoxesReader(run, write(11)));
    EXPECT_EQ(code_of([&] { BoxesReader(run, digest); }), ExitCode::input);
}

TEST_F(RunFolderTest, EveryBitOfTheBoxesCounts) {
    const RunFolder run = finished();
    const std::string whole = folder.read("run/boxes.h5");
    for (std::size_t i = 0; i < whole.size(); i += 7) {
        std::string changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
        folder.write("run/boxes.h5", changed);
        EXPECT_EQ(code_of([&] { BoxesReader{run}; }), ExitCode::input) << i;
        folder.write("run/boxes.h5", whole.substr(0, i));
        EXPECT_EQ(code_of([&] { BoxesReader{run}; }), ExitCode::input) << i;
    }
    folder.write("run/boxes.h5", whole + "x");
    EXPECT_EQ(code_of([&] { BoxesReader{run}; }), ExitCode::input);
}

TEST_F(RunFolderTest, BoxesNotCommittedNeverAppear) {
    const RunFolder run = RunFolder::create(path, false);
    {
        BoxesWriter writer(run, 1, {0}, 2);
        writer.write(0, 0, {1, 2}, {1, 2});
    }
    EXPECT_TRUE(std::filesystem::is_empty(path));
}

TEST_F(RunFolderTest, AFinishedRunOpensWithItsSettings) {
    finished();
    const FinishedRun run = FinishedRun::open(path);
    EXPECT_EQ(run.levels(), (std::vector<std::int64_t>{0, 1, 2}));
    EXPECT_EQ(run.cap(), 2);
    EXPECT_TRUE(run.certificate->nested());
    EXPECT_EQ(run.network.parameters(), 3U);
    EXPECT_EQ(run.manifest.dataset.digest, "ab");
}

TEST_F(RunFolderTest, BoxesThatAreNotTheManifestsAreRefused) {
    finished(2);
    EXPECT_EQ(code_of([&] { FinishedRun::open(path); }), ExitCode::input);
    finished(1, {0, 1});
    EXPECT_EQ(code_of([&] { FinishedRun::open(path); }), ExitCode::input);
    finished(1, {0, 1, 5});
    EXPECT_EQ(code_of([&] { FinishedRun::open(path); }), ExitCode::input);
    finished(1, {0, 1, 2}, 4);
    EXPECT_EQ(code_of([&] { FinishedRun::open(path); }), ExitCode::input);
}

TEST_F(RunFolderTest, ADamagedManifestIsAnInputErrorNamingTheFile) {
    const RunFolder run = finished();
    const nlohmann::json sound = manifest();
    const std::vector<std::pair<std::string, nlohmann::json>> damages{
        {"/dataset/features", -2}, {"/dataset/features", 2.5},      {"/dataset/features", "2"},
        {"/dataset/features", 0},  {"/dataset/features", 1 << 30},  {"/dataset/digest", 7},
        {"/dataset/ids", "yes"},   {"/dataset/scaling", 1},         {"/dataset", nullptr},
        {"/configuration", 3},     {"/configuration/network.x", 1}, {"/configuration/network.classes", 0}};
    for (const auto& [place, value] : damages) {
        nlohmann::json damaged = sound;
        damaged[nlohmann::json::json_pointer(place)] = value;
        run.write_json("manifest.json", damaged);
        EXPECT_EQ(code_of([&] { FinishedRun::open(path); }), ExitCode::input) << place << " = " << value;
    }
    for (const auto& text : {"", "[]", "null", "7", "{}"}) {
        folder.write("run/manifest.json", text);
        EXPECT_EQ(code_of([&] { FinishedRun::open(path); }), ExitCode::input) << text;
    }
}

TEST_F(RunFolderTest, ARunOfAnotherKindIsRefusedNamingThoseThereAre) {
    const RunFolder run = finished();
    RunManifest later;
    later.kind = "later";
    later.configuration = later.arithmetic = later.guarantee = nlohmann::json::object();
    later.write(run);
    try {
        FinishedRun::open(path);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_EQ(error.message(), "a run of kind \"later\"; this program knows boxes, noisy, convex, dpal");
        EXPECT_EQ(error.where(), run.file("manifest.json"));
    }
}

TEST_F(RunFolderTest, OnlyBoxesWantBoxes) {
    finished();
    std::filesystem::remove(path + "/boxes.h5");
    try {
        FinishedRun::open(path);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_EQ(error.where(), path + "/boxes.h5");
    }
    EXPECT_NO_THROW(RunManifest::read(RunFolder::open(path)));
}

TEST(ScratchFolder, LiesInMemoryUnlessToldAndIsGoneWithWhatItHolds) {
    const TemporaryFolder folder;
    std::string made;
    const auto parent = [&] {
        const ScratchFolder scratch;
        made = std::filesystem::path(scratch.file("x")).parent_path();
        EXPECT_EQ(mode_of(made), 0700U);
        std::filesystem::create_directories(scratch.file("run/members"));
        return std::filesystem::path(made).parent_path().string();
    };
    {
        const Variable told("TMPDIR", folder.path());
        EXPECT_EQ(parent(), folder.path());
    }
    EXPECT_FALSE(std::filesystem::exists(made));
    const Variable untold("TMPDIR", "");
    std::error_code absent;
    const std::uintmax_t available = std::filesystem::space("/dev/shm", absent).available;
    EXPECT_EQ(parent(), !absent && available > 1 << 30 ? "/dev/shm" : "/tmp");
    EXPECT_FALSE(std::filesystem::exists(made));
    const Variable wrong("TMPDIR", folder.file("missing"));
    EXPECT_EQ(code_of([] { ScratchFolder(); }), ExitCode::output);
}

}  // namespace
}  // namespace holdfast
