#pragma once

#include <cstring>
#include <random>

#include "models/privacy/samplers.hpp"

namespace holdfast::test {

/// Repeatable random bits, for tests only: a release may never draw from a seedable generator.
class SeededBits final : public RandomBits {
  public:
    explicit SeededBits(std::uint64_t seed) : generator_(seed) {}
    void fill(std::span<std::byte> bytes) override {
        while (!bytes.empty()) {
            const std::uint64_t word = generator_();
            const std::size_t count = std::min(sizeof word, bytes.size());
            std::memcpy(bytes.data(), &word, count);
            bytes = bytes.subspan(count);
            drawn_ += count;
        }
    }
    std::size_t drawn() const { return drawn_; }  ///< bytes so far

  private:
    std::mt19937_64 generator_;
    std::size_t drawn_ = 0;
};

}  // namespace holdfast::test
