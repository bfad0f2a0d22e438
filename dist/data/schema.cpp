#include "dist/data/schema.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>

#include "dist/data/record_id.hpp"
#include "dist/files/json_fields.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

using nlohmann::json;

constexpr const char* iso_date = "%Y-%m-%d";
constexpr std::size_t most_buckets = 65536;

const char* name_of(Column::Kind kind) {
    switch (kind) {
        case Column::Kind::date:
            return "date";
        case Column::Kind::category:
            return "category";
        case Column::Kind::number:
            break;
    }
    return "number";
}

json json_of(const Range& range) {
    return json{range.lowest, range.highest};
}

json json_of(const Column& column) {
    json object = {{"name", column.name}, {"type", name_of(column.kind)}};
    if (column.kind == Column::Kind::category) {
        if (column.buckets > 0) object["buckets"] = column.buckets;
        if (column.named) object["named"] = true;
        const bool listed = column.buckets == 0 ? !column.is_unnamed() : !column.integer;
        if (listed) object["values"] = column.values;
        if (column.integer) object["encoding"] = "integer";
    } else if (is_known(column.range)) {
        object["range"] = json_of(column.range);
    }
    if (column.kind == Column::Kind::date) object["format"] = column.format;
    if (!column.reads.empty()) object["reads"] = column.reads;
    if (!column.unit.empty()) object["unit"] = column.unit;
    if (column.missing) object["missing"] = *column.missing;
    return object;
}

/// A number, or a date as the column has it or as 2024-12-31.
double end_of(const json& value, const std::string& format, const JsonFields& fields) {
    if (value.is_number()) return value.get<double>();
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    if (const auto days = days_of(text, format)) return *days;
    if (const auto days = days_of(text, iso_date)) return *days;
    fields.wrong("range", "[LOW, HIGH], numbers (of a date column: dates)", value);
}

Range range_of(const JsonFields& fields, const char* name, const std::string& format) {
    const json* value = fields.find(name, false);
    if (value == nullptr) return unknown_range;
    if (!value->is_array() || value->size() != 2) fields.wrong(name, "[LOW, HIGH]", *value);
    const Range range{end_of((*value)[0], format, fields), end_of((*value)[1], format, fields)};
    if (!is_valid(range)) fields.wrong(name, std::string("[LOW, HIGH], ") + valid_range, *value);
    return range;
}

std::vector<std::string> texts_of(const JsonFields& fields, const char* name) {
    std::vector<std::string> texts;
    for (const json& text : fields.list(name)) {
        if (!text.is_string()) fields.wrong(name, "a list of texts", text);
        texts.push_back(text);
    }
    if (std::set<std::string>(texts.begin(), texts.end()).size() != texts.size())
        fields.wrong(name, "a list of different texts", *fields.find(name, true));
    return texts;
}

bool flag_of(const JsonFields& fields, const char* name) {
    const json* value = fields.find(name, false);
    if (value != nullptr && !value->is_boolean()) fields.wrong(name, "true or false", *value);
    return value != nullptr && value->get<bool>();
}

char character_of(const JsonFields& fields, const char* name, char otherwise) {
    const json* value = fields.find(name, false);
    if (value == nullptr) return otherwise;
    const std::string text = fields.text(name);
    if (text.size() != 1) fields.wrong(name, "one character", *value);
    return text.front();
}

void require_only(const json& object, const std::set<std::string>& known, const std::string& prefix) {
    for (const auto& [key, value] : object.items()) {
        if (!known.contains(key)) throw "field \"" + prefix + key + "\" is none of a schema";
    }
}

Column column_of(const json& object, std::size_t index, bool withheld) {
    const std::string prefix = "column[" + std::to_string(index) + "].";
    if (!object.is_object()) throw "field \"column[" + std::to_string(index) + "]\" must be an object";
    require_only(object,
                 {"name", "reads", "type", "range", "values", "buckets", "named", "encoding", "format",
                  "unit", "missing"},
                 prefix);
    const JsonFields fields(object, prefix, false);
    Column column;
    column.name = fields.text("name", true);
    const std::string type = fields.text("type", true);
    if (type == "category") {
        column.kind = Column::Kind::category;
        column.values = texts_of(fields, "values");
        if (fields.find("buckets", false)) {
            column.buckets = fields.count("buckets");
            if (column.buckets < 2 || column.buckets > most_buckets)
                fields.wrong("buckets", "a number from 2 to " + std::to_string(most_buckets),
                             *fields.find("buckets", true));
            if (column.values.empty()) column = hashed_column(column.name, column.buckets);
        }
        column.named = flag_of(fields, "named");
        if (column.named && column.buckets > 0)
            fields.wrong("named", "without buckets", *fields.find("named", true));
        if (column.is_unnamed()) column = unnamed_column(column.name);
        const std::string encoding = fields.text("encoding");
        column.integer = encoding == "integer" || (column.integer && encoding.empty());
        if (column.named) column.integer = column.values.empty();
        if (!encoding.empty() && encoding != "integer" && encoding != "onehot")
            fields.wrong("encoding", "onehot or integer", encoding);
        if (column.values.empty() && !column.named && !withheld)
            throw "field \"" + prefix + "values\" lists no category";
    } else if (type == "date") {
        column.kind = Column::Kind::date;
        column.format = fields.find("format", false) ? fields.text("format") : iso_date;
    } else if (type != "number") {
        fields.wrong("type", "number, date, category or any", type);
    }
    if (column.kind != Column::Kind::category) column.range = range_of(fields, "range", column.format);
    column.reads = fields.text("reads");
    column.unit = fields.text("unit");
    if (fields.find("missing", false)) column.missing = fields.number("missing");
    return column;
}

void take_column(Schema& schema, const json& object) {
    if (!object.is_object() || object.value("type", json()) != "any") {
        schema.columns.push_back(column_of(object, schema.columns.size(), schema.withheld));
        return;
    }
    const std::string prefix = "column[" + std::to_string(schema.columns.size()) + "].";
    require_only(object, {"name", "type"}, prefix);
    for (Column& part : parts_of_undeclared(JsonFields(object, prefix, false).text("name", true)))
        schema.columns.push_back(std::move(part));
}

PersonRule person_rule_of(const json& object) {
    require_only(object, {"aggregate", "order_by", "rows_at_most", "keep", "ranges"}, "person.");
    const JsonFields fields(object, "person.", false);
    PersonRule rule;
    rule.order = fields.text("order_by");
    for (const std::string& name : texts_of(fields, "aggregate")) {
        const std::optional<RowSummary> summary = row_summary_named(name);
        if (!summary) fields.wrong("aggregate", "of last, mean, min, max, count", name);
        rule.summaries.push_back(*summary);
    }
    if (fields.find("rows_at_most", false)) {
        rule.rows_at_most = fields.count("rows_at_most");
        if (rule.rows_at_most < 1 || rule.rows_at_most > most_rows_of_a_person)
            fields.wrong("rows_at_most",
                         "a number of rows from 1 to " + std::to_string(most_rows_of_a_person),
                         *fields.find("rows_at_most", true));
    }
    const std::string keep = fields.text("keep");
    if (!keep.empty() && keep != "hash" && keep != "last") fields.wrong("keep", "hash or last", keep);
    rule.keep_last = keep == "last";
    for (const json& range : fields.list("ranges")) {
        const bool is_pair =
            range.is_array() && range.size() == 2 && range[0].is_number() && range[1].is_number();
        if (!is_pair || !is_valid({range[0], range[1]}))
            fields.wrong("ranges", std::string("[LOW, HIGH] of each feature of a record, ") + valid_range,
                         range);
        rule.ranges.push_back({range[0], range[1]});
    }
    return rule;
}

json json_of(const PersonRule& rule) {
    json object = json::object();
    for (const RowSummary summary : rule.summaries) object["aggregate"].push_back(name_of(summary));
    if (rule.keep_last) object["keep"] = "last";
    for (const Range& range : rule.ranges) object["ranges"].push_back(json_of(range));
    if (!rule.order.empty()) object["order_by"] = rule.order;
    if (rule.rows_at_most > 0) object["rows_at_most"] = rule.rows_at_most;
    return object;
}

Schema parsed(const json& object) {
    if (!object.is_object()) throw std::string("must hold one object");
    require_only(object,
                 {"column", "label", "classes", "regression", "target_range", "id", "person", "delimiter",
                  "decimal", "thousands", "missing_words", "found", "measured", "withheld"},
                 "");
    const JsonFields fields(object, "", false);
    Schema schema;
    schema.withheld = flag_of(fields, "withheld");
    schema.measured = flag_of(fields, "measured");
    for (const json& column : fields.list("column")) take_column(schema, column);
    if (schema.columns.empty()) throw std::string("field \"column\" lists no column");
    schema.label = fields.text("label");
    schema.classes = texts_of(fields, "classes");
    schema.regression = flag_of(fields, "regression");
    schema.target_range = range_of(fields, "target_range", "");
    schema.id = fields.text("id");
    if (fields.find("person", false)) schema.persons = person_rule_of(fields.object("person"));
    schema.delimiter = character_of(fields, "delimiter", ',');
    schema.decimal = character_of(fields, "decimal", '.');
    schema.thousands = character_of(fields, "thousands", 0);
    schema.missing_words = texts_of(fields, "missing_words");
    schema.found = flag_of(fields, "found");
    if (schema.persons && !schema.persons->ranges.empty() &&
        schema.persons->ranges.size() != schema.record_features())
        fields.wrong("person", "ranges of all features of a record", json_of(*schema.persons));
    std::set<std::string> names{schema.label, schema.id};
    for (const Column& column : schema.columns) {
        if (!names.insert(column.name).second) throw "column '" + column.name + "' has two uses";
    }
    return schema;
}

}  // namespace

std::string bucket_name(std::size_t bucket) {
    return "#" + std::to_string(bucket);
}

Column hashed_column(const std::string& name, std::size_t buckets) {
    Column column{.name = name, .kind = Column::Kind::category, .integer = true, .buckets = buckets};
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) column.values.push_back(bucket_name(bucket));
    return column;
}

Column unnamed_column(const std::string& name) {
    return {.name = name, .kind = Column::Kind::category, .integer = true, .named = true};
}

std::vector<Column> parts_of_undeclared(const std::string& name) {
    Column text = hashed_column(name + " (text)");
    text.reads = name;
    return {{.name = name, .reads = name, .missing = 0.0}, text};
}

std::size_t bucket_of_numbers(const Column& text_part) {
    return id_of_text("(a number)") % text_part.buckets;
}

std::string name_of_cell(const std::string& cell) {
    const bool ascii = std::all_of(cell.begin(), cell.end(), [](char c) { return (c & 0x80) == 0; });
    if (ascii) return cell;
    return json::parse(json(cell).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::size_t Column::hashed_bucket(const std::string& cell) const {
    constexpr const char* truths[] = {"true", "t", "1"};
    constexpr const char* falsehoods[] = {"false", "f", "0"};
    std::string text = cell;
    for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    const bool truth = std::ranges::find(truths, text) != std::end(truths);
    const bool falsehood = std::ranges::find(falsehoods, text) != std::end(falsehoods);
    return id_of_text(truth ? "true" : falsehood ? "false" : cell) % buckets;
}

std::size_t Column::place_of_bucket(std::size_t bucket) const {
    if (values.size() == buckets) return bucket;
    const auto found = std::find(values.begin(), values.end(), bucket_name(bucket));
    return std::min(static_cast<std::size_t>(found - values.begin()), values.size() - 1);
}

std::size_t Schema::features() const {
    std::size_t count = 0;
    for (const Column& column : columns) count += column.features();
    return count;
}

bool Schema::has_unnamed() const {
    return std::any_of(columns.begin(), columns.end(),
                       [](const Column& column) { return column.is_unnamed(); });
}

std::size_t Schema::record_features() const {
    return persons ? persons->features(features()) : features();
}

std::vector<Range> Schema::record_ranges() const {
    return persons ? persons->ranges_of_records(feature_ranges()) : feature_ranges();
}

std::vector<std::string> Schema::feature_names() const {
    std::vector<std::string> names;
    for (const Column& column : columns) {
        if (column.features() == 1 && (column.kind != Column::Kind::category || column.integer)) {
            names.push_back(column.name);
            continue;
        }
        for (const std::string& value : column.values) names.push_back(column.name + "=" + value);
    }
    return names;
}

std::vector<Range> Schema::feature_ranges() const {
    std::vector<Range> ranges;
    for (const Column& column : columns) {
        if (column.kind != Column::Kind::category)
            ranges.push_back(column.range);
        else if (column.is_unnamed())
            ranges.push_back(unknown_range);
        else if (column.integer)
            ranges.push_back({0, std::max<double>(1, static_cast<double>(column.values.size()) - 1)});
        else
            ranges.resize(ranges.size() + column.values.size(), {0, 1});
    }
    return ranges;
}

std::vector<double> Schema::missing_values() const {
    std::vector<double> values;
    for (const Column& column : columns)
        values.resize(values.size() + column.features(), column.missing.value_or(std::nan("")));
    return values;
}

bool Schema::same_features(const Schema& other) const {
    const auto summarised = [](const Schema& schema) {
        return schema.persons && schema.persons->summarises();
    };
    return summarised(*this) == summarised(other) && (!summarised(*this) || persons == other.persons) &&
           std::equal(columns.begin(), columns.end(), other.columns.begin(), other.columns.end(),
                      [](const Column& one, const Column& two) {
                          return one.name == two.name && one.kind == two.kind && one.range == two.range &&
                                 one.values == two.values && one.integer == two.integer &&
                                 one.buckets == two.buckets && one.named == two.named &&
                                 one.reads == two.reads;
                      });
}

Schema Schema::public_part() const {
    if (!found) return *this;
    Schema rest = *this;
    rest.withheld = true;
    rest.classes.clear();
    rest.target_range = unknown_range;
    if (rest.persons) rest.persons->ranges.clear();
    for (Column& column : rest.columns) {
        column.range = unknown_range;
        column.values.clear();
        column.missing.reset();
    }
    return rest;
}

json to_json(const Schema& schema) {
    json object = {{"column", json::array()}};
    for (const Column& column : schema.columns) object["column"].push_back(json_of(column));
    const auto text = [&](const char* name, const std::string& value) {
        if (!value.empty()) object[name] = value;
    };
    text("label", schema.label);
    text("id", schema.id);
    if (schema.persons) object["person"] = json_of(*schema.persons);
    if (schema.delimiter != ',') text("delimiter", {schema.delimiter});
    if (schema.decimal != '.') text("decimal", {schema.decimal});
    if (schema.thousands != 0) text("thousands", {schema.thousands});
    if (!schema.classes.empty()) object["classes"] = schema.classes;
    if (!schema.missing_words.empty()) object["missing_words"] = schema.missing_words;
    if (is_known(schema.target_range)) object["target_range"] = json_of(schema.target_range);
    for (const auto& [name, flag] : {std::pair{"regression", schema.regression},
                                     {"found", schema.found},
                                     {"measured", schema.measured},
                                     {"withheld", schema.withheld}})
        if (flag) object[name] = true;
    return object;
}

Schema schema_from_json(const json& object, const std::string& path) {
    try {
        return parsed(object);
    } catch (const std::string& problem) {
        throw Error(ExitCode::input, problem, "holdfast schema FILE --out writes one to be filled in", path);
    }
}

std::optional<Schema> kept_schema(const std::string& text, const std::string& path) {
    if (text.empty()) return std::nullopt;
    return schema_from_json(json::parse(text, nullptr, false), path);
}

std::optional<Schema> public_schema(const std::optional<Schema>& schema) {
    if (!schema) return std::nullopt;
    return schema->public_part();
}

std::optional<double> days_of(const std::string& text, const std::string& format) {
    std::tm found{};
    const char* end = format.empty() ? nullptr : ::strptime(text.c_str(), format.c_str(), &found);
    if (end == nullptr || *end != '\0') return std::nullopt;
    constexpr int first_year = 1000;  // %Y reads 60 as the year 60, which a table means as 1960 or 2060
    if (found.tm_year + 1900 < first_year) return std::nullopt;
    const std::chrono::year_month_day day{std::chrono::year(found.tm_year + 1900),
                                          std::chrono::month(static_cast<unsigned>(found.tm_mon) + 1),
                                          std::chrono::day(static_cast<unsigned>(found.tm_mday))};
    if (!day.ok()) return std::nullopt;
    return static_cast<double>(std::chrono::sys_days(day).time_since_epoch().count());
}

}  // namespace holdfast
