#include "kernels/base/utf8.hpp"

#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

struct CodePoint {
    char32_t value = 0;
    std::size_t bytes = 0;  ///< 0: not UTF-8
};

/// The first of the text, which is not empty.
CodePoint first_code_point(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
    char32_t value = lead & (0xffu >> (bytes + 1));
    for (std::size_t at = 1; at < bytes; ++at) {
        if ((byte(at) & 0xc0) != 0x80) return {};
        value = value << 6 | (byte(at) & 0x3fu);
    }
    const char32_t least = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
    const bool surrogate = value >= 0xd800 && value <= 0xdfff;
    if (value < least || value > 0x10ffff || surrogate) return {};
    return {value, bytes};
}

/// Would a terminal obey the character instead of showing it?
bool steers(char32_t value) {
    const bool control = (value < 0x20 && value != '\n' && value != '\t') || (value >= 0x7f && value <= 0x9f);
    const bool direction = (value >= 0x202a && value <= 0x202e) || (value >= 0x2066 && value <= 0x2069);
    return control || direction;
}

}  // namespace

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t bytes = first_code_point(text).bytes;
        if (bytes == 0) return false;
        text.remove_prefix(bytes);
    }
    return true;
}

std::string printable(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const CodePoint point = first_code_point(text);
        if (point.bytes == 0) {
            shown += "\ufffd";
            text.remove_prefix(1);
            continue;
        }
        if (steers(point.value))
            shown += printed("\\u%04x", static_cast<unsigned>(point.value));
        else
            shown += text.substr(0, point.bytes);
        text.remove_prefix(point.bytes);
    }
    return shown;
}

}  // namespace holdfast
