#pragma once

#include <nlohmann/json_fwd.hpp>

namespace holdfast {

/// The statement of one population in the terms of NIST SP 800-226: the components of its pyramid, from the
/// top.
nlohmann::ordered_json nist_section(const nlohmann::ordered_json& statement);

/// An entry for the deployments registry of OpenDP, in its fields. What a ledger cannot know is null.
nlohmann::ordered_json registry_entry(const nlohmann::ordered_json& statement, bool many_versions);

}  // namespace holdfast
