#pragma once

#include <string>

#include "dist/data/schema.hpp"

namespace holdfast {

/// The schema in a TOML file, as holdfast schema writes it, or that a dataset or model file (.h5) keeps.
/// Errors (input): none there, not one; (usage): columns whose range, or classes whose list, is not filled in
/// yet.
Schema read_schema(const std::string& path);

/// "," or "tab" or "\\t". Error (usage), naming the option: not one character.
char delimiter_named(const std::string& text, const std::string& option);

/// A file to be filled in: `comment` above, then the fields, then a table [[column]] each. Numbers without a
/// range get an empty one.
std::string schema_template(const Schema& schema, const std::string& comment);

}  // namespace holdfast
