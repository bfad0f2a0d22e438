// The CUDA backend on a device: whole steps and whole trainings, to the byte. Skips, saying why, where there
// is no device; HOLDFAST_REQUIRE_GPU=1 makes that a failure.

#include <gtest/gtest.h>

#include <bit>

#include "tests/support/engine_cases.hpp"
#include "tests/support/gpu.hpp"
#include "tests/support/models_cases.hpp"

namespace holdfast {
namespace {

struct CudaDevice : testing::Test {
    void SetUp() override {
        HOLDFAST_SKIP_WITHOUT_DEVICE("cuda");
        device = make_backend("cuda");
        ASSERT_EQ(device->name(), "cuda");
    }
    std::shared_ptr<const Backend> device;
};

void expect_same_for_seeds(std::uint64_t seeds, const Backend& expected, const Backend& actual) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        expect_same(random_step(seed), expected, actual);
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST_F(CudaDevice, GivesTheBitsOfTheOperations) {
    expect_same_for_seeds(200, *make_backend("cpu"), *device);
}

TEST_F(CudaDevice, GivesTheBitsOfTheOperationsForAnyFeature) {
    const auto reference = make_backend("reference");
    for (const std::vector<std::size_t>& hidden : std::vector<std::vector<std::size_t>>{{}, {4}, {4, 5}}) {
        for (const double value :
             {1.0, 1e290, 1e301, 1e302, 1e303, 1e305, 1.7e308, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
            const StepCase step = step_with_feature(value, hidden);
            expect_same(step.by(*reference), step.by(*device), step);
        }
    }
}

TEST_F(CudaDevice, TrainsToTheSameBytes) {
    const auto alone = make_serial_communicator();
    for (const Settings& settings : trainings())
        ASSERT_EQ(trained(settings, device, *alone), trained(settings, make_backend("cpu"), *alone));
}

TEST_F(CudaDevice, AddsForNetworksSideBySideWhatTheReferenceAdds) {
    std::uint64_t seed = 0;
    for (const ModelsCase& of : models_cases()) {
        const ModelsProblem problem(of, 70, ++seed);
        const ModelsProblem::Sums sums = problem.by_reference(Precision::double_precision);
        for (const std::size_t networks : {1, 16, 70}) {
            const auto pass = make_models_pass("cuda", Precision::double_precision, problem.network.shape(),
                                               problem.clip, {.networks = networks, .passes = 2});
            ASSERT_EQ(pass->models(), std::bit_ceil(networks));
            ASSERT_EQ(problem.by(*pass), sums) << seed;
            ASSERT_EQ(problem.by(*pass), sums) << "nothing is left of an earlier step";
        }
    }
}

/// In fixed precision, of so many bits: products of integers by cuBLASLt.
struct CudaDeviceInFixed : testing::TestWithParam<int> {
    Arithmetic arithmetic{Precision::fixed, GetParam()};
    void SetUp() override {
        HOLDFAST_SKIP_WITHOUT_DEVICE("cuda");
        device = make_backend("cuda", arithmetic);
        ASSERT_EQ(device->arithmetic().activation_bits, GetParam());
    }
    std::shared_ptr<const Backend> device;
};

TEST_P(CudaDeviceInFixed, GivesTheBitsOfTheOperations) {
    expect_same_for_seeds(100, *make_backend("cpu", arithmetic), *device);
}

TEST_P(CudaDeviceInFixed, GivesTheBitsOfTheOperationsForAnyFeature) {
    expect_same_for_any_feature(*make_backend("reference", arithmetic), *device);
}

TEST_P(CudaDeviceInFixed, AddsTheLargestProducts) {
    expect_same(largest_step(), *make_backend("reference", arithmetic), *device);
}

TEST_P(CudaDeviceInFixed, CutsSumsThatAnInt32WouldNotHold) {
    const StepCase step = longest_step();
    ASSERT_EQ(step.outputs_by(*make_backend("reference", arithmetic)), step.outputs_by(*device));
}

TEST_P(CudaDeviceInFixed, TrainsToTheSameBytes) {
    const auto alone = make_serial_communicator();
    for (Settings settings : trainings()) {
        settings.training.precision = Precision::fixed;
        settings.training.activation_bits = GetParam();
        ASSERT_EQ(trained(settings, device, *alone),
                  trained(settings, make_backend("cpu", arithmetic), *alone));
    }
}

INSTANTIATE_TEST_SUITE_P(Bits, CudaDeviceInFixed, testing::Values(16, 8));

}  // namespace
}  // namespace holdfast
