#include <algorithm>
#include <cmath>

#include "jobs/program/page/chart.hpp"
#include "jobs/program/page/guarantee_card.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"
#include "jobs/study/report/sections.hpp"

namespace holdfast {
namespace {

using namespace html;

constexpr std::size_t most_named = 20, points_of_a_curve = 300;

std::string cells(const std::vector<std::string>& texts) {
    std::string row;
    for (std::size_t i = 0; i < texts.size(); ++i)
        row += element(i == 0 ? "td class=\"key\"" : "td class=\"figure\"", texts[i]);
    return element("tr", row) + "\n";
}

std::string heads(const std::vector<std::string>& texts) {
    std::string row;
    for (std::size_t i = 0; i < texts.size(); ++i)
        row += element(i == 0 ? "th" : "th class=\"figure\"", texts[i]);
    return element("tr", row) + "\n";
}

std::string to_be_run(const std::string& title, const std::string& what, const std::string& command) {
    return heading(title, "") +
           element("div class=\"card\"", element("p", element("b", "Not computed yet.") + " " + what) +
                                             element("p", code(command))) +
           "\n";
}

std::string agreement(const RunFiles& run) {
    if (!run.evaluation || run.evaluation->rules.empty())
        return to_be_run("Answers that no record decides", "How often all networks agree comes from",
                         "holdfast evaluate --run " + run.folder + " --data FILE:test");
    const RunEvaluation& found = *run.evaluation;
    std::string rows = heads({"told by", "all networks agree", "and are right", "all others at random"});
    for (const FleetRule& rule : found.rules)
        rows += cells({rule.rule == "vote" ? "asking every network" : "the bound",
                       percent_text(rule.answered), percent_text(rule.right), percent_text(rule.accuracy)});
    std::string text = heading("Answers that no record decides",
                               "Share of the " + count_or_dash(found.queries) +
                                   " queries that every network answers alike, and the accuracy where only "
                                   "these are answered without noise. Features count as the ends of their "
                                   "range beyond it, as for holdfast access.") +
                       table_card(rows);
    if (found.private_accuracy.empty()) return text;
    std::vector<std::string> names{"expected accuracy of labels", "told by"};
    for (const double epsilon : found.epsilons) names.push_back("ε = " + number_text(epsilon));
    names.emplace_back("guarantee");
    rows = heads(names);
    for (const PrivateAccuracy& row : found.private_accuracy) {
        std::vector<std::string> texts{escape_html(row.mechanism), escape_html(row.setting)};
        for (const double accuracy : row.accuracy) texts.push_back(percent_text(accuracy));
        texts.push_back(badge(row.guarantee));
        rows += cells(texts);
    }
    return text + table_card(rows);
}

std::string bound(const RunFiles& run) {
    if (run.fleet.bounds.empty())
        return to_be_run("The bound", "The confidence from which no record decides a label comes from",
                         "holdfast idp --run " + run.folder);
    std::string rows =
        heads({"class", "attained", "at most", "gap closed", "seconds", "by leaving out record"});
    for (const FleetBound& found : run.fleet.bounds)
        rows += cells({std::to_string(found.label), number_text(found.lower), number_text(found.upper),
                       found.complete ? "yes" : "no", number_text(found.seconds),
                       found.record.empty() ? "–" : escape_html(found.record)});
    return heading("The bound",
                   "Where the network of all records is more confident in a class than this, in logits, no "
                   "network of the fleet gives another.") +
           table_card(rows) + guarantee_card("", run.fleet.bound_guarantee);
}

/// Of values sorted downwards, by rank from 1: some hundreds of them, the first few all.
Series curve(const std::string& label, std::vector<double> values, int colour, bool dashed) {
    std::sort(values.begin(), values.end(), std::greater<>());
    Series series{.label = label, .x = {}, .y = {}, .colour = colour, .dashed = dashed};
    const double step = std::pow(static_cast<double>(values.size()), 1.0 / points_of_a_curve);
    for (std::size_t rank = 1; rank <= values.size();
         rank = std::max(rank + 1, static_cast<std::size_t>(step * static_cast<double>(rank)))) {
        series.x.push_back(static_cast<double>(rank));
        series.y.push_back(values[rank - 1]);
    }
    return series;
}

std::string influence_chart(const std::vector<RecordFigures>& records) {
    std::vector<double> largest, mean, newton;
    for (const RecordFigures& record : records) {
        largest.push_back(record.largest_change);
        mean.push_back(record.mean_change);
        if (std::isfinite(record.newton)) newton.push_back(record.newton);
    }
    LineChart chart{.description = "Change of the answers by each record left out, the greatest first",
                    .x = {.title = "records, by influence", .logarithmic = true, .whole = true},
                    .y = {.title = "change of a prediction", .lowest = 0.0},
                    .series = {curve("largest", largest, 0, false), curve("mean", mean, 1, false)},
                    .width = full_width,
                    .height = 320};
    if (newton.size() == records.size())
        chart.series.push_back(curve("largest, estimated", std::move(newton), 2, true));
    return chart_card("", draw(chart));
}

std::string named_records(const std::vector<RecordFigures>& records) {
    const bool asked = std::isfinite(records.front().memorised),
               estimated = std::isfinite(records.front().newton);
    std::vector<std::string> names{"record", "answers changed", "largest change", "mean change"};
    if (estimated) names.emplace_back("largest, estimated");
    if (asked) names.emplace_back("memorised");
    std::string rows = heads(names);
    for (std::size_t i = 0; i < std::min(most_named, records.size()); ++i) {
        const RecordFigures& record = records[i];
        std::vector<std::string> texts{code(record.id), count_or_dash(record.labels_changed),
                                       number_text(record.largest_change), number_text(record.mean_change)};
        if (estimated) texts.push_back(number_text(record.newton));
        if (asked) texts.emplace_back(record.memorised > 0 ? "yes" : "");
        rows += cells(texts);
    }
    return table_card(rows);
}

std::string influence(const RunFiles& run) {
    const std::vector<RecordFigures>& records = run.fleet.records;
    if (records.empty())
        return to_be_run("Influence of records", "What each record changed comes from",
                         "holdfast influence --run " + run.folder + " --queries FILE:test --data FILE:train");
    const auto decide = std::count_if(records.begin(), records.end(),
                                      [](const RecordFigures& record) { return record.labels_changed > 0; });
    std::string lead =
        count_text(decide) + " of " + count_text(static_cast<long long>(records.size())) +
        " records change an answer if they are left out; " + count_or_dash(run.fleet.queries_changed) +
        " of " + count_or_dash(run.fleet.queries) +
        " queries are answered otherwise without some record. Exact: each network was trained.";
    std::string text =
        heading("Influence of records", lead) + influence_chart(records) + named_records(records);
    if (!run.fleet.newton.empty())
        text +=
            element("p class=\"note\"", "Estimated: by one Newton step from the network of all records; " +
                                            escape_html(run.fleet.newton) + ". Nothing of it is proved.");
    return text;
}

}  // namespace

std::string fleet_section(const RunFiles& run) {
    return agreement(run) + bound(run) + influence(run);
}

}  // namespace holdfast
