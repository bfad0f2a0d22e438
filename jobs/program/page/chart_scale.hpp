#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "jobs/program/page/chart.hpp"

namespace holdfast {

/// Of the values that an axis has to show.
struct AxisRange {
    double lowest = std::numeric_limits<double>::infinity();
    double highest = -std::numeric_limits<double>::infinity();

    void include(double value, bool logarithmic) {
        if (!std::isfinite(value) || (logarithmic && value <= 0)) return;
        lowest = std::min(lowest, value);
        highest = std::max(highest, value);
    }
    void include(const std::vector<double>& values, bool logarithmic) {
        for (const double value : values) include(value, logarithmic);
    }
};

/// Maps values of one axis to pixels.
class Scale {
  public:
    Scale(const Axis& axis, AxisRange range, double first_pixel, double last_pixel)
        : logarithmic_(axis.logarithmic), first_(first_pixel), last_(last_pixel) {
        lowest_ = axis.lowest.value_or(range.lowest);
        highest_ = axis.highest.value_or(range.highest);
        if (!(lowest_ <= highest_)) lowest_ = logarithmic_ ? 1 : 0, highest_ = logarithmic_ ? 10 : 1;
        if (lowest_ == highest_) widen();
    }

    double lowest() const { return lowest_; }
    double highest() const { return highest_; }
    bool shows(double value) const { return std::isfinite(value) && (!logarithmic_ || value > 0); }
    double pixel(double value) const {
        const double from = position(lowest_), to = position(highest_);
        return first_ + (position(value) - from) / (to - from) * (last_ - first_);
    }

  private:
    double position(double value) const { return logarithmic_ ? std::log10(value) : value; }
    void widen() {
        const double step = 0.5 * std::abs(lowest_);
        lowest_ -= step;
        highest_ += lowest_ == 0 ? 1 : step;
    }

    bool logarithmic_;
    double lowest_, highest_, first_, last_;
};

/// The axis's own, or round numbers; `pixels`: its length.
std::vector<double> ticks_of(const Axis& axis, const Scale& scale, double pixels);
std::string tick_text(const Axis& axis, double value);
/// With a digit more, for tooltips.
std::string value_text(const Axis& axis, double value);

}  // namespace holdfast
