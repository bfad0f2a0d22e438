#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "dist/files/digest.hpp"
#include "jobs/answers/release/release.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/rounded.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/privacy/measure/distance_aggregate.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast {
namespace {

Guarantee aggregate_guarantee(const DistanceAggregate& aggregate, const Rational& epsilon,
                              const Rational& delta, const std::string& relation) {
    Guarantee claim =
        Guarantee::proved("the noisy number '" + aggregate.name + "' of the distances of a file of " +
                              std::to_string(aggregate.queries) + " queries is (" + decimal_text(epsilon) +
                              ", " + decimal_text(delta) + ")-differentially private",
                          relation);
    claim.require(nested_distances);
    return claim;
}

/// Names the file: its queries, in any order, and with `right` their labels.
std::string digest_of(std::vector<Digest> queries, std::span<const std::int32_t> truth) {
    std::vector<std::size_t> order(queries.size());
    std::iota(order.begin(), order.end(), 0);
    const auto label = [&](std::size_t q) { return truth.empty() ? 0 : truth[q]; };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(queries[a], label(a)) < std::pair(queries[b], label(b));
    });
    StreamDigest digest;
    for (const std::size_t q : order) {
        const std::int32_t own = label(q);
        digest.add(std::as_bytes(std::span(queries[q])));
        digest.add(std::as_bytes(std::span(&own, 1)));
    }
    return digest.hex();
}

/// As the ledger keeps it: a distance, and the standard deviation of its noise.
struct Drawn {
    double value = 0, error = 0;

    std::string text() const { return nlohmann::json{{"value", value}, {"error", error}}.dump(); }
    static Drawn of(const std::string& text, const std::string& where) {
        const nlohmann::json kept = nlohmann::json::parse(text, nullptr, false);
        if (kept.is_object() && kept.contains("value") && kept["value"].is_number() &&
            kept.contains("error") && kept["error"].is_number())
            return {kept["value"], kept["error"]};
        throw Error(ExitCode::input, "the ledger keeps an aggregate of distances that is damaged",
                    "restore the ledger from its last copy", where);
    }
};

}  // namespace

void release_aggregate(const Release& release, const Questions& questions, Ledger& ledger) {
    // 1. What is asked, what it costs, and the name it is kept under: all of it public.
    const ReleaseRequest& request = release.request;
    const FinishedRun& run = release.run;
    const DistanceAggregate aggregate = DistanceAggregate::of(request.aggregate, questions.size());
    const Rational epsilon = decimal_value(request.epsilon, "--epsilon"),
                   delta = decimal_value(request.delta, "--delta");
    const OutputNoise noise = aggregate.noise(epsilon, delta);
    std::vector<std::int32_t> truth;
    if (aggregate.right) {
        const Records asked = questions.answered();
        require_labels(asked, run.classes(), request.queries);
        truth = asked.labels;
    }
    const Guarantee claim = claim_of(
        release, aggregate_guarantee(aggregate, epsilon, delta, name_of(run.settings.certificate.relation)));
    const nlohmann::json parameters = {{"aggregate", aggregate.name},
                                       {"queries", aggregate.queries},
                                       {"noise", noise.law()},
                                       {"noise_scale", noise.scale()}};
    Payment payment{"",
                    epsilon,
                    delta,
                    noise.curve(),
                    aggregate_mechanism,
                    parameters.dump(),
                    claim.to_json().dump(),
                    noise.mu_squared()};
    payment.token = ledger.token_of(nlohmann::json{aggregate_mechanism, run.public_name(), parameters.dump(),
                                                   decimal_text(epsilon), decimal_text(delta),
                                                   digest_of(release.digests, truth)}
                                        .dump());

    // 2. Charged; then every level is asked for every query, the number drawn, kept, and shown as it is kept.
    std::vector<std::size_t> all(questions.size());
    std::iota(all.begin(), all.end(), 0);
    const double deviation = (noise.law() == "laplace" ? std::sqrt(2.0) : 1.0) * noise.scale();
    const auto cap = static_cast<double>(distance_cap(run, release.ensemble()));
    const BoughtText bought = ledger.buy(release.dataset(), payment, [&] {
        const std::int64_t units = aggregate.noisy(release.evidence.of(all), truth, noise);
        const double value = std::clamp(aggregate.distance(static_cast<double>(units)), 0.0, cap);
        return Drawn{value, aggregate.distance(deviation)}.text();
    });
    const auto [value, error] = Drawn::of(bought.text, request.ledger);
    const std::string line = printed(
        "%s of the distances of %zu queries: %.2f +- %.2f (%s noise)\ncost epsilon %s, delta %s, %s\n",
        aggregate.name.c_str(), aggregate.queries, value, error, noise.law().c_str(),
        round_up_text(shown(epsilon)).c_str(), round_up_text(shown(delta)).c_str(),
        bought.charged ? "charged" : "charged before: nothing now");
    release.context.print({{"aggregate", aggregate.name},
                           {"queries", aggregate.queries},
                           {"value", value},
                           {"error", error},
                           {"noise", noise.law()},
                           {"charged", bought.charged},
                           {"cost", {{"epsilon", shown(epsilon)}, {"delta", shown(delta)}}},
                           {"guarantee", claim.to_json()}},
                          line + claim.lines() + "\n");
}

}  // namespace holdfast
