// Clips in the norm, of boxes (models/mathematics.md, record scales; scaled entry): every backend's bounds
// hold the points of the box and the bounds of smaller boxes, bit by bit; and a point is scaled as it should
// be.

#include "kernels/ops/record_scales.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/nets/network.hpp"
#include "tests/support/host_executed.hpp"

namespace holdfast {
namespace record_scales_test {

using Vector = std::vector<double>;

double norm(const Vector& values) {
    double square = 0;
    for (const double value : values) square += value * value;
    return std::sqrt(square);
}

Vector scaled(const Vector& values, double limit) {
    Vector result = values;
    const double norm_of = norm(values);
    for (double& value : result) value *= norm_of > limit ? limit / norm_of : 1;
    return result;
}

/// The box of clipped points of [lower, upper], by the rule.
std::pair<Vector, Vector> rule_of(const Vector& lower, const Vector& upper, double limit) {
    SquareBounds square;
    for (std::size_t i = 0; i < lower.size(); ++i) square.add(lower[i], upper[i]);
    const RecordScale<double> scale = scale_to<double>(limit, square);
    std::pair<Vector, Vector> box;
    for (std::size_t i = 0; i < lower.size(); ++i) {
        box.first.push_back(std::min(scale.least * lower[i], scale.greatest * lower[i]));
        box.second.push_back(std::max(scale.least * upper[i], scale.greatest * upper[i]));
    }
    return box;
}

bool escapes(const Vector& point, const Vector& lower, const Vector& upper) {
    for (std::size_t i = 0; i < point.size(); ++i) {
        if (point[i] < lower[i] - 1e-5 || point[i] > upper[i] + 1e-5) return true;
    }
    return false;
}

// Scaling each end by its own norm lets points escape: the ends of a box need not have the norms of its
// points.
TEST(RecordScales, HoldWhereTheEndsScaledByTheirOwnNormsDoNot) {
    std::mt19937_64 engine(1);
    std::uniform_real_distribution<double> part;
    std::normal_distribution<double> normal;
    int wrong = 0, ours = 0;
    constexpr int cases = 20000;
    for (int i = 0; i < cases; ++i) {
        const std::size_t size = 2 + engine() % 5;
        Vector lower(size), upper(size), point(size);
        for (std::size_t j = 0; j < size; ++j) {
            lower[j] = normal(engine);
            upper[j] = lower[j] + 2 * part(engine);
            point[j] = lower[j] + part(engine) * (upper[j] - lower[j]);
        }
        const double limit = 0.2 + 2 * part(engine);
        const Vector clipped = scaled(point, limit);
        const auto [least, greatest] = rule_of(lower, upper, limit);
        ours += escapes(clipped, least, greatest) ? 1 : 0;
        wrong += escapes(clipped, scaled(lower, limit), scaled(upper, limit)) ? 1 : 0;
    }
    EXPECT_EQ(ours, 0);
    EXPECT_GT(wrong, cases / 4);
}

TEST(RecordScales, OfWhatIsInfiniteAreNothingAndOfNothingOne) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(scale_to(0.5, infinity), 0);
    EXPECT_EQ(scale_to(0.5, 0), 1);
    EXPECT_LT(scale_to(0.5, 1), 0.5);
    EXPECT_NEAR(scale_to(0.5, 1), 0.5, 1e-6);
    SquareBounds across;
    across.add(-2, 1);
    EXPECT_EQ(across.least, 0);
    EXPECT_EQ(across.greatest, 4);
    SquareBounds below;
    below.add(-3, -2);
    EXPECT_EQ(below.least, 4);
    EXPECT_EQ(below.greatest, 9);
}

using Units = std::vector<std::int64_t>;

struct Problem {
    Network network;
    Clip clip;
    std::vector<double> features;
    std::vector<std::int32_t> labels;

    /// The message of a step over the records from `first` to `last`, at the boxes given.
    std::vector<std::int64_t> message(const Backend& backend, const std::vector<Variant>& boxes,
                                      std::uint32_t first, std::uint32_t last, const Clip& by) const {
        const auto engine = backend.engine(network.shape(), by);
        engine->set_records(
            std::vector<RecordSet>{{nullptr, features.data(), labels.data(), labels.size(), true}});
        std::vector<std::uint32_t> indices;
        for (std::uint32_t i = first; i < last; ++i) indices.push_back(i);
        engine->run(boxes, std::vector<std::span<const std::uint32_t>>{indices});
        const auto message = engine->finish();
        return {message.begin(), message.end()};
    }
};

Problem random_problem(std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    const std::size_t inputs = 1 + engine() % 12, classes = 2 + engine() % 2;
    std::vector<std::size_t> hidden(engine() % 3);
    for (std::size_t& width : hidden) width = 1 + engine() % 9;
    const Loss loss = classes == 2 && seed % 2 == 0 ? Loss::binary_cross_entropy : Loss::cross_entropy;
    Problem problem{Network(inputs, hidden, classes, loss),
                    {.kind = seed % 3 == 0 ? Clip::Kind::record_norm : Clip::Kind::tensor_norm,
                     .norm_limit = std::ldexp(1.0, 1 - static_cast<int>(engine() % 6))},
                    {},
                    {}};
    std::normal_distribution<double> normal;
    const std::size_t records = 1 + engine() % 20;
    for (std::size_t i = 0; i < records; ++i) {
        for (std::size_t j = 0; j < inputs; ++j) {
            double value = engine() % 8 == 0 ? 0 : normal(engine);
            if (engine() % 32 == 0) value *= std::ldexp(1.0, static_cast<int>(engine() % 2000) - 1000);
            problem.features.push_back(value);
        }
        problem.labels.push_back(static_cast<std::int32_t>(engine() % classes));
    }
    return problem;
}

/// A point, and boxes around it, each in the next.
struct Nest {
    Units point, inner_lower, inner_upper, outer_lower, outer_upper;

    Nest(const Problem& problem, std::uint64_t seed) : point(problem.network.initial_parameters(seed, 0)) {
        std::mt19937_64 engine(seed + 1);
        const double radius = std::ldexp(1.0, -static_cast<int>(engine() % 30));
        inner_lower = inner_upper = outer_lower = outer_upper = point;
        const auto width = [&] { return parameter_units(radius * static_cast<double>(engine() % 3)); };
        for (std::size_t p = 0; p < point.size(); ++p) {
            inner_lower[p] -= width();
            inner_upper[p] += width();
            outer_lower[p] = inner_lower[p] - width();
            outer_upper[p] = inner_upper[p] + width();
        }
    }
    std::vector<Variant> variants() const {
        return {{point.data(), point.data()},
                {inner_lower.data(), inner_upper.data()},
                {outer_lower.data(), outer_upper.data()}};
    }
};

struct RecordScalesOf : testing::TestWithParam<Precision> {};

TEST_P(RecordScalesOf, HoldPointsAndSubBoxesOnEveryBackend) {
    int narrower = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const Problem problem = random_problem(seed);
        const Nest nest(problem, seed);
        const auto boxes = nest.variants();
        const auto records = static_cast<std::uint32_t>(problem.labels.size());
        const StepMessage layout = StepMessage::of(3, problem.network.shape());
        const auto reference = make_backend("reference", GetParam()), cpu = make_backend("cpu", GetParam());
        ASSERT_EQ(problem.message(*reference, boxes, 0, records, problem.clip),
                  problem.message(*cpu, boxes, 0, records, problem.clip))
            << "seed " << seed;
        const std::int64_t most = problem.clip.scale(GetParam()).weight_units;
        for (std::uint32_t record = 0; record < records; ++record) {
            const auto sums = problem.message(*cpu, boxes, record, record + 1, problem.clip);
            for (std::size_t p = 0; p < layout.parameters; ++p) {
                const std::int64_t value = sums[layout.lower(0) + p];
                ASSERT_EQ(value, sums[layout.upper(0) + p]);
                ASSERT_LE(sums[layout.lower(1) + p], value) << "seed " << seed << ", entry " << p;
                ASSERT_GE(sums[layout.upper(1) + p], value) << "seed " << seed << ", entry " << p;
                ASSERT_LE(sums[layout.lower(2) + p], sums[layout.lower(1) + p]) << "seed " << seed;
                ASSERT_GE(sums[layout.upper(2) + p], sums[layout.upper(1) + p]) << "seed " << seed;
                ASSERT_LE(-most, sums[layout.lower(2) + p]);
                ASSERT_GE(most, sums[layout.upper(2) + p]);
                narrower += sums[layout.upper(2) + p] > sums[layout.upper(1) + p] ? 1 : 0;
            }
        }
    }
    EXPECT_GT(narrower, 1000);
}

// A gradient that no clip touched, scaled by hand, tensor by tensor or as a whole.
TEST_P(RecordScalesOf, ScaleAPointToItsNorm) {
    const double unit_error = GetParam() == Precision::double_precision ? 1e-9 : 2e-3;
    int scaled_ones = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        Problem problem = random_problem(seed);
        for (double& value : problem.features) value = std::abs(value) > 1e3 ? 3 : value;
        const Nest nest(problem, seed);
        const std::vector<Variant> point{nest.variants().front()};
        const StepMessage layout = StepMessage::of(1, problem.network.shape());
        const Clip none{.kind = Clip::Kind::elementwise, .gamma = 64};
        const auto backend = make_backend("cpu", GetParam()),
                   exact = make_backend("reference", Precision::double_precision);
        const double unit = std::ldexp(1.0, problem.clip.scale(GetParam()).exponent),
                     whole_unit = std::ldexp(1.0, none.scale(Precision::double_precision).exponent);
        const auto raw = problem.message(*exact, point, 0, 1, none),
                   ours = problem.message(*backend, point, 0, 1, problem.clip);
        const std::vector<bool> biases = problem.network.biases();
        std::size_t p = 0;
        std::vector<std::vector<std::size_t>> tensors;
        for (const Layer& layer : problem.network.layers()) {
            if (tensors.empty() || problem.clip.kind == Clip::Kind::tensor_norm)
                tensors.resize(tensors.size() + (problem.clip.kind == Clip::Kind::tensor_norm ? 2 : 1));
            for (const std::size_t end = p + layer.parameters(); p < end; ++p) {
                const bool apart = problem.clip.kind == Clip::Kind::tensor_norm && !biases[p];
                tensors[tensors.size() - (apart ? 2 : 1)].push_back(p);
            }
        }
        for (const std::vector<std::size_t>& tensor : tensors) {
            Vector values;
            for (const std::size_t at : tensor)
                values.push_back(static_cast<double>(raw[layout.lower(0) + at]) * whole_unit);
            const double scale = scale_to(problem.clip.norm_limit, norm(values) * norm(values));
            scaled_ones += scale < 1 ? 1 : 0;
            for (std::size_t i = 0; i < tensor.size(); ++i)
                ASSERT_NEAR(static_cast<double>(ours[layout.lower(0) + tensor[i]]) * unit, scale * values[i],
                            unit_error)
                    << "seed " << seed << ", parameter " << tensor[i];
        }
    }
    EXPECT_GT(scaled_ones, 50);
}

INSTANTIATE_TEST_SUITE_P(Precisions, RecordScalesOf,
                         testing::Values(Precision::double_precision, Precision::single_precision),
                         [](const auto& info) {
                             return info.param == Precision::single_precision ? "single" : "double";
                         });

TEST(RecordScales, AreRefusedByADevice) {
    const auto device = make_host_executed_backend(std::size_t{1} << 30);
    try {
        device->engine(Network(2, {}, 2, Loss::cross_entropy).shape(), random_problem(1).clip);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_NE(error.hint().find("run.backend=cpu"), std::string::npos);
    }
}

}  // namespace record_scales_test
}  // namespace holdfast
