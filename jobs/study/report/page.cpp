#include "jobs/study/report/page.hpp"

#include "jobs/program/page/html.hpp"
#include "jobs/study/report/sections.hpp"

namespace holdfast {
namespace {

using namespace html;

std::string missing_evaluation(const RunFiles& run) {
    return heading("Accuracy and certificates", "") +
           element("div class=\"card\"",
                   element("p", element("b", "Not evaluated yet.") +
                                    " The figures on accuracy, certificates and "
                                    "privacy come from <code>holdfast evaluate</code>:") +
                       element("p", code("holdfast evaluate --run " + run.folder + " --data FILE:test"))) +
           "\n";
}

}  // namespace

std::string render_report(const RunFiles& run) {
    std::string body = report_header(run);
    if (run.evaluation) body += budget_section(*run.evaluation);
    if (run.evaluation && run.manifest.boxes()) {
        body += privacy_section(*run.evaluation) + certified_section(*run.evaluation) +
                distance_section(*run.evaluation) + loss_section(*run.evaluation);
    }
    if (run.manifest.fleet()) body += fleet_section(run);
    if (!run.evaluation && !run.manifest.fleet()) body += missing_evaluation(run);
    body += training_section(run.training, run.manifest.boxes()) + configuration_section(run.manifest) +
            guarantees_section(run) + report_footer(run);
    return page("Holdfast report: " + run.folder, body);
}

}  // namespace holdfast
