#include <cmath>
#include <map>

#include "jobs/program/page/chart.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/study/report/sections.hpp"

namespace holdfast {
namespace {

using namespace html;

constexpr std::size_t most_bars = 110;

// Sums neighbouring distances until there are at most `most_bars`; the number of distances a bar is returned
// too.
std::pair<Distribution, double> binned(const Distribution& counts) {
    std::map<double, double> bars;
    for (std::size_t i = 0; i < counts.at.size(); ++i) {
        if (std::isfinite(counts.at[i])) bars[counts.at[i]] += counts.amount[i];
    }
    if (bars.empty()) return {{}, 1};
    const double range = bars.rbegin()->first - bars.begin()->first + 1;
    const double width = std::max(1.0, std::ceil(range / static_cast<double>(most_bars)));
    std::map<double, double> bins;
    for (const auto& [distance, amount] : bars) bins[width * std::floor(distance / width)] += amount;
    Distribution grouped;
    for (const auto& [bin, amount] : bins) grouped.at.push_back(bin), grouped.amount.push_back(amount);
    return {grouped, width};
}

std::string distance_chart(const std::string& title, const Distribution& counts, int colour, double width) {
    const auto [bars, bar_width] = binned(counts);
    if (bars.at.empty()) return "";
    const BarChart chart{.description = "Number of queries by stable distance, " + title,
                         .x = {.title = "stable distance h", .whole = true},
                         .y = {.title = "queries", .lowest = 0.0},
                         .at = bars.at,
                         .height_of = bars.amount,
                         .bar_width = bar_width,
                         .colour = colour,
                         .width = width,
                         .height = 260};
    return chart_card(title, draw(chart));
}

std::string distance_charts(const RunEvaluation& evaluation) {
    if (alone(evaluation)) return distance_chart("", evaluation.distance_single, 0, full_width);
    return distance_chart("One member, all members together", evaluation.distance_single, 0, half_width) +
           distance_chart("Ensemble", evaluation.distance_ensemble, 1, half_width);
}

}  // namespace

std::string certified_section(const RunEvaluation& evaluation) {
    if (evaluation.certified_single.at.empty() && evaluation.certified_ensemble.at.empty()) return "";
    LineChart chart{
        .description = "Fraction of queries whose label is certified, against the changed records k",
        .x = {.title = "changed records k", .whole = true},
        .y = {.title = "certified", .lowest = 0.0, .highest = 1.0, .percent = true},
        .steps = true,
        .width = full_width,
        .height = 320};
    const auto add = [&](const char* label, const Distribution& certified, int colour) {
        if (!certified.at.empty()) chart.series.push_back({label, certified.at, certified.amount, colour});
    };
    add(alone(evaluation) ? "the model" : "one member", evaluation.certified_single, 0);
    if (!alone(evaluation)) add("ensemble", evaluation.certified_ensemble, 1);
    return heading("Certified fraction",
                   "Share of the " + count_or_dash(evaluation.queries) +
                       " queries whose label no change of k training records can alter.") +
           chart_card("", draw(chart));
}

std::string loss_section(const RunEvaluation& evaluation) {
    const CertifiedLoss& losses = evaluation.certified_loss;
    if (losses.k.empty()) return "";
    const LineChart chart{
        .description =
            "Mean loss of the best, the nominal and the worst training, against the changed records k",
        .x = {.title = "changed records k", .whole = true},
        .y = {.title = losses.loss, .lowest = 0.0},
        .series = {{"best", losses.k, losses.best, 1},
                   {"nominal", losses.k, losses.nominal, 0},
                   {"worst", losses.k, losses.worst, 2}},
        .bands = {{losses.k, losses.best, losses.worst}},
        .steps = true,
        .width = full_width,
        .height = 320};
    return heading(
               "Certified loss",
               "Mean loss on the " + count_or_dash(evaluation.queries) +
                   " queries: with k training records changed as the run's relation has it, it stays in the "
                   "band.") +
           chart_card("", draw(chart));
}

std::string distance_section(const RunEvaluation& evaluation) {
    const std::string charts = distance_charts(evaluation);
    if (charts.empty()) return "";
    return heading("Stable distances",
                   "How many records must change before a label may. Distance 0: not certified. The last bar "
                   "holds "
                   "all queries at the cap: their distance is at least that.") +
           element("div class=\"halves\"", charts) + "\n";
}

}  // namespace holdfast
