#pragma once

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "models/privacy/samplers.hpp"

namespace holdfast::test {

/// Hands out given bytes; throws once they have run out.
class ScriptedBits final : public RandomBits {
  public:
    struct RanOut {};
    explicit ScriptedBits(std::vector<std::byte> script) : script_(std::move(script)) {}
    explicit ScriptedBits(const std::vector<std::uint64_t>& words) {
        const auto bytes = std::as_bytes(std::span(words));
        script_.assign(bytes.begin(), bytes.end());
    }
    void fill(std::span<std::byte> bytes) override {
        for (std::byte& byte : bytes) {
            if (next_ == script_.size()) throw RanOut();
            byte = script_[next_++];
        }
    }
    std::size_t handed_out() const { return next_; }  ///< bytes so far

  private:
    std::vector<std::byte> script_;
    std::size_t next_ = 0;
};

}  // namespace holdfast::test
