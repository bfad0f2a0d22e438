// Whole steps of networks with convolutions, pooling and dropout: the backends agree in every bit, boxes hold
// the sums at their points and those of boxes inside, and sums are gradients.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/convolution_cases.hpp"
#include "tests/support/host_executed.hpp"
#include "tests/support/selections.hpp"

namespace holdfast {
namespace {

using Units = std::vector<std::int64_t>;

struct Box {
    Units lower, upper;
    Variant variant(std::size_t selected = 0) const { return {lower.data(), upper.data(), selected}; }
    static Variant point(const Units& at) { return {at.data(), at.data()}; }
};

/// Records, a network and what a step of it gives.
struct Step {
    NetworkShape network;
    Clip clip{.kind = Clip::Kind::elementwise, .gamma = 0.3};
    std::vector<double> features;
    std::vector<std::int32_t> labels;
    std::vector<std::uint32_t> indices;
    std::vector<std::vector<double>> dropout;

    Step(std::uint64_t seed, std::size_t records, Loss loss = Loss::cross_entropy, std::size_t outputs = 3)
        : network(convolutional_network(seed, loss, outputs)) {
        std::mt19937_64 engine(seed + 100);
        std::normal_distribution<double> normal;
        for (std::size_t i = 0; i < records * network.inputs(); ++i) features.push_back(normal(engine));
        for (std::size_t i = 0; i < records; ++i) {
            labels.push_back(static_cast<std::int32_t>(engine() % std::max<std::size_t>(2, outputs)));
            indices.push_back(static_cast<std::uint32_t>(i));
        }
        dropout = dropout_factors(seed, network);
    }

    std::unique_ptr<Engine> engine(const Backend& backend) const {
        auto made = backend.engine(network, clip);
        const RecordSet set{nullptr, features.data(), labels.data(), labels.size(), true};
        made->set_records(std::vector{set});
        made->set_dropout(dropout);
        return made;
    }
    Units message(Engine& made, const std::vector<Variant>& variants) const {
        made.run(variants, std::vector<std::span<const std::uint32_t>>{indices});
        const auto message = made.finish();
        return {message.begin(), message.end()};
    }

    /// About what networks begin with.
    Units parameters(std::uint64_t seed) const {
        std::mt19937_64 engine(seed);
        std::uniform_real_distribution<double> uniform(-1, 1);
        Units all;
        for (const Layer& layer : network.layers) {
            for (std::size_t p = 0; p < layer.parameters(); ++p)
                all.push_back(parameter_units(uniform(engine) / std::sqrt(static_cast<double>(layer.in))));
        }
        return all;
    }
    Box around(const Units& middle, double radius) const {
        Box box{middle, middle};
        for (std::size_t p = 0; p < middle.size(); ++p) {
            box.lower[p] -= parameter_units(radius);
            box.upper[p] += parameter_units(radius);
        }
        return box;
    }
};

class ConvolutionalStep : public testing::TestWithParam<std::uint64_t> {};

TEST_P(ConvolutionalStep, IsTheSameOnBothBackendsInEitherPrecision) {
    Step step(GetParam(), 150);
    const Units middle = step.parameters(GetParam());
    const Box narrow = step.around(middle, 0.001), wide = step.around(middle, 0.05);
    const std::vector<Variant> variants{Box::point(middle), narrow.variant(3), wide.variant(200)};
    for (const bool factored : {false, true}) {
        std::vector<Variant> asked = variants;
        if (factored) {
            step.clip = {
                .kind = Clip::Kind::factored, .gamma = 0.3, .delta_limit = 0.2, .activation_limit = 1.5};
            for (Variant& variant : asked) variant.selected = 0;
        }
        for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
            const auto reference = make_backend("reference", precision), cpu = make_backend("cpu", precision);
            const auto expected = step.engine(*reference), actual = step.engine(*cpu);
            ASSERT_EQ(step.message(*expected, asked), step.message(*actual, asked));
            for (std::size_t v = 0; v < asked.size(); ++v) {
                if (asked[v].selected == 0) continue;
                LeastEntries wanted = expected->take_selection(v), found = actual->take_selection(v);
                ASSERT_EQ(sorted_values(wanted), sorted_values(found));
            }
        }
    }
}

// Inclusion and isotony of a whole step, in integers: also at corners, where a value is likeliest to escape.
TEST_P(ConvolutionalStep, BoxesHoldTheirPointsAndTheBoxesInside) {
    Step step(GetParam(), 40);
    std::mt19937_64 random(GetParam());
    const Units middle = step.parameters(GetParam());
    if (GetParam() % 3 == 0)
        step.clip = {.kind = Clip::Kind::factored, .gamma = 0.3, .delta_limit = 0.2, .activation_limit = 1.5};
    for (const double radius : {0.0005, 0.02, 0.2}) {
        const Box outer = step.around(middle, radius);
        Box inner = outer;
        std::vector<Units> points(4, middle);
        for (std::size_t p = 0; p < middle.size(); ++p) {
            const auto inside = [&] {
                const std::uint64_t kind = random() % 4;
                if (kind < 2) return kind == 0 ? outer.lower[p] : outer.upper[p];
                return outer.lower[p] +
                       static_cast<std::int64_t>(
                           random() % static_cast<std::uint64_t>(outer.upper[p] - outer.lower[p] + 1));
            };
            const auto ends = std::minmax({inside(), inside()});
            inner.lower[p] = ends.first;
            inner.upper[p] = ends.second;
            points[0][p] = random() % 2 == 0 ? inner.lower[p] : inner.upper[p];
            points[1][p] = inner.lower[p] + (inner.upper[p] - inner.lower[p]) / 3;
            points[2][p] = inner.upper[p];
            points[3][p] = inner.lower[p];
        }
        std::vector<Variant> variants{outer.variant(), inner.variant()};
        for (const Units& point : points) variants.push_back(Box::point(point));
        for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
            const auto backend = make_backend("cpu", precision);
            const Units message = step.message(*step.engine(*backend), variants);
            const StepMessage layout = StepMessage::of(variants.size(), step.network);
            std::int64_t width = 0;
            for (std::size_t p = 0; p < middle.size(); ++p) {
                const auto lower = [&](std::size_t v) { return message[layout.lower(v) + p]; };
                const auto upper = [&](std::size_t v) { return message[layout.upper(v) + p]; };
                ASSERT_LE(lower(0), lower(1)) << p;
                ASSERT_LE(upper(1), upper(0)) << p;
                for (std::size_t v = 2; v < variants.size(); ++v) {
                    ASSERT_EQ(lower(v), upper(v));
                    ASSERT_LE(lower(1), lower(v)) << p;
                    ASSERT_LE(lower(v), upper(1)) << p;
                }
                width += upper(1) - lower(1);
            }
            EXPECT_GT(width, 0);
        }
    }
}

// With factors far beyond their limits: the charge of a record is what it can add at most.
TEST_P(ConvolutionalStep, OneRecordAddsAtMostGamma) {
    Step step(GetParam(), 1);
    for (double& feature : step.features) feature *= 100;
    step.dropout.clear();
    for (const bool factored : {false, true}) {
        step.clip = factored ? Clip{.kind = Clip::Kind::factored,
                                    .gamma = 0.0006,
                                    .delta_limit = 0.02,
                                    .activation_limit = 0.03}
                             : Clip{.kind = Clip::Kind::elementwise, .gamma = 0.001};
        const GradientScale scale = step.clip.scale(Precision::double_precision);
        const Units middle = step.parameters(GetParam());
        const Box box = step.around(middle, 0.1);
        const Units message = step.message(*step.engine(*make_backend("cpu")), {box.variant()});
        const StepMessage layout = StepMessage::of(1, step.network);
        std::size_t p = 0;
        double largest = 0;
        for (const Layer& layer : step.network.layers) {
            const auto positions = static_cast<std::int64_t>(factored ? layer.positions() : 1);
            for (std::size_t i = 0; i < layer.parameters(); ++i, ++p) {
                const bool bias = i % (layer.in + 1) == layer.in;
                const std::int64_t gamma = positions * (bias ? scale.bias_units : scale.weight_units);
                const std::int64_t low = message[layout.lower(0) + p], high = message[layout.upper(0) + p];
                ASSERT_LE(-gamma, low);
                ASSERT_LE(high, gamma);
                largest =
                    std::max(largest, static_cast<double>(std::max(-low, high)) / static_cast<double>(gamma));
            }
        }
        EXPECT_GT(largest, 0.9) << "no entry comes near its bound";
    }
}

// Of one record and one parameter at a time: the sum is the loss's difference quotient. What is left out is
// left out of the last layer's weights instead, where the dropped outputs are those of the layer before it.
TEST_P(ConvolutionalStep, SumsAreGradients) {
    Step step(GetParam(), 1, Loss::binary_cross_entropy, 1);
    step.clip.gamma = 1024;
    NetworkShape& network = step.network;
    const std::size_t last = network.last(), in = network.layers[last].in;
    for (std::size_t l = 0; l + 1 < last; ++l) step.dropout[l].clear();
    const std::vector<double> factors =
        last > 0 && !step.dropout[last - 1].empty() ? step.dropout[last - 1] : std::vector<double>(in, 1.0);
    const auto backend = make_backend("cpu");
    const auto engine = step.engine(*backend);
    const Units start = step.parameters(GetParam() + 5);
    const auto loss_at = [&](const Units& parameters) {
        Units behind(parameters.begin() + static_cast<std::ptrdiff_t>(network.offset(last)),
                     parameters.end());
        for (std::size_t j = 0; j < in; ++j)
            behind[j] = static_cast<std::int64_t>(static_cast<double>(behind[j]) * factors[j]);
        double logit = 0;
        engine->outputs(Box::point(parameters), {1, behind.data(), behind.data()}, step.indices,
                        [&](const OutputBlock& block) { logit = block.lower[0]; });
        return std::log1p(std::exp(step.labels[0] == 1 ? -logit : logit));
    };
    const Units message = step.message(*engine, {Box::point(start)});
    const StepMessage layout = StepMessage::of(1, network);
    const double unit = std::ldexp(1.0, step.clip.scale(Precision::double_precision).exponent);
    constexpr std::int64_t change = std::int64_t{1} << 28;  // 2^-22
    std::size_t compared = 0, kinks = 0;
    for (std::size_t p = 0; p < start.size(); p += 1 + start.size() / 150) {
        Units above = start, below = start;
        above[p] += change;
        below[p] -= change;
        const double at = loss_at(start), step_size = 0x1p-22;
        const double right = (loss_at(above) - at) / step_size, left = (at - loss_at(below)) / step_size;
        const double gradient = static_cast<double>(message[layout.lower(0) + p]) * unit;
        ++compared;
        if (std::abs(right - left) > 1e-4) {
            ++kinks;
            continue;
        }
        ASSERT_NEAR(gradient, (right + left) / 2, 2e-6 + 1e-6 * std::abs(gradient)) << "parameter " << p;
    }
    EXPECT_LT(kinks, 1 + compared / 10);
}

// The map is total: any double is a feature.
TEST_P(ConvolutionalStep, CountsAnyFeatureAsOneInItsRange) {
    Step step(GetParam(), 3);
    const Units middle = step.parameters(1);
    const Box box = step.around(middle, 0.1);
    for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
        const auto backend = make_backend("cpu", precision);
        const auto with = [&](double feature) {
            step.features[step.network.inputs() / 2] = feature;
            return step.message(*step.engine(*backend), {box.variant()});
        };
        const Units low = with(default_feature_range.low), high = with(default_feature_range.high);
        EXPECT_EQ(with(-HUGE_VAL), low);
        EXPECT_EQ(with(std::nan("")), low);
        EXPECT_EQ(with(HUGE_VAL), high);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ConvolutionalStep, testing::Range<std::uint64_t>(0, 16));

TEST(ConvolutionalEngine, LeavesNothingOutOfOutputsNorAfterAnEmptySpan) {
    Step step(0, 20);
    for (std::uint64_t seed = 1; step.network.layers[0].dropout == 0; ++seed) step = Step(seed, 20);
    const auto backend = make_backend("cpu");
    const Units middle = step.parameters(3);
    const std::vector<Variant> point{Box::point(middle)};
    const auto engine = step.engine(*backend);
    const Units dropped = step.message(*engine, point);
    engine->set_dropout({});
    const Units whole = step.message(*engine, point);
    EXPECT_NE(dropped, whole);
    step.dropout.clear();
    EXPECT_EQ(step.message(*step.engine(*backend), point), whole);
}

// A mask of 0 and 1 / (1 - part) is the network whose next weights are multiplied by it, as far as what comes
// before goes: what is left out has no gradient.
TEST(ConvolutionalEngine, GivesNoGradientToWhatIsLeftOut) {
    Step step(0, 20);
    NetworkShape& network = step.network;
    network.layers = {{{4, 6}, Convolution{{1, 3, 3}, {2, 2}}, std::nullopt, 0.5}, {{24, 3}}};
    step.features.resize(20 * 9);
    step.dropout = {std::vector<double>(24, 2.0)};
    std::fill_n(step.dropout[0].begin(), 4, 0.0);  // the first channel
    const auto backend = make_backend("cpu");
    const Units message = step.message(*step.engine(*backend), {Box::point(step.parameters(4))});
    const std::size_t first = StepMessage::of(1, network).lower(0);
    for (std::size_t p = 0; p < 5; ++p) EXPECT_EQ(message[first + p], 0);
    for (std::size_t p = 5; p < 10; ++p) EXPECT_NE(message[first + p], 0);
    for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(message[first + 30 + j], 0);
    EXPECT_NE(message[first + 30 + 4], 0);
}

TEST(ConvolutionalEngine, OfADeviceIsRefused) {
    const Step step(0, 1);
    const auto device = make_host_executed_backend(std::size_t{1} << 30);
    try {
        device->engine(step.network, step.clip);
        FAIL() << "made";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_EQ(error.where(), "run.backend");
    }
}

TEST(ConvolutionalEngine, BoundsNoPoisonedRecords) {
    const Step step(0, 1);
    const auto engine = make_backend("cpu")->engine(step.network, step.clip);
    RecordSet set{nullptr, step.features.data(), step.labels.data(), 1, true};
    set.poison.emplace();
    try {
        engine->set_records(std::vector{set});
        FAIL() << "taken";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_EQ(error.where(), "certificate.relation");
    }
}

TEST(ConvolutionalEngine, RefusesFactorsThatFitNoLayer) {
    Step step(0, 1);
    for (Layer& layer : step.network.layers) layer.dropout = 0;
    step.dropout = {std::vector<double>(step.network.layers[0].output_rows(), 1.0)};
    EXPECT_THROW(step.engine(*make_backend("cpu")), Error);
}

}  // namespace
}  // namespace holdfast
