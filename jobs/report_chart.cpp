#include "jobs/report_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "jobs/report_text.hpp"

namespace holdfast {
namespace {

constexpr double label_height = 15;      // between the baselines of neighbouring labels
constexpr double character_width = 6.4;  // of the 12 px label font, on average
constexpr double top_margin = 28, bottom_margin = 44, left_margin = 54;

// A coordinate: tenths of a pixel are enough and keep the page small.
std::string at(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f", value);
    return text.data();
}

struct Range {
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
    Scale(const Axis& axis, Range range, double first_pixel, double last_pixel)
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

// The least 1, 2, 2.5 or 5 times a power of ten that cuts the range into at most `pieces`.
double round_step(double range, int pieces) {
    const double least = range / pieces;
    const double power = std::pow(10.0, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
        if (factor * power >= least) return factor * power;
    }
    return 10 * power;
}

std::vector<double> linear_ticks(const Scale& scale, int pieces, bool whole) {
    const double round = round_step(scale.highest() - scale.lowest(), pieces);
    const double step = whole ? std::ceil(round) : round;
    std::vector<double> ticks;
    const double first = std::ceil(scale.lowest() / step - 1e-9),
                 last = std::floor(scale.highest() / step + 1e-9);
    for (double index = first; index <= last; ++index) ticks.push_back(index * step + 0.0);  // -0 + 0 is 0
    return ticks;
}

std::vector<double> decade_ticks(const Scale& scale) {
    std::vector<double> ticks;
    const double first = std::ceil(std::log10(scale.lowest())),
                 last = std::floor(std::log10(scale.highest()));
    const double stride = std::max(1.0, std::ceil((last - first) / 6));
    for (double power = first; power <= last; power += stride) ticks.push_back(std::pow(10.0, power));
    return ticks;
}

// For ranges of less than two decades: 1, 2 and 5 times a power of ten.
std::vector<double> fine_ticks(const Scale& scale) {
    std::vector<double> ticks;
    for (double power = std::floor(std::log10(scale.lowest())); power <= std::log10(scale.highest());
         ++power) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double tick = factor * std::pow(10.0, power);
            if (tick >= scale.lowest() && tick <= scale.highest()) ticks.push_back(tick);
        }
    }
    return ticks;
}

std::vector<double> logarithmic_ticks(const Scale& scale) {
    const bool wide = scale.highest() >= 100 * scale.lowest();
    return wide ? decade_ticks(scale) : fine_ticks(scale);
}

std::vector<double> ticks_of(const Axis& axis, const Scale& scale, double pixels) {
    if (!axis.ticks.empty()) return axis.ticks;
    if (axis.logarithmic) return logarithmic_ticks(scale);
    return linear_ticks(scale, std::max(3, static_cast<int>(pixels / 40)), axis.whole);
}

std::string tick_text(const Axis& axis, double value) {
    return axis.percent ? number_text(100 * value) + "%" : number_text(value);
}

std::string value_text(const Axis& axis, double value) {
    return axis.percent ? percent_text(value) : number_text(value);
}

struct Frame {
    double left, right, top, bottom;
};

std::string text_element(const char* css_class, const char* anchor, double x, double y,
                         const std::string& text) {
    return std::string("<text class=\"") + css_class + "\" text-anchor=\"" + anchor + "\" x=\"" + at(x) +
           "\" y=\"" + at(y) + "\">" + escape_html(text) + "</text>";
}

std::string line_element(const char* css_class, double x1, double y1, double x2, double y2) {
    return std::string("<line class=\"") + css_class + "\" x1=\"" + at(x1) + "\" y1=\"" + at(y1) +
           "\" x2=\"" + at(x2) + "\" y2=\"" + at(y2) + "\"/>";
}

std::string axes(const Axis& x, const Axis& y, const Scale& scale_x, const Scale& scale_y,
                 const Frame& frame) {
    std::string svg;
    for (const double tick : ticks_of(y, scale_y, frame.bottom - frame.top)) {
        const double height = scale_y.pixel(tick);
        svg += line_element("grid", frame.left, height, frame.right, height);
        svg += text_element("tick", "end", frame.left - 8, height + 4, tick_text(y, tick));
    }
    svg += line_element("axis", frame.left, frame.bottom, frame.right, frame.bottom);
    for (const double tick : ticks_of(x, scale_x, 0.8 * (frame.right - frame.left))) {
        const double place = scale_x.pixel(tick);
        svg += line_element("axis", place, frame.bottom, place, frame.bottom + 4);
        svg += text_element("tick", "middle", place, frame.bottom + 17, tick_text(x, tick));
    }
    svg += text_element("name", "end", frame.right, frame.bottom + 36, x.title);
    svg += text_element("name", "start", 8, 12, y.title);
    return svg;
}

std::string open_svg(double width, double height, const std::string& description) {
    return "<svg viewBox=\"0 0 " + at(width) + " " + at(height) + "\" role=\"img\" aria-label=\"" +
           escape_html(description) + "\">";
}

std::string series_class(int colour) {
    return std::string("s").append(std::to_string(colour % series_colours));
}

// SVG path commands through the finite points; a gap starts a new piece.
std::string path_through(const std::vector<double>& x, const std::vector<double>& y, const Scale& scale_x,
                         const Scale& scale_y, bool steps) {
    std::string path;
    bool pen_down = false;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
        if (!scale_x.shows(x[i]) || !scale_y.shows(y[i])) {
            pen_down = false;
            continue;
        }
        const std::string place = at(scale_x.pixel(x[i]));
        if (pen_down && steps) path += "H" + place;
        path += (pen_down ? "L" : "M") + place + " " + at(scale_y.pixel(y[i]));
        pen_down = true;
    }
    return path;
}

std::string draw_band(const Band& band, const Scale& scale_x, const Scale& scale_y) {
    std::vector<double> x, edge;
    const std::size_t count = std::min({band.x.size(), band.lower.size(), band.upper.size()});
    const auto complete = [&](std::size_t i) {
        return scale_x.shows(band.x[i]) && scale_y.shows(band.lower[i]) && scale_y.shows(band.upper[i]);
    };
    for (std::size_t i = 0; i < count; ++i) {
        if (complete(i)) x.push_back(band.x[i]), edge.push_back(band.upper[i]);
    }
    for (std::size_t i = count; i-- > 0;) {
        if (complete(i)) x.push_back(band.x[i]), edge.push_back(band.lower[i]);
    }
    if (x.empty()) return "";
    return "<path class=\"band " + series_class(band.colour) + "\" d=\"" +
           path_through(x, edge, scale_x, scale_y, false) + "Z\"/>";
}

std::string draw_dots(const Series& series, const LineChart& chart, const Scale& scale_x,
                      const Scale& scale_y) {
    std::string svg;
    for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
        if (!scale_x.shows(series.x[i]) || !scale_y.shows(series.y[i])) continue;
        const std::string value = (series.label.empty() ? "" : series.label + ", ") + chart.x.title + " " +
                                  number_text(series.x[i]) + ": " + value_text(chart.y, series.y[i]);
        svg += "<circle class=\"dot " + series_class(series.colour) + "\" cx=\"" +
               at(scale_x.pixel(series.x[i])) + "\" cy=\"" + at(scale_y.pixel(series.y[i])) +
               "\" r=\"3.2\"><title>" + escape_html(value) + "</title></circle>";
    }
    return svg;
}

std::string draw_line(const Series& series, const LineChart& chart, const Scale& scale_x,
                      const Scale& scale_y) {
    const std::string path = path_through(series.x, series.y, scale_x, scale_y, chart.steps);
    if (path.empty()) return "";
    const std::string style = series.dashed ? " dashed" : "";
    return "<path class=\"line " + series_class(series.colour) + style + "\" d=\"" + path + "\"/>" +
           (series.dots ? draw_dots(series, chart, scale_x, scale_y) : "");
}

struct EndLabel {
    const Series* series;
    double line_x, line_y;  ///< where the line ends
    double y;               ///< where the label stands
};

std::vector<EndLabel> end_labels(const LineChart& chart, const Scale& scale_x, const Scale& scale_y) {
    std::vector<EndLabel> labels;
    for (const Series& series : chart.series) {
        std::size_t last = std::min(series.x.size(), series.y.size());
        while (last > 0 && !(scale_x.shows(series.x[last - 1]) && scale_y.shows(series.y[last - 1]))) --last;
        if (last == 0 || series.label.empty()) continue;
        const double y = scale_y.pixel(series.y[last - 1]);
        labels.push_back({&series, scale_x.pixel(series.x[last - 1]), y, y});
    }
    return labels;
}

// Moves labels apart, in the order of their lines, and keeps the column inside the frame.
void spread(std::vector<EndLabel>& labels, const Frame& frame) {
    std::stable_sort(labels.begin(), labels.end(),
                     [](const EndLabel& a, const EndLabel& b) { return a.line_y < b.line_y; });
    double least = frame.top;
    for (EndLabel& label : labels) {
        label.y = std::max(label.y, least);
        least = label.y + label_height;
    }
    double most = frame.bottom;
    for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
        label->y = std::min(label->y, most);
        most = label->y - label_height;
    }
}

// Labels of lines that end early stand at their ends; the others share a column right of the frame.
std::string draw_labels(std::vector<EndLabel> labels, const Frame& frame) {
    std::string svg;
    const auto early = std::partition(labels.begin(), labels.end(), [&](const EndLabel& label) {
        return label.line_x + 8 * character_width > frame.right;
    });
    for (auto label = early; label != labels.end(); ++label) {
        const std::string colour = "label " + series_class(label->series->colour);
        svg +=
            text_element(colour.c_str(), "start", label->line_x + 8, label->line_y + 4, label->series->label);
    }
    labels.erase(early, labels.end());
    spread(labels, frame);
    for (const EndLabel& label : labels) {
        const std::string colour = series_class(label.series->colour);
        svg += line_element(("leader " + colour).c_str(), label.line_x + 5, label.line_y, frame.right + 12,
                            label.y);
        svg += text_element(("label " + colour).c_str(), "start", frame.right + 16, label.y + 4,
                            label.series->label);
    }
    return svg;
}

// UTF-8: continuation bytes take no room.
double label_width(const std::string& label) {
    const auto characters =
        std::count_if(label.begin(), label.end(), [](char c) { return (c & 0xC0) != 0x80; });
    return character_width * static_cast<double>(characters);
}

double right_margin(const LineChart& chart) {
    double widest = 0;
    for (const Series& series : chart.series) {
        if (!series.label.empty()) widest = std::max(widest, label_width(series.label) + 20);
    }
    return widest + 14;
}

std::string draw_bar(const BarChart& chart, std::size_t i, const Scale& scale_x, const Scale& scale_y) {
    if (!scale_x.shows(chart.at[i]) || !scale_y.shows(chart.height_of[i])) return "";
    const double first = chart.at[i], last = first + chart.bar_width - 1;
    const double left = scale_x.pixel(first - 0.5), right = scale_x.pixel(last + 0.5);
    const double gap = std::min(1.5, 0.1 * (right - left));
    const double top = scale_y.pixel(chart.height_of[i]), bottom = scale_y.pixel(0);
    const std::string place = number_text(first) + (last > first ? " to " + number_text(last) : "");
    return "<rect class=\"bar " + series_class(chart.colour) + "\" x=\"" + at(left + gap) + "\" y=\"" +
           at(top) + "\" width=\"" + at(right - left - 2 * gap) + "\" height=\"" + at(bottom - top) +
           "\"><title>" +
           escape_html(chart.x.title + " " + place + ": " + value_text(chart.y, chart.height_of[i])) +
           "</title></rect>";
}

}  // namespace

std::string draw(const LineChart& chart) {
    Range range_x, range_y;
    for (const Series& series : chart.series) {
        range_x.include(series.x, chart.x.logarithmic);
        range_y.include(series.y, chart.y.logarithmic);
    }
    for (const Band& band : chart.bands) {
        range_x.include(band.x, chart.x.logarithmic);
        range_y.include(band.lower, chart.y.logarithmic);
        range_y.include(band.upper, chart.y.logarithmic);
    }
    const Frame frame{left_margin, chart.width - right_margin(chart), top_margin,
                      chart.height - bottom_margin};
    const Scale scale_x(chart.x, range_x, frame.left + 6, frame.right - 6);
    const Scale scale_y(chart.y, range_y, frame.bottom, frame.top);
    std::string svg = open_svg(chart.width, chart.height, chart.description);
    svg += axes(chart.x, chart.y, scale_x, scale_y, frame);
    for (const Band& band : chart.bands) svg += draw_band(band, scale_x, scale_y);
    for (const Series& series : chart.series) svg += draw_line(series, chart, scale_x, scale_y);
    return svg + draw_labels(end_labels(chart, scale_x, scale_y), frame) + "</svg>";
}

std::string draw(const BarChart& chart) {
    Range range_x, range_y;
    range_x.include(chart.at, false);
    range_y.include(chart.height_of, false);
    range_y.include(0.0, false);
    const Range padded{range_x.lowest - 0.5, range_x.highest + chart.bar_width - 0.5};
    const Frame frame{left_margin, chart.width - 14, top_margin, chart.height - bottom_margin};
    const Scale scale_x(chart.x, padded, frame.left, frame.right);
    const Scale scale_y(chart.y, range_y, frame.bottom, frame.top);
    std::string svg = open_svg(chart.width, chart.height, chart.description);
    svg += axes(chart.x, chart.y, scale_x, scale_y, frame);
    for (std::size_t i = 0; i < std::min(chart.at.size(), chart.height_of.size()); ++i) {
        svg += draw_bar(chart, i, scale_x, scale_y);
    }
    return svg + "</svg>";
}

}  // namespace holdfast
