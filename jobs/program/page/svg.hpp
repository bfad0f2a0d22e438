#pragma once

#include <string>

// Elements of SVG, in pixels; texts are escaped.
namespace holdfast::svg {

/// A coordinate: tenths of a pixel are enough and keep the page small.
std::string at(double value);
std::string text_element(const char* css_class, const char* anchor, double x, double y,
                         const std::string& text);
std::string line_element(const char* css_class, double x1, double y1, double x2, double y2);
/// The opening tag; `description` is for readers who do not see the picture.
std::string open_svg(double width, double height, const std::string& description);
/// The class of a series' colour.
std::string series_class(int colour);

}  // namespace holdfast::svg
