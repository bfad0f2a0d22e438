#include "jobs/study/explain/page.hpp"

#include <algorithm>
#include <cmath>

#include "jobs/program/page/chart.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

using namespace html;

std::string title_of(const Shape& shape) {
    return escape_html(shape.name + (shape.unit.empty() ? "" : ", " + shape.unit));
}

std::string number_chart(const Shapes& shapes, const Shape& shape) {
    LineChart chart{.description = "What " + shape.name + " adds",
                    .x = {.title = shape.unit.empty() ? shape.name : shape.name + ", " + shape.unit},
                    .y = {.title = "adds"},
                    .width = half_width,
                    .height = 240};
    for (std::size_t o = 0; o < shapes.outputs.size(); ++o)
        chart.series.push_back({.label = shapes.outputs.size() > 1 ? shapes.outputs[o] : "",
                                .x = shape.at,
                                .y = shape.adds[o],
                                .colour = static_cast<int>(o % series_colours)});
    return draw(chart);
}

/// A value a line, its bars to the left of the middle where they are below 0.
std::string value_table(const Shapes& shapes, const Shape& shape) {
    constexpr double half = 80;
    double most = 1e-300;
    for (const std::vector<double>& of_output : shape.adds) {
        for (const double value : of_output) most = std::max(most, std::abs(value));
    }
    std::string rows = element("th", "value");
    for (const std::string& output : shapes.outputs) rows += element("th colspan=\"2\"", escape_html(output));
    rows = element("tr", rows);
    for (std::size_t place = 0; place < shape.places(); ++place) {
        const std::string& value = shape.values[place];
        std::string row = element("td", value.empty() ? "(missing)" : escape_html(value));
        for (std::size_t o = 0; o < shapes.outputs.size(); ++o) {
            const double adds = shape.adds[o][place], length = half * std::abs(adds) / most;
            row += element("td", number_text(adds)) +
                   element("td",
                           element("svg viewBox=\"0 0 160 12\" style=\"width:160px\" aria-hidden=\"true\"",
                                   "<rect class=\"bar s" + std::to_string(o % series_colours) + "\" x=\"" +
                                       number_text(adds < 0 ? half - length : half) +
                                       "\" y=\"1\" height=\"10\" width=\"" + number_text(length) + "\"/>"));
        }
        rows += element("tr", row);
    }
    return element("div class=\"wide\"", element("table", rows));
}

}  // namespace

std::string shapes_page(const Shapes& shapes, const std::string& model, const std::string& guarantee) {
    const std::string outputs = joined(shapes.outputs);
    std::string cards;
    for (const Shape& shape : shapes.columns)
        cards += chart_card(title_of(shape),
                            shape.is_number() ? number_chart(shapes, shape) : value_table(shapes, shape));
    const std::string lead =
        "The model " + code(model) +
        " adds up what its columns say, and nothing else but one constant. Each picture is what "
        "one of them adds to the " +
        escape_html(outputs) +
        ", beside its own mean over what is shown; the column that can change most comes first." +
        (shapes.limited ? std::string(" ") + limited_rows : "") +
        (shapes.unbounded ? std::string(" ") + unbounded_columns : "");
    return page(
        "Holdfast: what " + model + " says",
        element("h1", "What each column says") + element("p", lead) + element("div class=\"halves\"", cards) +
            heading("What it cost those it was learnt from", "") + element("p", escape_html(guarantee)));
}

}  // namespace holdfast
