#include "jobs/answers/answered.hpp"

#include <spdlog/logger.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "jobs/program/rounded.hpp"
#include "kernels/base/text.hpp"
#include "models/privacy/guarantee.hpp"
#include "models/privacy/mechanisms/outcome_law.hpp"

namespace holdfast {
namespace {

bool same_terms(const LedgerAnswer& one, const LedgerAnswer& other) {
    return one.mechanism == other.mechanism && one.epsilon == other.epsilon && one.delta == other.delta &&
           one.guarantee == other.guarantee && one.together == other.together;
}

/// Under which terms the answers were drawn: those of now, and of each earlier time an answer is remembered
/// from. {mechanism, epsilon, delta, together: are these of all of them, answers: how many, guarantee}, those
/// of now first.
nlohmann::json terms_of(const std::vector<std::optional<LedgerAnswer>>& answers) {
    std::vector<std::pair<const LedgerAnswer*, std::int64_t>> found;  // one of each, and how many
    std::size_t last = 0;                                             // of the answer before, most often
    for (const bool remembered : {false, true}) {
        for (const std::optional<LedgerAnswer>& known : answers) {
            if (!known || known->remembered != remembered) continue;
            if (last >= found.size() || !same_terms(*found[last].first, *known))
                last = static_cast<std::size_t>(
                    std::find_if(found.begin(), found.end(),
                                 [&](const auto& one) { return same_terms(*one.first, *known); }) -
                    found.begin());
            if (last == found.size()) found.emplace_back(&*known, 0);
            ++found[last].second;
        }
    }
    nlohmann::json terms = nlohmann::json::array();
    for (const auto& [answer, count] : found)
        terms.push_back({{"mechanism", answer->mechanism},
                         {"epsilon", shown(answer->epsilon)},
                         {"delta", shown(answer->delta)},
                         {"together", answer->together},
                         {"answers", count},
                         {"guarantee", nlohmann::json::parse(answer->guarantee)}});
    return terms;
}

/// "0", a number, "refused", or "unanswered" where a session had ended.
std::string text_of(const std::optional<LedgerAnswer>& answer, const std::vector<double>& values) {
    if (!answer) return "unanswered";
    if (answer->label == refused) return "refused";
    return values.empty() ? std::to_string(answer->label)
                          : printed("%.10g", values[static_cast<std::size_t>(answer->label)]);
}

nlohmann::json as_json(const std::optional<LedgerAnswer>& answer, const std::vector<double>& values) {
    if (!answer || answer->label == refused) return nullptr;
    if (values.empty()) return answer->label;
    return values[static_cast<std::size_t>(answer->label)];
}

}  // namespace

void print_answers(const Context& context, Answered answered, const Spending& spent) {
    nlohmann::json labels = nlohmann::json::array();
    std::string text;
    for (const std::optional<LedgerAnswer>& answer : answered.answers) {
        labels.push_back(as_json(answer, answered.values));
        text += text_of(answer, answered.values) + "\n";
    }
    const nlohmann::json terms = terms_of(answered.answers);
    answered.cost.update({{"spent_epsilon", shown(spent.epsilon)},
                          {"spent_delta", shown(spent.delta)},
                          {"budget_epsilon", shown(spent.budget.epsilon)},
                          {"budget_delta", shown(spent.budget.delta)}});
    context.log->info("{}; spent epsilon {} of {}, delta {} of {}", answered.said,
                      decimal_text(spent.epsilon), decimal_text(spent.budget.epsilon),
                      decimal_text(spent.delta), decimal_text(spent.budget.delta));
    for (const nlohmann::json& term : terms) {
        context.log->info(Guarantee::lines_of(term["guarantee"],
                                              term["answers"].dump() + " answers by " +
                                                  term["mechanism"].get<std::string>() + " at epsilon " +
                                                  round_up_text(term["epsilon"].get<double>()) + ", delta " +
                                                  round_up_text(term["delta"].get<double>()) +
                                                  (term["together"].get<bool>() ? " together: " : ": ")));
    }
    nlohmann::json object = {{answered.values.empty() ? "labels" : "predictions", labels},
                             {"cost", answered.cost},
                             {"terms", terms}};
    if (!answered.session.is_null()) object["session"] = answered.session;
    context.print(object, text);
}

Answered answer_charged(Ledger& ledger, const std::string& dataset, const Charge& charge,
                        const std::vector<Digest>& digests, const Ledger::Draw& draw, double epsilon,
                        double delta) {
    Answered answered;
    std::int64_t charged = 0;
    for (LedgerAnswer& answer : ledger.answer(dataset, charge, digests, draw)) {
        charged += answer.remembered ? 0 : 1;
        answered.answers.emplace_back(std::move(answer));
    }
    const std::int64_t remembered = static_cast<std::int64_t>(answered.answers.size()) - charged;
    answered.cost = {{"epsilon_per_answer", epsilon},
                     {"delta_per_answer", delta},
                     {"charged_answers", charged},
                     {"remembered_answers", remembered}};
    answered.said = std::to_string(charged) + " answers charged at epsilon " + decimal_text(charge.epsilon) +
                    ", " + std::to_string(remembered) + " remembered";
    return answered;
}

}  // namespace holdfast
