#pragma once

#include "dist/runs/manifest.hpp"
#include "jobs/study/report/read_run.hpp"

namespace holdfast {

/// What the jobs that ask a fleet left in its folder: idp.json, influence.json and influence_records.csv,
/// each of which may be missing. Errors (input), naming the file: damaged; bounds of another fleet.
FleetFigures read_fleet_figures(const RunFolder& folder, const RunManifest& manifest);

}  // namespace holdfast
