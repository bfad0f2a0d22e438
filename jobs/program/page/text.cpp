#include "jobs/program/page/text.hpp"

#include <cmath>

#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

std::string finite_or_dash(const char* format, double value) {
    return std::isfinite(value) ? printed(format, value) : "–";
}

}  // namespace

std::string escape_html(std::string_view text) {
    std::string escaped;
    escaped.reserve(text.size());
    for (const char character : text) {
        switch (character) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            case '\'':
                escaped += "&#39;";
                break;
            default:
                escaped += character;
        }
    }
    return escaped;
}

std::string number_text(double value) {
    return finite_or_dash("%.4g", value);
}

std::string percent_text(double fraction) {
    const std::string text = finite_or_dash("%.1f", 100.0 * fraction);
    return std::isfinite(fraction) ? text + "%" : text;
}

std::string count_text(long long value) {
    std::string digits = std::to_string(value);
    const std::size_t sign = value < 0 ? 1 : 0;
    for (std::size_t at = digits.size(); at > sign + 3;) digits.insert(at -= 3, "\u202f");
    return digits;
}

}  // namespace holdfast
