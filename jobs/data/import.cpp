// holdfast import FILE: a dataset of a CSV, NPY, NPZ, IDX or HDF5 file, scaled by public constants.
//
//   holdfast import adult.csv --label income --classes "<=50K|>50K" --categories "sex=Female|Male"
//       --scale age=0:100 --scale '*=0:100000' --test-fraction 0.2 --seed 1 --out adult.h5
//       --id-from-content --expected-records 26000 --population census-1994
//   holdfast import bank.csv --schema bank.toml --out bank.h5
//   holdfast import visits.csv --label ill --person patient --aggregate mean,max --scale '*=0:200' --out
//   visits.h5 holdfast import x.npy --labels y.npy --out data.h5 holdfast import data.npz --features x
//   --labels y --scale '*=0:1' --out data.h5 holdfast import train-images-idx3-ubyte.gz --labels
//   train-labels-idx1-ubyte.gz --out mnist.h5 holdfast import other.h5 --out with_ids.h5 holdfast import
//   houses.csv --label price --regression --target-range 0:1000000 --out houses.h5

#include <spdlog/logger.h>
#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "dist/data/csv_reader.hpp"
#include "dist/data/import_csv.hpp"
#include "dist/data/import_hdf5.hpp"
#include "dist/data/import_idx.hpp"
#include "dist/data/import_npy.hpp"
#include "dist/data/import_records.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/schema_file.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/number_of.hpp"
#include "kernels/base/utf8.hpp"

namespace holdfast {
namespace {

struct Options {
    std::string input, test, out, format = "auto", delimiter, undeclared = "number", encode = "onehot",
                                  source_scaling, scale_file;
    std::string label, classes, id, schema;  // CSV columns
    std::string decimal = ".", thousands;    // CSV numbers
    std::string encoding = "utf-8";
    std::optional<std::string> named_id, named_person;  // as given; id and person hold them
    std::vector<std::string> dates, missing_words;
    std::optional<std::string> expected_records, population;   // what the file states
    std::string features, labels, ids, test_labels, test_ids;  // arrays or files
    bool no_labels = false, scale_from_data = false, id_from_content = false, regression = false;
    std::string target_range;
    std::vector<std::string> drop, categories, missing, scale;
    std::string person, rows_at_most, keep, order_by, aggregate;
    double test_fraction = 0;
    std::uint64_t seed = 1;
};

[[noreturn]] void fail(const std::string& option, const std::string& message, const std::string& hint) {
    throw Error(ExitCode::usage, message, hint, option);
}

/// "COLUMN=REST", cut at the last '=': a column's own name may hold one.
std::pair<std::string, std::string> cut(const std::string& option, const std::string& text,
                                        const std::string& pattern) {
    const auto at = text.rfind('=');
    if (at == std::string::npos || at == 0)
        fail(option, "'" + text + "' is not of the form " + pattern, "for example " + pattern);
    return {text.substr(0, at), text.substr(at + 1)};
}

double parse_number(const std::string& option, const std::string& text) {
    const auto value = number_of<double>(text);
    if (value && std::isfinite(*value)) return *value;
    fail(option, "'" + text + "' is not a finite number", "write it in decimal, for example 0.5");
}

std::uint64_t parse_count(const std::string& option, const std::string& text) {
    const auto count = number_of<std::uint64_t>(text);
    if (count && *count > 0 && *count <= most_expected_records) return *count;
    fail(option, "'" + text + "' is not a number of records",
         "a whole number from 1 to " + std::to_string(most_expected_records) + ", or found");
}

std::vector<std::string> cut_list(const std::string& text, char between = '|') {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find(between, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

void require_distinct(const std::string& option, const std::vector<std::string>& values) {
    const std::set<std::string> distinct(values.begin(), values.end());
    if (distinct.size() != values.size())
        fail(option, "a value is listed twice", "list each value once, as a|b|c");
}

void require_utf8(const std::string& option, const std::vector<std::string>& texts) {
    if (!std::ranges::all_of(texts, is_utf8))
        fail(option, "is not UTF-8", "write it in UTF-8, as a terminal of a locale such as C.UTF-8 does");
}

/// "LOW:HIGH" of the option's whole text.
Range parse_range(const std::string& option, const std::string& range, const std::string& text,
                  const std::string& pattern) {
    const auto colon = range.find(':');
    if (colon == std::string::npos) fail(option, "'" + text + "' names no range", "write " + pattern);
    return {parse_number(option, range.substr(0, colon)), parse_number(option, range.substr(colon + 1))};
}

std::map<std::string, Range> parse_scales(const std::vector<std::string>& texts) {
    std::map<std::string, Range> ranges;
    for (const std::string& text : texts) {
        const auto [column, range] = cut("--scale", text, "COLUMN=LOW:HIGH");
        ranges[column] = parse_range("--scale", range, text, "COLUMN=LOW:HIGH");
    }
    return ranges;
}

/// [scale] column = [low, high]
std::map<std::string, Range> read_scale_file(const std::string& path) {
    toml::table file;
    try {
        file = toml::parse_file(path);
    } catch (const toml::parse_error& error) {
        throw Error(ExitCode::usage, std::string(error.description()),
                    "write a [scale] table with column = [low, high]", path);
    }
    const toml::table* table = file["scale"].as_table();
    if (!table || file.size() != 1)
        fail(path, "needs one table, [scale]", "write [scale] and below it column = [low, high]");
    std::map<std::string, Range> ranges;
    for (const auto& [key, value] : *table) {
        const toml::array* ends = value.as_array();
        const auto low = ends && ends->size() == 2 ? (*ends)[0].value<double>() : std::nullopt;
        const auto high = ends && ends->size() == 2 ? (*ends)[1].value<double>() : std::nullopt;
        if (!low || !high)
            fail(path, "[scale] '" + std::string(key.str()) + "' is not [low, high]",
                 "two numbers, low < high");
        ranges[std::string(key.str())] = {*low, *high};
    }
    return ranges;
}

MissingRule parse_missing(const std::vector<std::string>& texts) {
    MissingRule rule;
    for (const std::string& text : texts) {
        if (text == "error") {
            rule.refused = true;
            continue;
        }
        if (text == "zero") {
            rule.zero = true;
            continue;
        }
        const auto [column, value] = cut("--missing", text, "error, zero or COLUMN=VALUE");
        rule.columns[column] = parse_number("--missing", value);
    }
    return rule;
}

std::string format_of(const Options& options) {
    if (options.format != "auto") return options.format;
    const std::string name = std::filesystem::path(options.input).filename().string();
    const auto ends = [&](const char* suffix) {
        return name.ends_with(suffix) || name.ends_with(std::string(suffix) + ".gz");
    };
    if (ends(".csv") || ends(".tsv") || ends(".txt") || ends(".parquet")) return "csv";
    if (name.ends_with(".npy")) return "npy";
    if (name.ends_with(".npz")) return "npz";
    if (name.ends_with(".h5") || name.ends_with(".hdf5")) return "hdf5";
    if (name.find("ubyte") != std::string::npos || name.find("idx") != std::string::npos) return "idx";
    fail(options.input, "its name does not tell its format", "say --format csv, npy, npz, idx or hdf5");
}

/// Are cells that do not fit refused?
bool is_strict(const Options& options) {
    return std::find(options.missing.begin(), options.missing.end(), "error") != options.missing.end();
}

/// As --classes states it; nothing: it names the classes, or is not given.
std::optional<std::int64_t> number_of_classes(const Options& options) {
    const auto count = number_of<std::int64_t>(options.classes);
    return count && *count >= 2 ? count : std::nullopt;
}

CsvOptions csv_options(const Options& options) {
    if (options.label.empty() && !options.no_labels)
        fail("--label", "a CSV file needs its label column",
             "name it, or say --no-labels for queries; holdfast schema says what a table looks like");
    CsvOptions csv;
    csv.delimiter = options.delimiter.empty() ? delimiter_of_header(options.input, options.encoding)
                                              : delimiter_named(options.delimiter, "--delimiter");
    csv.undeclared = options.undeclared == "any";
    if (csv.undeclared && (!options.scale.empty() || !options.scale_file.empty() || options.scale_from_data))
        fail("--undeclared", "columns without a type have no range, which holdfast measure finds",
             "leave the ranges out, or --undeclared number");
    csv.decimal = delimiter_named(options.decimal, "--decimal");
    if (!options.thousands.empty()) csv.thousands = delimiter_named(options.thousands, "--thousands");
    if (csv.decimal == csv.thousands)
        fail("--thousands", "is the character before decimals too", "give two characters");
    for (const std::string& text : options.dates) {
        const auto [column, format] = cut("--date", text, "COLUMN=FORMAT");
        csv.dates[column] = format;
    }
    csv.missing_words = options.missing_words;
    csv.text_encoding = options.encoding;
    csv.label = options.label;
    if (!options.classes.empty() && !number_of_classes(options)) csv.classes = cut_list(options.classes);
    require_distinct("--classes", csv.classes);
    csv.regression = options.regression;
    if (csv.regression && !csv.classes.empty())
        fail("--classes", "names classes, and a regression has none", "leave it out, or --regression");
    csv.id = options.person.empty() ? options.id : options.person;
    csv.drop = {options.drop.begin(), options.drop.end()};
    for (const std::string& text : options.categories) {
        const auto at = text.find('=');  // the first: categories may hold one ("<=50K")
        if (at == std::string::npos || at == 0)
            fail("--categories", "'" + text + "' is not COLUMN=a|b|c", "write COLUMN=a|b|c");
        csv.categories[text.substr(0, at)] = cut_list(text.substr(at + 1));
        require_distinct("--categories", csv.categories[text.substr(0, at)]);
    }
    for (const auto& [option, texts] :
         {std::pair{"--classes", csv.classes}, {"--missing-word", csv.missing_words}})
        require_utf8(option, texts);
    for (const auto& [column, values] : csv.categories) require_utf8("--categories", values);
    csv.encoding = options.encode == "integer" ? CategoryEncoding::integer : CategoryEncoding::one_hot;
    return csv;
}

/// Of --schema; what else says what the columns are says it twice.
std::optional<Schema> schema_of(const Options& options) {
    if (options.schema.empty()) return std::nullopt;
    if (format_of(options) != "csv")
        fail("--schema", "says what the columns of a CSV table are", "leave it out");
    const std::pair<const char*, bool> said[] = {{"--label", !options.label.empty()},
                                                 {"--classes", !options.classes.empty()},
                                                 {"--regression", options.regression},
                                                 {"--id", !options.id.empty()},
                                                 {"--person", !options.person.empty()},
                                                 {"--drop", !options.drop.empty()},
                                                 {"--categories", !options.categories.empty()},
                                                 {"--encode", options.encode != "onehot"},
                                                 {"--date", !options.dates.empty()},
                                                 {"--delimiter", !options.delimiter.empty()},
                                                 {"--undeclared", options.undeclared != "number"},
                                                 {"--decimal", options.decimal != "."},
                                                 {"--thousands", !options.thousands.empty()},
                                                 {"--missing-word", !options.missing_words.empty()},
                                                 {"--scale-from-data", options.scale_from_data},
                                                 {"--target-range", !options.target_range.empty()}};
    for (const auto& [option, given] : said)
        if (given)
            fail(option, "the schema says what the columns are", "change it there, or leave --schema out");
    Schema schema = read_schema(options.schema);
    if (schema.measured)
        fail(
            "--schema", "its ranges were measured of private records, and paid for by those alone",
            "queries are read by it as they are, from their CSV file; a table to train on is measured itself "
            "(holdfast measure), or states public ranges");
    return schema;
}

std::unique_ptr<RecordSource> open_one(const Options& options, const std::string& format,
                                       const std::optional<Schema>& schema, bool test) {
    const std::string& path = test ? options.test : options.input;
    const std::string& labels = test ? options.test_labels : options.labels;
    const std::string& ids = test ? options.test_ids : options.ids;
    if (format == "csv") {
        const CsvUse use = options.no_labels    ? CsvUse::queries
                           : is_strict(options) ? CsvUse::strict
                                                : CsvUse::training;
        Schema read = schema ? *schema : schema_of_csv(path, csv_options(options));
        // A person's rows have no mean of buckets: where they are summarised, text counts as missing.
        if (!options.aggregate.empty() || (read.persons && read.persons->summarises()))
            std::erase_if(read.columns, [](const Column& column) {
                return !column.reads.empty() && column.kind == Column::Kind::category;
            });
        return open_csv(path, read, use, options.encoding);
    }
    if (labels.empty() && !options.no_labels) {
        fail(test ? "--test-labels" : "--labels", "names no labels for " + path,
             "name them, or say --no-labels for queries");
    }
    if (format == "npy") return open_npy({path, ""}, {labels, ""}, {ids, ""}, options.regression);
    if (format == "idx") {
        if (options.regression) fail("--regression", "IDX files hold labels", "leave it out");
        return open_idx(path, labels);
    }
    const auto member = [&](const std::string& name) {
        return name.empty() ? ArrayName{} : ArrayName{path, name};
    };
    return open_npy({path, options.features.empty() ? "x" : options.features}, member(labels), member(ids),
                    options.regression);
}

std::vector<NamedSource> open_hdf5(const Options& options) {
    std::vector<NamedSource> sources;
    for (const std::string& split : hdf5_splits(options.input)) {
        sources.push_back({split, open_hdf5_split(options.input, split, scaling_named(options.source_scaling),
                                                  options.regression)});
    }
    if (!sources.empty()) return sources;
    throw Error(ExitCode::input, "has no dataset x_train or x_SPLIT",
                "name the arrays x_train, y_train, x_test, y_test", options.input);
}

std::vector<NamedSource> open_npz_splits(const std::string& path, bool regression) {
    std::vector<NamedSource> sources;
    const auto array = [&](const std::string& name) {
        return npz_has(path, name) ? ArrayName{path, name} : ArrayName{};
    };
    for (const std::string& split : npz_splits(path)) {
        sources.push_back(
            {split, open_npy({path, "x_" + split}, array("y_" + split), array("id_" + split), regression)});
    }
    return sources;
}

std::vector<NamedSource> open_sources(const Options& options, const std::optional<Schema>& schema) {
    const std::string format = format_of(options);
    if (format == "hdf5") return open_hdf5(options);
    std::vector<NamedSource> sources;
    if (format == "npz" && options.features.empty())
        sources = open_npz_splits(options.input, options.regression);
    if (sources.empty()) sources.push_back({"train", open_one(options, format, schema, false)});
    if (!options.test.empty()) sources.push_back({"test", open_one(options, format, schema, true)});
    return sources;
}

/// What several rows of a person become, where ids are said to name persons.
std::optional<PersonRule> person_rule(const Options& options, const std::optional<Schema>& schema) {
    if (!options.person.empty() && !options.id.empty())
        fail("--person", "names who a record is of, as --id does", "leave --id out");
    const bool said = !options.person.empty() || !options.rows_at_most.empty() || !options.keep.empty() ||
                      !options.order_by.empty() || !options.aggregate.empty();
    if (!said) return schema ? schema->persons : std::nullopt;
    PersonRule rule;
    if (!options.rows_at_most.empty()) {
        const auto rows = number_of<std::uint64_t>(options.rows_at_most);
        if (!rows || *rows == 0 || *rows > most_rows_of_a_person)
            fail("--rows-at-most", "'" + options.rows_at_most + "' is not a number of rows",
                 "a whole number from 1 to " + std::to_string(most_rows_of_a_person));
        rule.rows_at_most = *rows;
    }
    if (!options.keep.empty() && (rule.rows_at_most == 0 || !options.aggregate.empty()))
        fail("--keep", "says which rows stay of a person of too many",
             "give --rows-at-most V, and no --aggregate, which takes all rows");
    rule.keep_last = options.keep == "last";
    rule.order = options.order_by;
    for (const std::string& name :
         options.aggregate.empty() ? std::vector<std::string>() : cut_list(options.aggregate, ',')) {
        const std::optional<RowSummary> summary = row_summary_named(name);
        if (!summary)
            fail("--aggregate", "'" + name + "' says nothing of rows", "a list of last,mean,min,max,count");
        rule.summaries.push_back(*summary);
    }
    return rule;
}

/// Labels are 0 to below this number; 0: the reader of the table judges them by its list.
std::int64_t class_count(const Options& options, const std::optional<Schema>& schema) {
    if (options.no_labels || options.regression || (schema && schema->regression)) return 0;
    if (const auto count = number_of_classes(options)) return *count;
    const bool table = format_of(options) == "csv";
    const bool listed = schema ? !schema->classes.empty() : !options.classes.empty();
    if (!listed) return table && !is_strict(options) ? 2 : 0;
    return table ? 0 : static_cast<std::int64_t>(cut_list(options.classes).size());
}

ImportOptions import_options(const Options& options, const std::optional<Schema>& schema) {
    ImportOptions parsed;
    parsed.persons = person_rule(options, schema);
    if (!options.scale_file.empty()) parsed.ranges = read_scale_file(options.scale_file);
    for (const auto& [column, range] : parse_scales(options.scale)) parsed.ranges[column] = range;
    parsed.ranges_from_data = options.scale_from_data;
    if (parsed.ranges_from_data && !parsed.ranges.empty()) {
        fail("--scale-from-data", "cannot be joined with public ranges",
             "keep --scale: only public ranges support a guarantee");
    }
    parsed.missing = parse_missing(options.missing);
    parsed.classes = class_count(options, schema);
    if (!options.target_range.empty())
        parsed.target_range =
            parse_range("--target-range", options.target_range, options.target_range, "LOW:HIGH");
    parsed.test_fraction = options.test_fraction;
    parsed.seed = options.seed;
    parsed.ids_from_content = options.id_from_content;
    parsed.count_found = options.expected_records == "found";
    if (options.expected_records && !parsed.count_found)
        parsed.expected_records = parse_count("--expected-records", *options.expected_records);
    parsed.population = options.population;
    return parsed;
}

/// Whom every guarantee will be about.
std::string unit_text(const PublicFacts& facts) {
    if (facts.unit == Unit::row)
        return "unit: a row. Where a person has several, each is protected by itself alone (event level);\n"
               "    --person COLUMN protects persons.";
    return "unit: a person" + (facts.rows_at_most == 1
                                   ? std::string(", one record each")
                                   : ", of " + std::to_string(facts.rows_at_most) + " rows at most");
}

/// What the file states of itself, and what it costs where it does not.
std::string fact_lines(const ImportSummary& summary) {
    const PublicFacts& facts = summary.facts;
    std::string text = "  ids: " + summary.id_note + "\n  " + unit_text(facts) +
                       "\n  feature range: " + text_of(facts.range) + "\n";
    if (summary.targets) text += "  target range: " + text_of(facts.target_range) + "\n";
    const bool labelled = summary.targets || !summary.class_counts.empty();
    if (facts.expected_records > 0) {
        text += facts.count_found
                    ? "  count: " + std::to_string(facts.expected_records) +
                          ", found and rounded. It is not public, and one record may change it:\n"
                          "    every guarantee is only 'as published'. --expected-records N states one.\n"
                    : "  public count: " + std::to_string(facts.expected_records) + "\n";
    } else if (labelled) {
        text +=
            "  public count: not stated. Training then takes the count it finds, which one record changes:\n"
            "    the guarantee is only 'as published', and a release is refused. --expected-records N "
            "states\n"
            "    a number that anybody may know, a rounded one too.\n";
    }
    if (facts.dealt == Dealt::row_number)
        text +=
            "  splits: dealt by row numbers. A record removed deals all behind it anew: every guarantee "
            "about a\n"
            "    record added or removed is only 'as published'. --id or --id-from-content deal each on its "
            "own.\n";
    if (!facts.population.empty()) {
        text += "  population: " + facts.population + "\n";
    } else if (labelled) {
        text += "  population: not named. --population NAME says whose privacy budget the records spend.\n";
    }
    return text;
}

std::string as_text(const ImportSummary& summary, const std::string& out) {
    std::string text = out + ": " + std::to_string(summary.facts.feature_names.size()) +
                       " features, scaling " + name_of(summary.facts.scaling) + "\n";
    for (const auto& [split, rows] : summary.rows) {
        text += "  " + split + ": " + std::to_string(rows) + " records";
        if (const auto persons = summary.persons.find(split); persons != summary.persons.end())
            text += " of " + std::to_string(persons->second) + " persons";
        if (const auto counts = summary.class_counts.find(split); counts != summary.class_counts.end()) {
            text += ", by label";
            for (const auto& [label, count] : counts->second)
                text += " " + std::to_string(label) + ": " + std::to_string(count);
        }
        text += "\n";
    }
    text += fact_lines(summary);
    if (summary.rows_left_out > 0)
        text += "  rows left out, of persons of more than " + std::to_string(summary.facts.rows_at_most) +
                ": " + std::to_string(summary.rows_left_out) + "\n";
    if (summary.unlabelled > 0)
        text +=
            "  rows left out, whose label is none of the stated ones: " + std::to_string(summary.unlabelled) +
            "\n";
    if (summary.filled > 0) text += "  missing values filled: " + std::to_string(summary.filled) + "\n";
    if (summary.clipped > 0)
        text += "  values clipped to their range: " + std::to_string(summary.clipped) + "\n";
    return text + next_command({"inspect", out});
}

nlohmann::json as_json(const ImportSummary& summary, const std::string& out) {
    const PublicFacts& facts = summary.facts;
    nlohmann::json counts = nlohmann::json::object();
    for (const auto& [split, by_label] : summary.class_counts) {
        for (const auto& [label, count] : by_label) counts[split][std::to_string(label)] = count;
    }
    nlohmann::json object = {{"path", out},
                             {"rows", summary.rows},
                             {"classes", counts},
                             {"features", facts.feature_names.size()},
                             {"scaling", name_of(facts.scaling)},
                             {"ids", name_of(facts.ids)},
                             {"id_note", summary.id_note},
                             {"expected_records", facts.expected_records},
                             {"count_found", facts.count_found},
                             {"dealt", name_of(facts.dealt)},
                             {"population", facts.population},
                             {"unit", name_of(facts.unit)},
                             {"rows_at_most", facts.rows_at_most},
                             {"feature_range", {facts.range.low, facts.range.high}},
                             {"filled", summary.filled},
                             {"unlabelled", summary.unlabelled},
                             {"clipped", summary.clipped}};
    if (!summary.persons.empty()) {
        object["persons"] = summary.persons;
        object["rows_left_out"] = summary.rows_left_out;
    }
    if (summary.targets) object["target_range"] = {facts.target_range.low, facts.target_range.high};
    return object;
}

/// Tells the owner that R's and pandas' column of row numbers is left out.
void log_unnamed_column(const Context& context, const SourceInfo& info,
                        const std::vector<std::string>& dropped) {
    const bool unnamed = std::ranges::find(info.ignored, "") != info.ignored.end();
    if (unnamed && std::ranges::find(dropped, "") == dropped.end())
        context.log->warn(
            "{}: the first column has no name, as the row numbers that R and pandas write: it is "
            "left out",
            info.path);
}

/// Error (usage): the name is there and empty, so that row numbers would be the ids.
void require_name(const std::string& option, const std::optional<std::string>& name) {
    if (name && name->empty())
        fail(option, "names no column", "name the column of ids, or leave the option out");
}

void run(const Options& options, const Context& context) {
    ImportSummary summary;
    if (context.world.is_root()) {
        // 1. The options, before anything is read.
        require_name("--id", options.named_id);
        require_name("--person", options.named_person);
        const std::optional<Schema> schema = schema_of(options);
        const ImportOptions parsed = import_options(options, schema);

        // 2. The files, with their headers checked.
        const std::vector<NamedSource> sources = open_sources(options, schema);
        if (sources.size() > 1 && options.test_fraction > 0) {
            fail("--test-fraction", "the input already has several splits", "leave it out");
        }

        log_unnamed_column(context, sources[0].source->info(), options.drop);

        // 3. One pass (two with --scale-from-data) into the dataset.
        summary = import_records(sources, parsed, options.out);
    }
    context.world.barrier();
    if (summary.unlabelled > 0)
        context.log->warn("{}: {} rows were left out, whose label is none of the stated ones (--classes)",
                          options.input, summary.unlabelled);
    for (const std::string& line : summary.tolerated)
        context.log->warn("{}: counts as missing: {}", options.input, line);

    // 4. What was read, and what the dataset states of itself.
    context.print(as_json(summary, options.out), as_text(summary, options.out));
}

void declare_columns(const Command& command, Options& options) {
    command.add_option("--schema", options.schema,
                       "CSV: what the columns are, in place of the options below: the file that holdfast "
                       "schema wrote and its "
                       "owner filled in, or a dataset or model (.h5) that was made by one");
    command.add_option("--label", options.label, "CSV: the label column");
    command.add_option(
        "--classes", options.classes,
        "Public list of the label's values in order, a|b|c, or the number of classes 0, 1, 2, ... "
        "(default: 2 in a CSV file; in arrays all). A row with another label is no record: it "
        "is left out, and counted");
    command.add_flag("--regression", options.regression,
                     "Not IDX: the label column or array holds numbers, which a regression learns "
                     "(network.classes = 1)");
    command.add_option(
        "--target-range", options.target_range,
        "LOW:HIGH, public range of these numbers: clipped and mapped to [0, 1]; without it they "
        "are stored as they are, and training clips them to +-2^20");
    command.add_option(
        "--id", options.named_id,
        "CSV: column of record ids. Whole numbers are themselves, 7.0 is 7; other text is hashed, and 007 is "
        "another id than 7. Default: row numbers, with which no guarantee about a removed record holds");
    command.add_option("--drop", options.drop, "CSV: a column to leave out (repeatable)").one_at_a_time();
    command
        .add_option(
            "--categories", options.categories,
            "CSV: COLUMN=a|b|c, public list of a text column's values (repeatable); COLUMN=#: nobody has "
            "stated one, and holdfast measure finds which buckets of a public hash are frequent")
        .one_at_a_time();
    command.add_option("--encode", options.encode, "CSV: categories as onehot or integer")
        .one_of({"onehot", "integer"})
        .show_default();
    command.add_option("--delimiter", options.delimiter,
                       "CSV: the character between cells, or tab (default: the one that splits the header "
                       "line into most columns)");
    command
        .add_option(
            "--undeclared", options.undeclared,
            "CSV: what a column is of which no option says it: number, or any. Of any, each cell is a "
            "number, a date (2024-12-31, 31.12.2024) or hashed text by itself, and holdfast measure "
            "finds ranges and frequent buckets")
        .one_of({"number", "any"})
        .show_default();
    add_encoding_option(command, options.encoding);
    command.add_option("--decimal", options.decimal, "CSV: the character before decimals").show_default();
    command.add_option("--thousands", options.thousands,
                       "CSV: the character between groups of three digits (default: none)");
    command
        .add_option(
            "--date", options.dates,
            "CSV: COLUMN=FORMAT, a column of dates, as %d.%m.%Y: the days since 1970-01-01 (repeatable)")
        .one_at_a_time();
    command
        .add_option(
            "--missing-word", options.missing_words,
            "CSV: a cell that is missing, beside the empty one, NA, N/A, NaN, null and ? (repeatable)")
        .one_at_a_time();
}

void declare_persons(const Command& command, Options& options) {
    command.add_option("--person", options.named_person,
                       "CSV: the column that says whose a row is, in place of --id: every guarantee is then "
                       "about persons, with all of their rows (NPY, NPZ, HDF5: --rows-at-most says it)");
    command.add_option(
        "--aggregate", options.aggregate,
        "Makes one record of a person's rows: of every column the last, mean, min, max, and the "
        "count of rows, as last,mean. The first choice: no guarantee is weaker for it");
    command.add_option(
        "--rows-at-most", options.rows_at_most,
        "V, a public number: of who has more rows V are kept. Each row of a person then counts "
        "by its part, and the noise is for V rows");
    command.add_option("--keep", options.keep, "Which of them: by a hash, or the last by --order-by")
        .one_of({"hash", "last"});
    command.add_option("--order-by", options.order_by,
                       "The column by which a row is later than another, of numbers or dates");
}

void declare_arrays(const Command& command, Options& options) {
    command.add_option("--features", options.features,
                       "NPZ: the array of features (default: x_train, x_test, ..., or x)");
    command.add_option("--labels", options.labels, "NPY, IDX: the file of labels; NPZ: the array of labels");
    command.add_option("--ids", options.ids, "NPY: the file of ids; NPZ: the array of ids");
    command.add_option("--test", options.test,
                       "CSV, NPY, NPZ, IDX: a second file, which becomes the split 'test'");
    command.add_option("--test-labels", options.test_labels, "The labels that belong to --test");
    command.add_option("--test-ids", options.test_ids, "The ids that belong to --test");
    command.add_flag("--no-labels", options.no_labels, "Queries: the records have no labels");
}

void declare_facts(const Command& command, Options& options) {
    command.add_flag(
        "--id-from-content", options.id_from_content,
        "The id of a record is a hash of its features, before any scaling, and its label: covers datasets "
        "without two equal records, which are refused; a changed record is one removed and one added");
    command.add_option(
        "--expected-records", options.expected_records,
        "Public number of records of the split 'train' (behind --test-fraction), a figure anybody "
        "may know: training takes it in place of the count it finds (HDF5: default as stated "
        "there); or found: "
        "the number of them, rounded, with which every guarantee is only 'as published'");
    command.add_option(
        "--population", options.population,
        "Name of the people whose privacy budget the records spend, letters, digits, '-', '_', '.' "
        "(HDF5: as stated there)");
}

void declare_scaling(const Command& command, Options& options) {
    command
        .add_option("--missing", options.missing,
                    "Missing values, in the column's own units: COLUMN=VALUE (repeatable), zero, or error, "
                    "which also "
                    "refuses cells that do not fit their column and labels that are none of the classes "
                    "(default: the "
                    "middle of the public range, 0 where there is none)")
        .one_at_a_time();
    command
        .add_option("--scale", options.scale,
                    "COLUMN=LOW:HIGH, public range: clipped and mapped to [0, 1] (repeatable; '*' for all "
                    "other columns)")
        .one_at_a_time();
    command.add_option("--scale-file", options.scale_file,
                       "TOML file with a table [scale], column = [low, high]");
    command.add_flag("--scale-from-data", options.scale_from_data,
                     "Ranges from the data itself: marks the dataset 'private', which voids certificates and "
                     "privacy claims");
    command
        .add_option("--source-scaling", options.source_scaling,
                    "HDF5: how the features were scaled, where the file does not say")
        .one_of({"public", "private", "none"});
    command
        .add_option("--test-fraction", options.test_fraction,
                    "Fraction of records for the split 'test', by keyed hash of the id")
        .show_default();
    command.add_option("--seed", options.seed, "Public seed of that split").show_default();
}

}  // namespace

Run declare_import(const Command& command) {
    auto options = std::make_shared<Options>();
    command
        .add_option("file", options->input,
                    "CSV, NPY, NPZ, IDX or HDF5 file (CSV and IDX also compressed by gzip)")
        .required();
    command.add_output("--out", options->out, OutputKind::dataset, "Dataset file to write (HDF5)").required();
    command.add_option("--format", options->format, "What the file is")
        .one_of({"auto", "csv", "npy", "npz", "idx", "hdf5"})
        .show_default();
    declare_columns(command, *options);
    declare_persons(command, *options);
    declare_arrays(command, *options);
    declare_facts(command, *options);
    declare_scaling(command, *options);
    return [options](const Context& context) {
        options->id = options->named_id.value_or("");
        options->person = options->named_person.value_or("");
        run(*options, context);
    };
}

}  // namespace holdfast
