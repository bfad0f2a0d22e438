#include "jobs/program/page/guarantee_card.hpp"

#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"

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

}  // namespace holdfast
