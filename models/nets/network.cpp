#include "models/nets/network.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "kernels/base/streams.hpp"

namespace holdfast {

void require_loss_for(std::size_t classes, Loss loss) {
    const LossInfo& info = info_of(loss);
    if (info.of_numbers) {
        if (classes == 1) return;
        throw Error(
            ExitCode::usage,
            std::string(info.name) + " is a loss of numbers, not of " + std::to_string(classes) + " classes",
            "set network.classes = 1 for a regression, or another loss for a classifier", "network.loss");
    }
    if (classes < 2)
        throw Error(ExitCode::usage, "a classifier needs at least two classes",
                    "set network.classes to 2 or more, or network.loss = \"squared_error\" for a regression",
                    "network.classes");
    if (info.one_logit && classes != 2) {
        throw Error(ExitCode::usage, "one logit tells two classes apart, not " + std::to_string(classes),
                    "set network.loss = \"cross_entropy\"", "network.loss");
    }
}

namespace {

std::vector<Layer> dense_layers(std::size_t inputs, const std::vector<std::size_t>& hidden,
                                std::size_t logits) {
    std::vector<Layer> layers;
    std::size_t in = inputs;
    const auto add = [&](std::size_t out) {
        layers.push_back({in, out});
        in = out;
    };
    for (const std::size_t width : hidden) {
        if (width == 0)
            throw Error(ExitCode::usage, "a hidden layer has width 0", "give every layer at least one unit",
                        "network.hidden");
        add(width);
    }
    add(logits);
    return layers;
}

}  // namespace

Network::Network(std::vector<Layer> layers, std::size_t classes, Loss loss, InputTransform transform)
    : shape_{std::move(layers), loss, transform}, classes_(classes) {
    ensure(!shape_.layers.empty() && shape_.layers.back().is_dense(), "the last layer is dense");
    if (inputs() == 0)
        throw Error(ExitCode::input, "the data has no features", "name at least one feature column");
    require_loss_for(classes, loss);
    ensure(outputs() == logits_of(classes, loss), "a network has the logits of its loss");
    for (std::size_t l = 1; l < shape_.layers.size(); ++l)
        ensure(shape_.layers[l].input_rows() == shape_.layers[l - 1].output_rows(),
               "a layer takes what the one before gives");
}

Network::Network(std::size_t inputs, const std::vector<std::size_t>& hidden, std::size_t classes, Loss loss,
                 InputTransform transform)
    : Network(dense_layers(inputs, hidden, logits_of(classes, loss)), classes, loss, transform) {}

std::size_t logits_of(std::size_t classes, Loss loss) {
    return info_of(loss).one_logit ? 1 : classes;
}

std::vector<bool> Network::biases() const {
    std::vector<bool> flags;
    flags.reserve(parameters());
    for (const LayerShape& layer : layers()) {
        for (std::size_t p = 0; p < layer.parameters(); ++p) flags.push_back(p % (layer.in + 1) == layer.in);
    }
    return flags;
}

std::vector<std::size_t> Network::pinned() const {
    std::vector<std::size_t> entries;
    std::size_t first = 0;
    for (const Layer& layer : layers()) {
        for (std::size_t row = 0; row < layer.out && !layer.bias; ++row)
            entries.push_back(first + row * (layer.in + 1) + layer.in);
        first += layer.parameters();
    }
    return entries;
}

std::vector<std::int64_t> Network::initial_parameters(std::uint64_t seed, std::uint64_t member) const {
    const KeyedHash hash{seed};
    std::vector<std::int64_t> values;
    values.reserve(parameters());
    for (const LayerShape& layer : layers()) {
        const double bound = 1.0 / std::sqrt(static_cast<double>(layer.in));
        for (std::size_t p = 0; p < layer.parameters(); ++p) {
            const double uniform = hash.uniform(streams::initial_parameters(member), values.size());
            values.push_back(parameter_units(bound * (2.0 * uniform - 1.0)));
        }
    }
    for (const std::size_t entry : pinned()) values[entry] = 0;
    return values;
}

}  // namespace holdfast
