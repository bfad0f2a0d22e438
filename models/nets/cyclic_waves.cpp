#include "models/nets/cyclic_waves.hpp"

#include "kernels/base/circle.hpp"

namespace holdfast::cyclic {
namespace {

/// root^k and its inverse.
struct Turns {
    std::array<Complex, half> forth{}, back{};
};
const Turns& all_turns() {
    static const Turns turns = [] {
        Turns made;
        for (std::size_t k = 0; k < half; ++k) {
            const CirclePoint at = circle_point(static_cast<double>(k) / side);
            made.back[k] = {at.cosine, at.sine};
            made.forth[k] = {at.cosine, -at.sine};
        }
        return made;
    }();
    return turns;
}

/// Every row's butterfly of entries `apart`: the row's numbers lie `step` apart, rows `next`.
template <std::size_t Side, bool Forth>
void pass(Complex* values, std::size_t step, std::size_t next, std::size_t apart) {
    const Turns& turns = all_turns();
    for (std::size_t first = 0; first < Side; first += 2 * apart) {
        for (std::size_t k = 0; k < apart; ++k) {
            const Complex turn = Forth ? turns.forth[k * half / apart] : turns.back[k * half / apart];
            Complex *one = values + (first + k) * step, *other = one + apart * step;
            for (std::size_t row = 0; row < Side; ++row, one += next, other += next) {
                const Complex a = *one, b = Forth || k == 0 ? *other : product(*other, turn);
                *one = a + b;
                *other = Forth && k > 0 ? product(a - b, turn) : a - b;
            }
        }
    }
}

template <std::size_t Side>
void forth(Complex* values) {
    for (std::size_t apart = Side / 2; apart > 0; apart /= 2) pass<Side, true>(values, Side, 1, apart);
    for (std::size_t apart = Side / 2; apart > 0; apart /= 2) pass<Side, true>(values, 1, Side, apart);
}

template <std::size_t Side>
void back(Complex* values) {
    for (std::size_t apart = 1; apart < Side; apart *= 2) pass<Side, false>(values, 1, Side, apart);
    for (std::size_t apart = 1; apart < Side; apart *= 2) pass<Side, false>(values, Side, 1, apart);
}

}  // namespace

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

}  // namespace holdfast::cyclic
