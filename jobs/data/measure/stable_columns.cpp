#include "jobs/data/measure/stable_columns.hpp"

#include <spdlog/logger.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "dist/data/statistics.hpp"
#include "jobs/data/measure/table_columns.hpp"
#include "jobs/data/measure/table_of_persons.hpp"
#include "jobs/program/rounded.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "jobs/program/runs/payer.hpp"
#include "jobs/program/runs/publication.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/certify/claims.hpp"
#include "models/convex/convex_claim.hpp"
#include "models/convex/stable_support.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/measure/constants.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {
namespace {

/// Errors (usage): no price, or none that the test has a law for; no convex run.
void check_support(const SupportChoice& choice, const FinishedRun& run) {
    const auto refuse = [](const char* message, const char* hint, const std::string& where) {
        throw Error(ExitCode::usage, message, hint, where);
    };
    if (!choice.epsilon)
        refuse("what it may cost is not stated", "give --epsilon and --delta: they are charged to the ledger",
               "--epsilon");
    if (!choice.delta || !(*choice.delta > 0 && *choice.delta < 1))
        refuse("a choice that is told as it is costs a delta in (0, 1)", "give a value such as 1e-6",
               "--delta");
    if (run.manifest.kind != "convex")
        refuse("what one record moves is known of convex models",
               "name a run of training.kind = \"convex\" with convex.l1, or choose by --features",
               choice.run);
}

/// [inputs of the network]: which candidate it is of.
std::vector<std::size_t> candidates_of_inputs(const FeatureMap& features,
                                              const std::vector<ColumnGroup>& groups) {
    std::vector<std::size_t> of_feature(features.columns(), StableSupport::no_group);
    std::size_t candidate = 0;
    for (const ColumnGroup& group : groups) {
        if (!group.candidate) continue;
        for (const std::size_t feature : group.features) of_feature[feature] = candidate;
        ++candidate;
    }
    std::vector<std::size_t> of_input;
    for (const std::size_t column : columns_of_inputs(features)) of_input.push_back(of_feature[column]);
    return of_input;
}

/// Charged together: what is told is pure but for delta (models/privacy/mathematics.md, named categories).
struct SupportPayments {
    Payment pure, delta;
};

SupportPayments payments_for(const FinishedRun& run, const Mechanism& test, const Guarantee& claim,
                             std::size_t columns, const std::string& of) {
    const nlohmann::json parameters = {{"relation", name_of(run.settings.certificate.relation)},
                                       {"law", test.info().name},
                                       {"run", run.public_name()},
                                       {"columns", columns},
                                       {"epsilon", shown(test.epsilon())},
                                       {"delta", shown(test.delta())},
                                       {"of", of}};
    const Rational mu = gaussian_mu_of_pure(test.epsilon());
    const std::string guarantee = claim.to_json().dump();
    return {{"", test.epsilon(), 0, renyi_curve_of_pure(test.epsilon()), measured_mechanism,
             parameters.dump(), guarantee, Rational(mu * mu)},
            {"", 0, test.delta(), {}, tested_mechanism, parameters.dump(), guarantee}};
}

/// Where the account cannot pay the delta, nothing is begun.
void refuse_without_delta_of_test(const Ledger& ledger, const std::string& population, const Rational& delta,
                                  const std::string& path) {
    const Rational left = delta_left(ledger, population);
    if (delta <= left) return;
    const Budget budget = ledger.account(population)->budget;
    const bool apart = budget.gaussian || budget.renyi_order;
    throw Error(
        ExitCode::budget,
        "it costs a delta of " + decimal_text(delta) + ", and of what this account " +
            (apart ? "sets apart " : "has ") + (left > 0 ? decimal_text(left) : "nothing") +
            " is left: nothing was charged",
        apart ? "open accounts with --delta-apart, or ask for less by --delta" : "ask for less by --delta",
        path);
}

/// As the ledger keeps it: which candidates are used, ascending; nothing: it was refused.
std::optional<std::vector<std::size_t>> told_in(const std::string& text) {
    const nlohmann::json kept = nlohmann::json::parse(text);
    if (kept.contains("refused")) return std::nullopt;
    return kept.at("chosen").get<std::vector<std::size_t>>();
}

std::string told_text(const SupportChoice& choice, const std::optional<std::vector<std::size_t>>& told,
                      const std::vector<std::string>& names, std::size_t columns) {
    if (!told) return "refused: which of the " + std::to_string(columns) + " columns are used is not told\n";
    if (told->empty()) return "no column is used: there is no dataset to write\n";
    std::string text = choice.out + ": one more step of the run uses " + std::to_string(told->size()) +
                       " of " + std::to_string(columns) + " columns\n";
    for (const std::string& name : names) text += "    " + name + "\n";
    return text;
}

}  // namespace

void choose_stable_columns(const Context& context, const SupportChoice& choice) {
    // 1. A convex run, the records that it was trained on, and who can pay.
    if (!context.world.is_root()) return context.world.barrier();
    require_ledger(choice.ledger);
    const FinishedRun run = FinishedRun::open(choice.run);
    check_support(choice, run);
    const StableSupport support(run.settings, run.features);
    const Mechanism test = support.test(*choice.epsilon, *choice.delta);
    const DatasetReader reader(choice.data);
    const DatasetInfo& info = reader.info();
    check_scaled(info);
    require_unique_ids(reader);
    const std::string digest = digest_of_records(reader),
                      relation = name_of(run.settings.certificate.relation);
    Ledger ledger(choice.ledger);
    check_payer(ledger, {digest, info.path, run.manifest.public_records, relation, choice.ledger,
                         info.measured, pretraining_records(run.settings)});
    const std::string population = ledger.population_of(digest).value();
    const std::vector<MemberRecords> members = records_as_trained(run, reader);
    const std::vector<std::int64_t> parameters = parameters_of(run);

    // 2. What it costs: all of it public.
    const std::vector<ColumnGroup> groups = column_groups(info);
    const std::vector<std::size_t> inputs = candidates_of_inputs(run.features, groups);
    const auto columns = static_cast<std::size_t>(std::count_if(
        groups.begin(), groups.end(), [](const ColumnGroup& group) { return group.candidate; }));
    const Guarantee claim =
        convex_support_claim(run.settings, facts_of(run.manifest), test.epsilon(), test.delta());
    SupportPayments payments = payments_for(
        run, test, claim, columns,
        info.measured.empty() ? "" : MeasuredConstants::from_text(info.measured, info.path).token);
    for (Payment* payment : {&payments.pure, &payments.delta})
        payment->token = ledger.token_of(
            nlohmann::json{payment->mechanism, population, digest, payment->parameters, digest_of(groups)}
                .dump());
    if (!ledger.paid(digest, payments.delta.token))
        refuse_without_delta_of_test(ledger, population, test.delta(), choice.ledger);

    // 3. Charged, then drawn, then kept: the columns, or that they are not told.
    bool charged = false;
    const BoughtText bought = ledger.buy(digest, payments.pure, [&] {
        charged = ledger.pay(digest, payments.delta);
        const Support found =
            support.of(support.stepped(members.front().records, parameters), inputs, columns);
        SystemRandomBits bits;
        std::vector<std::size_t> used;
        for (std::size_t candidate = 0; candidate < columns; ++candidate)
            if (found.used[candidate]) used.push_back(candidate);
        if (test.draw(support.evidence(found), bits) == refused)
            return nlohmann::json{{"token", payments.pure.token}, {"refused", true}}.dump();
        return constants_text(info, payments.pure.token, groups, used);
    });

    charged = charged || bought.charged;

    // 4. The dataset of these columns, another version of its population's data.
    const std::optional<std::vector<std::size_t>> told = told_in(bought.text);
    std::vector<std::string> names;
    std::size_t features = 0;
    if (told && !told->empty()) {
        const std::vector<bool> kept = kept_groups(groups, *told);
        for (std::size_t g = 0; g < groups.size(); ++g)
            if (kept[g]) names.push_back(groups[g].name);
        features = write_chosen(ledger, population, choice.out, info, bought.text, groups, kept);
    }

    // 5. What was told, and what it cost.
    const double half = std::max(0.0, std::log(1 / (2 * *choice.delta)) / *choice.epsilon);
    const std::string cost = printed(
        "told as often as not where %.3g changed persons leave it as it is\n"
        "cost epsilon %s, delta %s, %s\n",
        half, round_up_text(shown(test.epsilon())).c_str(), round_up_text(shown(test.delta())).c_str(),
        charged ? "charged" : "charged before: nothing now");
    nlohmann::json object = {{"refused", !told.has_value()},
                             {"columns", names},
                             {"of", columns},
                             {"half_at", half},
                             {"charged", charged},
                             {"cost", {{"epsilon", shown(test.epsilon())}, {"delta", shown(test.delta())}}},
                             {"guarantee", claim.to_json()}};
    if (!names.empty()) object["path"] = choice.out;
    std::string text = told_text(choice, told, names, columns) + cost + claim.lines() + "\n";
    const Budget budget = ledger.account(population)->budget;
    const std::optional<double> left = left_of_account(budget, *ledger.spending(population));
    if (left) object["left_for_training"] = *left;
    if (!names.empty() && stated_count(info) > 0 && left.value_or(0) > 0)
        text += next_advice({stated_count(info), features, stated_classes(info), *left,
                             shown(budget.delta - budget.delta_apart), choice.out, choice.ledger});
    context.print(object, text);
    context.world.barrier();
}

}  // namespace holdfast
