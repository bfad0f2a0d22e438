#pragma once

#include <string>
#include <string_view>

namespace holdfast {

/// Text made safe for HTML and SVG, in elements and in quoted attributes.
std::string escape_html(std::string_view text);

/// A number for people: at most four significant digits; "–" if it is not finite.
std::string number_text(double value);

/// A fraction in percent with one decimal: 0.995 -> "99.5%"; "–" if it is not finite.
std::string percent_text(double fraction);

/// A whole number with thin spaces between thousands.
std::string count_text(long long value);

}  // namespace holdfast
