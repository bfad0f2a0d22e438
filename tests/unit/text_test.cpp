#include "kernels/base/text.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/base/utf8.hpp"

namespace holdfast {
namespace text_test {

TEST(Printed, IsWhatTheFormatSaysHoweverLong) {
    EXPECT_EQ(printed("%-4s|%.3g|%lld", "ab", 0.12345, 12345678901LL), "ab  |0.123|12345678901");
    EXPECT_EQ(printed("%s", ""), "");
    for (const std::size_t size : {254, 255, 256, 257, 5000}) {
        const std::string text(size, 'x');
        EXPECT_EQ(printed("%s!", text.c_str()), text + "!");
    }
}

TEST(Joined, HasTheSeparatorBetweenItemsAlone) {
    EXPECT_EQ(joined(std::vector<std::string>{}), "");
    EXPECT_EQ(joined(std::vector<std::string>{"a"}), "a");
    EXPECT_EQ(joined(std::vector<const char*>{"a", "b", "c"}, " | "), "a | b | c");
    EXPECT_EQ(joined(std::vector<int>{1, 22}, ", ", [](int number) { return std::to_string(number); }),
              "1, 22");
}

TEST(Utf8, IsWhatTheStandardSays) {
    for (const char* text : {"", "a", "é", "\u20ac", "\U0001f600", "\U0010ffff"})
        EXPECT_TRUE(is_utf8(text)) << text;
    // Continuation alone, cut off, overlong, a surrogate, beyond the last character, bytes that never occur.
    for (const char* text :
         {"\x80", "a\xe2\x82", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
        EXPECT_FALSE(is_utf8(text)) << text;
}

TEST(Printable, ShowsWhatATerminalWouldObey) {
    EXPECT_EQ(printable("a\tb\n\u20ac"), "a\tb\n\u20ac");
    EXPECT_EQ(printable("\x1b[31m\r\x7f"), "\\u001b[31m\\u000d\\u007f");
    EXPECT_EQ(printable("\u009b\u202e\u2066"), "\\u009b\\u202e\\u2066");
    EXPECT_EQ(printable("\x9b"
                        "1m"),
              "\ufffd1m");
}

}  // namespace text_test
}  // namespace holdfast
