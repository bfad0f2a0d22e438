#include <cctype>
#include <nlohmann/json.hpp>

#include "jobs/answers/statement/render.hpp"
#include "jobs/program/page/guarantee_card.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"

namespace holdfast {
namespace {

using namespace html;
using Json = nlohmann::ordered_json;

std::string titled(const std::string& key) {
    std::string title = title_of(key);
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    return escape_html(title);
}

std::string figure_tile(const std::string& name, const std::string& value) {
    return element("div class=\"tile\"", element("b", escape_html(value)) + element("span", name));
}

std::string figure_tiles(const Json& statement) {
    const Json& loss = statement.at("privacy_loss");
    const auto spent_of = [&](const char* amount) {
        return scalar_text(loss.at("spent").at(amount)) + " of " + scalar_text(loss.at("budget").at(amount));
    };
    return element(
               "div class=\"tiles\"",
               figure_tile("epsilon spent", spent_of("epsilon")) +
                   figure_tile("delta spent", spent_of("delta")) +
                   figure_tile("neighbours", statement.at("neighbours").at("relation").get<std::string>()) +
                   figure_tile("kinds of release", std::to_string(statement.at("releases").size()))) +
           "\n";
}

bool is_guarantee(const std::string& key, const Json& value) {
    return key == "guarantee" && value.is_object();
}

GuaranteeText stated_guarantee(const Json& value) {
    return {value.value("status", ""), value.value("statement", ""), value.value("relation", ""),
            value.value("gap", ""), value.value("conditions", std::vector<std::string>())};
}

std::string content(const Json& value) {
    if (!value.is_structured()) return escape_html(scalar_text(value));
    if (value.empty()) return "none";
    std::string list;
    for (const auto& [key, entry] : value.items()) {
        if (value.is_array())
            list += element("li", content(entry));
        else
            list += element("dt", titled(key)) +
                    element("dd", is_guarantee(key, entry) ? guarantee_card("", stated_guarantee(entry))
                                                           : content(entry));
    }
    return value.is_array() ? element("ul", list) : element("dl class=\"terms\"", list);
}

/// A card for the section, or one for each of its entries where these have fields.
std::string section(const std::string& key, const Json& value) {
    std::string cards;
    if (value.is_array() && !value.empty() && value.front().is_object()) {
        for (const Json& entry : value) cards += element("div class=\"card\"", content(entry)) + "\n";
    } else {
        cards = element("div class=\"card\"", content(value)) + "\n";
    }
    return element("h2", titled(key)) + "\n" + cards;
}

std::string article(const Json& statement) {
    std::string body = element("div class=\"over\"", "Privacy statement") +
                       element("h1", escape_html(statement.at("population").get<std::string>())) +
                       figure_tiles(statement);
    for (const auto& [key, value] : statement.items())
        if (key != "population") body += section(key, value);
    return body;
}

}  // namespace

std::string statement_page(const Json& document) {
    std::string body;
    for (const Json& statement : document.at("statements")) body += article(statement);
    body += section("ledger", document.at("ledger"));
    const Json& software = document.at("software");
    const std::string writer =
        software.at("name").get<std::string>() + " " + software.at("version").get<std::string>();
    return page("Privacy statement", body + element("footer", "Written by " + escape_html(writer) +
                                                                  " from the ledger of releases alone."));
}

}  // namespace holdfast
