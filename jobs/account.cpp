// holdfast account: the privacy budget of a population, for its owner. The first time opens the account,
// every time adds the dataset to it: a copy, another scaling or one record more draws on the same budget.
//   holdfast account --ledger hospital.db --data patients.h5 --budget 10
//   holdfast account --ledger hospital.db --data patients_2025.h5
//   holdfast account --ledger hospital.db --population patients

#include <cmath>
#include <filesystem>
#include <optional>

#include "jobs/dataset_identity.hpp"
#include "jobs/job.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {
namespace {

struct Request {
    std::string ledger, data, population, relation = "add_remove";
    std::optional<double> budget, fixed;
    double budget_delta = 0;
};

void require_epsilon(const std::optional<double>& value, const std::string& option) {
    if (!value || (*value > 0 && std::isfinite(*value))) return;
    throw Error(ExitCode::usage, "not a positive number", "give an epsilon, such as 10", option);
}

/// What can be refused before anything is read or made: a ledger that is not there would be made.
void check(const Request& request) {
    if (request.data.empty() == request.population.empty()) {
        throw Error(ExitCode::usage, "whose account?",
                    "give --data FILE, or --population NAME to look at an account", "--data");
    }
    require_epsilon(request.budget, "--budget");
    require_epsilon(request.fixed, "--fixed");
    if (!(request.budget_delta >= 0 && request.budget_delta < 1))
        throw Error(ExitCode::usage, "not in [0, 1)", "give 0, or a value such as 1e-6", "--budget-delta");
    std::error_code ignored;
    if (request.budget || std::filesystem::exists(request.ledger, ignored)) return;
    throw Error(ExitCode::usage, "no such ledger",
                "give --data FILE and --budget EPSILON once: it cannot be changed later", request.ledger);
}

/// The terms of a new account, where --budget asks for one.
std::optional<Account> opening(const Request& request) {
    if (!request.budget) return std::nullopt;
    Budget budget{decimal_value(*request.budget, "--budget"),
                  decimal_value(request.budget_delta, "--budget-delta"), std::nullopt};
    if (request.fixed) budget.fixed_epsilon = decimal_value(*request.fixed, "--fixed");
    return Account{budget, request.relation};
}

/// Adds the dataset to its population's account, and returns whose that is.
std::string add_dataset(const Request& request) {
    const DatasetIdentity dataset = identify(DatasetReader(request.data));
    Ledger ledger(request.ledger);
    ledger.add_version(dataset.population, dataset.digest, dataset.ids, opening(request));
    return dataset.population;
}

std::string as_text(const std::string& population, const Account& account, const Spending& spent,
                    const std::vector<DatasetVersion>& versions) {
    const Budget& budget = account.budget;
    std::string text = "population  " + population + "\nrelation    " + account.relation +
                       "\nbudget      epsilon " + decimal_text(budget.epsilon) + ", delta " +
                       decimal_text(budget.delta);
    if (budget.fixed_epsilon) text += ", every answer at epsilon " + decimal_text(*budget.fixed_epsilon);
    text += "\nspent       epsilon " + decimal_text(spent.epsilon) + ", delta " + decimal_text(spent.delta) +
            ", on " + std::to_string(spent.answers) + " answers\n";
    for (const DatasetVersion& version : versions) {
        text +=
            "version     " + version.dataset.substr(0, 16) + ", " +
            (version.ids > 0 ? std::to_string(version.ids) + " ids by which its records are known"
                             : std::string("no ids that name records: it is known by its population alone")) +
            "\n";
    }
    return text;
}

nlohmann::json as_json(const std::string& population, const Account& account, const Spending& spent,
                       const std::vector<DatasetVersion>& versions) {
    nlohmann::json object = {{"population", population},
                             {"relation", account.relation},
                             {"budget_epsilon", shown(account.budget.epsilon)},
                             {"budget_delta", shown(account.budget.delta)},
                             {"spent_epsilon", shown(spent.epsilon)},
                             {"spent_delta", shown(spent.delta)},
                             {"answers", spent.answers},
                             {"versions", nlohmann::json::array()}};
    if (account.budget.fixed_epsilon) object["fixed_epsilon"] = shown(*account.budget.fixed_epsilon);
    for (const DatasetVersion& version : versions)
        object["versions"].push_back({{"dataset", version.dataset}, {"ids", version.ids}});
    return object;
}

void account(const Context& context, const Request& request) {
    // 1. What is asked for. One rank keeps the ledger; the others wait.
    check(request);
    if (!context.world.is_root()) return context.world.barrier();

    // 2. The records, and whose they are; the account opened and the dataset added in one transaction.
    const std::string population = request.data.empty() ? request.population : add_dataset(request);

    // 3. The account as it stands.
    const Ledger ledger(request.ledger);
    const std::optional<Account> terms = ledger.account(population);
    if (!terms) {
        throw Error(ExitCode::usage, "no account of the population '" + population + "' in " + request.ledger,
                    "give --data FILE and --budget EPSILON to open it", "--population");
    }
    const Spending spent = *ledger.spending(population);
    const std::vector<DatasetVersion> versions = ledger.versions(population);
    context.print(as_json(population, *terms, spent, versions), as_text(population, *terms, spent, versions));
    context.world.barrier();
}

}  // namespace

Run declare_account(CLI::App& app) {
    auto request = std::make_shared<Request>();
    app.add_option("--ledger", request->ledger, "SQLite file of all accounts, made if need be (0600)")
        ->required();
    CLI::Option* data =
        app.add_option("--data", request->data, "Dataset FILE[:SPLIT] to add, split train by default");
    app.add_option("--population", request->population, "Only show the account of this population")
        ->excludes(data);
    CLI::Option* budget = app.add_option(
        "--budget", request->budget, "Total epsilon its people may ever spend: given once, fixed for good");
    budget->needs(data);
    app.add_option("--budget-delta", request->budget_delta, "Total delta, likewise")->needs(budget);
    app.add_option("--fixed", request->fixed,
                   "Every answer ever will cost exactly this epsilon: composes by the least of basic, "
                   "advanced and optimal")
        ->needs(budget);
    app.add_option("--relation", request->relation, "Which neighbours the budget counts")
        ->check(CLI::IsMember({"add_remove", "substitute"}))
        ->needs(budget)
        ->capture_default_str();
    return [request](const Context& context) { account(context, *request); };
}

}  // namespace holdfast
