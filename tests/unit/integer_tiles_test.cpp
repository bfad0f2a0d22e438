// The instructions of AMX do what their plain loops do. Where the processor has none, each is trapped and
// done here as Intel's manual describes it (volume 2 of the Software Developer's Manual), read from its
// bytes: so an operand in the wrong place shows on any x86-64.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/base/random.hpp"
#include "kernels/cpu/fixed_kernels.hpp"
#include "kernels/cpu/integer_tiles.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <ucontext.h>
#include <csignal>
#endif

namespace holdfast::cpu {
namespace {

#if defined(__x86_64__) && defined(__linux__)

/// A processor's tiles.
struct Machine {
    struct Tile {
        std::size_t rows = 0, row_bytes = 0;
        std::array<std::int8_t, tile_size> bytes{};
    };
    std::array<Tile, 8> tiles;
    std::size_t instructions = 0;

    void configure(const std::uint8_t* from) {
        EXPECT_EQ(1, from[0]) << "palette";
        for (std::size_t i = 1; i < 16; ++i) EXPECT_EQ(0, from[i]) << "reserved";
        for (std::size_t tile = 0; tile < 8; ++tile) {
            tiles[tile] = {from[48 + tile], from[16 + 2 * tile] + 256U * from[17 + 2 * tile], {}};
            ASSERT_LE(tiles[tile].rows, 16U);
            ASSERT_LE(tiles[tile].row_bytes, 64U);
        }
        for (std::size_t i = 32; i < 48; ++i) EXPECT_EQ(0, from[i]) << "of tiles beyond the eighth";
        for (std::size_t i = 56; i < 64; ++i) EXPECT_EQ(0, from[i]) << "of tiles beyond the eighth";
    }
    void release() { tiles = {}; }
    void zero(Tile& tile) {
        EXPECT_NE(0U, tile.rows) << "not configured";
        tile.bytes.fill(0);
    }
    void load(Tile& tile, const std::uint8_t* from, std::int64_t stride) {
        EXPECT_NE(0U, tile.rows) << "not configured";
        for (std::size_t row = 0; row < tile.rows; ++row)
            std::memcpy(tile.bytes.data() + 64 * row, from + static_cast<std::int64_t>(row) * stride,
                        tile.row_bytes);
    }
    void store(const Tile& tile, std::uint8_t* to, std::int64_t stride) {
        EXPECT_NE(0U, tile.rows) << "not configured";
        for (std::size_t row = 0; row < tile.rows; ++row)
            std::memcpy(to + static_cast<std::int64_t>(row) * stride, tile.bytes.data() + 64 * row,
                        tile.row_bytes);
    }
    /// TDPBSSD sums, a, b
    void multiply_add(Tile& sums, const Tile& a, const Tile& b) {
        for (std::size_t m = 0; m < sums.rows; ++m) {
            for (std::size_t k = 0; k < a.row_bytes / 4; ++k) {
                for (std::size_t n = 0; n < sums.row_bytes / 4; ++n) {
                    std::int32_t sum = 0;
                    std::int8_t* const at = sums.bytes.data() + 64 * m + 4 * n;
                    std::memcpy(&sum, at, 4);
                    for (std::size_t byte = 0; byte < 4; ++byte)
                        sum += a.bytes[64 * m + 4 * k + byte] * b.bytes[64 * k + 4 * n + byte];
                    std::memcpy(at, &sum, 4);
                }
            }
        }
    }
};

Machine machine;

/// Registers by their numbers in instructions.
constexpr int general_registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15};

/// One instruction: C4, two bytes of VEX, opcode, ModRM and what that asks for.
class Instruction {
  public:
    Instruction(const std::uint8_t* bytes, const greg_t* registers) : bytes_(bytes), registers_(registers) {
        const int mod = modrm() >> 6;
        if (mod == 3) return;
        std::size_t displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
        if (low() == 4) {
            const std::uint8_t sib = bytes_[size_++];
            const int index = (sib >> 3 & 7) | ((bytes_[1] & 0x40) == 0 ? 8 : 0);
            if (index != 4) stride = value(index) << (sib >> 6);
            if ((sib & 7) != 5 || mod != 0)
                base = value((sib & 7) | extension());
            else
                displacement = 4;
        } else if (low() == 5 && mod == 0) {
            displacement = 4;
            base = registers_[REG_RIP] + static_cast<std::int64_t>(size_) + 4;
        } else {
            base = value(low() | extension());
        }
        if (displacement == 1) base += static_cast<std::int8_t>(bytes_[size_]);
        std::int32_t four = 0;
        std::memcpy(&four, bytes_ + size_, 4);
        if (displacement == 4) base += four;
        size_ += displacement;
    }
    bool is_known() const { return bytes_[0] == 0xC4 && (bytes_[1] & 0x1F) == 2 && (bytes_[2] & 0x84) == 0; }
    int prefix() const { return bytes_[2] & 3; }  // 0 none, 2 F3, 3 F2
    int opcode() const { return bytes_[3]; }
    int modrm() const { return bytes_[4]; }
    int reg() const { return modrm() >> 3 & 7; }
    int low() const { return modrm() & 7; }
    int vvvv() const { return ~(bytes_[2] >> 3) & 7; }
    std::size_t size() const { return size_; }

    std::int64_t base = 0, stride = 0;  // of what is in memory

  private:
    int extension() const { return (bytes_[1] & 0x20) == 0 ? 8 : 0; }
    std::int64_t value(int number) const { return registers_[general_registers[number]]; }

    const std::uint8_t* bytes_;
    const greg_t* registers_;
    std::size_t size_ = 5;
};

/// False: none of AMX.
bool execute(const Instruction& one) {
    if (!one.is_known()) return false;
    auto* const memory = reinterpret_cast<std::uint8_t*>(one.base);  // NOLINT(performance-no-int-to-ptr)
    auto& tiles = machine.tiles;
    const bool in_memory = one.modrm() < 0xC0;
    const int what = one.prefix() << 8 | one.opcode();
    if (what == 0x049 && one.modrm() == 0xC0)
        machine.release();
    else if (what == 0x049 && in_memory && one.reg() == 0)
        machine.configure(memory + one.stride);
    else if (what == 0x349 && !in_memory && one.low() == 0)
        machine.zero(tiles[one.reg()]);
    else if (what == 0x34B && in_memory && one.low() == 4)
        machine.load(tiles[one.reg()], memory, one.stride);
    else if (what == 0x24B && in_memory && one.low() == 4)
        machine.store(tiles[one.reg()], memory, one.stride);
    else if (what == 0x35E && !in_memory)
        machine.multiply_add(tiles[one.reg()], tiles[one.low()], tiles[one.vvvv()]);
    else
        return false;
    ++machine.instructions;
    return true;
}

void trapped(int signal, siginfo_t* /*where*/, void* context) {
    greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(registers[REG_RIP]);  // NOLINT
    const Instruction one(bytes, registers);
    if (execute(one))
        registers[REG_RIP] += static_cast<greg_t>(one.size());
    else
        std::signal(signal, SIG_DFL);
}

/// Has the instructions of AMX done by `machine` where the processor refuses them, for as long as it lives.
class Trap {
  public:
    Trap() {
        if (amx_is_granted()) return;
        struct sigaction ours {};
        ours.sa_sigaction = &trapped;
        ours.sa_flags = SA_SIGINFO;
        sigaction(SIGILL, &ours, &before_);
    }
    ~Trap() {
        if (!amx_is_granted()) sigaction(SIGILL, &before_, nullptr);
    }
    Trap(const Trap&) = delete;
    Trap& operator=(const Trap&) = delete;

  private:
    struct sigaction before_ {};
};

using Bytes = std::vector<std::int8_t>;

Bytes random_bytes(std::size_t count, std::uint64_t seed) {
    const KeyedHash hash{seed};
    Bytes bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::int8_t>(hash(0, i));
    return bytes;
}

/// sums = a b + b a in four tiles, each operand in each place that an operand may take.
template <typename Tiles>
std::vector<std::int32_t> products(const Bytes& a, const Bytes& b) {
    std::vector<std::int32_t> sums(4 * tile_side * tile_side, 7);
    Tiles::begin();
    Tiles tiles;
    tiles.template zero<0>();
    tiles.template zero<1>();
    tiles.template zero<2>();
    tiles.template zero<3>();
    tiles.template load<4>(a.data());
    tiles.template load<5>(b.data());
    tiles.template load<6>(b.data());
    tiles.template load<7>(a.data());
    tiles.template multiply_add<0, 4, 6>();
    tiles.template multiply_add<0, 5, 7>();
    tiles.template multiply_add<1, 4, 7>();
    tiles.template multiply_add<2, 5, 6>();
    tiles.template multiply_add<3, 7, 5>();
    std::size_t block = 0;
    tiles.template store<0>(sums.data() + tile_side * tile_side * block++);
    tiles.template store<1>(sums.data() + tile_side * tile_side * block++);
    tiles.template store<2>(sums.data() + tile_side * tile_side * block++);
    tiles.template store<3>(sums.data() + tile_side * tile_side * block++);
    Tiles::end();
    return sums;
}

TEST(IntegerTiles, TheInstructionsAreThePlainLoops) {
    const Trap trap;
    machine.instructions = 0;
    for (std::uint64_t round = 0; round < 20; ++round) {
        const Bytes a = random_bytes(tile_size, 2 * round), b = random_bytes(tile_size, 2 * round + 1);
        EXPECT_EQ(products<PlainTiles>(a, b), products<AmxTiles>(a, b));
    }
    EXPECT_EQ(amx_is_granted() ? 0U : 20U * 19U, machine.instructions);
}

AlignedVector<float> random_values(std::size_t count, std::uint64_t seed) {
    const KeyedHash hash{seed};
    AlignedVector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(static_cast<std::int64_t>(hash(0, i)) * 0x1p-63);
    return values;
}

// The sums between the instructions and the memory: of 16 bits and of 8, over several tiles and parts of one.
TEST(IntegerTiles, TheKernelsGiveTheirSumsOnTheInstructions) {
    const Trap trap;
    const LayerShape shape{75, 37};
    const std::size_t stride = row_stride<float>(shape.in);
    const AlignedVector<float> delta = random_values(shape.out * panel_height, 1),
                               z = random_values(panel_height * stride, 2);
    AlignedVector<float> delta_upper = delta;
    for (float& value : delta_upper) value += 0.125F;
    const Clip clip{.kind = Clip::Kind::factored, .delta_limit = 1.5, .activation_limit = 1};
    for (const int bits : {16, 8}) {
        const OuterProduct<float> product{
            shape, clip, {delta.data(), delta_upper.data()}, {z.data(), z.data()}, stride, panel_height};
        const auto sums = [&](bool amx) {
            std::vector<std::int64_t> sums(2 * shape.parameters());
            fixed_tile_kernels(amx).accumulate(product, bits,
                                               {sums.data(), sums.data() + shape.parameters()});
            return sums;
        };
        machine.instructions = 0;
        const std::vector<std::int64_t> found = sums(true);
        EXPECT_EQ(!amx_is_granted(), machine.instructions > 0);
        EXPECT_EQ(sums(false), found);
        EXPECT_NE(0, std::count_if(found.begin(), found.end(), [](std::int64_t sum) { return sum != 0; }));
    }
}

#else

TEST(IntegerTiles, AreThePlainLoopsElsewhere) {
    EXPECT_TRUE((std::is_same_v<AmxTiles, PlainTiles>));
    EXPECT_TRUE(amx_refusal().has_value());
}

#endif

// In memory that was used before: what a matrix does not fill is 0 in all of its tiles.
TEST(IntegerTiles, AreZeroBeyondTheMatrix) {
    for (const int digits : {1, 2}) {
        constexpr std::size_t size = 37, depth = 70;
        std::vector<TileDigits> used;
        for (int i = 0; i < 8; ++i) {
            used.emplace_back(digits, size, depth);
            TileDigits& all = used.back();
            std::memset(all.tile(0, 0, 0), 1, all.pairs() * all.depths() * 2 * tile_size);
        }
        used.clear();
        TileDigits fresh(digits, size, depth);
        for (std::size_t row = 0; row < fresh.pairs() * fresh.pair_size(); ++row) {
            for (std::size_t k = row < size ? depth : 0; k < 2 * tile_depth; ++k)
                ASSERT_EQ(0, fresh.row(digits - 1, row, k / tile_depth * tile_depth)[k % tile_depth])
                    << row << ", " << k;
        }
    }
}

TEST(IntegerTiles, TheLoopsMultiplyEveryRowByEveryColumn) {
    std::vector<std::int8_t> a(tile_size), b(tile_size);
    for (std::size_t row = 0; row < tile_side; ++row) {
        for (std::size_t k = 0; k < tile_depth; ++k)
            a[row * tile_depth + k] = static_cast<std::int8_t>(row - k);
    }
    const auto value = [](std::size_t k, std::size_t lane) {
        return static_cast<std::int8_t>(3 * k + 5 * lane);
    };
    for (std::size_t k = 0; k < tile_depth; ++k) {
        for (std::size_t lane = 0; lane < tile_side; ++lane)
            b[k / 4 * tile_depth + 4 * lane + k % 4] = value(k, lane);
    }
    PlainTiles tiles;
    tiles.zero<0>();
    tiles.load<4>(a.data());
    tiles.load<6>(b.data());
    tiles.multiply_add<0, 4, 6>();
    std::vector<std::int32_t> sums(tile_side * tile_side);
    tiles.store<0>(sums.data());
    for (std::size_t row = 0; row < tile_side; ++row) {
        for (std::size_t lane = 0; lane < tile_side; ++lane) {
            std::int32_t expected = 0;
            for (std::size_t k = 0; k < tile_depth; ++k) expected += a[row * tile_depth + k] * value(k, lane);
            EXPECT_EQ(expected, sums[row * tile_side + lane]) << row << ", " << lane;
        }
    }
}

}  // namespace
}  // namespace holdfast::cpu
