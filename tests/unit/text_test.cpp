#include "kernels/base/text.hpp"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace text_test
}  // namespace holdfast
