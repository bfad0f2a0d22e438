#include "jobs/study/risk/report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "jobs/program/page/chart.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/program/page/summary.hpp"
#include "jobs/program/page/text.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

using namespace html;

// Below these a safe haven looks again.
constexpr std::int64_t few_degrees = 10, few_persons = 10;

constexpr const char* one_model =
    "Intervals are over persons, for this one model. Who was held out is to be a matter of chance: else an "
    "attack sees how two groups differ, and not what one person changed";

nlohmann::json estimate_json(const Estimated& estimated) {
    return {{"value", estimated.value}, {"interval", {estimated.lowest, estimated.highest}}};
}

std::string percent_of(const Estimated& estimated) {
    return percent_text(estimated.value) + " (" + percent_text(estimated.lowest) + " to " +
           percent_text(estimated.highest) + ")";
}

std::string figure_of(const Estimated& estimated) {
    return printed("%.3f (%.3f to %.3f)", estimated.value, estimated.lowest, estimated.highest);
}

const RatePoint& at_one_percent(const MembershipAttack& attack) {
    for (const RatePoint& point : attack.found.points)
        if (point.asked == 0.01) return point;
    return attack.found.points.front();
}

const char* status_of(const RiskReport& report) {
    return report.bound.proved ? "proved" : "as published";
}

std::string whom(const RiskReport& report) {
    return report.of_persons ? "persons" : "records";
}

bool contradicted(const RiskReport& report) {
    return std::any_of(report.attacks.begin(), report.attacks.end(), [&](const MembershipAttack& attack) {
        return std::any_of(attack.found.points.begin(), attack.found.points.end(),
                           [&](const RatePoint& point) { return report.bound.contradicted_by(point); });
    });
}

std::string tested_on(const RiskReport& report) {
    return count_text(static_cast<long long>(report.trained)) + " " + whom(report) + " trained on, " +
           (report.held_out > 0 ? count_text(static_cast<long long>(report.held_out)) + " held out"
                                : std::string("each beside a member that did without it")) +
           "; " +
           (report.shadows > 0 ? std::to_string(report.shadows) + " shadow networks"
                               : std::string("the run's own members as shadows"));
}

/// One sentence a line, of what a safe haven asks.
std::vector<std::pair<std::string, std::string>> findings(const RiskReport& report) {
    const MembershipAttack& attack = report.strongest();
    const RatePoint& point = at_one_percent(attack);
    std::vector<std::pair<std::string, std::string>> lines{
        {"Membership", "AUC " + figure_of(attack.found.auc) + " by " + attack.scores +
                           " scores; at 1% false positives " + percent_of(point.true_positives) +
                           " of those trained on are found"},
        {report.bound.proved ? "Proved" : "As published",
         report.bound.any() ? "no attack finds more than " + percent_text(report.bound.at_most(0.01)) +
                                  " at 1% false positives: " + report.bound.words
                            : report.bound.words},
        {"Overfitting",
         percent_of(report.right_trained) + " of those trained on are answered rightly" +
             (report.held_out > 0 ? ", of those held out " + percent_of(report.right_held_out) : "")}};
    const auto leaks = std::count_if(report.attributes.begin(), report.attributes.end(),
                                     [](const AttributeAttack& one) { return one.leaks(); });
    if (!report.attributes.empty())
        lines.emplace_back("Attributes",
                           std::to_string(leaks) + " of " + std::to_string(report.attributes.size()) +
                               " columns are guessed better of those trained on, beyond chance");
    if (report.memorised)
        lines.emplace_back(
            "Memorised", percent_of(*report.memorised) +
                             " of those trained on are answered rightly because of their own record alone, " +
                             (report.memorised_exactly ? "exactly: by the networks without each"
                                                       : "as shadow networks show it"));
    lines.emplace_back("Structure",
                       std::to_string(report.parameters) + " parameters, " +
                           (report.degrees < few_degrees ? "no fewer than " : "fewer than ") + "the " +
                           whom(report) + " of a member (" + std::to_string(report.degrees) +
                           " degrees of freedom); least class " + std::to_string(report.least_class) +
                           ", least group of one answer " + std::to_string(report.least_group) +
                           ", alone with an answer to two digits " + std::to_string(report.alone));
    return lines;
}

std::string row_of(const std::vector<std::string>& texts, const char* tag) {
    std::string row;
    for (const std::string& text : texts) row += element(tag, text);
    return element("tr", row) + "\n";
}

std::string membership_table(const RiskReport& report) {
    std::vector<std::string> names{"attack", "looks at", "of whom", "AUC"};
    for (const RatePoint& point : report.attacks.front().found.points)
        names.push_back("found at " + percent_text(point.asked) + " false");
    std::string rows = row_of(names, "th");
    for (const MembershipAttack& attack : report.attacks) {
        std::vector<std::string> texts{attack.scores, attack.observes,
                                       attack.whose + " (" + std::to_string(attack.found.members) + " and " +
                                           std::to_string(attack.found.others) + ")",
                                       figure_of(attack.found.auc)};
        for (const RatePoint& point : attack.found.points)
            texts.push_back(
                percent_of(point.true_positives) +
                (report.bound.contradicted_by(point) ? " " + element("b", "more than is proved") : ""));
        rows += row_of(texts, "td");
    }
    if (report.bound.any()) {
        std::vector<std::string> texts{"any", "all that left", "all",
                                       status_of(report) + std::string(": at most")};
        for (const RatePoint& point : report.attacks.front().found.points)
            texts.push_back(percent_text(report.bound.at_most(point.asked)));
        rows += row_of(texts, "td");
    }
    return table_card(rows);
}

std::string curves(const RiskReport& report) {
    LineChart chart{.description = "True positives by false positives of each attack",
                    .x = {.title = "false positives",
                          .lowest = 1e-3,
                          .highest = 1.0,
                          .logarithmic = true,
                          .percent = true},
                    .y = {.title = "true positives",
                          .lowest = 1e-3,
                          .highest = 1.0,
                          .logarithmic = true,
                          .percent = true},
                    .series = {},
                    .width = full_width,
                    .height = 380};
    int colour = 0;
    const auto add = [&](const std::string& label, std::vector<double> x, std::vector<double> y,
                         bool dashed) {
        chart.series.push_back({.label = label,
                                .x = std::move(x),
                                .y = std::move(y),
                                .colour = colour++ % series_colours,
                                .dashed = dashed});
    };
    for (const MembershipAttack& attack : report.attacks) {
        if (attack.whose != "all" || attack.observes != "confidence") continue;
        std::vector<double> x, y;
        for (const auto& [false_positives, true_positives] : attack.found.roc) {
            if (false_positives < 1e-3 || (!x.empty() && false_positives < 1.02 * x.back())) continue;
            x.push_back(false_positives);
            y.push_back(std::max(1e-3, true_positives));
        }
        add(attack.scores, x, y, false);
    }
    std::vector<double> x, chance, most;
    for (double at = 1e-3; at < 1.05; at *= 1.2) {
        x.push_back(std::min(at, 1.0));
        chance.push_back(x.back());
        if (report.bound.any()) most.push_back(report.bound.at_most(x.back()));
    }
    add("chance", x, chance, true);
    if (report.bound.any()) add(status_of(report) + std::string(": at most"), x, most, true);
    return chart_card("", draw(chart));
}

std::string attributes_section(const RiskReport& report) {
    if (report.attributes.empty()) return "";
    std::string rows =
        row_of({"column", "guessed of those trained on", "of those held out", "commonest value", ""}, "th");
    for (const AttributeAttack& attack : report.attributes)
        rows += row_of(
            {escape_html(attack.column), percent_of(attack.trained), percent_of(attack.held_out),
             percent_text(attack.prior), attack.leaks() ? element("b", "better of those trained on") : ""},
            "td");
    return heading("Attributes",
                   "A column guessed from all others, the label and the model. What is guessed of anybody "
                   "alike is what the model learnt of people, not of a person; the difference counts. The "
                   "intervals hold together.") +
           table_card(rows);
}

std::string structure_section(const RiskReport& report) {
    const auto flag = [](bool raised) { return raised ? element("b", "look again") : std::string("no"); };
    std::string naming;
    for (const std::string& name : report.naming) naming += " " + code(name);
    return heading("Structure", "What is asked of a model's form before it leaves a safe haven.") +
           table_card(
               row_of({"question", "here", "risk"}, "th") +
               row_of({"degrees of freedom: " + whom(report) + " of a member less parameters",
                       std::to_string(report.degrees), flag(report.degrees < few_degrees)},
                      "td") +
               row_of({"the least class of those trained on", std::to_string(report.least_class),
                       flag(report.least_class < static_cast<std::size_t>(few_persons))},
                      "td") +
               row_of({"the least group of one label and one probability to two digits",
                       std::to_string(report.least_group),
                       flag(report.least_group < static_cast<std::size_t>(few_persons))},
                      "td") +
               row_of({"alone in such a group", std::to_string(report.alone), ""}, "td") +
               row_of({"does the model hold records?",
                       "no: parameters alone, and what is public of the table", "no"},
                      "td") +
               row_of({"which files of the run folder name persons?", naming, "they stay with their owner"},
                      "td"));
}

}  // namespace

double ProvedBound::at_most(double false_positives) const {
    const Rational rate(std::clamp(false_positives, 0.0, 1.0));
    Rational most = 1;
    if (mu) most = std::min(most, true_positives_at_most(*mu, rate));
    for (const auto& [epsilon, delta] : epsilons)
        most = std::min(most, true_positives_at_most(epsilon, delta, rate));
    return round_up(most);
}

bool ProvedBound::contradicted_by(const RatePoint& point) const {
    return any() && point.true_positives.lowest > at_most(point.false_positives.highest);
}

const MembershipAttack& RiskReport::strongest() const {
    const MembershipAttack* best = &attacks.front();
    for (const MembershipAttack& attack : attacks) {
        const bool first = attack.whose == "all" && attack.observes == "confidence";
        if (first && attack.found.auc.value > best->found.auc.value) best = &attack;
    }
    return *best;
}

nlohmann::json to_json(const RiskReport& report) {
    nlohmann::json attacks = nlohmann::json::array(), attributes = nlohmann::json::array();
    for (const MembershipAttack& attack : report.attacks) {
        nlohmann::json points = nlohmann::json::array(), roc = nlohmann::json::array();
        for (const RatePoint& point : attack.found.points) {
            nlohmann::json one = {{"asked", point.asked},
                                  {"false_positives", estimate_json(point.false_positives)},
                                  {"true_positives", estimate_json(point.true_positives)}};
            if (report.bound.any()) {
                one["at_most"] = report.bound.at_most(point.asked);
                one["contradicts"] = report.bound.contradicted_by(point);
            }
            points.push_back(one);
        }
        for (const auto& [false_positives, true_positives] : attack.found.roc) {
            const bool step = roc.empty() || false_positives >= roc.back()[0].get<double>() * 1.05;
            if (step || false_positives == 1) roc.push_back({false_positives, true_positives});
        }
        attacks.push_back({{"scores", attack.scores},
                           {"observes", attack.observes},
                           {"whose", attack.whose},
                           {"members", attack.found.members},
                           {"others", attack.found.others},
                           {"auc", estimate_json(attack.found.auc)},
                           {"points", points},
                           {"roc", roc}});
    }
    for (const AttributeAttack& attack : report.attributes)
        attributes.push_back({{"column", attack.column},
                              {"trained", estimate_json(attack.trained)},
                              {"held_out", estimate_json(attack.held_out)},
                              {"commonest", attack.prior},
                              {"leaks", attack.leaks()}});
    nlohmann::json object = {
        {"run", report.run},
        {"data", report.data},
        {"held_out", report.held_out_name},
        {"confidence", report.confidence},
        {"seconds", report.seconds},
        {"unit", report.of_persons ? "person" : "row"},
        {"trained", report.trained},
        {"others", report.held_out},
        {"members", report.members},
        {"shadows", report.shadows},
        {"membership", attacks},
        {"strongest",
         {{"scores", report.strongest().scores}, {"auc", estimate_json(report.strongest().found.auc)}}},
        {"bound", {{"words", report.bound.words}, {"proved", report.bound.proved}}},
        {"contradicted", contradicted(report)},
        {"overfitting",
         {{"right_trained", estimate_json(report.right_trained)}, {"loss_trained", report.loss_trained}}},
        {"attributes", attributes},
        {"structure",
         {{"parameters", report.parameters},
          {"degrees_of_freedom", report.degrees},
          {"least_class", report.least_class},
          {"least_group", report.least_group},
          {"alone", report.alone},
          {"files_that_name_persons", report.naming}}},
        {"guarantee", report.guarantee}};
    if (report.held_out > 0) {
        object["overfitting"]["right_held_out"] = estimate_json(report.right_held_out);
        object["overfitting"]["loss_held_out"] = report.loss_held_out;
    }
    if (report.memorised) {
        object["memorised"] = estimate_json(*report.memorised);
        object["memorised"]["exact"] = report.memorised_exactly;
    }
    return object;
}

std::string text_of(const RiskReport& report) {
    std::string text = tested_on(report) + "\n";
    text += printed("%-10s %-11s %-12s %-24s %s\n", "attack", "looks at", "of whom", "AUC",
                    "found at 1% false positives");
    for (const MembershipAttack& attack : report.attacks) {
        const RatePoint& point = at_one_percent(attack);
        text += printed("%-10s %-11s %-12s %-24s %s", attack.scores.c_str(), attack.observes.c_str(),
                        attack.whose.c_str(), figure_of(attack.found.auc).c_str(),
                        figure_of(point.true_positives).c_str());
        if (report.bound.any())
            text += printed("       %s: at most %.3f%s", status_of(report), report.bound.at_most(point.asked),
                            report.bound.contradicted_by(point) ? " (exceeded)" : "");
        text += "\n";
    }
    for (const auto& [question, answer] : findings(report)) text += question + ": " + answer + "\n";
    return text +
           printed("%.1f s of processor, intervals at %g%%\n", report.seconds, 100 * report.confidence);
}

std::string page_of(const RiskReport& report) {
    std::vector<std::pair<std::string, std::string>> summary;
    for (const auto& [question, answer] : findings(report))
        summary.emplace_back(question, escape_html(answer) + ".");
    std::string body =
        element("div class=\"over\"", "Risk of disclosure, for the owner only") +
        element("h1", escape_html(report.run)) + summary_card(summary) +
        element("p class=\"private\"",
                "The figures on this page depend on the private records without protection. It may not leave "
                "the house, and no ledger was charged.") +
        element("p class=\"note\"", escape_html(tested_on(report)) + ". Intervals at " +
                                        number_text(100 * report.confidence) + "%. " + one_model + ".") +
        heading("Membership",
                "Whether somebody was trained on, guessed from the model. Threshold: by its confidence "
                "alone. Offline and online: by likelihood ratios with shadow networks, trained without the "
                "person, or with it too.") +
        curves(report) + membership_table(report) +
        element("p class=\"note\"", escape_html(report.bound.words) + ".");
    if (contradicted(report))
        body += element("p class=\"warning\"",
                        "More is found than is proved to be possible: the run, or its claim, is not what it "
                        "says, or chance was against it. Ask again at a higher --confidence.");
    body +=
        attributes_section(report) + structure_section(report) + heading("What the run guarantees", "") +
        element("p", escape_html(report.guarantee)) +
        element("footer",
                "Written by holdfast risk; trained on " + code(report.data) +
                    (report.held_out_name.empty() ? "" : ", held out " + code(report.held_out_name)) + ".");
    return page("Holdfast risk: " + report.run, body);
}

}  // namespace holdfast
