#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jobs/program/findings.hpp"

namespace holdfast {

/// The files of a fleet, what it claims, and of every run in `unlearned` the audit of its deletion: that its
/// own folder holds (check_own), and that it is one of the fleet's networks without a record.
void check_fleet_run(const std::string& run, const std::vector<std::string>& unlearned,
                     const std::function<bool(const std::string&)>& check_own, Findings& findings);

}  // namespace holdfast
