#include <algorithm>
#include <utility>

#include "jobs/program/page/guarantee_card.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"
#include "jobs/study/report/sections.hpp"

namespace holdfast {

using namespace html;

// Mechanisms that promise the same stand together.
std::string guarantees_section(const RunFiles& run) {
    if (!run.manifest.boxes()) return "";  // the header's says all
    std::string cards = guarantee_card("Training bounds and parameter boxes", run.manifest.guarantee);
    if (run.evaluation) {
        cards += guarantee_card("Certified fractions and stable distances", run.evaluation->guarantee);
        std::vector<std::pair<GuaranteeText, std::vector<std::string>>> groups;
        for (const PrivateAccuracy& row : run.evaluation->private_accuracy) {
            auto found = std::find_if(groups.begin(), groups.end(),
                                      [&](const auto& group) { return group.first == row.guarantee; });
            if (found == groups.end()) found = groups.insert(groups.end(), {row.guarantee, {}});
            const std::string name = code(mechanism_name(row));
            auto& names = found->second;
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        }
        for (const auto& [guarantee, names] : groups) {
            std::string title = "Private accuracy: " + names[0];
            for (std::size_t i = 1; i < names.size(); ++i) title += ", " + names[i];
            cards += guarantee_card(title, guarantee);
        }
    }
    return heading("The guarantee of each number",
                   "What is claimed, under which conditions, and what the argument leaves open.") +
           element("div class=\"halves\"", cards) + "\n";
}

}  // namespace holdfast
