#pragma once

#include <string>

#include "dist/runs/manifest.hpp"
#include "jobs/program/configuration.hpp"
#include "jobs/program/queries.hpp"
#include "models/fleet/fleet_file.hpp"

namespace holdfast {

/// A fleet that holdfast fleet finished, as the jobs that ask it need it.
struct FinishedFleet {
    RunFolder folder;
    RunManifest manifest;
    RunSettings how;  ///< as it was trained
    FleetReader networks;

    /// Errors (input): no finished run, no fleet; a file that is damaged or of a newer format.
    static FinishedFleet open(const std::string& path);
    QueryForm form() const;
};

/// Does the folder say that it holds a fleet?
bool is_fleet(const std::string& run);

/// The configuration that a run folder keeps, with the public models that lie in it.
/// Error (input): none of this program.
Configuration kept_configuration(const RunFolder& folder, const RunManifest& manifest);

}  // namespace holdfast
