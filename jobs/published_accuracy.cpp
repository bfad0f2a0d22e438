#include "jobs/published_accuracy.hpp"

#include "kernels/backends.hpp"
#include "models/certify/answers.hpp"
#include "models/privacy/noise/secret_key.hpp"

namespace holdfast {

double published_accuracy(const FinishedRun& run, const Rational& sensitivity, const PublicationTerms& terms,
                          const Records& queries) {
    const OutputNoise noise = publication_noise(run, sensitivity, terms);
    const std::vector<std::int64_t> exact = parameters_of(run);
    const auto backend = make_backend("cpu", run.settings.training.precision, Product::exact, 0);
    const Records mapped = run.features(queries);
    std::size_t correct = 0;
    for (int n = 0; n < noises_tried; ++n) {
        std::vector<std::int64_t> parameters = exact;
        noise.add_to(parameters, SecretKey::known_to_all(static_cast<std::uint64_t>(n)));
        const Answers answers = answers_of(run.network, *backend, parameters, mapped);
        for (std::size_t q = 0; q < mapped.size(); ++q) correct += answers.labels[q] == mapped.labels[q];
    }
    return static_cast<double>(correct) / static_cast<double>(mapped.size() * noises_tried);
}

}  // namespace holdfast
