#include "jobs/program/page/chart_labels.hpp"

#include <algorithm>

#include "jobs/program/page/svg.hpp"

namespace holdfast {
namespace {

using namespace svg;

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

}  // namespace

double right_margin(const LineChart& chart) {
    double widest = 0;
    for (const Series& series : chart.series) {
        if (!series.label.empty()) widest = std::max(widest, label_width(series.label) + 20);
    }
    return widest + 14;
}

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

}  // namespace holdfast
