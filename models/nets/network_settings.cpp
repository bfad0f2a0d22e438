#include "models/nets/network_settings.hpp"

#include "kernels/base/error.hpp"

namespace holdfast {

Loss NetworkSettings::resolved_loss() const {
    for (const LossInfo& info : losses()) {
        if (info.name == loss) return info.loss;
    }
    if (classes == 1) return Loss::squared_error;
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
        help += " | " + names.back() +
                (info.of_numbers  ? " (of numeric targets)"
                 : info.one_logit ? " (one logit)"
                                  : " (a logit a class)");
    }
    return {integers("hidden", "widths of the hidden layers, [] for none", &S::hidden),
            integer("classes", "public number of classes; 1: none, a regression of numeric targets",
                    &S::classes, 1, 1000),
            text("loss", help, &S::loss, names),
            real("input_shift", "public constant: the network sees (x - shift) * scale", &S::input_shift,
                 at_least(-1e6)),
            real("input_scale", "the scale", &S::input_scale, above(0))};
}

void check(const NetworkSettings& settings) {
    require_loss_for(static_cast<std::size_t>(settings.classes), settings.resolved_loss());
}

}  // namespace holdfast
