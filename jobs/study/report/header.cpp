#include <cmath>
#include <filesystem>

#include "jobs/program/page/guarantee_card.hpp"
#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"
#include "jobs/study/report/sections.hpp"

namespace holdfast {
namespace {

using namespace html;

std::string tile(const std::string& name, const std::string& value) {
    return element("div class=\"tile\"", element("b", value) + element("span", name));
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

/// What of a run may be shown to others.
std::string may_leave(const ManifestView& manifest) {
    if (manifest.fleet()) return "no network of a fleet";
    return std::string("only ") + (manifest.boxes() ? "labels given by <code>holdfast release</code>"
                                                    : "the model that <code>holdfast publish</code> writes");
}

/// What an evaluation found.
std::string evaluation_tiles(const RunEvaluation& evaluation, bool boxes) {
    std::string list;
    const CertifiedLoss& losses = evaluation.certified_loss;
    if (!losses.k.empty()) list += tile(losses.loss, number_text(losses.nominal.front()));
    if (evaluation.classes == 1) return list;  // a regression
    const bool single = evaluation.members == 1;
    if (!single) {
        list += tile("accuracy, one member", percent_text(evaluation.accuracy_single));
        list += tile("accuracy, ensemble", percent_text(evaluation.accuracy_ensemble));
    }
    if (std::isfinite(evaluation.balanced))
        list += tile("balanced accuracy", percent_text(evaluation.balanced));
    if (std::isfinite(evaluation.auc)) {
        list += tile("AUC", number_text(evaluation.auc));
        list += tile("log-loss", number_text(evaluation.log_loss));
        list += tile("Brier score", number_text(evaluation.brier));
        list += tile("calibration error", number_text(evaluation.calibration_error));
    }
    return boxes ? list + certified_tile(evaluation) : list;
}

std::string tiles(const RunFiles& run) {
    std::string list;
    if (run.evaluation) list += evaluation_tiles(*run.evaluation, run.manifest.boxes());
    list += tile(run.manifest.fleet() ? "networks" : "members", count_or_dash(run.manifest.members));
    if (run.manifest.boxes()) list += tile("levels k", levels_text(run.manifest.levels));
    list += tile("parameters", count_or_dash(run.manifest.parameters));
    list += tile("steps", count_or_dash(run.manifest.steps));
    return element("div class=\"tiles\"", list) + "\n";
}

}  // namespace

std::string report_header(const RunFiles& run) {
    const std::filesystem::path folder = std::filesystem::path(run.folder).lexically_normal();
    const std::string name = folder.filename().empty() ? folder.parent_path().filename() : folder.filename();
    const std::string path = run.manifest.dataset_field("path");
    std::string origin = path.empty() ? "" : "Trained on " + code(path);
    if (run.evaluation) origin += ". Evaluated on " + code(run.evaluation->data) + ".";
    return element("div class=\"over\"", "Report, for the owner only") + element("h1", escape_html(name)) +
           report_summary(run) +
           element(
               "p class=\"private\"",
               std::string("The figures on this page depend on the private records without protection; ") +
                   may_leave(run.manifest) + " may leave the house.") +
           element("p class=\"note\"", origin) + tiles(run) +
           guarantee_card("What this run guarantees", run.manifest.guarantee);
}

std::string report_footer(const RunFiles& run) {
    std::string text = "Written by holdfast report";
    if (!run.manifest.version.empty())
        text += "; trained by " + escape_html(run.manifest.program) + " " + escape_html(run.manifest.version);
    if (!run.manifest.digest.empty()) text += ". Run " + code(run.manifest.digest);
    if (run.evaluation && !run.evaluation->digest.empty())
        text += ", evaluation " + code(run.evaluation->digest);
    return element("footer", text + ".");
}

}  // namespace holdfast
