#pragma once

#include "kernels/base/arithmetic.hpp"

namespace holdfast {

/// Where every feature lies, by public declaration: what is outside counts as its nearest end.
struct FeatureRange {
    double low, high;  ///< finite, low < high
    bool operator==(const FeatureRange&) const = default;
};

/// The range where a dataset declares none.
constexpr FeatureRange default_feature_range{-0x1p20, 0x1p20};

/// What a network sees of a feature x: (x - shift) * scale of x clamped to the public range, by public
/// constants. Computed in double and saturated, so that any double gives a finite value (NaN counts as the
/// low end); rounded once.
struct InputTransform {
    double shift = 0, scale = 1;
    FeatureRange range = default_feature_range;

    /// What a feature counts as.
    HOLDFAST_PORTABLE double inside(double feature) const {
        return feature >= range.low ? feature < range.high ? feature : range.high : range.low;
    }
    template <typename Real>
    HOLDFAST_PORTABLE Real apply(double feature) const {
        const double value = (inside(feature) - shift) * scale;
        constexpr double limit = RealFormat<Real>::saturation;
        return static_cast<Real>(value < -limit ? -limit : limit < value ? limit : value);
    }
    /// Does apply() see another value than the one given?
    bool clamps(double feature) const { return !(feature >= range.low && feature <= range.high); }
};

}  // namespace holdfast
