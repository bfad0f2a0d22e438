#include <algorithm>
#include <cmath>
#include <numeric>

#include "jobs/program/page/chart.hpp"
#include "jobs/program/page/guarantee_card.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"
#include "jobs/study/report/sections.hpp"

namespace holdfast {
namespace {

using namespace html;

constexpr int reference_colour = 9;  // grey: no privacy, and routes that are nowhere the best

/// NaN counts as no answer.
double value_of(double accuracy) {
    return std::isfinite(accuracy) ? accuracy : 0.0;
}

double sum_of(const BudgetRoute& route) {
    return std::accumulate(route.accuracy.begin(), route.accuracy.end(), 0.0,
                           [](double sum, double accuracy) { return sum + value_of(accuracy); });
}

/// Of each route the better of its settings, over all numbers of answers; in the order of the file.
std::vector<BudgetRoute> better_settings(const BudgetFigures& budget) {
    std::vector<BudgetRoute> routes;
    for (const BudgetRoute& row : budget.routes) {
        const auto same = std::find_if(routes.begin(), routes.end(),
                                       [&](const BudgetRoute& other) { return other.route == row.route; });
        if (same == routes.end()) {
            routes.push_back(row);
        } else if (sum_of(row) > sum_of(*same)) {
            *same = row;
        }
    }
    return routes;
}

double best_at(const std::vector<BudgetRoute>& routes, std::size_t i) {
    double best = 0;
    for (const BudgetRoute& route : routes) best = std::max(best, value_of(route.accuracy[i]));
    return best;
}

/// Named are answers as a whole, and at each number of answers the first of the best, to the digits that
/// tables have.
bool named(const std::vector<BudgetRoute>& routes, const BudgetRoute& route) {
    for (const char* whole : {"session", "batch", "published", "noisy"}) {
        if (route.route == whole) return true;
    }
    for (std::size_t i = 0; i < route.accuracy.size(); ++i) {
        const auto first = std::find_if(routes.begin(), routes.end(), [&](const BudgetRoute& other) {
            return percent_text(other.accuracy[i]) == percent_text(best_at(routes, i));
        });
        if (first->route == route.route) return true;
    }
    return false;
}

std::string answers_chart(const RunEvaluation& evaluation, const std::vector<BudgetRoute>& routes) {
    const BudgetFigures& budget = *evaluation.budget;
    LineChart chart{.description = "Expected accuracy against the number of answers, at one total budget",
                    .x = {.title = "answers", .ticks = budget.answers, .logarithmic = true, .whole = true},
                    .y = {.title = "accuracy", .lowest = 0.0, .highest = 1.0, .percent = true},
                    .width = full_width,
                    .height = 380};
    const double nominal =
        std::max(value_of(evaluation.accuracy_single), value_of(evaluation.accuracy_ensemble));
    if (nominal > 0)
        chart.series.push_back({.label = "no privacy",
                                .x = budget.answers,
                                .y = std::vector<double>(budget.answers.size(), nominal),
                                .colour = reference_colour,
                                .dashed = true});
    int colour = 0;
    for (const BudgetRoute& route : routes) {
        const bool shown = named(routes, route);
        chart.series.push_back({.label = shown ? route.route : "",
                                .x = budget.answers,
                                .y = route.accuracy,
                                .colour = shown ? colour++ % reference_colour : reference_colour,
                                .dots = shown});
    }
    return draw(chart);
}

std::string route_table(const BudgetFigures& budget, const std::vector<BudgetRoute>& routes, bool leading) {
    std::string rows;
    for (const BudgetRoute& route : routes) {
        if (named(routes, route) != leading) continue;
        std::string cells =
            element("td class=\"key\"", escape_html(route.route)) + element("td", escape_html(route.setting));
        for (std::size_t i = 0; i < route.accuracy.size(); ++i) {
            const std::string shown = percent_text(route.accuracy[i]);
            const bool best = shown == percent_text(best_at(routes, i));
            cells += element(best ? "td class=\"figure best\"" : "td class=\"figure\"", shown);
        }
        rows += element("tr", cells + element("td class=\"figure\"", badge(route.guarantee))) + "\n";
    }
    if (rows.empty()) return "";
    std::string head = element("th", "route") + element("th", "answers by");
    for (const double answers : budget.answers)
        head += element("th class=\"figure\"", count_or_dash(answers));
    head += element("th class=\"figure\"", "guarantee");
    return table_card(element("tr", head) + "\n" + rows);
}

std::string budget_table(const BudgetFigures& budget, const std::vector<BudgetRoute>& routes) {
    const std::string others = route_table(budget, routes, false);
    return route_table(budget, routes, true) +
           (others.empty() ? "" : element("details", element("summary", "The other routes") + others));
}

}  // namespace

std::string budget_section(const RunEvaluation& evaluation) {
    if (!evaluation.budget || evaluation.budget->answers.empty()) return "";
    const BudgetFigures& budget = *evaluation.budget;
    const std::string total = "ε = " + number_text(budget.epsilon) + ", δ = " + number_text(budget.delta);
    const std::vector<BudgetRoute> routes = better_settings(budget);
    const std::string lead = "Expected accuracy of so many answers where all of them together may cost " +
                             total +
                             ", by each route with its best composition. Refused answers count as wrong.";
    if (routes.empty())
        return heading("Accuracy against the number of answers", lead) +
               element("p class=\"note\"", escape_html("No route: " + budget.refused));
    return heading("Accuracy against the number of answers", lead) +
           chart_card("", answers_chart(evaluation, routes)) + budget_table(budget, routes) +
           element(
               "p class=\"note\"",
               "Bold: the best, as far as the digits show; grey lines: mechanisms that are nowhere the best. "
               "Of each route the better of one member and the ensemble. These figures depend on the "
               "records: "
               "a route chosen by them is chosen outside the guarantee.");
}

}  // namespace holdfast
