// What a device communicator does when the library is slow, fails or hangs: on one process that believes to
// be one of two ranks.

#include "dist/comm/device_communicator.hpp"

#include <gtest/gtest.h>

#include "dist/comm/nccl.hpp"
#include "kernels/cuda/cuda.hpp"
#include "tests/support/fake_collectives.hpp"
#include "tests/support/quiet_communicator.hpp"

namespace holdfast {
namespace {

/// Rank 0 of two, of which the other agrees with everything.
class Pair final : public QuietCommunicator {
  public:
    int size() const override { return 2; }
    int local_rank() const override { return 1; }
    std::string transport() const override { return "pair"; }
    void sum(std::span<std::int64_t> values) const override {
        for (std::int64_t& value : values) value *= 2;
    }
    std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> bytes) const override {
        return {2, {bytes.begin(), bytes.end()}};
    }
    void await(const std::function<bool()>& done) const override {
        for (int looks = 0; !done(); ++looks) {
            if (looks == 1000)
                throw Error(ExitCode::communication, "the pair stands still", "see the other", "pair");
        }
    }
    std::unique_ptr<Communicator> split(int colour) const override {
        return colour == 0 ? std::make_unique<Pair>() : make_serial_communicator();
    }
};

class DeviceCommunicatorTest : public testing::Test {
  protected:
    std::unique_ptr<Communicator> make() {
        return make_device_communicator(pair_, std::make_shared<FakeLibrary>(log_, 3));
    }
    DeviceSpan span() { return {values_.data(), values_.size(), nullptr}; }

    /// The message of the Error (communication) that `call` ends with.
    template <typename Call>
    static std::string failure_of(Call call) {
        try {
            call();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::communication) << error.what();
            EXPECT_FALSE(error.hint().empty()) << error.what();
            return error.what();
        }
        ADD_FAILURE() << "no failure";
        return "";
    }
    static bool says(const std::string& message, const std::string& words) {
        return message.find(words) != std::string::npos;
    }

    Pair pair_;
    FakeLog log_;
    std::vector<std::int64_t> values_{1, -2};
};

TEST_F(DeviceCommunicatorTest, LooksUntilTheLibraryIsDone) {
    log_.polls = 5;
    {
        const auto group = make();
        EXPECT_TRUE(group->sums_on_device());
        EXPECT_EQ(group->transport(), "fake");
        EXPECT_EQ(group->local_rank(), 1);
        EXPECT_EQ(log_.looks, 6);
        group->sum(span());
        EXPECT_EQ(log_.looks, 12);
        group->wait(nullptr);
        EXPECT_EQ(log_.sums, 1);
    }
    EXPECT_EQ(log_.finishes, 1);
    EXPECT_EQ(log_.aborts, 0);
}

TEST_F(DeviceCommunicatorTest, FailureOfTheLibraryEndsTheWaitAndTheGroup) {
    const auto group = make();
    group->sum(span());
    log_.fails_after = 0;
    const std::string message = failure_of([&] { group->wait(nullptr); });
    EXPECT_TRUE(says(message, "fake: a sum failed: the peer went away (")) << message;
    EXPECT_TRUE(says(message, "--resume")) << message;
    EXPECT_EQ(log_.aborts, 1);
    failure_of([&] { group->sum(span()); });
    failure_of([&] { group->wait(nullptr); });
    EXPECT_EQ(log_.aborts, 1);
}

TEST_F(DeviceCommunicatorTest, FailureWhileASumStarts) {
    const auto group = make();
    log_.fails_after = 0;
    EXPECT_TRUE(says(failure_of([&] { group->sum(span()); }), "the start of a sum failed"));
    EXPECT_EQ(log_.aborts, 1);
}

TEST_F(DeviceCommunicatorTest, RefusedCallIsPassedOn) {
    const auto group = make();
    log_.refuses = true;
    EXPECT_TRUE(says(failure_of([&] { group->sum(span()); }), "refused"));
}

TEST_F(DeviceCommunicatorTest, HostThatGivesUpEndsTheWaitAndTheGroup) {
    const auto group = make();
    group->sum(span());
    log_.hangs = true;
    const std::string message = failure_of([&] { group->wait(nullptr); });
    EXPECT_TRUE(says(message, "the pair stands still")) << message;
    EXPECT_EQ(log_.aborts, 1);
}

TEST_F(DeviceCommunicatorTest, RankThatNeverComesEndsTheMeeting) {
    log_.hangs = true;
    EXPECT_TRUE(says(failure_of([&] { make(); }), "the pair stands still"));
    EXPECT_EQ(log_.aborts, 1);
}

TEST_F(DeviceCommunicatorTest, RefusedMeetingIsPassedOn) {
    log_.refuses = true;
    EXPECT_TRUE(says(failure_of([&] { make(); }), "refused"));
    EXPECT_EQ(log_.joins, 0);
}

TEST_F(DeviceCommunicatorTest, EndThatHangsIsAborted) {
    {
        const auto group = make();
        log_.hangs = true;
    }
    EXPECT_EQ(log_.aborts, 1);
    log_ = {};
    {
        const auto group = make();
        log_.refuses = true;
    }
    EXPECT_EQ(log_.finishes, 0);
    EXPECT_EQ(log_.aborts, 1);
}

TEST_F(DeviceCommunicatorTest, ErrorOnItsWayWaitsForNobody) {
    try {
        const auto group = make();
        group->sum(span());
        throw Error(ExitCode::internal, "on its way");
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::internal);
    }
    EXPECT_EQ(log_.finishes, 0);
    EXPECT_EQ(log_.aborts, 1);
}

TEST_F(DeviceCommunicatorTest, EveryPartIsAGroupOfItsOwnAndOneRankAloneIsNone) {
    const auto whole = make();
    const auto half = whole->split(0);
    EXPECT_EQ(log_.ids, 2);
    EXPECT_EQ(log_.joins, 2);
    const auto alone = whole->split(1);
    EXPECT_EQ(log_.joins, 2);
    EXPECT_TRUE(alone->sums_on_device());
    EXPECT_EQ(alone->size(), 1);
    alone->sum(span());
    alone->wait(nullptr);
    EXPECT_EQ(log_.sums, 0);
    EXPECT_EQ(values_, (std::vector<std::int64_t>{1, -2}));
}

TEST_F(DeviceCommunicatorTest, SumsOfHostMemoryGoToTheHost) {
    const auto group = make();
    group->sum(std::span<std::int64_t>(values_));
    EXPECT_EQ(values_, (std::vector<std::int64_t>{2, -4}));
    EXPECT_EQ(log_.sums, 0);
}

TEST(HostCommunicators, AddNoDeviceMemoryAndHaveNothingToWaitFor) {
    const auto host = make_serial_communicator();
    EXPECT_FALSE(host->sums_on_device());
    EXPECT_NO_THROW(host->wait(nullptr));
    std::int64_t value = 1;
    EXPECT_THROW(host->sum(DeviceSpan{&value, 1, nullptr}), Error);
}

TEST(Nccl, IsRefusedOrPresentAsItsVersionSays) {
    if (nccl_version().empty()) {
        try {
            make_nccl_communicator(*make_serial_communicator(), 0);
            FAIL() << "a program without NCCL made an NCCL group";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            EXPECT_EQ(error.where(), "run.transport");
        }
    } else {
        EXPECT_EQ(make_nccl_library(0)->name(), "nccl");
        // One rank alone asks nothing of a GPU.
        const auto host = make_serial_communicator();
        EXPECT_TRUE(make_nccl_communicator(*host, 0)->sums_on_device());
    }
    EXPECT_GE(device_count(), 0);
}

}  // namespace
}  // namespace holdfast
