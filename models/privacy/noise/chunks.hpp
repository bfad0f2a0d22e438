#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/base/error.hpp"
#include "kernels/base/floating_point.hpp"
#include "kernels/base/threads.hpp"
#include "models/privacy/noise/digits.hpp"
#include "models/privacy/noise/secret_stream.hpp"

namespace holdfast {

inline constexpr std::size_t noise_chunk = 1024;  ///< coordinates of a stream

/// noise [coordinates]: those of chunk c are draw(words) of the words of SecretStream(key, place, c). The
/// same for any number of threads, which share the chunks. Error (arithmetic): a thread does not compute as
/// the proof assumes.
template <typename Draw>
void fill_chunks(std::span<std::int64_t> noise, const SecretKey& key, std::uint64_t place, const Draw& draw) {
    constexpr double multiply_adds_of_a_draw = 64;  // that take about as long
    const std::size_t chunks = (noise.size() + noise_chunk - 1) / noise_chunk;
    ensure(chunks <= std::uint64_t{1} << 32, "a place has 2^32 chunks");
    ThreadFailure failure;
#pragma omp parallel for schedule(dynamic, 16) \
    num_threads(threads_for(multiply_adds_of_a_draw* static_cast <double>(noise.size())))
    for (std::size_t c = 0; c < chunks; ++c) {
        failure.guard([&] {
            require_sound_arithmetic();
            SecretStream stream(key, place, static_cast<std::uint32_t>(c));
            Words words(stream, Words::most_ahead);
            const std::size_t first = c * noise_chunk;
            for (std::int64_t& coordinate : noise.subspan(first, std::min(noise_chunk, noise.size() - first)))
                coordinate = draw(words);
        });
    }
    failure.rethrow();
}

}  // namespace holdfast
