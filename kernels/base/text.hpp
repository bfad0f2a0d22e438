#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace holdfast {

/// What printf prints of them.
[[gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...);

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
