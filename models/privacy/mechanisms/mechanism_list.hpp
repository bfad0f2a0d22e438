#pragma once

#include <optional>
#include <span>
#include <string>

#include "kernels/base/error.hpp"
#include "models/privacy/evidence.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast {

/// Every mechanism, the default first.
std::span<const MechanismInfo> mechanism_table();
const MechanismInfo& default_mechanism();
/// Error (ExitCode::usage) with the known names.
const MechanismInfo& mechanism_info(const std::string& name);
/// "  stable_rr  flip with …" a line each, for --help.
std::string mechanism_help();

/// ExitCode::usage, of an option of a mechanism.
Error bad_option(const char* option, const std::string& message, const std::string& hint);
/// Why a mechanism cannot answer from what a run has (ExitCode::usage, the others named); empty if it can.
std::optional<Error> misfit(const MechanismInfo& info, const AvailableEvidence& available);
/// Error (ExitCode::usage): delta is missing, or not taken.
void check_delta(const MechanismInfo& info, double delta);
/// Error (ExitCode::usage): not differentially private, nothing may be drawn from it.
void check_releasable(const MechanismInfo& info);

}  // namespace holdfast
