#include "jobs/study/doctor/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace holdfast {
namespace {

const char* name_of(Health health) {
    constexpr std::array names{"ok", "warn", "missing", "wrong"};
    return names.at(static_cast<std::size_t>(health));
}

bool any_wrong(const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& finding) { return finding.health == Health::wrong; });
}

std::string padded(const std::string& text, std::size_t width) {
    return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

std::string finding_text(const Finding& finding) {
    constexpr std::size_t health_width = 9, name_width = 20;
    const std::string margin(health_width + name_width + 2, ' ');
    std::string text = "  ";
    text += padded(name_of(finding.health), health_width) + padded(finding.name, name_width) + finding.value +
            "\n";
    if (!finding.remedy.empty()) text += margin + finding.remedy + "\n";
    return text;
}

}  // namespace

Diagnosis diagnose(const Communicator& world) {
    const std::vector<Finding> arithmetic = check_arithmetic();
    const bool sound = !world.any(any_wrong(arithmetic));
    const HostShare share = share_of_host(world);
    return {sound,
            {{"Arithmetic", arithmetic},
             {"Ranks", check_ranks(world)},
             {"Libraries", check_libraries()},
             {"Accelerators", check_accelerators()},
             {"Cluster", check_cluster()},
             {"Resources", check_resources(share)}}};
}

std::string diagnosis_text(const Diagnosis& diagnosis) {
    std::string text;
    for (const Diagnosis::Group& group : diagnosis.groups) {
        if (!text.empty()) text += "\n";
        text.append(group.title).append("\n");
        for (const Finding& finding : group.findings) text += finding_text(finding);
    }
    return text;
}

nlohmann::json diagnosis_json(const Diagnosis& diagnosis) {
    nlohmann::json list = nlohmann::json::array();
    for (const Diagnosis::Group& group : diagnosis.groups) {
        for (const Finding& finding : group.findings) {
            list.push_back({{"group", group.title},
                            {"name", finding.name},
                            {"value", finding.value},
                            {"status", name_of(finding.health)},
                            {"remedy", finding.remedy}});
        }
    }
    return {{"sound", diagnosis.sound}, {"findings", list}};
}

}  // namespace holdfast
