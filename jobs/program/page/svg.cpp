#include "jobs/program/page/svg.hpp"

#include "jobs/program/page/chart.hpp"
#include "jobs/program/page/text.hpp"
#include "kernels/base/text.hpp"

namespace holdfast::svg {

std::string at(double value) {
    return printed("%.1f", value);
}

std::string text_element(const char* css_class, const char* anchor, double x, double y,
                         const std::string& text) {
    return std::string("<text class=\"") + css_class + "\" text-anchor=\"" + anchor + "\" x=\"" + at(x) +
           "\" y=\"" + at(y) + "\">" + escape_html(text) + "</text>";
}

std::string line_element(const char* css_class, double x1, double y1, double x2, double y2) {
    return std::string("<line class=\"") + css_class + "\" x1=\"" + at(x1) + "\" y1=\"" + at(y1) +
           "\" x2=\"" + at(x2) + "\" y2=\"" + at(y2) + "\"/>";
}

std::string open_svg(double width, double height, const std::string& description) {
    return "<svg viewBox=\"0 0 " + at(width) + " " + at(height) + "\" role=\"img\" aria-label=\"" +
           escape_html(description) + "\">";
}

std::string series_class(int colour) {
    return std::string("s").append(std::to_string(colour % series_colours));
}

}  // namespace holdfast::svg
