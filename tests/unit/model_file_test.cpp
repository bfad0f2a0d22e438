#include "models/nets/model_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <span>

#include "dist/files/digest.hpp"
#include "dist/files/hdf5.hpp"
#include "kernels/base/error.hpp"
#include "models/nets/layers.hpp"
#include "models/privacy/guarantee.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace model_file_test {

using nlohmann::json;
using testing::HasSubstr;

/// 3 features, two hidden layers, three classes; parameters of every size, the limits among them.
Model sound() {
    Model model{Network(3, {4, 2}, 3, Loss::cross_entropy, {0.1, 1.5, {-1, 2.5}}),
                Precision::double_precision,
                {},
                "noisy",
                "holdfast",
                "0.1.0",
                Guarantee::proved("(1, 1e-5)-differentially private", "add_remove").to_json(),
                {{"epsilon", 1}, {"delta", 1e-5}, {"mechanism", "noisy"}, {"parameters", {{"steps", 30}}}}};
    std::mt19937_64 random(7);
    for (std::size_t p = 0; p < model.network.parameters(); ++p)
        model.parameters.push_back(static_cast<std::int64_t>(random()) >> (3 + p));
    model.parameters[0] = parameter_limit_units;
    model.parameters[1] = -parameter_limit_units;
    model.parameters[2] = parameter_limit_units - 1;  // no double
    return model;
}

Model one_logit() {
    Model model{Network(2, {}, 2, Loss::hinge),
                Precision::single_precision,
                {5, -6, 7},
                "elsewhere",
                "a",
                "b",
                Guarantee::not_private("a model from elsewhere", "nothing is known of it").to_json(),
                nullptr};
    return model;
}

struct ModelFileTest : ::testing::Test {
    TemporaryFolder folder;
    std::string path = folder.file("model.h5");

    std::string written(const Model& model, const std::string& name) const {
        write_model(folder.file(name), model);
        return folder.read(name);
    }
    /// The message, whose error names the file and says what to do.
    std::string refusal(const std::string& file) const {
        try {
            read_model(file);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::input);
            EXPECT_EQ(error.where().substr(0, file.size()), file);
            EXPECT_FALSE(error.hint().empty());
            return error.message();
        }
        return "";
    }
    /// A file of the given description and of one layer of a linear model with two features, with a true
    /// digest: only what it says is wrong.
    std::string file_of(const std::string& description, std::vector<std::int64_t> units = {5, -6, 7},
                        std::vector<double> weight = {5 * 0x1p-50, -6 * 0x1p-50},
                        const hdf5::Shape& shape = {1, 3}) const {
        hdf5::File file = hdf5::File::create(path);
        const auto put = [&](const std::string& name, const hdf5::Shape& extent, const auto* values) {
            using T = std::remove_cvref_t<decltype(*values)>;
            file.create_dataset(name, hdf5::TypeOf<T>::value, extent)
                .write(hdf5::Shape(extent.size(), 0), extent, values);
        };
        const auto put_text = [&](const std::string& name, const std::string& text) {
            put(name, {text.size()}, reinterpret_cast<const std::uint8_t*>(text.data()));
        };
        put_text("description", description);
        put("layer_0/units", shape, units.data());
        put("layer_0/weight", {1, weight.size()}, weight.data());
        const double bias = 7 * 0x1p-50;
        put("layer_0/bias", {1}, &bias);
        StreamDigest digest;
        digest.add(std::as_bytes(std::span(description)));
        digest.add_values(std::span<const std::int64_t>(units));
        put_text("digest", digest.hex());
        file.close();
        add_seal(path, path);
        return path;
    }
    static json description() {
        return {{"format", "holdfast model"},
                {"version", 1},
                {"layers", {{2, 1}}},
                {"classes", 2},
                {"loss", "hinge"},
                {"input", {{"shift", 0.0}, {"scale", 1.0}, {"range", {-1.0, 1.0}}}},
                {"precision", "double"},
                {"kind", "elsewhere"},
                {"program", "a"},
                {"program_version", "b"},
                {"guarantee", one_logit().guarantee},
                {"cost", nullptr}};
    }
    /// With the value at a JSON pointer replaced.
    std::string refusal_of(const std::string& pointer, const json& value) const {
        json changed = description();
        changed[json::json_pointer(pointer)] = value;
        return refusal(file_of(changed.dump()));
    }
};

TEST_F(ModelFileTest, AModelComesBackAsWritten) {
    for (const Model& model : {sound(), one_logit()}) {
        std::filesystem::remove(path);
        const std::string digest = write_model(path, model);
        const auto [read, name] = read_model(path);
        EXPECT_EQ(name, digest);
        EXPECT_EQ(read.parameters, model.parameters);
        ASSERT_EQ(read.network.layers().size(), model.network.layers().size());
        for (std::size_t l = 0; l < read.network.layers().size(); ++l) {
            EXPECT_EQ(read.network.layers()[l].in, model.network.layers()[l].in);
            EXPECT_EQ(read.network.layers()[l].out, model.network.layers()[l].out);
        }
        EXPECT_EQ(read.network.loss(), model.network.loss());
        EXPECT_EQ(read.network.classes(), model.network.classes());
        const InputTransform input = read.network.transform(), expected = model.network.transform();
        EXPECT_EQ(input.shift, expected.shift);
        EXPECT_EQ(input.scale, expected.scale);
        EXPECT_EQ(input.range, expected.range);
        EXPECT_EQ(read.precision, model.precision);
        EXPECT_EQ(read.kind, model.kind);
        EXPECT_EQ(read.program + read.version, model.program + model.version);
        EXPECT_EQ(read.guarantee, model.guarantee);
        EXPECT_EQ(read.cost, model.cost);
    }
}

/// Of every kind of layer, with a prefix of some before it or without.
Model of_images(bool with_prefix) {
    const std::vector<std::string> texts{"conv 4 3x2 stride 2 padding 1 dilation 1",
                                         "average_pool 2x2 stride 1",
                                         "conv 6 1x2 groups 2 no_bias",
                                         "max_pool 1x2 stride 1 padding 0",
                                         "dense 5 no_bias",
                                         "dense 3"};
    std::vector<Layer> layers = layers_of(texts, Image{2, 5, 6}, 60, true);
    std::vector<Layer> prefix{layers[0], layers[1]};
    if (with_prefix) layers.erase(layers.begin(), layers.begin() + 2);
    layers.push_back({{layers.back().out, 1}});
    Model model = one_logit();
    const auto parameters_of = [](std::size_t count) {
        std::vector<std::int64_t> units(count);
        for (std::size_t p = 0; p < count; ++p)
            units[p] =
                (std::int64_t{1} << (30 + p % 20)) * (p % 3 == 0 ? -1 : 1) + static_cast<std::int64_t>(p);
        return units;
    };
    if (with_prefix) {
        std::size_t count = 0;
        for (const Layer& layer : prefix) count += layer.parameters();
        model.features = FeatureMap(60, {.range = {-1, 2}},
                                    FrozenPrefix({0.5, 2, {-1, 1}}, prefix, parameters_of(count)), false);
    }
    model.network =
        Network(layers, 2, Loss::hinge,
                model.features ? model.features->network_input() : InputTransform{0.5, 2, {-1, 1}});
    model.parameters = parameters_of(model.network.parameters());
    for (const std::size_t entry : model.network.pinned()) model.parameters[entry] = 0;
    return model;
}

TEST_F(ModelFileTest, EveryKindOfLayerComesBackInVersion4) {
    for (const bool with_prefix : {false, true}) {
        const Model model = of_images(with_prefix);
        const std::string file = folder.file(with_prefix ? "prefix.h5" : "layers.h5");
        const std::string digest = write_model(file, model);
        const auto text = hdf5::File::open_read(file).dataset("description").read_all<std::uint8_t>();
        const json said = json::parse(text.begin(), text.end());
        EXPECT_EQ(said["version"], 4);
        EXPECT_EQ(said.contains("features"), with_prefix);
        const Model read = read_model(file).model;
        ASSERT_TRUE(same_shape(read.network.layers(), model.network.layers()));
        for (std::size_t l = 0; l < read.network.layers().size(); ++l)
            EXPECT_EQ(read.network.layers()[l].bias, model.network.layers()[l].bias);
        EXPECT_EQ(read.parameters, model.parameters);
        EXPECT_EQ(read.feature_map().norm_bound(), model.feature_map().norm_bound());
        EXPECT_EQ(write_model(file + "again", read), digest);
    }
}

TEST_F(ModelFileTest, ALayerThatDoesNotFitIsNamed) {
    const auto changed = [&](const std::string& pointer, const json& value) {
        std::filesystem::remove(path);
        const std::string whole = written(of_images(false), "model.h5");
        const auto text = hdf5::File::open_read(path).dataset("description").read_all<std::uint8_t>();
        json object = json::parse(text.begin(), text.end());
        if (value.is_discarded()) {
            object["layers"][0].erase(pointer);
        } else {
            object[json::json_pointer(pointer)] = value;
        }
        return refusal(file_of(object.dump()));
    };
    EXPECT_THAT(changed("/layers/0/bias", 1), HasSubstr("layers.bias"));
    EXPECT_THAT(changed("bias", json(json::value_t::discarded)), HasSubstr("layers.bias"));
    EXPECT_THAT(changed("/layers/0/in", 13), HasSubstr("where a window has others"));
    EXPECT_THAT(changed("/layers/0/in", 1 << 30), HasSubstr("no larger than the file"));
    EXPECT_THAT(changed("/layers/0/convolution/image", {2, 5}), HasSubstr("list of 3 sizes"));
    EXPECT_THAT(changed("/layers/0/convolution/image", {2, 2, 0}), HasSubstr("a size is from 1"));
    EXPECT_THAT(changed("/layers/0/convolution/window", {30, 2}), HasSubstr("larger than the image"));
    EXPECT_THAT(changed("/layers/0/convolution/stride", 0), HasSubstr("a size is from 1"));
    EXPECT_THAT(changed("/layers/0/convolution/stride", "a"), HasSubstr("layers.convolution.stride"));
    EXPECT_THAT(changed("/layers/0/convolution/padding", 1ULL << 63), HasSubstr("layers"));
    EXPECT_THAT(changed("/layers/0/convolution/groups", 0), HasSubstr("groups"));
    EXPECT_THAT(changed("/layers/1/convolution/groups", 3), HasSubstr("3 groups"));
    EXPECT_THAT(changed("/layers/0/pooling/kind", "least"), HasSubstr("average or greatest"));
    EXPECT_THAT(changed("/layers/0/pooling/image", {4, 9, 9}), HasSubstr("a pooling of an image"));
    EXPECT_THAT(changed("/layers/0/pooling/dilation", 2), HasSubstr("an average has not"));
    EXPECT_THAT(changed("/layers/2/in", 7), HasSubstr("layers"));
    EXPECT_THAT(changed("/layers/0", 3), HasSubstr("a list of [in, out] or of objects"));
}

TEST_F(ModelFileTest, ABiasOfALayerWithoutIsDamage) {
    Model model = of_images(false);
    model.parameters[model.network.pinned().front()] = 1;
    write_model(path, model);
    EXPECT_THAT(refusal(path), HasSubstr("a layer without bias has one"));
}

/// Of two columns kept, three bins each and a pair: 2 + 6 + 9 inputs.
Model with_bins() {
    const FeatureMap features(2, {0.1, 3, {-1, 2}}, FeatureBins{{{0.1, 0.7}, {0.1, 0.7}}, 0.5, {{1, 0}}});
    Model model = one_logit();
    model.network = Network(features.outputs(), {}, 2, Loss::hinge, features.network_input());
    model.parameters.assign(18, 3);
    model.features = features;
    return model;
}

TEST_F(ModelFileTest, AMapOfTheFeaturesComesBackInVersion2) {
    const std::string digest = write_model(path, with_bins());
    const auto text = hdf5::File::open_read(path).dataset("description").read_all<std::uint8_t>();
    EXPECT_EQ(json::parse(text.begin(), text.end())["version"], 2);
    const Model read = read_model(path).model;
    EXPECT_EQ(read.feature_map().columns(), 2U);
    EXPECT_EQ(read.feature_map().outputs(), 17U);
    EXPECT_EQ(write_model(folder.file("again.h5"), read), digest);
    Model other = with_bins();
    other.features = FeatureMap(2, {0.1, 3, {-1, 2}}, FeatureBins{{{0.1, 0.8}, {0.1, 0.8}}, 0.5, {{1, 0}}});
    EXPECT_NE(write_model(folder.file("other.h5"), other), digest);
}

/// Models of one logit on whatever the map gives.
Model with(const FeatureMap& features) {
    Model model = one_logit();
    model.network = Network(features.outputs(), {}, 2, Loss::hinge, features.network_input());
    model.parameters.assign(features.outputs() + 1, 3);
    model.features = features;
    return model;
}

std::vector<FeatureMap> maps_of_version_3() {
    const InputTransform input{0.1, 3, {-1, 2}};
    return {FeatureMap(2, input, {}, true, 0.5),
            FeatureMap(2, input, FeatureBins{{{0.1, 0.7}, {}}, 0.5, {{1, 0}}}, false),
            FeatureMap(2, input, FeatureBins{{{0.1}, {0.1}}, 0.5}, true, 2),
            FeatureMap(2, input, FeatureBins{{{0, 0.1, 0.4}, {0, 0.1, 0.4}}, 0.5, {}, true}, false),
            FeatureMap(2, input, FourierFeatures(2, {5, -6, 7, FourierFeatures::limit, 0, -9}), false, 0.5),
            FeatureMap(
                2, input,
                FrozenPrefix({0.5, 2, {0, 1}}, {{{2, 3}}, {{3, 1}}}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4}),
                false, 1)};
}

TEST_F(ModelFileTest, EveryMapComesBackInVersion3) {
    std::vector<std::string> digests;
    Records records{FeatureMatrix(2, true), {}, {}, {}};
    for (const std::vector<double>& row : {std::vector<double>{0.2, 1.7}, {-3, 0.6}, {0.1, 0.1}})
        records.features.append(row.data());
    for (const FeatureMap& map : maps_of_version_3()) {
        const std::string name = std::to_string(digests.size());
        digests.push_back(write_model(folder.file(name), with(map)));
        const Model read = read_model(folder.file(name)).model;
        EXPECT_EQ(write_model(folder.file(name + "again"), read), digests.back());
        EXPECT_EQ(read.feature_map()(records).features.wide_values(), map(records).features.wide_values());
        EXPECT_EQ(read.feature_map().norm_bound(), map.norm_bound());
        const auto text =
            hdf5::File::open_read(folder.file(name)).dataset("description").read_all<std::uint8_t>();
        EXPECT_EQ(json::parse(text.begin(), text.end())["version"], 3);
    }
    std::sort(digests.begin(), digests.end());
    EXPECT_EQ(std::unique(digests.begin(), digests.end()), digests.end());
}

TEST_F(ModelFileTest, EveryFlippedByteOfAMapIsNoticed) {
    for (const std::size_t which : {4, 5}) {  // Fourier features, a prefix
        std::filesystem::remove(path);
        const std::string whole = written(with(maps_of_version_3()[which]), "model.h5");
        const auto units = hdf5::File::open_read(path)
                               .dataset(which == 4 ? "frequencies" : "prefix_0/units")
                               .read_all<std::int64_t>();
        const std::string part(reinterpret_cast<const char*>(units.data()), 8 * units.size());
        const std::size_t at = whole.find(part);
        ASSERT_NE(at, std::string::npos);
        for (std::size_t i = 0; i < part.size(); ++i) {
            std::string changed = whole;
            changed[at + i] = static_cast<char>(changed[at + i] ^ 0x10);
            EXPECT_NE(refusal(folder.write("changed.h5", changed)), "") << i;
        }
    }
}

TEST_F(ModelFileTest, AMapOfVersion3ThatDoesNotFitIsNamed) {
    const auto changed = [&](json features, const std::string& pointer, const json& value) {
        json object = description();
        object["version"] = 3;
        features.update({{"columns", 2}, {"input", object["input"]}, {"keep", false}, {"norm_limit", 1.0}});
        object["features"] = features;
        if (!pointer.empty()) object[json::json_pointer(pointer)] = value;
        return refusal(file_of(object.dump()));
    };
    const json none{{"map", "none"}, {"keep", true}},
        bins{{"map", "bins"},
             {"edges", {json::array(), json::array()}},
             {"hot", 1.0},
             {"pairs", json::array()}},
        fourier{{"map", "fourier"}, {"frequencies", 1}};
    EXPECT_EQ(changed(none, "/features/keep", true), "");
    EXPECT_EQ(changed(bins, "", 0), "");
    EXPECT_THAT(changed(none, "", 0), HasSubstr("no entry at all"));
    EXPECT_THAT(changed(bins, "/features/map", "other"),
                HasSubstr("none, bins, fourier, prefix or scattering"));
    EXPECT_THAT(changed(bins, "/features/map", 1), HasSubstr("features.map"));
    EXPECT_THAT(changed(bins, "/features/norm_limit", -1), HasSubstr("a norm limit"));
    EXPECT_THAT(changed(bins, "/features/norm_limit", nullptr), HasSubstr("features.norm_limit"));
    EXPECT_THAT(changed(bins, "/features/edges", {1, 2}), HasSubstr("features.edges"));
    EXPECT_THAT(changed(bins, "/features/edges", json::array({json::array({0.1})})),
                HasSubstr("1 columns, where records have 2"));
    EXPECT_THAT(changed(bins, "/features/columns", 1 << 30), HasSubstr("features.columns"));
    EXPECT_THAT(changed(fourier, "/features/frequencies", 0), HasSubstr("features.frequencies"));
    EXPECT_THAT(changed(fourier, "/features/frequencies", 1 << 30), HasSubstr("features.frequencies"));
    EXPECT_THAT(changed(fourier, "", 0), HasSubstr("frequencies"));
    const json prefix{{"map", "prefix"}};
    EXPECT_THAT(changed(prefix, "", 0), HasSubstr("features.prefix"));
    EXPECT_THAT(changed(prefix, "/features/prefix", {{"layers", {{1 << 30, 1 << 30}}}}),
                HasSubstr("features.prefix.layers"));
    EXPECT_THAT(changed(prefix, "/features/prefix", {{"layers", {{2, 2}}}}), HasSubstr("prefix_0"));
}

TEST_F(ModelFileTest, AMapThatDoesNotFitIsNamed) {
    const auto changed = [&](const std::string& pointer, const json& value) {
        json object = description();
        object["version"] = 2;
        object["features"] = {
            {"columns", 1},   {"input", {{"shift", 0.0}, {"scale", 1.0}, {"range", {-1.0, 1.0}}}},
            {"edges", {0.5}}, {"keep", false},
            {"hot", 1.0},     {"pairs", json::array()}};
        if (!pointer.empty()) object[json::json_pointer(pointer)] = value;
        return refusal(file_of(object.dump()));
    };
    EXPECT_EQ(changed("", 0), "");
    EXPECT_THAT(changed("/features", json::object()), HasSubstr("is missing"));
    EXPECT_THAT(changed("/features", 3), HasSubstr("an object"));
    EXPECT_THAT(changed("/features/columns", 0), HasSubstr("features.columns"));
    EXPECT_THAT(changed("/features/columns", 2), HasSubstr("features.columns"));
    EXPECT_THAT(changed("/features/columns", 1e18), HasSubstr("features.columns"));
    EXPECT_THAT(changed("/features/edges", {0.5, 0.25}), HasSubstr("do not ascend"));
    EXPECT_THAT(changed("/features/edges", {nullptr}), HasSubstr("features.edges"));
    EXPECT_THAT(changed("/features/edges", {0.25, 0.5}), HasSubstr("features.columns"));
    EXPECT_THAT(changed("/features/hot", 0), HasSubstr("not positive"));
    EXPECT_THAT(changed("/features/hot", nullptr), HasSubstr("features.hot"));
    EXPECT_THAT(changed("/features/keep", 1), HasSubstr("features.keep"));
    EXPECT_THAT(changed("/features/pairs", {{0, 1}}), HasSubstr("a pair of columns"));
    EXPECT_THAT(changed("/features/pairs", {0, 1}), HasSubstr("features.pairs"));
    EXPECT_THAT(changed("/features/input/range", {2.0, 1.0}), HasSubstr("features.input.range"));
}

TEST_F(ModelFileTest, AnotherModelHasAnotherDigest) {
    const std::string digest = write_model(path, sound());
    Model other = sound();
    ++other.parameters.back();
    EXPECT_NE(write_model(folder.file("other.h5"), other), digest);
    other = sound();
    other.cost["epsilon"] = 2;
    EXPECT_NE(write_model(folder.file("costs.h5"), other), digest);
}

TEST_F(ModelFileTest, IsTheSameBytesWheneverItIsWritten) {
    const std::string first = written(sound(), "one.h5");
    std::filesystem::create_directory(folder.file("elsewhere"));
    // HDF5 would keep the second in which a dataset was made.
    for (const auto now = std::time(nullptr); std::time(nullptr) == now;) continue;
    EXPECT_EQ(written(sound(), "elsewhere/two.h5"), first);
}

TEST_F(ModelFileTest, IsForAnyoneUnlessTheUmaskSaysOtherwise) {
    const auto mode = [&](const std::string& name) {
        struct stat status {};
        EXPECT_EQ(stat(folder.file(name).c_str(), &status), 0);
        return status.st_mode & 0777;
    };
    const mode_t before = umask(022);
    written(sound(), "open.h5");
    umask(027);
    written(sound(), "group.h5");
    umask(before);
    EXPECT_EQ(mode("open.h5"), 0644U);
    EXPECT_EQ(mode("group.h5"), 0640U);
}

TEST_F(ModelFileTest, ReplacesNoOtherFileAndLeavesNothing) {
    const std::string digest = write_model(path, sound()), bytes = folder.read("model.h5");
    EXPECT_EQ(write_model(path, sound()), digest);
    try {
        write_model(path, one_logit());
        ADD_FAILURE() << "another model was replaced";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::output);
        EXPECT_EQ(error.where(), path);
        EXPECT_THAT(error.message(), HasSubstr("another file"));
    }
    EXPECT_EQ(folder.read("model.h5"), bytes);
    EXPECT_THAT(folder.names(), testing::ElementsAre("model.h5"));
    EXPECT_THROW(write_model(folder.file("none/model.h5"), sound()), Error);
}

TEST_F(ModelFileTest, TheDoublesBesideAreTheNearest) {
    write_model(path, sound());
    const hdf5::File file = hdf5::File::open_read(path);
    const auto units = file.dataset("layer_0/units").read_all<std::int64_t>();
    const auto weight = file.dataset("layer_0/weight").read_all<double>();
    const auto bias = file.dataset("layer_0/bias").read_all<double>();
    ASSERT_EQ(weight.size(), 12U);
    for (std::size_t row = 0; row < 4; ++row) {
        for (std::size_t column = 0; column < 3; ++column)
            EXPECT_EQ(weight[3 * row + column],
                      std::ldexp(static_cast<double>(units[4 * row + column]), -50));
        EXPECT_EQ(bias[row], std::ldexp(static_cast<double>(units[4 * row + 3]), -50));
    }
    EXPECT_EQ(weight[2], 1024);  // 1024 - 2^-50 is no double
    EXPECT_EQ(units[2], parameter_limit_units - 1);
}

TEST_F(ModelFileTest, HoldsNothingElse) {
    write_model(path, sound());
    const hdf5::File file = hdf5::File::open_read(path);
    EXPECT_THAT(file.names(), testing::ElementsAre("description", "digest", "layer_0", "layer_1", "layer_2"));
    const auto text = file.dataset("description").read_all<std::uint8_t>();
    std::vector<std::string> fields;
    const json object = json::parse(text.begin(), text.end());
    for (const auto& field : object.items()) fields.push_back(field.key());
    EXPECT_THAT(fields,
                testing::ElementsAre("classes", "cost", "format", "guarantee", "input", "kind", "layers",
                                     "loss", "precision", "program", "program_version", "version"));
}

TEST_F(ModelFileTest, WhatIsNoModelIsNamed) {
    EXPECT_THAT(refusal(folder.file("none.h5")), HasSubstr("No such file"));
    EXPECT_THAT(refusal(folder.path()), HasSubstr("not a regular file"));
    EXPECT_THAT(refusal(folder.write("text.h5", "label\n1\n")), HasSubstr("not an HDF5 file"));
    hdf5::File::create(folder.file("empty.h5")).close();
    EXPECT_THAT(refusal(folder.file("empty.h5")), HasSubstr("does not end with a seal"));
    add_seal(folder.file("empty.h5"), "");
    EXPECT_THAT(refusal(folder.file("empty.h5")), HasSubstr("is no model"));
    EXPECT_THAT(refusal(file_of("{]")), HasSubstr("no JSON object"));
    EXPECT_THAT(refusal(file_of("[1]")), HasSubstr("no JSON object"));
    for (const char* field : {"kind", "guarantee", "cost", "other"}) {  // no recursion without end
        std::string text = description().dump();
        const std::string deep = std::string(400000, '[') + std::string(400000, ']');
        text.insert(1, "\"" + std::string(field) + "\":" + deep + ",");
        EXPECT_THAT(refusal(file_of(text)), HasSubstr("no JSON object"));
    }
    EXPECT_THAT(refusal(file_of(std::string(17 << 20, ' '))), HasSubstr("'description' is no text"));
    EXPECT_THAT(refusal_of("/format", "holdfast run"), HasSubstr("is no model"));
    EXPECT_EQ(refusal(file_of(description().dump())), "");
}

TEST_F(ModelFileTest, EveryTruncationAndEveryFlippedByteOfTheModelIsNoticed) {
    const std::string whole = written(sound(), "model.h5");
    for (std::size_t length = 0; length < whole.size(); length += 97)
        EXPECT_NE(refusal(folder.write("cut.h5", whole.substr(0, length))), "") << length;
    const hdf5::File file = hdf5::File::open_read(path);
    for (const char* name : {"description", "layer_1/units", "layer_1/weight", "layer_2/bias", "digest"}) {
        const hdf5::Dataset dataset = file.dataset(name);
        std::string part;
        if (dataset.type() == hdf5::Type::uint8) {
            const auto bytes = dataset.read_all<std::uint8_t>();
            part.assign(bytes.begin(), bytes.end());
        } else if (dataset.type() == hdf5::Type::int64) {
            const auto units = dataset.read_all<std::int64_t>();
            part.assign(reinterpret_cast<const char*>(units.data()), 8 * units.size());
        } else {
            const auto values = dataset.read_all<double>();
            part.assign(reinterpret_cast<const char*>(values.data()), 8 * values.size());
        }
        const std::size_t at = whole.find(part);
        ASSERT_NE(at, std::string::npos) << name;
        for (std::size_t i = 0; i < part.size(); ++i) {
            std::string changed = whole;
            changed[at + i] = static_cast<char>(changed[at + i] ^ 0x10);
            EXPECT_NE(refusal(folder.write("changed.h5", changed)), "") << name << " byte " << i;
        }
    }
}

TEST_F(ModelFileTest, WhatItsColumnsAreComesBackAndMustFit) {
    json schema = {{"column",
                    {{{"name", "age"}, {"type", "number"}, {"range", {0, 100}}},
                     {{"name", "pulse"}, {"type", "number"}}}}};
    const auto refused = [&] {
        json object = description();
        object["version"] = 5;
        object["schema"] = schema;
        return refusal(file_of(object.dump()));
    };
    EXPECT_EQ(refused(), "");
    const std::optional<Schema> read = read_model(path).model.schema;
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(to_json(*read), schema);
    schema["column"][1]["type"] = "colour";
    EXPECT_THAT(refused(), HasSubstr("number, date, category or any"));
    schema["column"].erase(1);
    EXPECT_THAT(refused(), HasSubstr("of columns that make 2 features"));
    schema["withheld"] = true;  // names alone
    EXPECT_EQ(refused(), "");
    EXPECT_THAT(refusal_of("/version", 5), HasSubstr("\"schema\" is missing"));
}

TEST_F(ModelFileTest, ANewerVersionIsNamed) {
    EXPECT_THAT(refusal_of("/version", 7), HasSubstr("version 7, newer than this program reads (6)"));
    EXPECT_THAT(refusal_of("/version", 0), HasSubstr("\"version\""));
    EXPECT_THAT(refusal_of("/version", "1"), HasSubstr("\"version\""));
}

TEST_F(ModelFileTest, EveryFieldIsChecked) {
    const json whole = description();
    for (const auto& field : whole.items()) {
        json without = whole;
        without.erase(field.key());
        const std::string message = refusal(file_of(without.dump()));
        EXPECT_THAT(message, HasSubstr("field \"" + field.key() + "\" is missing"));
        EXPECT_NE(refusal_of("/" + field.key(), true), "") << field.key();
    }
    const auto names = [&](const std::string& pointer, const json& value, const std::string& field) {
        EXPECT_THAT(refusal_of(pointer, value), HasSubstr("field \"" + field + "\""))
            << pointer << " " << value;
    };
    names("/layers", json::array(), "layers");
    names("/layers", {{2, 0}}, "layers");
    names("/layers", {{0, 1}}, "layers");
    names("/layers", {{2, -1}}, "layers");
    names("/layers", {{2.5, 1}}, "layers");
    names("/layers", {2, 1}, "layers");
    names("/layers", {{2, 3}, {4, 1}}, "layers");               // do not fit each other
    names("/layers", {{std::uint64_t{1} << 62, 1}}, "layers");  // nor the file
    names("/layers", {{2, UINT64_MAX}, {UINT64_MAX, 1}}, "layers");
    names("/layers", {{100, 100}, {100, 1}}, "layers");
    names("/layers", {{UINT64_MAX, 1}}, "layers");
    names("/layers", {{2, 2}}, "layers");  // nor the loss
    names("/classes", 1, "classes");
    names("/classes", 3, "classes");
    names("/classes", 1000000, "classes");
    names("/loss", "exp", "loss");
    names("/input/scale", 0, "input.scale");
    names("/input/scale", -1, "input.scale");
    names("/input/shift", "0", "input.shift");
    names("/input/range", {1, 1}, "input.range");
    names("/input/range", {1, 0}, "input.range");
    names("/input/range", {0, 1, 2}, "input.range");
    names("/precision", "half", "precision");
    names("/kind", "noisy\x1b[2J", "kind");
    names("/guarantee/status", 1, "guarantee.status");
    names("/guarantee/statement", "a\nb", "guarantee.statement");
    names("/guarantee/conditions", {1}, "guarantee.conditions");
    names("/guarantee/conditions", {"a\x7f"}, "guarantee.conditions");
    names("/guarantee/gap", 5, "guarantee.gap");
    names("/cost", {{"epsilon", 1}}, "cost.delta");
    names("/cost", {{"epsilon", -1}, {"delta", 0}, {"mechanism", ""}, {"parameters", {}}}, "cost.epsilon");
    names("/cost", {{"epsilon", 1}, {"delta", 0}, {"mechanism", ""}, {"parameters", 1}}, "cost.parameters");
    std::string text = description().dump();
    text.replace(text.find("\"shift\":0.0"), 11, "\"shift\":1e999");
    EXPECT_NE(refusal(file_of(text)), "");
}

TEST_F(ModelFileTest, ValuesThatContradictAreRefused) {
    const std::string text = description().dump();
    EXPECT_THAT(refusal(file_of(text, {5, -6, parameter_limit_units + 1})), HasSubstr("beyond +-1024"));
    EXPECT_THAT(refusal(file_of(text, {5, -6, INT64_MIN})), HasSubstr("beyond +-1024"));
    EXPECT_THAT(refusal(file_of(text, {5, -6, 8})), HasSubstr("is not what 'units' says"));
    EXPECT_THAT(refusal(file_of(text, {5, -6, 7}, {5 * 0x1p-50, 6 * 0x1p-50})),
                HasSubstr("is not what 'units' says"));
    EXPECT_THAT(refusal(file_of(text, {5, -6, 7}, {0.0})), HasSubstr("another type or shape"));
    EXPECT_THAT(refusal(file_of(text, {5, -6, 7}, {0, 0}, {3, 1})), HasSubstr("another type or shape"));
}

}  // namespace model_file_test
}  // namespace holdfast
