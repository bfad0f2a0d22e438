// Progress (jobs/program/progress.hpp) on a terminal, on none, and silenced. stderr is replaced for the
// length of a test.

#include "jobs/program/progress.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "dist/comm/communicator.hpp"

namespace holdfast {
namespace {

/// What is written to stderr while this lives goes to a new terminal, or to a pipe.
class CapturedStderr {
  public:
    explicit CapturedStderr(bool terminal) : saved_(::dup(STDERR_FILENO)) {
        int ends[2] = {-1, -1};  // read, write
        const int failed = terminal ? ::openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) : ::pipe(ends);
        if (failed != 0 || ::dup2(ends[1], STDERR_FILENO) < 0) throw std::runtime_error("no terminal");
        ::close(ends[1]);
        reading_ = ends[0];
        ::fcntl(reading_, F_SETFL, O_NONBLOCK);
    }
    ~CapturedStderr() {
        ::dup2(saved_, STDERR_FILENO);
        ::close(saved_);
        ::close(reading_);
    }
    CapturedStderr(const CapturedStderr&) = delete;
    CapturedStderr& operator=(const CapturedStderr&) = delete;

    std::string text() const {
        std::fflush(stderr);
        char buffer[4096];
        const ssize_t size = ::read(reading_, buffer, sizeof buffer);
        return {buffer, size > 0 ? static_cast<std::size_t>(size) : 0};
    }

  private:
    int saved_, reading_ = -1;
};

struct ProgressTest : testing::Test {
    std::unique_ptr<Communicator> alone = make_serial_communicator();
    Context context{*alone, nullptr};
    static void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(250)); }
};

TEST_F(ProgressTest, RewritesOneLineOnATerminalAndEndsIt) {
    const CapturedStderr captured(true);
    {
        Progress progress(context, "train", 40);
        progress.advance_to(1);
        EXPECT_EQ(captured.text(), "");  // not yet: lines come at most five times a second
        wait();
        progress.advance_to(10);
        const std::string line = captured.text();
        EXPECT_EQ(line.rfind("\r\033[Ktrain  10/40  0.", 0), 0U) << line;
        EXPECT_NE(line.find(" s, "), std::string::npos) << line;
        EXPECT_NE(line.find(" s left"), std::string::npos) << line;
        EXPECT_EQ(line.find('\n'), std::string::npos) << line;
        progress.advance_to(11);
        EXPECT_EQ(captured.text(), "");
        wait();
        progress.advance_to(12);
        EXPECT_NE(captured.text().find("train  12/40"), std::string::npos);
    }
    EXPECT_EQ(captured.text(), "\r\n");  // the terminal's newline
}

TEST_F(ProgressTest, SaysNothingBeforeAnythingIsDone) {
    const CapturedStderr captured(true);
    {
        Progress progress(context, "train", 40);
        wait();
        progress.advance_to(0);
        EXPECT_GE(progress.seconds(), 0.2);
    }
    EXPECT_EQ(captured.text(), "");
}

TEST_F(ProgressTest, SparesALogFileForTenSeconds) {
    const CapturedStderr captured(false);
    {
        Progress progress(context, "train", 40);
        wait();
        progress.advance_to(10);
    }
    EXPECT_EQ(captured.text(), "");
}

TEST_F(ProgressTest, IsSilentWhenAsked) {
    const CapturedStderr captured(true);
    context.quiet = true;
    {
        Progress progress(context, "train", 40);
        wait();
        progress.advance_to(10);
    }
    EXPECT_EQ(captured.text(), "");
}

}  // namespace
}  // namespace holdfast
