#include "models/nets/network_settings.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kernels/base/arithmetic.hpp"
#include "kernels/base/error.hpp"
#include "models/nets/layers.hpp"
#include "models/nets/public_model.hpp"
#include "models/settings/option.hpp"

namespace holdfast {
namespace {

constexpr const char* initial_file = "/initial.h5";  // of a run's folder

std::optional<Image> image_of(const std::vector<std::int64_t>& sides) {
    if (sides.empty()) return std::nullopt;
    const auto side = [&](std::size_t i) { return static_cast<std::size_t>(sides[i]); };
    return Image{side(0), side(1), side(2)};
}

PublicModel initial_model(const NetworkSettings& settings) {
    return {settings.initial, settings.initial_digest, "network.initial_digest"};
}

std::vector<std::int64_t> sides_of(const nlohmann::json& value) {
    std::vector<std::int64_t> sides = whole_numbers(value);
    if (!sides.empty() && sides.size() != 3)
        throw std::string("wants [channels, height, width], or []: no image");
    return sides;
}

/// Of a linear network all 0, and the bias of a regression 1/2: import maps its numbers to [0, 1].
std::vector<std::int64_t> middle_of(const Network& network) {
    std::vector<std::int64_t> parameters(network.parameters(), 0);
    if (network.is_regression()) parameters.back() = parameter_units(0.5);
    for (const std::size_t entry : network.pinned()) parameters[entry] = 0;
    return parameters;
}

void check_image(const std::vector<std::int64_t>& image) {
    double rows = 1;
    for (const std::int64_t side : image) rows *= static_cast<double>(side);
    if (rows > FeatureMap::most_outputs)
        throw Error(ExitCode::usage,
                    "the image has more than " + std::to_string(FeatureMap::most_outputs) + " pixels",
                    "make its records smaller before they are imported", "network.image");
}

}  // namespace

Loss NetworkSettings::resolved_loss() const {
    for (const LossInfo& info : losses()) {
        if (info.name == loss) return info.loss;
    }
    if (classes == 1) return Loss::squared_error;
    return classes == 2 ? Loss::binary_cross_entropy : Loss::cross_entropy;
}

std::vector<Layer> NetworkSettings::hidden_layers(std::size_t inputs) const {
    const std::optional<Image> pixels = image_of(image);
    if (!layers.empty()) return layers_of(layers, pixels, pixels ? pixels->rows() : inputs, bias);
    std::vector<std::string> dense;
    for (const std::int64_t width : hidden) dense.push_back("dense " + std::to_string(width));
    return layers_of(dense, std::nullopt, inputs, bias);
}

Network NetworkSettings::make(const FeatureMap& features) const {
    const std::size_t inputs = features.outputs();
    if (const auto shape = image_of(image); shape && shape->rows() != inputs)
        throw Error(ExitCode::usage,
                    "the image has " + std::to_string(shape->rows()) + " pixels, where a record has " +
                        std::to_string(inputs) + " columns",
                    "set network.image to the channels, the height and the width of what the data holds",
                    "network.image");
    std::vector<Layer> all = hidden_layers(inputs);
    Layer last{};
    last.in = all.empty() ? inputs : all.back().output_rows();
    last.out = logits_of(static_cast<std::size_t>(classes), resolved_loss());
    last.bias = bias;
    all.push_back(last);
    return {std::move(all), static_cast<std::size_t>(classes), resolved_loss(), features.network_input()};
}

NetworkSettings NetworkSettings::pinned() const {
    NetworkSettings settings = *this;
    if (names_model(initial)) settings.initial_digest = initial_model(*this).read().digest;
    return settings;
}

void NetworkSettings::keep_initial(const std::string& folder) const {
    if (names_model(initial)) initial_model(*this).copy_to(folder + initial_file);
}

NetworkSettings NetworkSettings::kept_in(const std::string& folder) const {
    NetworkSettings settings = *this;
    if (names_model(initial)) settings.initial = folder + initial_file;
    return settings;
}

std::vector<std::int64_t> NetworkSettings::initial_parameters(const Network& network) const {
    if (initial.empty()) return {};
    if (!names_model(initial)) return middle_of(network);
    const Model model = initial_model(*this).read().model;
    if (!same_shape(model.network.layers(), network.layers()))
        throw Error(ExitCode::usage, "has other layers than the network that starts from it",
                    "set network.image, network.layers or network.hidden, and the features, to those it was "
                    "made with",
                    initial);
    for (const std::size_t entry : network.pinned()) {
        if (model.parameters[entry] != 0)
            throw Error(ExitCode::usage, "has a bias where the network that starts from it has none",
                        "leave no_bias and network.bias = false out, or name a model without biases",
                        initial);
    }
    return model.parameters;
}

std::vector<BasicOption<NetworkSettings>> network_options() {
    using S = NetworkSettings;
    std::string help = "auto";
    std::vector<std::string> names{"auto"};
    for (const LossInfo& info : losses()) {
        names.emplace_back(info.name);
        help += " | " + names.back() +
                (info.of_numbers  ? " (of numeric targets)"
                 : info.one_logit ? " (one logit)"
                                  : " (a logit a class)");
    }
    return {
        integers("hidden", "widths of the hidden layers, [] for none", &S::hidden),
        texts("layers", layers_help, &S::layers),
        option("image",
               "channels, height and width of what the columns are, as [1, 28, 28], column (channel * "
               "height + y) * width + x; []: no image " +
                   std::string(range_of_whole_numbers),
               &S::image, sides_of),
        flag("bias", "layers have biases; false: none has one", &S::bias),
        integer("classes", "public number of classes; 1: none, a regression of numeric targets", &S::classes,
                1, 1000),
        text("loss", help, &S::loss, names),
        real("input_shift", "public constant: the network sees (x - shift) * scale", &S::input_shift,
             at_least(-1e6)),
        real("input_scale", "the scale", &S::input_scale, above(0)),
        text(
            "initial",
            "a public model file of the same layers, whose parameters the training starts from; made without "
            "these records; \"middle\", without hidden layers: parameters 0, but a regression's answer in "
            "the "
            "middle of its range; \"\": parameters by training.seed",
            &S::initial),
        text("initial_digest", "the digest of the model in it, as its run keeps it; \"\": any model",
             &S::initial_digest)};
}

void check(const NetworkSettings& settings) {
    check_image(settings.image);
    if (!settings.layers.empty() && settings.hidden != NetworkSettings{}.hidden)
        throw Error(ExitCode::usage, "network.layers and network.hidden both say what is before the logits",
                    "leave one of them out", "network.layers");
    if (settings.layers.empty() && !settings.image.empty())
        throw Error(ExitCode::usage, "an image is of convolutions and their pooling, and there are none",
                    "name them in network.layers, or leave network.image out", "network.image");
    if (settings.initial == middle_start && !(settings.hidden.empty() && settings.layers.empty()))
        throw Error(ExitCode::usage, "hidden layers whose parameters are all 0 learn nothing",
                    "set network.hidden = [], or leave it out", "network.initial");
    if (!names_model(settings.initial) && !settings.initial_digest.empty())
        throw Error(ExitCode::usage, "network.initial_digest is of no model", "set network.initial",
                    "network.initial_digest");
    settings.hidden_layers(1);  // says what is wrong with them, of however many columns
    require_loss_for(static_cast<std::size_t>(settings.classes), settings.resolved_loss());
}

}  // namespace holdfast
