// holdfast account: the privacy budget of a population, for its owner. The first time opens the account,
// every time adds the dataset to it: a copy, another scaling or one record more draws on the same budget.
//   holdfast account --ledger hospital.db --data patients.h5 --budget 10
//   holdfast account --ledger hospital.db --data patients_2025.h5
//   holdfast account --ledger hospital.db --population patients
//   holdfast account --ledger hospital.db --check --head HASH
//   holdfast account --ledger clinic.db --data clinic.h5 --budget 2 --budget-delta 1e-6 --composition renyi

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "jobs/answers/account/files.hpp"
#include "jobs/program/date.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/rounded.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/payer.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {
namespace {

struct AccountRequest {
    std::string ledger, data, population, public_file, queries, relation = "add_remove",
                                                                composition = "basic";
    std::string config;  ///< named in the next command alone
    std::optional<double> budget, fixed;
    double budget_delta = 0, delta_apart = 0;
    bool check = false, other_people = false, held = false, by_month = false;
    std::string head;
};

void require_epsilon(const std::optional<double>& value, const std::string& option) {
    if (!value || (*value > 0 && std::isfinite(*value))) return;
    throw Error(ExitCode::usage, "not a positive number", "give an epsilon, such as 10", option);
}

void check_renyi(const AccountRequest& request) {
    if (request.fixed)
        throw Error(ExitCode::usage, "answers of a fixed epsilon compose by the optimal bound",
                    "leave --fixed or --composition out", "--composition");
    if (!(request.delta_apart >= 0 && request.delta_apart < request.budget_delta))
        throw Error(ExitCode::usage, "a Renyi account reads its curves at a delta of its own",
                    "give a --budget-delta such as 1e-6, and no more than a part of it as --delta-apart",
                    "--budget-delta");
}

void check_gaussian(const AccountRequest& request) {
    if (request.fixed)
        throw Error(ExitCode::usage, "answers of a fixed epsilon compose by the optimal bound",
                    "leave --fixed or --composition out", "--composition");
    if (!(request.delta_apart >= 0 && request.delta_apart < request.budget_delta))
        throw Error(ExitCode::usage,
                    "an account of Gaussian privacy needs a delta, of which less is set apart",
                    "give a --budget-delta such as 1e-6, and no more than a part of it as --delta-apart",
                    "--budget-delta");
}

/// What can be refused before anything is read or made: a ledger that is not there would be made.
void check(const AccountRequest& request) {
    std::error_code ignored;
    if (request.check) {
        if (!std::filesystem::exists(request.ledger, ignored))
            throw Error(ExitCode::usage, "no such ledger", "name the file to check", request.ledger);
        return;
    }
    const std::string* asked[] = {&request.data, &request.population, &request.public_file, &request.queries};
    if (std::count_if(std::begin(asked), std::end(asked),
                      [](const std::string* one) { return !one->empty(); }) != 1) {
        throw Error(ExitCode::usage, "whose account?",
                    "give one of --data FILE, --population NAME to look at an account, --public FILE or "
                    "--queries FILE",
                    "--data");
    }
    if (request.other_people && request.data.empty() && request.public_file.empty())
        throw Error(ExitCode::usage, "of whom?", "give it with --data FILE or --public FILE",
                    "--other-people");
    require_epsilon(request.budget, "--budget");
    require_epsilon(request.fixed, "--fixed");
    if (!(request.budget_delta >= 0 && request.budget_delta < 1))
        throw Error(ExitCode::usage, "not in [0, 1)", "give 0, or a value such as 1e-6", "--budget-delta");
    if (request.composition == "renyi") check_renyi(request);
    if (request.composition == "gdp") check_gaussian(request);
    if (request.budget || std::filesystem::exists(request.ledger, ignored)) return;
    throw Error(ExitCode::usage, "no such ledger",
                "give --data FILE and --budget EPSILON once: it cannot be changed later", request.ledger);
}

/// The terms of a new account, where --budget asks for one.
std::optional<Account> opening(const AccountRequest& request) {
    if (!request.budget) return std::nullopt;
    Budget budget{decimal_value(*request.budget, "--budget"),
                  decimal_value(request.budget_delta, "--budget-delta"), std::nullopt};
    if (request.fixed) budget.fixed_epsilon = decimal_value(*request.fixed, "--fixed");
    budget.delta_apart = decimal_value(request.delta_apart, "--delta-apart");
    if (request.composition == "renyi")
        budget.renyi_order = order_for_budget(budget.epsilon, budget.delta - budget.delta_apart);
    budget.gaussian = request.composition == "gdp";
    return Account{budget, request.relation};
}

/// Opened once: every opening verifies all of it. With `dataset` added to its population's account.
Ledger open_ledger(const AccountRequest& request, const std::optional<DatasetIdentity>& dataset) {
    Ledger ledger(request.ledger);
    if (dataset)
        ledger.add_version(dataset->population, dataset->digest, dataset->ids, opening(request),
                           {dataset->id_kind, dataset->contents, request.other_people, request.held});
    return ledger;
}

/// What the ledger holds on a population.
struct Balance {
    std::string population;
    Account account;
    Spending spent;
    std::vector<DatasetVersion> versions;
    std::vector<LedgerPayment> payments;
    std::vector<MonthSpending> months;  ///< where they are asked for
};

/// A payment, and the models published under it.
std::string as_text(const LedgerPayment& payment) {
    std::string text = "payment     " + date_of(payment.time) + " " + payment.mechanism + ", epsilon " +
                       decimal_text(payment.epsilon) + ", delta " + decimal_text(payment.delta) + ", token " +
                       payment.token.substr(0, 16) + "\n";
    for (const Publication& publication : payment.publications)
        text += "published   " + date_of(publication.time) + " model " +
                publication.model_digest.substr(0, 16) + "\n";
    return text;
}

std::string as_text(const MonthSpending& one) {
    return one.month + "      spent until then " + round_up_text(shown(one.spent.epsilon)) + " of " +
           decimal_text(one.spent.budget.epsilon) + "\n";
}

std::string as_text(const Balance& balance) {
    const Budget& budget = balance.account.budget;
    const Spending& spent = balance.spent;
    std::string text = "population  " + balance.population + "\nrelation    " + balance.account.relation +
                       "\nbudget      epsilon " + decimal_text(budget.epsilon) + ", delta " +
                       decimal_text(budget.delta);
    if (budget.fixed_epsilon) text += ", every answer at epsilon " + decimal_text(*budget.fixed_epsilon);
    if (budget.renyi_order) text += ", by a Renyi filter at order " + std::to_string(*budget.renyi_order);
    if (budget.gaussian) text += ", by a filter of Gaussian privacy";
    if (budget.delta_apart > 0) text += ", delta " + decimal_text(budget.delta_apart) + " set apart";
    text += "\nspent       epsilon " + decimal_text(spent.epsilon) + ", delta " + decimal_text(spent.delta) +
            ", on " + std::to_string(spent.answers) + " answers";
    if (spent.payments > 0) text += " and " + std::to_string(spent.payments) + " payments";
    text += "\n";
    for (const MonthSpending& one : balance.months) text += as_text(one);
    for (const LedgerPayment& payment : balance.payments) text += as_text(payment);
    for (const DatasetVersion& version : balance.versions) {
        text +=
            "version     " + version.dataset.substr(0, 16) + ", " +
            (version.ids > 0 ? std::to_string(version.ids) + " ids by which its records are known"
                             : std::string("no ids that name records: it is known by its population alone")) +
            "\n";
    }
    return text;
}

nlohmann::json as_json(const LedgerPayment& payment) {
    nlohmann::json object = {{"token", payment.token},           {"dataset", payment.dataset},
                             {"date", date_of(payment.time)},    {"epsilon", shown(payment.epsilon)},
                             {"delta", shown(payment.delta)},    {"mechanism", payment.mechanism},
                             {"models", nlohmann::json::array()}};
    for (const Publication& publication : payment.publications)
        object["models"].push_back(
            {{"digest", publication.model_digest}, {"date", date_of(publication.time)}});
    return object;
}

nlohmann::json as_json(const Balance& balance) {
    const Budget& budget = balance.account.budget;
    nlohmann::json object = {
        {"population", balance.population},          {"relation", balance.account.relation},
        {"composition", composition_of(budget)},     {"budget_epsilon", shown(budget.epsilon)},
        {"budget_delta", shown(budget.delta)},       {"spent_epsilon", shown(balance.spent.epsilon)},
        {"spent_delta", shown(balance.spent.delta)}, {"answers", balance.spent.answers},
        {"payments", nlohmann::json::array()},       {"versions", nlohmann::json::array()}};
    if (budget.fixed_epsilon) object["fixed_epsilon"] = shown(*budget.fixed_epsilon);
    if (budget.renyi_order) object["renyi_order"] = *budget.renyi_order;
    if (budget.renyi_order || budget.gaussian) object["delta_apart"] = shown(budget.delta_apart);
    for (const MonthSpending& one : balance.months)
        object["months"].push_back({{"month", one.month},
                                    {"spent_epsilon", shown(one.spent.epsilon)},
                                    {"spent_delta", shown(one.spent.delta)}});
    for (const LedgerPayment& payment : balance.payments) object["payments"].push_back(as_json(payment));
    for (const DatasetVersion& version : balance.versions)
        object["versions"].push_back({{"dataset", version.dataset}, {"ids", version.ids}});
    return object;
}

/// The whole ledger against its chain, and its chain against a head that was kept.
void check_chain(const Context& context, const AccountRequest& request) {
    const Ledger ledger(request.ledger);  // verifies every row
    if (!request.head.empty() && !ledger.had_head(request.head))
        throw Error(ExitCode::input, "its chain never had the head " + request.head,
                    "it was put back, cut or written anew, or the head is of another ledger", request.ledger);
    const ChainState chain = ledger.chain();
    std::string text = "chain       " + std::to_string(chain.entries) +
                       " entries, every row as it was written\n" + "head        " + chain.head + "\n";
    if (chain.migrated_from > 0)
        text += "begins      where the ledger left layout " + std::to_string(chain.migrated_from) +
                ": what was changed before is not shown\n";
    if (!request.head.empty()) text += "kept head   the chain had it\n";
    context.print({{"chain_entries", chain.entries},
                   {"chain_head", chain.head},
                   {"migrated_from", chain.migrated_from}},
                  text);
}

/// How to go on, where the configuration is named that is to be paid for.
std::string next_of(const AccountRequest& request) {
    if (request.config.empty()) return "";
    return next_command({"train", "--config", request.config, "--data", request.data, "--ledger",
                         request.ledger, "--out", beside_dataset(request.data, "-run")});
}

void account(const Context& context, const AccountRequest& request) {
    // 1. What is asked for. One rank keeps the ledger; the others wait.
    check(request);
    if (!context.world.is_root()) return context.world.barrier();
    if (request.check) {
        check_chain(context, request);
        return context.world.barrier();
    }

    if (!request.public_file.empty())
        check_public_file(context, request.ledger, request.public_file, request.other_people);
    if (!request.queries.empty()) tell_known_queries(context, request.ledger, request.queries);
    if (!request.public_file.empty() || !request.queries.empty()) return context.world.barrier();

    // 2. The records, and whose they are; the account opened and the dataset added in one transaction.
    std::optional<DatasetIdentity> dataset;
    if (!request.data.empty()) dataset = identify_of_population(DatasetReader(request.data));
    if (dataset && request.held) dataset->population = held_population(dataset->population);
    const Ledger ledger = open_ledger(request, dataset);
    const std::string population = dataset ? dataset->population : request.population;

    // 3. The account as it stands.
    const std::optional<Account> terms = ledger.account(population);
    if (!terms) {
        throw Error(ExitCode::usage, "no account of the population '" + population + "' in " + request.ledger,
                    "give --data FILE and --budget EPSILON to open it", "--population");
    }
    const Balance balance{
        population,
        *terms,
        *ledger.spending(population),
        ledger.versions(population),
        ledger.payments(population),
        request.by_month ? ledger.spending_by_month(population) : std::vector<MonthSpending>()};
    context.print(as_json(balance), as_text(balance) + next_of(request));
    context.world.barrier();
}

}  // namespace

Run declare_account(const Command& command) {
    auto request = std::make_shared<AccountRequest>();
    command.add_option("--ledger", request->ledger, "SQLite file of all accounts, made if need be (0600)")
        .required();
    const Argument data =
        command.add_option("--data", request->data, "Dataset FILE[:SPLIT] to add, split train by default");
    command.add_option("--population", request->population, "Only show the account of this population")
        .excludes(data);
    command.add_option(
        "--public", request->public_file,
        "Only check that no id of this dataset names a person of the ledger, and no record has the features "
        "of one there, and note it: what pays by the ledger takes public records (train --public) that were "
        "so checked alone");
    command.add_option(
        "--queries", request->queries,
        "Only tell which of these queries, FILE[:SPLIT], split test by default, are people of the "
        "ledger, by id or by features: for the owner alone, as no budget covers what an answer tells of "
        "them");
    command.add_flag(
        "--other-people", request->other_people,
        "With --data or --public: these people are in no other account of the ledger, though their ids are "
        "of another kind or some records have equal features. Copies whose ids and features both differ are "
        "never seen");
    command
        .add_flag(
            "--held", request->held,
            "With --data FILE:test: these persons of the population are held out of all training, and have "
            "an account of their own, POPULATION.held, for holdfast validate; refused where one of them is "
            "in the population's own account")
        .needs(data);
    command.add_flag(
        "--by-month", request->by_month,
        "What of the budget had been spent when each month was over: what a year of appends and releases "
        "costs its people");
    const Argument check = command.add_flag(
        "--check", request->check,
        "Only verify the ledger: every row against its hash chain, as every opening does. A chain that its "
        "owner wrote anew, or an old copy put back, is shown by a kept head alone");
    command
        .add_option("--head", request->head,
                    "With --check: a head that a statement printed; exit 3 where the chain never had it")
        .needs(check);
    check.excludes(data);
    const Argument budget = command.add_option(
        "--budget", request->budget, "Total epsilon its people may ever spend: given once, fixed for good");
    budget.needs(data);
    command.add_option("--budget-delta", request->budget_delta, "Total delta, likewise").needs(budget);
    command
        .add_option("--fixed", request->fixed,
                    "Every answer ever will cost exactly this epsilon: composes by the least of basic, "
                    "advanced and optimal")
        .needs(budget);
    command
        .add_option(
            "--composition", request->composition,
            "Rule for what is chosen as answers come: the sum of all epsilons and deltas; a filter of "
            "Renyi privacy at one order, fixed by the budget: for many payments and small answers; or "
            "gdp, a filter of Gaussian privacy: for answers by stable_gauss and pure ones alone")
        .one_of({"basic", "renyi", "gdp"})
        .needs(budget)
        .show_default();
    command
        .add_option(
            "--delta-apart", request->delta_apart,
            "The part of --budget-delta that, with renyi, is for answers that have a delta of their own, "
            "with gdp for names and columns that measure tells as they are")
        .needs(budget);
    command
        .add_option(
            "--relation", request->relation,
            "Which neighbours the budget counts; label: of labels alone, features being public, for holdfast "
            "measure --labels")
        .one_of({"add_remove", "substitute", "label"})
        .needs(budget)
        .show_default();
    command
        .add_option("--config", request->config,
                    "What is to be trained and paid for, only named in the command that this one ends with")
        .needs(data);
    return [request](const Context& context) { account(context, *request); };
}

}  // namespace holdfast
