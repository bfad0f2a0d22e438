#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/nets/feature_settings.hpp"
#include "models/nets/network.hpp"
#include "models/settings/option.hpp"

namespace holdfast {

/// Section "network".
struct NetworkSettings {
    std::vector<std::int64_t> hidden{128};
    std::int64_t classes = 2;
    std::string loss = "auto";                    ///< auto: one logit for two classes, squared_error for 1
    double input_shift = 0.0, input_scale = 1.0;  ///< the network sees (x - shift) * scale

    Loss resolved_loss() const;
    /// What a column becomes; `range`: the public one of the features, as the dataset declares it.
    InputTransform input(FeatureRange range) const { return {input_shift, input_scale, range}; }
    /// A network of what the map gives.
    Network make(const FeatureMap& features) const;
};

std::vector<BasicOption<NetworkSettings>> network_options();
/// Error (usage): settings that contradict.
void check(const NetworkSettings& settings);

}  // namespace holdfast
