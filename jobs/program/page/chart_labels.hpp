#pragma once

#include <string>

#include "jobs/program/page/chart_scale.hpp"

namespace holdfast {

/// The rectangle that the axes span, in pixels.
struct Frame {
    double left, right, top, bottom;
};

/// Room that the labels at the ends of a chart's lines take.
double right_margin(const LineChart& chart);
/// Labels of lines that end early stand at their ends; the others share a column right of the frame.
std::string draw_labels(const LineChart& chart, const Scale& scale_x, const Scale& scale_y,
                        const Frame& frame);

}  // namespace holdfast
