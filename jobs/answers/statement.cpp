// holdfast statement: what was released about a population and under which privacy guarantee, for those who
// answer for it. From the ledger alone, and nothing in it is private: it may be published.
//   holdfast statement --ledger hospital.db
//   holdfast statement --ledger hospital.db --population patients --html statement.html

#include <nlohmann/json.hpp>

#include "jobs/answers/statement/document.hpp"

#include "dist/files/atomic_file.hpp"
#include "jobs/answers/statement/render.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/runs/payer.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

struct StatementRequest {
    std::string ledger, population, html;
};

std::vector<std::string> asked_for(const Ledger& ledger, const StatementRequest& request) {
    if (!request.population.empty()) return {request.population};
    std::vector<std::string> populations = ledger.populations();
    if (populations.empty())
        throw Error(ExitCode::usage, "the ledger has no account yet",
                    "open one: holdfast account --ledger " + request.ledger + " --data FILE --budget EPSILON",
                    request.ledger);
    return populations;
}

void statement(const Context& context, const StatementRequest& request) {
    if (!context.world.is_root()) return;
    // 1. What the ledger has on each population asked for. Looking at one must not make it.
    require_ledger(request.ledger);
    const Ledger ledger(request.ledger);
    const nlohmann::ordered_json document = statement_document(ledger, asked_for(ledger, request));
    // 2. On the screen, or as a page that anyone may read.
    if (request.html.empty()) return context.print(nlohmann::json(document), statement_text(document));
    write_file_atomically(request.html, std::string_view(statement_page(document)), public_mode);
    context.print({}, "Statement: " + request.html + "\n");
}

}  // namespace

Run declare_statement(const Command& command) {
    auto request = std::make_shared<StatementRequest>();
    command.add_option("--ledger", request->ledger, "SQLite file of all accounts").required();
    command.add_option("--population", request->population,
                       "Of this population only; else of all in the ledger");
    command.add_output("--html", request->html, OutputKind::page, "Write one self-contained HTML page here")
        .excludes(command.option("--json"));
    return [request](const Context& context) { statement(context, *request); };
}

}  // namespace holdfast
