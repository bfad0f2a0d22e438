// The charts of a report, and how it writes numbers.

#include "jobs/program/page/chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>

#include "jobs/program/page/text.hpp"

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<double> attributes(const std::string& svg, const std::string& pattern) {
    const std::regex expression(pattern + "=\"(-?[0-9.]+)\"");
    std::vector<double> values;
    for (std::sregex_iterator match(svg.begin(), svg.end(), expression), end; match != end; ++match) {
        values.push_back(std::stod((*match)[1]));
    }
    return values;
}

TEST(ReportChart, PutsEqualRatiosAtEqualDistancesOnALogarithmicAxis) {
    LineChart chart{.x = {.logarithmic = true},
                    .series = {{.x = {0.1, 1, 10}, .y = {0, 1, 2}, .dots = true}}};
    const std::vector<double> x = attributes(draw(chart), "cx"), y = attributes(draw(chart), "cy");
    ASSERT_EQ(x.size(), 3U);
    EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.11);
    EXPECT_LT(x[0], x[1]);
    EXPECT_GT(y[0], y[1]);  // pixels count downwards
}

std::vector<std::string> tick_texts(double first, double last, bool logarithmic, bool whole) {
    const std::string svg = draw(LineChart{.x = {.logarithmic = logarithmic, .whole = whole},
                                           .series = {{.x = {first, last}, .y = {0, 1}}},
                                           .width = 320});
    const std::regex expression("class=\"tick\" text-anchor=\"middle\"[^>]*>([^<]*)<");
    std::vector<std::string> texts;
    for (std::sregex_iterator match(svg.begin(), svg.end(), expression), end; match != end; ++match) {
        texts.push_back((*match)[1]);
    }
    return texts;
}

TEST(ReportChart, ChoosesRoundTicks) {
    using Texts = std::vector<std::string>;
    EXPECT_EQ(tick_texts(0, 3, false, true), (Texts{"0", "1", "2", "3"}));
    EXPECT_EQ(tick_texts(0, 1, false, false), (Texts{"0", "0.2", "0.4", "0.6", "0.8", "1"}));
    EXPECT_EQ(tick_texts(0.004, 0.0335, true, false), (Texts{"0.005", "0.01", "0.02"}));
    EXPECT_EQ(tick_texts(0.01, 20, true, false), (Texts{"0.01", "0.1", "1", "10"}));
}

TEST(ReportChart, KeepsLabelsApart) {
    LineChart chart;
    for (int i = 0; i < 6; ++i) chart.series.push_back({.label = "s", .x = {0, 1}, .y = {0, 0.5}});
    chart.series.push_back({.label = "other", .x = {0, 1}, .y = {0, 1}});
    std::vector<double> y = attributes(draw(chart), "label s0\" text-anchor=\"start\" x=\"[0-9.]+\" y");
    ASSERT_EQ(y.size(), 7U);
    std::sort(y.begin(), y.end());
    for (std::size_t i = 1; i < y.size(); ++i) EXPECT_GE(y[i] - y[i - 1], 14.8);
}

TEST(ReportChart, BreaksTheLineWhereThereIsNoValue) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    LineChart chart{.series = {{.x = {0, 1, 2, 3, 4}, .y = {1, 2, none, 2, 1}}}};
    const std::string svg = draw(chart);
    const std::size_t path = svg.find(" d=\"");
    const std::string commands = svg.substr(path, svg.find('>', path) - path);
    EXPECT_EQ(std::count(commands.begin(), commands.end(), 'M'), 2) << commands;
    EXPECT_EQ(std::count(commands.begin(), commands.end(), 'L'), 2) << commands;
}

TEST(ReportChart, DrawsNothingStrangeFromNothing) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    for (const std::vector<double>& values : {std::vector<double>{}, {none}, {0.0}, {5.0}, {0.0, 0.0}}) {
        for (const bool logarithmic : {false, true}) {
            LineChart lines{.x = {.logarithmic = logarithmic},
                            .series = {{.label = "s", .x = values, .y = values}}};
            const std::string svg = draw(lines) + draw(BarChart{.at = values, .height_of = values});
            EXPECT_THAT(svg, Not(HasSubstr("nan")));
            EXPECT_THAT(svg, Not(HasSubstr("inf")));
        }
    }
}

TEST(ReportChart, GivesBarsTheirHeights) {
    const std::string svg = draw(BarChart{.y = {.lowest = 0.0}, .at = {0, 1, 3}, .height_of = {1, 4, 2}});
    const std::vector<double> heights = attributes(svg, " height");
    ASSERT_EQ(heights.size(), 3U);
    EXPECT_NEAR(heights[1], 4 * heights[0], 0.4);
    EXPECT_NEAR(heights[2], 2 * heights[0], 0.4);
}

TEST(ReportText, WritesNumbersForPeople) {
    EXPECT_EQ(percent_text(0.9949), "99.5%");
    EXPECT_EQ(percent_text(std::nan("")), "–");
    EXPECT_EQ(number_text(1e-6), "1e-06");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(count_text(-1234567), "-1\u202f234\u202f567");
    EXPECT_EQ(escape_html("<a href='x'>&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&lt;/a&gt;");
}

}  // namespace
}  // namespace holdfast
