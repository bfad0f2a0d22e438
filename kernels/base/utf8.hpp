#pragma once

#include <string>
#include <string_view>

namespace holdfast {

/// Is the text well-formed UTF-8 (RFC 3629)?
bool is_utf8(std::string_view text);

/// The text as a terminal may show it: control characters but tabs and line feeds, and characters that
/// reorder others, become \uXXXX; bytes that are no UTF-8 become U+FFFD. JSON means the same afterwards.
std::string printable(std::string_view text);

}  // namespace holdfast
