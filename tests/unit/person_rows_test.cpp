// What becomes of a person's rows is a function of them alone (models/mathematics.md, rows of a person).

#include "dist/data/person_rows.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <map>
#include <random>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace person_rows_test {

struct Row {
    std::uint64_t id;
    std::vector<double> features;
    std::int32_t label = 0;
    double order = 0;
    auto operator<=>(const Row&) const = default;
};

const std::vector<std::string> names{"pulse", "day"};

std::vector<Row> visits(std::uint64_t seed, std::size_t persons, std::size_t most) {
    std::mt19937_64 engine(seed);
    std::vector<Row> rows;
    for (std::uint64_t id = 0; id < persons; ++id) {
        for (std::size_t n = 1 + engine() % most; n > 0; --n) {
            const auto day = static_cast<double>(engine() % 5);  // several a day, some of them equal
            rows.push_back(
                {id, {static_cast<double>(engine() % 3), day}, static_cast<std::int32_t>(engine() % 2), day});
        }
    }
    return rows;
}

std::vector<Row> records_of(const PersonRule& rule, const std::vector<Row>& rows,
                            std::uint64_t* left = nullptr) {
    rule.order_column(names);
    PersonRows persons(rule, names.size(), true, 5);
    for (const Row& row : rows) persons.add(row.id, row.features, row.label, 0, row.order);
    std::vector<Row> records;
    const std::uint64_t left_out =
        persons.visit([&](std::uint64_t id, const std::vector<double>& features, std::int32_t label, double) {
            records.push_back({id, features, label, 0});
        });
    if (left != nullptr) *left = left_out;
    return records;
}

std::vector<PersonRule> rules() {
    using S = RowSummary;
    return {{.rows_at_most = 3},
            {.rows_at_most = 2, .keep_last = true, .order = "day"},
            {.rows_at_most = 4, .order = "day", .summaries = {S::last, S::mean, S::min, S::max, S::count}},
            {.summaries = {S::mean}}};
}

// Where they come person by person, many are made together, whenever there are enough; on any number of
// threads.
TEST(PersonRows, ManyPersonsTogetherAreTheSameOneAfterTheOther) {
    const std::vector<Row> rows = visits(9, 5000, 5);
    for (const PersonRule& rule : rules()) {
        std::vector<Row> together, apart;
        omp_set_num_threads(3);
        PersonRows some(rule, names.size(), true, 5);
        const auto keep = [&](std::uint64_t id, const std::vector<double>& features, std::int32_t label,
                              double) {
            apart.push_back({id, features, label, 0});
        };
        std::size_t times = 0;
        for (const Row& row : rows) {
            if (some.ends_before(row.id)) some.visit(keep), ++times;
            some.add(row.id, row.features, row.label, 0, row.order);
        }
        some.visit(keep);
        omp_set_num_threads(1);
        together = records_of(rule, rows);
        EXPECT_GT(times, 1U);
        EXPECT_LT(times, 10U);
        EXPECT_EQ(apart, together);
    }
}

TEST(PersonRecords, AreThoseOfTheirOwnRowsInAnyOrder) {
    std::mt19937_64 engine(3);
    for (const PersonRule& rule : rules()) {
        for (std::uint64_t seed = 0; seed < 30; ++seed) {
            std::vector<Row> rows = visits(seed, 20, 7);
            const std::vector<Row> records = records_of(rule, rows);
            std::shuffle(rows.begin(), rows.end(), engine);
            ASSERT_EQ(records_of(rule, rows), records) << seed;
        }
    }
}

// A person of any number of rows more, and everybody else's records stay as they are.
TEST(PersonRecords, OfOthersStayWhereOneHasMore) {
    for (const PersonRule& rule : rules()) {
        for (std::uint64_t seed = 0; seed < 30; ++seed) {
            std::vector<Row> rows = visits(seed, 20, 7);
            std::vector<Row> before = records_of(rule, rows);
            for (int i = 0; i < 50; ++i)
                rows.push_back({4, {1.0, static_cast<double>(i)}, 1, static_cast<double>(i)});
            std::vector<Row> after = records_of(rule, rows);
            const auto is_hers = [](const Row& row) { return row.id == 4; };
            EXPECT_LE(std::count_if(after.begin(), after.end(), is_hers),
                      static_cast<std::int64_t>(std::max<std::uint64_t>(rule.rows_at_most, 1)));
            std::erase_if(before, is_hers);
            std::erase_if(after, is_hers);
            ASSERT_EQ(after, before) << seed;
        }
    }
}

TEST(PersonRecords, SummariseRows) {
    using S = RowSummary;
    const PersonRule rule{
        .rows_at_most = 4, .order = "day", .summaries = {S::last, S::mean, S::min, S::max, S::count}};
    const std::vector<Row> rows{{1, {6, 2}, 1, 2}, {1, {0, 1}, 0, 1}, {1, {3, 0}, 0, 0}, {2, {5, 9}, 0, 9}};
    EXPECT_EQ(records_of(rule, rows), (std::vector<Row>{{1, {6, 3, 0, 6, 2, 1, 0, 2, 0.75}, 1},
                                                        {2, {5, 5, 5, 5, 9, 9, 9, 9, 0.25}, 0}}));
    EXPECT_EQ(rule.feature_names(names),
              (std::vector<std::string>{"pulse_last", "pulse_mean", "pulse_min", "pulse_max", "day_last",
                                        "day_mean", "day_min", "day_max", "rows"}));
    // Without an order: the label of most rows, of those the greatest.
    const PersonRule means{.summaries = {S::mean}};
    EXPECT_EQ(
        records_of(means, {{1, {0, 0}, 2}, {1, {2, 0}, 1}, {1, {4, 0}, 1}, {2, {1, 1}, 0}, {2, {1, 1}, 3}}),
        (std::vector<Row>{{1, {2, 0}, 1}, {2, {1, 1}, 3}}));
}

TEST(PersonRecords, KeepTheLastRowsAndCountTheOthers) {
    std::uint64_t left = 0;
    const PersonRule rule{.rows_at_most = 2, .keep_last = true, .order = "day"};
    EXPECT_EQ(
        records_of(rule, {{1, {1, 3}, 0, 3}, {1, {2, 5}, 1, 5}, {1, {3, 4}, 0, 4}, {2, {9, 1}, 0, 1}}, &left),
        (std::vector<Row>{{1, {3, 4}, 0}, {1, {2, 5}, 1}, {2, {9, 1}, 0}}));
    EXPECT_EQ(left, 1);
}

TEST(PersonRecords, AreRefusedWithTheRemedy) {
    const auto message = [](const PersonRule& rule, const std::vector<Row>& rows) {
        try {
            records_of(rule, rows);
        } catch (const Error& error) {
            return error.where() + ": " + error.what() + " (" + error.hint() + ")";
        }
        return std::string();
    };
    EXPECT_NE(message({.rows_at_most = 2, .keep_last = true}, {}).find("--order-by"), std::string::npos);
    EXPECT_NE(message({.order = "weight", .summaries = {RowSummary::last}}, {}).find("'weight'"),
              std::string::npos);
    EXPECT_NE(message({.summaries = {RowSummary::count}}, {}).find("--rows-at-most"), std::string::npos);
}

}  // namespace person_rows_test
}  // namespace holdfast
