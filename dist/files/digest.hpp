#pragma once

#include <memory>
#include <span>
#include <string>

namespace holdfast {

/// Two digits a byte, lower case.
std::string hex_of(std::span<const unsigned char> bytes);

/// BLAKE2b-256 of a stream of bytes.
class StreamDigest {
  public:
    StreamDigest();
    ~StreamDigest();
    StreamDigest(StreamDigest&&) noexcept;
    StreamDigest& operator=(StreamDigest&&) noexcept;

    void add(std::span<const std::byte> bytes);
    template <typename T>
    void add_values(std::span<const T> values) {
        add(std::as_bytes(values));
    }
    std::string hex();  ///< ends the stream

    static std::string of(const std::string& text);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace holdfast
