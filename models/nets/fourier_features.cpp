#include "models/nets/fourier_features.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "kernels/base/circle.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "kernels/base/streams.hpp"
#include "models/privacy/noise/gaussian_noise.hpp"

namespace holdfast {
namespace {

/// Public bits of a public seed, of an entry's own: never for noise.
class KeyedBits final : public RandomBits {
  public:
    KeyedBits(std::uint64_t seed, std::uint64_t entry) : hash_{seed}, next_(entry << 32) {}
    void fill(std::span<std::byte> bytes) override {
        while (!bytes.empty()) {
            const std::uint64_t word = hash_(streams::fourier_features, next_++);
            const std::size_t count = std::min(bytes.size(), sizeof word);
            std::memcpy(bytes.data(), &word, count);
            bytes = bytes.subspan(count);
        }
    }

  private:
    KeyedHash hash_;
    std::uint64_t next_;
};

std::vector<double> turns_of(const std::vector<std::int64_t>& frequencies) {
    std::vector<double> turns;
    for (const std::int64_t units : frequencies)
        turns.push_back(static_cast<double>(units) * FourierFeatures::unit);
    return turns;
}

}  // namespace

FourierFeatures::FourierFeatures(std::size_t columns, std::vector<std::int64_t> frequencies)
    : frequencies_(std::move(frequencies)),
      turns_(columns, turns_of(frequencies_), std::vector<double>(frequencies_.size() / columns)),
      scale_(1 / std::sqrt(static_cast<double>(turns_.out()))) {
    ensure(problem(columns, frequencies_).empty(), "frequencies fit the columns");
}

std::string FourierFeatures::problem(std::size_t columns, const std::vector<std::int64_t>& frequencies) {
    if (frequencies.empty() || frequencies.size() % columns != 0)
        return "frequencies that are none of " + std::to_string(columns) + " columns";
    const auto within = [](std::int64_t units) { return -limit <= units && units <= limit; };
    return std::all_of(frequencies.begin(), frequencies.end(), within) ? "" : "a frequency beyond 8192 turns";
}

FourierFeatures FourierFeatures::drawn(std::size_t columns, std::size_t frequencies, double bandwidth,
                                       std::uint64_t seed) {
    constexpr double two_pi = 0x1.921fb54442d18p+2;
    const GaussianNoise normal(1 / (unit * two_pi * bandwidth));
    std::vector<std::int64_t> units(frequencies * columns);
    for (std::size_t entry = 0; entry < units.size(); ++entry) {
        KeyedBits bits(seed, entry);
        units[entry] = std::clamp(normal.draw(bits), -limit, limit);
    }
    return {columns, std::move(units)};
}

void FourierFeatures::apply(const double* columns, double* entries) const {
    // The turns come into the latter half, and each pair is written where none is still to be read.
    double* turns = entries + turns_.out();
    turns_.apply(columns, turns);
    for (std::size_t i = 0; i < turns_.out(); ++i) {
        const CirclePoint point = circle_point(turns[i]);
        entries[2 * i] = scale_ * point.cosine;
        entries[2 * i + 1] = scale_ * point.sine;
    }
}

}  // namespace holdfast
