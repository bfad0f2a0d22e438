#include "models/nets/network_settings.hpp"

#include "kernels/base/error.hpp"

namespace holdfast {

Loss NetworkSettings::resolved_loss() const {
    for (const LossInfo& info : losses()) {
        if (info.name == loss) return info.loss;
    }
    return classes == 2 ? Loss::binary_cross_entropy : Loss::cross_entropy;
}

Network NetworkSettings::make(const FeatureMap& features) const {
    return Network(features.outputs(), {hidden.begin(), hidden.end()}, static_cast<std::size_t>(classes),
                   resolved_loss(), features.network_input());
}

std::vector<BasicOption<NetworkSettings>> network_options() {
    using S = NetworkSettings;
    std::string help = "auto";
    std::vector<std::string> names{"auto"};
    for (const LossInfo& info : losses()) {
        names.emplace_back(info.name);
        help += " | " + names.back() + (info.one_logit ? " (one logit)" : " (a logit a class)");
    }
    return {integers("hidden", "widths of the hidden layers, [] for none", &S::hidden),
            integer("classes", "public number of classes", &S::classes, 2, 1000),
            text("loss", help, &S::loss, names),
            real("input_shift", "public constant: the network sees (x - shift) * scale", &S::input_shift,
                 at_least(-1e6)),
            real("input_scale", "the scale", &S::input_scale, above(0))};
}

void check(const NetworkSettings& settings) {
    if (info_of(settings.resolved_loss()).one_logit && settings.classes != 2) {
        throw Error(ExitCode::usage,
                    "one logit tells two classes apart, not " + std::to_string(settings.classes),
                    "set network.loss = \"cross_entropy\"", "network.loss");
    }
}

}  // namespace holdfast
