// Every operation on every backend against plain loops: bitwise equality is the contract of
// kernels/ops/backend.hpp.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/backends.hpp"
#include "kernels/base/aligned.hpp"
#include "kernels/base/random.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "tests/support/gpu.hpp"

namespace holdfast {
namespace {

using Panel = AlignedVector<double>;

/// Values of many magnitudes and signs, with zeros, signed zeros, subnormals and equal bounds among them.
class Values {
  public:
    explicit Values(std::uint64_t seed) : hash_{seed} {}
    double any() {
        const std::uint64_t kind = hash_(1, next_) % 16;
        const double value =
            std::ldexp(hash_.uniform(2, next_) - 0.5, static_cast<int>(hash_(3, next_) % 12) - 8);
        ++next_;
        if (kind == 0) return 0.0;
        if (kind == 1) return -0.0;
        if (kind == 2) return std::copysign(0x1p-1060, value);
        return value;
    }
    double nonnegative() { return std::abs(any()); }
    std::int64_t units() { return parameter_units(any()); }
    std::int64_t radius() {
        const double spread = any();
        return spread < 0.01 ? 0 : parameter_units(spread);
    }

  private:
    KeyedHash hash_;
    std::uint64_t next_ = 0;
};

struct Bounds {
    Panel lower, upper;
    Interval view() { return {lower.data(), upper.data()}; }
    ConstInterval view() const { return {lower.data(), upper.data()}; }
};

Bounds empty_bounds(std::size_t rows) {
    return {Panel(rows * panel_height), Panel(rows * panel_height)};
}

template <typename Draw>
Bounds random_bounds(std::size_t rows, Draw draw) {
    Bounds bounds = empty_bounds(rows);
    for (std::size_t i = 0; i < rows * panel_height; ++i) {
        const double a = draw(), b = draw();
        bounds.lower[i] = std::min(a, b);
        bounds.upper[i] = std::max(a, b);
    }
    return bounds;
}

struct Weights {
    std::vector<std::int64_t> lower, upper;
    Weights(LayerShape shape, Values& values) : lower(shape.parameters()), upper(shape.parameters()) {
        for (std::size_t p = 0; p < lower.size(); ++p) {
            lower[p] = values.units();
            upper[p] = lower[p] + values.radius();
        }
    }
};

struct BackendTest : testing::TestWithParam<std::tuple<std::string, LayerShape>> {
    std::unique_ptr<Backend> reference = make_backend("reference");
    std::unique_ptr<Backend> tested;
    LayerShape shape = std::get<1>(GetParam());
    Values values{shape.in * 1000 + shape.out};
    Weights weights{shape, values};

    void SetUp() override {
        HOLDFAST_SKIP_WITHOUT_DEVICE(std::get<0>(GetParam()));
        tested = backend_for_test(std::get<0>(GetParam()));
        ASSERT_EQ(tested->name(), std::get<0>(GetParam()));
    }

    std::unique_ptr<PackedLayer> pack(const Backend& backend, bool point) {
        return backend.pack(shape, weights.lower.data(), point ? weights.lower.data() : weights.upper.data());
    }
};

void expect_equal(const Panel& expected, const Panel& actual, const char* what) {
    ASSERT_EQ(expected.size(), actual.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(expected[i], actual[i]) << what << " at " << i;
}
void expect_equal(const Bounds& expected, const Bounds& actual) {
    expect_equal(expected.lower, actual.lower, "lower");
    expect_equal(expected.upper, actual.upper, "upper");
}

TEST_P(BackendTest, ForwardInput) {
    for (const bool only_nonnegative : {false, true}) {
        Panel x(shape.in * panel_height);
        for (double& value : x) value = only_nonnegative ? values.nonnegative() : values.any();
        Bounds expected = empty_bounds(shape.out), actual = empty_bounds(shape.out);
        reference->forward_input(*pack(*reference, false), x.data(), expected.view());
        tested->forward_input(*pack(*tested, false), x.data(), actual.view());
        expect_equal(expected, actual);

        reference->forward_input(*pack(*reference, true), x.data(),
                                 {expected.lower.data(), expected.lower.data()});
        tested->forward_input(*pack(*tested, true), x.data(), {actual.lower.data(), actual.lower.data()});
        expect_equal(expected.lower, actual.lower, "point");
    }
}

TEST_P(BackendTest, Forward) {
    const Bounds z = random_bounds(shape.in, [&] { return values.nonnegative(); });
    Bounds expected = empty_bounds(shape.out), actual = empty_bounds(shape.out);
    reference->forward(*pack(*reference, false), z.view(), expected.view());
    tested->forward(*pack(*tested, false), z.view(), actual.view());
    expect_equal(expected, actual);

    reference->forward(*pack(*reference, true), {z.lower.data(), z.lower.data()},
                       {expected.lower.data(), expected.lower.data()});
    tested->forward(*pack(*tested, true), {z.lower.data(), z.lower.data()},
                    {actual.lower.data(), actual.lower.data()});
    expect_equal(expected.lower, actual.lower, "point");
}

TEST_P(BackendTest, Relu) {
    Bounds expected = random_bounds(shape.out, [&] { return values.any(); }), actual = expected;
    reference->relu(shape.out, expected.view());
    tested->relu(shape.out, actual.view());
    expect_equal(expected, actual);
}

TEST_P(BackendTest, AllFiniteFindsOneBadValue) {
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        Bounds a = random_bounds(shape.out, [&] { return values.any(); });
        EXPECT_TRUE(tested->all_finite(shape.out, a.view()));
        a.upper.back() = bad;
        EXPECT_FALSE(tested->all_finite(shape.out, a.view()));
    }
}

TEST_P(BackendTest, Backward) {
    const Bounds z = random_bounds(shape.in, [&] { return std::max(0.0, values.any()); });
    const Bounds delta = random_bounds(shape.out, [&] { return values.any(); });
    Bounds expected = empty_bounds(shape.in), actual = empty_bounds(shape.in);
    reference->backward(*pack(*reference, false), delta.view(), z.view(), expected.view());
    tested->backward(*pack(*tested, false), delta.view(), z.view(), actual.view());
    expect_equal(expected, actual);

    const ConstInterval delta_point{delta.lower.data(), delta.lower.data()},
        z_point{z.lower.data(), z.lower.data()};
    reference->backward(*pack(*reference, true), delta_point, z_point,
                        {expected.lower.data(), expected.lower.data()});
    tested->backward(*pack(*tested, true), delta_point, z_point, {actual.lower.data(), actual.lower.data()});
    expect_equal(expected.lower, actual.lower, "point");
}

TEST_P(BackendTest, LossGradient) {
    const Bounds logits = random_bounds(shape.out, [&] { return 100 * values.any(); });
    std::vector<std::int32_t> labels(panel_height);
    for (std::size_t r = 0; r < labels.size(); ++r)
        labels[r] = static_cast<std::int32_t>(r % std::max<std::size_t>(shape.out, 2));
    for (const Loss loss : {Loss::binary_cross_entropy, Loss::cross_entropy}) {
        const std::size_t outputs = loss == Loss::binary_cross_entropy ? 1 : shape.out;
        Bounds expected = empty_bounds(shape.out), actual = empty_bounds(shape.out);
        reference->loss_gradient(loss, outputs, logits.view(), labels.data(), 100, expected.view());
        tested->loss_gradient(loss, outputs, logits.view(), labels.data(), 100, actual.view());
        expect_equal(expected, actual);
        for (std::size_t i = 0; i < outputs * panel_height; ++i) ASSERT_LE(actual.lower[i], actual.upper[i]);
    }
}

std::vector<Clip> clips() {
    return {{.kind = Clip::Kind::elementwise, .gamma = 0.06},
            {.kind = Clip::Kind::factored, .gamma = 0.06, .delta_limit = 0.2, .activation_limit = 0.3}};
}

TEST_P(BackendTest, Accumulate) {
    const std::size_t stride = row_stride(shape.in);
    for (const Clip& clip : clips()) {
        for (const bool input : {false, true}) {
            const Bounds delta = random_bounds(shape.out, [&] { return values.any(); });
            const Bounds z =
                random_bounds(shape.in, [&] { return input ? values.any() : values.nonnegative(); });
            Panel lower_rows(panel_height * stride), upper_rows(panel_height * stride);
            tested->transpose(shape.in, z.lower.data(), lower_rows.data(), stride);
            tested->transpose(shape.in, z.upper.data(), upper_rows.data(), stride);
            const ConstInterval rows{lower_rows.data(), input ? lower_rows.data() : upper_rows.data()};
            for (const bool point : {false, true}) {
                if (point && !input) continue;
                const ConstInterval gradient{delta.lower.data(),
                                             point ? delta.lower.data() : delta.upper.data()};
                std::vector<std::int64_t> expected(2 * shape.parameters(), 5), actual = expected;
                const auto upper_of = [&](std::vector<std::int64_t>& sums) {
                    return sums.data() + (point ? 0 : shape.parameters());
                };
                reference->accumulate(shape, clip, gradient, rows, stride, expected.data(),
                                      upper_of(expected));
                tested->accumulate(shape, clip, gradient, rows, stride, actual.data(), upper_of(actual));
                ASSERT_EQ(expected, actual);
            }
        }
    }
}

TEST_P(BackendTest, AccumulateAndSelect) {
    const std::size_t stride = row_stride(shape.in);
    const Clip clip = clips().front();
    Bounds delta = random_bounds(shape.out, [&] { return values.any(); });
    for (std::size_t i = 0; i < delta.lower.size(); ++i) {
        if (i % panel_height >= 100) delta.lower[i] = delta.upper[i] = 0.0;
    }
    const ConstInterval gradient = delta.view();
    const Bounds z = random_bounds(shape.in, [&] { return values.nonnegative(); });
    Panel lower_rows(panel_height * stride), upper_rows(panel_height * stride);
    tested->transpose(shape.in, z.lower.data(), lower_rows.data(), stride);
    tested->transpose(shape.in, z.upper.data(), upper_rows.data(), stride);
    const ConstInterval rows{lower_rows.data(), upper_rows.data()};
    for (const std::size_t count : {1, 3, 200}) {
        std::vector<std::int64_t> expected(2 * shape.parameters(), 3), actual = expected;
        std::vector<Selection> sets;
        for (int set = 0; set < 4; ++set) sets.emplace_back(shape.parameters() + 2, count);
        reference->accumulate_and_select(shape, clip, gradient, rows, stride, 100, expected.data(),
                                         expected.data() + shape.parameters(), 2, sets[0], sets[1]);
        tested->accumulate_and_select(shape, clip, gradient, rows, stride, 100, actual.data(),
                                      actual.data() + shape.parameters(), 2, sets[2], sets[3]);
        ASSERT_EQ(expected, actual);
        for (std::size_t entry = 0; entry < sets[0].entries(); ++entry) {
            for (int side = 0; side < 2; ++side) {
                const auto sorted = [&](Selection& set) {
                    std::vector<std::int64_t> kept(set.values(entry).begin(), set.values(entry).end());
                    std::sort(kept.begin(), kept.end());
                    return kept;
                };
                ASSERT_EQ(sorted(sets[side]), sorted(sets[2 + side])) << "entry " << entry;
            }
        }
        EXPECT_EQ(sets[2].values(2).size(), std::min<std::size_t>(count, 100));
        EXPECT_TRUE(sets[2].values(0).empty());
    }
}

std::string test_name(const testing::TestParamInfo<std::tuple<std::string, LayerShape>>& info) {
    const auto& [backend, shape] = info.param;
    const std::string name = backend == "cuda (host)" ? "cuda_on_host" : backend;
    return name + "_" + std::to_string(shape.in) + "x" + std::to_string(shape.out);
}

INSTANTIATE_TEST_SUITE_P(
    AllBackends, BackendTest,
    testing::Combine(testing::Values("cpu", "cuda (host)", "cuda"),
                     testing::Values(LayerShape{1, 1}, LayerShape{6, 1}, LayerShape{7, 2}, LayerShape{8, 5},
                                     LayerShape{13, 9}, LayerShape{16, 4}, LayerShape{33, 17},
                                     LayerShape{64, 3}, LayerShape{70, 66})),
    test_name);

TEST(SimdTarget, IsNamed) {
    EXPECT_FALSE(simd_target().empty());
}

}  // namespace
}  // namespace holdfast
