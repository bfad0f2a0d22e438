// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_FEATURES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_FEATURES_INL
#undef HOLDFAST_FEATURES_INL
#else
#define HOLDFAST_FEATURES_INL
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// Does max give the second operand where one is no number? On x86 it does.
constexpr bool max_takes_second = HWY_ARCH_X86 && lanes < double >> 1 && HWY_TARGET != HWY_EMU128;

/// `low` where x is less or no number.
template <typename V>
HWY_INLINE V at_least(V x, V low) {
    if constexpr (max_takes_second) return hn::Max(x, low);
    return hn::IfThenElse(hn::Ge(x, low), x, low);
}

/// InputTransform::apply() of a vector of `Feature`, up to the sign of a zero, of which nothing comes.
template <typename Real, typename Feature>
class Transform {
  public:
    explicit HWY_INLINE Transform(const InputTransform& input)
        : low_(hn::Set(reals<double>, input.range.low)),
          high_(hn::Set(reals<double>, input.range.high)),
          shift_(hn::Set(reals<double>, input.shift)),
          scale_(hn::Set(reals<double>, input.scale)),
          limit_(hn::Set(reals<double>, RealFormat<Real>::saturation)) {}

    HWY_INLINE void store(FeatureVec<Feature> x, Real* to) const {
        const Vec<double> inside = hn::Min(at_least(promoted(x), low_), high_);
        const Vec<double> value = hn::Mul(hn::Sub(inside, shift_), scale_);
        store_narrow(hn::Min(hn::Max(value, hn::Neg(limit_)), limit_), to);
    }

  private:
    Vec<double> low_, high_, shift_, scale_, limit_;
};

/// Where neither shift nor scale changes a feature and no range reaches beyond saturation: only the clamp.
template <typename Real, typename Feature>
class Clamp {
  public:
    static bool serves(const InputTransform& input) {
        constexpr double most = RealFormat<Real>::saturation;
        return input.shift == 0 && input.scale == 1 && input.range.low >= -most && input.range.high <= most;
    }
    explicit HWY_INLINE Clamp(const InputTransform& input)
        : low_(hn::Set(tag, static_cast<Type>(input.range.low))),
          high_(hn::Set(tag, static_cast<Type>(input.range.high))) {}

    HWY_INLINE void store(FeatureVec<Feature> x, Real* to) const {
        if constexpr (std::is_same_v<Type, float>) {
            hn::StoreU(hn::Min(at_least(x, low_), high_), tag, to);
        } else {
            store_narrow(hn::Min(at_least(promoted(x), low_), high_), to);
        }
    }

  private:
    /// A float between the ends is a float between the nearest floats of the ends, and the nearest float of
    /// an end is what rounding makes of it.
    using Type = std::conditional_t<sizeof(Real) + sizeof(Feature) == 2 * sizeof(float), float, double>;
    static constexpr FeatureTag<Type> tag{};
    FeatureVec<Type> low_, high_;
};

/// The features of `side` records, transformed, to `side` lanes of the columns, which are `Step` values
/// apart.
template <typename Real, typename Feature, typename Map, std::size_t Step>
class ColumnLoader {
  public:
    HWY_INLINE ColumnLoader(const Map& map, const Feature* features, std::size_t in)
        : map_(map), features_(features), in_(in) {}

    /// rows: where the features of each record begin; ahead: those of later ones, which the cache is to fetch
    /// meanwhile.
    HWY_INLINE void load(const std::size_t* rows, const std::size_t* ahead, Real* columns) const {
        const Feature* starts[side];
        for (std::size_t r = 0; r < side; ++r) starts[r] = features_ + rows[r];
        if (in_ < side) return load_narrow(starts, columns);
        std::size_t first = 0;
        for (; first + side <= in_; first += side) {
            if (first % line == 0) fetch(ahead, first);
            load_square(starts, first, columns);
        }
        fetch(ahead, in_ - 1);
        if (first < in_) load_square(starts, in_ - side, columns);  // some for the second time
    }

  private:
    static constexpr std::size_t line = 64 / sizeof(Feature);

    HWY_INLINE void load_square(const Feature* const* starts, std::size_t first, Real* columns) const {
        Square<Feature> square;
        square.load(starts, first);
        square.transpose();
        for (std::size_t i = 0; i < side; ++i)
            map_.store(square.at[i], columns + (first + square.feature_of(i)) * Step);
    }
    void load_narrow(const Feature* const* starts, Real* columns) const {
        Square<Feature> square;
        Feature copies[side][side] = {};
        const Feature* rows[side];
        for (std::size_t r = 0; r < side; ++r) rows[r] = std::copy_n(starts[r], in_, copies[r]) - in_;
        square.load(rows, 0);
        square.transpose();
        for (std::size_t i = 0; i < side; ++i) {
            const std::size_t j = square.feature_of(i);
            if (j < in_) map_.store(square.at[i], columns + j * Step);
        }
    }
    HWY_INLINE void fetch(const std::size_t* rows, std::size_t j) const {
        for (std::size_t r = 0; r < side; ++r) hwy::Prefetch(features_ + rows[r] + j);
    }

    const Map map_;
    const Feature* features_;
    std::size_t in_;
};

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
