#include "jobs/answers/release/together.hpp"

#include <algorithm>

#include "dist/files/digest.hpp"

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

}  // namespace

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

}  // namespace holdfast
