#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "dist/data/generate.hpp"
#include "dist/data/statistics.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::ElementsAre;

TEST(Synth, BlobsAreTwoGaussiansAndTheirPowers) {
    const auto blobs = make_blobs({3, 1.25, 0.35, 3});
    EXPECT_THAT(blobs->feature_names(), ElementsAre("x1", "x2", "x1^2", "x2^2", "x1^3", "x2^3"));
    const Records records = generate(*blobs, 0, 20000);
    ASSERT_TRUE(records.features.wide());
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
        const double x1 = records.features.at(i, 0), x2 = records.features.at(i, 1);
        EXPECT_EQ(records.features.at(i, 2), x1 * x1);
        EXPECT_EQ(records.features.at(i, 5), x2 * x2 * x2);
        const double centred = records.labels[i] == 0 ? x1 - 1.25 : x1 + 1.25;
        sum += centred;
        squares += centred * centred;
    }
    EXPECT_NEAR(sum / 20000, 0, 0.015);  // six standard errors
    EXPECT_NEAR(std::sqrt(squares / 20000), 0.35, 0.011);
    EXPECT_EQ(std::count(records.labels.begin(), records.labels.end(), 1), 10000);
}

TEST(Synth, HalfmoonsWithoutNoiseLieOnTheirCircles) {
    const Records records = generate(*make_halfmoons({1, 0, 1}), 0, 1000);
    for (std::size_t i = 0; i < records.size(); ++i) {
        const bool lower = records.labels[i] == 1;
        const double x1 = records.features.at(i, 0) - (lower ? 1 : 0),
                     x2 = records.features.at(i, 1) - (lower ? 0.5 : 0);
        EXPECT_NEAR(x1 * x1 + x2 * x2, 1, 1e-12);
        EXPECT_GE(lower ? -x2 : x2, -1e-12);
    }
}

TEST(Synth, ImagesHaveOneStrokeThatLiesOrStands) {
    const Records records = generate(*make_images({2, 9, 0.25}), 0, 400);
    ASSERT_EQ(records.features.columns(), 81U);
    std::set<std::size_t> first;
    for (std::size_t i = 0; i < records.size(); ++i) {
        std::vector<std::size_t> bright;
        for (std::size_t p = 0; p < 81; ++p) {
            const double value = records.features.at(i, p);
            ASSERT_TRUE(value <= 0.25 || (0.75 <= value && value <= 1)) << value;
            if (value > 0.5) bright.push_back(p);
        }
        ASSERT_EQ(bright.size(), 4U);
        first.insert(bright[0]);
        const std::size_t step = records.labels[i] == 0 ? 1 : 9;
        for (std::size_t j = 1; j < 4; ++j) EXPECT_EQ(bright[j], bright[0] + j * step);
        EXPECT_EQ(bright[0] / 9 == bright[3] / 9, records.labels[i] == 0);
    }
    EXPECT_GT(first.size(), 40U);
    EXPECT_THROW(make_images({1, 1, 0.5}), Error);
    EXPECT_THROW(make_images({1, 5, 1.5}), Error);
    EXPECT_THROW(make_images({1, 5, std::numeric_limits<double>::quiet_NaN()}), Error);
}

TEST(Synth, AnySlabIsTheSameMadeAlone) {
    const std::unique_ptr<Generator> generators[] = {make_blobs({}), make_halfmoons({}),
                                                     make_tabular({5, 20, 0.3}), make_images({4, 7, 0.5})};
    for (const auto& generator : generators) {
        const Records all = generate(*generator, 0, 100), part = generate(*generator, 60, 40);
        for (std::size_t i = 0; i < 40; ++i) {
            EXPECT_EQ(part.labels[i], all.labels[60 + i]);
            EXPECT_EQ(part.ids[i], all.ids[60 + i]);
            for (std::size_t column = 0; column < all.features.columns(); ++column) {
                EXPECT_EQ(part.features.at(i, column), all.features.at(60 + i, column));
            }
        }
    }
}

TEST(Synth, AnotherSeedIsAnotherDataset) {
    EXPECT_NE(generate(*make_blobs({1}), 0, 10).features.wide_values(),
              generate(*make_blobs({2}), 0, 10).features.wide_values());
    EXPECT_NE(generate(*make_tabular({1}), 0, 10).features.values(),
              generate(*make_tabular({2}), 0, 10).features.values());
}

TEST(Synth, TabularHasItsShareOfPositivesAndStaysInRange) {
    for (const double positives : {0.26, 0.05, 0.5}) {
        const Records records = generate(*make_tabular({7, 188, positives}), 0, 20000);
        const double share =
            static_cast<double>(std::count(records.labels.begin(), records.labels.end(), 1)) / 20000;
        EXPECT_NEAR(share, positives, 0.025);
        const auto [lowest, highest] =
            std::minmax_element(records.features.values().begin(), records.features.values().end());
        EXPECT_GE(*lowest, 0);
        EXPECT_LE(*highest, 1);
    }
}

TEST(Synth, TabularColumnsTellAboutTheLabelExceptTheNoise) {
    const auto tabular = make_tabular({7, 188, 0.26});
    const Records records = generate(*tabular, 0, 20000);
    const auto names = tabular->feature_names();
    double best = 0;
    for (std::size_t column = 0; column < 188; ++column) {
        double sum[2] = {}, squares = 0, count[2] = {};
        for (std::size_t i = 0; i < records.size(); ++i) {
            const double value = records.features.at(i, column);
            sum[records.labels[i]] += value;
            count[records.labels[i]] += 1;
            squares += value * value;
        }
        const double mean = (sum[0] + sum[1]) / 20000, deviation = std::sqrt(squares / 20000 - mean * mean);
        EXPECT_GT(deviation, 0) << names[column];
        const double gap = std::abs(sum[1] / count[1] - sum[0] / count[0]) / deviation;
        if (names[column].starts_with("noise_")) {
            EXPECT_LT(gap, 0.1) << names[column];  // six standard errors
        }
        best = std::max(best, gap);
    }
    EXPECT_GT(best, 0.5);
}

TEST(Synth, TheFileHoldsBothSplitsWithUniqueIds) {
    TemporaryFolder folder;
    const auto generator = make_tabular({1, 10, 0.26});
    write_generated(*generator, 9000, 500, folder.file("a.h5"));
    const DatasetReader train(folder.file("a.h5")), test(folder.file("a.h5"), "test");
    EXPECT_EQ(train.info().scaling, Scaling::public_constants);
    EXPECT_EQ(train.info().rows, 9000u);
    EXPECT_FALSE(train.info().wide);
    EXPECT_EQ(train.read_all().features.values(), generate(*generator, 0, 9000).features.values());
    EXPECT_EQ(test.read_all().labels, generate(*generator, 9000, 500).labels);
    std::set<std::uint64_t> ids;
    for (const DatasetReader* reader : {&train, &test}) {
        for (const std::uint64_t id : reader->read_ids(0, reader->info().rows)) ids.insert(id);
    }
    EXPECT_EQ(ids.size(), 9500u);
    EXPECT_EQ(describe(train).duplicate_rows, 0u);
}

TEST(Synth, TheFileStatesItsPublicFacts) {
    TemporaryFolder folder;
    write_generated(*make_tabular({1, 10, 0.26}), 90, 50, folder.file("a.h5"));
    write_generated(*make_blobs({}), 7, 0, folder.file("b.h5"), "people");
    const DatasetInfo tabular = DatasetReader(folder.file("a.h5")).info(),
                      blobs = DatasetReader(folder.file("b.h5")).info();
    EXPECT_EQ(tabular.expected_records, 90u);
    EXPECT_EQ(tabular.ids, IdKind::given);
    EXPECT_EQ(tabular.population, "synthetic");
    EXPECT_EQ(tabular.range, (FeatureRange{0, 1}));
    EXPECT_EQ(blobs.expected_records, 7u);
    EXPECT_EQ(blobs.population, "people");
    EXPECT_EQ(blobs.range, default_feature_range);
    EXPECT_THROW(write_generated(*make_blobs({}), 7, 0, folder.file("c.h5"), "no name"), Error);
}

TEST(Synth, NoTestRecordsMeansNoTestSplit) {
    TemporaryFolder folder;
    write_generated(*make_blobs({}), 1, 0, folder.file("a.h5"));
    EXPECT_THAT(DatasetReader(folder.file("a.h5")).info().splits, ElementsAre("train"));
}

TEST(Synth, IllegalOptionsAreErrors) {
    const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
    EXPECT_THROW(make_blobs({1, nan, 0.3, 3}), Error);
    EXPECT_THROW(make_blobs({1, 1, -0.3, 3}), Error);
    EXPECT_THROW(make_blobs({1, 1, nan, 3}), Error);
    EXPECT_THROW(make_blobs({1, 1, infinity, 3}), Error);
    EXPECT_THROW(make_blobs({1, 1, 0.3, 0}), Error);
    EXPECT_THROW(make_halfmoons({1, -1, 3}), Error);
    EXPECT_THROW(make_halfmoons({1, nan, 3}), Error);
    EXPECT_THROW(make_tabular({1, 0, 0.3}), Error);
    EXPECT_THROW(make_tabular({1, 5, 0}), Error);
    EXPECT_THROW(make_tabular({1, 5, 1}), Error);
    EXPECT_THROW(make_tabular({1, 5, nan}), Error);
    TemporaryFolder folder;
    EXPECT_THROW(write_generated(*make_blobs({}), 0, 5, folder.file("a.h5")), Error);
    EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace holdfast
