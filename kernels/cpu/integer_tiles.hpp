#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace holdfast::cpu {

// Tiles of integers: 16 rows of 64 bytes. Rows by values: sums[m][n] += the sum over k of a[m][k] b[k][n] in
// 32 bits, with a [16, 64] int8, sums [16, 16] int32 and b [64, 16] int8, of which four neighbours in k lie
// side by side: b[k][n] is byte 4 n + k % 4 of row k / 4 (Intel 64 and IA-32 Architectures Software
// Developer's Manual, volume 2, TDPBSSD).

constexpr std::size_t tile_side = 16, tile_depth = 64, tile_size = tile_side * tile_depth;

/// What the instructions do, in plain loops: the specification, and for processors without them.
class PlainTiles {
  public:
    static void begin() {}
    static void end() {}

    template <int Tile>
    void zero() {
        at_[Tile].fill(0);
    }
    /// tile_size bytes.
    template <int Tile>
    void load(const std::int8_t* from) {
        std::memcpy(at_[Tile].data(), from, tile_size);
    }
    /// [16, 16]
    template <int Tile>
    void store(std::int32_t* to) const {
        std::memcpy(to, at_[Tile].data(), tile_size);
    }
    template <int Sums, int A, int B>
    void multiply_add() {
        std::array<std::int32_t, tile_side * tile_side> sums;
        std::memcpy(sums.data(), at_[Sums].data(), tile_size);
        for (std::size_t m = 0; m < tile_side; ++m) {
            for (std::size_t k = 0; k < tile_depth; ++k) {
                const std::int32_t a{at_[A][m * tile_depth + k]};
                for (std::size_t n = 0; n < tile_side; ++n)
                    sums[m * tile_side + n] += a * at_[B][k / 4 * tile_depth + 4 * n + k % 4];
            }
        }
        std::memcpy(at_[Sums].data(), sums.data(), tile_size);
    }

  private:
    std::array<std::array<std::int8_t, tile_size>, 8> at_;
};

#if defined(__x86_64__)
/// The instructions: of a thread, between begin() and end().
class AmxTiles {
  public:
    static void begin() {
        struct alignas(64) Configuration {
            std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
            std::uint16_t row_bytes[16] = {};
            std::uint8_t rows[16] = {};
        } configuration;
        static_assert(sizeof(Configuration) == 64);
        for (std::size_t tile = 0; tile < 8; ++tile) {
            configuration.row_bytes[tile] = tile_depth;
            configuration.rows[tile] = tile_side;
        }
        asm volatile("ldtilecfg %0" : : "m"(configuration));
    }
    static void end() { asm volatile("tilerelease"); }

    template <int Tile>
    void zero() {
        asm volatile("tilezero %%tmm%c0" : : "i"(Tile));
    }
    template <int Tile>
    void load(const std::int8_t* from) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(tile_depth), "i"(Tile) : "memory");
    }
    template <int Tile>
    void store(std::int32_t* to) const {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(tile_depth), "i"(Tile) : "memory");
    }
    template <int Sums, int A, int B>
    void multiply_add() {
        asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(Sums), "i"(A), "i"(B));
    }
};
#else
using AmxTiles = PlainTiles;  // where amx_refusal() has a reason
#endif

/// Why AMX is not used here: the processor has none, the kernel does not grant it, or it does not multiply as
/// PlainTiles does (asked once); nothing where it is used.
std::optional<std::string> amx_refusal();
inline bool amx_is_granted() {
    return !amx_refusal();
}

}  // namespace holdfast::cpu
