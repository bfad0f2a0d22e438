// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_LOSS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_LOSS_INL
#undef HOLDFAST_LOSS_INL
#else
#define HOLDFAST_LOSS_INL
#endif

#include "kernels/base/monotone_exp.hpp"
#include "kernels/cpu/simd-inl.hpp"
#include "kernels/ops/loss_rule.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// monotone_exp() of every lane; not for NaN.
HWY_INLINE Vec<double> exp_lanes(Vec<double> x) {
    constexpr Tag<double> tag{};
    const auto all = [=](double value) { return hn::Set(tag, value); };
    const Vec<double> inside = hn::Min(hn::Max(x, all(-700.0)), all(700.0)),
                      bias = all(exp_steps::argument_bias);
    const Vec<double> argument = hn::Sub(hn::Add(inside, bias), bias);
    const Vec<double> power = hn::Round(hn::Mul(argument, all(exp_steps::log2_e)));
    const Vec<double> reduced =
        fused(power, all(-exp_steps::ln2_low), fused(power, all(-exp_steps::ln2_high), argument));
    constexpr exp_steps::Coefficients coefficients = exp_steps::taylor();
    Vec<double> sum = all(coefficients.at[0]);
    for (int i = 1; i < coefficients.count; ++i) sum = fused(sum, reduced, all(coefficients.at[i]));
    const auto bits = hn::BitCast(integers<double>, hn::Add(power, all(exp_steps::power_bias)));
    return hn::Mul(sum, hn::BitCast(tag, hn::ShiftLeft<52>(bits)));
}

/// loss_derivative() by logit c of as many records as a vector of doubles holds, with the logits of a point
/// [outputs, stride] from `logits` on and the records' targets.
template <typename Real>
HWY_INLINE void derivative_lanes(Loss loss, std::size_t outputs, std::size_t c, const double* targets,
                                 const Real* logits, std::size_t stride, Real* to) {
    constexpr Tag<double> tag{};
    if (loss != Loss::binary_cross_entropy && loss != Loss::cross_entropy && loss != Loss::one_vs_rest) {
        for (std::size_t r = 0; r < lanes<double>; ++r)
            to[r] = static_cast<Real>(
                loss_derivative(loss, outputs, c, targets[r], logits + r, logits + r, stride));
        return;
    }
    const Vec<double> one = hn::Set(tag, 1.0), own = load_wide(logits + c * stride);
    Vec<double> sum = one;
    if (loss == Loss::cross_entropy) {
        for (std::size_t j = 0; j < outputs; ++j) {
            if (j != c) sum = hn::Add(sum, exp_lanes(hn::Sub(load_wide(logits + j * stride), own)));
        }
    } else {
        sum = hn::Add(sum, exp_lanes(hn::Neg(own)));
    }
    const double own_class = loss == Loss::binary_cross_entropy ? 1.0 : static_cast<double>(c);
    const Vec<double> wanted =
        hn::IfThenElseZero(hn::Eq(hn::LoadU(tag, targets), hn::Set(tag, own_class)), one);
    store_narrow(hn::Sub(hn::Div(one, sum), wanted), to);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
