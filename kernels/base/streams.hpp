#pragma once

#include <cstdint>

/// The streams of KeyedHash (kernels/base/random.hpp), all of them: two uses of one seed share none.
namespace holdfast::streams {

// Of a training's seed.
constexpr std::uint64_t member = 1, block = 2;  ///< counters are ids of records
constexpr std::uint64_t batches(std::uint64_t epoch) {
    return (std::uint64_t{1} << 32) + epoch;  // counters are ids of records; fewer than 2^32 epochs
}
/// Counters are numbers of parameters. Members from 65536 on, whose streams would reach those of the batches,
/// have theirs beyond them.
constexpr std::uint64_t initial_parameters(std::uint64_t member) {
    return member < 65536 ? 0x1217 + (member << 16) : (std::uint64_t{1} << 63) + member;
}
/// Counters are units of all hidden layers. Fewer than 2^40 steps and 2^21 members.
constexpr std::uint64_t dropout(std::uint64_t member, std::uint64_t step) {
    return (std::uint64_t{1} << 62) + (member << 40) + step;
}

constexpr std::uint64_t kept_states = 0x6b657074;  ///< counters are 2^32 times a member, plus a part

// Of the same seed: counters are ids.
constexpr std::uint64_t fleet_sample = 0x666c6565;

// Of the same seed: counters are places of persons.
constexpr std::uint64_t shadow_parts(std::uint64_t round) {
    return (std::uint64_t{0x7269736b} << 24) + round;
}

// Of the same seed, of what is published and protects nothing: counters are rows of a layer, and those of an
// id.
constexpr std::uint64_t dpal_noise = 0x6470616c, dpal_draws = 0x64726177;
constexpr std::uint64_t dpal_records(std::uint64_t step) {
    return (std::uint64_t{0x64706c} << 38) + 2 * step;
}
constexpr std::uint64_t dpal_starts(std::uint64_t step) {
    return dpal_records(step) + 1;
}
constexpr std::uint64_t dpal_gradients(std::uint64_t step) {
    return (std::uint64_t{0x647067} << 38) + step;  // counters are numbers of parameters
}

// Of the features' seed: counters are words of bits, 2^32 an entry.
constexpr std::uint64_t fourier_features = 0x666f7572;

// Of an attack's seed: counters are features of queries.
constexpr std::uint64_t attack_starts(std::uint64_t start) {
    return (std::uint64_t{0x61747461} << 24) + start;
}

// Of an import's seed: counters are ids.
constexpr std::uint64_t test_split = 0x74657374;
constexpr std::uint64_t kept_rows = 0x726f7773;  ///< counters are hashes of rows

}  // namespace holdfast::streams
