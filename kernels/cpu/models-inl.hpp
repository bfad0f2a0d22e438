// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_MODELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_MODELS_INL
#undef HOLDFAST_MODELS_INL
#else
#define HOLDFAST_MODELS_INL
#endif

#include "kernels/cpu/simd-inl.hpp"
#include "kernels/ops/network_shape.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// Values of the networks, a vector each.
template <typename Real>
struct Apart {
    static constexpr std::size_t step = lanes<Real>;
    HWY_INLINE static Vec<Real> at(const Real* value) { return hn::Load(reals<Real>, value); }
};
/// One value for all networks: a feature.
template <typename Real>
struct Alike {
    static constexpr std::size_t step = 1;
    HWY_INLINE static Vec<Real> at(const Real* value) { return hn::Set(reals<Real>, *value); }
};

/// sums = W z + b of some rows and records, networks in the lanes: from the bias on, column after column.
/// weights: of the first row, [rows, in + 1, lanes]; z: [records, stride] values, as Inputs steps.
template <typename Real, typename Inputs, std::size_t Rows, std::size_t Records>
HWY_INLINE void affine_tile(const LayerShape& shape, const Real* weights, const Real* z, std::size_t stride,
                            Vec<Real> (&sums)[Rows][Records]) {
    const std::size_t in = shape.in, row = (in + 1) * lanes<Real>;
    for (std::size_t o = 0; o < Rows; ++o) {
        const Vec<Real> bias = hn::Load(reals<Real>, weights + o * row + in * lanes<Real>);
        for (std::size_t r = 0; r < Records; ++r) sums[o][r] = bias;
    }
    for (std::size_t j = 0; j < in; ++j) {
        Vec<Real> w[Rows];
        for (std::size_t o = 0; o < Rows; ++o)
            w[o] = hn::Load(reals<Real>, weights + o * row + j * lanes<Real>);
        for (std::size_t r = 0; r < Records; ++r) {
            const Vec<Real> value = Inputs::at(z + (r * stride + j) * Inputs::step);
            for (std::size_t o = 0; o < Rows; ++o) sums[o][r] = fused(w[o], value, sums[o][r]);
        }
    }
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
