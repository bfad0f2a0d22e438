// holdfast explain: what each column of a table adds to the answers of a published model that adds columns
// up. For whoever has the model: no ledger, no cost.
//   holdfast explain --model model.h5 --out model.html

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "dist/files/atomic_file.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/page/text.hpp"
#include "jobs/program/schema_file.hpp"
#include "jobs/study/explain/page.hpp"
#include "kernels/base/text.hpp"
#include "models/privacy/guarantee.hpp"

namespace holdfast {
namespace {

struct ExplainRequest {
    std::string model, schema, out;
};

nlohmann::json json_of(const Shapes& shapes) {
    nlohmann::json columns = nlohmann::json::array();
    for (const Shape& shape : shapes.columns) {
        nlohmann::json column = {{"name", shape.name}, {"span", shape.span()}, {"adds", shape.adds}};
        if (shape.is_number())
            column["at"] = shape.at;
        else
            column["values"] = shape.values;
        if (!shape.unit.empty()) column["unit"] = shape.unit;
        columns.push_back(column);
    }
    return {{"outputs", shapes.outputs}, {"columns", columns}, {"limited", shapes.limited}};
}

/// Where a column adds `most`, of the last output.
std::string place_of(const Shape& shape, bool most) {
    const std::vector<double>& adds = shape.adds.back();
    const auto found =
        most ? std::max_element(adds.begin(), adds.end()) : std::min_element(adds.begin(), adds.end());
    if (found == adds.end()) return "";
    const auto place = static_cast<std::size_t>(found - adds.begin());
    const std::string where = shape.is_number() ? number_text(shape.at[place]) : shape.values[place];
    return printed("%+.3f at ", *found) + (where.empty() ? "(missing)" : where);
}

std::string text_of(const Shapes& shapes) {
    constexpr std::size_t most_lines = 20;
    std::string text = "what each column adds to the " + shapes.outputs.back() + ", most first\n";
    for (std::size_t i = 0; i < std::min(shapes.columns.size(), most_lines); ++i) {
        const Shape& shape = shapes.columns[i];
        text += printed("%-24.24s %-28.28s %-28.28s\n", shape.name.c_str(), place_of(shape, false).c_str(),
                        place_of(shape, true).c_str());
    }
    if (shapes.columns.size() > most_lines)
        text += "and " + std::to_string(shapes.columns.size() - most_lines) + " columns that change less\n";
    if (shapes.limited) text.append(limited_rows).append("\n");
    if (shapes.unbounded) text.append(unbounded_columns).append("\n");
    return text;
}

void explain(const ExplainRequest& request, const Context& context) {
    if (!context.world.is_root()) return;
    // 1. The model, and how its table is read.
    const auto [model, digest] = read_model(request.model);
    const Shapes shapes = shapes_of(model, model_schema(model, request.schema));

    // 2. A picture a column, and the table of them.
    if (!request.out.empty())
        write_file_atomically(request.out, std::string_view(shapes_page(
                                               shapes, request.model, Guarantee::text_of(model.guarantee))));
    nlohmann::json object = json_of(shapes);
    object["model"] = digest;
    object["guarantee"] = model.guarantee;
    context.print(object, text_of(shapes) + (request.out.empty() ? "" : "pictures: " + request.out + "\n") +
                              Guarantee::lines_of(model.guarantee) + "\n");
}

}  // namespace

Run declare_explain(const Command& command) {
    auto request = std::make_shared<ExplainRequest>();
    command
        .add_option(
            "--model", request->model,
            "Model file of holdfast publish, without hidden layers, of features as they are or in bins")
        .required();
    command.add_option(
        "--schema", request->schema,
        "Dataset, model or TOML file whose schema names the columns, where the model's own may not");
    command.add_output("--out", request->out, OutputKind::page, "HTML page to write: a picture a column");
    return [request](const Context& context) { explain(*request, context); };
}

}  // namespace holdfast
