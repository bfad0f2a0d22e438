#include <algorithm>

#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"
#include "jobs/study/report/sections.hpp"

namespace holdfast {
namespace {

using namespace html;

std::string settings_table(const std::string& title,
                           const std::vector<std::pair<std::string, std::string>>& values) {
    std::string rows;
    for (const auto& [name, value] : values) {
        rows += element("tr", element("td class=\"key\"", code(name)) + element("td", escape_html(value)));
    }
    return element("section", element("h3", escape_html(title)) + element("table", rows)) + "\n";
}

}  // namespace

std::string configuration_section(const ManifestView& manifest) {
    std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>> groups;
    for (const auto& [key, value] : manifest.configuration) {
        const std::size_t dot = key.find('.');
        const std::string group = dot == std::string::npos ? "run" : key.substr(0, dot);
        auto found =
            std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == group; });
        if (found == groups.end()) found = groups.insert(groups.end(), {group, {}});
        found->second.emplace_back(dot == std::string::npos ? key : key.substr(dot + 1), value);
    }
    std::string tables;
    if (!manifest.dataset.empty()) tables += settings_table("dataset", manifest.dataset);
    for (const auto& [group, values] : groups) tables += settings_table(group, values);
    if (tables.empty()) return "";
    return heading("Configuration", "As resolved from file, command line and defaults.") +
           element("details",
                   element("summary", "All settings") + element("div class=\"card settings\"", tables)) +
           "\n";
}

}  // namespace holdfast
