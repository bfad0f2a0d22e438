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

}  // namespace holdfast
