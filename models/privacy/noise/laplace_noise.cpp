#include "models/privacy/noise/laplace_noise.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/base/error.hpp"
#include "models/privacy/noise/chunks.hpp"

namespace holdfast {
namespace {

/// Whether one number lies below the other, by as many digits as it takes. 2^-65536 is the probability of the
/// Error.
bool below(Digits& one, Digits& other) {
    for (std::size_t place = 0; place < 1024; ++place) {
        const std::uint64_t of_other = other[place], of_one = one[place];  // drawn in this order
        if (of_one != of_other) return of_one < of_other;
    }
    throw Error(ExitCode::internal, "the source of random bits repeats itself",
                "nothing was released; check the machine");
}

/// Is the number of uniform numbers that fall one below the other, `first` the first of them, odd? With
/// probability exp(-first).
bool falls_oddly(Digits& first, Words& words) {
    Digits next(words);
    if (!below(next, first)) return true;
    for (bool odd = false;; odd = !odd) {
        Digits after(words);
        if (!below(after, next)) return odd;
        next = std::move(after);
    }
}

/// floor(scale (whole + 0.fraction)), at most `most`.
std::int64_t scaled(std::uint64_t scale, Exponential& number, std::int64_t most) {
    const Word128 part = static_cast<Word128>(scale) * number.fraction[0];
    Word128 result = static_cast<Word128>(scale) * number.whole + (part >> 64);
    const auto known = static_cast<std::uint64_t>(part);
    if (known != 0 && reaches(-known, scale, number.fraction, 1)) ++result;
    return static_cast<std::int64_t>(std::min<Word128>(result, static_cast<Word128>(most)));
}

}  // namespace

Exponential draw_exponential(Words& words) {
    for (std::uint64_t whole = 0;; ++whole) {
        Digits fraction(words);
        if (falls_oddly(fraction, words)) return {whole, std::move(fraction)};
    }
}

LaplaceNoise::LaplaceNoise(std::int64_t scale) : scale_(static_cast<std::uint64_t>(scale)) {
    if (scale < 1 || scale > greatest_scale)
        throw Error(ExitCode::usage, "Laplace noise of scale " + std::to_string(scale) + " is not drawn",
                    "choose a unit by which it lies between 1 and 2^56", "scale");
}

std::int64_t LaplaceNoise::draw(Words& words) const {
    for (;;) {
        const bool negative = (words.next() & 1) != 0;
        Exponential number = draw_exponential(words);
        const std::int64_t size = scaled(scale_, number, greatest);
        if (negative && size == 0) continue;  // 0 has one sign
        return negative ? -size : size;
    }
}

std::int64_t LaplaceNoise::draw(RandomBits& bits) const {
    Words words(bits, 1);
    return draw(words);
}

void LaplaceNoise::fill(std::span<std::int64_t> noise, const SecretKey& key, std::uint64_t place) const {
    fill_chunks(noise, key, place, [this](Words& words) { return draw(words); });
}

}  // namespace holdfast
