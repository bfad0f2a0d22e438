#include "models/privacy/samplers.hpp"

#include <sodium.h>

#include <cstring>
#include <vector>

#include "kernels/base/error.hpp"

namespace holdfast {

SystemRandomBits::SystemRandomBits() {
    if (sodium_init() < 0) {
        throw Error(ExitCode::internal, "libsodium cannot start: no private answer can be drawn",
                    "check that the machine offers getrandom or /dev/urandom");
    }
}

void SystemRandomBits::fill(std::span<std::byte> bytes) {
    randombytes_buf(bytes.data(), bytes.size());
}

Bits256 draw_256_bits(RandomBits& bits) {
    Bits256 words;
    bits.fill(std::as_writable_bytes(std::span(words)));
    return words;
}

Word128 draw_128_bits(RandomBits& bits) {
    std::array<std::uint64_t, 2> words;
    bits.fill(std::as_writable_bytes(std::span(words)));
    return static_cast<Word128>(words[1]) << 64 | words[0];
}

Word128 below(const Bits256& bits, Word128 bound) {
    const std::uint64_t low = static_cast<std::uint64_t>(bound),
                        high = static_cast<std::uint64_t>(bound >> 64);
    std::array<std::uint64_t, 6> product{};  // schoolbook, 4 words by 2
    for (std::size_t j = 0; j < 2; ++j) {
        const Word128 factor = j == 0 ? low : high;
        Word128 carry = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            carry += factor * bits[i] + product[i + j];  // < 2^128: (2^64-1)^2 + 2 (2^64-1)
            product[i + j] = static_cast<std::uint64_t>(carry);
            carry >>= 64;
        }
        product[4 + j] = static_cast<std::uint64_t>(carry);
    }
    return static_cast<Word128>(product[5]) << 64 | product[4];
}

std::uint64_t below(Word128 bits, std::uint64_t bound) {
    const Word128 low = static_cast<Word128>(static_cast<std::uint64_t>(bits)) * bound;
    const Word128 high = static_cast<Word128>(static_cast<std::uint64_t>(bits >> 64)) * bound + (low >> 64);
    return static_cast<std::uint64_t>(high >> 64);
}

Word128 to_word(const Integer& value) {
    ensure(value >= 0 && mpz_sizeinbase(value.get_mpz_t(), 2) <= 128,
           "a probability numerator fits 128 bits");
    std::array<std::uint64_t, 2> words{};
    mpz_export(words.data(), nullptr, -1, sizeof(std::uint64_t), 0, 0, value.get_mpz_t());
    return static_cast<Word128>(words[1]) << 64 | words[0];
}

Integer to_integer(Word128 value) {
    const std::array<std::uint64_t, 2> words{static_cast<std::uint64_t>(value),
                                             static_cast<std::uint64_t>(value >> 64)};
    Integer result;
    mpz_import(result.get_mpz_t(), words.size(), -1, sizeof(std::uint64_t), 0, 0, words.data());
    return result;
}

Integer uniform_below(const Integer& bound, RandomBits& bits) {
    ensure(bound >= 1, "a uniform draw has at least one outcome");
    const Integer largest = bound - 1;
    const std::size_t width = largest == 0 ? 0 : mpz_sizeinbase(largest.get_mpz_t(), 2);
    std::vector<std::byte> bytes((width + 7) / 8);
    Integer candidate;
    do {
        bits.fill(bytes);
        mpz_import(candidate.get_mpz_t(), bytes.size(), -1, 1, 0, 0, bytes.data());
        mpz_fdiv_r_2exp(candidate.get_mpz_t(), candidate.get_mpz_t(), width);
    } while (candidate >= bound);
    return candidate;
}

bool bernoulli(const Rational& p, RandomBits& bits) {
    ensure(p >= 0 && p <= 1, "a probability lies in [0, 1]");
    return uniform_below(p.get_den(), bits) < p.get_num();
}

}  // namespace holdfast
