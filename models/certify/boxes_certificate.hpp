#pragma once

#include <memory>
#include <string>

#include "dist/runs/manifest.hpp"
#include "models/kinds/certificate.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// The boxes of a finished run, boxes.h5: a distance counts the leading levels whose box certifies the label.
/// `backend`: by name, as the run was trained. Error (input): boxes of other members, levels or parameters
/// than the settings make.
std::unique_ptr<Certificate> open_boxes(const RunFolder& run, const RunManifest& manifest,
                                        const Settings& settings, const std::string& backend);

}  // namespace holdfast
