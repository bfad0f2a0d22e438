#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace holdfast {

// A document of jobs/answers/statement/document.hpp for people: both say all of it, in its order, under
// titles made of its keys.

/// Plain text, wrapped.
std::string statement_text(const nlohmann::ordered_json& document);
/// One self-contained HTML page in the style of the report: no script, font, image or style from elsewhere.
std::string statement_page(const nlohmann::ordered_json& document);

/// The titles of what is null, "a, b, c", which the owner alone knows; empty: nothing.
std::string left_to_owner(const nlohmann::ordered_json& object);
/// A text as it is, a number as the shortest decimal that is it.
std::string scalar_text(const nlohmann::ordered_json& value);
/// "unit_of_privacy" -> "unit of privacy".
std::string title_of(const std::string& key);

}  // namespace holdfast
