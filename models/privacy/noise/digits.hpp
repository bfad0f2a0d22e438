#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/privacy/samplers.hpp"

namespace holdfast {

/// Uniform 64-bit words, `ahead` of them asked for at a time.
class Words {
  public:
    static constexpr std::size_t most_ahead = 128;
    Words(RandomBits& bits, std::size_t ahead) : bits_(bits), ahead_(ahead), next_(ahead) {}

    std::uint64_t next() {
        if (next_ == ahead_) {
            bits_.fill(std::as_writable_bytes(std::span(words_).first(ahead_)));
            next_ = 0;
        }
        return words_[next_++];
    }

    // As a distribution of Boost asks for them.
    using result_type = std::uint64_t;
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return ~result_type{0}; }
    result_type operator()() { return next(); }

  private:
    RandomBits& bits_;
    std::size_t ahead_, next_;
    std::array<std::uint64_t, most_ahead> words_;
};

/// A real number uniform on [0, 1), known as far as somebody asked: its digits to the base 2^64, each drawn
/// when it is first needed and the same from then on. All that is decided about the number is therefore true
/// of one number.
class Digits {
  public:
    explicit Digits(Words& words) : words_(&words) {}

    std::uint64_t operator[](std::size_t place) {
        while (known_.size() <= place) known_.push_back(words_->next());
        return known_[place];
    }

  private:
    Words* words_;
    std::vector<std::uint64_t> known_;
};

/// Whether factor * 0.digits >= goal, by as many digits from `place` on as it takes; without rounding.
inline bool reaches(std::uint64_t goal, std::uint64_t factor, Digits& digits, std::size_t place) {
    for (; goal <= factor; ++place) {
        const Word128 wide = static_cast<Word128>(goal) << 64,
                      low = static_cast<Word128>(factor) * digits[place];
        if (low >= wide) return true;
        if (low + factor <= wide) return false;
        goal = static_cast<std::uint64_t>(wide - low);  // below the factor
    }
    return false;
}

}  // namespace holdfast
