// Convolutions with eight filters at a time, compiled once an instruction set (Highway).

#include "kernels/cpu/wave_lanes.hpp"

#include "kernels/base/residues.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/wave_lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef HOLDFAST_WAVE_LANES_ONCE
#define HOLDFAST_WAVE_LANES_ONCE
namespace holdfast::cpu::wave_lanes {

/// root^k and its inverse.
struct Turns {
    std::array<std::uint64_t, half> forth{}, back{};
};
constexpr Turns turns = [] {
    Turns made;
    for (std::size_t k = 0; k < half; ++k) {
        made.forth[k] = residues::power(residues::root, k);
        made.back[k] = residues::power(residues::root, (side - k) % side);
    }
    return made;
}();

}  // namespace holdfast::cpu::wave_lanes
#endif

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using wave_lanes::half;
using wave_lanes::side;
using wave_lanes::turns;
using Numbers = hn::CappedTag<std::uint64_t, wave_lanes::lanes>;
using Number = hn::Vec<Numbers>;
constexpr Numbers numbers{};

// Residues ------------------------------------------------------------------------------------------------

HWY_INLINE Number all_of(std::uint64_t value) {
    return hn::Set(numbers, value);
}
/// a, less 2^32 - 1 where `borrowed`.
HWY_INLINE Number less_epsilon(hn::Mask<Numbers> borrowed, Number a) {
    return hn::Sub(a, hn::IfThenElseZero(borrowed, all_of(residues::epsilon)));
}
/// a < prime, b <= prime
HWY_INLINE Number difference(Number a, Number b) {
    return less_epsilon(hn::Lt(a, b), hn::Sub(a, b));
}
HWY_INLINE Number sum(Number a, Number b) {
    return difference(a, hn::Sub(all_of(residues::prime), b));
}
/// The products of the lower halves.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE Number lower_product(Number a, Number b) {
    return all_of((hn::GetLane(a) & residues::epsilon) * (hn::GetLane(b) & residues::epsilon));
}
#else
HWY_INLINE Number lower_product(Number a, Number b) {
    const hn::Repartition<std::uint32_t, Numbers> halves;
    return hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, b));
}
#endif
/// As residues::reduced.
HWY_INLINE Number reduced(Number high, Number low) {
    const Number small = hn::And(high, all_of(residues::epsilon)), great = hn::ShiftRight<32>(high),
                 part = hn::Sub(hn::ShiftLeft<32>(small), small);
    const Number rest = less_epsilon(hn::Lt(low, great), hn::Sub(low, great)), total = hn::Add(rest, part);
    const Number whole = hn::Add(total, hn::IfThenElseZero(hn::Lt(total, part), all_of(residues::epsilon)));
    return hn::Min(whole, hn::Sub(whole, all_of(residues::prime)));
}
HWY_INLINE Number product(Number a, Number b) {
    const Number a_high = hn::ShiftRight<32>(a), b_high = hn::ShiftRight<32>(b),
                 mask = all_of(residues::epsilon);
    const Number low = lower_product(a, b);
    const Number one = hn::Add(lower_product(a_high, b), hn::ShiftRight<32>(low));
    const Number other = hn::Add(lower_product(a, b_high), hn::And(one, mask));
    return reduced(
        hn::Add(lower_product(a_high, b_high), hn::Add(hn::ShiftRight<32>(one), hn::ShiftRight<32>(other))),
        hn::Or(hn::ShiftLeft<32>(other), hn::And(low, mask)));
}

// Transforms ----------------------------------------------------------------------------------------------

template <std::size_t Side, bool Forth>
HWY_INLINE void butterflies(Number* line, std::size_t apart) {
    for (std::size_t k = 0; k < apart; ++k) {
        const Number turn = all_of(Forth ? turns.forth[k * half / apart] : turns.back[k * half / apart]);
        for (std::size_t first = k; first < Side; first += 2 * apart) {
            Number &one = line[first], &other = line[first + apart];
            const Number a = one, b = Forth || k == 0 ? other : product(other, turn);
            one = sum(a, b);
            other = Forth && k > 0 ? product(difference(a, b), turn) : difference(a, b);
        }
    }
}

/// Each of `Side` lines, `next` vectors of eight apart, whose numbers lie `step` apart.
template <std::size_t Side, bool Forth>
HWY_INLINE void transform_lines(std::uint64_t* values, std::size_t step, std::size_t next) {
    for (std::size_t which = 0; which < Side; ++which) {
        std::uint64_t* const start = values + which * next * wave_lanes::lanes;
        Number line[Side];
        for (std::size_t i = 0; i < Side; ++i)
            line[i] = hn::Load(numbers, start + i * step * wave_lanes::lanes);
        if constexpr (Forth) {
            for (std::size_t apart = Side / 2; apart > 0; apart /= 2) butterflies<Side, true>(line, apart);
        } else {
            for (std::size_t apart = 1; apart < Side; apart *= 2) butterflies<Side, false>(line, apart);
        }
        for (std::size_t i = 0; i < Side; ++i)
            hn::Store(line[i], numbers, start + i * step * wave_lanes::lanes);
    }
}

/// Of as many lanes as a vector has, from the one that values begin with.
template <std::size_t Side, bool Forth>
HWY_NOINLINE void transform(std::uint64_t* values) {
    transform_lines<Side, Forth>(values, Side, 1);
    transform_lines<Side, Forth>(values, 1, Side);
}

// Convolutions --------------------------------------------------------------------------------------------

/// The transform of the convolution; that of every other row and column, where those are wanted: frequencies
/// k and k + 16 are neighbours.
template <std::size_t Side>
HWY_INLINE void multiply(const std::uint64_t* of, const std::uint64_t* filter, std::uint64_t* products) {
    const auto product_at = [&](std::size_t at) HWY_ATTR {
        const std::size_t number = at * wave_lanes::lanes;
        return product(all_of(of[number]), hn::Load(numbers, filter + number));
    };
    for (std::size_t y = 0; y < Side; ++y) {
        for (std::size_t x = 0; x < Side; ++x) {
            Number result;
            if constexpr (Side == side) {
                result = product_at(y * side + x);
            } else {
                const std::size_t upper = 2 * y * side + 2 * x, lower = upper + side;
                result = sum(sum(product_at(upper), product_at(upper + 1)),
                             sum(product_at(lower), product_at(lower + 1)));
            }
            hn::Store(result, numbers, products + (y * Side + x) * wave_lanes::lanes);
        }
    }
}

using Integers = hn::RebindToSigned<Numbers>;
using Integer = hn::Vec<Integers>;
HWY_INLINE Integer square(Integer value) {  // of less than 2^31 in size
    const Number size = hn::BitCast(numbers, hn::Abs(value));
    return hn::BitCast(Integers(), lower_product(size, size));
}
/// The integer of least size that the residue stands for, rounded to 2^bits.
HWY_INLINE Integer rounded(Number residue, int bits) {
    const Integers integers;
    const Integer value = hn::BitCast(integers, residue);  // negative ones are 2^32 - 1 too low
    const Integer right = hn::Add(
        value, hn::IfThenElseZero(hn::Lt(value, hn::Zero(integers)), hn::Set(integers, residues::epsilon)));
    return hn::ShiftRightSame(hn::Add(right, hn::Set(integers, std::int64_t{1} << (bits - 1))), bits);
}
/// The root of n < 2^60, rounded down: of doubles it is right up to 1.
HWY_INLINE Integer root_of(Integer n) {
    const Integers integers;
    const hn::Rebind<double, Integers> doubles;
    const Integer one = hn::Set(integers, 1);
    Integer root = hn::ConvertTo(integers, hn::Sqrt(hn::ConvertTo(doubles, n)));
    root = hn::Sub(root, hn::IfThenElseZero(hn::Gt(square(root), n), one));
    const Integer next = hn::Add(root, one);
    return hn::IfThenElse(hn::Gt(square(next), n), root, next);
}

template <std::size_t Side>
void moduli_of(const std::uint64_t* of, const wave_lanes::Filters& filters, int bits,
               wave_lanes::Torus<Side>& values) {
    wave_lanes::Torus<Side> imaginary;
    for (std::size_t first = 0; first < wave_lanes::lanes; first += hn::Lanes(numbers)) {
        std::uint64_t *const a = values.data() + first, *const b = imaginary.data() + first;
        multiply<Side>(of, filters.real.data() + first, a);
        multiply<Side>(of, filters.imaginary.data() + first, b);
        transform<Side, false>(a);
        transform<Side, false>(b);
        for (std::size_t i = 0; i < values.size(); i += wave_lanes::lanes) {
            const Integer real = rounded(hn::Load(numbers, a + i), bits),
                          other = rounded(hn::Load(numbers, b + i), bits);
            hn::Store(hn::BitCast(numbers, root_of(hn::Add(square(real), square(other)))), numbers, a + i);
        }
    }
}

// The low pass --------------------------------------------------------------------------------------------

template <std::size_t Side>
void see_all(const wave_lanes::Torus<Side>& values, const wave_lanes::Windows<Side>& windows,
             std::size_t height, std::size_t width, std::uint64_t* seen) {
    for (std::size_t first = 0; first < wave_lanes::lanes; first += hn::Lanes(numbers)) {
        Number rows[8 * Side];  // [width, Side]
        for (std::size_t y = 0; y < Side; ++y) {
            for (std::size_t k = 0; k < width; ++k) {
                Number sum = hn::Zero(numbers);
                for (std::size_t x = 0; x < Side; ++x)
                    if (windows[k][x] != 0)
                        sum = hn::Add(
                            sum, lower_product(
                                     hn::Load(numbers, &values[(y * Side + x) * wave_lanes::lanes + first]),
                                     all_of(windows[k][x])));
                rows[k * Side + y] = sum;
            }
        }
        for (std::size_t i = 0; i < height; ++i) {
            for (std::size_t k = 0; k < width; ++k) {
                Number low = hn::Zero(numbers), high = low;
                for (std::size_t y = 0; y < Side; ++y) {
                    const Number row = rows[k * Side + y], by = all_of(windows[i][y]);
                    low = hn::Add(low, lower_product(row, by));
                    high = hn::Add(high, lower_product(hn::ShiftRight<32>(row), by));
                }
                hn::StoreU(hn::Add(low, hn::ShiftLeft<32>(high)), numbers,
                           seen + (i * width + k) * wave_lanes::lanes + first);
            }
        }
    }
}

void Transform(wave_lanes::Whole& values) {
    for (std::size_t first = 0; first < wave_lanes::lanes; first += hn::Lanes(numbers))
        transform<side, true>(values.data() + first);
}
void ModuliWhole(const std::uint64_t* of, const wave_lanes::Filters& filters, int bits,
                 wave_lanes::Whole& values) {
    moduli_of<side>(of, filters, bits, values);
}
void ModuliHalf(const std::uint64_t* of, const wave_lanes::Filters& filters, int bits,
                wave_lanes::Half& values) {
    moduli_of<half>(of, filters, bits, values);
}
void SeeWhole(const wave_lanes::Whole& values, const wave_lanes::Windows<side>& windows, std::size_t height,
              std::size_t width, std::uint64_t* seen) {
    see_all<side>(values, windows, height, width, seen);
}
void SeeHalf(const wave_lanes::Half& values, const wave_lanes::Windows<half>& windows, std::size_t height,
             std::size_t width, std::uint64_t* seen) {
    see_all<half>(values, windows, height, width, seen);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(Transform);
HWY_EXPORT(ModuliWhole);
HWY_EXPORT(ModuliHalf);
HWY_EXPORT(SeeWhole);
HWY_EXPORT(SeeHalf);

namespace wave_lanes {

void transform(Whole& values) {
    HWY_DYNAMIC_DISPATCH(Transform)(values);
}
void moduli(const Whole& of, std::size_t lane, const Filters& filters, int bits, Whole& values) {
    HWY_DYNAMIC_DISPATCH(ModuliWhole)(&of[lane], filters, bits, values);
}
void moduli(const Whole& of, std::size_t lane, const Filters& filters, int bits, Half& values) {
    HWY_DYNAMIC_DISPATCH(ModuliHalf)(&of[lane], filters, bits, values);
}
void see(const Whole& values, const Windows<side>& windows, std::size_t height, std::size_t width,
         std::uint64_t* seen) {
    HWY_DYNAMIC_DISPATCH(SeeWhole)(values, windows, height, width, seen);
}
void see(const Half& values, const Windows<half>& windows, std::size_t height, std::size_t width,
         std::uint64_t* seen) {
    HWY_DYNAMIC_DISPATCH(SeeHalf)(values, windows, height, width, seen);
}

}  // namespace wave_lanes
}  // namespace holdfast::cpu
#endif  // HWY_ONCE
