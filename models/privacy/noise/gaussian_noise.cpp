#include "models/privacy/noise/gaussian_noise.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"
#include "kernels/base/floating_point.hpp"
#include "models/privacy/noise/chunks.hpp"

namespace holdfast {
namespace {

const HalfNormalSlots& the_slots() {
    static const HalfNormalSlots slots;
    return slots;
}

}  // namespace

GaussianNoise::GaussianNoise(double sigma) : sigma_(sigma), slots_(the_slots()) {
    if (!(sigma >= least_sigma && sigma <= greatest_sigma)) {
        throw Error(ExitCode::usage, "noise of " + std::to_string(sigma) + " units is not drawn",
                    "choose a unit by which it lies between 2^-4 and 2^56", "sigma");
    }
    int exponent = 0;
    significand_ = static_cast<std::uint64_t>(std::ldexp(std::frexp(sigma, &exponent), 53));
    unit_bits_ = HalfNormal::fraction_bits + 53 - exponent;
}

/// floor(sigma y + 1/2), at most `greatest`. With the units of `number`, sigma y = significand * (known +
/// 0.later): an integer and a step times a number below 1, in units of 2^-unit_bits.
std::int64_t GaussianNoise::rounded(HalfNormal& number) const {
    const Word128 unit = Word128{1} << unit_bits_;
    Word128 value = number.known() * significand_ + unit / 2;
    Word128 result = value >> unit_bits_;
    const auto to_next = [unit](Word128 of) { return unit - (of & (unit - 1)); };
    if (to_next(value) < significand_) {
        // One word more: now less than one of these small units is unknown.
        const Word128 part = static_cast<Word128>(significand_) * number.later[0];
        value += part >> 64;
        result = value >> unit_bits_;
        const auto fraction = static_cast<std::uint64_t>(part);
        if (to_next(value) == 1 && fraction != 0 && reaches(-fraction, significand_, number.later, 1))
            ++result;
    }
    return static_cast<std::int64_t>(std::min<Word128>(result, greatest));
}

std::int64_t GaussianNoise::draw(Words& words) const {
    for (;;) {
        const std::uint64_t word = words.next();
        const std::uint64_t position = word & ((std::uint64_t{1} << HalfNormal::position_bits) - 1);
        const bool negative = (word >> HalfNormal::position_bits & 1) != 0;
        if (auto number = slots_.under_curve(word >> (64 - HalfNormalSlots::slot_bits), position, words)) {
            const std::int64_t size = rounded(*number);
            return negative ? -size : size;
        }
    }
}

std::int64_t GaussianNoise::draw(RandomBits& bits) const {
    require_sound_arithmetic();
    Words words(bits, 1);
    return draw(words);
}

void GaussianNoise::fill(std::span<std::int64_t> noise, const SecretKey& key, std::uint64_t place) const {
    fill_chunks(noise, key, place, [this](Words& words) { return draw(words); });
}

}  // namespace holdfast
