#include "models/privacy/noise/secret_stream.hpp"

#include <sodium.h>

#include <algorithm>

#include "kernels/base/error.hpp"

namespace holdfast {

SecretStream::SecretStream(const SecretKey& key, std::uint64_t place, std::uint32_t part,
                           std::uint32_t first_block)
    : key_(key), next_block_(first_block) {
    for (std::size_t i = 0; i < 8; ++i) nonce_[i] = static_cast<unsigned char>(place >> (8 * i));
    for (std::size_t i = 0; i < 4; ++i) nonce_[8 + i] = static_cast<unsigned char>(part >> (8 * i));
}

SecretStream::~SecretStream() {
    sodium_memzero(open_block_.data(), open_block_.size());
}

void SecretStream::fill(std::span<std::byte> bytes) {
    const std::size_t left = std::min(open_bytes_, bytes.size());
    std::copy_n(open_block_.end() - static_cast<std::ptrdiff_t>(open_bytes_), left, bytes.begin());
    open_bytes_ -= left;
    bytes = bytes.subspan(left);

    const std::size_t whole = bytes.size() / block_size * block_size;
    if (whole > 0) next_blocks(bytes.first(whole));
    bytes = bytes.subspan(whole);

    if (!bytes.empty()) {
        next_blocks(open_block_);
        std::copy_n(open_block_.begin(), bytes.size(), bytes.begin());
        open_bytes_ = block_size - bytes.size();
    }
}

void SecretStream::next_blocks(std::span<std::byte> blocks) {
    const std::uint64_t count = blocks.size() / block_size, end = std::uint64_t{1} << 32;
    ensure(count <= end - next_block_, "a place of a secret stream has 2^38 bytes");
    auto* const target = reinterpret_cast<unsigned char*>(blocks.data());
    std::fill_n(target, blocks.size(),
                static_cast<unsigned char>(0));  // the cipher of zeros is the key stream
    crypto_stream_chacha20_ietf_xor_ic(target, target, blocks.size(), nonce_.data(),
                                       static_cast<std::uint32_t>(next_block_), key_.bytes().data());
    next_block_ += count;
}

}  // namespace holdfast
