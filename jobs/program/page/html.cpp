#include "jobs/program/page/html.hpp"

#include <cmath>

#include "jobs/program/next_command.hpp"
#include "jobs/program/page/style.hpp"
#include "jobs/program/page/text.hpp"

namespace holdfast::html {

std::string element(const std::string& tag, const std::string& content) {
    return "<" + tag + ">" + content + "</" + tag.substr(0, tag.find(' ')) + ">";
}

std::string heading(const std::string& title, const std::string& lead) {
    return element("h2", title) + element("p class=\"lead\"", lead) + "\n";
}

std::string chart_card(const std::string& title, const std::string& svg) {
    return element("div class=\"card\"", (title.empty() ? "" : element("h3", title)) + svg) + "\n";
}

std::string table_card(const std::string& rows) {
    return element("div class=\"card wide\"", element("table", rows)) + "\n";
}

std::string code(const std::string& text) {
    return element("code", escape_html(text));
}

std::string command_words(const std::vector<std::string>& words) {
    std::string text = "holdfast";
    for (const std::string& word : words) text += " " + element("span", escape_html(shell_word(word)));
    return element("code class=\"command\"", text);
}

std::string page(const std::string& title, const std::string& body) {
    return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">" + std::string(generator) +
           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
           "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">" +
           element("title", escape_html(title)) + element("style", report_style) + "</head>\n<body><main>\n" +
           body + "</main></body></html>\n";
}

std::string count_or_dash(double value) {
    return std::isfinite(value) ? count_text(std::llround(value)) : number_text(value);
}

}  // namespace holdfast::html
