// What surrounds a model, paid for: the cells of all doubles, what a person moves in them, the noise, and the
// ranges and edges that noise lets through.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/ops/row_weight.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/measure/constants.hpp"
#include "models/privacy/measure/score_table.hpp"
#include "models/privacy/noise/gaussian_noise.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast {
namespace {

using test::SeededBits;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr double least = std::numeric_limits<double>::denorm_min();

/// Doubles where cells begin, end, or could be thought not to.
std::vector<double> special_values() {
    std::vector<double> values{0.0,
                               -0.0,
                               least,
                               -least,
                               infinity,
                               -infinity,
                               0x1p-33,
                               0x1p32,
                               0x1p33,
                               std::numeric_limits<double>::max(),
                               std::numeric_limits<double>::min()};
    for (const double one : {0x1p-32, 1.0, 17.0, 2.0, 90.5, 0.1, 1e9, 0x1.ffp31})
        values.insert(values.end(), {one, std::nextafter(one, infinity), std::nextafter(one, 0)});
    for (std::size_t i = 0; i < 35; ++i) values.push_back(-values[i]);
    return values;
}

// The reference: plain loops over the definition (models/privacy/mathematics.md, column tree)
// -----------------------

/// The cells of a level that hold x, each by its two ends: level 0 has zero, missing and binades.
std::vector<std::string> plain_cells(double x, int level) {
    std::vector<std::string> found;
    if (std::isnan(x)) return level == 0 ? std::vector<std::string>{"missing"} : found;
    if (x == 0) return level == 0 ? std::vector<std::string>{"zero"} : found;
    const double magnitude = std::min(std::max(std::abs(x), 0x1p-32), 0x1p32);
    const int parts = level == 0 ? 1 : level == 1 ? 32 : 1024;
    for (int exponent = -32; exponent < 32; ++exponent) {
        for (int part = 0; part < parts; ++part) {
            const double low = std::ldexp(1 + part / static_cast<double>(parts), exponent),
                         high = std::ldexp(1 + (part + 1) / static_cast<double>(parts), exponent);
            // [low, high), and of negative numbers (low, high], whose lower end is -high; the outermost
            // ones hold what is beyond.
            const bool positive = x > 0 && low <= magnitude &&
                                  (magnitude < high || (high == 0x1p32 && magnitude == high)),
                       negative = x < 0 && magnitude <= high &&
                                  (low < magnitude || (low == 0x1p-32 && magnitude == low));
            if (positive || negative)
                found.push_back((x > 0 ? "+" : "-") + std::to_string(exponent) + ":" + std::to_string(part));
        }
    }
    return found;
}

using Row = double;
using Person = std::vector<Row>;

/// What persons add to a level of a column, in shares.
std::map<std::string, std::int64_t> plain_level(const std::vector<Person>& persons, int level) {
    std::map<std::string, std::int64_t> shares;
    for (const Person& person : persons) {
        for (const Row row : person) {
            for (const std::string& cell : plain_cells(row, level))
                shares[cell] += 65536 / static_cast<std::int64_t>(person.size());
        }
    }
    return shares;
}

ColumnCounts counted(const std::vector<Person>& persons) {
    ColumnCounts counts;
    for (const Person& person : persons)
        for (const Row row : person) counts.add(row, part_of(whole_person, row_weight(person.size())));
    return counts;
}

/// A level as the tree draws it: of every cell, in the tree's order.
std::vector<std::int64_t> level_of(const ColumnCounts& counts, int level) {
    const std::size_t width = level == 0 ? 1024 : level == 1 ? 32 : 1;
    std::vector<std::int64_t> shares;
    for (std::size_t first = 0; first < Cells::leaves; first += width)
        shares.push_back(counts.between(first, first + width));
    if (level == 0) shares.insert(shares.end(), {counts.at(Cells::zero), counts.at(Cells::missing)});
    return shares;
}

double distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i] - b[i]), 2);
    return std::sqrt(sum);
}

TEST(Cells, EveryDoubleHasOneOnEveryLevel) {
    for (const double x : special_values()) {
        const std::size_t cell = Cells::of(x);
        if (x == 0) {
            EXPECT_EQ(cell, Cells::zero) << x;
            continue;
        }
        ASSERT_LT(cell, Cells::leaves) << x;
        for (int level = 0; level < 3; ++level) ASSERT_EQ(plain_cells(x, level).size(), 1U) << x;
        // The very one of the reference: by its ends.
        const std::string name = plain_cells(x, 2).front();
        const int exponent = std::stoi(name.substr(1)), part = std::stoi(name.substr(name.find(':') + 1));
        const double low = std::ldexp(1 + part / 1024.0, exponent),
                     high = std::ldexp(1 + (part + 1) / 1024.0, exponent);
        if (x > 0) {
            EXPECT_EQ(Cells::end_below(cell), low) << x;
            EXPECT_EQ(Cells::end_above(cell), high) << x;
        } else {
            EXPECT_EQ(Cells::end_below(cell), -high) << x;
            EXPECT_EQ(Cells::end_above(cell), low > 0x1p-32 ? -low : 0.0) << x;
        }
    }
    EXPECT_EQ(Cells::of(nothing), Cells::missing);
    EXPECT_EQ(Cells::of(-nothing), Cells::missing);
    EXPECT_EQ(Cells::of(-0.0), Cells::of(0.0));
    EXPECT_EQ(Cells::of(least), Cells::of(0x1p-32));
    EXPECT_EQ(Cells::of(infinity), Cells::of(0x1p40));
}

TEST(Cells, AscendWithTheirValues) {
    std::vector<double> values = special_values();
    SeededBits bits(3);
    for (int i = 0; i < 20000; ++i) {
        std::uint64_t word = 0;
        bits.fill(std::as_writable_bytes(std::span(&word, 1)));
        const double value = std::bit_cast<double>(word);
        if (!std::isnan(value)) values.push_back(value);
    }
    std::sort(values.begin(), values.end());
    // Zero stands between the signs.
    const auto place = [](double x) {
        const std::size_t cell = Cells::of(x);
        return cell == Cells::zero ? static_cast<double>(Cells::leaves) / 2 - 0.5 : static_cast<double>(cell);
    };
    for (std::size_t i = 0; i + 1 < values.size(); ++i)
        ASSERT_LE(place(values[i]), place(values[i + 1])) << values[i] << " " << values[i + 1];
    for (std::size_t cell = 0; cell < Cells::leaves; cell += 17) {
        ASSERT_LT(Cells::end_below(cell), Cells::end_above(cell));
        ASSERT_EQ(Cells::of(Cells::end_below(cell)), cell);
    }
}

/// Persons of one to three rows of values that meet in cells, or hardly do.
std::vector<Person> all_persons() {
    const std::vector<Row> values{0.0, -0.0, 1.0, 1.001, 1.5, -1.0, least, -infinity, 0x1p40, nothing};
    std::vector<Person> persons;
    for (const Row a : values) {
        persons.push_back({a});
        for (const Row b : values) {
            persons.push_back({a, b});
            persons.push_back({a, b, values[persons.size() % values.size()]});
        }
    }
    return persons;
}

TEST(ColumnTree, APersonMovesEachLevelByOneAtMost) {
    const std::vector<Person> persons = all_persons();
    const std::vector<Person> others{{1.0}, {0.0, -3.0}, {nothing, 2.0, 2.0}};
    const auto whole = static_cast<double>(whole_person);
    for (const Person& person : persons) {
        std::vector<Person> with = others;
        with.push_back(person);
        for (int level = 0; level < static_cast<int>(TreeLaw::levels); ++level) {
            const auto before = level_of(counted(others), level), after = level_of(counted(with), level);
            std::int64_t added = 0;
            for (std::size_t i = 0; i < before.size(); ++i) {
                ASSERT_GE(after[i], before[i]);
                added += after[i] - before[i];
            }
            ASSERT_LE(added, whole_person);
            ASSERT_LE(distance(before, after), whole);
            // What the reference adds, cell for cell: the sorted shares, as both order cells their own way.
            std::vector<std::int64_t> plain, seen;
            for (const auto& [cell, shares] : plain_level(with, level)) plain.push_back(shares);
            std::copy_if(after.begin(), after.end(), std::back_inserter(seen),
                         [](std::int64_t s) { return s > 0; });
            std::sort(plain.begin(), plain.end());
            std::sort(seen.begin(), seen.end());
            ASSERT_EQ(plain, seen);
        }
    }
}

TEST(ColumnTree, AReplacedPersonMovesEachLevelByTheRootOfTwoAtMost) {
    const std::vector<Person> persons = all_persons();
    double furthest = 0;
    for (std::size_t i = 0; i < persons.size(); i += 7) {
        for (std::size_t j = 0; j < persons.size(); j += 11) {
            for (int level = 0; level < static_cast<int>(TreeLaw::levels); ++level)
                furthest = std::max(furthest, distance(level_of(counted({persons[i]}), level),
                                                       level_of(counted({persons[j]}), level)));
        }
    }
    EXPECT_LE(furthest, std::sqrt(2.0) * static_cast<double>(whole_person));
    EXPECT_GT(furthest, 1.4 * static_cast<double>(whole_person));
}

TEST(ColumnTree, NoiseAloneOpensCells) {
    // Nobody is there, and thresholds below all noise: everything is opened. A crowd, and thresholds beyond
    // it: nothing is.
    TreeLaw law = TreeLaw::of(5, 1);
    law.first_threshold = law.threshold = -1e6;
    SeededBits bits(7);
    EXPECT_EQ(draw_column(ColumnCounts(), law, bits).cells.size(), Cells::leaves + 1);
    law.first_threshold = law.threshold = 1e9;
    EXPECT_TRUE(draw_column(counted(std::vector<Person>(1000, Person{1.0})), law, bits).cells.empty());
}

TEST(ColumnTree, WhatIsDrawnFollowsFromTheNoisyCountsAlone) {
    // Two tables that differ where nothing is opened draw the same from the same bits.
    const TreeLaw law = TreeLaw::of(20, 1);
    std::vector<Person> one(2000, Person{1.0});
    std::vector<Person> other = one;
    one.push_back({1000.0});
    other.push_back({1001.5});  // of the same binade, which a single person does not open
    SeededBits first(11), second(11);
    const DrawnColumn a = draw_column(counted(one), law, first), b = draw_column(counted(other), law, second);
    EXPECT_EQ(first.drawn(), second.drawn());
    EXPECT_EQ(a.lowest, b.lowest);
    EXPECT_EQ(a.highest, b.highest);
    EXPECT_EQ(a.edges(8), b.edges(8));
}

TEST(ColumnTree, TheNoiseOfACellIsSigma) {
    const double sigma = 12;
    const ColumnCounts counts = counted(std::vector<Person>(1000, Person{nothing}));
    TreeLaw law = TreeLaw::of(sigma, 1);
    law.first_threshold = 1e9;
    SeededBits bits(5);
    constexpr int draws = 20000;
    double sum = 0, squares = 0, tails = 0;
    for (int i = 0; i < draws; ++i) {
        const double noise = draw_column(counts, law, bits).missing - 1000;
        sum += noise;
        squares += noise * noise;
        tails += std::abs(noise) > 2 * sigma;
    }
    EXPECT_NEAR(sum / draws, 0, 5 * sigma / std::sqrt(draws));
    EXPECT_NEAR(std::sqrt(squares / draws) / sigma, 1, 0.03);
    EXPECT_NEAR(tails / draws, 0.0455, 0.008);
}

TEST(ColumnTree, FalseBinadesAreRare) {
    const TreeLaw law = TreeLaw::of(50, 20);
    SeededBits bits(9);
    int seen = 0;
    for (int i = 0; i < 4000; ++i) seen += !draw_column(ColumnCounts(), law, bits).cells.empty();
    EXPECT_LE(seen, 10);  // 2 are expected: one of a hundred draws of 20 columns
}

std::vector<Person> ages(int each) {
    std::vector<Person> persons;
    for (int age = 17; age <= 90; ++age)
        persons.insert(persons.end(), static_cast<std::size_t>(each), Person{static_cast<double>(age)});
    return persons;
}

TEST(ColumnTree, RangesAreTheEndsOfWhatWasSeen) {
    SeededBits bits(1);
    const DrawnColumn column = draw_column(counted(ages(1000)), TreeLaw::of(5, 1), bits);
    EXPECT_LE(column.lowest, 17);  // noise may look like a small crowd beyond
    EXPECT_GE(column.lowest, 16);
    EXPECT_GE(column.highest, 90.0625);
    EXPECT_LE(column.highest, 96);
    std::vector<Person> signs(1000, Person{-5.0});
    signs.insert(signs.end(), 1000, Person{0.0});
    const DrawnColumn below = draw_column(counted(signs), TreeLaw::of(5, 1), bits);
    EXPECT_EQ(below.lowest, -5);
    EXPECT_EQ(below.highest, 0);
    const DrawnColumn zero =
        draw_column(counted(std::vector<Person>(1000, Person{0.0})), TreeLaw::of(5, 1), bits);
    EXPECT_EQ(zero.lowest, 0);
    EXPECT_EQ(zero.highest, 1);
}

TEST(ColumnTree, ARangeAloneIsDrawnFromOneLevel) {
    // By the bits that are drawn: the binades and zero, and nothing below, whoever is there.
    const auto drawn_for = [](const ColumnCounts& counts, DrawnColumn& column) {
        SeededBits bits(3);
        column = draw_range(counts, 20, bits);
        return bits.drawn();
    };
    DrawnColumn nobody, crowd, signs, zeros;
    const std::uint64_t bits = drawn_for(ColumnCounts(), nobody);
    std::vector<Person> both(500, Person{-5.0});
    both.insert(both.end(), 500, Person{3.0});
    EXPECT_EQ(drawn_for(counted(ages(4)), crowd), bits);
    EXPECT_EQ(drawn_for(counted(both), signs), bits);
    EXPECT_EQ(drawn_for(counted(std::vector<Person>(300, Person{0.0})), zeros), bits);
    EXPECT_TRUE(nobody.cells.empty());
    EXPECT_EQ(std::pair(nobody.lowest, nobody.highest), std::pair(0.0, 1.0));
    EXPECT_EQ(crowd.lowest, 16);  // of 17 to 90; noise may add a cell
    EXPECT_TRUE(crowd.highest == 128 || crowd.highest == 256) << crowd.highest;
    EXPECT_NEAR(crowd.cells[0].persons, 296, 5 * 20 * std::sqrt(4.0));
    EXPECT_EQ(std::pair(signs.lowest, signs.highest), std::pair(-8.0, 4.0));
    EXPECT_EQ(std::pair(zeros.lowest, zeros.highest), std::pair(0.0, 1.0));
    std::vector<Person> mostly_zero(600, Person{0.0});
    mostly_zero.insert(mostly_zero.end(), 160, Person{700.0});
    drawn_for(counted(mostly_zero), zeros);
    EXPECT_EQ(zeros.lowest, 0);
    EXPECT_TRUE(zeros.highest >= 1024 && zeros.highest <= 8192) << zeros.highest;
}

TEST(ColumnTree, OfFewPersonsFlagsAreFlagsHoweverRare) {
    // Between 0 and 1 lie 32 binades of nobody; where a flag is rare, noise alone is no reason for another
    // range.
    SeededBits bits(6);
    for (const std::size_t ones : {700, 350, 40}) {
        std::vector<Person> persons(1400 - ones, Person{0.0});
        persons.insert(persons.end(), ones, Person{1.0});
        const ColumnCounts counts = counted(persons);
        int right = 0;
        constexpr int draws = 400;
        for (int i = 0; i < draws; ++i) {
            const DrawnColumn column = draw_range(counts, 70, bits);
            right += column.lowest == 0 && column.highest >= 1 && column.highest <= 8;
        }
        EXPECT_GT(right, draws * 90 / 100) << ones << " of 1400";
    }
}

TEST(ColumnTree, OfFewPersonsTheRangeIsMostlyRight) {
    // 10 sigma of persons in four binades, of whom no binade has what would open it in 30 columns.
    std::vector<Person> persons;
    for (const double value : {3.0, 5.0, 9.0, 20.0}) persons.insert(persons.end(), 100, Person{value});
    SeededBits bits(5);
    int right = 0, hidden = 0, opened = 0, invented = 0;
    constexpr int draws = 400;
    for (int i = 0; i < draws; ++i) {
        const DrawnColumn column = draw_range(counted(persons), 40, bits);
        hidden += column.cells.empty();
        right += !column.cells.empty() && column.lowest <= 4 && column.highest >= 16 &&
                 column.highest - column.lowest <= 64;
        opened += !draw_column(counted(persons), TreeLaw::of(40 * std::sqrt(3.0), 30), bits).cells.empty();
        invented += !draw_range(ColumnCounts(), 40, bits).cells.empty();
    }
    EXPECT_GT(right, draws * 80 / 100);
    EXPECT_LT(hidden, draws * 10 / 100);
    EXPECT_LT(opened, draws * 5 / 100);
    EXPECT_LT(invented, draws * 35 / 100);
}

TEST(ColumnTree, ACrowdThatNoCellShowsIsInTheRange) {
    // 40 of each age beside noise of 60: a cell is hardly seen, and all of them are 3000.
    std::vector<double> lowest, highest;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SeededBits bits(seed);
        const DrawnColumn column = draw_column(counted(ages(40)), TreeLaw::of(60, 3), bits);
        lowest.push_back(column.lowest);
        highest.push_back(column.highest);
    }
    std::sort(lowest.begin(), lowest.end());
    std::sort(highest.begin(), highest.end());
    EXPECT_LE(lowest[36], 24);  // nine of ten times, at most 7 of 74 ages are clamped at an end
    EXPECT_GE(highest[4], 84);
    EXPECT_GE(lowest.front(), 8);
    EXPECT_LE(highest.back(), 128);
}

TEST(ColumnTree, EdgesAreQuantilesWithAtomsApart) {
    SeededBits bits(2);
    // No atom: eighths of 74 ages.
    const std::vector<double> quantiles = draw_column(counted(ages(1000)), TreeLaw::of(3, 1), bits).edges(8);
    ASSERT_EQ(quantiles.size(), 7U);
    for (std::size_t i = 0; i < quantiles.size(); ++i)
        EXPECT_NEAR(quantiles[i], 17 + 74.0 * static_cast<double>(i + 1) / 8, 0.8);
    // Nine of ten are zero: a bin of its own, and quarters are of the rest.
    std::vector<Person> amounts(40000, Person{0.0});
    for (int i = 0; i < 4000; ++i) amounts.push_back({100.0 + i});
    const DrawnColumn column = draw_column(counted(amounts), TreeLaw::of(5, 1), bits);
    const std::vector<double> edges = column.edges(8);
    ASSERT_GE(edges.size(), 7U);
    EXPECT_EQ(edges.front(), 0x1p-32);
    for (std::size_t i = 1; i < edges.size(); ++i)
        EXPECT_NEAR(edges[i], 100 + 4000.0 * static_cast<double>(i) / 7, 60) << i;
    // A flag: one edge between its values.
    std::vector<Person> flags(3000, Person{0.0});
    flags.insert(flags.end(), 2000, Person{1.0});
    EXPECT_EQ(draw_column(counted(flags), TreeLaw::of(5, 1), bits).edges(16), std::vector<double>{1.0});
}

MeasureRequest asked(bool count, std::size_t columns, const std::string& relation = "add_remove") {
    const Rational mu = gaussian_mu(1, Rational(1, 100000));
    return {relation, count, columns, 0, mu * mu / 100, mu * mu / 25};
}

/// Rows of one person by bucket, in shares.
ColumnCounts buckets_of(const std::vector<std::size_t>& rows) {
    ColumnCounts counts;
    for (const std::size_t bucket : rows)
        counts.add(static_cast<double>(bucket), part_of(whole_person, row_weight(rows.size())));
    return counts;
}
std::int64_t in_bucket(const ColumnCounts& counts, std::size_t bucket) {
    return counts.at(Cells::of(static_cast<double>(bucket)));
}

TEST(HashedCategories, APersonMovesThemByOneAtMost) {
    std::vector<std::vector<std::size_t>> persons;
    for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t b = 0; b < 3; ++b)
            for (std::size_t rows = 1; rows <= 7; ++rows) {
                std::vector<std::size_t> person(rows, a * 127);
                person.back() = b * 127 + 1;
                persons.push_back(person);
            }
    std::vector<std::vector<double>> shares;  // [persons, buckets]
    for (const auto& person : persons) {
        const ColumnCounts counts = buckets_of(person);
        shares.emplace_back();
        for (std::size_t bucket = 0; bucket < counted_buckets; ++bucket)
            shares.back().push_back(static_cast<double>(in_bucket(counts, bucket)) / whole_person);
        ASSERT_LE(std::accumulate(shares.back().begin(), shares.back().end(), 0.0), 1);
    }
    double most = 0;
    for (const auto& one : shares) {
        for (const auto& other : shares) {
            double square = 0;
            for (std::size_t b = 0; b < counted_buckets; ++b)
                square += (one[b] - other[b]) * (one[b] - other[b]);
            ASSERT_LE(square, 2);
            most = std::max(most, square);
        }
    }
    EXPECT_EQ(most, 2);
    for (std::size_t bucket = 0; bucket < counted_buckets; ++bucket)  // each has a cell of its own
        ASSERT_EQ(in_bucket(buckets_of({bucket}), bucket), whole_person);
}

TEST(HashedCategories, NoiseAloneOpensBuckets) {
    int false_ones = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SeededBits bits(seed);
        false_ones += draw_buckets(ColumnCounts(), 3, 1, bits).empty() ? 0 : 1;
    }
    EXPECT_LE(false_ones, 15);  // about 3
    ColumnCounts crowd;
    for (std::size_t bucket = 0; bucket < 60; ++bucket)
        crowd.add(static_cast<double>(4 * bucket),
                  (bucket < 40 ? 100 + static_cast<std::int64_t>(bucket) : 1) * whole_person);
    SeededBits bits(7);
    const std::vector<std::size_t> found = draw_buckets(crowd, 0.5, 1, bits);
    EXPECT_EQ(found.size(), most_frequent_buckets);
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
    for (const std::size_t bucket : found) EXPECT_TRUE(bucket % 4 == 0 && bucket < 160) << bucket;
}

// An audit: whether one person's bucket is open tells two neighbours apart no better than mu = 1/sigma lets
// it; of half the noise it does.
TEST(HashedCategories, AreAuditedAtWhatTheyCost) {
    constexpr int draws = 1000;
    const auto opened = [&](std::int64_t persons, double sigma) {
        ColumnCounts counts;
        counts.add(17, persons * whole_person);
        int open = 0;
        for (std::uint64_t seed = 0; seed < draws; ++seed) {
            SeededBits bits(seed * 2 + static_cast<std::uint64_t>(persons));
            const std::vector<std::size_t> found = draw_buckets(counts, sigma, 1, bits);
            open += std::find(found.begin(), found.end(), 17) != found.end();
        }
        return open / static_cast<double>(draws);
    };
    const auto quantile = [](double part) {
        double low = -8, high = 8;
        for (int i = 0; i < 60; ++i) {
            const double middle = (low + high) / 2;
            (std::erfc(-middle / std::sqrt(2)) / 2 < part ? low : high) = middle;
        }
        return low;
    };
    constexpr double threshold = 3.95;  // about, in sigma
    for (const double sigma : {1.0, 0.5}) {
        const auto crowd = static_cast<std::int64_t>(std::lround(threshold * sigma));
        const double mu = quantile(opened(crowd + 1, sigma)) - quantile(opened(crowd, sigma));
        EXPECT_NEAR(mu, 1 / sigma, 0.25) << sigma;
    }
}

TEST(HashedCategories, CostALevelEach) {
    for (const std::string relation : {"add_remove", "substitute"}) {
        MeasureRequest request{.relation = relation, .columns_mu_squared = Rational(1, 50), .categories = 3};
        const MeasureLaw law = MeasureLaw::of(request);
        EXPECT_LE(law.mu_squared, Rational(1, 50));
        EXPECT_NEAR(law.sigma, std::sqrt((relation == "substitute" ? 6 : 3) * 50.0), 1e-9);
        request.columns = 2;  // of three levels each
        EXPECT_NEAR(MeasureLaw::of(request).sigma, std::sqrt((relation == "substitute" ? 18 : 9) * 50.0),
                    1e-9);
        EXPECT_NE(payment_for(request, law, Rational(1, 100000)).parameters.find("\"categories\":3"),
                  std::string::npos);
    }
}

// Names: the reference is plain loops over the definition (models/privacy/mathematics.md, named categories)
// ------------

/// Persons by their names.
using Named = std::vector<std::string>;

NameCounts counted_names(const Named& persons, const Named& list = {"", "a", "b", "c", "d", "#other"}) {
    NameCounts counts(list);
    for (const std::string& name : persons)
        counts.add_person(static_cast<std::size_t>(std::find(list.begin(), list.end(), name) - list.begin()));
    return counts;
}

TEST(NamedCategories, APersonMovesThemByOneAtMost) {
    const Named others{"a", "b", "b", "d", ""};
    const NameCounts before = counted_names(others);
    for (const std::string person : {"", "a", "b", "c", "#other"}) {
        Named with = others;
        with.push_back(person);
        const NameCounts after = counted_names(with);
        for (std::size_t place = 0; place < after.size(); ++place) {
            const std::string& name = after.name(place);
            EXPECT_EQ(after.at(place), whole_person * std::count(with.begin(), with.end(), name)) << name;
            EXPECT_EQ(after.at(place) - before.at(place), name == person ? whole_person : 0) << name;
        }
    }
}

double tail_of_normal(double x) {
    return std::erfc(x / std::sqrt(2)) / 2;
}

TEST(NamedCategories, TheThresholdIsTheLeastThatHidesWhoIsAlone) {
    for (const double sigma : {0.5, 3.0, 37.0}) {
        for (const double delta : {1e-3, 1e-6}) {
            const NameLaw law = NameLaw::of(sigma, decimal_value(delta, ""));
            // Of a name that one person has, with noise rounded to whole shares.
            const auto shown = [&](std::int64_t threshold) {
                return tail_of_normal((static_cast<double>(threshold) - 65536 - 0.5) / (sigma * 65536));
            };
            EXPECT_LE(shown(law.threshold), delta * (1 + 1e-9));
            EXPECT_GT(shown(law.threshold - 2), delta);
        }
    }
    EXPECT_NEAR(NameLaw::of(37, decimal_value(1e-6, "")).persons(), 176.9, 0.5);
    EXPECT_THROW(NameLaw::of(1, 0), Error);
    EXPECT_THROW(NameLaw::of(1, 1), Error);
}

TEST(NamedCategories, ComeOutFromTheThresholdOn) {
    // From the same bits: a name that is at it comes out, one share below it does not; one that is nobody's
    // takes no bits, and neither does what all others are called.
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SeededBits bits(seed), again(seed);
        const GaussianNoise noise(4.0 * whole_person);
        const std::int64_t drawn = noise.draw(bits);
        Named persons(9, "a");
        persons.insert(persons.end(), 500, "#other");
        const NameCounts counts = counted_names(persons);
        const NameLaw at{4, 9 * whole_person + drawn};
        EXPECT_EQ(draw_names(counts, at, "#other", again), std::vector<std::string>{"a"});
        EXPECT_EQ(again.drawn(), bits.drawn());
        SeededBits third(seed);
        EXPECT_TRUE(draw_names(counts, {4, at.threshold + 1}, "#other", third).empty());
    }
    Named list, crowd;
    for (std::size_t i = 0; i < 100; ++i) {
        list.push_back("name " + std::to_string(i));
        crowd.insert(crowd.end(), 100 + i, list.back());
    }
    SeededBits bits(2);
    const std::vector<std::string> names =
        draw_names(counted_names(crowd, list), {0.0625, 50 * whole_person}, "#other", bits);
    EXPECT_EQ(names.size(), most_names);
    EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
    for (const std::string& name : names) EXPECT_GE(std::stoi(name.substr(5)), 35) << name;
}

// By counting: two rooms that a person more tells apart, with no more than mu and delta allow.
TEST(NamedCategories, AreAuditedAtWhatTheyCost) {
    constexpr int draws = 4000;
    const double sigma = 2, delta = 0.02;
    const NameLaw law = NameLaw::of(sigma, decimal_value(delta, ""));
    const auto times_seen = [&](const Named& persons, const std::string& name) {
        const NameCounts counts = counted_names(persons);
        int seen = 0;
        for (std::uint64_t seed = 0; seed < draws; ++seed) {
            SeededBits bits(seed);
            const std::vector<std::string> names = draw_names(counts, law, "#other", bits);
            seen += std::find(names.begin(), names.end(), name) != names.end();
        }
        return seen / static_cast<double>(draws);
    };
    const Named room(5, "a");
    Named more = room;
    more.push_back("b");  // nobody else has it
    EXPECT_EQ(times_seen(room, "b"), 0);
    const double shown = times_seen(more, "b");
    EXPECT_LE(shown, delta + 4 * std::sqrt(delta / draws));
    EXPECT_GT(shown, delta / 3);  // and hardly less: one share nearer to the threshold, and it would be more
    more.back() = "a";
    const double mu = 1 / sigma, before = times_seen(room, "a"), after = times_seen(more, "a");
    const auto quantile = [](double part) {
        double low = -8, high = 8;
        for (int i = 0; i < 60; ++i) {
            const double middle = (low + high) / 2;
            (tail_of_normal(-middle) < part ? low : high) = middle;
        }
        return low;
    };
    EXPECT_NEAR(quantile(after) - quantile(before), mu, 0.15);
}

TEST(NamedCategories, CostALevelEachAndADeltaBesides) {
    for (const std::string relation : {"add_remove", "substitute"}) {
        const MeasureRequest request{.relation = relation,
                                     .columns = 2,
                                     .columns_mu_squared = Rational(1, 50),
                                     .names = 3,
                                     .names_delta = Rational(3, 1000000)};
        const MeasureLaw law = MeasureLaw::of(request);
        EXPECT_LE(law.mu_squared, Rational(1, 50));
        EXPECT_NEAR(law.sigma, std::sqrt((relation == "substitute" ? 18 : 9) * 50.0), 1e-9);
        EXPECT_EQ(law.names.threshold, NameLaw::of(law.sigma, Rational(1, 1000000)).threshold);
        const Payment besides = payment_for_names(request, law);
        EXPECT_EQ(besides.epsilon, 0);
        EXPECT_EQ(besides.delta, Rational(3, 1000000));
        EXPECT_FALSE(besides.mu_squared);
        EXPECT_TRUE(besides.curve.empty());
        EXPECT_NE(payment_for(request, law, Rational(1, 100000)).parameters.find("\"names\":3"),
                  std::string::npos);
    }
}

TEST(DrawnConstants, NamesAreReadAgainAsTheyWereWritten) {
    MeasureRequest request{.columns_mu_squared = 1, .names = 1, .names_delta = Rational(1, 1000)};
    const MeasureLaw law = MeasureLaw::of(request);
    SeededBits bits(5);
    MeasuredConstants drawn =
        draw_constants(request, law, {200, 200, {1}, 2, "#other"}, nullptr, bits, [](std::size_t feature) {
            EXPECT_EQ(feature, 1U);
            Named persons(100, "b");
            persons.insert(persons.end(), 100, "");
            persons.push_back("c");
            return counted_names(persons);
        });
    drawn.token = "token";
    EXPECT_EQ(drawn.columns[1]->names, (std::vector<std::string>{"", "b"}));
    EXPECT_EQ(drawn.columns[1]->features(), 3U);
    const std::string text = drawn.to_json().dump();
    EXPECT_EQ(MeasuredConstants::from_text(text, "here").to_json().dump(), text);
    EXPECT_EQ(MeasuredConstants::from_text(text, "here").columns[1]->names, drawn.columns[1]->names);
}

TEST(MeasureLaw, CostsWhatItsNoiseCosts) {
    for (const auto& [relation, times] : {std::pair{"add_remove", 1}, {"substitute", 2}}) {
        const MeasureRequest request = asked(true, 23, relation);
        const MeasureLaw law = MeasureLaw::of(request);
        const Rational of_count =
                           Rational(2 - times) / (Rational(law.count_sigma) * Rational(law.count_sigma)),
                       of_columns = Rational(3 * 23 * times) / (Rational(law.sigma) * Rational(law.sigma));
        EXPECT_EQ(law.mu_squared, of_count + of_columns);
        EXPECT_LE(law.mu_squared, request.count_mu_squared + request.columns_mu_squared);
        EXPECT_GE(of_columns, request.columns_mu_squared * Rational(999999, 1000000));
    }
    MeasureRequest ranges = asked(false, 23);
    ranges.levels = 1;
    EXPECT_NEAR(MeasureLaw::of(ranges).sigma * std::sqrt(3.0), MeasureLaw::of(asked(false, 23)).sigma, 1e-9);
    EXPECT_LE(MeasureLaw::of(ranges).mu_squared, ranges.columns_mu_squared);
    const MeasureLaw law = MeasureLaw::of(asked(true, 0));
    EXPECT_NEAR(law.count_sigma, 37.3, 0.1);  // 1% of (1, 1e-5)
    EXPECT_THROW(MeasureLaw::of(asked(false, 0)), Error);
}

TEST(MeasureLaw, ItsPaymentStatesWhatItsMuIs) {
    const MeasureRequest request = asked(true, 5);
    const MeasureLaw law = MeasureLaw::of(request);
    const Payment payment = payment_for(request, law, Rational(1, 100000));
    EXPECT_EQ(payment.mu_squared, law.mu_squared);
    EXPECT_GE(gaussian_mu(payment.epsilon, payment.delta) * gaussian_mu(payment.epsilon, payment.delta),
              law.mu_squared * Rational(999999, 1000000));
    EXPECT_EQ(payment.mechanism, measured_mechanism);
    const nlohmann::json said = nlohmann::json::parse(payment.parameters);
    EXPECT_FALSE(said.contains("kind"));  // a statement would take it for answers
    EXPECT_EQ(said["columns"], 5);
}

TEST(DrawnConstants, TheCountIsPersonsPlusNoiseOfItsSigma) {
    const MeasureRequest request = asked(true, 0);
    const MeasureLaw law = MeasureLaw::of(request);
    SeededBits bits(4);
    constexpr int draws = 20000;
    double sum = 0, squares = 0;
    for (int i = 0; i < draws; ++i) {
        const MeasuredConstants drawn = draw_constants(request, law, {5000, 0, {}, 2}, nullptr, bits);
        const double noise = static_cast<double>(*drawn.count) - 5000;
        sum += noise;
        squares += noise * noise;
    }
    EXPECT_NEAR(sum / draws, 0, 5 * law.count_sigma / std::sqrt(draws));
    EXPECT_NEAR(std::sqrt(squares / draws) / law.count_sigma, 1, 0.03);
}

TEST(DrawnConstants, PartsOfAnUndeclaredColumnThatHoldNothingAreDropped) {
    MeasureRequest request = asked(false, 1);
    request.categories = 1;
    const MeasureLaw law = MeasureLaw::of(request);
    SeededBits bits(8);
    constexpr std::size_t numbers = 17;
    const auto features_of_parts = [&](const std::vector<Person>& cells, const std::vector<Person>& buckets) {
        const std::vector<ColumnCounts> columns{counted(cells), counted(buckets)};
        const MeasuredConstants drawn = draw_constants(
            request, law, {74000, 74000, {0, 1}, 2, "", {{0, 1, numbers}}},
            [&](std::size_t first, std::size_t last) {
                return std::vector<ColumnCounts>(columns.begin() + static_cast<std::ptrdiff_t>(first),
                                                 columns.begin() + static_cast<std::ptrdiff_t>(last));
            },
            bits);
        const std::string text = drawn.to_json().dump();
        EXPECT_EQ(MeasuredConstants::from_text(text, "here").features(), drawn.features());
        return std::vector<std::size_t>{drawn.columns[0]->features(), drawn.columns[1]->features()};
    };
    const std::vector<Person> all(20000, Person{17.0}), texts(20000, Person{3.0});
    std::vector<Person> both = all;
    both.insert(both.end(), texts.begin(), texts.end());
    EXPECT_EQ(features_of_parts(ages(300), all), (std::vector<std::size_t>{1, 0}));
    EXPECT_EQ(features_of_parts({}, texts), (std::vector<std::size_t>{0, 2}));
    EXPECT_EQ(features_of_parts(ages(300), both), (std::vector<std::size_t>{1, 3}));
}

TEST(DrawnConstants, AreReadAgainAsTheyWereWritten) {
    MeasureRequest request = asked(true, 2);
    const MeasureLaw law = MeasureLaw::of(request);
    SeededBits bits(6);
    const std::vector<ColumnCounts> columns{counted(ages(1000)), ColumnCounts()};
    MeasuredConstants drawn = draw_constants(
        request, law, {74000, 0, {0, 2}, 3},
        [&](std::size_t first, std::size_t last) {
            return std::vector<ColumnCounts>(columns.begin() + static_cast<std::ptrdiff_t>(first),
                                             columns.begin() + static_cast<std::ptrdiff_t>(last));
        },
        bits);
    drawn.token = "token";
    EXPECT_FALSE(drawn.columns[1]);
    EXPECT_TRUE(drawn.columns[0]->seen);
    EXPECT_FALSE(drawn.columns[2]->seen);
    EXPECT_EQ(drawn.bins, 16U);
    const std::string text = drawn.to_json().dump();
    EXPECT_EQ(MeasuredConstants::from_text(text, "here").to_json().dump(), text);
    MeasureRequest alone = asked(false, 2);
    alone.levels = 1;
    const MeasuredConstants ranges = draw_constants(
        alone, MeasureLaw::of(alone), {74000, 74000, {0, 2}, 3},
        [&](std::size_t, std::size_t) { return columns; }, bits);
    EXPECT_EQ(ranges.bins, 0U);
    EXPECT_TRUE(ranges.columns[0]->edges.empty());
    EXPECT_EQ(ranges.columns[0]->highest, 128);
    EXPECT_THROW(MeasuredConstants::from_text("{}", "here"), Error);
    EXPECT_THROW(MeasuredConstants::from_text(text.substr(1), "here"), Error);
}

TEST(DrawnConstants, ARecordCountIsOneAtLeast) {
    MeasuredConstants drawn;
    EXPECT_EQ(drawn.records(), 1U);
    drawn.count = -40;
    EXPECT_EQ(drawn.records(), 1U);
    drawn.count = 812;
    EXPECT_EQ(drawn.records(), 812U);
}

TEST(DrawnConstants, BinsAreAsManyAsNoiseLeaves) {
    EXPECT_EQ(bins_told_apart(100, 50), 4U);
    EXPECT_EQ(bins_told_apart(2000, 50), 8U);   // 5 of 8 sigma each
    EXPECT_EQ(bins_told_apart(3200, 50), 16U);  // the least above 8
    EXPECT_EQ(bins_told_apart(1e9, 50), 16U);
}

TEST(ScoreTable, EveryLeadHasABinUnderItsLabel) {
    EXPECT_EQ(ScoreTable::bin_of(0.1, 1), 32U);
    EXPECT_EQ(ScoreTable::bin_of(-0.1, 0), 31U);
    EXPECT_EQ(ScoreTable::bin_of(0.25, 1), 33U);
    EXPECT_EQ(ScoreTable::bin_of(1e300, 1), 63U);
    EXPECT_EQ(ScoreTable::bin_of(-infinity, 0), 0U);
    for (const double lead : special_values()) {  // rounding may give a label against its lead
        EXPECT_LT(ScoreTable::bin_of(lead, 0), 32U);
        EXPECT_GE(ScoreTable::bin_of(lead, 1), 32U);
        EXPECT_LT(ScoreTable::bin_of(lead, 1), 64U);
    }
    EXPECT_EQ(ScoreTable::bin_of(nothing, 1), 32U);
}

TEST(ScoreTable, NoiseIsThatOfOnePersonOrTwoCells) {
    const Rational millionth(1, 1000000), half(1, 2);
    EXPECT_EQ(TableNoise::of(half, 0, "add_remove").scale, 2);
    EXPECT_EQ(TableNoise::of(half, 0, "substitute").scale, 4);
    const double normal = TableNoise::of(half, millionth, "add_remove").scale;
    EXPECT_NEAR(normal * gaussian_mu(half, millionth).get_d(), 1, 1e-9);
    EXPECT_GE(Rational(normal) * gaussian_mu(half, millionth), 1);
    EXPECT_NEAR(TableNoise::of(half, millionth, "substitute").scale / normal, std::sqrt(2.0), 1e-9);
    EXPECT_THROW(TableNoise::of(0, 0, "add_remove"), Error);
    EXPECT_THROW(TableNoise::of(1, 1, "add_remove"), Error);
    for (const Rational& delta : {Rational(0), millionth}) {
        const TableNoise noise = TableNoise::of(half, delta, "add_remove");
        SeededBits bits(8);
        const std::vector<double> drawn =
            noise.noisy(std::vector<std::int64_t>(20000, 100 * whole_person), bits);
        double squares = 0;
        for (const double cell : drawn) squares += (cell - 100) * (cell - 100);
        EXPECT_NEAR(std::sqrt(squares / 20000) / noise.deviation(), 1, 0.04) << noise.law;
        EXPECT_EQ(noise.payment("{}").mu_squared.has_value(), delta > 0);
    }
}

std::vector<std::int64_t> in_shares(std::vector<std::int64_t> persons) {
    for (std::int64_t& count : persons) count *= whole_person;
    return persons;
}

/// 2 classes: scores of `count` persons, class 1 about a lead of 1.
std::vector<std::int64_t> made_persons(int count, std::mt19937_64& random) {
    std::vector<std::int64_t> persons(128);
    std::normal_distribution<double> normal;
    for (int i = 0; i < count; ++i) {
        const int label = i % 4 == 0;
        const double lead = normal(random) + (label ? 1 : -1);
        ++persons[2 * ScoreTable::bin_of(lead, lead > 0) + static_cast<std::size_t>(label)];
    }
    return persons;
}

TEST(ScoreTable, FiguresOfAnExactTableAreThoseOfThePersons) {
    // Pairs and squares by plain loops.
    std::mt19937_64 random(3);
    const std::vector<std::int64_t> persons = made_persons(2000, random);
    const Figures figures = figures_of({64, 2, {persons.begin(), persons.end()}}, 0);
    double right = 0, pairs = 0, squares = 0, of_class[2] = {}, right_of[2] = {};
    for (std::size_t b = 0; b < 64; ++b) {
        for (std::size_t label = 0; label < 2; ++label) {
            const auto count = static_cast<double>(persons[2 * b + label]);
            const double part = 1 / (1 + std::exp(-(static_cast<double>(b) - 31.5) / 4));
            squares += count * std::pow(part - static_cast<double>(label), 2);
            of_class[label] += count;
            if ((b >= 32) == (label == 1)) right += count, right_of[label] += count;
        }
        for (std::size_t c = 0; c <= b; ++c)
            pairs += static_cast<double>(persons[2 * b + 1] * persons[2 * c]) * (c == b ? 0.5 : 1);
    }
    EXPECT_NEAR(figures.persons, 2000, 1e-9);
    EXPECT_NEAR(figures.accuracy.value, right / 2000, 1e-12);
    EXPECT_NEAR(figures.balanced.value, (right_of[0] / of_class[0] + right_of[1] / of_class[1]) / 2, 1e-12);
    EXPECT_NEAR(figures.auc.value, pairs / (of_class[0] * of_class[1]), 1e-12);
    EXPECT_NEAR(figures.brier.value, squares / 2000, 1e-12);
    EXPECT_NEAR(figures.accuracy.error,
                std::sqrt(figures.accuracy.value * (1 - figures.accuracy.value) / 2000), 1e-12);
}

TEST(ScoreTable, ItsErrorsCoverTheTruth) {
    // 4000 held out of many alike, at epsilon .3: bars of two errors hold it about 95 times of 100.
    std::mt19937_64 random(4);
    const std::vector<std::int64_t> many = made_persons(4000000, random);
    const Figures truth = figures_of({64, 2, {many.begin(), many.end()}}, 0);
    const TableNoise noise = TableNoise::of(Rational(3, 10), 0, "add_remove");
    SeededBits bits(9);
    int accuracy = 0, balanced = 0, auc = 0, brier = 0;
    constexpr int times = 400;
    const auto covers = [](const Estimate& estimate, const Estimate& true_one) {
        return std::abs(estimate.value - true_one.value) <= 2 * estimate.error;
    };
    for (int i = 0; i < times; ++i) {
        const std::vector<double> drawn = noise.noisy(in_shares(made_persons(4000, random)), bits);
        const Figures figures = figures_of({64, 2, drawn}, noise.deviation());
        accuracy += covers(figures.accuracy, truth.accuracy);
        balanced += covers(figures.balanced, truth.balanced);
        auc += covers(figures.auc, truth.auc);
        brier += covers(figures.brier, truth.brier);
    }
    for (const int covered : {accuracy, balanced, auc, brier}) {
        EXPECT_GE(covered, times * 90 / 100);
        EXPECT_LE(covered, times * 99 / 100);
    }
}

TEST(ScoreTable, OfAnEmptyTableNothingIsSaidForSure) {
    const Figures figures = figures_of({64, 2, std::vector<double>(128, -1.0)}, 1);
    EXPECT_EQ(figures.auc.value, 0.5);
    for (const Estimate& estimate : {figures.accuracy, figures.balanced, figures.auc, figures.brier})
        EXPECT_GE(estimate.error, 0.5);
    const Figures three = figures_of({3, 3, {5, 0, 1, 0, 7, 0, 1, 0, 6}}, 0);
    EXPECT_NEAR(three.accuracy.value, 18.0 / 20, 1e-12);
}

}  // namespace
}  // namespace holdfast
