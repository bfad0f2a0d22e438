#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/nets/feature_settings.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

template <typename Section>
struct BasicOption;  // models/settings/option.hpp

/// Section "network".
struct NetworkSettings {
    std::vector<std::int64_t> hidden{128};  ///< of dense layers; or
    std::vector<std::string> layers;        ///< what layers_of() reads
    std::vector<std::int64_t> image;        ///< [channels, height, width] that columns are; []: no image
    bool bias = true;                       ///< of every layer
    std::int64_t classes = 2;
    std::string loss = "auto";                    ///< auto: one logit for two classes, squared_error for 1
    double input_shift = 0.0, input_scale = 1.0;  ///< the network sees (x - shift) * scale

    std::string initial;         ///< a model file whose parameters the training starts from; empty: by seed
    std::string initial_digest;  ///< of the model in it; empty: of whichever is there

    Loss resolved_loss() const;
    /// What a column becomes; `range`: the public one of the features, as the dataset declares it.
    InputTransform input(FeatureRange range) const { return {input_shift, input_scale, range}; }
    /// The layers before the last, of so many rows or those of the image. Error (usage), as layers_of's.
    std::vector<Layer> hidden_layers(std::size_t inputs) const;
    /// A network of what the map gives. Error (usage): it is no image of this size.
    Network make(const FeatureMap& features) const;

    /// With the digest of the initial model that is there now. Errors (input), as PublicModel's.
    NetworkSettings pinned() const;
    /// Copies the initial model, if there is one, into the folder of a run. Errors as PublicModel's.
    void keep_initial(const std::string& folder) const;
    /// With the initial model that lies in the folder of a run.
    NetworkSettings kept_in(const std::string& folder) const;
    /// The parameters of the initial model; empty: there is none. Errors (input), as PublicModel's; (usage):
    /// they are of other layers.
    std::vector<std::int64_t> initial_parameters(const Network& network) const;
};

std::vector<BasicOption<NetworkSettings>> network_options();
/// Error (usage): settings that contradict.
void check(const NetworkSettings& settings);

}  // namespace holdfast
