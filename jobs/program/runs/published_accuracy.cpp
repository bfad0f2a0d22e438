#include "jobs/program/runs/published_accuracy.hpp"

#include "jobs/program/queries.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/certify/answers.hpp"
#include "models/privacy/noise/secret_key.hpp"

namespace holdfast {

namespace {

std::optional<OutputNoise> serving_noise(const FinishedRun& run, const Rational& sensitivity,
                                         const PublicationTerms& terms) {
    try {
        return publication_noise(run, sensitivity, terms);
    } catch (const Error& error) {
        if (error.code() != ExitCode::usage) throw;
        return std::nullopt;
    }
}

}  // namespace

std::optional<double> published_accuracy(const FinishedRun& run, const Rational& sensitivity,
                                         const PublicationTerms& terms, const Records& queries) {
    const std::optional<OutputNoise> noise = serving_noise(run, sensitivity, terms);
    if (!noise) return std::nullopt;
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

}  // namespace holdfast
