#include "models/privacy/guarantee.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <sstream>

#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

TEST(GuaranteeWords, StatusesAreExactAndOnlyGetWeaker) {
    Guarantee guarantee = Guarantee::proved("each answer is private", "add_remove");
    guarantee.require("features were scaled by public constants");
    guarantee.require("features were scaled by public constants");
    EXPECT_EQ(guarantee.text(),
              "proved: each answer is private, neighbours: add_remove; provided that features were scaled by "
              "public constants");
    EXPECT_EQ(guarantee.lines(),
              "proved: each answer is private, neighbours: add_remove\n  provided that\n"
              "  - features were scaled by public constants");
    guarantee.combine(Guarantee::as_published("Theorem 5.3", "not smooth"));
    EXPECT_EQ(guarantee.status(), "as published (gap: not smooth)");
    guarantee.weaken("batches assumed not to move");
    EXPECT_EQ(guarantee.status(), "as published (gap: not smooth; batches assumed not to move)");
    EXPECT_TRUE(guarantee.is_private());
    guarantee.combine(Guarantee::not_private("sparse levels", "not 1-Lipschitz"));
    EXPECT_EQ(guarantee.status(), "not differentially private");
    EXPECT_FALSE(guarantee.is_private());
    EXPECT_THROW(Guarantee::as_published("a claim", ""), Error);
}

TEST(GuaranteeWords, LinesHaveEveryWordOfTheTextAndNoneIsLong) {
    const auto words_of = [](std::string text) {
        for (const char* mark : {";", ",", " and", " -"})
            for (std::size_t at; (at = text.find(mark)) != std::string::npos;)
                text.erase(at, std::strlen(mark));
        std::istringstream words(text);
        return std::vector<std::string>{std::istream_iterator<std::string>(words), {}};
    };
    for (int conditions = 0; conditions < 4; ++conditions) {
        for (int length = 1; length < 60; length += 7) {
            std::string words = "w";
            for (int word = 0; word < length; ++word) words += " " + std::string(1 + word * 7 % 13, 'x');
            Guarantee guarantee = Guarantee::as_published("the claim " + words, "the gap " + words, "remove");
            for (int i = 0; i < conditions; ++i)
                guarantee.require("condition " + std::to_string(i) + " " + words);
            EXPECT_EQ(words_of(guarantee.lines()), words_of(guarantee.text()));
            std::istringstream lines(guarantee.lines());
            int items = 0;
            for (std::string line; std::getline(lines, line); items += line.rfind("  - ", 0) == 0)
                EXPECT_LE(line.size(), 100) << line;
            EXPECT_EQ(items, conditions);
        }
    }
    EXPECT_EQ(wrapped("", std::string(200, 'x'), 2), std::string(200, 'x'));  // a word is never cut
    EXPECT_EQ(wrapped("  - ", "a\n  b ", 4), "  - a b");
}

}  // namespace
}  // namespace holdfast
