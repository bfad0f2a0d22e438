#pragma once

#include <memory>
#include <string>

#include "dist/runs/manifest.hpp"
#include "models/kinds/certificate.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// The parameters of a finished noisy run, a point in boxes.h5: labels, and no distance but 0. Nothing may be
/// released from it, since what is published is free. Errors: as open_boxes.
std::unique_ptr<Certificate> open_noisy(const RunFolder& run, const RunManifest& manifest,
                                        const Settings& settings, const std::string& backend);

}  // namespace holdfast
