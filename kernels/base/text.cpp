#include "kernels/base/text.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace holdfast {

std::string printed(const char* format, ...) {
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

}  // namespace holdfast
