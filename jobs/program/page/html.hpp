#pragma once

#include <string>
#include <vector>

// The few pieces of HTML that the sections of a report are made of. `content` is HTML; texts that are not go
// through escape_html or code().
namespace holdfast::html {

/// The element by which a page of this program is known.
inline constexpr const char* generator = "<meta name=\"generator\" content=\"holdfast\">";

constexpr double full_width = 1040, half_width = 500, third_width = 320;  ///< of charts, in pixels

/// <tag>content</tag>; `tag` may carry attributes.
std::string element(const std::string& tag, const std::string& content);
std::string heading(const std::string& title, const std::string& lead);
std::string chart_card(const std::string& title, const std::string& svg);
std::string table_card(const std::string& rows);
std::string code(const std::string& text);  ///< escaped
/// A command of holdfast as code that breaks between its words alone, while they fit.
std::string command_words(const std::vector<std::string>& words);
/// A whole document of this body, with its style inside.
std::string page(const std::string& title, const std::string& body);
/// A whole number; "–" if it is not finite.
std::string count_or_dash(double value);

}  // namespace holdfast::html
