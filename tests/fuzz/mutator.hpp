#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace holdfast::fuzz {

/// Changes sound inputs into damaged ones: a pure function of its seed, so a failing run can be repeated.
class Mutator {
  public:
    explicit Mutator(std::uint64_t seed) : random_(seed) {}

    /// One of the corpus with one change or, each half as often, more: bits, bytes, interesting numbers,
    /// cuts, copies, swaps of pieces between inputs.
    std::string next(const std::vector<std::string>& corpus) {
        std::string input = corpus[below(corpus.size())];
        do change(input, corpus);
        while (below(2) == 0);
        return input;
    }

  private:
    std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

    void change(std::string& input, const std::vector<std::string>& corpus) {
        const std::size_t at = below(input.size());
        switch (input.empty() ? 6 : below(9)) {
            case 0:
                input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
                break;
            case 1:
                input[at] = static_cast<char>(random_());
                break;
            case 2:
                put_number(input, at);
                break;
            case 3:
                input.resize(at);
                break;
            case 4:
                input.erase(at, 1 + below(16));
                break;
            case 5:
                input.insert(at, input, below(input.size()), 1 + below(64));
                break;
            case 6:
                input.insert(at, words[below(std::size(words))]);
                break;
            case 7:
                std::swap(input[at], input[below(input.size())]);
                break;
            default: {
                const std::string& other = corpus[below(corpus.size())];
                if (!other.empty()) input.replace(at, below(64), other, below(other.size()), below(64));
            }
        }
    }
    /// 1 to 8 bytes that sizes and offsets stumble over.
    void put_number(std::string& input, std::size_t at) {
        constexpr std::uint64_t numbers[] = {0,
                                             1,
                                             0x7f,
                                             0x80,
                                             0xff,
                                             0x7fff,
                                             0xffff,
                                             0x7fffffff,
                                             0x80000000,
                                             0xffffffff,
                                             INT64_MAX,
                                             std::uint64_t{1} << 63,
                                             UINT64_MAX,
                                             UINT64_MAX - 7,
                                             std::uint64_t{1} << 40};
        const std::uint64_t number = numbers[below(std::size(numbers))];
        const bool big_endian = below(2) == 0;
        const std::size_t width = std::min(std::size_t{1} << below(4), input.size() - at);
        for (std::size_t i = 0; i < width; ++i)
            input[at + i] = static_cast<char>(number >> 8 * (big_endian ? width - 1 - i : i));
    }

    static constexpr const char* words[] = {
        "-1", "nan",       "1e999", "18446744073709551616", "\"",       "'",  "[",    "]",    "{", "}", ",",
        "=",  "\n",        "\r\n",  "\xef\xbb\xbf",         "\xff\xfe", "0x", "null", "true", ":", "(", ")",
        "-0", "1979-05-27"};
    std::mt19937_64 random_;
};

}  // namespace holdfast::fuzz
