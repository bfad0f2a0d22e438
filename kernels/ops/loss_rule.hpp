#pragma once

#include <algorithm>

#include "kernels/base/monotone_exp.hpp"
#include "kernels/ops/panel_operations.hpp"

namespace holdfast {

/// Bounds of 1 / p_c, p_c = 1 / (1 + sum over j != c of exp(z_j - z_c)): `own` is the logit of c at one end
/// of its box, `others` the logits at the other end, each at [class * stride]. But for cross_entropy a logit
/// stands against a logit of 0 alone.
/// Lemma: it falls with z_c and grows with every z_j, as the rounded difference, monotone_exp (its theorem)
/// and the rounded sum do; so the two ends are its least and its greatest value. z_c occurs in every term,
/// but always the same way: the bounds are attained. At most 1 + 999 exp(700) (1 + 2^-52): the sum and its
/// reciprocal are normal numbers. Tests: arithmetic_test.cpp (SoftmaxBox), exp_proof_test.cpp.
template <typename Real>
HOLDFAST_PORTABLE double inverse_probability(Loss loss, std::size_t outputs, std::size_t c, const Real* own,
                                             const Real* others, std::size_t stride) {
    double sum = 1.0;
    const auto own_logit = static_cast<double>(own[c * stride]);
    if (loss != Loss::cross_entropy) return sum + monotone_exp(-own_logit);
    for (std::size_t j = 0; j < outputs; ++j) {
        if (j != c) sum += monotone_exp(static_cast<double>(others[j * stride]) - own_logit);
    }
    return sum;
}

/// The hinge loss of one logit z is max(0, 1 - s z), s = 1 for label 1 and -1 for label 0.
/// Lemma: its derivative, -s where s z < 1 and else 0, is a step that does not fall with z: both ends map to
/// both ends. Tests: interval_oracle_test.cpp.
template <typename Real>
HOLDFAST_PORTABLE double hinge_derivative(double target, Real z) {
    const auto logit = static_cast<double>(z);
    if (target == 1) return logit < 1 ? -1.0 : 0.0;
    return logit > -1 ? 1.0 : 0.0;
}

/// The huberised hinge loss of one logit z: with s as there and w = huber_width its derivative is -s where
/// s z < 1 - w, 0 where s z > 1 + w and goes straight from one to the other between.
/// Lemma: a rounded difference, a product with a positive power of two and a clamp, none of which falls with
/// z: both ends map to both ends. Tests: loss_test.cpp, interval_oracle_test.cpp.
template <typename Real>
HOLDFAST_PORTABLE double huber_derivative(double target, Real z) {
    const double sign = target == 1 ? 1.0 : -1.0;
    const double rise = (static_cast<double>(z) - sign * (1 + huber_width)) * (1 / (2 * huber_width));
    return target == 1 ? std::clamp(rise, -1.0, 0.0) : std::clamp(rise, 0.0, 1.0);
}

/// The squared error of one output z is (z - t)^2, t any finite number.
/// Lemma: its derivative, 2 (z - t) saturated in Real, is a rounded difference, doubled exactly, and a clamp:
/// it does not fall with z and does not rise with t, and is finite (models/mathematics.md, total map). Tests:
/// loss_test.cpp, interval_oracle_test.cpp.
template <typename Real>
HOLDFAST_PORTABLE double squared_error_derivative(double target, Real z) {
    const auto most = static_cast<double>(RealFormat<Real>::saturation);
    return std::clamp(2 * (static_cast<double>(z) - target), -most, most);
}

/// The derivative of the loss by logit c at the end of the box given by `own` and `others`: what follows, the
/// rounded quotient and difference and the conversion to Real, keeps the order. `target` is the record's
/// class index, or its number where the loss is of numbers.
template <typename Real>
HOLDFAST_PORTABLE double loss_derivative(Loss loss, std::size_t outputs, std::size_t c, double target,
                                         const Real* own, const Real* others, std::size_t stride) {
    if (loss == Loss::hinge) return hinge_derivative(target, *own);
    if (loss == Loss::huber) return huber_derivative(target, *own);
    if (loss == Loss::squared_error) return squared_error_derivative(target, *own);
    const double own_class = loss == Loss::binary_cross_entropy ? 1.0 : static_cast<double>(c);
    const double wanted = target == own_class ? 1.0 : 0.0;
    return 1.0 / inverse_probability(loss, outputs, c, own, others, stride) - wanted;
}

}  // namespace holdfast
