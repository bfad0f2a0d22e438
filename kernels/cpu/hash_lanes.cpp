// BLAKE2b of eight messages at a time, compiled once an instruction set (Highway).

#include "kernels/cpu/hash_lanes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/base/error.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/hash_lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef HOLDFAST_HASH_LANES_ONCE
#define HOLDFAST_HASH_LANES_ONCE
namespace holdfast::cpu {

constexpr std::uint64_t blake2b_start[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                            0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                            0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
constexpr unsigned char blake2b_order[12][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                                 {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                                 {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                                 {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                                 {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                                 {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                                 {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                                 {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                                 {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                                 {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
                                                 {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                                 {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};

}  // namespace holdfast::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Words = hn::CappedTag<std::uint64_t, HashLanes::lanes>;
using Word = hn::Vec<Words>;

HWY_INLINE void mix(Word& a, Word& b, Word& c, Word& d, Word x, Word y) {
    a = hn::Add(hn::Add(a, b), x);
    d = hn::RotateRight<32>(hn::Xor(d, a));
    c = hn::Add(c, d);
    b = hn::RotateRight<24>(hn::Xor(b, c));
    a = hn::Add(hn::Add(a, b), y);
    d = hn::RotateRight<16>(hn::Xor(d, a));
    c = hn::Add(c, d);
    b = hn::RotateRight<63>(hn::Xor(b, c));
}

/// Blocks of as many messages as a vector has lanes, from lane `first` on. counted: bytes behind the first
/// block.
HWY_INLINE void compress(std::uint64_t* state, const unsigned char* const* parts, std::size_t first,
                         std::size_t blocks, std::uint64_t counted, std::uint64_t step, bool last) {
    constexpr std::size_t block_bytes = HashLanes::block_bytes, lanes = HashLanes::lanes;
    const Words words;
    const std::size_t together = hn::Lanes(words);
    Word h[8];
    for (int i = 0; i < 8; ++i) h[i] = hn::LoadU(words, state + i * lanes + first);
    for (std::size_t block = 0; block < blocks; ++block, counted += step) {
        alignas(64) std::uint64_t message[16 * lanes];
        for (std::size_t lane = 0; lane < together; ++lane) {
            std::uint64_t own[16];
            std::memcpy(own, parts[first + lane] + block * block_bytes, block_bytes);
            for (int word = 0; word < 16; ++word) message[word * together + lane] = own[word];
        }
        Word v[16];
        for (int i = 0; i < 8; ++i) v[i] = h[i];
        for (int i = 0; i < 8; ++i) v[i + 8] = hn::Set(words, blake2b_start[i]);
        v[12] = hn::Xor(v[12], hn::Set(words, counted));
        if (last) v[14] = hn::Not(v[14]);
        const auto at = [&](int word) { return hn::Load(words, message + word * together); };
        for (const auto& order : blake2b_order) {
            mix(v[0], v[4], v[8], v[12], at(order[0]), at(order[1]));
            mix(v[1], v[5], v[9], v[13], at(order[2]), at(order[3]));
            mix(v[2], v[6], v[10], v[14], at(order[4]), at(order[5]));
            mix(v[3], v[7], v[11], v[15], at(order[6]), at(order[7]));
            mix(v[0], v[5], v[10], v[15], at(order[8]), at(order[9]));
            mix(v[1], v[6], v[11], v[12], at(order[10]), at(order[11]));
            mix(v[2], v[7], v[8], v[13], at(order[12]), at(order[13]));
            mix(v[3], v[4], v[9], v[14], at(order[14]), at(order[15]));
        }
        for (int i = 0; i < 8; ++i) h[i] = hn::Xor(h[i], hn::Xor(v[i], v[i + 8]));
    }
    for (int i = 0; i < 8; ++i) hn::StoreU(h[i], words, state + i * lanes + first);
}

void Compress(std::uint64_t* state, const unsigned char* const* parts, std::size_t blocks,
              std::uint64_t counted, std::uint64_t step, bool last) {
    for (std::size_t first = 0; first < HashLanes::lanes; first += hn::Lanes(Words()))
        compress(state, parts, first, blocks, counted, step, last);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

static_assert(std::endian::native == std::endian::little, "words are read as they lie");
HWY_EXPORT(Compress);

HashLanes::HashLanes(std::size_t digest_bytes, std::span<const unsigned char> key)
    : digest_bytes_(digest_bytes), keyed_(!key.empty()) {
    ensure(digest_bytes >= 1 && digest_bytes <= 64 && key.size() <= 64, "a hash has a size and a key");
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i] = blake2b_start[i / lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane)
        state_[lane] ^= 0x01010000 ^ (key.size() << 8) ^ digest_bytes;
    std::copy(key.begin(), key.end(), key_.begin());
}

// A key is a block before the message: the last one, if that is empty.
void HashLanes::add_key() {
    if (!keyed_) return;
    Messages keys;
    keys.fill(key_.data());
    bytes_ += block_bytes;
    HWY_DYNAMIC_DISPATCH(Compress)(state_.data(), keys.data(), 1, bytes_, 0, false);
    keyed_ = false;
}

void HashLanes::add(const Messages& parts, std::size_t bytes) {
    ensure(bytes % block_bytes == 0, "only the rest of a message ends within a block");
    if (bytes == 0) return;
    add_key();
    HWY_DYNAMIC_DISPATCH(Compress)
    (state_.data(), parts.data(), bytes / block_bytes, bytes_ + block_bytes, block_bytes, false);
    bytes_ += bytes;
}

void HashLanes::finish(const Messages& parts, std::size_t bytes, unsigned char* digests) {
    std::array<unsigned char, lanes * block_bytes> blocks{};
    Messages lasts = parts;
    std::size_t rest = bytes;
    if (bytes > 0) {
        const std::size_t whole = (bytes - 1) / block_bytes * block_bytes;
        rest = bytes - whole;
        add_key();
        add(parts, whole);
        for (std::size_t lane = 0; lane < lanes; ++lane) lasts[lane] += whole;
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        unsigned char* const block = blocks.data() + lane * block_bytes;
        if (keyed_)
            std::copy(key_.begin(), key_.end(), block);
        else if (rest > 0)
            std::memcpy(block, lasts[lane], rest);
        lasts[lane] = block;
    }
    bytes_ += keyed_ ? block_bytes : rest;
    HWY_DYNAMIC_DISPATCH(Compress)(state_.data(), lasts.data(), 1, bytes_, 0, true);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        std::uint64_t words[8];
        for (std::size_t i = 0; i < 8; ++i) words[i] = state_[i * lanes + lane];
        std::memcpy(digests + lane * digest_bytes_, words, digest_bytes_);
    }
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
