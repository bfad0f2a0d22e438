// holdfast report RUN [--out FILE]: one self-contained HTML page about a run.
// Example: holdfast report runs/blobs --out report.html

#include <memory>
#include <nlohmann/json.hpp>

#include "dist/files/atomic_file.hpp"
#include "jobs/program/job.hpp"
#include "jobs/study/report/page.hpp"
#include "jobs/study/report/read_run.hpp"

namespace holdfast {
namespace {

struct ReportOptions {
    std::string run, out;
};

void report(const ReportOptions& options, const Context& context) {
    if (!context.world.is_root()) return;
    // 1. Read what the other jobs left in the run folder.
    const RunFiles run = read_run_files(options.run);
    // 2. Write the page, for its owner only: it shows unprotected figures.
    const std::string out = options.out.empty() ? options.run + "/report.html" : options.out;
    write_file_atomically(out, std::string_view(render_report(run)), private_mode);
    // 3. Say where it is, and what it lacks.
    const std::string note = run.evaluation || run.manifest.fleet()
                                 ? ""
                                 : "The run has no evaluation yet: see holdfast evaluate --help.\n";
    context.print({{"report", out}, {"evaluated", run.evaluation.has_value()}},
                  "Report: " + out + "\n" + note);
}

}  // namespace

Run declare_report(const Command& command) {
    auto options = std::make_shared<ReportOptions>();
    command.add_option("run", options->run, "Run folder written by holdfast train or holdfast fleet")
        .required();
    command.add_option("--out", options->out, "HTML file to write (default: report.html in the run folder)");
    return [options](const Context& context) { report(*options, context); };
}

}  // namespace holdfast
