#include "jobs/report/guarantees.hpp"

#include <algorithm>

#include "jobs/report/html.hpp"
#include "jobs/report/sections.hpp"
#include "jobs/report/text.hpp"

namespace holdfast {
namespace {

using namespace html;

std::string bullets(const std::vector<std::string>& items) {
    std::string list;
    for (const std::string& item : items) list += element("li", escape_html(item));
    return element("ul", list);
}

std::string term(const std::string& name, const std::string& definition) {
    return element("dt", name) + element("dd", definition);
}

}  // namespace

std::string badge(const GuaranteeText& guarantee) {
    if (!guarantee.stated()) return element("span class=\"badge bad\"", "no guarantee stated");
    const bool published = guarantee.status.rfind("as published", 0) == 0;
    const char* look = guarantee.proved() ? "good" : published ? "fair" : "bad";
    return element(std::string("span class=\"badge ") + look + "\"",
                   escape_html(guarantee.status.substr(0, guarantee.status.find(" ("))));
}

std::string guarantee_card(const std::string& title, const GuaranteeText& guarantee) {
    std::string body = (title.empty() ? "" : element("h3", title)) + badge(guarantee);
    if (!guarantee.statement.empty()) {
        body += element("p style=\"margin:10px 0 0\"", escape_html(guarantee.statement));
    }
    std::string terms;
    if (!guarantee.relation.empty()) terms += term("Relation", code(guarantee.relation));
    if (!guarantee.conditions.empty()) terms += term("Conditions", bullets(guarantee.conditions));
    if (!guarantee.gap.empty()) terms += term("Gap", escape_html(guarantee.gap));
    if (!terms.empty()) body += element("dl class=\"terms\"", terms);
    return element("div class=\"card\"", body) + "\n";
}

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
