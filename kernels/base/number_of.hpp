#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace holdfast {

/// The number that a whole text is, as std::from_chars reads it; nothing: it is none, or out of range.
template <typename Number>
std::optional<Number> number_of(std::string_view text) {
    Number number{};
    const char* end = text.data() + text.size();
    const auto [rest, status] = std::from_chars(text.data(), end, number);
    return status == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace holdfast
