// A whole gradient is clipped in the integers that are added (kernels/ops/norm_rule.hpp): whatever the record
// and the parameters, |v|_2 <= S; and v is the gradient, scaled, as far as the grid shows it.

#include "kernels/ops/norm_rule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/backends.hpp"
#include "models/nets/network.hpp"
#include "tests/support/convolution_cases.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/host_executed.hpp"

namespace holdfast {
namespace norm_clip_test {

constexpr std::size_t ample = std::size_t{1} << 30;

/// Every backend of a precision, by name.
std::vector<std::shared_ptr<const Backend>> backends(Precision precision) {
    std::vector<std::shared_ptr<const Backend>> all;
    for (const char* name : {"reference", "cpu"})
        all.push_back(make_backend(name, precision, Product::exact, 0));
    if (precision == Precision::double_precision) all.push_back(make_host_executed_backend(ample));
    return all;
}

struct Problem {
    Network network;
    double limit;
    std::vector<std::int64_t> parameters;
    std::vector<double> features;
    std::vector<std::int32_t> labels;
    std::vector<double> targets{};               // of a regression
    std::vector<std::vector<double>> dropout{};  // of images

    std::size_t records() const { return labels.size(); }
    Clip clip() const { return {.kind = Clip::Kind::norm, .norm_limit = limit}; }

    std::unique_ptr<Engine> engine(const Backend& backend, const Clip& by) const {
        auto engine = backend.engine(network.shape(), by);
        RecordSet set{nullptr, features.data(), labels.data(), labels.size(), true};
        if (!targets.empty()) set.targets = targets.data();
        engine->set_records(std::vector{set});
        if (!dropout.empty()) engine->set_dropout(dropout);
        return engine;
    }
    /// The sums of the records from `first` to `last`.
    std::vector<std::int64_t> sums(const Backend& backend, std::size_t first, std::size_t last) const {
        return sums(*engine(backend, clip()), first, last);
    }
    std::vector<std::int64_t> sums(Engine& engine, std::size_t first, std::size_t last) const {
        std::vector<std::uint32_t> indices;
        for (std::size_t i = first; i < last; ++i) indices.push_back(static_cast<std::uint32_t>(i));
        const Variant point{parameters.data(), parameters.data()};
        engine.run({&point, 1}, std::vector<std::span<const std::uint32_t>>{indices});
        const auto message = engine.finish();
        const StepMessage layout = StepMessage::of(1, network.shape());
        const auto begin = message.begin() + static_cast<std::ptrdiff_t>(layout.lower(0));
        return {begin, begin + static_cast<std::ptrdiff_t>(layout.parameters)};
    }
};

/// Ordinary ones, and ones at the ends of every range.
Problem random_problem(std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    const bool regression = seed % 4 == 1;
    const std::size_t inputs = 1 + engine() % 30, classes = regression ? 1 : 2 + engine() % 3;
    std::vector<std::size_t> hidden(engine() % 3);
    for (std::size_t& width : hidden) width = 1 + engine() % 20;
    const Loss loss = regression                      ? Loss::squared_error
                      : classes == 2 && seed % 2 == 0 ? Loss::binary_cross_entropy
                                                      : Loss::cross_entropy;
    Problem problem{Network(inputs, hidden, classes, loss),
                    std::ldexp(1.0 + 0.1 * (seed % 7), 6 - 4 * (seed % 6)),
                    {},
                    {},
                    {}};
    problem.parameters = problem.network.initial_parameters(seed, 0);
    const bool wild = seed % 3 == 0;
    for (std::int64_t& units : problem.parameters) {
        if (wild && engine() % 4 == 0)
            units = engine() % 2 == 0 ? parameter_limit_units : -parameter_limit_units;
    }
    std::normal_distribution<double> normal;
    const std::size_t records = 1 + engine() % 40;
    for (std::size_t i = 0; i < records; ++i) {
        for (std::size_t j = 0; j < inputs; ++j) {
            double value = normal(engine);
            if (engine() % 8 == 0) value = 0;
            if (engine() % 16 == 0) value *= std::ldexp(1.0, static_cast<int>(engine() % 2000) - 1000);
            problem.features.push_back(value);
        }
        problem.labels.push_back(static_cast<std::int32_t>(engine() % classes));
        if (regression)
            problem.targets.push_back(
                normal(engine) *
                std::ldexp(1.0, engine() % 16 == 0 ? static_cast<int>(engine() % 2000) - 1000 : 0));
    }
    return problem;
}

/// An image that pleases no norm: what its positions add cancels, or adds up, or is beyond any bound.
std::vector<double> hard_image(std::size_t pixels, std::mt19937_64& engine) {
    std::normal_distribution<double> normal;
    const std::uint64_t kind = engine() % 8;
    const double size = std::ldexp(1.0, kind == 7 ? static_cast<int>(engine() % 2000) - 1000 : 0);
    std::vector<double> image(pixels, size);
    for (std::size_t i = 0; i < pixels; ++i) {
        if (kind == 0) image[i] = i % 2 == 0 ? 1 : -1;
        if (kind == 1) image[i] = i == pixels / 2 ? 1e3 : 0;
        if (kind == 2) image[i] = std::ldexp(normal(engine), static_cast<int>(engine() % 60) - 30);
        if (kind > 2 && kind < 7) image[i] = normal(engine);
        if (kind == 6 && engine() % 16 == 0) image[i] = engine() % 2 == 0 ? std::nan("") : -HUGE_VAL;
    }
    return image;
}

/// Of a network with convolutions, pooling and dropout.
Problem random_images(std::uint64_t seed, bool hard = true) {
    std::mt19937_64 engine(seed);
    const std::size_t classes = 2 + engine() % 3;
    const Loss loss = classes == 2 && seed % 2 == 0 ? Loss::binary_cross_entropy : Loss::cross_entropy;
    const NetworkShape shape = convolutional_network(seed, loss, logits_of(classes, loss));
    Problem problem{Network(shape.layers, classes, loss),
                    std::ldexp(1.0 + 0.1 * (seed % 7), 6 - 4 * (seed % 6)),
                    {},
                    {},
                    {}};
    problem.parameters = problem.network.initial_parameters(seed, 0);
    for (std::int64_t& units : problem.parameters) {
        if (hard && seed % 3 == 0 && engine() % 4 == 0)
            units = engine() % 2 == 0 ? parameter_limit_units : -parameter_limit_units;
    }
    problem.dropout = dropout_factors(seed, shape);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < 40; ++i) {
        std::vector<double> image = hard_image(problem.network.inputs(), engine);
        for (double& pixel : image) problem.features.push_back(hard ? pixel : normal(engine));
        problem.labels.push_back(static_cast<std::int32_t>(engine() % classes));
    }
    return problem;
}

unsigned __int128 square_of(const std::vector<std::int64_t>& entries) {
    unsigned __int128 sum = 0;
    for (const std::int64_t entry : entries) {
        const auto size = static_cast<unsigned __int128>(std::abs(entry));
        sum += size * size;
    }
    return sum;
}

class NormClip : public testing::TestWithParam<Precision> {};

TEST_P(NormClip, HoldsForEveryRecordAndIsReached) {
    bool reached = false;
    for (std::uint64_t seed = 0; seed < cases_of(40); ++seed) {
        const Problem problem = random_problem(seed);
        const auto all = backends(GetParam());
        const auto limit = static_cast<unsigned __int128>(problem.clip().scale(GetParam()).weight_units);
        for (std::size_t i = 0; i < problem.records(); ++i) {
            const std::vector<std::int64_t> entries = problem.sums(*all[1], i, i + 1);
            ASSERT_TRUE(square_of(entries) <= limit * limit) << "seed " << seed << ", record " << i;
            reached |= 1000 * square_of(entries) >= 997 * limit * limit;
            for (const auto& other : all)
                ASSERT_EQ(problem.sums(*other, i, i + 1), entries) << other->name() << ", seed " << seed;
        }
    }
    EXPECT_TRUE(reached);
}

TEST_P(NormClip, HoldsForEveryRecordThroughConvolutions) {
    const auto all = backends(GetParam());
    std::size_t reached = 0, clips = 0;
    for (std::uint64_t seed = 0; seed < cases_of(350); ++seed) {
        const Problem problem = random_images(seed);
        const auto limit = static_cast<unsigned __int128>(problem.clip().scale(GetParam()).weight_units);
        const auto engine = problem.engine(*all[1], problem.clip());
        for (std::size_t i = 0; i < problem.records(); ++i, ++clips) {
            const std::vector<std::int64_t> entries = problem.sums(*engine, i, i + 1);
            ASSERT_TRUE(square_of(entries) <= limit * limit) << "seed " << seed << ", record " << i;
            reached += 1000 * square_of(entries) >= 997 * limit * limit;
            ASSERT_TRUE(seed >= 24 || i % 8 > 0 || problem.sums(*all[0], i, i + 1) == entries)
                << "seed " << seed << ", record " << i;
        }
    }
    EXPECT_EQ(clips, 40 * cases_of(350));
    EXPECT_GT(reached, clips / 20);
}

// A gradient that no clip by entries clamps tells what this one scales.
TEST(ConvolutionalNorm, IsTheGradientScaled) {
    const auto backend = make_backend("cpu");
    std::size_t shortened = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Problem problem = random_images(seed, false);
        const Clip clip = problem.clip(), whole{.kind = Clip::Kind::elementwise, .gamma = 1024};
        const double unit = std::ldexp(1.0, clip.scale(Precision::double_precision).exponent),
                     fine = std::ldexp(1.0, whole.scale(Precision::double_precision).exponent),
                     inside = NormRule<double>::inside(clip, problem.parameters.size());
        for (std::size_t i = 0; i < 3; ++i) {
            const std::vector<std::int64_t> entries = problem.sums(*backend, i, i + 1),
                                            gradient =
                                                problem.sums(*problem.engine(*backend, whole), i, i + 1);
            double square = 0;
            for (const std::int64_t entry : gradient)
                square += std::pow(static_cast<double>(entry) * fine, 2);
            const double scale = std::min(1.0, inside / std::sqrt(square));
            shortened += scale < 1;
            for (std::size_t p = 0; p < entries.size(); ++p)
                ASSERT_NEAR(static_cast<double>(entries[p]) * unit,
                            static_cast<double>(gradient[p]) * fine * scale, 0.51 * unit + fine)
                    << "seed " << seed << ", parameter " << p;
        }
    }
    EXPECT_GT(shortened, 50U);
}

TEST_P(NormClip, OfManyIsTheSumOfEach) {
    for (std::uint64_t seed = 0; seed < cases_of(20); ++seed) {
        const Problem problem = random_problem(seed);
        for (const auto& backend : backends(GetParam())) {
            std::vector<std::int64_t> total(problem.network.parameters(), 0);
            for (std::size_t i = 0; i < problem.records(); ++i) {
                const std::vector<std::int64_t> entries = problem.sums(*backend, i, i + 1);
                for (std::size_t p = 0; p < total.size(); ++p) total[p] += entries[p];
            }
            ASSERT_EQ(problem.sums(*backend, 0, problem.records()), total)
                << backend->name() << ", seed " << seed;
        }
    }
}

// What a record adds does not depend on who is in its panel.
TEST_P(NormClip, OfImagesIsTheSumOfEach) {
    const auto backend = make_backend("cpu", GetParam());
    for (std::uint64_t seed = 0; seed < cases_of(30); ++seed) {
        const Problem problem = random_images(seed);
        const auto engine = problem.engine(*backend, problem.clip());
        std::vector<std::int64_t> total(problem.network.parameters(), 0);
        for (std::size_t i = 0; i < problem.records(); ++i) {
            const std::vector<std::int64_t> entries = problem.sums(*engine, i, i + 1);
            for (std::size_t p = 0; p < total.size(); ++p) total[p] += entries[p];
        }
        ASSERT_EQ(problem.sums(*engine, 0, problem.records()), total) << "seed " << seed;
    }
}

/// The gradient of a linear model with one logit in long double, clipped.
std::vector<long double> clipped_gradient(const Problem& problem, std::size_t record, double inside) {
    const std::size_t inputs = problem.network.inputs();
    std::vector<long double> entries(inputs + 1, 1);
    long double logit = static_cast<long double>(problem.parameters[inputs]) * 0x1p-50L, square = 1;
    for (std::size_t j = 0; j < inputs; ++j) {
        entries[j] = problem.features[record * inputs + j];
        logit += static_cast<long double>(problem.parameters[j]) * 0x1p-50L * entries[j];
        square += entries[j] * entries[j];
    }
    const long double delta = 1 / (1 + std::exp(-logit)) - problem.labels[record];
    const long double norm = std::abs(delta) * std::sqrt(square);
    const long double scale = norm > inside ? inside / norm : 1;
    for (long double& entry : entries) entry *= delta * scale;
    return entries;
}

TEST_P(NormClip, IsTheGradientScaled) {
    std::mt19937_64 engine(5);
    std::normal_distribution<double> normal;
    const bool single = GetParam() == Precision::single_precision;
    for (const double limit : {0.01, 1.0, 100.0}) {
        Problem problem{Network(9, {}, 2, Loss::binary_cross_entropy), limit, {}, {}, {0, 1, 1, 0}};
        problem.parameters = problem.network.initial_parameters(1, 0);
        for (std::size_t i = 0; i < 36; ++i)
            problem.features.push_back(static_cast<double>(static_cast<float>(normal(engine))));
        const Clip clip = problem.clip();
        const GradientScale scale = clip.scale(GetParam());
        const double unit = std::ldexp(1.0, scale.exponent);
        const double inside = single ? NormRule<float>::inside(clip, 10) : NormRule<double>::inside(clip, 10);
        EXPECT_GT(inside, limit * (single ? 0.999 : 0.999999));
        const auto backend = backends(GetParam())[1];
        for (std::size_t i = 0; i < 4; ++i) {
            const std::vector<std::int64_t> entries = problem.sums(*backend, i, i + 1);
            const std::vector<long double> expected = clipped_gradient(problem, i, inside);
            const double rounding = single ? 1 + std::ldexp(limit / unit, -19) : 0.51;
            for (std::size_t p = 0; p < 10; ++p)
                EXPECT_NEAR(static_cast<double>(entries[p]), static_cast<double>(expected[p] / unit),
                            rounding);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Precisions, NormClip,
                         testing::Values(Precision::double_precision, Precision::single_precision),
                         [](const auto& precision) {
                             return precision.param == Precision::single_precision ? "single" : "double";
                         });

TEST(NormRule, OfAnInfiniteNormIsNothing) {
    const Clip clip{.kind = Clip::Kind::norm, .norm_limit = 1};
    const NormRule<double> rule(clip, 10);
    EXPECT_EQ(rule.scale_of(INFINITY), 0);
    EXPECT_EQ(rule.scale_of(0), 1);
    EXPECT_LT(rule.scale_of(1e300), 1e-149);
}

TEST(NormRule, LeavesNoRoomWhereRoundingFillsIt) {
    const Clip clip{.kind = Clip::Kind::norm, .norm_limit = 1};
    EXPECT_GT(NormRule<float>::inside(clip, 1000000), 0.9);
    EXPECT_LE(NormRule<float>::inside(clip, std::size_t{1} << 32), 0);
}

}  // namespace norm_clip_test
}  // namespace holdfast
