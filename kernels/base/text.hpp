#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace holdfast {

/// What printf prints of them.
[[gnu::format(printf, 1, 2)]] inline std::string printed(const char* format, ...) {
    std::va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    char most[256];  // of nearly all that is printed
    const auto size = static_cast<std::size_t>(std::vsnprintf(most, sizeof most, format, values));
    std::string text(most, std::min(size, sizeof most - 1));
    if (size >= sizeof most) {
        text.resize(size);
        std::vsnprintf(text.data(), size + 1, format, again);
    }
    va_end(again);
    va_end(values);
    return text;
}

/// The texts of all items, one behind the other with `between` between them.
template <typename Items, typename Text = std::identity>
std::string joined(const Items& items, std::string_view between = ", ", Text text = {}) {
    std::string all;
    for (const auto& item : items) {
        if (!all.empty()) all += between;
        all += std::invoke(text, item);
    }
    return all;
}

/// The words of `text` on lines of at most 100 columns: `first` before the first line, `indent` blanks before
/// the others.
inline std::string wrapped(const std::string& first, std::string_view text, std::size_t indent) {
    constexpr std::size_t width = 100;
    std::string lines = first;
    std::size_t column = first.size();
    bool starts_line = true;
    for (std::size_t at = 0; (at = text.find_first_not_of(" \n", at)) != std::string_view::npos;) {
        const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
        const std::string_view word = text.substr(at, end - at);
        if (!starts_line && column + 1 + word.size() > width) {
            lines += '\n' + std::string(indent, ' ');
            column = indent;
            starts_line = true;
        }
        if (!starts_line) lines += ' ';
        lines += word;
        column += word.size() + (starts_line ? 0 : 1);
        starts_line = false;
        at = end;
    }
    return lines;
}

}  // namespace holdfast
