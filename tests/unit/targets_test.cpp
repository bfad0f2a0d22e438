// What a regression learns, from its file to the records of a training.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dist/data/dataset.hpp"
#include "dist/data/generate.hpp"
#include "dist/files/hdf5.hpp"
#include "dist/layout/distribute.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();

Records with(std::vector<double> targets) {
    Records records;
    records.features = FeatureMatrix(1, true);
    for (std::uint64_t row = 0; row < targets.size(); ++row) {
        const double feature = 0.5;
        records.features.append(&feature);
        records.ids.push_back(10 + row);
        records.rows.push_back(row);
    }
    records.targets = std::move(targets);
    return records;
}

std::string written(const TemporaryFolder& folder, const Records& records, FeatureRange range) {
    const std::string path = folder.file("data.h5");
    DatasetWriter writer(path);
    PublicFacts facts;
    facts.target_range = range;
    facts.feature_names = {"a"};
    writer.set_facts(facts);
    writer.begin_split("train", 1, true);
    writer.append(records);
    writer.commit();
    return path;
}

TEST(Targets, ComeBackAsTheyWereWritten) {
    const TemporaryFolder folder;
    const DatasetReader reader(written(folder, with({0.1, -7, 1e300}), {-7, 9}));
    EXPECT_TRUE(reader.info().has_targets);
    EXPECT_FALSE(reader.info().has_labels);
    EXPECT_EQ(reader.info().target_range, (FeatureRange{-7, 9}));
    const Records records = reader.read_all();
    EXPECT_THAT(records.targets, ElementsAre(0.1, -7, 1e300));
    EXPECT_TRUE(records.labels.empty());
    EXPECT_EQ(records.view().target(2), 1e300);
}

TEST(Targets, ThatAreNoNumbersAreRefusedByTheirRow) {
    for (const double bad : {std::nan(""), infinity, -infinity}) {
        const TemporaryFolder folder;
        const DatasetReader reader(written(folder, with({1, bad}), default_feature_range));
        const Error error = error_of([&] { reader.read_all(); });
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_THAT(error.message(), HasSubstr("row 1 has a target"));
        EXPECT_EQ(reader.read_unchecked(0, 2).targets.size(), 2);
    }
}

TEST(Targets, AreOneARow) {
    const TemporaryFolder folder;
    const std::string path = folder.file("raw.h5");
    {
        auto file = hdf5::File::create(path);
        const std::vector<double> values{1, 2, 3, 4};
        file.create_dataset("x_train", hdf5::Type::float64, {2, 1}).write({0, 0}, {2, 1}, values.data());
        file.create_dataset("y_train", hdf5::Type::float64, {2, 2}).write({0, 0}, {2, 2}, values.data());
        file.close();
    }
    EXPECT_THAT(error_of([&] { DatasetReader reader(path); }).message(), HasSubstr("has shape [2, 2]"));
}

TEST(Targets, LieInTheirPublicRange) {
    const FeatureRange range{-1, 2};
    EXPECT_THAT(with_targets(with({-5, -1, 0.25, 2, 1e300, infinity, std::nan("")}), range).targets,
                ElementsAre(-1, -1, 0.25, 2, 2, 2, -1));
    Records labelled = with({});
    labelled.labels = {0, 1, 7};
    const Records numbers = with_targets(labelled, range);
    EXPECT_THAT(numbers.targets, ElementsAre(0, 1, 2));
    EXPECT_TRUE(numbers.labels.empty());
}

TEST(Targets, AreAPartOfTheDigest) {
    const auto alone = make_serial_communicator();
    const auto digest = [&](const std::vector<double>& targets) {
        RecordDigest digest;
        digest.add(with(targets));
        return digest.hex(*alone);
    };
    EXPECT_EQ(digest({1, 2}), digest({1, 2}));
    EXPECT_NE(digest({1, 2}), digest({2, 1}));
    EXPECT_NE(digest({1, 2}), digest({1, std::nextafter(2.0, 3.0)}));
}

TEST(Surface, IsAFunctionOfTheRowInItsRange) {
    const auto generator = make_surface({.seed = 4});
    const Records all = generate(*generator, 0, 500), part = generate(*generator, 200, 100);
    for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part.targets[i], all.targets[200 + i]);
    double sum = 0, square = 0;
    for (const double target : all.targets) {
        ASSERT_TRUE(target >= 0 && target <= 1);
        sum += target / 500;
        square += target * target / 500;
    }
    EXPECT_GT(square - sum * sum, 0.01);
    EXPECT_TRUE(all.labels.empty());
}

}  // namespace
}  // namespace holdfast
