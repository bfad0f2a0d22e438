#pragma once

#include "models/privacy/mechanisms/flip_law.hpp"

namespace holdfast {

/// Flip with atan(2 s)/pi, s = 6 e^(-eps h/6)/eps (000).
FlipTable cauchy_table(const Rational& epsilon, std::int64_t cap);

}  // namespace holdfast
