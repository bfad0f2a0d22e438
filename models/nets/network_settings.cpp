#include "models/nets/network_settings.hpp"

#include "kernels/base/error.hpp"

namespace holdfast {

Loss NetworkSettings::resolved_loss() const {
    if (loss == "auto") return classes == 2 ? Loss::binary_cross_entropy : Loss::cross_entropy;
    return loss == "binary_cross_entropy" ? Loss::binary_cross_entropy : Loss::cross_entropy;
}

Network NetworkSettings::make(std::size_t inputs, FeatureRange range) const {
    return Network(inputs, {hidden.begin(), hidden.end()}, static_cast<std::size_t>(classes), resolved_loss(),
                   {input_shift, input_scale, range});
}

std::vector<BasicOption<NetworkSettings>> network_options() {
    using S = NetworkSettings;
    return {integers("hidden", "widths of the hidden layers, [] for none", &S::hidden),
            integer("classes", "public number of classes", &S::classes, 2, 1000),
            text("loss", "auto | binary_cross_entropy (one logit) | cross_entropy (a logit a class)",
                 &S::loss, {"auto", "binary_cross_entropy", "cross_entropy"}),
            real("input_shift", "public constant: the network sees (x - shift) * scale", &S::input_shift,
                 at_least(-1e6)),
            real("input_scale", "the scale", &S::input_scale, above(0))};
}

void check(const NetworkSettings& settings) {
    if (settings.loss == "binary_cross_entropy" && settings.classes != 2) {
        throw Error(ExitCode::usage,
                    "one logit tells two classes apart, not " + std::to_string(settings.classes),
                    "set network.loss = \"cross_entropy\"", "network.loss");
    }
}

}  // namespace holdfast
