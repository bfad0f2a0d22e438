#include "models/noisy/noise_copies.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/base/threads.hpp"

namespace holdfast {

void add_normal(SecretStream& bits, double deviation, std::span<double> features) {
    std::array<std::uint64_t, 64> words;
    for (std::size_t first = 0; first < features.size(); first += words.size()) {
        const std::size_t count = std::min(words.size(), features.size() - first);
        const std::span drawn(words.data(), count + count % 2);
        bits.fill(std::as_writable_bytes(drawn));
        const auto uniform = [&](std::size_t i) { return static_cast<double>(drawn[i] >> 11) * 0x1p-53; };
        for (std::size_t i = 0; i < count; i += 2) {
            const double length = deviation * std::sqrt(-2 * std::log(1 - uniform(i))),
                         angle = 6.283185307179586 * uniform(i + 1);
            features[first + i] += length * std::cos(angle);
            if (i + 1 < count) features[first + i + 1] += length * std::sin(angle);
        }
    }
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
