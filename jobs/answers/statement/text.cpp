#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "jobs/answers/statement/render.hpp"
#include "kernels/base/text.hpp"
#include "models/privacy/rational.hpp"

namespace holdfast {
namespace {

using Json = nlohmann::ordered_json;

/// `first` before the first line, as many blanks before the others.
std::string filled(const std::string& first, const std::string& text) {
    return wrapped(first, text, first.size()) + "\n";
}

/// The fields of an object or the entries of a list, `indent` blanks in.
std::string block(const Json& value, std::size_t indent) {
    const std::string margin(indent, ' ');
    if (!value.is_structured()) return filled(margin, scalar_text(value));
    if (value.empty()) return margin + "none\n";
    std::string text;
    for (const auto& [key, entry] : value.items()) {
        if (entry.is_null()) continue;
        if (value.is_array()) {
            std::string item = block(entry, indent + 2);
            item[indent] = '-';
            text += item;
        } else if (entry.is_structured()) {
            text += margin + title_of(key) + ":\n" + block(entry, indent + 2);
        } else {
            text += filled(margin + title_of(key) + ": ", scalar_text(entry));
        }
    }
    const std::string left = left_to_owner(value);
    return left.empty() ? text : text + filled(margin + "for the owner to add: ", left);
}

std::string capitals(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    return text;
}

}  // namespace

std::string left_to_owner(const Json& object) {
    std::string names;
    if (!object.is_object()) return names;
    for (const auto& [key, entry] : object.items())
        if (entry.is_null()) names += (names.empty() ? "" : ", ") + title_of(key);
    return names;
}

std::string scalar_text(const Json& value) {
    if (value.is_number_float()) return decimal_text(decimal_value(value.get<double>(), "statement"));
    return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string title_of(const std::string& key) {
    if (key == "nist_sp_800_226") return "NIST SP 800-226";
    if (key == "dp_variant") return "DP variant";
    std::string title = key;
    std::replace(title.begin(), title.end(), '_', ' ');
    return title;
}

std::string statement_text(const Json& document) {
    const Json& software = document.at("software");
    std::string text = "Privacy statement by " + software.at("name").get<std::string>() + " " +
                       software.at("version").get<std::string>() + "\n";
    for (const Json& statement : document.at("statements")) {
        for (const auto& [key, value] : statement.items())
            if (!value.is_null()) text += "\n" + capitals(title_of(key)) + "\n" + block(value, 2);
    }
    return text + "\nLEDGER\n" + block(document.at("ledger"), 2);
}

}  // namespace holdfast
