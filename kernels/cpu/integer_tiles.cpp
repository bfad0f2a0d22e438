#include "kernels/cpu/integer_tiles.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "kernels/base/random.hpp"

namespace holdfast::cpu {
namespace {

bool processor_has_tiles() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(1, 0, &a, &b, &c, &d) == 0 || (c >> 27U & 1U) == 0) return false;  // OSXSAVE
    constexpr unsigned tiles = 1U << 24U, of_int8 = 1U << 25U;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & tiles) == 0 || (d & of_int8) == 0) return false;
    unsigned low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    constexpr unsigned saved = 3U << 17U;  // the kernel saves their configuration and data
    return (low & saved) == saved;
}

/// Linux grants the 8 KiB of tiles to a process that asks, for all its threads.
bool kernel_grants_tiles() {
    constexpr long request_permission = 0x1023, tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

template <typename Tiles>
std::array<std::int32_t, tile_side * tile_side> product(const std::int8_t* a, const std::int8_t* b) {
    alignas(64) std::array<std::int32_t, tile_side * tile_side> sums;
    Tiles::begin();
    Tiles tiles;
    tiles.template zero<2>();
    for (int twice = 0; twice < 2; ++twice) {
        tiles.template load<4>(a);
        tiles.template load<6>(b);
        tiles.template multiply_add<2, 4, 6>();
    }
    tiles.template store<2>(sums.data());
    Tiles::end();
    return sums;
}

bool tiles_multiply() {
    const KeyedHash hash{11};
    alignas(64) std::int8_t a[tile_size], b[tile_size];
    for (std::uint64_t round = 0; round < 8; ++round) {
        for (std::size_t i = 0; i < tile_size; ++i) {
            a[i] = static_cast<std::int8_t>(hash(2 * round, i));
            b[i] = static_cast<std::int8_t>(hash(2 * round + 1, i));
        }
        if (product<AmxTiles>(a, b) != product<PlainTiles>(a, b)) return false;
    }
    return true;
}

}  // namespace

std::optional<std::string> amx_refusal() {
    static const std::optional<std::string> refusal = []() -> std::optional<std::string> {
        if (!processor_has_tiles()) return "none on this processor";
        if (!kernel_grants_tiles()) return "not granted by the kernel";
        if (!tiles_multiply()) return "not used: its products are wrong";
        return std::nullopt;
    }();
    return refusal;
}

}  // namespace holdfast::cpu
#else
namespace holdfast::cpu {
std::optional<std::string> amx_refusal() {
    return "none on this processor";
}
}  // namespace holdfast::cpu
#endif
