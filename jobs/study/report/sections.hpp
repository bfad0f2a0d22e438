#pragma once

#include <string>
#include <vector>

#include "jobs/study/report/read_run.hpp"

namespace holdfast {

// The parts of the page, in its order, each as HTML; empty where the run has nothing to show.

std::string report_header(const RunFiles& run);
/// How good, how private, of whom, spent and left, what next: what a reader decides by.
std::string report_summary(const RunFiles& run);
/// Of evaluate --budget.
std::string budget_section(const RunEvaluation& evaluation);
std::string privacy_section(const RunEvaluation& evaluation);
std::string certified_section(const RunEvaluation& evaluation);
std::string distance_section(const RunEvaluation& evaluation);
std::string loss_section(const RunEvaluation& evaluation);
/// Of a fleet: what no record decides, the bound, and what each record changed.
std::string fleet_section(const RunFiles& run);
/// `boxes`: with the bounds and widths of the largest level.
std::string training_section(const std::vector<TrainingRow>& training, bool boxes);
std::string configuration_section(const ManifestView& manifest);
std::string guarantees_section(const RunFiles& run);
std::string report_footer(const RunFiles& run);

/// With its delta, if it has one.
std::string mechanism_name(const PrivateAccuracy& row);
/// One member is its own ensemble.
inline bool alone(const RunEvaluation& evaluation) {
    return evaluation.members == 1;
}

}  // namespace holdfast
