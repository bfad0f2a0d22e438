#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/nets/network.hpp"
#include "models/settings/option.hpp"

namespace holdfast {

/// Section "network".
struct NetworkSettings {
    std::vector<std::int64_t> hidden{128};
    std::int64_t classes = 2;
    std::string loss = "auto";                    ///< auto: one logit for two classes
    double input_shift = 0.0, input_scale = 1.0;  ///< the network sees (x - shift) * scale

    Loss resolved_loss() const;
    /// `range`: the public range of the features, as the dataset declares it.
    Network make(std::size_t inputs, FeatureRange range = default_feature_range) const;
};

std::vector<BasicOption<NetworkSettings>> network_options();
/// Error (usage): settings that contradict.
void check(const NetworkSettings& settings);

}  // namespace holdfast
