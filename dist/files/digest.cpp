#include "dist/files/digest.hpp"

#include <sodium.h>

namespace holdfast {

namespace {
constexpr std::size_t digest_bytes = 32;
}

std::string hex_of(std::span<const unsigned char> bytes) {
    std::string text(2 * bytes.size() + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
    text.pop_back();
    return text;
}

struct StreamDigest::State {
    crypto_generichash_state hash;
};

StreamDigest::StreamDigest() : state_(std::make_unique<State>()) {
    crypto_generichash_init(&state_->hash, nullptr, 0, digest_bytes);
}
StreamDigest::~StreamDigest() = default;
StreamDigest::StreamDigest(StreamDigest&&) noexcept = default;
StreamDigest& StreamDigest::operator=(StreamDigest&&) noexcept = default;

void StreamDigest::add(std::span<const std::byte> bytes) {
    crypto_generichash_update(&state_->hash, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
}

std::string StreamDigest::hex() {
    unsigned char digest[digest_bytes];
    crypto_generichash_final(&state_->hash, digest, sizeof digest);
    return hex_of(digest);
}

std::string StreamDigest::of(const std::string& text) {
    StreamDigest digest;
    digest.add(std::as_bytes(std::span(text)));
    return digest.hex();
}

}  // namespace holdfast
