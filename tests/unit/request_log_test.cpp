#include "jobs/forgetting/request_log.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

struct RequestLogTest : ::testing::Test {
    TemporaryFolder folder;
    RunFolder run = RunFolder::create(folder.file("run"), false);
    const std::string name = std::string("run/") + RequestLog::file_name;

    RequestLog two_requests() const {
        RequestLog log;
        for (int request = 0; request < 2; ++request) {
            log.append(run, {{"kind", "asked"}, {"tokens", {"b" + std::to_string(request), "a"}}});
            log.append(run, {{"kind", "done"}, {"run_after", "d"}});
        }
        return log;
    }
    std::optional<Error> error() const {
        try {
            RequestLog::read(run);
        } catch (const Error& error) {
            return error;
        }
        return std::nullopt;
    }
};

TEST_F(RequestLogTest, ComesBackAsWrittenForItsOwnerOnly) {
    EXPECT_TRUE(RequestLog::read(run).entries().empty());
    EXPECT_EQ(RequestLog::read(run).head(), std::string(64, '0'));
    const RequestLog written = two_requests(), found = RequestLog::read(run);
    EXPECT_EQ(found.entries(), written.entries());
    EXPECT_EQ(found.head(), written.head());
    EXPECT_EQ(found.tokens(), (std::vector<std::string>{"a", "a", "b0", "b1"}));
    EXPECT_EQ(found.pending(), nullptr);
    struct stat status {};
    ASSERT_EQ(stat(folder.file(name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(RequestLogTest, ARequestIsPendingUntilItIsDone) {
    RequestLog log;
    log.append(run, {{"kind", "asked"}, {"tokens", nlohmann::json::array()}});
    ASSERT_NE(RequestLog::read(run).pending(), nullptr);
    EXPECT_THROW(log.append(run, {{"kind", "asked"}, {"tokens", nlohmann::json::array()}}), Error);
    log.append(run, {{"kind", "done"}});
    EXPECT_EQ(RequestLog::read(run).pending(), nullptr);
    EXPECT_THROW(log.append(run, {{"kind", "done"}}), Error);
    EXPECT_THROW(log.append(run, {{"kind", "asked"}, {"tokens", "a"}}), Error);
    EXPECT_EQ(RequestLog::read(run).entries().size(), 2U);
}

TEST_F(RequestLogTest, EveryChangedByteIsFound) {
    two_requests();
    const std::string whole = folder.read(name);
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        folder.write(name, changed);
        const std::optional<Error> found = error();
        ASSERT_TRUE(found) << "byte " << at;
        EXPECT_EQ(found->code(), ExitCode::input);
    }
    folder.write(name, whole);
    EXPECT_FALSE(error());
}

TEST_F(RequestLogTest, NoEntryIsTakenOutPutInOrMoved) {
    two_requests();
    const std::string whole = folder.read(name);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < whole.size(); at = whole.find('\n', at) + 1)
        lines.push_back(whole.substr(at, whole.find('\n', at) + 1 - at));
    ASSERT_EQ(lines.size(), 4U);
    std::vector<int> order{0, 1, 2, 3};
    int refused = 0;
    while (std::next_permutation(order.begin(), order.end())) {
        std::string moved;
        for (const int line : order) moved += lines[static_cast<std::size_t>(line)];
        folder.write(name, moved);
        refused += error() ? 1 : 0;
    }
    EXPECT_EQ(refused, 23);
    for (std::size_t gone = 0; gone + 1 < lines.size(); ++gone) {
        std::string rest;
        for (std::size_t line = 0; line < lines.size(); ++line) rest += line == gone ? "" : lines[line];
        folder.write(name, rest);
        EXPECT_TRUE(error()) << "without line " << gone + 1;
    }
    folder.write(name, whole + lines[3]);
    EXPECT_TRUE(error());
}

TEST_F(RequestLogTest, TheEndOfAnotherLogDoesNotFollow) {
    two_requests();
    const std::string first = folder.read(name);
    const std::size_t half = first.find('\n', first.find('\n') + 1) + 1;
    RequestLog other;
    for (int request = 0; request < 2; ++request) {
        other.append(run, {{"kind", "asked"}, {"tokens", {"c"}}});
        other.append(run, {{"kind", "done"}, {"run_after", "d"}});
    }
    const std::string second = folder.read(name);
    folder.write(name, first.substr(0, half) + second.substr(second.find('\n', second.find('\n') + 1) + 1));
    const std::optional<Error> found = error();
    ASSERT_TRUE(found);
    EXPECT_NE(found->message().find("line 3: it does not follow"), std::string::npos) << found->message();
}

TEST_F(RequestLogTest, TokensAreOfTheKeyAndOneKeyFollowsTheRuns) {
    const RunFolder next = RunFolder::create(folder.file("next"), false);
    const SecretKey first = request_key(run, run), same = request_key(run, run),
                    copied = request_key(next, run);
    const std::vector<std::uint64_t> ids{7, 8, 9};
    EXPECT_EQ(tokens_of(first, ids), tokens_of(same, ids));
    EXPECT_EQ(tokens_of(first, ids), tokens_of(copied, ids));
    EXPECT_NE(tokens_of(first, ids), tokens_of(SecretKey::fresh(), ids));
    const std::vector<std::string> tokens = tokens_of(first, ids);
    EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
    EXPECT_EQ(tokens_of(first, {8}).front().size(), 64U);
    EXPECT_TRUE(std::binary_search(tokens.begin(), tokens.end(), tokens_of(first, {8}).front()));
    EXPECT_FALSE(std::binary_search(tokens.begin(), tokens.end(), tokens_of(first, {10}).front()));
}

}  // namespace
}  // namespace holdfast
