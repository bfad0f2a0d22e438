#include "jobs/program/schema_file.hpp"

#include <toml++/toml.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "dist/data/public_facts.hpp"
#include "dist/files/hdf5.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/nearest_name.hpp"
#include "kernels/base/text.hpp"
#include "models/nets/model_file.hpp"

namespace holdfast {
namespace {

using nlohmann::json;

Schema read_toml(const std::string& path) {
    json object;  // dates as texts
    try {
        std::ostringstream text;
        text << toml::json_formatter(toml::parse_file(path));
        object = json::parse(text.str());
    } catch (const toml::parse_error& error) {
        throw Error(
            ExitCode::usage,
            std::string(error.description()) + " in line " + std::to_string(error.source().begin.line),
            "holdfast schema FILE --out writes one to be filled in", path);
    }
    // What the template left open, and nobody has filled in.
    std::vector<std::string> open;
    if (!object["column"].is_array()) object["column"] = json::array();
    for (const json& column : object["column"]) {
        if (!column.is_object() || column.value("type", json()) == "drop" ||
            column.value("range", json()) != json::array())
            continue;
        open.push_back(column.value("name", std::string("?")));
    }
    json kept = json::array();
    for (const json& column : object["column"])
        if (!column.is_object() || column.value("type", json()) != "drop") kept.push_back(column);
    object["column"] = kept;
    if (!open.empty())
        throw Error(ExitCode::usage, "no public range is filled in for: " + listed(open),
                    "write range = [LOW, HIGH] in the column's own units, as the field's books have it; or "
                    "type = \"drop\" to leave the column out",
                    path);
    return schema_from_json(object, path);
}

std::string quoted(const std::string& text) {
    return json(text).dump();
}

std::string list_of(const std::vector<std::string>& texts) {
    return "[" + joined(texts, ", ", quoted) + "]";
}

/// In one line; of an object, an inline table.
std::string toml_of(const json& value) {
    if (!value.is_object()) return value.dump();
    std::string fields;
    for (const auto& [key, field] : value.items())
        fields += (fields.empty() ? "" : ", ") + key + " = " + field.dump();
    return "{" + fields + "}";
}

}  // namespace

Schema read_schema(const std::string& path) {
    if (!path.ends_with(".h5")) return read_toml(path);
    const hdf5::File file = hdf5::File::open_read(path);
    const std::optional<Schema> found =
        file.has("description") ? read_model(path).model.schema : kept_schema(schema_text(file), path);
    if (found) return *found;
    throw Error(ExitCode::input, "keeps no schema: it was not made of a table whose columns have names",
                "name the file that holdfast schema wrote, or a dataset that was imported of a CSV file",
                path);
}

std::optional<Schema> model_schema(const Model& model, const std::string& path) {
    if (path.empty()) return model.schema;
    Schema schema = read_schema(path);
    const auto refuse = [&](const std::string& message) {
        throw Error(ExitCode::input, message, "give the schema of the dataset that the model was trained on",
                    path);
    };
    if (schema.record_features() != model.feature_map().columns())
        refuse(std::to_string(schema.record_features()) + " features, but the model takes " +
               std::to_string(model.feature_map().columns()));
    const auto same_name = [](const Column& one, const Column& other) { return one.name == other.name; };
    const bool known = model.schema.has_value();
    if (known && !std::equal(schema.columns.begin(), schema.columns.end(), model.schema->columns.begin(),
                             model.schema->columns.end(), same_name))
        refuse("other columns than the model was trained on, or in another order");
    if (known && !model.schema->withheld && !schema.same_features(*model.schema))
        refuse("its columns have other ranges or categories than those of the model");
    return schema;
}

char delimiter_named(const std::string& text, const std::string& option) {
    if (text == "tab" || text == "\\t") return '\t';
    if (text.size() == 1) return text.front();
    throw Error(ExitCode::usage, "must be one character, or tab", "for example --delimiter ';'", option);
}

std::string schema_template(const Schema& schema, const std::string& comment) {
    const json fields = to_json(schema);
    std::string text = comment;
    for (const auto& [key, value] : fields.items()) {
        if (key != "column") text += key + " = " + toml_of(value) + "\n";
    }
    for (const Column& column : schema.columns) {
        text += "\n[[column]]\nname = " + quoted(column.name) + "\n";
        switch (column.kind) {
            case Column::Kind::category:
                text += "type = \"category\"\nvalues = " + list_of(column.values) + "\n";
                if (column.integer) text += "encoding = \"integer\"\n";
                continue;
            case Column::Kind::date:
                text += "type = \"date\"\nformat = " + quoted(column.format) + "\n";
                break;
            case Column::Kind::number:
                text += "type = \"number\"\n";
                break;
        }
        if (is_known(column.range))
            text += "range = [" + json(column.range.lowest).dump() + ", " +
                    json(column.range.highest).dump() + "]\n";
        else
            text += "range = []\n";
        if (!column.unit.empty()) text += "unit = " + quoted(column.unit) + "\n";
        if (column.missing) text += "missing = " + json(*column.missing).dump() + "\n";
    }
    return text;
}

}  // namespace holdfast
