#include <spdlog/logger.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "dist/files/digest.hpp"
#include "jobs/answers/release/release.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/session/total_route.hpp"

namespace holdfast {
namespace {

/// Names what a payment is for: its amounts and what is drawn under them, the run and the queries, in any
/// order. Public.
std::string token_of(const Release& release, const std::string& route, const Payment& payment) {
    std::vector<Digest> queries = release.digests;
    std::sort(queries.begin(), queries.end());
    queries.erase(std::unique(queries.begin(), queries.end()), queries.end());
    const std::string about = payment.epsilon.get_str() + " " + payment.delta.get_str() + " " +
                              payment.parameters + " " + release.run.public_name();
    StreamDigest digest;
    digest.add(std::as_bytes(std::span(about)));
    for (const Digest& query : queries) digest.add(std::as_bytes(std::span(query)));
    return route + " " + digest.hex();
}

/// Answers all the queries under one payment, of which everything but the token is given.
Answered answer_under(Payment payment, const std::string& route, const Release& release, Ledger& ledger,
                      const Ledger::Draw& draw) {
    payment.token = token_of(release, route, payment);
    auto [answers, charged] = ledger.answer_together(release.dataset(), payment, release.digests, draw);
    Answered answered;
    std::int64_t fresh = 0;
    for (LedgerAnswer& answer : answers) {
        fresh += answer.remembered ? 0 : 1;
        answered.answers.emplace_back(std::move(answer));
    }
    const std::int64_t remembered = static_cast<std::int64_t>(answered.answers.size()) - fresh;
    answered.cost = {{"route", route},
                     {"epsilon_together", shown(payment.epsilon)},
                     {"delta_together", shown(payment.delta)},
                     {"charged", charged},
                     {"new_answers", fresh},
                     {"remembered_answers", remembered}};
    answered.said = std::to_string(fresh) + " new answers by " + route + ", " +
                    (charged ? "charged together at epsilon " + decimal_text(payment.epsilon) + ", delta " +
                                   decimal_text(payment.delta)
                             : "nothing charged") +
                    ", " + std::to_string(remembered) + " remembered";
    return answered;
}

/// A label of each of the queries that are paid for, by their evidence.
Ledger::Draw draw_by(const Release& release, const Mechanism& mechanism, RandomBits& bits) {
    return [&](std::span<const std::size_t> paid) {
        std::vector<int> labels;
        for (const Evidence& query : release.evidence.of(paid)) labels.push_back(mechanism.draw(query, bits));
        return labels;
    };
}

Guarantee batch_guarantee(const Mechanism& test, const std::string& relation) {
    Guarantee claim =
        Guarantee::proved("the labels of a file of queries, all of them or none, are together (" +
                              decimal_text(test.epsilon()) + ", " + decimal_text(test.delta()) +
                              ")-differentially private, whatever their number",
                          relation);
    claim.require(test.info().condition);
    return claim;
}

/// From so many answers on a model trained for the same budget has been the better buy on every table that
/// was tried.
constexpr std::int64_t answers_worth_a_model = 50;

Guarantee total_guarantee(const TotalRoute& route, const Rational& epsilon, const Rational& delta,
                          const std::string& relation) {
    const std::string each = route.mu > 0 ? "mu = " + nlohmann::json(route.mu).dump()
                                          : "epsilon = " + nlohmann::json(route.epsilon).dump();
    return Guarantee::proved("all " + std::to_string(route.answers) +
                                 " answers to a file of queries, each by " + route.mechanism + " at " + each +
                                 ", are together (" + decimal_text(epsilon) + ", " + decimal_text(delta) +
                                 ")-differentially private",
                             relation);
}

/// The payment for a file, of which the token is left open.
Payment payment_for(const TotalRoute& route, const Rational& epsilon, const Rational& delta,
                    const Guarantee& claim) {
    const nlohmann::json parameters = {{"kind", "file"},
                                       {"answers", route.answers},
                                       {"epsilon_an_answer", route.epsilon},
                                       {"mu_an_answer", route.mu}};
    return {"",
            epsilon,
            delta,
            route.curve(),
            route.mechanism,
            parameters.dump(),
            claim.to_json().dump(),
            route.mu_squared()};
}

}  // namespace

Answered answer_each(const Release& release, Ledger& ledger, RandomBits& bits) {
    const ReleaseRequest& request = release.request;
    const Mechanism mechanism = mechanism_for(release, request.mechanism, request.epsilon, request.delta);
    const Guarantee claim =
        claim_of(release, mechanism.guarantee(name_of(release.run.settings.certificate.relation)));
    const Charge charge{mechanism.epsilon(), mechanism.delta(), request.mechanism, claim.to_json().dump(),
                        mechanism.info().gaussian};
    return answer_charged(ledger, release.dataset(), charge, release.digests,
                          draw_by(release, mechanism, bits), request.epsilon, request.delta);
}

Answered answer_batch(const Release& release, Ledger& ledger, RandomBits& bits) {
    const ReleaseRequest& request = release.request;
    const Mechanism test = mechanism_for(release, "ptr", request.epsilon, request.delta);
    const Guarantee claim =
        claim_of(release, batch_guarantee(test, name_of(release.run.settings.certificate.relation)));
    const auto draw = [&](std::span<const std::size_t> paid) {
        const std::vector<Evidence> evidence = release.evidence.of(paid);
        Evidence least = evidence.front();
        for (const Evidence& query : evidence) least.distance = std::min(least.distance, query.distance);
        const bool passes = test.draw(least, bits) != refused;
        std::vector<int> labels;
        for (const Evidence& query : evidence) labels.push_back(passes ? query.label : refused);
        return labels;
    };
    const nlohmann::json parameters = {{"kind", "batch"}};
    return answer_under(
        {"", test.epsilon(), test.delta(), {}, "batch", parameters.dump(), claim.to_json().dump()}, "batch",
        release, ledger, draw);
}

Answered answer_for_total(const Release& release, Ledger& ledger, RandomBits& bits) {
    const ReleaseRequest& request = release.request;
    const Rational epsilon = decimal_value(request.total_epsilon, "--total-epsilon"),
                   delta = decimal_value(request.total_delta, "--total-delta");
    const std::int64_t answers =
        std::max<std::int64_t>(1, ledger.unanswered(release.dataset(), release.digests));
    const bool counts_mu = ledger.account(ledger.population_of(release.dataset()).value())->budget.gaussian;
    const std::string by = counts_mu && request.by == "auto" ? "stable_gauss" : request.by;
    const TotalRoute route = route_for_total(epsilon, delta, answers, static_cast<int>(release.run.classes()),
                                             distance_cap(release.run, release.ensemble()), by);
    const Mechanism mechanism = mechanism_for(release, route.mechanism, route.epsilon, 0, route.mu);
    Guarantee drawn =
        total_guarantee(route, epsilon, delta, name_of(release.run.settings.certificate.relation));
    drawn.require(mechanism.info().condition);
    const auto draw = [&](std::span<const std::size_t> paid) {
        ensure(static_cast<std::int64_t>(paid.size()) <= answers, "no more answers than were composed");
        return draw_by(release, mechanism, bits)(paid);
    };
    if (answers >= answers_worth_a_model)
        release.context.log->info(
            "for {} answers a model trained under the same budget usually serves better, and answers without "
            "end: training.kind = \"noisy\", then holdfast publish",
            answers);
    return answer_under(payment_for(route, epsilon, delta, claim_of(release, drawn)), route.mechanism,
                        release, ledger, draw);
}

}  // namespace holdfast
