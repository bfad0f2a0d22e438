// holdfast validate: how good a published model is on persons who were held out, under privacy: one noisy
// table of scores, charged to an account of theirs. From it come accuracy, AUC and calibration, with their
// errors; the same again gives the same table and costs nothing.
//   holdfast account --ledger ward.db --data patients.h5:test --held --budget 1 --budget-delta 1e-5
//   holdfast validate --model model.h5 --data patients.h5 --ledger ward.db --epsilon 0.3

#include <spdlog/logger.h>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/quality.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/rounded.hpp"
#include "jobs/program/runs/held_persons.hpp"
#include "jobs/program/runs/payer.hpp"
#include "jobs/program/transport.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "kernels/ops/row_weight.hpp"
#include "models/certify/answers.hpp"
#include "models/certify/claims.hpp"
#include "models/nets/model_file.hpp"
#include "models/privacy/measure/column_tree.hpp"
#include "models/privacy/measure/score_table.hpp"

namespace holdfast {
namespace {

struct ValidateRequest {
    std::string model, data, ledger;
    double epsilon = 0, delta = 0;
};

/// What a model reads of training persons must have been paid for: it was published by this ledger.
void require_published(const Ledger& ledger, const std::string& population, const std::string& digest,
                       const std::string& path) {
    for (const LedgerPayment& payment : ledger.payments(population)) {
        for (const Publication& publication : payment.publications)
            if (publication.model_digest == digest) return;
    }
    throw Error(ExitCode::budget,
                "this ledger published no such model of '" + population +
                    "': its scores may tell of persons it was trained on; nothing was charged",
                "publish it first: holdfast publish", path);
}

/// Persons by cell, in shares: the one of their score, or answer, and label; each row of several by its part.
std::vector<std::int64_t> counted(const Model& model, const Records& records, ScoreTable& table) {
    const auto backend = make_backend("cpu", model.precision, Product::exact, 0);
    const Answers answers =
        answers_of(model.network, *backend, model.parameters, model.feature_map()(records));
    const std::size_t outputs = model.network.outputs();
    table.classes = model.network.classes();
    table.rows = table.scored() ? ScoreTable::score_bins : table.classes;
    std::vector<std::int64_t> shares(table.rows * table.classes);
    const RecordSet rows = records.view();
    for (std::size_t q = 0; q < records.size(); ++q) {
        const double* logits = answers.logits.data() + q * outputs;
        const double lead = outputs == 1 ? logits[0] : logits[1] - logits[0];
        const std::size_t row = table.scored() ? ScoreTable::bin_of(lead, answers.labels[q])
                                               : static_cast<std::size_t>(answers.labels[q]);
        shares[row * table.classes + static_cast<std::size_t>(records.labels[q])] +=
            part_of(whole_person, rows.weight(q));
    }
    return shares;
}

std::string line_of(const char* name, const Estimate& estimate) {
    return printed("  %-20s %.4f +- %.4f\n", name, estimate.value, estimate.error);
}

std::string as_text(const Figures& figures, bool scored, const TableNoise& noise, bool charged) {
    std::string text = printed("about %.0f persons held out, noise of %.3g a cell (%s)\n", figures.persons,
                               noise.deviation(), noise.law.c_str());
    text += line_of("accuracy", figures.accuracy) + line_of("balanced accuracy", figures.balanced);
    if (scored) text += line_of("AUC", figures.auc) + line_of("Brier score", figures.brier);
    const double commonest = *std::max_element(figures.class_parts.begin(), figures.class_parts.end());
    return text + printed("  majority class (baseline): %.4f\n", commonest) + "cost epsilon " +
           round_up_text(shown(noise.epsilon)) + ", delta " + round_up_text(shown(noise.delta)) +
           (charged ? ", charged\n" : ", charged before: nothing now\n");
}

void validate(const Context& context, const ValidateRequest& request) {
    // 1. A published model, persons held out, and their account.
    if (!context.world.is_root()) return context.world.barrier();
    require_ledger(request.ledger);
    const StoredModel stored = read_model(request.model);
    const Model& model = stored.model;
    const std::string& model_digest = stored.digest;
    if (model.network.is_regression())
        throw Error(ExitCode::usage, "a regression has no classes to be right about", "validate a classifier",
                    request.model);
    const DatasetReader reader(request.data, "test");
    const DatasetInfo& info = reader.info();
    if (info.features != model.feature_map().columns())
        throw Error(ExitCode::input,
                    std::to_string(info.features) + " features, but the model takes " +
                        std::to_string(model.feature_map().columns()),
                    "give the split test of the dataset that it was trained on", info.path);
    Ledger ledger(request.ledger);
    const HeldPersons held = held_persons(reader, ledger, request.ledger);
    require_published(ledger, held.identity.population, model_digest, request.model);

    // 2. What a table costs, and the name it is kept under.
    const Relation relation = counted_by(held.account);
    const TableNoise noise = TableNoise::of(decimal_value(request.epsilon, "--epsilon"),
                                            decimal_value(request.delta, "--delta"), held.account.relation);
    Payment payment = noise.payment(nlohmann::json{
        {"model", model_digest},
        {"noise", noise.law},
        {"noise_scale", noise.scale},
        {"relation",
         held.account.relation}}.dump());
    payment.token = ledger.token_of(
        nlohmann::json{validation_mechanism, held.population, held.identity.digest, payment.parameters}
            .dump());
    const Guarantee claim = claim_about_scores(facts_of(info, false), relation, noise.epsilon, noise.delta);
    payment.guarantee = claim.to_json().dump();

    // 3. The records, as what cannot be counted costs nothing. Charged; then counted and drawn; then kept,
    // and shown as it is kept.
    Records records = reader.read_all();
    if (info.rows_at_most > 1) weigh_persons(records, info.rows_at_most, info.path);
    require_labels(records, model.network.classes(), request.data);
    const BoughtText bought = ledger.buy(held.identity.digest, payment, [&] {
        ScoreTable table;
        const std::vector<std::int64_t> counts = counted(model, records, table);
        SystemRandomBits bits;
        table.persons = noise.noisy(counts, bits);
        return table.text();
    });
    const ScoreTable table = ScoreTable::of(bought.text, request.ledger);
    const Figures figures = figures_of(table, noise.deviation());
    nlohmann::json object = figures.to_json(table.scored());
    object.update({{"model", model_digest},
                   {"charged", bought.charged},
                   {"cost", {{"epsilon", shown(noise.epsilon)}, {"delta", shown(noise.delta)}}},
                   {"noise_deviation", noise.deviation()},
                   {"table", nlohmann::json::parse(bought.text)},
                   {"guarantee", claim.to_json()}});
    context.print(object, as_text(figures, table.scored(), noise, bought.charged) + claim.lines() + "\n" +
                              next_command({"statement", "--ledger", request.ledger}));
    context.world.barrier();
}

}  // namespace

Run declare_validate(const Command& command) {
    auto request = std::make_shared<ValidateRequest>();
    command.add_option("--model", request->model, "Model file that holdfast publish wrote by this ledger")
        .required();
    command
        .add_option(
            "--data", request->data,
            "Dataset FILE[:SPLIT] of the persons held out, split test by default, scaled as that which "
            "the model was trained on")
        .required();
    command
        .add_option("--ledger", request->ledger,
                    "The file that paid for the model, with an account of those held out (holdfast account "
                    "--held)")
        .required();
    command.add_option("--epsilon", request->epsilon, "What the table costs them, charged once").required();
    command
        .add_option("--delta", request->delta,
                    "Beside it: normal noise, better from some seven tables on; 0: pure, by Laplace noise")
        .show_default();
    return [request](const Context& context) { validate(context, *request); };
}

}  // namespace holdfast
