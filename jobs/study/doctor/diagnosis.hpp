#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "jobs/study/doctor/checks.hpp"

namespace holdfast {

/// All checks of the doctor, in groups.
struct Diagnosis {
    struct Group {
        const char* title;
        std::vector<Finding> findings;
    };

    bool sound = true;          ///< the arithmetic of every rank is what the proofs assume
    std::vector<Group> groups;  ///< of this rank and its host
};

/// Runs every check. Collective.
Diagnosis diagnose(const Communicator& world);

/// One line a finding, its remedy on the next.
std::string diagnosis_text(const Diagnosis& diagnosis);
/// {"sound", "findings": [{"group", "name", "value", "status", "remedy"}, …]}; status: ok, warn, missing or
/// wrong.
nlohmann::json diagnosis_json(const Diagnosis& diagnosis);

}  // namespace holdfast
