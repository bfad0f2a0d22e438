#pragma once

#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// Charts as SVG for inline use in a page. Colours and fonts come from the page's style sheet: classes s0…s9
// (a series: its colour), grid, axis, tick, name, band, bar. Labels stand at the ends of the lines, so there
// are no legends.

constexpr int series_colours = 10;

struct Axis {
    std::string title{};
    std::vector<double> ticks{};  ///< empty: round numbers are chosen
    std::optional<double> lowest{}, highest{};
    bool logarithmic = false;  ///< values <= 0 are left out
    bool percent = false;      ///< values are fractions, ticks show percent
    bool whole = false;        ///< whole numbers: no ticks between them
};

/// A line through (x[i], y[i]); a gap where a value is not finite.
struct Series {
    std::string label{};  ///< at the right end of the line; empty: none
    std::vector<double> x{}, y{};
    int colour = 0;  ///< 0 … series_colours - 1
    bool dashed = false;
    bool dots = false;  ///< a dot with its value as tooltip at every point
};

/// The area between lower[i] and upper[i] at x[i].
struct Band {
    std::vector<double> x{}, lower{}, upper{};
    int colour = 0;
};

struct LineChart {
    std::string description{};  ///< for readers who do not see the picture
    Axis x{}, y{};
    std::vector<Series> series{};
    std::vector<Band> bands{};
    bool steps = false;  ///< a value holds until the next x
    double width = 620, height = 300;
};

/// A bar of `height_of[i]` over the whole numbers at[i] … at[i] + bar_width - 1.
struct BarChart {
    std::string description{};  ///< for readers who do not see the picture
    Axis x{}, y{};
    std::vector<double> at{}, height_of{};
    double bar_width = 1;
    int colour = 0;
    double width = 620, height = 240;
};

/// The chart as one <svg> element; all texts escaped.
std::string draw(const LineChart& chart);
std::string draw(const BarChart& chart);

}  // namespace holdfast
