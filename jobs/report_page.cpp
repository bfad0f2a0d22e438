#include "jobs/report_page.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "jobs/report_chart.hpp"
#include "jobs/report_style.hpp"
#include "jobs/report_text.hpp"

namespace holdfast {
namespace {

constexpr double full_width = 1040, half_width = 500, third_width = 320;
constexpr int reference_colour = 9;  // grey: what the mechanisms are compared with
constexpr std::size_t most_members = 12, most_points = 240, most_bars = 110;

std::string element(const std::string& tag, const std::string& content) {
    return "<" + tag + ">" + content + "</" + tag.substr(0, tag.find(' ')) + ">";
}

std::string heading(const std::string& title, const std::string& lead) {
    return element("h2", title) + element("p class=\"lead\"", lead) + "\n";
}

std::string chart_card(const std::string& title, const std::string& svg) {
    return element("div class=\"card\"", (title.empty() ? "" : element("h3", title)) + svg) + "\n";
}

std::string code(const std::string& text) {
    return element("code", escape_html(text));
}

std::string count_or_dash(double value) {
    return std::isfinite(value) ? count_text(std::llround(value)) : number_text(value);
}

// Without the gap, which the guarantee section tells.
std::string badge(const GuaranteeText& guarantee) {
    if (!guarantee.stated()) return element("span class=\"badge bad\"", "no guarantee stated");
    const bool published = guarantee.status.rfind("as published", 0) == 0;
    const char* look = guarantee.proved() ? "good" : published ? "fair" : "bad";
    return element(std::string("span class=\"badge ") + look + "\"",
                   escape_html(guarantee.status.substr(0, guarantee.status.find(" ("))));
}

std::string bullets(const std::vector<std::string>& items) {
    std::string list;
    for (const std::string& item : items) list += element("li", escape_html(item));
    return element("ul", list);
}

std::string term(const std::string& name, const std::string& definition) {
    return element("dt", name) + element("dd", definition);
}

std::string guarantee_card(const std::string& title, const GuaranteeText& guarantee) {
    std::string body = element("h3", title) + badge(guarantee);
    if (!guarantee.statement.empty()) {
        body += element("p style=\"margin:10px 0 0\"", escape_html(guarantee.statement));
    }
    std::string terms;
    if (!guarantee.relation.empty()) terms += term("Relation", code(guarantee.relation));
    if (!guarantee.conditions.empty()) terms += term("Conditions", bullets(guarantee.conditions));
    if (!guarantee.gap.empty()) terms += term("Gap", escape_html(guarantee.gap));
    if (!terms.empty()) body += element("dl class=\"terms\"", terms);
    return element("div class=\"card\"", body) + "\n";
}

// ---- header

std::string tile(const std::string& name, const std::string& value) {
    return element("div class=\"tile\"", element("b", value) + element("span", name));
}

const std::string* find_value(const std::vector<std::pair<std::string, std::string>>& values,
                              const char* name) {
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const auto& pair) { return pair.first == name; });
    return found == values.end() ? nullptr : &found->second;
}

std::string levels_text(const std::vector<double>& levels) {
    if (levels.empty()) return "–";
    if (levels.size() == 1) return number_text(levels[0]);
    const bool contiguous = levels.back() - levels.front() == static_cast<double>(levels.size() - 1);
    return number_text(levels.front()) + (contiguous ? " … " : ", …, ") + number_text(levels.back());
}

std::string certified_tile(const RunEvaluation& evaluation) {
    const Distribution& certified = evaluation.certified_single;
    if (certified.at.empty()) return "";
    return tile("certified at k = " + number_text(certified.at.back()),
                percent_text(certified.amount.back()));
}

std::string tiles(const RunFiles& run) {
    std::string list;
    if (run.evaluation) {
        const RunEvaluation& evaluation = *run.evaluation;
        const bool single = evaluation.members == 1;
        list += tile(single ? "accuracy" : "accuracy, one member", percent_text(evaluation.accuracy_single));
        if (!single) list += tile("accuracy, ensemble", percent_text(evaluation.accuracy_ensemble));
        list += certified_tile(evaluation);
    }
    if (const std::string* rows = find_value(run.manifest.dataset, "rows")) {
        list += tile("training records", escape_html(*rows));
    }
    list += tile("members", count_or_dash(run.manifest.members));
    list += tile("levels k", levels_text(run.manifest.levels));
    list += tile("parameters", count_or_dash(run.manifest.parameters));
    list += tile("steps", count_or_dash(run.manifest.steps));
    return element("div class=\"tiles\"", list) + "\n";
}

std::string header(const RunFiles& run) {
    const std::filesystem::path folder = std::filesystem::path(run.folder).lexically_normal();
    const std::string name = folder.filename().empty() ? folder.parent_path().filename() : folder.filename();
    std::string origin;
    if (const std::string* path = find_value(run.manifest.dataset, "path"))
        origin = "Trained on " + code(*path);
    if (run.evaluation) origin += ". Evaluated on " + code(run.evaluation->data) + ".";
    return element("div class=\"over\"", "Holdfast run report") + element("h1", escape_html(name)) +
           element("p class=\"lead\"", origin) + tiles(run) +
           element("p class=\"private\"",
                   "For the owner of the data only. The figures on this page depend on the private records "
                   "without "
                   "protection; only labels given by <code>holdfast release</code> may leave the house.") +
           guarantee_card("What this run guarantees", run.manifest.guarantee);
}

std::string missing_evaluation(const RunFiles& run) {
    return heading("Accuracy and certificates", "") +
           element("div class=\"card\"",
                   element("p", element("b", "Not evaluated yet.") +
                                    " The figures on accuracy, certificates and "
                                    "privacy come from <code>holdfast evaluate</code>:") +
                       element("p", code("holdfast evaluate --run " + run.folder + " --data FILE:test"))) +
           "\n";
}

// ---- private accuracy

std::string mechanism_name(const PrivateAccuracy& row) {
    return row.mechanism + (row.delta > 0 ? " δ=" + number_text(row.delta) : "");
}

// The same mechanism has the same colour in every chart.
std::map<std::string, int> mechanism_colours(const RunEvaluation& evaluation) {
    std::map<std::string, int> colours;
    for (const PrivateAccuracy& row : evaluation.private_accuracy) {
        const int next = static_cast<int>(colours.size()) % reference_colour;
        colours.try_emplace(row.mechanism, next);
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
    const std::map<std::string, int> colours = mechanism_colours(evaluation);
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
                                .colour = reference_colour});
    }
    for (const PrivateAccuracy& row : evaluation.private_accuracy) {
        if (row.setting != setting) continue;
        chart.series.push_back({.label = mechanism_name(row),
                                .x = evaluation.epsilons,
                                .y = row.accuracy,
                                .colour = colours.at(row.mechanism),
                                .dashed = !row.guarantee.proved(),
                                .dots = true});
    }
    return draw(chart);
}

bool has_setting(const RunEvaluation& evaluation, const std::string& setting) {
    return std::any_of(evaluation.private_accuracy.begin(), evaluation.private_accuracy.end(),
                       [&](const PrivateAccuracy& row) { return row.setting == setting; });
}

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

// One member is its own ensemble.
bool alone(const RunEvaluation& evaluation) {
    return evaluation.members == 1;
}

std::string answerer(const RunEvaluation& evaluation, const std::string& setting) {
    if (alone(evaluation)) return "the model";
    return setting == "single" ? "one member" : setting;
}

std::string privacy_row(const RunEvaluation& evaluation, const PrivateAccuracy& row) {
    std::string cells = element("td class=\"key\"", escape_html(mechanism_name(row))) +
                        element("td", escape_html(answerer(evaluation, row.setting)));
    for (std::size_t i = 0; i < row.accuracy.size(); ++i) {
        const std::string shown = percent_text(row.accuracy[i]);
        const bool best =
            row.guarantee.proved() && shown == percent_text(best_accuracy(evaluation, row.setting, i));
        cells += element(best ? "td class=\"figure best\"" : "td class=\"figure\"", shown);
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

std::string privacy_table(const RunEvaluation& evaluation) {
    std::string head = element("th", "mechanism") + element("th", "answers by");
    for (const double epsilon : evaluation.epsilons) {
        head += element("th class=\"figure\"", "ε = " + number_text(epsilon));
    }
    std::string rows = element("tr", head + element("th class=\"figure\"", "guarantee")) + "\n";
    for (const std::string& setting : settings_shown(evaluation)) {
        for (const PrivateAccuracy& row : evaluation.private_accuracy) {
            if (row.setting == setting) rows += privacy_row(evaluation, row);
        }
    }
    return element("div class=\"card wide\"", element("table", rows)) + "\n";
}

std::string privacy_card(const RunEvaluation& evaluation, const std::string& setting, double width) {
    const bool single = setting == "single";
    const double nominal = single ? evaluation.accuracy_single : evaluation.accuracy_ensemble;
    const char* title = single ? "One member, mean over members" : "Ensemble";
    return chart_card(alone(evaluation) ? "" : title, privacy_chart(evaluation, setting, nominal, width));
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
               "Dashed: not proved.") +
           element("div class=\"halves\"", charts) + "\n" + privacy_table(evaluation) +
           element("p class=\"note\"", "Bold: best of the proved mechanisms, as far as the digits show.");
}

// ---- certificates

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

std::string distance_section(const RunEvaluation& evaluation) {
    const std::string charts = distance_charts(evaluation);
    if (charts.empty()) return "";
    return heading("Stable distances",
                   "How many records must change before a label may. Distance 0: not certified. The last bar "
                   "holds "
                   "all queries at the cap: their distance is at least that.") +
           element("div class=\"halves\"", charts) + "\n";
}

// ---- training

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
    const std::string level = std::isfinite(curve.level) ? ", bounds at k = " + number_text(curve.level) : "";
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

std::string training_section(const std::vector<TrainingRow>& training) {
    if (training.empty()) return "";
    const std::map<double, MemberCurve> curves = member_curves(training);
    std::string charts;
    std::size_t drawn = 0;
    for (const auto& [member, curve] : curves) {
        if (++drawn <= most_members) charts += accuracy_chart(member, curve);
    }
    std::string section =
        heading("Training",
                "Line: nominal accuracy on the batch. Band: what it could have been for any dataset "
                "within k changed records.") +
        element("div class=\"thirds\"", charts) + "\n";
    if (curves.size() > most_members) {
        section += element("p class=\"note\"", "The first " + std::to_string(most_members) + " of " +
                                                   std::to_string(curves.size()) + " members.");
    }
    return section + width_chart(curves);
}

// ---- configuration and guarantees

std::string settings_table(const std::string& title,
                           const std::vector<std::pair<std::string, std::string>>& values) {
    std::string rows;
    for (const auto& [name, value] : values) {
        rows += element("tr", element("td class=\"key\"", code(name)) + element("td", escape_html(value)));
    }
    return element("section", element("h3", escape_html(title)) + element("table", rows)) + "\n";
}

std::string configuration_section(const ManifestView& manifest) {
    std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>> groups;
    for (const auto& [key, value] : manifest.configuration) {
        const std::size_t dot = key.find('.');
        const std::string group = dot == std::string::npos ? "run" : key.substr(0, dot);
        auto found =
            std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == group; });
        if (found == groups.end()) found = groups.insert(groups.end(), {group, {}});
        found->second.emplace_back(dot == std::string::npos ? key : key.substr(dot + 1), value);
    }
    std::string tables;
    if (!manifest.dataset.empty()) tables += settings_table("dataset", manifest.dataset);
    for (const auto& [group, values] : groups) tables += settings_table(group, values);
    if (tables.empty()) return "";
    return heading("Configuration", "As resolved from file, command line and defaults.") +
           element("div class=\"card settings\"", tables) + "\n";
}

// Mechanisms that promise the same stand together.
std::string guarantees_section(const RunFiles& run) {
    std::string cards = guarantee_card("Training bounds and parameter boxes", run.manifest.guarantee);
    if (run.evaluation) {
        cards += guarantee_card("Certified fractions and stable distances", run.evaluation->guarantee);
        std::vector<std::pair<GuaranteeText, std::vector<std::string>>> groups;
        for (const PrivateAccuracy& row : run.evaluation->private_accuracy) {
            auto found = std::find_if(groups.begin(), groups.end(),
                                      [&](const auto& group) { return group.first == row.guarantee; });
            if (found == groups.end()) found = groups.insert(groups.end(), {row.guarantee, {}});
            const std::string name = code(mechanism_name(row));
            auto& names = found->second;
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        }
        for (const auto& [guarantee, names] : groups) {
            std::string title = "Private accuracy: " + names[0];
            for (std::size_t i = 1; i < names.size(); ++i) title += ", " + names[i];
            cards += guarantee_card(title, guarantee);
        }
    }
    return heading("The guarantee of each number",
                   "What is claimed, under which conditions, and what the argument leaves open.") +
           element("div class=\"halves\"", cards) + "\n";
}

std::string footer(const RunFiles& run) {
    std::string text = "Written by holdfast report";
    if (!run.manifest.version.empty())
        text += "; trained by " + escape_html(run.manifest.program) + " " + escape_html(run.manifest.version);
    if (!run.manifest.digest.empty()) text += ". Run " + code(run.manifest.digest);
    if (run.evaluation && !run.evaluation->digest.empty())
        text += ", evaluation " + code(run.evaluation->digest);
    return element("footer", text + ".");
}

}  // namespace

std::string render_report(const RunFiles& run) {
    std::string body = header(run);
    if (run.evaluation) {
        body += privacy_section(*run.evaluation) + certified_section(*run.evaluation) +
                distance_section(*run.evaluation);
    } else {
        body += missing_evaluation(run);
    }
    body += training_section(run.training) + configuration_section(run.manifest) + guarantees_section(run) +
            footer(run);
    return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">" +
           element("title", "Holdfast report: " + escape_html(run.folder)) + element("style", report_style) +
           "</head>\n<body><main>\n" + body + "</main></body></html>\n";
}

}  // namespace holdfast
