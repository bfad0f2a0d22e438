#include "jobs/program/runs/payer.hpp"

#include <algorithm>
#include <filesystem>

#include "jobs/program/next_command.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/measure/constants.hpp"
#include "models/privacy/measure/drawn_labels.hpp"

namespace holdfast {
namespace {

bool sold(const std::vector<LedgerPayment>& payments, const std::string& measured) {
    return std::any_of(payments.begin(), payments.end(), [&](const LedgerPayment& payment) {
        return payment.mechanism == measured_mechanism && payment.result == measured;
    });
}

}  // namespace

std::string held_population(const std::string& population) {
    return population + ".held";
}

Relation counted_by(const Account& account) {
    return account.relation == name_of(Relation::substitute) ? Relation::substitute : Relation::add_remove;
}

void require_ledger(const std::string& path, const std::string& data) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return;
    const std::string ledger = path.empty() ? beside_dataset(data, ".ledger") : path;
    throw Error(ExitCode::usage,
                path.empty() ? "what is published is paid for, and no ledger is named" : "no such ledger",
                "its owner opens an account first: holdfast account --ledger " + ledger + " --data " + data +
                    " --budget EPSILON" + (path.empty() ? "; then --ledger " + ledger : ""),
                path.empty() ? "--ledger" : path);
}

void check_payer(const Ledger& ledger, const Payee& payee) {
    const std::optional<std::string> population = ledger.population_of(payee.dataset);
    if (!population)
        throw Error(ExitCode::usage,
                    "this ledger knows no population of the data that the run was trained on",
                    "its owner adds them: holdfast account --ledger " + payee.ledger + " --data " +
                        payee.path + " --budget EPSILON",
                    payee.ledger);
    if (payee.beside.records > 0 && !ledger.public_checked(payee.beside.digest))
        throw Error(
            ExitCode::usage,
            "the public records that the run trains on were not held against the people of this ledger, "
            "or not since some were added: nothing was charged",
            "its owner checks them: holdfast account --ledger " + payee.ledger + " --public FILE",
            payee.ledger);
    if (!payee.measured.empty() && !sold(ledger.payments(*population), payee.measured))
        throw Error(
            ExitCode::usage,
            "this ledger was not charged for the constants that were measured from the data: nothing was "
            "charged",
            "name the ledger that holdfast measure charged, or measure the table again by this one",
            payee.ledger);
    const std::string counted = ledger.account(*population)->relation;
    if (counted == payee.relation) return;
    if (counted == label_relation)
        throw Error(ExitCode::usage,
                    "the account of " + *population + " is for labels alone: nothing was charged",
                    "what is learnt from drawn labels costs nothing more (noise.law = \"none\", holdfast "
                    "publish); all else needs an account in another ledger",
                    payee.ledger);
    throw Error(ExitCode::usage,
                "the account of " + *population + " counts " + counted + " neighbours; under " +
                    payee.relation + " it would be spent twice: nothing was charged",
                "train with certificate.relation = \"" + counted + "\"", payee.ledger);
}

Rational delta_left(const Ledger& ledger, const std::string& population) {
    const Budget budget = ledger.account(population)->budget;
    if (budget.gaussian) {
        Rational left = budget.delta_apart;
        for (const LedgerPayment& payment : ledger.payments(population))
            if (payment.mechanism == named_mechanism || payment.mechanism == tested_mechanism)
                left -= payment.delta;
        return left;
    }
    const Spending spent = *ledger.spending(population);
    // What a Renyi account does not set apart counts as spent with the first release.
    return budget.renyi_order && spent.delta == 0 ? budget.delta_apart : Rational(budget.delta - spent.delta);
}

}  // namespace holdfast
