#include "jobs/program/option_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "kernels/base/error.hpp"
#include "models/kinds/kinds.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace configuration_test {

using nlohmann::json;

/// The numbers that the help of an option lists, as in "… bits: 16 | 8", or none.
std::vector<std::int64_t> listed_numbers(const Option& option) {
    const std::size_t list = option.help.rfind(": ");
    if (list == std::string::npos || option.help.find(" | ", list) == std::string::npos) return {};
    std::vector<std::int64_t> numbers;
    std::istringstream words(option.help.substr(list + 2));
    for (std::string word; words >> word;)
        if (word != "|") numbers.push_back(std::stoll(word));
    return numbers;
}

/// Another value that `option` accepts than the one in `configuration`: found by trying, so that new options
/// are covered.
json other_value(const Option& option, const Configuration& configuration) {
    const json now = option.get(configuration);
    std::vector<json> candidates;
    if (now.is_number_integer()) {
        candidates = {now.get<std::int64_t>() + 1, now.get<std::int64_t>() - 1};
        for (const std::int64_t number : listed_numbers(option)) candidates.emplace_back(number);
    }
    if (now.is_number_float()) candidates = {now.get<double>() / 2, 0.375, 2.5};
    if (now.is_array())
        candidates = {json::array({3, 5}),      json::array({7}),      json::array({3, 5, 2}),
                      json::array({"dense 3"}), json::array({1, 0.5}), json::array({1, 0.5, 2, 4})};
    if (now.is_boolean()) candidates = {!now.get<bool>()};
    if (now.is_string()) {
        candidates = {"1x1x1"};
        std::istringstream words(option.help);
        for (std::string word; words >> word;) candidates.emplace_back(word);
    }
    for (const json& candidate : candidates) {
        Configuration trial = configuration;
        try {
            option.set(trial, candidate);
        } catch (const std::string&) {
            continue;
        }
        if (option.get(trial) != now) return candidate;
    }
    return now;
}

/// What must be set too for another value of an option to be accepted.
std::vector<std::pair<std::string, json>> set_beside(const std::string& key) {
    if (key == "training.public_steps") return {{"training.public_batch_size", 10}};
    if (key == "training.layer_steps") return {{"network.hidden", json::array({4, 4})}};
    if (key == "training.batching") return {{"training.batch_size", 10}};
    if (key == "training.activation_bits") return {{"training.precision", "fixed"}};
    if (key == "training.kind") return {{"clip.kind", "norm"}};
    if (key == "features.edges" || key == "features.pairs" || key == "features.column_bins" ||
        key == "features.trend")
        return {{"features.map", "bins"}};
    if (key == "features.image" || key == "features.weights") return {{"features.map", "scattering"}};
    if (key == "training.dampening" || key == "training.nesterov") return {{"training.momentum", 0.5}};
    if (key == "network.image") return {{"network.layers", json::array({"conv 2 1x1"})}};
    if (key == "network.initial_digest") return {{"network.initial", "model.h5"}};
    if (key == "features.prefix") return {{"features.map", "prefix"}};
    if (key.starts_with("noise.") || key == "training.labels")
        return {{"training.kind", "noisy"}, {"clip.kind", "norm"}};
    if (key == "robust.attack")
        return {{"training.kind", "noisy"}, {"clip.kind", "norm"}, {"robust.input_radius", 0.1}};
    if (key == "robust.noise") return {{"training.kind", "noisy"}, {"clip.kind", "norm"}};
    if (key.starts_with("robust."))
        return {{"training.kind", "noisy"}, {"clip.kind", "norm"}, {"robust.noise", 0.1}};
    if (key.starts_with("dpal."))
        return {{"training.kind", "dpal"}, {"network.loss", "cross_entropy"}, {"training.batches", 2}};
    if (key.starts_with("convex.")) return {{"training.kind", "convex"}, {"network.hidden", json::array()}};
    std::vector<std::pair<std::string, json>> adversary{{"certificate.relation", "poison"},
                                                        {"certificate.budget", "per_batch"}};
    if (key == "poison.target_radius") adversary.emplace_back("network.classes", 1);
    if (key.starts_with("poison.")) return adversary;
    return {};
}

std::string assignment(const std::string& key, const json& value) {
    return key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
}

std::string error_of(const std::string& toml, const std::vector<std::string>& overrides) {
    try {
        read_configuration(toml, overrides);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_FALSE(error.hint().empty()) << error.what();
        return error.what();
    }
    return "";
}

TEST(OptionTable, EveryOptionGoesThroughJsonAndBack) {
    for (const Option& option : option_table()) {
        if (option.key == "training.kind" && kinds().size() == 1) continue;  // of which there is one
        Configuration base;
        for (const Option& other : option_table()) {
            for (const auto& [key, value] : set_beside(option.key)) {
                if (other.key == key) other.set(base, value);
            }
        }
        Configuration changed = base;
        const json value = other_value(option, base);
        ASSERT_NE(value, option.get(base)) << option.key << " accepts no second value";
        option.set(changed, value);
        const json all = to_json(changed);
        EXPECT_EQ(all.size(), option_table().size());
        EXPECT_EQ(all.at(option.key), value) << option.key;
        const Configuration again = configuration_from_json(json::parse(all.dump()));
        EXPECT_EQ(to_json(again), all) << option.key;
        EXPECT_EQ(deciding_settings(again.settings) != deciding_settings(base.settings), option.decides)
            << option.key;
    }
}

TEST(OptionTable, EveryOptionIsSetTheSameByFileAndByCommandLine) {
    const TemporaryFolder folder;
    for (const Option& option : option_table()) {
        const json value = other_value(option, Configuration{});
        const std::size_t dot = option.key.find('.');
        const std::string section = option.key.substr(0, dot), name = option.key.substr(dot + 1);
        const std::string file =
            folder.write("one.toml", "[" + section + "]\n" + name + " = " + value.dump() + "\n");
        std::vector<std::string> overrides;
        for (const auto& [key, beside] : set_beside(option.key)) overrides.push_back(assignment(key, beside));
        const Configuration from_file = read_configuration(file, overrides);
        overrides.push_back(assignment(option.key, value));
        const Configuration from_line = read_configuration("", overrides);
        EXPECT_EQ(option.get(from_file), value) << option.key;
        EXPECT_EQ(to_json(from_file), to_json(from_line)) << option.key;
    }
}

TEST(OptionTable, HelpNamesEveryKeyAndDefaultOnce) {
    const std::string help = options_help();
    const json defaults = to_json(Configuration{});
    std::set<std::string> keys;
    for (const Option& option : option_table()) {
        EXPECT_TRUE(keys.insert(option.key).second) << option.key << " twice";
        const std::size_t at = help.find("\n  " + option.key + " ");
        ASSERT_NE(at, std::string::npos) << option.key;
        const std::string line = help.substr(at + 1, help.find('\n', at + 1) - at - 1);
        EXPECT_NE(line.find(option.help), std::string::npos) << line;
        EXPECT_NE(line.find("default " + defaults[option.key].dump()), std::string::npos) << line;
    }
}

TEST(OptionTable, WrongTypesAreRefusedAndLeaveTheSettingAlone) {
    const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
    for (const Option& option : option_table()) {
        const json before = option.get(Configuration{});
        std::vector<json> wrong{nullptr, json::object({{"a", 1}})};
        if (before.is_number())
            wrong.insert(wrong.end(), {"7", json::array({1}), true, nan, infinity, -infinity, -1e300, 1e300});
        if (before.is_number_integer()) wrong.insert(wrong.end(), {1.5, -1, UINT64_MAX});
        if (before.is_array()) wrong.insert(wrong.end(), {7, json::array({nan})});
        if (before.is_array() && option.key != "network.layers") wrong.push_back(json::array({"1"}));
        if (before.is_array() && option.key != "features.edges")  // a list of any numbers
            wrong.insert(wrong.end(), {json::array({-1}), json::array({1.5}), json::array({INT64_MAX})});
        if (before.is_array() && option.key != "features.edges" && option.key != "training.layer_steps")
            wrong.push_back(json::array({0}));
        if (before.is_string()) wrong.insert(wrong.end(), {7, json::array({"auto"}), true});
        for (const json& value : wrong) {
            Configuration settings;
            EXPECT_THROW(option.set(settings, value), std::string) << option.key << " = " << value;
            EXPECT_EQ(option.get(settings), before) << option.key;
        }
    }
}

TEST(OptionTable, IntegerRangesOfTheHelpAreThoseThatHold) {
    for (const Option& option : option_table()) {
        if (!option.get(Configuration{}).is_number_integer()) continue;
        if (const auto listed = listed_numbers(option); !listed.empty()) {
            for (std::int64_t number = 0; number <= 64; ++number) {
                Configuration settings;
                if (std::find(listed.begin(), listed.end(), number) == listed.end()) {
                    EXPECT_THROW(option.set(settings, number), std::string) << option.key << " = " << number;
                    continue;
                }
                option.set(settings, number);
                EXPECT_EQ(option.get(settings), number) << option.key;
            }
            continue;
        }
        const std::size_t open = option.help.rfind('['), dots = option.help.find("..", open);
        ASSERT_NE(dots, std::string::npos) << option.help;
        const std::int64_t least = std::stoll(option.help.substr(open + 1));
        const std::string most = option.help.substr(dots + 2, option.help.size() - dots - 3);
        Configuration settings;
        option.set(settings, least);
        EXPECT_EQ(option.get(settings), least) << option.key;
        EXPECT_THROW(option.set(settings, least - 1), std::string) << option.key;
        const std::int64_t greatest = most.empty() ? INT64_MAX : std::stoll(most);
        option.set(settings, greatest);
        EXPECT_EQ(option.get(settings), greatest) << option.key;
        if (greatest == INT64_MAX) continue;
        EXPECT_THROW(option.set(settings, greatest + 1), std::string) << option.key;
    }
}

TEST(ReadSettings, CommandLineOverridesTheFileAndTheLastWordCounts) {
    const TemporaryFolder folder;
    const std::string file = folder.write("a.toml", "[training]\nepochs = 3\nlearning_rate = 1\n");
    const Settings settings =
        read_configuration(file, {"training.epochs=5", "training.epochs=6", "clip.gamma=.25"}).settings;
    EXPECT_EQ(settings.training.epochs, 6);
    EXPECT_EQ(settings.training.learning_rate, 1.0);  // a whole number will do
    EXPECT_EQ(settings.clip.gamma, 0.25);
}

TEST(ReadSettings, MistakesNameTheKeyThePlaceAndTheRemedy) {
    const TemporaryFolder folder;
    const auto file = [&](const std::string& text) { return folder.write("bad.toml", text); };
    EXPECT_NE(error_of("", {"training.epoch=3"}).find("did you mean training.epochs?"), std::string::npos);
    EXPECT_NE(error_of(file("[clip]\ngama = 1\n"), {})
                  .find("bad.toml: unknown key clip.gama (did you mean clip.gamma?)"),
              std::string::npos);
    EXPECT_NE(error_of(file("epochs = 3\n"), {}).find("unknown key epochs"), std::string::npos);
    EXPECT_NE(error_of(file("[training.epochs]\na = 3\n"), {}).find("training.epochs wants a whole number"),
              std::string::npos);
    EXPECT_NE(error_of(file("[network]\nhidden = {a = 1}\n"), {}).find("network.hidden wants a list"),
              std::string::npos);
    EXPECT_NE(error_of(file("[network]\nhidden = 1979-05-27\n"), {}).find("network.hidden wants a list"),
              std::string::npos);
    EXPECT_NE(error_of(file("[network]\nhidden = [1,\n"), {}).find("bad.toml: line "), std::string::npos);
    EXPECT_NE(error_of(folder.file("none.toml"), {}).find("none.toml: no such configuration file"),
              std::string::npos);
    EXPECT_NE(error_of(folder.path(), {}).find("no such configuration file"), std::string::npos);
    EXPECT_NE(error_of("", {"training.epochs"}).find("not section.key=value"), std::string::npos);
    EXPECT_NE(error_of("", {"training.learning_rate=0"}).find("training.learning_rate is 0, outside (0"),
              std::string::npos);
    EXPECT_NE(error_of("", {"certificate.relation=swap"}).find("add_remove | substitute | remove | poison"),
              std::string::npos);
}

TEST(ReadSettings, SettingsThatContradictAreRefused) {
    const std::vector<std::vector<std::string>> contradictions{
        {"clip.kind=norm"},
        {"clip.kind=factored", "certificate.product=rump"},
        {"clip.kind=factored", "certificate.product=nguyen"},
        {"certificate.product=[]"},
        {"certificate.product=[\"exact\",\"other\"]"},
        {"training.precision=single", "certificate.product=[\"exact\",\"nguyen\"]"},
        {"training.public_steps=3"},
        {"training.kind=convex", "network.hidden=[]", "training.public_batch_size=3"},
        {"training.layer_steps=[1,1]", "network.hidden=[4]"},
        {"training.layer_steps=[-1]"},
        {"training.layer_steps=1"},
        {"training.layer_steps=[1]", "training.kind=noisy", "clip.kind=norm"},
        {"training.precision=single", "certificate.product=rump"},
        {"training.precision=single", "clip.gamma=1e-30"},
        {"training.precision=single", "clip.kind=factored", "clip.delta_limit=1e-30"},
        {"training.batching=sequential"},
        {"training.batching=sequential", "training.batch_size=10", "ensemble.members=2"},
        {"network.loss=binary_cross_entropy", "network.classes=3"},
        {"network.loss=binary_cross_entropy", "network.classes=1"},
        {"network.loss=squared_error"},
        {"network.classes=1", "ensemble.members=2"},
        {"network.classes=1", "training.kind=convex", "network.hidden=[]"},
        {"ensemble.aggregate=paper", "network.classes=3"},
        {"poison.input_radius=0.1"},
        {"poison.labels=flip"},
        {"certificate.relation=poison"},
        {"certificate.relation=poison", "certificate.budget=both", "clip.kind=factored"},
        {"certificate.relation=poison", "certificate.budget=both", "poison.labels=targeted",
         "poison.target_label=2"},
        {"certificate.relation=poison", "certificate.budget=both", "poison.target_radius=1"},
        {"certificate.relation=poison", "certificate.budget=both", "poison.labels=flip", "network.classes=1"},
        {"certificate.relation=poison", "certificate.budget=both", "poison.input_radius=1",
         "features.map=bins"},
        {"certificate.relation=poison", "certificate.budget=both", "training.kind=noisy", "clip.kind=norm"},
        {"certificate.relation=poison", "training.kind=convex", "network.hidden=[]"},
        {"training.class_weights=[0.1]"},
        {"training.class_weights=[0.1,1,1]"},
        {"training.class_weights=[0,1]"},
        {"training.class_weights=[0.1,2]"},
        {"training.class_weights=0.1"},
        {"training.class_weights=[1]", "network.classes=1"},
        {"training.class_weights=[0.1,1]", "training.rows_at_most=4"},
        {"training.class_weights=[0.1,1]", "certificate.relation=poison", "certificate.budget=both",
         "poison.labels=flip"},
        {"training.class_weights=[0.1,1]", "training.kind=noisy", "clip.kind=norm",
         "network.loss=cross_entropy", "robust.noise=0.1"},
        {"training.class_weights=[0.1,1]", "training.precision=fixed", "clip.kind=factored"}};
    for (const auto& overrides : contradictions) EXPECT_NE(error_of("", overrides), "") << overrides.back();
}

TEST(ReadSettings, OneClassIsARegression) {
    const NetworkSettings network = read_configuration("", {"network.classes=1"}).settings.network;
    EXPECT_EQ(network.resolved_loss(), Loss::squared_error);
    EXPECT_NE(error_of("", {"network.loss=squared_error"}).find("network.classes = 1"), std::string::npos);
}

TEST(ReadSettings, AnAdversaryIsDescribedInFull) {
    const Settings settings =
        read_configuration(
            "", {"certificate.relation=poison", "certificate.budget=per_batch", "poison.input_radius=0.02",
                 "poison.labels=targeted", "poison.target_label=1"})
            .settings;
    EXPECT_TRUE(settings.poisoned());
    EXPECT_EQ(settings.poison.input_radius, 0.02);
    EXPECT_EQ(settings.poison.labels, Poison::Labels::targeted);
    EXPECT_EQ(settings.poison.target_label, 1);
    EXPECT_EQ(read_configuration("", {"certificate.relation=poison", "certificate.budget=both",
                                      "network.classes=1", "poison.target_radius=0.5"})
                  .settings.poison.target_radius,
              0.5);
}

TEST(ReadSettings, AProductIsNamedOnceOrForEveryLayer) {
    const auto product = [](const std::string& value) {
        const Configuration read = read_configuration("", {"certificate.product=" + value});
        EXPECT_EQ(to_json(read)["certificate.product"], value.front() == '[' && value != "[\"rump\"]"
                                                            ? json::parse(value)
                                                            : json(value == "[\"rump\"]" ? "rump" : value));
        return read.settings.certificate.product.layers;
    };
    EXPECT_EQ(product("nguyen"), std::vector{Product::nguyen});
    EXPECT_EQ(product("[\"rump\"]"), std::vector{Product::rump});
    EXPECT_EQ(product("[\"exact\",\"nguyen\"]"), (std::vector{Product::exact, Product::nguyen}));
}

TEST(DecidingSettings, IgnoreHowTheRunIsCarriedOut) {
    const std::string base = deciding_settings(Settings{});
    EXPECT_EQ(deciding_settings(
                  read_configuration("", {"run.backend=reference", "run.threads=3", "run.checkpoint_steps=5"})
                      .settings),
              base);
    EXPECT_NE(deciding_settings(read_configuration("", {"training.seed=1"}).settings), base);
    EXPECT_NE(deciding_settings(read_configuration("", {"training.precision=single"}).settings), base);
}

TEST(Precision, OfAManifestThatDoesNotSayIsDouble) {
    json values = to_json(read_configuration("", {"training.precision=single"}));
    EXPECT_EQ(values["training.precision"], "single");
    EXPECT_EQ(configuration_from_json(values).settings.training.precision, Precision::single_precision);
    const auto fixed = read_configuration("", {"training.precision=fixed", "training.activation_bits=8"});
    EXPECT_EQ(configuration_from_json(to_json(fixed)).settings.training.precision, Precision::fixed);
    EXPECT_EQ(configuration_from_json(to_json(fixed)).settings.training.activation_bits, 8);
    EXPECT_THROW(read_configuration("", {"training.activation_bits=12"}), Error);
    values.erase("training.precision");
    EXPECT_EQ(configuration_from_json(values).settings.training.precision, Precision::double_precision);
}

TEST(Configuration, RefusesWhatIsGivenAndBelongsToAnotherKind) {
    const std::vector<std::string> noisy{"training.kind=noisy", "clip.kind=norm"},
        convex{"training.kind=convex", "network.hidden=[]"};
    const TemporaryFolder folder;
    const auto error = [](std::vector<std::string> overrides, const std::string& given) {
        overrides.push_back(given);
        return error_of("", overrides);
    };
    EXPECT_NE(error({}, "noise.multiplier=1")
                  .find("noise.multiplier belongs to training.kind = \"noisy\", and the kind is \"boxes\""),
              std::string::npos)
        << error({}, "noise.multiplier=1");
    EXPECT_NE(error(convex, "noise.epsilon=1").find("\"noisy\""), std::string::npos);
    EXPECT_NE(error(noisy, "convex.l1=0.1").find("\"convex\""), std::string::npos);
    EXPECT_NE(error(noisy, "poison.input_radius=0.1").find("\"boxes\""), std::string::npos);
    EXPECT_NE(error(noisy, "certificate.levels=3").find("\"boxes\" or \"convex\""), std::string::npos);
    EXPECT_NE(error_of(folder.write("bad.toml", "[noise]\nmultiplier = 1.0\n"), {}).find("bad.toml"),
              std::string::npos);
    EXPECT_EQ(error(noisy, "noise.multiplier=30"), "");
    EXPECT_EQ(error(noisy, "certificate.relation=substitute"), "");
    // What a run says of itself holds every option.
    const Configuration read = read_configuration("", noisy);
    EXPECT_EQ(to_json(configuration_from_json(to_json(read))), to_json(read));
}

TEST(Configuration, TakesEveryKindOfTrainingThereIsAndNoOther) {
    for (const Kind& kind : kinds()) {
        const std::string clip = kind.name == "noisy" ? "norm" : "elementwise";
        std::vector<std::string> settings{"training.kind=" + kind.name, "clip.kind=" + clip,
                                          "network.hidden=[]"};
        if (kind.name == "dpal")
            settings = {"training.kind=dpal", "network.loss=cross_entropy", "training.batches=2"};
        EXPECT_EQ(read_configuration("", settings).settings.training.kind, kind.name);
    }
    try {
        read_configuration("", {"training.kind=forest"});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_EQ(error.message(), "training.kind is \"forest\", not one of boxes | noisy | convex | dpal");
    }
}

}  // namespace configuration_test
}  // namespace holdfast
