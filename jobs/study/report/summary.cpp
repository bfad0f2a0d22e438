#include "jobs/program/page/summary.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "jobs/program/next_command.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"
#include "jobs/study/report/page.hpp"
#include "jobs/study/report/sections.hpp"

namespace holdfast {
namespace {

using namespace html;
using CommandWords = std::vector<std::string>;

constexpr double label_epsilon = 0.1;  // what a label is suggested to cost
constexpr double most_answers = 0.9;   // a level is named that so many answers hold to

std::string big(const std::string& text) {
    return element("b", text) + " ";
}

std::string how_good(const RunFiles& run) {
    if (!run.evaluation) return big("Not measured yet.") + "The command below measures it.";
    const RunEvaluation& found = *run.evaluation;
    const std::string no_better =
        found.beats_guessing ? ""
        : found.tells_classes_apart
            ? " The balanced accuracy is " + percent_text(found.balanced) + "."
            : " " + element("span class=\"warning\"",
                            "This model is not shown to be better than guessing: a larger epsilon, more "
                            "records, fewer columns or tighter public ranges help.");
    if (found.classes == 1)
        return big(percent_text(std::max(found.explained, 0.0))) + "of the variance of " +
               count_or_dash(found.queries) + " queries is explained: mean squared error " +
               number_text(found.squared_error) + ". Always saying the mean: 0%." + no_better;
    const double accuracy =
        std::isfinite(found.accuracy_ensemble) ? found.accuracy_ensemble : found.accuracy_single;
    std::string text =
        big(percent_text(accuracy)) + "of " + count_or_dash(found.queries) + " answers are right";
    if (found.accuracy_lowest < found.accuracy_highest)
        text += " (" + percent_text(found.accuracy_lowest) + " to " + percent_text(found.accuracy_highest) +
                " at 95%)";
    if (run.manifest.boxes())
        text += ", without privacy";
    else if (!run.manifest.fleet() && run.manifest.token.empty())
        text += ", without the noise that publishing adds";
    text += ".";
    if (std::isfinite(found.commonest))
        text += " Majority class (baseline): " + percent_text(found.commonest) + ".";
    return text + no_better;
}

/// What the relation of a run may do to records.
std::string changed(const std::string& relation) {
    if (relation == "substitute") return "replaced by others";
    if (relation == "remove") return "left out";
    if (relation == "poison") return "poisoned within the stated limits";
    return relation == "add_remove" ? "added or left out" : "changed";
}

/// The farthest level to which most answers are certified, and of how many.
std::string how_certified(const RunFiles& run) {
    if (!run.evaluation) return "";
    const RunEvaluation& found = *run.evaluation;
    const Distribution& certified = alone(found) || found.certified_ensemble.at.empty()
                                        ? found.certified_single
                                        : found.certified_ensemble;
    std::size_t farthest = 0;
    for (std::size_t i = 0; i < certified.at.size(); ++i) {
        if (certified.at[i] > 0 && (farthest == 0 || certified.amount[i] >= most_answers)) farthest = i;
    }
    if (farthest == 0) return "";
    return big(percent_text(certified.amount[farthest])) + "of the answers stay the same whichever " +
           count_or_dash(certified.at[farthest]) + " records are " + changed(run.manifest.relation) + ".";
}

std::string how_agreed(const RunFiles& run) {
    if (!run.evaluation || run.evaluation->rules.empty()) return "";
    return big(percent_text(run.evaluation->rules.front().answered)) +
           "of the answers stay the same whichever one record is left out.";
}

bool of_persons(const RunFiles& run) {
    return run.manifest.dataset_field("unit") == "person";
}

std::string how_private(const RunFiles& run) {
    const ManifestView& manifest = run.manifest;
    std::string text = manifest.fleet() ? how_agreed(run) : how_certified(run);
    if (std::isfinite(manifest.epsilon))
        text =
            promise_text(manifest.epsilon, manifest.delta, manifest.relation, of_persons(run), "this model");
    else
        text +=
            std::string(text.empty() ? "" : " ") + "The run itself is not private and stays with its owner.";
    const bool certified = manifest.boxes() && run.evaluation && run.evaluation->guarantee.stated();
    return badge(certified ? run.evaluation->guarantee : manifest.guarantee) + " " + text +
           " It rests on the conditions below.";
}

std::string of_whom(const RunFiles& run) {
    const ManifestView& manifest = run.manifest;
    const std::string rows = manifest.dataset_field("rows"),
                      population = manifest.dataset_field("population"),
                      most = manifest.dataset_field("rows_at_most");
    std::string text;
    if (!rows.empty())
        text += big(escape_html(rows)) + "records trained on: " +
                (!of_persons(run)              ? "one row each, whoever it is about"
                 : most.empty() || most == "1" ? "one of each person"
                                               : "of each person " + escape_html(most) + " at most");
    if (!population.empty()) text += std::string(text.empty() ? "" : "; ") + "population " + code(population);
    return text.empty() ? "" : text + ".";
}

std::string spent_and_left(const RunFiles& run) {
    if (run.account) return "All together: " + spending_text(run.account->amounts) + ".";
    const ManifestView& manifest = run.manifest;
    if (!std::isfinite(manifest.epsilon))
        return big("Nothing") +
               "was charged for this run. What its people have left, their ledger knows: "
               "<code>--ledger</code> shows it here.";
    return "Charged for this model: epsilon " + number_text(manifest.epsilon) + ", delta " +
           number_text(manifest.delta) +
           ". What is left, the ledger knows: <code>--ledger</code> shows it here.";
}

/// The split to ask about, beside the one that was trained on.
std::string queries_of(const RunFiles& run) {
    if (run.evaluation && !run.evaluation->data.empty()) return run.evaluation->data;
    const std::string path = run.manifest.dataset_field("path");
    const std::string tests = path.empty() ? "" : test_split(path);
    return tests.empty() ? "FILE:test" : tests;
}

std::string ledger_of(const RunFiles& run) {
    return run.account ? run.account->ledger : beside_dataset(run.manifest.dataset_field("path"), ".ledger");
}

CommandWords to_measure(const RunFiles& run) {
    CommandWords words{"evaluate", "--run", run.folder, "--data", queries_of(run)};
    if (run.manifest.boxes()) words.insert(words.end(), {"--epsilon", "0.1,1"});
    return words;
}

/// Whoever pays has an account, with something left; else how it is opened, or what was spent of it.
std::optional<CommandWords> next_of_account(const RunFiles& run) {
    if (!run.account)
        return CommandWords{
            "account",  "--ledger", ledger_of(run), "--data", run.manifest.dataset_field("path"),
            "--budget", "1"};
    const SpentAndLeft& amounts = run.account->amounts;
    if (amounts.epsilon_budget - amounts.epsilon < label_epsilon)
        return CommandWords{"statement", "--ledger", run.account->ledger, "--html", "statement.html"};
    return std::nullopt;
}

/// Labels are for others: those trained on, and their file, are nobody to ask about.
CommandWords next_of_fleet(const RunFiles& run) {
    if (!run.evaluation) return to_measure(run);
    if (run.fleet.bounds.empty()) return {"idp", "--run", run.folder};
    if (run.fleet.records.empty()) return {"influence", "--run", run.folder, "--queries", queries_of(run)};
    if (const auto account = next_of_account(run)) return *account;
    return {"access", "--run",   run.folder, "--queries", "NEW.csv",     "--epsilon",
            "0.1",    "--first", "10",       "--ledger",  ledger_of(run)};
}

/// The model of the run, if it lies where publish and tools/quickstart put it.
std::string published_model(const RunFiles& run) {
    const std::filesystem::path folder = std::filesystem::path(run.folder).lexically_normal();
    for (const std::filesystem::path& file :
         {std::filesystem::path(folder.string() + "-model.h5"), folder.parent_path() / "model.h5"}) {
        if (std::filesystem::exists(file)) return file.string();
    }
    return "";
}

CommandWords next_of_boxes(const RunFiles& run) {
    if (!run.evaluation) return to_measure(run);
    if (const auto account = next_of_account(run)) return *account;
    return {"release", "--run",     run.folder, "--queries", "NEW.csv",          "--first",
            "10",      "--epsilon", "0.1",      "--ledger",  run.account->ledger};
}

CommandWords next_of_model(const RunFiles& run) {
    if (!run.evaluation) return to_measure(run);
    const std::string model = run.account && run.account->published ? published_model(run) : "";
    if (!model.empty()) return {"predict", "--model", model, "NEW.csv", "--out", "answers.csv"};
    CommandWords words{
        "publish", "--run", run.folder, "--ledger", ledger_of(run), "--out", run.folder + "-model.h5"};
    if (run.manifest.token.empty()) words.insert(words.end(), {"--epsilon", "1", "--delta", "1e-6"});
    return words;
}

}  // namespace

CommandWords report_next(const RunFiles& run) {
    if (run.manifest.fleet()) return next_of_fleet(run);
    if (!run.manifest.boxes()) return next_of_model(run);
    const bool regression = run.evaluation && run.evaluation->classes == 1;
    return regression ? CommandWords{"verify", run.folder} : next_of_boxes(run);
}

std::string report_summary(const RunFiles& run) {
    return summary_card({{"How good", how_good(run)},
                         {"How private", how_private(run)},
                         {"Of whom", of_whom(run)},
                         {"Spent and left", spent_and_left(run)},
                         {"What next", command_words(report_next(run))}});
}

}  // namespace holdfast
