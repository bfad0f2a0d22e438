#include <spdlog/logger.h>
#include <cmath>
#include <nlohmann/json.hpp>

#include "jobs/answers/release/together.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/composition.hpp"
#include "models/privacy/session/total_route.hpp"

namespace holdfast {
namespace {

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
        std::vector<int> labels;
        for (const Evidence& query : release.evidence.of(paid)) labels.push_back(mechanism.draw(query, bits));
        return labels;
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
