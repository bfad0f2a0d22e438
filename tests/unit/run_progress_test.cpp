#include "jobs/training/watch/run_progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dist/runs/progress_log.hpp"
#include "jobs/program/ranks.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t no_process = 0x7ffffff0;  // above the greatest that Linux gives

/// A folder of a run that trains, with lines as a test wants them.
class RunProgress : public testing::Test {
  protected:
    RunProgress() { write("run/fingerprint", "x"); }

    void write(const std::string& name, const std::string& text) const {
        fs::create_directories(fs::path(folder_.file(name)).parent_path());
        folder_.write(name, text);
    }

    static json start(std::size_t member, std::int64_t step, double time) {
        return {{"event", "start"},    {"member", member},      {"members", 3},
                {"step", step},        {"steps", 100},          {"time", time},
                {"host", host_name()}, {"process", ::getpid()}, {"ranks", 2}};
    }
    static json step(std::size_t member, std::int64_t number, double time) {
        return {
            {"event", "step"}, {"member", member}, {"step", number},   {"time", time},
            {"records", 50},   {"level", 4},       {"width_max", 0.5}, {"layer_width_mean", {0.25, 0.125}}};
    }
    void tell(std::size_t member, const std::vector<json>& lines, const std::string& end = "") {
        std::string text;
        for (const json& line : lines) text += line.dump() + "\n";
        write("run/progress/member-0000" + std::to_string(member) + ".jsonl", text + end);
    }
    RunView look(double now) const { return look_at(folder_.file("run"), now); }

    TemporaryFolder folder_;
};

TEST_F(RunProgress, OfARunningMemberIsItsPaceSinceTheJobBegan) {
    tell(0, {start(0, 0, 10), step(0, 5, 11), start(0, 20, 100), step(0, 29, 105)});
    const RunView run = look(106);
    EXPECT_EQ(run.state, RunState::running);
    EXPECT_EQ(run.steps_done(), 30);
    EXPECT_EQ(run.all_steps(), 300);
    EXPECT_EQ(run.rate(), 2);  // 10 steps in 5 seconds, after those before the job
    EXPECT_EQ(run.seconds_left(), 135);
    EXPECT_EQ(run.to_json()["records_per_second"], 100);
    EXPECT_THAT(run.text(), HasSubstr("30 of 300 steps, 0 of 3 members finished, 2 min left, 2 steps/s"));
    EXPECT_THAT(run.text(), HasSubstr("step 29 of member 0: level 4, widths 0.25 0.125"));
}

TEST_F(RunProgress, AddsMembersThatTrainAtOnceAndThoseThatAreDone) {
    write("run/members/members-00001-00001", "");
    tell(0, {start(0, 0, 0), step(0, 9, 10)});
    tell(1, {start(1, 0, 0), step(1, 98, 10)});
    tell(2, {start(2, 0, 0), step(2, 19, 10)});
    const RunView run = look(11);
    EXPECT_EQ(run.finished_members, 1);
    EXPECT_EQ(run.training.size(), 2);
    EXPECT_EQ(run.steps_done(), 100 + 10 + 20);
    EXPECT_EQ(run.rate(), 1 + 2);
}

TEST_F(RunProgress, BeforeItsFirstStepHasNoPace) {
    tell(0, {start(0, 0, 10)});
    const RunView run = look(11);
    EXPECT_EQ(run.state, RunState::running);
    EXPECT_EQ(run.seconds_left(), -1);
    EXPECT_TRUE(run.to_json()["seconds_left"].is_null());
    EXPECT_TRUE(run.to_json()["checkpoint_age"].is_null());
}

TEST_F(RunProgress, KnowsWhoStoppedWhoIsGoneAndWhoIsSilent) {
    tell(0, {start(0, 0, 0), step(0, 9, 10)});
    EXPECT_EQ(look(39).state, RunState::running);
    EXPECT_EQ(look(60).state, RunState::silent);
    tell(0, {start(0, 0, 0), step(0, 0, 1000)});  // a step takes so long
    EXPECT_EQ(look(3000).state, RunState::running);
    tell(0, {start(0, 0, 0), step(0, 9, 10), {{"event", "stop"}, {"step", 10}, {"time", 11}}});
    EXPECT_EQ(look(12).state, RunState::stopped);
    EXPECT_EQ(look(12).rate(), 0);
    json gone = start(0, 0, 0);
    gone["process"] = no_process;
    tell(0, {gone, step(0, 9, 10)});
    EXPECT_EQ(look(11).state, RunState::interrupted);
    gone["host"] = "elsewhere";  // whose processes nobody here knows
    tell(0, {gone, step(0, 9, 10)});
    EXPECT_EQ(look(11).state, RunState::running);
    tell(1, {start(1, 0, 0), step(1, 9, 10), {{"event", "stop"}, {"step", 10}, {"time", 11}}});
    EXPECT_EQ(look(11).state, RunState::running);  // as long as one moves
}

TEST_F(RunProgress, PassesOverLinesThatAreTornOrNotItsOwn) {
    tell(0,
         {start(0, 0, 0),
          step(0, 9, 10),
          json::array({1}),
          {{"event", 3}, {"time", "x"}},
          {{"event", "step"}, {"step", "many"}, {"time", 11}, {"records", json::array()}}},
         "{\"event\":\"st");
    const RunView run = look(11);
    EXPECT_EQ(run.state, RunState::running);
    EXPECT_NO_THROW(run.text());
    EXPECT_NO_THROW(run.to_json().dump());
    write("run/progress/other", "");
    EXPECT_EQ(look(11).training.size(), 1);
}

TEST_F(RunProgress, WithoutLinesShowsWhatIsThere) {
    write("run/members/members-00000-00000", "");
    write("run/checkpoints/1/7/part-0", "");
    const RunView run = look(0);
    EXPECT_EQ(run.state, RunState::hidden);
    EXPECT_EQ(run.finished_members, 1);
    EXPECT_GE(run.checkpoint_age, 0);
    EXPECT_LT(run.checkpoint_age, 3600);
}

TEST_F(RunProgress, NeedsARun) {
    for (const char* name : {"nowhere", "run/fingerprint"}) {
        try {
            look_at(folder_.file(name), 0);
            ADD_FAILURE() << name;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::input);
            EXPECT_EQ(error.where(), folder_.file(name));
        }
    }
}

TEST(ProgressLog, WritesForItsOwnerAloneAndSeldom) {
    const TemporaryFolder folder;
    const std::string path = folder.file("progress/member-00000.jsonl");
    ProgressLog log(path);
    EXPECT_TRUE(log.due());
    log.event("start", {{"step", 0}});
    EXPECT_FALSE(log.due());
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600);
    ASSERT_EQ(::stat(folder.file("progress").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700);
    ProgressLog(path).event("start", {{"step", 7}});  // goes on behind what is there
    std::ifstream lines(path);
    std::string first, second;
    std::getline(lines, first);
    std::getline(lines, second);
    EXPECT_EQ(json::parse(first)["step"], 0);
    EXPECT_EQ(json::parse(second)["step"], 7);
    EXPECT_GT(json::parse(second)["time"], 1.7e9);
}

TEST(ProgressLog, ThatCannotBeWrittenIsNone) {
    const TemporaryFolder folder;
    folder.write("progress", "a file in the way");
    ProgressLog log(folder.file("progress/member-00000.jsonl"));
    EXPECT_FALSE(log.due());
    EXPECT_NO_THROW(log.event("start", {}));
    EXPECT_NO_THROW(ProgressLog().event("start", {}));
}

}  // namespace
}  // namespace holdfast
