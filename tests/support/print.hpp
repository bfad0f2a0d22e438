#pragma once

#include <ostream>

#include "kernels/ops/panel_operations.hpp"

// How parameters of tests are printed: else googletest shows their bytes, some of them addresses, and a
// test's name differs from run to run.
namespace holdfast {

inline void PrintTo(Precision precision, std::ostream* out) {
    *out << name_of(precision);
}
inline void PrintTo(const Arithmetic& arithmetic, std::ostream* out) {
    *out << name_of(arithmetic.precision) << " " << arithmetic.activation_bits;
}
inline void PrintTo(const LayerShape& shape, std::ostream* out) {
    *out << shape.in << "x" << shape.out;
}

}  // namespace holdfast
