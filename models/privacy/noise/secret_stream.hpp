#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "models/privacy/noise/secret_key.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

/// The key stream of ChaCha20 (RFC 8439) under a key, with the nonce (place, part), both little-endian: the
/// same key and place give the same bytes on any machine, however they are asked for; to whoever does not
/// know the key, the bytes of all places together are as good as random (the assumption on which noise from a
/// key rests). A place is used for one thing: noise drawn twice from the same bytes cancels.
/// The key must outlive the stream. 2^38 bytes a place, then Error (internal).
class SecretStream final : public RandomBits {
  public:
    static constexpr std::size_t block_size = 64;  ///< bytes

    /// From byte block_size * first_block on.
    SecretStream(const SecretKey& key, std::uint64_t place, std::uint32_t part,
                 std::uint32_t first_block = 0);
    ~SecretStream() override;
    SecretStream(const SecretStream&) = delete;
    SecretStream& operator=(const SecretStream&) = delete;

    void fill(std::span<std::byte> bytes) override;

  private:
    void next_blocks(std::span<std::byte> blocks);

    const SecretKey& key_;
    std::array<unsigned char, 12> nonce_;
    std::uint64_t next_block_;
    std::array<std::byte, block_size> open_block_;
    std::size_t open_bytes_ = 0;  // not handed out yet: the last ones of open_block_
};

}  // namespace holdfast
