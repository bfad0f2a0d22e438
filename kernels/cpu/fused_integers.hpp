#pragma once

#include <string>

namespace holdfast::cpu {

/// What multiplies the integers of fixed precision and adds them up in one instruction: "AMX" or "VNNI";
/// empty: nothing here does, or none is used. Without one, products of 16 bits take two instructions for each
/// digit of 8 and are slower than those of single precision; of 8 bits they are faster all the same
/// (kernels/README.md, Speed).
std::string fused_integers();

}  // namespace holdfast::cpu
