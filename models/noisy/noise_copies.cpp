#include "models/noisy/noise_copies.hpp"

#include <boost/random/normal_distribution.hpp>
#include <vector>

#include "kernels/base/threads.hpp"
#include "models/privacy/noise/digits.hpp"

namespace holdfast {

void add_normal(SecretStream& bits, double deviation, std::span<double> features) {
    Words words(bits, Words::most_ahead);
    boost::random::normal_distribution<double> normal(0, deviation);
    for (double& feature : features) feature += normal(words);
}

Records noise_copies(const Records& records, std::span<const std::uint32_t> indices,
                     const InputTransform& transform, double deviation, const SecretKey& key,
                     std::int64_t step) {
    Records copies = records.none();
    copies.reserve(indices.size());
    for (const std::uint32_t index : indices) copies.append_row_of(records, index);
    const std::size_t columns = copies.features.columns();
    ThreadFailure failure;
    const int threads = threads_for(20.0 * static_cast<double>(indices.size() * columns));
#pragma omp parallel num_threads(threads)
    {
        std::vector<double> features(columns);
#pragma omp for
        for (std::size_t row = 0; row < indices.size(); ++row) {
            failure.guard([&] {
                for (std::size_t j = 0; j < columns; ++j)
                    features[j] = transform.inside(copies.features.at(row, j));
                SecretStream bits(key, copies.ids[row], static_cast<std::uint32_t>(step));
                add_normal(bits, deviation, features);
                for (std::size_t j = 0; j < columns; ++j) {
                    if (copies.features.wide())
                        copies.features.wide_values()[row * columns + j] = features[j];
                    else
                        copies.features.values()[row * columns + j] = static_cast<float>(features[j]);
                }
            });
        }
    }
    failure.rethrow();
    return copies;
}

}  // namespace holdfast
