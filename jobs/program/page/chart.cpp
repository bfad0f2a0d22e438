#include "jobs/program/page/chart.hpp"

#include <algorithm>

#include "jobs/program/page/chart_scale.hpp"
#include "jobs/program/page/svg.hpp"
#include "jobs/program/page/text.hpp"

namespace holdfast {
namespace {

using namespace svg;

/// The rectangle that the axes span, in pixels.
struct Frame {
    double left, right, top, bottom;
};

constexpr double top_margin = 28, bottom_margin = 44, left_margin = 54;

constexpr double label_height = 15;      // between the baselines of neighbouring labels
constexpr double character_width = 6.4;  // of the 12 px label font, on average

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

// UTF-8: continuation bytes take no room.
double label_width(const std::string& label) {
    const auto characters =
        std::count_if(label.begin(), label.end(), [](char c) { return (c & 0xC0) != 0x80; });
    return character_width * static_cast<double>(characters);
}

/// Room that the labels at the ends of a chart's lines take.
double right_margin(const LineChart& chart) {
    double widest = 0;
    for (const Series& series : chart.series) {
        if (!series.label.empty()) widest = std::max(widest, label_width(series.label) + 20);
    }
    return widest + 14;
}

/// Labels of lines that end early stand at their ends; the others share a column right of the frame.
std::string draw_labels(const LineChart& chart, const Scale& scale_x, const Scale& scale_y,
                        const Frame& frame) {
    std::vector<EndLabel> labels = end_labels(chart, scale_x, scale_y);
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
                                  tick_text(chart.x, series.x[i]) + ": " + value_text(chart.y, series.y[i]);
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
    AxisRange range_x, range_y;
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
    return svg + draw_labels(chart, scale_x, scale_y, frame) + "</svg>";
}

std::string draw(const BarChart& chart) {
    AxisRange range_x, range_y;
    range_x.include(chart.at, false);
    range_y.include(chart.height_of, false);
    range_y.include(0.0, false);
    const AxisRange padded{range_x.lowest - 0.5, range_x.highest + chart.bar_width - 0.5};
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
