// Whole steps by the CUDA backend's engine, its kernels run on the host: every sum, count and selection is
// that of the other backends, whatever the memory makes of levels and records. tests/gpu does the same on a
// device.

#include "kernels/ops/engine.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "kernels/cuda/step_plan.hpp"
#include "kernels/pass/host_engine.hpp"
#include "tests/support/engine_cases.hpp"
#include "tests/support/host_executed.hpp"
#include "tests/support/quiet_communicator.hpp"

namespace holdfast {
namespace {

constexpr std::size_t ample = std::size_t{1} << 30;

struct Engines : testing::TestWithParam<std::uint64_t> {};

TEST_P(Engines, GiveTheSameBits) {
    expect_same_of_a_device(random_step(GetParam()), Precision::double_precision, GetParam() % 4 == 0);
}

TEST_P(Engines, GiveTheSameInAnyMemory) {
    expect_same_in_any_memory(random_step(GetParam() + 1000), Precision::double_precision);
}

// Threads that hold less go over the records again for the levels that are left.
TEST_P(Engines, OfTheHostGiveTheSameInGroups) {
    const StepCase step = random_step(GetParam() + 2000);
    const std::size_t level = StepMessage::of(1, step.network.shape()).stride() * sizeof(std::int64_t);
    const auto whole = make_backend("cpu");
    for (const std::size_t levels : {1U, 2U}) {
        const auto grouped = make_host_backend(make_operations<double>("cpu"), levels * level);
        expect_same(step.by(*whole), step.by(*grouped), step);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Engines, testing::Range<std::uint64_t>(0, 32));

// A last layer whose ends have met, behind hidden layers that are a box: its outputs are one all the same.
TEST(Engine, HoldsOutputsOfAPointBehindABox) {
    StepCase step = random_step(2);
    ASSERT_GE(step.network.layers().size(), 2U);
    const std::size_t level = step.ks.size() - 1, hidden = step.network.layers().size() - 1;
    const std::vector<std::int64_t> point(
        step.lower[level].begin() + static_cast<std::ptrdiff_t>(step.network.offset(hidden)),
        step.lower[level].end());
    const LastLayer last{step.network.outputs(), point.data(), point.data()};
    const std::vector<std::uint32_t> queries{0, 1, 2};
    ASSERT_GE(step.private_records.size(), queries.size());
    const auto outputs_by = [&](const Backend& backend) {
        std::vector<double> bounds;
        const Variant box{step.lower[level].data(), step.upper[level].data()};
        step.engine(backend)->outputs(box, last, queries, [&](const OutputBlock& block) {
            for (std::size_t o = 0; o < last.rows; ++o) {
                for (std::size_t r = 0; r < block.count; ++r) {
                    bounds.push_back(block.lower[o * block.stride + r]);
                    bounds.push_back(block.upper[o * block.stride + r]);
                }
            }
        });
        return bounds;
    };
    const std::vector<double> expected = outputs_by(*make_backend("reference"));
    EXPECT_EQ(outputs_by(*make_backend("cpu")), expected);
    EXPECT_EQ(outputs_by(*make_host_executed_backend(ample)), expected);
    bool open = false;
    for (std::size_t i = 0; i < expected.size(); i += 2) {
        ASSERT_LE(expected[i], expected[i + 1]);
        open |= expected[i] < expected[i + 1];
    }
    EXPECT_TRUE(open);
}

// The map is total: a feature beyond its public range, infinite or no number at all, has the sums of an end
// of that range.
TEST(Engine, CountsAnyFeatureAsOneInItsRange) {
    const auto host = make_host_executed_backend(ample);
    const auto reference = make_backend("reference");
    bool ends_differ = false;
    for (const std::vector<std::size_t>& hidden : std::vector<std::vector<std::size_t>>{{}, {4}, {4, 5}}) {
        const auto sums_of = [&](double feature) {
            const StepCase step = step_with_feature(feature, hidden);
            expect_same(step.by(*reference), step.by(*host), step);
            return step.by(*reference).message;
        };
        const auto at_low_end = sums_of(default_feature_range.low),
                   at_high_end = sums_of(default_feature_range.high);
        ends_differ |= at_low_end != at_high_end;
        for (const double feature : {-1e7, -1e300, -HUGE_VAL, std::nan("")})
            EXPECT_EQ(sums_of(feature), at_low_end) << feature;
        for (const double feature : {1e7, 1.7e308, HUGE_VAL})
            EXPECT_EQ(sums_of(feature), at_high_end) << feature;
    }
    EXPECT_TRUE(ends_differ);
}

/// Of the largest box after a first layer, by the bounds that its pre-activations have as outputs.
std::int64_t undecided_by_outputs(const StepCase& step, const Backend& backend) {
    const LayerShape layer = step.network.layers().front();
    const std::vector<std::int64_t>& lower = step.lower.back();
    const Network one_layer(layer.in, {}, std::max<std::size_t>(2, layer.out), Loss::cross_entropy,
                            step.network.transform());
    const auto alone = backend.engine(one_layer.shape(), step.clip);
    alone->set_records(std::vector{step.private_records.view(true)});
    std::int64_t count = 0;
    std::mutex mutex;
    alone->outputs({lower.data(), step.upper.back().data()},
                   {layer.out, lower.data(), step.upper.back().data()}, step.private_batch,
                   [&](const OutputBlock& block) {
                       const std::lock_guard lock(mutex);
                       for (std::size_t o = 0; o < layer.out; ++o) {
                           for (std::size_t i = 0; i < block.count; ++i) {
                               const std::size_t at = o * block.stride + i;
                               count += block.lower[at] <= 0 && block.upper[at] > 0 ? 1 : 0;
                           }
                       }
                   });
    return count;
}

TEST(Engine, CountsActivationsThatMayChangeSignInTheLargestBox) {
    const auto host = make_host_executed_backend(ample);
    const auto cpu = make_backend("cpu");
    std::int64_t counted = 0;
    for (const std::uint64_t seed : {1U, 17U, 25U, 33U, 49U}) {  // without public records
        const StepCase step = random_step(seed);
        ASSERT_TRUE(step.public_batch.empty());
        const std::int64_t expected = undecided_by_outputs(step, *cpu);
        EXPECT_EQ(step.by(*cpu).undecided[0], expected) << "seed " << seed;
        EXPECT_EQ(step.by(*host).undecided[0], expected) << "seed " << seed;
        counted += expected;
    }
    EXPECT_GT(counted, 0);
}

// One engine, steps of different batches and levels one after another: nothing of a step is left in the next.
TEST(Engine, ForgetsTheStepBefore) {
    StepCase step = random_step(14);
    const auto host = make_host_executed_backend(ample);
    const auto cpu = make_backend("cpu");
    const auto engine = step.engine(*host);
    for (const std::size_t keep : {1000U, 5U, 300U, 0U, 1U}) {
        StepCase part = step;
        part.private_batch.resize(std::min(keep, part.private_batch.size()));
        if (keep == 5) {
            part.lower.resize(1);
            part.ks.resize(1);
            part.selected.resize(1);
        }
        expect_same(part.by(*cpu), part.by(*engine), part);
    }
}

TEST(Engine, TrainsToTheSameBytes) {
    const auto alone = make_serial_communicator();
    for (const Settings& settings : trainings()) {
        const std::vector<std::byte> expected = trained(settings, make_backend("cpu"), *alone);
        ASSERT_EQ(trained(settings, make_host_executed_backend(ample), *alone), expected);
        ASSERT_EQ(trained(settings, make_host_executed_backend(60000), *alone), expected);
    }
}

/// Two ranks in one: every sum doubles, in the device's memory, which is the host's here.
class DoublingCommunicator final : public QuietCommunicator {
  public:
    explicit DoublingCommunicator(bool on_device) : on_device_(on_device) {}
    void sum(std::span<std::int64_t> values) const override {
        for (std::int64_t& value : values) value *= 2;
        ++host_sums;
    }
    bool sums_on_device() const override { return on_device_; }
    void sum(DeviceSpan span) const override {
        for (std::size_t i = 0; i < span.size; ++i) span.data[i] *= 2;
        ++device_sums;
    }

    mutable int host_sums = 0, device_sums = 0;

  private:
    bool on_device_;
};

TEST(Engine, SumsAcrossRanksWhereTheTransportDoes) {
    const DoublingCommunicator on_host(false), on_device(true);
    for (const Settings& settings : trainings()) {
        const std::vector<std::byte> expected = trained(settings, make_backend("cpu"), on_host);
        EXPECT_EQ(trained(settings, make_host_executed_backend(ample), on_host), expected);
        EXPECT_EQ(trained(settings, make_host_executed_backend(ample), on_device), expected);
        EXPECT_EQ(on_host.device_sums, 0);
        EXPECT_EQ(2 * on_device.device_sums, on_host.host_sums);
        EXPECT_EQ(on_device.host_sums, 0);
    }
}

struct StepPlans : testing::Test {
    NetworkShape network{{{{50, 40}}, {{40, 10}}}, Loss::cross_entropy};
    std::int64_t lower = 0, upper = 0;
    std::vector<Variant> levels;

    StepPlans() {
        levels.push_back({&lower, &lower, 0});
        for (int k = 1; k <= 20; ++k) levels.push_back({&lower, &upper, 0});
    }
    device::StepPlan plan(std::size_t memory) const {
        return device::plan_step(network, levels, 100000, 8192, memory);
    }
};

TEST_F(StepPlans, PutAllLevelsOfAKindTogetherIfTheyFit) {
    const device::StepPlan roomy = plan(ample);
    EXPECT_EQ(roomy.chunk, 8192U);
    ASSERT_EQ(roomy.groups.size(), 2U);
    EXPECT_TRUE(roomy.groups[0].is_point);
    EXPECT_EQ(roomy.groups[1].first, 1U);
    EXPECT_EQ(roomy.groups[1].last, 21U);
}

TEST_F(StepPlans, ShrinkChunksBeforeTheyPartLevelsAndStayInMemory) {
    std::size_t chunk = 8192, groups = 2, memory = ample;
    bool parted = false;
    for (; chunk > 64; memory -= memory / 20) {
        const device::StepPlan next = plan(memory);
        EXPECT_LE(device::workspace_bytes(network, next), memory);
        EXPECT_LE(next.chunk, chunk);
        if (next.groups.size() > 2) {
            EXPECT_LE(next.chunk, 1024U);
        }
        parted |= next.groups.size() > groups;
        for (std::size_t group = 1; group < next.groups.size(); ++group)
            EXPECT_EQ(next.groups[group].first, next.groups[group - 1].last);
        EXPECT_EQ(next.groups.back().last, levels.size());
        chunk = next.chunk;
    }
    EXPECT_TRUE(parted);
    EXPECT_THROW(plan(memory / 4), Error);
}

}  // namespace
}  // namespace holdfast
