#include "models/nets/network.hpp"

#include <algorithm>
#include <cmath>

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

Network::Network(std::size_t inputs, const std::vector<std::size_t>& hidden, std::size_t classes, Loss loss,
                 InputTransform transform)
    : shape_{{}, loss, transform}, classes_(classes) {
    if (inputs == 0)
        throw Error(ExitCode::input, "the data has no features", "name at least one feature column");
    require_loss_for(classes, loss);
    const bool one_logit = info_of(loss).one_logit;
    std::size_t in = inputs;
    const auto add = [&](std::size_t out) {
        shape_.layers.push_back({in, out});
        in = out;
    };
    for (const std::size_t width : hidden) {
        if (width == 0)
            throw Error(ExitCode::usage, "a hidden layer has width 0", "give every layer at least one unit",
                        "network.hidden");
        add(width);
    }
    add(one_logit ? 1 : classes);
}

std::vector<bool> Network::biases() const {
    std::vector<bool> flags;
    flags.reserve(parameters());
    for (const LayerShape& layer : layers()) {
        for (std::size_t p = 0; p < layer.parameters(); ++p) flags.push_back(p % (layer.in + 1) == layer.in);
    }
    return flags;
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
    return values;
}

}  // namespace holdfast
