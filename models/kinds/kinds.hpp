#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dist/runs/manifest.hpp"
#include "models/boxes/settings.hpp"
#include "models/kinds/certificate.hpp"

namespace holdfast {

/// A kind of training, by the name that training.kind and manifests give it.
struct Kind {
    std::string name;
    /// What a finished run of this kind certifies with. Error (input): the run folder lacks it.
    std::unique_ptr<Certificate> (*certificate)(const RunFolder& run, const RunManifest& manifest,
                                                const Settings& settings, const std::string& backend);
};

/// Every kind there is.
const std::vector<Kind>& kinds();

/// Error (input): none of that name.
const Kind& kind_named(const std::string& name);

}  // namespace holdfast
