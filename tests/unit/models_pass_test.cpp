// Networks that pass through the same records side by side (kernels/ops/models_pass.hpp): what is added for
// each is, bit by bit, what an engine adds for it alone on the records without the one it leaves out.

#include "kernels/ops/models_pass.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "tests/support/host_executed.hpp"
#include "tests/support/models_cases.hpp"

namespace holdfast {
namespace models_pass_test {

/// Targets as far off as they can be: the plain sum stops at its limit, in either direction.
ModelsProblem beyond_the_grid() {
    ModelsProblem problem({Network(2, {3}, 1, Loss::squared_error), no_clip, 30}, 16, 7);
    for (double& target : problem.targets) target = -1e30;
    return problem;
}
void expect_saturated(const ModelsProblem::Sums& sums, const ModelsProblem::Sums& expected) {
    EXPECT_EQ(sums, expected);
    const auto most = static_cast<std::int64_t>(std::ldexp(Clip::plain_limit, -Clip::plain_exponent));
    EXPECT_EQ(sums[0].back(), most);
}

struct ModelsPassTest : ::testing::TestWithParam<Precision> {};

TEST_P(ModelsPassTest, TheReferenceAddsWhatAnEngineAdds) {
    std::uint64_t seed = 0;
    for (const ModelsCase& of : models_cases()) {
        if (of.clip.kind == Clip::Kind::none) continue;
        const ModelsProblem problem(of, 3, ++seed);
        const auto pass = make_models_pass("reference", GetParam(), problem.network.shape(), problem.clip);
        EXPECT_EQ(pass->models(), 1U);
        const ModelsProblem::Sums sums = problem.by(*pass);
        EXPECT_EQ(sums, problem.by_engine("reference", GetParam())) << seed;
        EXPECT_EQ(sums, problem.by_engine("cpu", GetParam())) << seed;
        EXPECT_EQ(sums, problem.one_by_one(*pass)) << seed;
    }
}

TEST_P(ModelsPassTest, ARecordLeftOutOfAPlainSumIsAsOneThatIsNotThere) {
    std::uint64_t seed = 100;
    for (const ModelsCase& of : models_cases()) {
        if (of.clip.kind != Clip::Kind::none) continue;
        const ModelsProblem problem(of, 5, ++seed);
        const auto pass = make_models_pass("reference", GetParam(), problem.network.shape(), problem.clip);
        EXPECT_EQ(problem.by(*pass), problem.one_by_one(*pass)) << seed;
    }
}

TEST_P(ModelsPassTest, EveryInstructionSetAddsWhatTheReferenceAdds) {
    std::uint64_t seed = 200;
    for (const ModelsCase& of : models_cases()) {
        const ModelsProblem problem(of, 21, ++seed);
        const ModelsProblem::Sums expected = problem.by_reference(GetParam());
        for (const std::string& target : simd_targets()) {
            const SimdTargetOverride on(target);
            const auto pass = make_models_pass("cpu", GetParam(), problem.network.shape(), problem.clip);
            EXPECT_GE(pass->models(), target.starts_with("AVX") ? 4U : 1U) << target;
            EXPECT_EQ(problem.by(*pass), expected) << target << " " << seed;
            EXPECT_EQ(problem.by(*pass), expected) << "nothing is left of an earlier step";
        }
    }
}

TEST_P(ModelsPassTest, WhatWouldGoBeyondTheGridSaturates) {
    const ModelsProblem problem = beyond_the_grid();
    const auto pass = make_models_pass("cpu", GetParam(), problem.network.shape(), problem.clip);
    expect_saturated(problem.by(*pass), problem.by_reference(GetParam()));
}

TEST_P(ModelsPassTest, OtherNetworksAndClipsAreRefused) {
    const Network dense(2, {3}, 2, Loss::cross_entropy);
    const Clip norm{.kind = Clip::Kind::norm, .norm_limit = 1};
    EXPECT_ANY_THROW(make_models_pass("cpu", GetParam(), dense.shape(), norm));
    EXPECT_ANY_THROW(make_backend("cpu", GetParam())->engine(dense.shape(), no_clip));
}

INSTANTIATE_TEST_SUITE_P(Precisions, ModelsPassTest,
                         ::testing::Values(Precision::double_precision, Precision::single_precision));

/// What a device computes, run on the host: so much of its memory.
std::unique_ptr<ModelsPass> on_device(const ModelsProblem& problem, std::size_t memory_bytes,
                                      const DeviceShare& share = {}) {
    return make_host_executed_models_pass(problem.network.shape(), problem.clip, share, memory_bytes);
}
constexpr std::size_t ample = std::size_t{1} << 28;

/// Or nothing: it is too small a device. That it runs out of memory on the way is an error of its own.
std::optional<ModelsProblem::Sums> by_device(const ModelsProblem& problem, std::size_t memory_bytes,
                                             std::size_t networks) {
    const auto pass = on_device(problem, memory_bytes, {.networks = networks});
    try {
        return problem.by(*pass);
    } catch (const Error& error) {
        EXPECT_EQ(error.where(), "run.backend") << error.what();
        EXPECT_NE(error.message().find("does not fit"), std::string::npos) << error.what();
        return std::nullopt;
    }
}

TEST(ModelsPassOnADevice, AddsWhatTheReferenceAdds) {
    std::uint64_t seed = 300;
    for (const ModelsCase& of : models_cases()) {
        const ModelsProblem problem(of, 6, ++seed);
        const ModelsProblem::Sums sums = problem.by_reference(Precision::double_precision);
        const auto pass = on_device(problem, ample, {.networks = 3});
        EXPECT_EQ(pass->models(), 4U);
        EXPECT_EQ(problem.by(*pass), sums) << seed;
        EXPECT_EQ(problem.by(*pass), sums) << "nothing is left of an earlier step";
    }
}

/// From the least memory that takes one: records in chunks of 64 that are brought again for every group,
/// networks by themselves.
TEST(ModelsPassOnADevice, AddsTheSameInWhateverMemory) {
    std::uint64_t seed = 400;
    std::size_t refused = 0;
    for (const ModelsCase& of : models_cases()) {
        const ModelsProblem problem(of, 4, ++seed);
        const ModelsProblem::Sums sums = problem.by_reference(Precision::double_precision);
        // Labels, targets and the two buffers of 64 records.
        const std::size_t of_records = problem.labels.size() * (sizeof(std::int32_t) + sizeof(double)) +
                                       problem.network.inputs() * 2 * 64 * sizeof(double);
        std::size_t added = 0;
        for (std::size_t memory = of_records; added < 5; memory += memory / 3) {
            const auto found = by_device(problem, memory, 2);
            if (!found) {
                EXPECT_EQ(added, 0U) << "less memory was enough";
                ++refused;
                continue;
            }
            EXPECT_EQ(*found, sums) << seed << ", " << memory << " bytes";
            ++added;
        }
    }
    EXPECT_GT(refused, models_cases().size());
}

/// Records that turn out to take most of the memory leave less to the networks than they were counted for.
TEST(ModelsPassOnADevice, NetworksArePartedWhereRecordsTakeTheirRoom) {
    for (const Clip& clip : {elementwise_clip, no_clip}) {
        ModelsProblem problem({Network(1, {30}, 1, Loss::squared_error), clip, 100}, 4, 9);
        problem.without = {99, 0, nothing_left_out, 37};
        const ModelsProblem::Sums sums = problem.by_reference(Precision::double_precision);
        std::size_t memory = 4096;
        while (on_device(problem, memory, {.networks = 4})->models() < 4) memory += memory / 16;
        std::size_t added = 0;
        for (std::size_t left = memory / 4;; left -= memory / 64) {
            const std::size_t a_record = sizeof(float) + sizeof(std::int32_t) + sizeof(double);
            problem.features.resize((memory - left) / a_record);
            problem.labels.resize(problem.features.size());
            problem.targets.resize(problem.features.size());
            const auto found = by_device(problem, memory, 4);
            if (!found) break;
            EXPECT_EQ(*found, sums) << left << " of " << memory << " bytes";
            ++added;
        }
        EXPECT_GT(added, 4U);
    }
}

TEST(ModelsPassOnADevice, AsManyGoSideBySideAsItsShareHolds) {
    const ModelsProblem problem(models_cases().front(), 1, 1);
    const std::size_t all = on_device(problem, ample)->models();
    EXPECT_TRUE(std::has_single_bit(all) && all >= 64) << all;
    EXPECT_EQ(on_device(problem, ample * 16)->models(), 1024U);
    EXPECT_EQ(on_device(problem, ample, {.passes = 4})->models(), all / 4);
    EXPECT_EQ(on_device(problem, ample, {.networks = 33})->models(), 64U);
    EXPECT_EQ(on_device(problem, 1)->models(), 1U);
}

TEST(ModelsPassOnADevice, OtherRecordsTakeThePlaceOfThoseItHolds) {
    for (const ModelsCase& of : models_cases()) {
        const ModelsProblem one(of, 4, 501), other(of, 4, 502);
        const auto pass = on_device(one, ample, {.networks = 4});
        for (const ModelsProblem* problem : {&one, &other, &one})
            EXPECT_EQ(problem->by(*pass), problem->by_reference(Precision::double_precision));
    }
}

TEST(ModelsPassOnADevice, WhatWouldGoBeyondTheGridSaturates) {
    const ModelsProblem problem = beyond_the_grid();
    expect_saturated(problem.by(*on_device(problem, ample, {.networks = 16})),
                     problem.by_reference(Precision::double_precision));
}

TEST(ModelsPassOnADevice, OtherPrecisionsAndClipsAreRefused) {
    const Network dense(2, {3}, 2, Loss::cross_entropy);
    const Clip norm{.kind = Clip::Kind::norm, .norm_limit = 1};
    EXPECT_ANY_THROW(make_host_executed_models_pass(dense.shape(), norm, {}, ample));
    try {
        make_models_pass("cuda", Precision::single_precision, dense.shape(), elementwise_clip);
        FAIL() << "in single precision";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_EQ(error.where(), "training.precision");
        EXPECT_NE(error.hint().find("training.precision=double"), std::string::npos) << error.hint();
    }
}

}  // namespace models_pass_test
}  // namespace holdfast
