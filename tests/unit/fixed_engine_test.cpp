// Whole steps in fixed precision by the CUDA backend's engine, its kernels and its products of integers run
// on the host: every sum, count, selection and output is that of the host's backends, whatever the memory
// makes of levels and records, and wherever the sums of products are cut. tests/gpu does the same on a
// device.

#include <gtest/gtest.h>

#include "kernels/cpu/simd_target.hpp"
#include "kernels/cuda/fixed_product.hpp"
#include "kernels/reference/fixed_operations.hpp"
#include "tests/support/engine_cases.hpp"
#include "tests/support/host_executed.hpp"

namespace holdfast {
namespace fixed_engine_test {

constexpr std::size_t ample = std::size_t{1} << 30;

Arithmetic fixed(int bits) {
    return {Precision::fixed, bits};
}

struct FixedEngines : testing::TestWithParam<std::uint64_t> {
    int bits = GetParam() % 3 == 0 ? 8 : 16;
};

TEST_P(FixedEngines, GiveTheSameBits) {
    expect_same_of_a_device(random_step(GetParam()), fixed(bits), GetParam() % 4 == 0);
}

// As if an int32 held the sums of few products: they go on in 64 bits, in the middle of a part or at its end.
TEST_P(FixedEngines, GiveTheSameWhereverSumsAreCut) {
    const StepCase step = random_step(GetParam() + 1000);
    const auto cpu = make_backend("cpu", fixed(bits));
    for (const int longest : {16, 48, 112}) {
        SCOPED_TRACE("cut at " + std::to_string(longest));
        const auto host = make_host_executed_backend(ample, fixed(bits), longest);
        expect_same(step, *cpu, *host);
    }
}

TEST_P(FixedEngines, GiveTheSameInAnyMemory) {
    expect_same_in_any_memory(random_step(GetParam() + 2000), fixed(bits));
}

// Tiles gather panels: private and public ones, at points and in boxes, with selections and without.
TEST_P(FixedEngines, GiveTheSameByTiles) {
    const StepCase step = random_step(GetParam() + 3000);
    const SimdTargetOverride only("plain tiles");
    expect_same(step, *make_backend("reference", fixed(bits)), *make_backend("cpu", fixed(bits)));
}

INSTANTIATE_TEST_SUITE_P(Seeds, FixedEngines, testing::Range<std::uint64_t>(0, 24));

TEST(FixedEngine, GivesTheBitsOfTheOperationsForAnyFeature) {
    for (const int bits : {16, 8})
        expect_same_for_any_feature(*make_backend("reference", fixed(bits)),
                                    *make_host_executed_backend(ample, fixed(bits)));
}

TEST(FixedEngine, AddsTheLargestProducts) {
    const StepCase step = largest_step();
    for (const int bits : {16, 8}) {
        const auto reference = make_backend("reference", fixed(bits));
        const auto host = make_host_executed_backend(ample, fixed(bits));
        const auto outputs = step.outputs_by(*reference);
        EXPECT_GT(*std::max_element(outputs[1].begin(), outputs[1].end()), 1e3);
        expect_same(step.by(*reference), step.by(*host), step);
        ASSERT_EQ(outputs, step.outputs_by(*host));
    }
}

TEST(FixedEngine, CutsSumsThatAnInt32WouldNotHold) {
    const StepCase step = longest_step();
    const auto outputs = step.outputs_by(*make_backend("reference", fixed(16)));
    EXPECT_EQ(outputs[0][0], 140000 * 0x1p-10 + 0x1p-4);
    ASSERT_EQ(outputs, step.outputs_by(*make_host_executed_backend(ample, fixed(16))));
}

TEST(FixedEngine, TrainsToTheSameBytes) {
    const auto alone = make_serial_communicator();
    std::size_t turn = 0;
    for (Settings settings : trainings()) {
        const int bits = turn++ % 3 == 0 ? 8 : 16;
        settings.training.precision = Precision::fixed;
        settings.training.activation_bits = bits;
        const std::vector<std::byte> expected = trained(settings, make_backend("cpu", fixed(bits)), *alone);
        ASSERT_EQ(trained(settings, make_host_executed_backend(ample, fixed(bits)), *alone), expected);
        ASSERT_EQ(trained(settings, make_host_executed_backend(200000, fixed(bits)), *alone), expected);
    }
}

TEST(FixedEngine, RefusesWhatItHasNoProductsFor) {
    const auto host = make_host_executed_backend(ample, fixed(16));
    const Clip norm{.kind = Clip::Kind::norm, .norm_limit = 1}, elementwise{.gamma = 1};
    const Network network(3, {4}, 2, Loss::cross_entropy);
    EXPECT_THROW(host->engine(network.shape(), norm), Error);
    EXPECT_NO_THROW(host->engine(network.shape(), elementwise));
    const Network wide((std::size_t{1} << 20) + 1, {}, 2, Loss::cross_entropy);
    EXPECT_THROW(host->engine(wide.shape(), elementwise), Error);
}

/// All parts of an end, added.
std::int64_t end_of(device::Operands operands, int end, const std::int32_t (&row)[2],
                    const std::int32_t (&column)[2]) {
    std::int64_t sum = 0;
    for (int part = 0; part < device::parts_of(operands); ++part) {
        const device::Part of_row = row_part(operands, end, part),
                           of_column = column_part(operands, end, part);
        sum += std::int64_t{of_row.of(row[of_row.side])} * of_column.of(column[of_column.side]);
    }
    return sum;
}

TEST(FixedEngine, PartsAddUpToTheProductOfAnyBoxes) {
    using device::Operands;
    for (std::int32_t a = -3; a <= 3; ++a) {
        for (std::int32_t b = a; b <= 3; ++b) {
            for (std::int32_t p = -3; p <= 3; ++p) {
                for (std::int32_t q = p; q <= 3; ++q) {
                    const reference::fixed::IntegerBox expected = reference::fixed::product({a, b}, {p, q});
                    const std::int32_t row[] = {a, b}, column[] = {p, q};
                    const auto expect = [&](Operands operands) {
                        EXPECT_EQ(end_of(operands, 0, row, column), expected.lower);
                        EXPECT_EQ(end_of(operands, 1, row, column), expected.upper);
                    };
                    expect(Operands::boxes);
                    if (p >= 0) expect(Operands::positive_columns);
                    if (p == q) expect(Operands::point_columns);
                    if (p == q && a == b) {
                        EXPECT_EQ(end_of(Operands::points, 0, row, column), expected.lower);
                    }
                }
            }
        }
    }
}

// The longest sum of the largest products is an int32's, and one edge more would not be.
TEST(FixedEngine, CutsSumsWhereAnInt32IsFull) {
    constexpr std::int64_t largest = 128 * 128;
    EXPECT_LE(device::IntegerProduct::longest * largest, INT32_MAX);
    EXPECT_GT((device::IntegerProduct::longest + device::IntegerProduct::edge) * largest, INT32_MAX);
    EXPECT_EQ(device::IntegerProduct::longest % device::IntegerProduct::edge, 0);
}

}  // namespace fixed_engine_test
}  // namespace holdfast
