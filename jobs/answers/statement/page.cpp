#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "jobs/answers/statement/render.hpp"
#include "jobs/program/page/guarantee_card.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/program/page/summary.hpp"
#include "jobs/program/page/text.hpp"
#include "jobs/program/runs/payer.hpp"

namespace holdfast {
namespace {

using namespace html;
using Json = nlohmann::ordered_json;

std::string titled(const std::string& key) {
    std::string title = title_of(key);
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    return escape_html(title);
}

/// Of a model: what a noisy table of persons held out found, in this statement or in that of theirs.
std::string how_good(const Json& document, const std::string& population) {
    for (const Json& statement : document.at("statements")) {
        const std::string name = statement.at("population").get<std::string>();
        if (name != population && name != held_population(population)) continue;
        for (const Json& release : statement.at("releases")) {
            if (!release.contains("found")) continue;
            const Json& found = release.at("found");
            const auto parts = found.at("class_parts").get<std::vector<double>>();
            return element("b", percent_text(found.at("accuracy").at("value"))) + " of about " +
                   count_or_dash(found.at("persons")) +
                   " persons held out are answered rightly, give or take " +
                   percent_text(found.at("accuracy").at("error")) + ". Majority class (baseline): " +
                   percent_text(*std::max_element(parts.begin(), parts.end())) + ".";
        }
    }
    return "Not released: accuracy is measured on records, and stays with their owner unless it is paid for "
           "(<code>holdfast validate</code>).";
}

std::string status_badge(const Json& statement) {
    const std::string status = statement.at("status").get<std::string>();
    return statement.at("releases").empty() ? "" : badge({status, "", "", "", {}}) + " ";
}

std::string how_private(const Json& statement) {
    if (statement.at("releases").empty()) return "Nothing about these people was released yet.";
    const bool rows = statement.at("releases").dump().find("(event level)") != std::string::npos;
    const Json& spent = statement.at("privacy_loss").at("spent");
    return status_badge(statement) +
           promise_text(spent.at("epsilon"), spent.at("delta"), statement.at("neighbours").at("relation"),
                        !rows, "all of these releases") +
           " It rests on the conditions below.";
}

std::string of_whom(const Json& statement) {
    std::size_t models = 0, answers = 0;
    for (const Json& release : statement.at("releases")) {
        models += release.value("models", Json::array()).size();
        answers += release.value("answers", std::size_t{0});
    }
    return "The people of the population " + code(statement.at("population").get<std::string>()) +
           ". Released: " + count_or_dash(static_cast<double>(models)) +
           (models == 1 ? " model, " : " models, ") + count_or_dash(static_cast<double>(answers)) +
           (answers == 1 ? " answer." : " answers.");
}

std::string summary(const Json& document, const Json& statement) {
    const Json &loss = statement.at("privacy_loss"), &spent = loss.at("spent"), &budget = loss.at("budget");
    const SpentAndLeft amounts{spent.at("epsilon"), spent.at("delta"), budget.at("epsilon"),
                               budget.at("delta")};
    const std::string head = document.at("ledger").at("chain_head").get<std::string>();
    return summary_card(
        {{"How good", how_good(document, statement.at("population").get<std::string>())},
         {"How private", how_private(statement)},
         {"Of whom", of_whom(statement)},
         {"Spent and left", "All together: " + spending_text(amounts) + "."},
         {"What next", "Keep this page. Its owner shows at any time that the ledger still has all of it: " +
                           command_words({"account", "--ledger", "LEDGER", "--check", "--head", head})}});
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
        if (entry.is_null()) continue;
        if (value.is_array())
            list += element("li", content(entry));
        else
            list += element("dt", titled(key)) +
                    element("dd", is_guarantee(key, entry) ? guarantee_card("", stated_guarantee(entry))
                                                           : content(entry));
    }
    const std::string left = left_to_owner(value);
    if (!left.empty()) list += element("dt", "For the owner to add") + element("dd", escape_html(left));
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

std::string article(const Json& document, const Json& statement) {
    std::string body = element("div class=\"over\"", "Privacy statement") +
                       element("h1", escape_html(statement.at("population").get<std::string>())) +
                       summary(document, statement);
    for (const auto& [key, value] : statement.items())
        if (key != "population" && !value.is_null()) body += section(key, value);
    return body;
}

}  // namespace

std::string statement_page(const Json& document) {
    std::string body;
    for (const Json& statement : document.at("statements")) body += article(document, statement);
    body += section("ledger", document.at("ledger"));
    const Json& software = document.at("software");
    const std::string writer =
        software.at("name").get<std::string>() + " " + software.at("version").get<std::string>();
    return page("Privacy statement", body + element("footer", "Written by " + escape_html(writer) +
                                                                  " from the ledger of releases alone."));
}

}  // namespace holdfast
