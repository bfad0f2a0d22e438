#include "dist/data/public_facts.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "dist/data/person_rule.hpp"
#include "dist/files/hdf5.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

constexpr std::size_t longest_population = 64;
constexpr const char* population_rule = "1 to 64 letters, digits, '-', '_' and '.'";

bool is_population(const std::string& name) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '_' || c == '.';
    };
    return !name.empty() && name.size() <= longest_population &&
           std::all_of(name.begin(), name.end(), allowed);
}

bool is_range(const FeatureRange& range) {
    return std::isfinite(range.low) && std::isfinite(range.high) && range.low < range.high;
}

[[noreturn]] void refuse(const hdf5::File& file, const std::string& message, const std::string& hint) {
    throw Error(ExitCode::input, "attribute " + message, hint, file.path());
}

IdKind ids_of(const hdf5::File& file, const std::string& split) {
    if (!file.has("id_" + split)) return IdKind::row_number;
    if (!file.has_attribute("ids")) return IdKind::given;
    const std::string text = file.read_text_attribute("ids");
    if (const std::optional<IdKind> ids = ids_named(text)) return *ids;
    refuse(file, "'ids' is '" + text + "'", "it must be 'given', 'content' or 'row number', or be absent");
}

std::uint64_t expected_records_of(const hdf5::File& file) {
    if (!file.has_attribute("expected_records")) return 0;
    const std::int64_t count = file.read_int64_attribute("expected_records");
    if (count >= 0 && static_cast<std::uint64_t>(count) <= most_expected_records)
        return static_cast<std::uint64_t>(count);
    refuse(file, "'expected_records' is " + std::to_string(count) + ", no number of records",
           "state the public number of training records, or leave it out");
}

/// "stated", "found" or "measured".
std::string count_of(const hdf5::File& file) {
    if (!file.has_attribute("count")) return "stated";
    const std::string text = file.read_text_attribute("count");
    if (text == "found" || text == "stated" || text == "measured") return text;
    refuse(file, "'count' is '" + text + "'", "it must be 'stated', 'found' or 'measured', or be absent");
}

Unit unit_of(const hdf5::File& file, IdKind ids) {
    if (!file.has_attribute("unit")) return Unit::row;
    const std::string text = file.read_text_attribute("unit");
    if (text != name_of(Unit::row) && text != name_of(Unit::person))
        refuse(file, "'unit' is '" + text + "'", "it must be 'row' or 'person', or be absent");
    if (text == name_of(Unit::row)) return Unit::row;
    if (ids == IdKind::given) return Unit::person;
    refuse(file, "'unit' is 'person', and no ids name persons", "import the table again with --person");
}

std::uint64_t rows_at_most_of(const hdf5::File& file, Unit unit) {
    if (!file.has_attribute("rows_at_most")) return 1;
    const std::int64_t rows = file.read_int64_attribute("rows_at_most");
    if (rows >= 1 && static_cast<std::uint64_t>(rows) <= (unit == Unit::row ? 1 : most_rows_of_a_person))
        return static_cast<std::uint64_t>(rows);
    refuse(file, "'rows_at_most' is " + std::to_string(rows),
           "it is how many rows a person has at most, where 'unit' is 'person'");
}

/// A file that does not say may have been dealt, where it has more than the one split, by all but given ids:
/// of those, every claim has the condition that they name people, and so does the dealing.
Dealt dealt_of(const hdf5::File& file, const std::string& split, IdKind ids) {
    if (file.has_attribute("dealt")) {
        const std::string text = file.read_text_attribute("dealt");
        if (const std::optional<Dealt> dealt = dealt_named(text)) return *dealt;
        refuse(file, "'dealt' is '" + text + "'",
               "it must be 'no', 'given', 'content', 'row number' or 'unknown', or be absent");
    }
    const std::vector<std::string> names = file.names();
    const bool several = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return name.starts_with("x_") && name != "x_" + split;
    });
    return several && ids != IdKind::given ? Dealt::unknown : Dealt::no;
}

std::string population_of(const hdf5::File& file) {
    if (!file.has_attribute("population")) return "";
    const std::string name = file.read_text_attribute("population");
    if (name.empty() || is_population(name)) return name;
    refuse(file, "'population' is no name of a population", std::string("a name has ") + population_rule);
}

FeatureRange range_of(const hdf5::File& file, const std::string& name) {
    if (!file.has_attribute(name)) return default_feature_range;
    const auto ends = file.read_doubles_attribute(name, 2);
    const FeatureRange range{ends[0], ends[1]};
    if (is_range(range)) return range;
    refuse(file, "'" + name + "' is no range", "it is two finite numbers, low < high");
}

void write_range(hdf5::File& file, const std::string& name, const FeatureRange& range) {
    if (range != default_feature_range)
        file.write_attribute(name, std::vector<double>{range.low, range.high});
}

std::vector<std::string> split_at_commas(const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

// Texts too long for an attribute.
constexpr const char* schema_name = "holdfast_schema";
constexpr const char* measured_name = "holdfast_measured";
constexpr const char* names_name = "holdfast_private_names";

/// Empty where there is none.
std::string read_text(const hdf5::File& file, const char* name, const char* what) {
    if (!file.has(name)) return "";
    const hdf5::Dataset dataset = file.dataset(name);
    constexpr std::uint64_t most = std::uint64_t{1} << 32;  // bytes
    if (dataset.shape().size() != 1 || dataset.size() > most)
        throw Error(ExitCode::input, std::string("is no ") + what, "make the file again",
                    file.path() + ":" + name);
    const std::vector<std::uint8_t> bytes = dataset.read_all<std::uint8_t>();
    return {bytes.begin(), bytes.end()};
}

void write_text(hdf5::File& file, const char* name, const std::string& text) {
    if (text.empty()) return;
    hdf5::Dataset dataset = file.create_dataset(name, hdf5::Type::uint8, {text.size()});
    dataset.write({0}, {text.size()}, reinterpret_cast<const std::uint8_t*>(text.data()));
    dataset.close();
}

std::string joined_by_commas(std::vector<std::string> names) {
    for (std::string& name : names) std::replace(name.begin(), name.end(), ',', ';');
    return joined(names, ",");
}

}  // namespace

const char* name_of(Scaling scaling) {
    switch (scaling) {
        case Scaling::none:
            return "none";
        case Scaling::public_constants:
            return "public";
        case Scaling::private_data:
            return "private";
        case Scaling::measured:
            return "measured";
        case Scaling::unknown:
            break;
    }
    return "unknown";
}

const char* name_of(IdKind ids) {
    switch (ids) {
        case IdKind::given:
            return "given";
        case IdKind::content:
            return "content";
        case IdKind::row_number:
            break;
    }
    return "row number";
}

std::optional<Scaling> scaling_named(const std::string& name) {
    for (const Scaling scaling : {Scaling::none, Scaling::public_constants, Scaling::private_data,
                                  Scaling::unknown, Scaling::measured}) {
        if (name == name_of(scaling)) return scaling;
    }
    return std::nullopt;
}

std::optional<IdKind> ids_named(const std::string& name) {
    for (const IdKind ids : {IdKind::given, IdKind::content, IdKind::row_number}) {
        if (name == name_of(ids)) return ids;
    }
    return std::nullopt;
}

const char* name_of(Unit unit) {
    return unit == Unit::person ? "person" : "row";
}

const char* name_of(Dealt dealt) {
    switch (dealt) {
        case Dealt::no:
            return "no";
        case Dealt::given:
            return name_of(IdKind::given);
        case Dealt::content:
            return name_of(IdKind::content);
        case Dealt::unknown:
            break;
        case Dealt::row_number:
            return name_of(IdKind::row_number);
    }
    return "unknown";
}

std::optional<Dealt> dealt_named(const std::string& name) {
    for (const Dealt dealt : {Dealt::no, Dealt::given, Dealt::content, Dealt::unknown, Dealt::row_number}) {
        if (name == name_of(dealt)) return dealt;
    }
    return std::nullopt;
}

std::string text_of(const FeatureRange& range) {
    if (range == default_feature_range) return "not stated, so [-2^20, 2^20]";
    return printed("[%.6g, %.6g]", range.low, range.high);
}

const char* coverage_of(IdKind ids) {
    switch (ids) {
        case IdKind::given:
            return "a record added, removed or replaced renames no other";
        case IdKind::content:
            return "a record added or removed renames no other; a changed record is one removed and one "
                   "added; "
                   "covered are datasets without two equal records";
        case IdKind::row_number:
            break;
    }
    return "a record removed renames those behind it, so no guarantee about a record added or removed holds; "
           "import with --id or, where no two records are equal, --id-from-content";
}

void require_population(const std::string& name) {
    if (is_population(name)) return;
    throw Error(ExitCode::usage, "'" + name + "' is no name of a population",
                std::string("a name has ") + population_rule, "--population");
}

std::string schema_text(const hdf5::File& file) {
    return read_text(file, schema_name, "schema");
}

PrivateNames read_names(const hdf5::File& file) {
    const std::string text = read_text(file, names_name, "list of names");
    try {
        return text.empty() ? PrivateNames() : nlohmann::json::parse(text).get<PrivateNames>();
    } catch (const nlohmann::json::exception&) {
        throw Error(ExitCode::input, "its list of names is damaged", "import the table again",
                    file.path() + ":" + names_name);
    }
}

void write_names(hdf5::File& file, const PrivateNames& names) {
    if (!names.empty()) write_text(file, names_name, nlohmann::json(names).dump());
}

PublicFacts read_facts(const hdf5::File& file, const std::string& split) {
    PublicFacts facts;
    facts.ids = ids_of(file, split);
    facts.expected_records = expected_records_of(file);
    facts.count_found = count_of(file) == "found";
    facts.count_measured = count_of(file) == "measured";
    facts.dealt = dealt_of(file, split, facts.ids);
    facts.unit = unit_of(file, facts.ids);
    facts.rows_at_most = rows_at_most_of(file, facts.unit);
    facts.population = population_of(file);
    facts.range = range_of(file, "feature_range");
    facts.target_range = range_of(file, "target_range");
    if (file.has_attribute("source")) facts.source = file.read_text_attribute("source");
    if (file.has_attribute("feature_names"))
        facts.feature_names = split_at_commas(file.read_text_attribute("feature_names"));
    facts.schema = schema_text(file);
    facts.measured = read_text(file, measured_name, "list of measured constants");
    if (file.has_attribute("label_law")) facts.label_law = file.read_text_attribute("label_law");
    facts.labels_select = file.has_attribute("labels_select");
    const bool scaled = file.has_attribute("scaling") && file.read_text_attribute("scaling") == "measured";
    if ((scaled || facts.count_measured) && facts.measured.empty())
        refuse(file, "'scaling' or 'count' is 'measured', and the file does not say what was",
               "measure the table again");
    return facts;
}

void write_facts(hdf5::File& file, const PublicFacts& facts) {
    ensure(facts.expected_records <= most_expected_records && is_range(facts.range) &&
               is_range(facts.target_range) && (facts.population.empty() || is_population(facts.population)),
           "a file states what can be read again");
    if (facts.scaling != Scaling::unknown) file.write_attribute("scaling", name_of(facts.scaling));
    file.write_attribute("ids", name_of(facts.ids));
    if (facts.expected_records > 0)
        file.write_attribute("expected_records", static_cast<std::int64_t>(facts.expected_records));
    if (facts.count_found) file.write_attribute("count", "found");
    if (facts.count_measured) file.write_attribute("count", "measured");
    file.write_attribute("dealt", name_of(facts.dealt));
    file.write_attribute("unit", name_of(facts.unit));
    if (facts.rows_at_most > 1)
        file.write_attribute("rows_at_most", static_cast<std::int64_t>(facts.rows_at_most));
    if (!facts.population.empty()) file.write_attribute("population", facts.population);
    write_range(file, "feature_range", facts.range);
    write_range(file, "target_range", facts.target_range);
    file.write_attribute("source", facts.source);
    file.write_attribute("feature_names", joined_by_commas(facts.feature_names));
    write_text(file, schema_name, facts.schema);
    write_text(file, measured_name, facts.measured);
    if (!facts.label_law.empty()) file.write_attribute("label_law", facts.label_law);
    if (facts.labels_select) file.write_attribute("labels_select", "yes");
}

}  // namespace holdfast
