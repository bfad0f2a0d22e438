#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "jobs/program/page/chart.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"
#include "jobs/study/report/sections.hpp"

namespace holdfast {
namespace {

using namespace html;

constexpr std::size_t most_members = 12, most_points = 240;

struct MemberCurve {
    std::vector<TrainingRow> rows;
    double level =
        -std::numeric_limits<double>::infinity();  ///< the largest level in the file: its rows are drawn
};

std::map<double, MemberCurve> member_curves(const std::vector<TrainingRow>& training) {
    std::map<double, MemberCurve> curves;
    for (const TrainingRow& row : training) {
        MemberCurve& curve = curves[std::isfinite(row.member) ? row.member : 0];
        if (row.level > curve.level) curve.level = row.level, curve.rows.clear();
        if (!(row.level < curve.level)) curve.rows.push_back(row);
    }
    return curves;
}

// One row for each of at most `most_points` stretches: the last nominal value, the widest bounds.
std::vector<TrainingRow> thinned(const std::vector<TrainingRow>& rows) {
    const std::size_t stretch = (rows.size() + most_points - 1) / most_points;
    std::vector<TrainingRow> thin;
    for (std::size_t first = 0; first < rows.size(); first += stretch) {
        const std::size_t end = std::min(first + stretch, rows.size());
        TrainingRow row = rows[end - 1];
        for (std::size_t i = first; i < end; ++i) {
            row.accuracy_lower = std::fmin(row.accuracy_lower, rows[i].accuracy_lower);
            row.accuracy_upper = std::fmax(row.accuracy_upper, rows[i].accuracy_upper);
        }
        thin.push_back(row);
    }
    return thin;
}

std::vector<double> column(const std::vector<TrainingRow>& rows, double TrainingRow::*field) {
    std::vector<double> values;
    values.reserve(rows.size());
    for (const TrainingRow& row : rows) values.push_back(row.*field);
    return values;
}

bool has_accuracy(const MemberCurve& curve) {
    return std::any_of(curve.rows.begin(), curve.rows.end(),
                       [](const TrainingRow& row) { return std::isfinite(row.accuracy); });
}

std::string accuracy_chart(double member, const MemberCurve& curve) {
    const std::vector<TrainingRow> rows = thinned(curve.rows);
    const std::vector<double> steps = column(rows, &TrainingRow::step);
    LineChart chart{.description = "Training accuracy of member " + number_text(member) + " with its bounds",
                    .x = {.title = "step", .whole = true},
                    .y = {.title = "accuracy", .lowest = 0.0, .highest = 1.0, .percent = true},
                    .series = {{.x = steps, .y = column(rows, &TrainingRow::accuracy)}},
                    .bands = {{steps, column(rows, &TrainingRow::accuracy_lower),
                               column(rows, &TrainingRow::accuracy_upper)}},
                    .width = third_width,
                    .height = 210};
    chart.series[0].dots = rows.size() <= 24;
    const std::string level = curve.level > 0 ? ", bounds at k = " + number_text(curve.level) : "";
    return chart_card("Member " + number_text(member) + level, draw(chart));
}

std::string width_chart(const std::map<double, MemberCurve>& curves) {
    LineChart chart{.description = "Width of the parameters' intervals during training",
                    .x = {.title = "step", .whole = true},
                    .y = {.title = "width", .logarithmic = true},
                    .width = full_width,
                    .height = 260};
    const auto add = [&](const std::vector<TrainingRow>& rows, double TrainingRow::*field, int colour,
                         const std::string& label) {
        chart.series.push_back({.label = label,
                                .x = column(rows, &TrainingRow::step),
                                .y = column(rows, field),
                                .colour = colour});
    };
    bool first = true;  // one label for all lines of a kind
    for (const auto& [member, curve] : curves) {
        const std::vector<TrainingRow> rows = thinned(curve.rows);
        add(rows, &TrainingRow::width_max, 1, first ? "widest" : "");
        add(rows, &TrainingRow::width_mean, 0, first ? "mean" : "");
        first = false;
    }
    return chart_card("Width of the parameters' intervals, all members", draw(chart));
}

/// A number for each layer, at every step.
struct LayerFigure {
    const char *title, *description;
    std::vector<double> TrainingRow::*field;
    Axis y;
};

/// A line a layer, of every member; empty where no row has the figure.
std::string layer_chart(const std::map<double, MemberCurve>& curves, const LayerFigure& figure) {
    LineChart chart{.description = figure.description,
                    .x = {.title = "step", .whole = true},
                    .y = figure.y,
                    .width = third_width,
                    .height = 240};
    std::size_t labelled = 0;
    for (const auto& [member, curve] : curves) {
        const std::vector<TrainingRow> rows = thinned(curve.rows);
        const std::size_t layers = rows.empty() ? 0 : (rows.back().*figure.field).size();
        for (std::size_t l = 0; l < layers; ++l) {
            Series line{.x = column(rows, &TrainingRow::step),
                        .colour = static_cast<int>(l % series_colours)};
            if (l == labelled) line.label = "layer " + std::to_string(++labelled);
            for (const TrainingRow& row : rows) {
                const std::vector<double>& values = row.*figure.field;
                line.y.push_back(l < values.size() ? values[l] : std::numeric_limits<double>::quiet_NaN());
            }
            chart.series.push_back(std::move(line));
        }
    }
    return chart.series.empty() ? "" : chart_card(figure.title, draw(chart));
}

std::string layer_charts(const std::map<double, MemberCurve>& curves) {
    const Axis share{.title = "share", .lowest = 0.0, .highest = 1.0, .percent = true};
    const LayerFigure figures[] = {
        {"Mean width by layer",
         "Mean width of the parameters' intervals by layer",
         &TrainingRow::layer_width_mean,
         {.title = "width", .logarithmic = true}},
        {"Activations that may change sign", "Share of activations that may change sign by layer",
         &TrainingRow::undecided, share},
        {"Share of charge in the width", "Share of the width that is charged for changed records by layer",
         &TrainingRow::charge_share, share}};
    std::string charts;
    for (const LayerFigure& figure : figures) charts += layer_chart(curves, figure);
    if (charts.empty()) return "";
    return element("p class=\"note\"",
                   "Where the boxes grow, all members. An activation may change sign where some of the box "
                   "has it at 0 and some above. What of the width is not charged for changed records is the "
                   "spread of bounds over the box, which feeds on itself.") +
           "\n" + element("div class=\"thirds\"", charts) + "\n";
}

}  // namespace

std::string training_section(const std::vector<TrainingRow>& training, bool boxes) {
    if (training.empty()) return "";
    const std::map<double, MemberCurve> curves = member_curves(training);
    std::string charts;
    std::size_t drawn = 0;
    for (const auto& [member, curve] : curves) {
        if (!has_accuracy(curve)) continue;  // a regression
        if (++drawn <= most_members) charts += accuracy_chart(member, curve);
    }
    std::string section =
        heading("Training",
                drawn == 0 ? "How the boxes grew, of one regression."
                : boxes    ? "Line: nominal accuracy on the batch. Band: what it could have been for any "
                             "dataset within k changed records."
                           : "Accuracy on the records of each step.") +
        element("div class=\"thirds\"", charts) + "\n";
    if (curves.size() > most_members) {
        section += element("p class=\"note\"", "The first " + std::to_string(most_members) + " of " +
                                                   std::to_string(curves.size()) + " members.");
    }
    return boxes ? section + width_chart(curves) + layer_charts(curves) : section;
}

}  // namespace holdfast
