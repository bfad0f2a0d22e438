#include "jobs/program/runs/publication.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "dist/files/digest.hpp"
#include "jobs/program/quality.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/runs/payer.hpp"
#include "jobs/program/runs/run_key.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/certify/answers.hpp"
#include "models/certify/claims.hpp"
#include "models/nets/model_file.hpp"
#include "models/privacy/noise/secret_key.hpp"

namespace holdfast {
namespace {

std::string digest_of(const std::vector<std::int64_t>& parameters) {
    StreamDigest digest;
    digest.add_values(std::span(parameters));
    return digest.hex();
}

/// A record acts in one member alone: the average moves by its part, and by less than a unit an entry for
/// being rounded.
Rational sensitivity_of_average(const FinishedRun& run, const Rational& of_member) {
    if (run.members() == 1) return of_member;
    return of_member / as_rational(run.settings.ensemble.members) + sqrt_upper(run.network.parameters());
}

/// But for the token. All of it is public.
Payment payment_of(const FinishedRun& run, const PublicationTerms& terms, const OutputNoise& noise,
                   const Rational& sensitivity) {
    const nlohmann::json parameters = {{"noise", noise.law()},
                                       {"noise_scale", noise.scale() * parameter_unit},
                                       {"sensitivity", round_up(sensitivity) * parameter_unit},
                                       {"relation", name_of(run.settings.certificate.relation)}};
    return {"",
            terms.epsilon,
            terms.delta,
            noise.curve(),
            "output_noise",
            parameters.dump(),
            claim_about_publication(run.certificate->release_claim(), terms.epsilon, terms.delta)
                .to_json()
                .dump(),
            noise.mu_squared()};
}

/// The noisy parameters of one publication: their files, and what its token is bound to.
class NoisyCopy {
  public:
    NoisyCopy(const FinishedRun& run, const Payment& payment)
        : fingerprint_(StreamDigest::of(nlohmann::json{run.manifest.dataset.digest, run.manifest.digest,
                                                       payment.epsilon.get_str(), payment.delta.get_str(),
                                                       payment.parameters}
                                            .dump())),
          stem_(run.folder.file("publication-" + fingerprint_.substr(0, 16))) {}

    const std::string& fingerprint() const { return fingerprint_; }
    std::string key() const { return stem_ + ".key"; }
    std::string kept() const { return stem_ + ".h5"; }

  private:
    std::string fingerprint_, stem_;
};

/// The key of the noise, on the disk and paid for before anything is drawn from it; its token is set in
/// `payment`. Nothing: another job has just ended this publication.
std::optional<SecretKey> paid_key(const Context& context, const NoisyCopy& copy, Payment& payment,
                                  const Payee& payee) {
    const bool fresh = !is_kept(copy.key());
    if (fresh) SecretKey::fresh().write_new(copy.key());
    if (is_kept(copy.kept())) return std::nullopt;
    const SecretKey key = SecretKey::read(copy.key());
    payment.token = key.token(copy.fingerprint());
    charge(context, payment, payee, "publishing the parameters", [&] {
        if (fresh) destroy_key_file(copy.key());
    });
    return key.derived("publication", copy.fingerprint());
}

/// Noted in the ledger before they are kept, so that the payment buys nothing else.
void keep(const FinishedRun& run, const NoisyCopy& copy, std::vector<std::int64_t> parameters,
          const Payment& payment, const Payee& payee) {
    Ledger(payee.ledger).record_result(payee.dataset, payment.token, digest_of(parameters));
    write_model(copy.kept(), {run.network, run.settings.training.precision, std::move(parameters),
                              run.manifest.kind, run.manifest.program, run.manifest.version,
                              nlohmann::json::parse(payment.guarantee), nullptr, run.features});
}

/// What a ledger was charged for these parameters.
LedgerPayment payment_for(const Payee& payee, const std::vector<std::int64_t>& parameters) {
    const Ledger ledger(payee.ledger);
    const std::string digest = digest_of(parameters);
    if (const std::optional<std::string> population = ledger.population_of(payee.dataset)) {
        for (LedgerPayment& payment : ledger.payments(*population)) {
            if (payment.dataset == payee.dataset && payment.result == digest) return std::move(payment);
        }
    }
    throw Error(ExitCode::budget, "this ledger was not charged for the parameters that are kept in the run",
                "name the ledger that paid for them", payee.ledger);
}

}  // namespace

std::vector<std::vector<std::int64_t>> members_of(const FinishedRun& run) {
    std::vector<std::vector<std::int64_t>> points;
    require_boxes(run, [&](std::size_t level, const std::vector<std::int64_t>& lower) {
        if (level == 0) points.push_back(lower);
    });
    return points;
}

std::vector<std::int64_t> parameters_of(const FinishedRun& run) {
    std::vector<__int128> sums;
    __int128 members = 0;
    require_boxes(run, [&](std::size_t level, const std::vector<std::int64_t>& lower) {
        if (level != 0) return;
        sums.resize(lower.size());
        for (std::size_t p = 0; p < lower.size(); ++p) sums[p] += lower[p];
        ++members;
    });
    std::vector<std::int64_t> average;
    for (const __int128 sum : sums)
        average.push_back(static_cast<std::int64_t>((sum - (sum < 0 ? members - 1 : 0)) / members));
    return average;
}

std::vector<double> nominal_logits(const FinishedRun& run, const Records& queries) {
    constexpr std::size_t panel = 4096;  // of mapped queries at a time
    std::vector<double> all;
    if (run.members() > 1) return all;
    const std::vector<std::int64_t> parameters = parameters_of(run);
    const auto backend = make_backend("cpu", run.settings.training.arithmetic(), Product::exact, 0);
    for (std::size_t first = 0; first < queries.size(); first += panel) {
        const Records mapped = run.features(part_of(queries, first, std::min(first + panel, queries.size())));
        const Answers answers = answers_of(run.network, *backend, parameters, mapped);
        all.insert(all.end(), answers.logits.begin(), answers.logits.end());
    }
    return all;
}

OutputNoise publication_noise(const FinishedRun& run, const Rational& sensitivity,
                              const PublicationTerms& terms) {
    return OutputNoise::of(terms.epsilon, terms.delta, sensitivity_of_average(run, sensitivity),
                           run.network.parameters());
}

std::optional<double> published_accuracy(const FinishedRun& run, const Rational& sensitivity,
                                         const PublicationTerms& terms, const Records& queries) {
    std::optional<OutputNoise> noise;
    try {
        noise.emplace(publication_noise(run, sensitivity, terms));
    } catch (const Error& error) {
        if (error.code() != ExitCode::usage) throw;
        return std::nullopt;
    }
    const std::vector<std::int64_t> exact = parameters_of(run);
    const auto backend = make_backend("cpu", run.settings.training.arithmetic(), Product::exact, 0);
    const Records mapped = run.features(queries);
    std::vector<std::int32_t> labels, truth;
    for (int n = 0; n < noises_tried; ++n) {
        std::vector<std::int64_t> parameters = exact;
        noise->add_to(parameters, SecretKey::known_to_all(static_cast<std::uint64_t>(n)));
        const Answers answers = answers_of(run.network, *backend, parameters, mapped);
        labels.insert(labels.end(), answers.labels.begin(), answers.labels.end());
        truth.insert(truth.end(), mapped.labels.begin(), mapped.labels.end());
    }
    return fraction_right(truth, [&](std::size_t q) { return labels[q]; });
}

PaidParameters noisy_parameters(const Context& context, const FinishedRun& run, const Rational& sensitivity,
                                const PublicationTerms& terms, const std::string& ledger,
                                const std::string& out) {
    const Rational moved = sensitivity_of_average(run, sensitivity);
    const OutputNoise noise = publication_noise(run, sensitivity, terms);
    Payment payment = payment_of(run, terms, noise, moved);
    const NoisyCopy copy(run, payment);
    const Payee payee{run.manifest.dataset.digest,
                      run.manifest.dataset.path,
                      run.manifest.public_records,
                      name_of(run.settings.certificate.relation),
                      ledger,
                      run.manifest.dataset.measured,
                      pretraining_records(run.settings)};
    std::vector<std::int64_t> parameters = parameters_of(run);  // what cannot be read costs nothing
    if (!is_kept(copy.kept())) {
        if (is_kept(out))
            throw Error(ExitCode::output, "another file is there, and is kept: nothing was charged",
                        "name a file that is not there", out);
        if (const std::optional<SecretKey> key = paid_key(context, copy, payment, payee)) {
            noise.add_to(parameters, *key);
            keep(run, copy, std::move(parameters), payment, payee);
        }
    }
    destroy_key_file(copy.key());
    parameters = read_model(copy.kept()).model.parameters;
    LedgerPayment paid = payment_for(payee, parameters);
    return {std::move(parameters), std::move(paid)};
}

}  // namespace holdfast
