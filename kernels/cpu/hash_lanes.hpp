#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast::cpu {

/// BLAKE2b (RFC 7693) of eight messages of one length side by side, one a lane of a vector: the bytes that
/// one after the other have, several times as fast.
class HashLanes {
  public:
    static constexpr std::size_t lanes = 8, block_bytes = 128;
    using Messages = std::array<const unsigned char*, lanes>;

    /// digest_bytes: 1 to 64; key: at most 64 bytes, the same for all.
    explicit HashLanes(std::size_t digest_bytes, std::span<const unsigned char> key = {});
    /// A part of each message behind which there is more: a multiple of block_bytes.
    void add(const Messages& parts, std::size_t bytes);
    /// The rest of each, of any length. digests: [lanes][digest_bytes]. Once.
    void finish(const Messages& parts, std::size_t bytes, unsigned char* digests);

  private:
    void add_key();

    std::size_t digest_bytes_;
    std::uint64_t bytes_ = 0;                                 ///< of each message so far
    bool keyed_;                                              ///< with a key that is still to be added
    alignas(64) std::array<std::uint64_t, 8 * lanes> state_;  ///< [8][lanes]
    std::array<unsigned char, block_bytes> key_{};
};

}  // namespace holdfast::cpu
