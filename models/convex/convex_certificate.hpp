#pragma once

#include <memory>
#include <string>

#include "dist/runs/manifest.hpp"
#include "models/kinds/certificate.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// The parameters of a finished convex run, a point a member in boxes.h5, with distances by the run's radius.
/// Errors (input): other members or parameters than the settings make.
std::unique_ptr<Certificate> open_convex(const RunFolder& run, const RunManifest& manifest,
                                         const Settings& settings, const std::string& backend);

}  // namespace holdfast
