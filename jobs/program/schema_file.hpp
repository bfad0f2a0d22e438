#pragma once

#include <optional>
#include <string>

#include "dist/data/schema.hpp"
#include "models/nets/model_file.hpp"

namespace holdfast {

/// The schema in a TOML file, as holdfast schema writes it, or that a dataset or model file (.h5) keeps.
/// Errors (input): none there, not one; (usage): columns whose range, or classes whose list, is not filled in
/// yet.
Schema read_schema(const std::string& path);

/// The model's own schema, or where that withholds what was found in private records, its owner's, if `path`
/// names it. Error (input): of another number of features.
std::optional<Schema> model_schema(const Model& model, const std::string& path);

/// "," or "tab" or "\\t". Error (usage), naming the option: not one character.
char delimiter_named(const std::string& text, const std::string& option);

/// A file to be filled in: `comment` above, then the fields, then a table [[column]] each. Numbers without a
/// range get an empty one.
std::string schema_template(const Schema& schema, const std::string& comment);

}  // namespace holdfast
