// holdfast report RUN [--out FILE] [--ledger FILE]: one self-contained HTML page about a run.
// Example: holdfast report runs/blobs --out report.html

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "dist/files/atomic_file.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/runs/payer.hpp"
#include "jobs/study/report/page.hpp"
#include "jobs/study/report/read_run.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

struct ReportOptions {
    std::string run, out, ledger;
};

AccountView account_of(const RunFiles& run, const std::string& path) {
    require_ledger(path);
    const Ledger ledger(path);
    const auto population = ledger.population_of(run.manifest.dataset_field("digest"));
    if (!population)
        throw Error(ExitCode::usage, "this ledger has no account of the people of the run",
                    "name the ledger that pays for them, or leave the option out", "--ledger");
    const Spending spending = *ledger.spending(*population);
    const auto payments = ledger.payments(*population);
    const bool published = std::any_of(payments.begin(), payments.end(), [&](const LedgerPayment& payment) {
        return payment.token == run.manifest.token && !payment.publications.empty();
    });
    return {path,
            *population,
            {shown(spending.epsilon), shown(spending.delta), shown(spending.budget.epsilon),
             shown(spending.budget.delta)},
            published};
}

void report(const ReportOptions& options, const Context& context) {
    if (!context.world.is_root()) return;
    // 1. Read what the other jobs left in the run folder.
    RunFiles run = read_run_files(options.run);
    if (!options.ledger.empty()) run.account = account_of(run, options.ledger);
    // 2. Write the page, for its owner only: it shows unprotected figures.
    const std::string out = options.out.empty() ? options.run + "/report.html" : options.out;
    write_file_atomically(out, std::string_view(render_report(run)), private_mode);
    // 3. Say where it is, and what it lacks.
    const std::string note = run.evaluation || run.manifest.fleet() ? "" : "The run has no evaluation yet.\n";
    context.print({{"report", out}, {"evaluated", run.evaluation.has_value()}},
                  "Report: " + out + "\n" + note + next_command(report_next(run)));
}

}  // namespace

Run declare_report(const Command& command) {
    auto options = std::make_shared<ReportOptions>();
    command.add_option("run", options->run, "Run folder written by holdfast train or holdfast fleet")
        .required();
    command.add_output("--out", options->out, OutputKind::page,
                       "HTML file to write (default: report.html in the run folder)");
    command.add_option("--ledger", options->ledger,
                       "Ledger that pays for these people: what they have spent, and have left");
    return [options](const Context& context) { report(*options, context); };
}

}  // namespace holdfast
