#pragma once

#include "models/privacy/rational.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

/// round(X) for X normal with mean 0 and standard deviation sigma > 0, exactly, by algorithm N of Karney
/// (Sampling exactly from the normal distribution, 2016), in rational arithmetic: the independent
/// implementation of the law of GaussianNoise, a thousand times slower. It shares nothing with it, no table
/// and no floating point.
Integer karney_normal(const Rational& sigma, RandomBits& bits);

}  // namespace holdfast
