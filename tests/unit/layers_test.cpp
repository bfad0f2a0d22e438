#include "models/nets/layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "jobs/program/configuration.hpp"
#include "kernels/base/error.hpp"
#include "models/nets/dropout.hpp"

namespace holdfast {
namespace layers_test {

using testing::HasSubstr;
using Texts = std::vector<std::string>;

std::vector<Layer> of(const Texts& texts, bool bias = true) {
    return layers_of(texts, Image{2, 8, 6}, 96, bias);
}

TEST(Layers, AreWhatTheirTextsSay) {
    const std::vector<Layer> layers =
        of({"conv 16 4x3 stride 2 padding 1 dilation 2", "relu", "average_pool 2x2 stride 1", "dropout .25"});
    ASSERT_EQ(layers.size(), 1U);
    const Window first{4, 3, 2, 1, 2};
    EXPECT_EQ(layers[0].in, 2U * 12);
    EXPECT_EQ(layers[0].out, 16U);
    EXPECT_EQ(layers[0].convolution, (Convolution{{2, 8, 6}, first, 1}));
    // (8 + 2 - 7) / 2 + 1, (6 + 2 - 5) / 2 + 1: what PyTorch's Conv2d gives
    EXPECT_EQ(layers[0].weighted(), (Image{16, 2, 2}));
    EXPECT_EQ(layers[0].pooling, (Pooling{Pooling::Kind::average, {16, 2, 2}, {2, 2, 1}}));
    EXPECT_EQ(layers[0].dropout, 0.25);
    EXPECT_TRUE(layers[0].bias);
    EXPECT_EQ(layers[0].output_rows(), 16U);
}

TEST(Layers, FollowEachOther) {
    const std::vector<Layer> layers =
        of({"conv 4 3x3 padding 1", "max_pool 2x2", "conv 6 2x2 groups 2 no_bias",
            "average_pool 2x2 stride 1 padding 1", "flatten", "dense 7", "dropout 0.5"});
    ASSERT_EQ(layers.size(), 3U);
    EXPECT_EQ(layers[0].pooling->window, (Window{2, 2, 2}));  // its stride is its side
    EXPECT_EQ(layers[1].in, 2U * 4);
    EXPECT_FALSE(layers[1].bias);
    EXPECT_EQ(layers[1].input_rows(), layers[0].output_rows());
    EXPECT_EQ(layers[1].weighted(), (Image{6, 3, 2}));
    EXPECT_EQ(layers[1].pooling->output(), (Image{6, 4, 3}));
    EXPECT_EQ(layers[2].in, layers[1].output_rows());
    EXPECT_EQ(layers[2].out, 7U);
    EXPECT_EQ(layers[2].dropout, 0.5);
    for (const Layer& layer : layers) EXPECT_EQ(problem_of(layer), "");
    for (const Layer& layer : of({"conv 4 3x3", "dense 2"}, false)) EXPECT_FALSE(layer.bias);
}

struct Refusal {
    Texts texts;
    std::string message, hint;
};

TEST(Layers, ThatAreNoneAreNamedWithTheirPlaceAndARemedy) {
    const std::vector<Refusal> refusals{
        {{"dense 3", "dens 4"}, "layer 2, \"dens 4\", is unknown", "dense"},
        {{"max_pol 2x2"}, "layer 1, \"max_pol 2x2\", is unknown", "max_pool"},
        {{""}, "layer 1, \"\", lacks", "conv"},
        {{"conv"}, "lacks a number of channels", "conv 16 3x3"},
        {{"conv 4"}, "lacks a window", "conv 16 3x3"},
        {{"conv 4 3"}, "no window", "3x3"},
        {{"conv 4 3x"}, "a window's width", "whole number"},
        {{"conv -4 3x3"}, "\"-4\" where a number of channels stands", "whole number"},
        {{"conv 4 3x3 stride"}, "lacks a stride", "conv 16"},
        {{"conv 4 3x3 stride 0"}, "\"0\" where a stride stands", "1.."},
        {{"conv 4 3x3 strid 2"}, "unknown word, \"strid\"", "stride"},
        {{"conv 4 3x3 stride 2.5"}, "\"2.5\"", "whole number"},
        {{"conv 4 9x3"}, "larger than the image of 2 x 8 x 6", "network.image"},
        {{"conv 4 3x3 dilation 4"}, "larger than the image", "network.image"},
        {{"conv 4 3x3 padding 3"}, "beyond which no tap meets the image", "network.image"},
        {{"conv 4 3x3 groups 3"}, "3 groups, which do not divide 2 channels", "numbers"},
        {{"conv 3 3x3 groups 2"}, "2 groups, which do not divide", "numbers"},
        {{"conv 4 3x3", "max_pool 7x7"}, "layer 2, \"max_pool 7x7\", has a window of 7x7", "numbers"},
        {{"conv 4 3x3", "max_pool 2x2 padding 2"}, "more than half its window", "numbers"},
        {{"conv 4 3x3", "average_pool 2x1"}, "two lengths", "stride"},
        {{"conv 4 3x3", "average_pool 2x2 dilation 2"}, "unknown word", "stride"},
        {{"conv 4 3x3", "max_pool 2x2", "max_pool 2x2"},
         "layer 3, \"max_pool 2x2\", follows another",
         "larger"},
        {{"conv 4 3x3", "dropout .1", "max_pool 2x2"}, "follows a dropout", "first"},
        {{"max_pool 2x2"}, "before any weights", "conv"},
        {{"average_pool 2x2"}, "before any weights", "conv"},
        {{"relu", "dense 3"}, "before any weights", "ReLU follows"},
        {{"dropout 0.1", "dense 3"}, "before any weights", "behind"},
        {{"dense 3", "dropout 1"}, "[0, 1)", "dropout 0.2"},
        {{"dense 3", "dropout -0.1"}, "[0, 1)", "dropout 0.2"},
        {{"dense 3", "dropout nan"}, "[0, 1)", "dropout 0.2"},
        {{"dense 3", "dropout .1", "dropout .1"}, "follows another dropout", "one"},
        {{"dense 3", "conv 4 3x3"}, "has left none", "before"},
        {{"flatten", "conv 4 3x3"}, "wants an image", "network.image"},
        {{"dense 0"}, "\"0\" where a width stands", "1..1048576"},
        {{"dense 3 bias"}, "unknown word, \"bias\"", "no_bias"},
        {{"dense 3", "relu 6"}, "unknown word, \"6\"", "leave it out"},
        {{"conv 65536 1x1", "dense 1"}, "", ""},
        {{"conv 65536 3x3 padding 2", "conv 65536 3x3 padding 2", "conv 65536 3x3 padding 2",
          "conv 65536 3x3 padding 2", "conv 65536 3x3 padding 2", "conv 65536 3x3 padding 2"},
         "more rows than",
         "numbers"}};
    for (const Refusal& refusal : refusals) {
        try {
            of(refusal.texts);
            EXPECT_EQ(refusal.message, "") << refusal.texts.front();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            EXPECT_EQ(error.where(), "network.layers");
            EXPECT_THAT(error.message(), HasSubstr(refusal.message));
            EXPECT_THAT(error.hint(), HasSubstr(refusal.hint));
            EXPECT_FALSE(refusal.message.empty()) << error.message();
        }
    }
}

std::string refusal(const Texts& settings, std::size_t columns = 96) {
    try {
        const Settings read = read_configuration("", settings).settings;
        read.network.make(read.feature_map(columns, {0, 1}));
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_FALSE(error.hint().empty());
        return error.where() + ": " + error.message();
    }
    return "";
}

TEST(Layers, OfSettingsThatContradictAreRefused) {
    const std::string image = "network.image=[2,8,6]", conv = R"(network.layers=["conv 4 3x3"])",
                      dense = R"(network.layers=["dense 4", "dense 3 no_bias"])";
    EXPECT_EQ(refusal({image, conv}), "");
    EXPECT_EQ(refusal({dense, "network.bias=false"}, 5), "");
    EXPECT_THAT(refusal({conv}), HasSubstr("network.layers: layer 1, \"conv 4 3x3\", wants an image"));
    EXPECT_THAT(refusal({image, conv}, 95),
                HasSubstr("network.image: the image has 96 pixels, where a record has 95"));
    EXPECT_THAT(refusal({image}), HasSubstr("there are none"));
    EXPECT_THAT(refusal({"network.image=[2,8]", conv}), HasSubstr("wants [channels, height, width]"));
    EXPECT_THAT(refusal({"network.image=[1024,1024,1024]", conv}), HasSubstr("pixels"));
    EXPECT_THAT(refusal({image, conv, "network.hidden=[4]"}), HasSubstr("both say"));
    EXPECT_THAT(refusal({"network.layers=[4]"}), HasSubstr("wants texts"));
    EXPECT_THAT(refusal({"network.layers=conv"}), HasSubstr("wants a list of texts"));
    EXPECT_THAT(refusal({"network.bias=1"}), HasSubstr("true or false"));
    EXPECT_THAT(refusal({"network.initial_digest=ab"}), HasSubstr("of no model"));
    EXPECT_THAT(refusal({"network.initial=middle"}), HasSubstr("learn nothing"));
    EXPECT_THAT(refusal({dense, "clip.kind=record_norm"}, 5), HasSubstr("clip.kind: the norm of a record's"));
    EXPECT_EQ(refusal({dense, "clip.kind=tensor_norm"}, 5), "");
    for (const std::string kind : {"noisy", "convex"}) {
        const Texts of_kind = kind == "noisy" ? Texts{"training.kind=noisy", "clip.kind=norm"}
                                              : Texts{"training.kind=convex", "network.hidden=[]"};
        const auto with = [&](Texts settings) {
            settings.insert(settings.end(), of_kind.begin(), of_kind.end());
            if (settings[0].find("layers") != std::string::npos) std::erase(settings, "network.hidden=[]");
            return refusal(settings);
        };
        EXPECT_THAT(with({"network.bias=false"}), HasSubstr("network.bias: "));
        for (const Texts& layers :
             {Texts{conv, image}, Texts{R"(network.layers=["dense 4","dropout .1"])"}}) {
            EXPECT_EQ(with(layers) == "", kind == "noisy");
            EXPECT_THAT(with(layers), HasSubstr(kind == "noisy" ? "" : "network.layers: "));
        }
        EXPECT_EQ(with({R"(network.layers=["dense 4","relu"])"}) == "", kind == "noisy");
    }
    EXPECT_THAT(refusal({"training.kind=convex", "network.hidden=[]", "network.initial=a.h5"}),
                HasSubstr("starts from 0"));
}

TEST(Layers, OfDenseTextsAreTheHiddenOnes) {
    const auto made = [](const Texts& settings) {
        const Settings read = read_configuration("", settings).settings;
        return read.network.make(read.feature_map(5, {0, 1}));
    };
    const Network one = made({"network.hidden=[4,3]"}),
                  other = made({R"(network.layers=["dense 4","dense 3"])"});
    EXPECT_TRUE(same_shape(one.layers(), other.layers()));
    EXPECT_EQ(one.initial_parameters(7, 2), other.initial_parameters(7, 2));
    EXPECT_TRUE(one.pinned().empty());
}

TEST(Layers, OfALinearModelMayBeginInTheMiddle) {
    const auto begins = [](const std::string& classes, const std::string& bias) {
        const Settings read = read_configuration("", {"network.hidden=[]", "network.initial=middle",
                                                      "network.classes=" + classes, "network.bias=" + bias})
                                  .settings;
        const NetworkSettings kept = read.network.pinned().kept_in("run");  // it names no file
        EXPECT_EQ(kept.initial, "middle");
        EXPECT_EQ(kept.initial_digest, "");
        return kept.initial_parameters(kept.make(read.feature_map(2, {0, 1})));
    };
    const std::vector<std::int64_t> half{0, 0, std::int64_t{1} << 49}, none{0, 0, 0};
    EXPECT_EQ(begins("1", "true"), half);
    EXPECT_EQ(begins("1", "false"), none);
    EXPECT_EQ(begins("2", "true"), none);
}

TEST(Layers, WithoutBiasHaveItPinnedAt0) {
    const Settings read = read_configuration("", {"network.image=[2,8,6]", "network.bias=false",
                                                  R"(network.layers=["conv 4 3x3"])"})
                              .settings;
    const Network network = read.network.make(read.feature_map(96, {0, 1}));
    const std::vector<bool> biases = network.biases();
    const std::vector<std::size_t> pinned = network.pinned();
    EXPECT_EQ(pinned.size(), 5U);  // of four channels and one logit
    const std::vector<std::int64_t> initial = network.initial_parameters(3, 0);
    for (std::size_t p = 0; p < biases.size(); ++p) {
        const bool is_pinned = std::find(pinned.begin(), pinned.end(), p) != pinned.end();
        EXPECT_EQ(is_pinned, biases[p]);
        EXPECT_EQ(initial[p] == 0, is_pinned);
    }
}

TEST(Dropout, LeavesOutItsPartOfEveryLayerByPublicNumbersAlone) {
    const Network network(
        [] {
            std::vector<Layer> layers = layers_of(
                {"dense 4000", "dropout .25", "dense 9", "dense 500", "dropout .5"}, std::nullopt, 3, true);
            layers.push_back({{layers.back().out, 1}});
            return layers;
        }(),
        2, Loss::hinge);
    const auto factors = dropout_factors(network, 5, 2, 7);
    ASSERT_EQ(factors.size(), 3U);
    EXPECT_TRUE(factors[1].empty());
    EXPECT_EQ(factors, dropout_factors(network, 5, 2, 7));
    for (const auto& [seed, member, step] : {std::tuple{6, 2, 7}, {5, 3, 7}, {5, 2, 8}})
        EXPECT_NE(factors, dropout_factors(network, seed, member, step));
    for (const std::size_t l : {0, 2}) {
        const double part = network.layers()[l].dropout, units = static_cast<double>(factors[l].size());
        ASSERT_EQ(factors[l].size(), network.layers()[l].output_rows());
        double gone = 0;
        for (const double factor : factors[l]) {
            EXPECT_TRUE(factor == 0 || factor == 1 / (1 - part));
            gone += factor == 0 ? 1 : 0;
        }
        EXPECT_NEAR(gone, part * units, 5 * std::sqrt(part * (1 - part) * units));
    }
    EXPECT_TRUE(dropout_factors(Network(3, {4}, 2, Loss::hinge), 5, 2, 7).empty());
}

}  // namespace layers_test
}  // namespace holdfast
