#include <algorithm>
#include <cmath>
#include <map>

#include "jobs/program/page/chart.hpp"
#include "jobs/program/page/guarantee_card.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"
#include "jobs/study/report/sections.hpp"

namespace holdfast {
namespace {

using namespace html;

constexpr int compared_colour = 9;  // grey: what the mechanisms are compared with

// The best among what is proved, for each epsilon of one setting; only the proved may be compared as private.
double best_accuracy(const RunEvaluation& evaluation, const std::string& setting, std::size_t epsilon) {
    double best = -1;
    for (const PrivateAccuracy& row : evaluation.private_accuracy) {
        if (row.setting == setting && row.guarantee.proved() && row.accuracy[epsilon] > best) {
            best = row.accuracy[epsilon];
        }
    }
    return best;
}

bool is_best(const RunEvaluation& evaluation, const PrivateAccuracy& row, std::size_t epsilon) {
    return row.guarantee.proved() && percent_text(row.accuracy[epsilon]) ==
                                         percent_text(best_accuracy(evaluation, row.setting, epsilon));
}

// At each epsilon of each setting the first of the best, as far as the digits show: these have names and
// colours, the same in every chart.
std::map<std::string, int> leading_colours(const RunEvaluation& evaluation) {
    std::map<std::string, int> colours;
    for (const char* setting : {"single", "ensemble"}) {
        for (std::size_t i = 0; i < evaluation.epsilons.size(); ++i) {
            const auto& rows = evaluation.private_accuracy;
            const auto best = std::find_if(rows.begin(), rows.end(), [&](const PrivateAccuracy& row) {
                return row.setting == setting && is_best(evaluation, row, i);
            });
            if (best != rows.end() && static_cast<int>(colours.size()) < compared_colour)
                colours.try_emplace(mechanism_name(*best), static_cast<int>(colours.size()));
        }
    }
    return colours;
}

double lowest_accuracy(const RunEvaluation& evaluation) {
    double lowest = 1;
    for (const PrivateAccuracy& row : evaluation.private_accuracy) {
        for (const double accuracy : row.accuracy)
            lowest = std::isfinite(accuracy) ? std::min(lowest, accuracy) : lowest;
    }
    return std::clamp(std::floor(10 * lowest - 1e-9) / 10, 0.0, 0.9);
}

std::string privacy_chart(const RunEvaluation& evaluation, const std::string& setting, double nominal,
                          double width) {
    const std::map<std::string, int> colours = leading_colours(evaluation);
    LineChart chart{
        .description = "Expected accuracy against epsilon, " + setting,
        .x = {.title = "epsilon per query", .ticks = evaluation.epsilons, .logarithmic = true},
        .y = {.title = "accuracy", .lowest = lowest_accuracy(evaluation), .highest = 1.0, .percent = true},
        .width = width,
        .height = 340};
    if (std::isfinite(nominal)) {
        chart.series.push_back({.label = "no privacy",
                                .x = evaluation.epsilons,
                                .y = std::vector<double>(evaluation.epsilons.size(), nominal),
                                .colour = compared_colour});
    }
    for (const PrivateAccuracy& row : evaluation.private_accuracy) {
        if (row.setting != setting) continue;
        const auto colour = colours.find(mechanism_name(row));
        const bool leads = colour != colours.end();
        chart.series.push_back({.label = leads ? mechanism_name(row) : "",
                                .x = evaluation.epsilons,
                                .y = row.accuracy,
                                .colour = leads ? colour->second : compared_colour,
                                .dashed = !row.guarantee.proved(),
                                .dots = leads});
    }
    return draw(chart);
}

bool has_setting(const RunEvaluation& evaluation, const std::string& setting) {
    return std::any_of(evaluation.private_accuracy.begin(), evaluation.private_accuracy.end(),
                       [&](const PrivateAccuracy& row) { return row.setting == setting; });
}

std::string answerer(const RunEvaluation& evaluation, const std::string& setting) {
    if (alone(evaluation)) return "the model";
    return setting == "single" ? "one member" : setting;
}

std::string privacy_row(const RunEvaluation& evaluation, const PrivateAccuracy& row) {
    std::string cells = element("td class=\"key\"", escape_html(mechanism_name(row))) +
                        element("td", escape_html(answerer(evaluation, row.setting)));
    for (std::size_t i = 0; i < row.accuracy.size(); ++i) {
        const bool best = is_best(evaluation, row, i);
        cells +=
            element(best ? "td class=\"figure best\"" : "td class=\"figure\"", percent_text(row.accuracy[i]));
    }
    return element("tr", cells + element("td class=\"figure\"", badge(row.guarantee))) + "\n";
}

std::vector<std::string> settings_shown(const RunEvaluation& evaluation) {
    std::vector<std::string> settings;
    for (const char* setting : {"single", "ensemble"}) {
        if (has_setting(evaluation, setting)) settings.emplace_back(setting);
    }
    if (alone(evaluation) && settings.size() == 2) return {"ensemble"};  // which has every mechanism
    return settings;
}

std::string mechanism_table(const RunEvaluation& evaluation, bool leading) {
    const std::map<std::string, int> colours = leading_colours(evaluation);
    std::string rows;
    for (const std::string& setting : settings_shown(evaluation)) {
        for (const PrivateAccuracy& row : evaluation.private_accuracy) {
            if (row.setting == setting && colours.contains(mechanism_name(row)) == leading)
                rows += privacy_row(evaluation, row);
        }
    }
    if (rows.empty()) return "";
    std::string head = element("th", "mechanism") + element("th", "answers by");
    for (const double epsilon : evaluation.epsilons) {
        head += element("th class=\"figure\"", "ε = " + number_text(epsilon));
    }
    head += element("th class=\"figure\"", "guarantee");
    return table_card(element("tr", head) + "\n" + rows);
}

/// Those that are nowhere the first are folded away.
std::string privacy_table(const RunEvaluation& evaluation) {
    const std::string others = mechanism_table(evaluation, false);
    return mechanism_table(evaluation, true) +
           (others.empty() ? "" : element("details", element("summary", "The other mechanisms") + others));
}

std::string privacy_card(const RunEvaluation& evaluation, const std::string& setting, double width) {
    const bool single = setting == "single";
    const double nominal = single ? evaluation.accuracy_single : evaluation.accuracy_ensemble;
    const char* title = single ? "One member, mean over members" : "Ensemble";
    return chart_card(alone(evaluation) ? "" : title, privacy_chart(evaluation, setting, nominal, width));
}

}  // namespace

std::string mechanism_name(const PrivateAccuracy& row) {
    return row.mechanism + (row.delta > 0 ? " δ=" + number_text(row.delta) : "");
}

std::string privacy_section(const RunEvaluation& evaluation) {
    const std::vector<std::string> settings = settings_shown(evaluation);
    if (settings.empty() || evaluation.epsilons.empty()) return "";
    std::string charts;
    for (const std::string& setting : settings) {
        charts += privacy_card(evaluation, setting, settings.size() == 1 ? full_width : half_width);
    }
    return heading(
               "Accuracy against epsilon",
               "Expected accuracy of released labels, for each mechanism, at the privacy cost of one query. "
               "Grey: mechanisms that are nowhere the first; dashed: not proved.") +
           element("div class=\"halves\"", charts) + "\n" + privacy_table(evaluation) +
           element("p class=\"note\"", "Bold: best of the proved mechanisms, as far as the digits show.");
}

}  // namespace holdfast
