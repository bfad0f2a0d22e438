// holdfast schema FILE: what a CSV table looks like, as a file for its owner to fill in. `import --schema`
// reads the table by it, and models carry it, so that whoever asks them names columns.
//   holdfast schema bank.csv --label default --person customer --out bank.toml
//   holdfast import bank.csv --schema bank.toml --out bank.h5

#include <nlohmann/json.hpp>
#include <optional>

#include "dist/data/guess_schema.hpp"
#include "dist/files/atomic_file.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/schema_file.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

struct SchemaRequest {
    std::string input, out, label, delimiter, decimal, thousands, encoding = "utf-8";
    std::optional<std::string> id, person;
    std::vector<std::string> drop, dates;
    bool regression = false, from_data = false;
};

constexpr const char* to_fill_in =
    "# What the columns of a table mean: its types, values, classes and marks were found in private "
    "records.\n"
    "# Check that all of it is public knowledge, then delete the line found = true: with it every guarantee "
    "is only\n"
    "# 'as published', and a published model does not tell what was found.\n"
    "#   range: of every number, in its own units, as the field's books have it and not as this table does.\n"
    "#          What lies outside counts as the nearer end. Empty ones must be filled in.\n"
    "#   values, classes: they were found in the table. Strike out, or add, until the list is one that "
    "anybody\n"
    "#          may know. An empty text among the values stands for a missing cell.\n"
    "#   missing = VALUE in a column of numbers is what missing cells count as; without it the middle of the "
    "range.\n"
    "#   type = \"any\": each cell is a number or hashed text by itself, without a range; holdfast measure "
    "finds "
    "what is\n"
    "#          frequent.\n"
    "#   type = \"drop\" leaves a column out.\n"
    "#   person = {} says that the id names persons; person = {aggregate = [\"last\", \"mean\"], order_by = "
    "\"day\"}\n"
    "#          makes one record of each one's rows, person = {rows_at_most = 4} keeps so many.\n";
constexpr const char* as_found =
    "# What the columns of a table mean. Its ranges, values and classes were found in private records: found "
    "= true\n"
    "# says so, every guarantee is then only 'as published', and a published model does not tell them.\n";

/// A number that fills gaps: the middle of its range, where that may be said.
void fill_gaps(TableGuess& guess, bool from_data) {
    for (Column& column : guess.schema.columns) {
        const bool gaps = guess.missing.contains(column.name) && column.kind != Column::Kind::category;
        if (gaps && from_data) column.missing = (column.range.lowest + column.range.highest) / 2;
        if (!from_data && column.kind != Column::Kind::category) column.range = unknown_range;
    }
    if (!from_data) guess.schema.target_range = unknown_range;
}

std::string as_text(const TableGuess& guess, const SchemaRequest& request) {
    const Schema& schema = guess.schema;
    std::size_t categories = 0, dates = 0;
    for (const Column& column : schema.columns) {
        categories += column.kind == Column::Kind::category;
        dates += column.kind == Column::Kind::date;
    }
    std::string text = request.out + ": " + std::to_string(schema.columns.size()) + " columns (" +
                       std::to_string(categories) + " of categories, " + std::to_string(dates) +
                       " of dates), " + std::to_string(schema.features()) + " features, of " +
                       std::to_string(guess.rows) + " rows\n";
    if (!schema.classes.empty())
        text += "  classes of '" + schema.label + "': " + joined(schema.classes) + "\n";
    if (guess.unnamed_first)
        text += "  left out: the first column, which has no name, as row numbers of R and pandas\n";
    if (!guess.dropped.empty())
        text += "  left out, as texts that are no categories: " + joined(guess.dropped) + "\n";
    if (schema.id.empty() && !guess.possible_ids.empty())
        text += "  different in every row, so perhaps ids (--id): " + joined(guess.possible_ids) + "\n";
    for (const auto& [name, count] : guess.missing) {
        const auto column = std::find_if(schema.columns.begin(), schema.columns.end(),
                                         [&name = name](const Column& one) { return one.name == name; });
        const bool open =
            column != schema.columns.end() && column->kind != Column::Kind::category && !request.from_data;
        text += "  '" + name + "': " + std::to_string(count) + " missing cells" +
                (open ? ", which count as the middle of its range, or as missing = VALUE says" : "") + "\n";
    }
    if (request.from_data)
        text += "  ranges, categories and classes are those of the records: found = true says so\n";
    else
        text +=
            "  to be filled in: the public range of every number; found = true goes once all of it is "
            "public\n";
    std::vector<std::string> next{"import",   request.input,
                                  "--schema", request.out,
                                  "--out",    request.out.substr(0, request.out.rfind('.')) + ".h5"};
    if (request.encoding != "utf-8") next.insert(next.end(), {"--encoding", request.encoding});
    return text + next_command(next);
}

/// What was said of the table; 0 where a character is to be found.
CsvOptions csv_options(const SchemaRequest& request) {
    const auto character = [](const std::string& text, const char* option) {
        return text.empty() ? '\0' : delimiter_named(text, option);
    };
    CsvOptions options;
    options.delimiter = character(request.delimiter, "--delimiter");
    options.decimal = character(request.decimal, "--decimal");
    options.thousands = character(request.thousands, "--thousands");
    options.label = request.label;
    options.regression = request.regression;
    options.id = request.person ? *request.person : request.id.value_or("");
    options.drop = {request.drop.begin(), request.drop.end()};
    options.text_encoding = request.encoding;
    for (const std::string& text : request.dates) {
        const auto at = text.rfind('=');
        if (at == std::string::npos)
            throw Error(ExitCode::usage, "'" + text + "' is not of the form COLUMN=FORMAT",
                        "for example day=%d.%m.%Y", "--date");
        options.dates[text.substr(0, at)] = text.substr(at + 1);
    }
    return options;
}

void run(const SchemaRequest& request, const Context& context) {
    if (!context.world.is_root()) return;
    for (const auto& [option, name] : {std::pair{"--id", request.id}, {"--person", request.person}})
        if (name && name->empty())
            throw Error(ExitCode::usage, "names no column", "name the column of ids, or leave the option out",
                        option);
    if (request.id && request.person)
        throw Error(ExitCode::usage, "names who a record is of, as --id does", "leave --id out", "--person");
    TableGuess guess = guess_schema(request.input, csv_options(request));
    if (request.person) guess.schema.persons.emplace();
    fill_gaps(guess, request.from_data);
    guess.schema.found = true;
    write_file_atomically(request.out,
                          schema_template(guess.schema, request.from_data ? as_found : to_fill_in));
    context.print({{"path", request.out},
                   {"rows", guess.rows},
                   {"schema", to_json(guess.schema)},
                   {"dropped", guess.dropped},
                   {"possible_ids", guess.possible_ids},
                   {"missing", guess.missing}},
                  as_text(guess, request));
}

}  // namespace

Run declare_schema(const Command& command) {
    auto request = std::make_shared<SchemaRequest>();
    command.add_option("file", request->input, "CSV file with a header line (also compressed by gzip)")
        .required();
    command
        .add_output("--out", request->out, OutputKind::edited,
                    "TOML file to write, for its owner alone (0600)")
        .required();
    command.add_option("--label", request->label, "The column that holds the class, or the number");
    command.add_flag("--regression", request->regression, "The label column holds numbers");
    command.add_option("--id", request->id, "The column of record ids");
    command.add_option("--person", request->person,
                       "The column that says whose a row is, in place of --id: every guarantee is then about "
                       "persons (holdfast import --help says what becomes of several rows of one)");
    command.add_option("--drop", request->drop, "A column to leave out (repeatable)").one_at_a_time();
    command.add_option("--delimiter", request->delimiter,
                       "The character between cells, or tab (default: the likeliest)");
    command.add_option("--decimal", request->decimal,
                       "The character before decimals (default: the likeliest)");
    command.add_option("--thousands", request->thousands,
                       "The character between groups of three digits (default: the likeliest, or none)");
    command
        .add_option(
            "--date", request->dates,
            "COLUMN=FORMAT, a column of dates whose day and month may stand in either order (repeatable)")
        .one_at_a_time();
    add_encoding_option(command, request->encoding);
    command.add_flag("--from-data", request->from_data,
                     "Ranges, categories and classes as they are in the records, for use at once: every "
                     "guarantee is then only 'as published'");
    return [request](const Context& context) { run(*request, context); };
}

}  // namespace holdfast
