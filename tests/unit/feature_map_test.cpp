#include "models/nets/feature_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "jobs/program/configuration.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "kernels/base/error.hpp"
#include "models/nets/layers.hpp"
#include "models/nets/model_file.hpp"
#include "models/privacy/rational.hpp"
#include "tests/support/records_of.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();
constexpr InputTransform unit_range{.range = {0, 1}};

std::vector<double> row_of(const FeatureMatrix& features, std::size_t row) {
    std::vector<double> values;
    for (std::size_t j = 0; j < features.columns(); ++j) values.push_back(features.at(row, j));
    return values;
}

std::vector<double> mapped(const FeatureMap& map, const std::vector<double>& row, bool wide = true) {
    return row_of(map(records_of({row}, wide)).features, 0);
}

FeatureSettings bins(std::int64_t count, bool keep = false) {
    FeatureSettings settings;
    settings.map = FeatureSettings::Map::bins;
    settings.bins = count;
    settings.keep = keep;
    return settings;
}

TEST(FeatureMap, PutsEveryValueIntoOneBin) {
    const FeatureMap map = bins(4).make(1, unit_range);
    EXPECT_EQ(map.outputs(), 4U);
    const auto bin = [&](double value, bool wide) {
        const std::vector<double> row = mapped(map, {value}, wide);
        EXPECT_EQ(std::count(row.begin(), row.end(), 0.0), 3);
        return std::find(row.begin(), row.end(), 1.0) - row.begin();
    };
    for (const bool wide : {false, true}) {
        for (const auto& [value, expected] : std::vector<std::pair<double, int>>{{-infinity, 0},
                                                                                 {-5, 0},
                                                                                 {nan, 0},
                                                                                 {0, 0},
                                                                                 {0.25F - 0x1p-26F, 0},
                                                                                 {0.25, 1},
                                                                                 {0.5, 2},
                                                                                 {0.74, 2},
                                                                                 {0.75, 3},
                                                                                 {1, 3},
                                                                                 {9, 3},
                                                                                 {infinity, 3}})
            EXPECT_EQ(bin(value, wide), expected) << value;
    }
    EXPECT_EQ(bin(std::nextafter(0.25, 0), true), 0);
}

TEST(FeatureMap, KeepsColumnsAndMultipliesPairs) {
    FeatureSettings settings = bins(2, true);
    settings.edges = {{0.5}};
    settings.pairs = {1, 0};
    settings.hot = 0.25;
    const FeatureMap map = settings.make(2, {0.5, 4, {0, 1}});
    EXPECT_THAT(mapped(map, {0.75, 0.25}), ElementsAre(1, -1, 0, .25, .25, 0, 0, .25, 0, 0));
    EXPECT_THAT(mapped(map, {7, nan}), ElementsAre(2, -2, 0, .25, .25, 0, 0, .25, 0, 0));
    const InputTransform rest = map.network_input();
    EXPECT_EQ(rest.shift, 0);
    EXPECT_EQ(rest.scale, 1);
    EXPECT_EQ(rest.range, (FeatureRange{-2, 2}));
}

TEST(FeatureMap, StandardisesColumnsWithEnoughEdgesBeforeTheirBins) {
    FeatureSettings settings = bins(2);
    settings.edges = {{0.25, 0.5, 0.75}, {0.5}, {0.1, 0.2, 0.4, 0.5, 0.9, 0.95, 1}};
    settings.trend = true;
    settings.hot = 2;
    const FeatureMap map = settings.make(3, unit_range);
    // Middles .5 and .5; spreads (.75 - .25) / 2 and (.95 - .2) / 2. The column of one edge has bins alone.
    EXPECT_THAT(mapped(map, {0.75, 1, 0.875}), ElementsAre(1, 1, 0, 0, 0, 2, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0));
    EXPECT_THAT(mapped(map, {0.25, 0, 0.125}), ElementsAre(-1, -1, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 0, 0, 0, 0));
    EXPECT_EQ(map.network_input().range, (FeatureRange{-3, 3}));
    EXPECT_GE(map.norm_bound(), std::sqrt(3 * 4 + 2 * 9));
    settings.edges = {{0.5, 0.5 + 1e-9, 0.5 + 2e-9}};
    EXPECT_EQ(mapped(settings.make(1, unit_range), {1}).front(), 3) << "cut";
}

TEST(FeatureMap, IsAFunctionOfTheRecordAlone) {
    FeatureSettings settings = bins(7, true);
    settings.pairs = {0, 2, 2, 1};
    const FeatureMap map = settings.make(3, {0.1, 3, {-2, 5}});
    std::vector<std::vector<double>> rows;
    for (int i = 0; i < 50; ++i)
        rows.push_back({0.17 * i - 3, std::sin(i), i % 5 == 0 ? nan : 1.0 / (i + 1)});
    for (const bool wide : {false, true}) {
        const Records all = map(records_of(rows, wide));
        EXPECT_EQ(all.features.wide(), wide);
        EXPECT_EQ(all.features.columns(), 3U + 3 * 7 + 2 * 49);
        for (std::size_t i = 0; i < rows.size(); ++i)
            EXPECT_EQ(row_of(all.features, i), mapped(map, rows[i], wide));
    }
    // Of one value in float and double the same entries, up to the one rounding of a kept column.
    for (const std::vector<double>& row : rows) {
        const std::vector<double> same{static_cast<float>(row[0]), static_cast<float>(row[1]),
                                       static_cast<float>(row[2])};
        std::vector<double> in_double = mapped(map, same, true);
        for (std::size_t j = 0; j < 3; ++j) in_double[j] = static_cast<float>(in_double[j]);
        EXPECT_EQ(mapped(map, same, false), in_double);
    }
}

TEST(FeatureMap, OfNoRecordsHasItsColumnsAndNoneIsTheIdentity) {
    EXPECT_EQ(bins(3).make(2, unit_range)(Records{FeatureMatrix(2, false), {}, {}, {}}).features.columns(),
              6U);
    const InputTransform input{0.5, 2, {-1, 3}};
    const FeatureMap none = FeatureSettings{}.make(2, input);
    EXPECT_EQ(none.outputs(), 2U);
    EXPECT_EQ(none.network_input().shift, 0.5);
    EXPECT_EQ(none.network_input().range, input.range);
    EXPECT_THAT(mapped(none, {7, -9}), ElementsAre(7, -9));
}

/// The square of a row's 2-norm, exactly.
Rational squares_of(const FeatureMatrix& features, std::size_t row) {
    Rational sum(0);
    for (std::size_t j = 0; j < features.columns(); ++j) {
        const Rational entry = Rational(features.at(row, j));
        sum += entry * entry;
    }
    return sum;
}

/// Rows that try to be longer than they may: random ones, and those of extreme entries.
std::vector<std::vector<double>> hostile_rows(std::size_t columns, FeatureRange range) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> inside(range.low, range.high);
    const std::vector<double> extremes{1e308,      -1e308,    infinity,  -infinity, nan,        range.low,
                                       range.high, 0x1p-1074, -0x1p-149, 0x1p-1022, -0x1p-126F, 0};
    std::vector<std::vector<double>> rows;
    for (const double extreme : extremes) rows.emplace_back(columns, extreme);
    for (int i = 0; i < 120; ++i) {
        std::vector<double> row(columns);
        for (double& entry : row)
            entry = i % 3 == 0 ? extremes[random() % extremes.size()] : std::ldexp(inside(random), -(i % 40));
        rows.push_back(row);
    }
    return rows;
}

/// No row of the map, in either precision of the records and of the network, is longer than it says; some
/// row comes within a millionth of `reached` times it.
void expect_norms_within_bound(const FeatureMap& map, double reached) {
    const Rational bound = Rational(map.norm_bound()), most = bound * bound;
    const InputTransform rest = map.network_input();
    double longest = 0;
    for (const bool wide : {false, true}) {
        const Records records = map(records_of(hostile_rows(map.columns(), map.range()), wide));
        const FeatureMatrix& features = records.features;
        ASSERT_EQ(features.columns(), map.outputs());
        FeatureMatrix seen(map.outputs(), true), seen_in_single(map.outputs(), true);
        for (std::size_t i = 0; i < features.rows(); ++i) {
            std::vector<double> row = row_of(features, i), single = row;
            for (double& entry : row) entry = rest.apply<double>(entry);
            for (double& entry : single) entry = rest.apply<float>(entry);
            seen.append(row.data());
            seen_in_single.append(single.data());
            ASSERT_LE(squares_of(seen, i), most) << "row " << i;
            ASSERT_LE(squares_of(seen_in_single, i), most) << "row " << i;
            longest = std::max(longest, std::sqrt(squares_of(seen, i).get_d()));
            // What the map made of a record in double, the network leaves as it is.
            if (wide && !map.is_identity()) {
                ASSERT_EQ(row, row_of(features, i)) << "row " << i;
            }
        }
    }
    EXPECT_GE(longest, reached * map.norm_bound() * (1 - 2e-6));
}

TEST(FeatureMap, NoRowIsLongerThanItsBound) {
    const InputTransform input{0.3, 1.7, {-2, 5}};
    expect_norms_within_bound(FeatureSettings{}.make(3, input), 1);
    expect_norms_within_bound(FeatureSettings{}.make(3, {.range = default_feature_range}), 1);
    expect_norms_within_bound(bins(5).make(7, input), 1);
    expect_norms_within_bound(bins(5, true).make(7, input), 1);
    FeatureSettings hot = bins(5);
    hot.hot = 0.1;  // a float of it is more
    hot.pairs = {0, 1};
    expect_norms_within_bound(hot.make(7, input), 1);
    for (const double limit : {1e-6, 0.7, 1.0, 3.3, 1e6}) {
        FeatureSettings settings = bins(5, true);
        settings.norm_limit = limit;
        EXPECT_EQ(settings.make(7, input).norm_bound(), limit);
        expect_norms_within_bound(settings.make(7, input), limit < 1e6 ? 1 : 0);
        settings.map = FeatureSettings::Map::none;
        expect_norms_within_bound(settings.make(3, input), limit < 1e6 ? 1 : 0);
        expect_norms_within_bound(settings.make(400, {.shift = 1e6, .scale = 1e6}), 1);
        expect_norms_within_bound(settings.make(2, {.scale = 1e6, .range = {-1e308, 1e308}}), 1);
    }
}

TEST(FeatureMap, ClipsWhatIsLongerAndNothingElse) {
    FeatureSettings settings;
    settings.norm_limit = 5;
    const FeatureMap map = settings.make(2, {.range = {-100, 100}});
    EXPECT_FALSE(map.is_identity());
    EXPECT_THAT(mapped(map, {3, 3.9}), ElementsAre(3, 3.9));
    EXPECT_THAT(mapped(map, {30, -40}), ElementsAre(DoubleNear(3, 1e-5), DoubleNear(-4, 1e-5)));
    EXPECT_LT(mapped(map, {3, 4})[1], 4);  // a float of it, or a sum of its squares, may be more than it
    EXPECT_EQ(map.network_input().range, (FeatureRange{-5, 5}));
    settings.norm_limit = 200;
    EXPECT_EQ(settings.make(2, {.range = {50, 100}}).network_input().range, (FeatureRange{0, 100}));
}

TEST(FeatureMap, TakesEdgesAndCountsOfEachColumn) {
    FeatureSettings settings = bins(2);
    settings.column_bins = {2, 1, 4};
    settings.pairs = {2, 0};
    EXPECT_THAT(mapped(settings.make(3, unit_range), {0.6, 0.9, 0.3}),
                ElementsAre(0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0));
    settings.edges = {{0.5}, {0.1, 0.95}, {}};
    settings.pairs = {};
    EXPECT_THAT(mapped(settings.make(3, unit_range), {0.6, 0.9, 0.3}), ElementsAre(0, 1, 0, 1, 0, 1));
}

FeatureSettings fourier(std::int64_t frequencies, bool keep = false) {
    FeatureSettings settings;
    settings.map = FeatureSettings::Map::fourier;
    settings.frequencies = frequencies;
    settings.keep = keep;
    settings.seed = 3;
    return settings;
}

TEST(FourierFeatures, ArePairsOfCosAndSinOfWhatTheNetworkWouldSee) {
    const FeatureMap map = fourier(9, true).make(3, {0.5, 2, {-1, 4}});
    const auto& features = std::get<FourierFeatures>(map.derived());
    const std::vector<double> row{0.7, -9, 3.3}, seen{(0.7 - 0.5) * 2, -3, (3.3 - 0.5) * 2},
        found = mapped(map, row);
    ASSERT_EQ(found.size(), 21U);
    for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(found[j], seen[j], 1e-15);
    for (std::size_t i = 0; i < 9; ++i) {
        double turns = 0;
        for (std::size_t j = 0; j < 3; ++j)
            turns += static_cast<double>(features.frequencies()[3 * i + j]) * 0x1p-40 * seen[j];
        EXPECT_NEAR(found[3 + 2 * i], std::cos(2 * M_PI * turns) / 3, 1e-13);
        EXPECT_NEAR(found[4 + 2 * i], std::sin(2 * M_PI * turns) / 3, 1e-13);
    }
}

TEST(FourierFeatures, AreNormalOfTheSeedAndTheSameEverywhere) {
    const auto drawn = [](std::uint64_t seed, double bandwidth) {
        return FourierFeatures::drawn(40, 500, bandwidth, seed).frequencies();
    };
    const std::vector<std::int64_t> frequencies = drawn(7, 1), wider = drawn(7, 2);
    EXPECT_EQ(frequencies, drawn(7, 1));
    EXPECT_NE(frequencies, drawn(8, 1));
    // Written down once: a file, a run and a model of today must mean the same tomorrow.
    EXPECT_THAT(std::vector<std::int64_t>(frequencies.begin(), frequencies.begin() + 3),
                ElementsAre(-252105691219, 72177086786, -75754031843));
    double sum = 0, squares = 0;
    std::size_t beyond = 0;
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const double turns = static_cast<double>(frequencies[i]) * FourierFeatures::unit * 2 * M_PI;
        sum += turns;
        squares += turns * turns;
        beyond += std::abs(turns) > 1.959964 ? 1 : 0;
        EXPECT_NEAR(static_cast<double>(wider[i]), static_cast<double>(frequencies[i]) / 2, 1);
    }
    const double count = 20000;  // within five of their standard deviations
    EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
    EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2 / count));
    EXPECT_NEAR(static_cast<double>(beyond) / count, 0.05, 5 * std::sqrt(0.05 * 0.95 / count));
}

TEST(FourierFeatures, MultiplyToAGaussianOfTheDistance) {
    FeatureSettings settings = fourier(4000);
    settings.bandwidth = 0.5;
    const FeatureMap map = settings.make(2, {.range = {-3, 3}});
    const std::vector<double> one = mapped(map, {0.2, -0.1});
    for (const auto& [x, y] :
         std::vector<std::pair<double, double>>{{0.2, -0.1}, {0.5, 0.1}, {-0.3, 0.2}, {2, 2}}) {
        const std::vector<double> other = mapped(map, {x, y});
        const double square = (x - 0.2) * (x - 0.2) + (y + 0.1) * (y + 0.1);
        EXPECT_NEAR(std::inner_product(one.begin(), one.end(), other.begin(), 0.0), std::exp(-square / 0.5),
                    0.05);
    }
}

TEST(FourierFeatures, NoRowIsLongerThanItsBound) {
    const InputTransform input{0.3, 1.7, {-2, 5}}, far{.shift = 1e6, .scale = 1e6, .range = {-1e308, 1e308}};
    for (const std::int64_t frequencies : {1, 3, 100}) {
        expect_norms_within_bound(fourier(frequencies).make(3, input), 1);
        expect_norms_within_bound(fourier(frequencies).make(3, far), 1);
        EXPECT_LT(fourier(frequencies).make(3, far).norm_bound(), 1 + 1e-6);
    }
    expect_norms_within_bound(fourier(5, true).make(3, input), 0.9);
    FeatureSettings clipped = fourier(5, true);
    clipped.norm_limit = 1.5;
    expect_norms_within_bound(clipped.make(3, input), 1);
}

TEST(FourierFeatures, AreFunctionsOfTheRecordAlone) {
    const FeatureMap map = fourier(6, true).make(4, {0.1, 3, {-2, 5}});
    const std::vector<std::vector<double>> rows = hostile_rows(4, {-2, 5});
    const Records all = map(records_of(rows, true)), in_float = map(records_of(rows, false));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(row_of(all.features, i), mapped(map, rows[i]));
        // Of what a float file holds, in double the same numbers but for their one rounding.
        std::vector<double> rounded(rows[i].begin(), rows[i].end());
        for (double& entry : rounded) entry = static_cast<float>(entry);
        std::vector<double> expected = mapped(map, rounded);
        for (double& entry : expected) entry = static_cast<float>(entry);
        EXPECT_EQ(row_of(in_float.features, i), expected);
    }
}

/// A public model of three columns, its hidden layers of 4 and 2, in a file.
struct Prefix : testing::Test {
    TemporaryFolder folder;
    std::string path = folder.file("public.h5");
    Network network{3, {4, 2}, 2, Loss::hinge, {0.25, 1.5, {-1, 2}}};

    Model model(std::uint64_t seed) const {
        return {network,
                Precision::double_precision,
                network.initial_parameters(seed, 0),
                "elsewhere",
                "a",
                "b",
                {{"status", "not differentially private"},
                 {"statement", "a model"},
                 {"relation", ""},
                 {"conditions", nlohmann::json::array()}},
                nullptr};
    }
    FeatureSettings settings() const {
        FeatureSettings features;
        features.map = FeatureSettings::Map::prefix;
        features.prefix = path;
        return features;
    }
    static std::string refusal(const FeatureSettings& settings, std::size_t columns = 3,
                               InputTransform input = {}) {
        try {
            settings.make(columns, input);
        } catch (const Error& error) {
            EXPECT_FALSE(error.hint().empty());
            return error.message();
        }
        return "";
    }
};

TEST_F(Prefix, GivesWhatItsLastHiddenLayerGives) {
    write_model(path, model(5));
    const FeatureMap map = settings().make(3, {.range = {-5, 5}});
    EXPECT_FALSE(map.keep());
    const std::vector<std::int64_t> units = model(5).parameters;
    for (const std::vector<double>& row : hostile_rows(3, {-5, 5})) {
        std::vector<double> values;
        for (const double x : row) values.push_back(((x >= -1 ? std::min(x, 2.0) : -1) - 0.25) * 1.5);
        std::size_t at = 0;
        for (const std::size_t width : {4, 2}) {
            std::vector<double> next;
            for (std::size_t i = 0; i < width; ++i, at += values.size() + 1) {
                double sum = parameter_value(units[at + values.size()]);
                for (std::size_t j = 0; j < values.size(); ++j)
                    sum += parameter_value(units[at + j]) * values[j];
                next.push_back(std::max(sum, 0.0));
            }
            values = next;
        }
        EXPECT_EQ(mapped(map, row), values);
    }
    expect_norms_within_bound(map, 0.5);
    FeatureSettings clipped = settings();
    clipped.norm_limit = 0.05;
    expect_norms_within_bound(clipped.make(3, {.range = {-5, 5}}), 1);
}

/// Windows in the order (channel, y, x) from -padding on: beside the image is 0, or nothing for a greatest
/// value.
std::vector<double> pooled_by_hand(const Pooling& pooling, const std::vector<double>& values) {
    const Image in = pooling.input, out = pooling.output();
    const Window& window = pooling.window;
    std::vector<double> result;
    for (std::size_t place = 0; place < out.rows(); ++place) {
        const std::size_t c = place / (out.height * out.width),
                          top = place / out.width % out.height * window.stride,
                          left = place % out.width * window.stride;
        double sum = 0, greatest = -INFINITY;
        for (std::size_t y = 0; y < in.height; ++y) {
            for (std::size_t x = 0; x < in.width; ++x) {
                const std::size_t i = y + window.padding - top, j = x + window.padding - left;
                if (i >= window.height || j >= window.width) continue;
                const double value = values[(c * in.height + y) * in.width + x];
                sum += value;
                greatest = std::max(greatest, value);
            }
        }
        const bool average = pooling.kind == Pooling::Kind::average;
        result.push_back(average ? sum / static_cast<double>(window.taps()) : greatest);
    }
    return result;
}

/// Weights of a tap at every position, over all pixels of the image.
std::vector<double> layer_by_hand(const Layer& layer, const std::int64_t* units,
                                  const std::vector<double>& x) {
    const auto weight = [&](std::size_t o, std::size_t j) {
        return parameter_value(units[o * (layer.in + 1) + j]);
    };
    std::vector<double> values;
    const Image out = layer.weighted();
    for (std::size_t row = 0; row < out.rows(); ++row) {
        const std::size_t o = row / (out.height * out.width);
        double sum = weight(o, layer.in);
        if (!layer.convolution) {
            for (std::size_t j = 0; j < layer.in; ++j) sum += weight(o, j) * x[j];
        } else {
            const auto& [in, window, groups] = *layer.convolution;
            const std::size_t channels = in.channels / groups, first = o / (layer.out / groups) * channels,
                              top = row / out.width % out.height * window.stride,
                              left = row % out.width * window.stride;
            for (std::size_t pixel = 0; pixel < channels * in.height * in.width; ++pixel) {
                const std::size_t c = pixel / (in.height * in.width);
                const std::size_t i = pixel / in.width % in.height + window.padding - top,
                                  j = pixel % in.width + window.padding - left, step = window.dilation;
                if (i % step != 0 || j % step != 0 || i / step >= window.height || j / step >= window.width)
                    continue;
                sum += weight(o, (c * window.height + i / step) * window.width + j / step) *
                       x[first * in.height * in.width + pixel];
            }
        }
        values.push_back(std::max(sum, 0.0));
    }
    return layer.pooling ? pooled_by_hand(*layer.pooling, values) : values;
}

TEST_F(Prefix, OfConvolutionsGivesWhatTheirWindowsGive) {
    std::vector<Layer> layers = layers_of(
        {"conv 4 3x2 stride 2 padding 1", "average_pool 2x2 stride 1 padding 1",
         "conv 6 2x2 groups 2 no_bias dilation 2 padding 1", "max_pool 2x2 stride 1 padding 1", "dense 3"},
        Image{2, 5, 4}, 40, true);
    const std::vector<Layer> hidden = layers;
    layers.push_back({{3, 1}});
    network = Network(std::move(layers), 2, Loss::hinge, {0.25, 1.5, {-1, 2}});
    write_model(path, model(5));
    const FeatureMap map = settings().make(40, {.range = {-5, 5}});
    const std::vector<std::int64_t> units = model(5).parameters;
    for (const std::vector<double>& row : hostile_rows(40, {-5, 5})) {
        std::vector<double> values;
        for (const double x : row) values.push_back(((x >= -1 ? std::min(x, 2.0) : -1) - 0.25) * 1.5);
        std::size_t at = 0;
        for (const Layer& layer : hidden) {
            values = layer_by_hand(layer, units.data() + at, values);
            at += layer.parameters();
        }
        EXPECT_EQ(mapped(map, row), values);
    }
    expect_norms_within_bound(map, 0);
}

TEST_F(Prefix, IsTheOneThatWasMeant) {
    write_model(path, model(5));
    const FeatureSettings pinned = settings().pinned();
    EXPECT_EQ(pinned.prefix_digest.size(), 64U);
    EXPECT_EQ(refusal(pinned), "");
    pinned.keep_prefix(folder.path());
    std::filesystem::remove(path);
    EXPECT_THAT(refusal(pinned), HasSubstr("No such file"));
    EXPECT_EQ(refusal(pinned.kept_in(folder.path())), "");
    write_model(path, model(6));
    EXPECT_THAT(refusal(pinned), HasSubstr("where features.prefix_digest says"));
    EXPECT_THROW(pinned.pinned(), Error);
    EXPECT_EQ(refusal(settings()), "");
}

TEST_F(Prefix, ThatIsNoneIsRefused) {
    write_model(path, model(5));
    EXPECT_THAT(refusal(settings(), 4), HasSubstr("3 columns, where records have 4"));
    EXPECT_THAT(refusal(settings(), 3, {.shift = 1}), HasSubstr("shift and the scale"));
    EXPECT_THAT(refusal(settings(), 3, {.scale = 2}), HasSubstr("shift and the scale"));
    std::filesystem::remove(path);
    network = Network(3, {}, 2, Loss::hinge);
    write_model(path, model(5));
    EXPECT_THAT(refusal(settings()), HasSubstr("no hidden layer"));
    const FeatureMap bins_of_three = bins(4).make(3, unit_range);
    network = Network(12, {2}, 2, Loss::hinge, bins_of_three.network_input());
    Model with_map = model(5);
    with_map.features = bins_of_three;
    std::filesystem::remove(path);
    write_model(path, with_map);
    EXPECT_THAT(refusal(settings()), HasSubstr("maps features itself"));
}

std::string refusal(const std::vector<std::string>& settings, FeatureRange range = {0, 1}) {
    try {
        read_configuration("", settings).settings.feature_map(3, range);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_FALSE(error.hint().empty());
        return error.message();
    }
    return "";
}

TEST(FeatureMap, RefusesWhatIsNoMapOfTheColumns) {
    const std::string on = "features.map=bins";
    EXPECT_EQ(refusal({on, "features.pairs=[0,2]", "features.keep=false", "features.hot=0.5"}), "");
    EXPECT_THAT(refusal({on}, default_feature_range), HasSubstr("public range"));
    EXPECT_EQ(refusal({on, "features.edges=[0,1]"}, default_feature_range), "");
    EXPECT_THAT(refusal({on, "features.pairs=[0,3]"}),
                HasSubstr("0 and 3, where two different ones of 0..2"));
    EXPECT_THAT(refusal({on, "features.pairs=[1,1]"}), HasSubstr("1 and 1"));
    EXPECT_THAT(refusal({on, "features.pairs=[1]"}), HasSubstr("two columns a pair"));
    EXPECT_THAT(refusal({on, "features.pairs=[-1,0]"}), HasSubstr("outside"));
    EXPECT_THAT(refusal({on, "features.edges=[1,0]"}), HasSubstr("above the one before"));
    EXPECT_THAT(refusal({on, "features.edges=[0,\"a\"]"}), HasSubstr("finite numbers"));
    EXPECT_THAT(refusal({on, "features.bins=1024", "features.pairs=[0,1]"}), HasSubstr("entries a record"));
    EXPECT_THAT(refusal({on, "features.bins=1"}), HasSubstr("outside"));
    EXPECT_THAT(refusal({on, "features.hot=0"}), HasSubstr("outside"));
    EXPECT_THAT(refusal({on, "features.keep=1"}), HasSubstr("true or false"));
    EXPECT_THAT(refusal({"features.map=bin"}), HasSubstr("not one of"));
    EXPECT_THAT(refusal({"features.pairs=[0,1]"}), HasSubstr("belong to features.map"));
    EXPECT_THAT(refusal({"features.trend=true"}), HasSubstr("belong to features.map"));
    EXPECT_THAT(refusal({"features.weights=[1,2,1,3]"}), HasSubstr("there is none"));
    EXPECT_THAT(refusal({on}, {-1e308, 1e308}), HasSubstr("finite"));
    EXPECT_EQ(refusal({on, "features.column_bins=[2,1,9]"}), "");
    EXPECT_EQ(refusal({on, "features.edges=[[0.5],[],[0.1,0.2]]", "features.norm_limit=2"}), "");
    EXPECT_THAT(refusal({on, "features.column_bins=[2,2]"}), HasSubstr("2 columns, where records have 3"));
    EXPECT_THAT(refusal({on, "features.edges=[[0.5],[0.5]]"}), HasSubstr("2 columns, where records have 3"));
    EXPECT_THAT(refusal({on, "features.edges=[[0.5],0.5,[1]]"}), HasSubstr("a list of fewer than"));
    EXPECT_THAT(refusal({on, "features.column_bins=2"}), HasSubstr("one for each column"));
    EXPECT_THAT(refusal({on, "features.column_bins=[2,0,2]"}), HasSubstr("outside"));
    EXPECT_THAT(refusal({"features.map=fourier", "features.frequencies=0"}), HasSubstr("outside"));
    EXPECT_THAT(refusal({"features.map=fourier", "features.bandwidth=0"}), HasSubstr("outside"));
    EXPECT_THAT(refusal({"features.map=fourier", "features.frequencies=524288"}),
                HasSubstr("entries a record"));
    EXPECT_THAT(refusal({"features.map=prefix"}), HasSubstr("names no model"));
    EXPECT_THAT(refusal({"features.prefix=a.h5"}), HasSubstr("is not used"));
    EXPECT_THAT(refusal({"features.norm_limit=-1"}), HasSubstr("outside"));
    EXPECT_THAT(refusal({"features.norm_limit=1e-7"}), HasSubstr("below 1e-6"));
    EXPECT_THAT(refusal({"features.column_bins=[2,2,2]"}), HasSubstr("belong to features.map"));
    EXPECT_THAT(refusal({"features.norm_limit=true"}), HasSubstr("wants a number"));
}

/// A table, and the same records as the map gives them, the network's range stated.
struct MappedBefore : testing::Test {
    TemporaryFolder folder;
    std::string raw = folder.file("raw.h5"), before = folder.file("before.h5");
    const std::vector<std::string> bins{"features.map=bins", "features.bins=5", "features.pairs=[0,1,2,1]",
                                        "network.input_scale=2", "network.input_shift=0.25"};

    void write(bool wide, const std::vector<std::string>& map) const {
        const FeatureRange range{-0.5, 1.5};
        std::filesystem::remove(raw);
        std::filesystem::remove(before);
        DatasetWriter first(raw), second(before);
        const FeatureMap features = read_configuration("", map).settings.feature_map(6, range);
        const std::string source = folder.file("blobs.h5");
        run_job(declare_synth, {"blobs", "--records", "150", "--test", "40", "--out", source});
        for (const std::string split : {"train", "test"}) {
            const Records read = DatasetReader(source + ":" + split).read_all();
            Records records = read;
            records.features = FeatureMatrix(6, wide);
            for (std::size_t i = 0; i < read.size(); ++i)
                records.features.append(row_of(read.features, i).data());
            first.begin_split(split, 6, wide);
            first.append(records);
            second.begin_split(split, features.outputs(), wide);
            second.append(features(records));
        }
        PublicFacts facts;
        facts.ids = IdKind::given;
        facts.range = range;
        first.set_facts(facts);
        facts.range = features.network_input().range;
        second.set_facts(facts);
        first.commit();
        second.commit();
    }
    /// Digests of the result and of its certificates.
    std::vector<std::string> trained(const std::string& data, const std::string& name,
                                     std::vector<std::string> settings) const {
        std::vector<std::string> words{"--data", data, "--out", folder.file(name)};
        settings.insert(settings.end(),
                        {"network.hidden=[4]", "training.expected_records=150", "training.batches=2"});
        if (settings.front() != "training.kind=noisy") settings.push_back("certificate.levels=3");
        for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
        run_job(declare_train, words);
        const nlohmann::json certified = nlohmann::json::parse(
            run_job(declare_certify, {"--run", folder.file(name), "--queries", data}, true));
        return {FinishedRun::open(folder.file(name)).manifest.digest, certified["digest"]};
    }
};

TEST_F(MappedBefore, TrainsAndCertifiesToTheSameBytes) {
    for (const bool wide : {false, true}) {
        write(wide, bins);
        for (const std::vector<std::string>& kind : std::vector<std::vector<std::string>>{
                 {"clip.gamma=0.01", "ensemble.members=2"},
                 {"clip.gamma=0.01", "training.precision=single", "certificate.relation=substitute"},
                 {"training.kind=noisy", "clip.kind=norm", "noise.sampling_rate=1", "noise.law=none"}}) {
            const std::string name = std::to_string(wide) + kind.back();
            std::vector<std::string> with_map = kind;
            with_map.insert(with_map.end(), bins.begin(), bins.end());
            const auto one = trained(raw, name + "-raw", with_map);
            EXPECT_EQ(one, trained(before, name + "-before", kind));
            EXPECT_NE(one, trained(raw, name + "-none", kind));
        }
    }
}

TEST_F(MappedBefore, WithAnyMapTrainsAndCertifiesToTheSameBytes) {
    const std::string prefix = folder.file("public.h5");
    const Network hidden(6, {5}, 2, Loss::hinge);
    write_model(
        prefix,
        {hidden,
         Precision::double_precision,
         hidden.initial_parameters(1, 0),
         "elsewhere",
         "a",
         "b",
         {{"status", "none"}, {"statement", ""}, {"relation", ""}, {"conditions", nlohmann::json::array()}},
         nullptr});
    for (const std::vector<std::string>& map : std::vector<std::vector<std::string>>{
             {"features.norm_limit=0.7", "network.input_scale=2"},
             {"features.map=fourier", "features.frequencies=9", "network.input_shift=0.25"},
             {"features.map=prefix", "features.prefix=" + prefix, "features.norm_limit=1"}}) {
        write(false, map);
        std::vector<std::string> boxes{"clip.gamma=0.01"}, with_map = map;
        with_map.insert(with_map.end(), boxes.begin(), boxes.end());
        EXPECT_EQ(trained(raw, map[0] + "-raw", with_map), trained(before, map[0] + "-before", boxes))
            << map[0];
    }
}

}  // namespace
}  // namespace holdfast
