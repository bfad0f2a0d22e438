#include "models/nets/cyclic_transform.hpp"

#include <algorithm>

#include "kernels/base/circle.hpp"
#include "models/nets/cyclic_waves.hpp"

namespace holdfast::cyclic {
namespace {

using cyclic::product;
using residues::difference;
using residues::product;
using residues::sum;

constexpr std::uint64_t root = 64;  // of order 32, as 2 is of order 192

constexpr std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
    std::uint64_t result = 1;
    for (; exponent > 0; exponent /= 2, base = product(base, base))
        if (exponent % 2 == 1) result = product(result, base);
    return result;
}
static_assert(power(root, half) == residues::prime - 1);

/// root^k and its inverse.
template <typename Number>
struct Turns {
    std::array<Number, half> forth{}, back{};
};
constexpr Turns<std::uint64_t> turns_of() {
    Turns<std::uint64_t> turns;
    for (std::size_t k = 0; k < half; ++k) {
        turns.forth[k] = power(root, k);
        turns.back[k] = power(root, (side - k) % side);
    }
    return turns;
}
constexpr Turns<std::uint64_t> exact_turns = turns_of();

Complex sum(Complex a, Complex b) {
    return a + b;
}
Complex difference(Complex a, Complex b) {
    return a - b;
}
const Turns<Complex>& turns_for(const Complex*) {
    static const Turns<Complex> turns = [] {
        Turns<Complex> made;
        for (std::size_t k = 0; k < half; ++k) {
            const CirclePoint at = circle_point(static_cast<double>(k) / side);
            made.back[k] = {at.cosine, at.sine};
            made.forth[k] = {at.cosine, -at.sine};
        }
        return made;
    }();
    return turns;
}
const Turns<std::uint64_t>& turns_for(const std::uint64_t*) {
    return exact_turns;
}

/// Every row's butterfly of entries `apart`: the row's numbers lie `step` apart, rows `next`.
template <std::size_t Side, bool Forth, typename Number>
void pass(Number* values, std::size_t step, std::size_t next, std::size_t apart) {
    const Turns<Number>& turns = turns_for(values);
    for (std::size_t first = 0; first < Side; first += 2 * apart) {
        for (std::size_t k = 0; k < apart; ++k) {
            const Number turn = Forth ? turns.forth[k * half / apart] : turns.back[k * half / apart];
            Number *one = values + (first + k) * step, *other = one + apart * step;
            for (std::size_t row = 0; row < Side; ++row, one += next, other += next) {
                const Number a = *one, b = Forth || k == 0 ? *other : product(*other, turn);
                *one = sum(a, b);
                *other = Forth && k > 0 ? product(difference(a, b), turn) : difference(a, b);
            }
        }
    }
}

template <std::size_t Side, typename Number>
void forth(Number* values) {
    for (std::size_t apart = Side / 2; apart > 0; apart /= 2) pass<Side, true>(values, Side, 1, apart);
    for (std::size_t apart = Side / 2; apart > 0; apart /= 2) pass<Side, true>(values, 1, Side, apart);
}

template <std::size_t Side, typename Number>
void back(Number* values) {
    for (std::size_t apart = 1; apart < Side; apart *= 2) pass<Side, false>(values, 1, Side, apart);
    for (std::size_t apart = 1; apart < Side; apart *= 2) pass<Side, false>(values, Side, 1, apart);
}

}  // namespace

void transform(Whole& values) {
    forth<side>(values.data());
}

void transform_back(Whole& values) {
    back<side>(values.data());
}
void transform_back(Half& values) {
    back<half>(values.data());
}
void transform(WholeWave& values) {
    forth<side>(values.data());
}
void transform(HalfWave& values) {
    forth<half>(values.data());
}
void transform_back(WholeWave& values) {
    back<side>(values.data());
}
void transform_back(HalfWave& values) {
    back<half>(values.data());
}

// Frequencies k and k + 16 are neighbours, bits being reversed.
void fold(const Whole& whole, Half& folded) {
    for (std::size_t y = 0; y < half; ++y) {
        const std::uint64_t *upper = &whole[2 * y * side], *lower = upper + side;
        for (std::size_t x = 0; x < half; ++x)
            folded[y * half + x] =
                sum(sum(upper[2 * x], upper[2 * x + 1]), sum(lower[2 * x], lower[2 * x + 1]));
    }
}

Whole filter_of(const std::array<std::int64_t, side * side>& taps) {
    constexpr std::uint64_t inverse = power(side * side, residues::prime - 2);
    Whole values;
    std::transform(taps.begin(), taps.end(), values.begin(), residues::of);
    transform(values);
    for (std::uint64_t& value : values) value = product(value, inverse);
    return values;
}

void multiply(const Whole& one, const Whole& other, Whole& products) {
    for (std::size_t i = 0; i < products.size(); ++i) products[i] = product(one[i], other[i]);
}

void multiply(const Whole& one, const Whole& other, Half& folded) {
    Whole products;
    multiply(one, other, products);
    fold(products, folded);
}

}  // namespace holdfast::cyclic
