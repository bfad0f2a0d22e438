// holdfast predict: what a published model answers. For whoever has the model and queries: no ledger, no
// cost.
//   holdfast predict --model model.h5 new.csv --out answers.csv
//   holdfast predict --model model.h5 --queries blobs.h5 --accuracy

#include <spdlog/logger.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "dist/data/read_table.hpp"
#include "dist/files/atomic_file.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/quality.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/schema_file.hpp"
#include "jobs/program/transport.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/text.hpp"
#include "models/certify/answers.hpp"
#include "models/nets/model_file.hpp"
#include "models/privacy/guarantee.hpp"

namespace holdfast {
namespace {

struct PredictRequest {
    std::string model, queries, schema, out = "-", answer = "row", backend = "auto", encoding = "utf-8";
    std::uint64_t first = 0;
    bool scores = false, accuracy = false;
};

/// Every rank answers its share of the queries; all have all answers.
Answers answers_of_all(const Context& context, const Model& model, const Records& queries,
                       const std::string& backend) {
    const auto [first, last] = share_of(context.world, queries.size());
    const Records mine = model.feature_map()(part_of(queries, first, last));
    const int device = choose_device(backend, context.world);
    const auto computing =
        make_backend(backend_for(model.network.shape(), backend), model.precision, Product::exact, device);
    const Answers answers = answers_of(model.network, *computing, model.parameters, mine);
    return {gathered(context.world, answers.labels), gathered(context.world, answers.logits)};
}

/// A number a line.
std::string lines_of(const std::vector<double>& numbers) {
    std::string text;
    for (const double number : numbers) text += printed("%.17g\n", number);
    return text;
}

/// A label a line; with scores a table: label, logit_0, logit_1, …
std::string lines_of(const Answers& answers, std::size_t outputs, bool scores) {
    std::string text;
    if (scores) {
        text = "label";
        for (std::size_t c = 0; c < outputs; ++c) text += ",logit_" + std::to_string(c);
        text += "\n";
    }
    for (std::size_t q = 0; q < answers.labels.size(); ++q) {
        text += std::to_string(answers.labels[q]);
        for (std::size_t c = 0; scores && c < outputs; ++c)
            text += printed(",%.17g", answers.logits[q * outputs + c]);
        text += "\n";
    }
    return text;
}

bool is_number(const std::string& text) {
    double value = 0;
    const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

/// As RFC 4180 wants a cell. A text that a spreadsheet would run as a formula begins with an apostrophe:
/// names of classes come with the model, from whoever made it.
std::string cell_of(const std::string& name) {
    const bool runs = !name.empty() && std::string("=+-@\t\r").find(name[0]) != std::string::npos;
    const std::string text = runs && !is_number(name) ? "'" + name : name;
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
    return quoted + "\"";
}

/// Who was asked about, the answer by its name, and how probable each class is.
std::string table_of(const Model& model, const std::optional<Schema>& schema, const Questions& queries,
                     const Answers& answers, const std::vector<double>& probabilities) {
    const std::vector<std::string> classes = schema ? schema->classes : std::vector<std::string>();
    const auto name_of_class = [&](std::size_t c) {
        return c < classes.size() ? classes[c] : std::to_string(c);
    };
    std::string text = queries.has_ids         ? (schema ? cell_of(schema->id) : "id")
                       : queries.names.empty() ? "row"
                                               : "line";
    const bool numbers = model.network.is_regression();
    const std::size_t number_of_classes = model.network.classes();
    text += numbers ? ",prediction" : ",class";
    for (std::size_t c = 0; !probabilities.empty() && c < number_of_classes; ++c)
        text += "," + cell_of("probability of " + name_of_class(c));
    text += "\n";
    for (std::size_t q = 0; q < queries.size(); ++q) {
        text += queries.names.empty() ? std::to_string(q) : cell_of(queries.names[q]);
        if (numbers) {
            text += printed(",%.10g", in_units(answers.logits[q], schema));
        } else {
            text += "," + cell_of(name_of_class(static_cast<std::size_t>(answers.labels[q])));
        }
        for (std::size_t c = 0; !probabilities.empty() && c < number_of_classes; ++c)
            text += printed(",%.6f", probabilities[q * number_of_classes + c]);
        text += "\n";
    }
    return text;
}

nlohmann::json logits_of(const Answers& answers, std::size_t outputs) {
    nlohmann::json rows = nlohmann::json::array();
    for (auto row = answers.logits.begin(); row != answers.logits.end();
         row += static_cast<std::ptrdiff_t>(outputs))
        rows.push_back(std::vector<double>(row, row + static_cast<std::ptrdiff_t>(outputs)));
    return rows;
}

/// How good the answers are of rows whose label is a class. `unlabelled`: the others.
Quality quality_of_labelled(const Model& model, const Answers& answers, std::span<const std::int32_t> labels,
                            const std::vector<double>& probabilities, std::span<const std::uint64_t> ids,
                            std::uint64_t& unlabelled, const std::string& name) {
    const std::size_t classes = model.network.classes();
    std::vector<std::int32_t> given, known;
    std::vector<double> of_known;
    std::vector<std::uint64_t> whose;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= classes) continue;
        given.push_back(answers.labels[i]);
        known.push_back(labels[i]);
        whose.push_back(ids[i]);
        for (std::size_t c = 0; !probabilities.empty() && c < classes; ++c)
            of_known.push_back(probabilities[i * classes + c]);
    }
    unlabelled = labels.size() - known.size();
    if (known.empty())
        throw Error(ExitCode::input,
                    "no accuracy: none of its " + std::to_string(labels.size()) +
                        " rows has a label that the model knows",
                    "leave --accuracy out: predictions need no labels", name);
    return quality_of(given, known, classes, of_known, whose);
}

void predict(const Context& context, const PredictRequest& request) {
    // 1. The model, and queries that fit it.
    const auto [model, digest] = read_model(request.model);
    const std::optional<Schema> schema = model_schema(model, request.schema);
    const Questions named = read_questions(context, {model.feature_map(), schema, request.encoding},
                                           request.queries, request.answer, request.first);
    const bool votes = named.unit == AnswerUnit::vote;
    if (votes && (request.scores || model.network.is_regression()))
        throw Error(ExitCode::usage, "votes have no scores, and no numbers are voted for",
                    "give --answer mean", "--answer");
    const Records queries = named.unit == AnswerUnit::row ? named.rows : named.answered();
    const bool table =
        !request.scores && (is_table(request.queries) || (schema && request.out.ends_with(".csv")));
    if (request.accuracy && !model.network.is_regression() && named.some_labels.empty())
        require_labels(queries, model.network.classes(), request.queries);

    // 2. What it answers.
    const Answers answers = answers_of_persons(
        named.unit, model.network, answers_of_all(context, model, named.rows, request.backend), named.starts);
    const std::vector<double> probabilities =
        model.network.is_regression() ? std::vector<double>()
        : votes                       ? answers.logits
                : probabilities_of(model.network.loss(), answers.logits, model.network.outputs());

    // 3. The accuracy, or every answer; beside it, for whom the model is private.
    context.log->info(Guarantee::lines_of(
        model.guarantee, "model " + digest.substr(0, 16) + " (training: " + model.kind + "): "));
    nlohmann::json object = {
        {"model", digest}, {"kind", model.kind}, {"guarantee", model.guarantee}, {"cost", model.cost}};
    for (const auto& [column, cells] : named.other_cells)
        object["other_cells"][column] = {{"missing", cells.missing}, {"other", cells.other}};
    std::string text;
    if (request.accuracy && model.network.is_regression()) {
        const NumericQuality quality = quality_of(
            answers.logits, require_targets(queries, default_feature_range, request.queries), queries.ids);
        object.update(to_json(quality));
        object["queries"] = queries.size();
        text = text_of(quality, in_units(1, schema) - in_units(0, schema));
    } else if (table && !request.accuracy) {
        object["labels"] = answers.labels;
        object["names"] = named.names;
        if (schema) object["classes"] = schema->classes;
        text = table_of(model, schema, named, answers, probabilities);
    } else if (model.network.is_regression()) {
        object["predictions"] = answers.logits;
        text = lines_of(answers.logits);
    } else if (request.accuracy) {
        std::uint64_t unlabelled = 0;
        const Quality quality = quality_of_labelled(
            model, answers, named.some_labels.empty() ? queries.labels : named.some_labels, probabilities,
            queries.ids, unlabelled, request.queries);
        object.update(to_json(quality));
        object["queries"] = queries.size();
        if (unlabelled > 0) object["unlabelled"] = unlabelled;
        text = text_of(quality, schema ? schema->classes : std::vector<std::string>());
    } else {
        const std::size_t outputs = model.network.outputs();
        object["labels"] = answers.labels;
        if (request.scores) object["logits"] = logits_of(answers, outputs);
        text = lines_of(answers, outputs, request.scores);
    }
    if (request.out == "-") return context.print(object, text);
    if (context.world.is_root())
        write_file_atomically(request.out, std::string_view(context.json ? object.dump() + "\n" : text));
}

}  // namespace

Run declare_predict(const Command& command) {
    auto request = std::make_shared<PredictRequest>();
    command.add_option("--model", request->model, "Model file of holdfast publish or tools/python")
        .required();
    command.add_option("queries,--queries", request->queries, queries_help).required();
    command.add_option(
        "--schema", request->schema,
        "What the table's columns are, where the model does not tell as it was found in private records: the "
        "owner's dataset (.h5), or the file that it was imported by");
    command
        .add_output(
            "--out", request->out, OutputKind::table,
            "Where the answers go, for its owner alone; -: stdout. Of a table, or where it is a .csv: "
            "id, class by its name, probability of each")
        .show_default();
    command.add_flag("--scores", request->scores, "Beside each label the logits: label,logit_0,...");
    command.add_flag(
        "--accuracy", request->accuracy,
        "Instead of the answers, how many are the queries' labels; of a regression, whose answers are "
        "numbers, the mean squared error");
    add_answer_option(command, request->answer);
    add_encoding_option(command, request->encoding);
    command.add_option("--first", request->first, "Only the first so many queries; 0: all");
    command
        .add_option("--backend", request->backend, "auto | cpu | cuda | reference: no answer depends on it")
        .show_default();
    return [request](const Context& context) { predict(context, *request); };
}

}  // namespace holdfast
