#include "jobs/answers/statement/sections.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "jobs/program/date.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/measure/constants.hpp"
#include "models/privacy/measure/distance_aggregate.hpp"
#include "models/privacy/measure/score_table.hpp"
#include "models/privacy/selection/runs_law.hpp"

namespace holdfast {
namespace {

using Json = nlohmann::ordered_json;

Json parsed(const std::string& text) {
    Json value = Json::parse(text, nullptr, false);
    if (value.is_discarded() || !value.is_object())
        throw Error(ExitCode::input, "the ledger holds a guarantee or parameters that are damaged: " + text,
                    "restore the ledger from its last copy", "ledger");
    return value;
}

/// As Guarantee writes it, the status first.
Json guarantee_of(const std::string& text) {
    const Json written = parsed(text);
    Json guarantee;
    for (const char* field : {"status", "statement", "relation", "gap", "conditions"}) {
        if (written.contains(field)) guarantee[field] = written.at(field);
    }
    if (!guarantee.contains("status"))
        throw Error(ExitCode::input, "the ledger holds a guarantee without a status: " + text,
                    "restore the ledger from its last copy", "ledger");
    return guarantee;
}

Json entry_of(const LedgerTerms& terms) {
    return {{"kind", "answers"},
            {"answers", terms.answers},
            {"mechanism", terms.mechanism},
            {terms.together ? "epsilon_together" : "epsilon_an_answer", shown(terms.epsilon)},
            {terms.together ? "delta_together" : "delta_an_answer", shown(terms.delta)},
            {"first", date_of(terms.first_time)},
            {"last", date_of(terms.last_time)},
            {"guarantee", guarantee_of(terms.guarantee)}};
}

/// What the noisy table of a validation says of its model: released, as the table is.
Json found_by(const LedgerPayment& payment, const Json& parameters) {
    TableNoise noise;
    noise.law = parameters.value("noise", "");
    noise.scale = parameters.value("noise_scale", 0.0);
    const ScoreTable table = ScoreTable::of(payment.result, "ledger");
    return figures_of(table, noise.deviation()).to_json(table.scored());
}

/// The day of a model's publication follows the end of its training. After a selection that would tell of the
/// secret number of trainings, so the day of the payment stands alone.
bool shows_publication_day(const LedgerPayment& payment) {
    return payment.mechanism != selection_mechanism;
}

Json models_published(const LedgerPayment& payment) {
    Json models = Json::array();
    for (const Publication& publication : payment.publications) {
        Json model = Json::object();
        if (shows_publication_day(payment)) model["published"] = date_of(publication.time);
        model["digest"] = publication.model_digest;
        models.push_back(model);
    }
    return models;
}

Json entry_of(const LedgerPayment& payment) {
    const Json parameters = parsed(payment.parameters);
    if (payment.mechanism == measured_mechanism || payment.mechanism == named_mechanism ||
        payment.mechanism == tested_mechanism || payment.mechanism == validation_mechanism ||
        payment.mechanism == aggregate_mechanism || payment.mechanism == selection_score_mechanism) {
        Json entry = {{"kind", payment.mechanism},
                      {"mechanism", payment.mechanism},
                      {"epsilon_on_its_own", shown(payment.epsilon)},
                      {"delta_on_its_own", shown(payment.delta)},
                      {"charged", date_of(payment.time)},
                      {"parameters", parameters},
                      {"guarantee", guarantee_of(payment.guarantee)}};
        if (payment.mechanism == validation_mechanism && !payment.result.empty())
            entry["found"] = found_by(payment, parameters);
        if (payment.mechanism == aggregate_mechanism && !payment.result.empty())
            entry["number"] = parsed(payment.result);
        return entry;
    }
    if (parameters.contains("kind"))  // of answers: listed by their terms too, which say how many
        return {{"kind", "payment_for_answers"},
                {"mechanism", payment.mechanism},
                {"epsilon_together", shown(payment.epsilon)},
                {"delta_together", shown(payment.delta)},
                {"charged", date_of(payment.time)},
                {"parameters", parameters},
                {"guarantee", guarantee_of(payment.guarantee)}};
    return {{"kind", "model"},
            {"mechanism", payment.mechanism},
            {"epsilon_on_its_own", shown(payment.epsilon)},
            {"delta_on_its_own", shown(payment.delta)},
            {"charged", date_of(payment.time)},
            {"parameters", parameters},
            {"models", models_published(payment)},
            {"guarantee", guarantee_of(payment.guarantee)}};
}

}  // namespace

std::int64_t Released::models() const {
    std::int64_t count = 0;
    for (const LedgerPayment& payment : payments)
        count += static_cast<std::int64_t>(payment.publications.size());
    return count;
}

Json releases_of(const Released& released) {
    Json list = Json::array();
    for (const LedgerTerms& terms : released.answers) list.push_back(entry_of(terms));
    for (const LedgerPayment& payment : released.payments) list.push_back(entry_of(payment));
    return list;
}

Json period_of(const Released& released) {
    if (!released.any()) return nullptr;
    std::vector<std::int64_t> times;
    for (const LedgerTerms& terms : released.answers)
        times.insert(times.end(), {terms.first_time, terms.last_time});
    for (const LedgerPayment& payment : released.payments) {
        times.push_back(payment.time);
        if (!shows_publication_day(payment)) continue;
        for (const Publication& publication : payment.publications) times.push_back(publication.time);
    }
    const auto [first, last] = std::minmax_element(times.begin(), times.end());
    return {{"first_release", date_of(*first)}, {"last_release", date_of(*last)}};
}

std::string status_of(const Json& releases) {
    const auto open = std::count_if(releases.begin(), releases.end(), [](const Json& release) {
        return release.at("guarantee").at("status") != "proved";
    });
    if (releases.empty()) return "nothing was released";
    if (open == 0) return "proved";
    return "as published (gap: " + std::to_string(open) + " of " + std::to_string(releases.size()) +
           " kinds of release rest on an argument with a gap, which each names)";
}

}  // namespace holdfast
