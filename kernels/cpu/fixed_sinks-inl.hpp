// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_FIXED_SINKS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_FIXED_SINKS_INL
#undef HOLDFAST_FIXED_SINKS_INL
#else
#define HOLDFAST_FIXED_SINKS_INL
#endif

#include <algorithm>
#include <cmath>

#include "kernels/cpu/fixed_grid-inl.hpp"
#include "kernels/cpu/fixed_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

using LongTag = hn::ScalableTag<std::int64_t>;
constexpr std::size_t long_lanes = lanes<double>;

/// Sums with biases as floats, records in the lanes.
struct LayerSink {
    const std::int64_t* bias[2];  // [rows], null: none
    int bias_shift;
    double unit;
    BasicInterval<float> to;

    class Row {
      public:
        HWY_INLINE Row(float* out, std::int64_t added, double unit)
            : out_(out), added_(hn::Set(LongTag(), added)), unit_(hn::Set(reals<double>, unit)) {}
        /// At neighbouring lanes.
        HWY_INLINE void put(std::size_t lane, hn::Vec<LongTag> sum) const {
            store_narrow(hn::Mul(hn::ConvertTo(reals<double>, hn::Add(sum, added_)), unit_), out_ + lane);
        }

      private:
        float* out_;
        hn::Vec<LongTag> added_;
        Vec<double> unit_;
    };
    /// From a lane on.
    HWY_INLINE Row row(std::size_t bound, std::size_t row, std::size_t lane) const {
        const std::int64_t added = bias[bound] == nullptr ? 0 : bias[bound][row] << bias_shift;
        return {(bound == 0 ? to.lower : to.upper) + row * height + lane, added, unit};
    }
};

/// Sums of the outer product, [rows, in + 1].
struct OuterSink {
    std::size_t in;
    SumBounds to;

    class Row {
      public:
        HWY_INLINE Row(std::int64_t* out, std::size_t count) : out_(out), count_(count) {}
        HWY_INLINE void put(std::size_t lane, hn::Vec<LongTag> sum) const {
            if (lane + long_lanes <= count_) {
                hn::StoreU(hn::Add(hn::LoadU(LongTag(), out_ + lane), sum), LongTag(), out_ + lane);
            } else {
                alignas(64) std::int64_t sums[long_lanes];
                hn::Store(sum, LongTag(), sums);
                for (std::size_t i = 0; lane + i < count_; ++i) out_[lane + i] += sums[i];
            }
        }

      private:
        std::int64_t* out_;
        std::size_t count_;
    };
    HWY_INLINE Row row(std::size_t bound, std::size_t row, std::size_t lane) const {
        return {(bound == 0 ? to.lower : to.upper) + row * (in + 1) + lane, in - lane};
    }
};

inline LayerSink layer_sink(FixedGrid grid, BasicInterval<float> to) {
    return {{nullptr, nullptr}, -grid.exponent, std::ldexp(1.0, fixed_weight_exponent + grid.exponent), to};
}
inline LayerSink layer_sink(const FixedWeights& layer, FixedGrid grid, BasicInterval<float> to) {
    LayerSink sink = layer_sink(grid, to);
    sink.bias[0] = layer.lower.bias.data();
    sink.bias[1] = layer.top().bias.data();
    return sink;
}

/// d = gate(z) d, in place.
inline void gate_lanes(std::size_t rows, BasicConstInterval<float> z, BasicInterval<float> d) {
    for (std::size_t i = 0; i < rows * height; i += int_lanes) {
        const Vec<float> lower = hn::Load(reals<float>, d.lower + i);
        if (!d.is_point()) {
            store_gated<float>(lower, hn::Load(reals<float>, d.upper + i), z, d, i);
        } else {
            const auto open = hn::Gt(hn::Load(reals<float>, z.lower + i), hn::Zero(reals<float>));
            hn::Store(hn::IfThenElseZero(open, lower), reals<float>, d.lower + i);
        }
    }
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
