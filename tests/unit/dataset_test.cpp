#include "dist/data/dataset.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "dist/data/statistics.hpp"
#include "dist/files/hdf5.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Records make_records(std::size_t count, std::size_t columns, bool wide, std::uint64_t first_id = 100) {
    Records records;
    records.features = FeatureMatrix(columns, wide);
    std::vector<double> row(columns);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t column = 0; column < columns; ++column)
            row[column] = 1.0 / static_cast<double>(1 + i + column);
        records.features.append(row.data());
        records.labels.push_back(static_cast<std::int32_t>(i % 3));
        records.ids.push_back(first_id + 7 * i);
        records.rows.push_back(i);
    }
    return records;
}

/// A file of raw arrays, as others write them.
struct RawFile {
    TemporaryFolder folder;
    std::string path = folder.file("raw.h5");
    hdf5::File file = hdf5::File::create(path);

    template <class T>
    RawFile& add(const std::string& name, const hdf5::Shape& shape, const std::vector<T>& values) {
        file.create_dataset(name, hdf5::TypeOf<T>::value, shape)
            .write(hdf5::Shape(shape.size(), 0), shape, values.data());
        return *this;
    }
    Error error(const std::string& split = "train") {
        file.close();
        const Error found = error_of([&] { DatasetReader(path + ":" + split).read_all(); });
        EXPECT_EQ(found.code(), ExitCode::input);
        EXPECT_THAT(found.what(), HasSubstr(path));
        EXPECT_FALSE(found.hint().empty());
        return found;
    }
};

class RoundTrip : public testing::TestWithParam<bool> {};

TEST_P(RoundTrip, SlabsOfTwoSplitsComeBackAsWritten) {
    const bool wide = GetParam();
    TemporaryFolder folder;
    const std::string path = folder.file("a.h5");
    const Records train = make_records(1000, 5, wide), test = make_records(10, 5, wide, 1000000);
    {
        DatasetWriter writer(path, wide ? 0 : 4);
        writer.set_facts({.scaling = Scaling::public_constants,
                          .ids = IdKind::content,
                          .expected_records = 1000,
                          .population = "ward-7_b.2",
                          .range = {-0.5, 2},
                          .source = "a test",
                          .feature_names = {"a", "b", "c,d", "e", "f"}});
        writer.begin_split("train", 5, wide);
        writer.append(train);
        writer.begin_split("test", 5, wide);
        writer.append(test);
        writer.append("train", make_records(20, 5, wide, 500000));
        EXPECT_FALSE(std::filesystem::exists(path));
        writer.commit();
    }
    const DatasetReader reader(path);
    EXPECT_EQ(reader.info().rows, 1020u);
    EXPECT_EQ(reader.info().features, 5u);
    EXPECT_EQ(reader.info().wide, wide);
    EXPECT_EQ(reader.info().scaling, Scaling::public_constants);
    EXPECT_EQ(reader.info().ids, IdKind::content);
    EXPECT_EQ(reader.info().expected_records, 1000u);
    EXPECT_EQ(reader.info().population, "ward-7_b.2");
    EXPECT_EQ(reader.info().range, (FeatureRange{-0.5, 2}));
    EXPECT_EQ(reader.info().source, "a test");
    EXPECT_TRUE(reader.info().has_labels);
    EXPECT_THAT(reader.info().feature_names, ElementsAre("a", "b", "c;d", "e", "f"));
    EXPECT_THAT(reader.info().splits, ElementsAre("test", "train"));
    const Records slab = reader.read(300, 50);
    ASSERT_EQ(slab.size(), 50u);
    for (std::size_t i = 0; i < 50; ++i) {
        EXPECT_EQ(slab.ids[i], train.ids[300 + i]);
        EXPECT_EQ(slab.labels[i], train.labels[300 + i]);
        EXPECT_EQ(slab.rows[i], 300 + i);
        for (std::size_t column = 0; column < 5; ++column) {
            EXPECT_EQ(slab.features.at(i, column), train.features.at(300 + i, column));
        }
    }
    EXPECT_EQ(reader.read_ids(1000, 2), (std::vector<std::uint64_t>{500000, 500007}));
    EXPECT_EQ(DatasetReader(path + ":test").read_all().size(), 10u);
    EXPECT_EQ(DatasetReader(path, "test").info().rows, 10u);
    require_unique_ids(reader);
    EXPECT_THAT(folder.names(), ElementsAre("a.h5"));
}
INSTANTIATE_TEST_SUITE_P(Precision, RoundTrip, testing::Values(false, true));

TEST(Dataset, QueriesWithoutLabelsComeBack) {
    TemporaryFolder folder;
    DatasetWriter writer(folder.file("q.h5"));
    Records records = make_records(3, 2, true);
    records.labels.clear();
    writer.begin_split("test", 2, true);
    writer.append(records);
    writer.commit();
    const DatasetReader reader(folder.file("q.h5"), "test");
    EXPECT_FALSE(reader.info().has_labels);
    EXPECT_TRUE(reader.read_all().labels.empty());
    EXPECT_EQ(reader.info().scaling, Scaling::unknown);
}

TEST(Dataset, AnUncommittedWriterLeavesNothing) {
    TemporaryFolder folder;
    {
        DatasetWriter writer(folder.file("a.h5"));
        writer.begin_split("train", 2, false);
        writer.append(make_records(5, 2, false));
    }
    EXPECT_TRUE(folder.names().empty());
}

TEST(Dataset, EvidenceOfDrawnLabelsStaysWithItsRow) {
    TemporaryFolder folder;
    Records records = make_records(6, 2, true);
    for (std::uint8_t i = 0; i < 18; ++i) records.evidence.push_back(static_cast<std::uint8_t>(i * 14));
    {
        DatasetWriter writer(folder.file("a.h5"));
        PublicFacts facts;
        facts.label_law = "{}";
        writer.set_facts(facts);
        writer.begin_split("train", 2, true);
        writer.append(records);
        writer.append(records);
        writer.commit();
    }
    const DatasetReader reader(folder.file("a.h5"));
    EXPECT_EQ(reader.info().evidence_classes, 3U);
    EXPECT_EQ(reader.info().label_law, "{}");
    const Records read = reader.read(4, 4);
    EXPECT_THAT(read.evidence, ElementsAre(168, 182, 196, 210, 224, 238, 0, 14, 28, 42, 56, 70));
    Records one = read.none();
    one.append_row_of(read, 1);
    EXPECT_THAT(one.evidence, ElementsAre(210, 224, 238));
    RawFile raw;
    raw.add<double>("x_train", {2, 1}, {0, 1}).add<std::int32_t>("y_train", {2}, {1, 0});
    raw.add<std::int32_t>("e_train", {2, 2}, {0, 1, 1, 0}).file.close();
    EXPECT_THAT(error_of([&] { DatasetReader{raw.path}; }).hint(),
                HasSubstr("a uint8 for each row and class"));
}

TEST(Dataset, OneRowWorks) {
    RawFile raw;
    raw.add<double>("x_train", {1, 2}, {0.5, 0.25}).add<std::int32_t>("y_train", {1}, {1}).file.close();
    const Records records = DatasetReader(raw.path).read_all();
    EXPECT_EQ(records.size(), 1u);
    EXPECT_EQ(records.ids, std::vector<std::uint64_t>{0});  // row numbers where the file has no ids
    EXPECT_EQ(records.features.at(0, 1), 0.25);
}

TEST(Dataset, BytesAreDividedByAPublicConstant) {
    RawFile raw;
    raw.add<std::uint8_t>("x_train", {1, 3}, {0, 51, 255}).file.close();
    const DatasetReader reader(raw.path);
    EXPECT_EQ(reader.info().scaling, Scaling::public_constants);
    EXPECT_EQ(reader.info().divisor, 255);
    EXPECT_THAT(reader.read_all().features.values(), ElementsAre(0.0f, 0.2f, 1.0f));
}

TEST(Dataset, AnotherDivisorMayBeNamed) {
    RawFile raw;
    raw.add<std::uint8_t>("x_train", {1, 2}, {0, 1}).file.write_attribute("divisor", 1.0);
    raw.file.close();
    EXPECT_THAT(DatasetReader(raw.path).read_all().features.values(), ElementsAre(0.0f, 1.0f));
}

TEST(Dataset, AFileThatStatesNothingHasTheDefaults) {
    RawFile raw;
    raw.add<double>("x_train", {2, 1}, {0, 1})
        .add<std::uint64_t>("id_train", {2}, {9, 4})
        .add<double>("x_test", {1, 1}, {3})
        .file.close();
    const DatasetInfo train = DatasetReader(raw.path).info(), test = DatasetReader(raw.path, "test").info();
    EXPECT_EQ(train.ids, IdKind::given);
    EXPECT_EQ(test.ids, IdKind::row_number);
    EXPECT_EQ(train.expected_records, 0u);
    EXPECT_EQ(train.population, "");
    EXPECT_EQ(train.range, (FeatureRange{-1048576.0, 1048576.0}));
}

TEST(Dataset, IdsThatAreNotThereAreRowNumbersWhateverTheFileSays) {
    RawFile raw;
    raw.add<double>("x_train", {1, 1}, {0}).file.write_attribute("ids", "given");
    raw.file.close();
    EXPECT_EQ(DatasetReader(raw.path).info().ids, IdKind::row_number);
}

TEST(Dataset, TheRangeOfBytesFollowsTheirDivisorUnlessStated) {
    const auto range = [](double divisor, bool stated) {
        RawFile raw;
        raw.add<std::uint8_t>("x_train", {1, 2}, {0, 1});
        if (divisor > 0) raw.file.write_attribute("divisor", divisor);
        if (stated) raw.file.write_attribute("feature_range", std::vector<double>{0, 0.5});
        raw.file.close();
        return DatasetReader(raw.path).info().range;
    };
    EXPECT_EQ(range(0, false), (FeatureRange{0, 1}));
    EXPECT_EQ(range(1, false), (FeatureRange{0, 255}));
    EXPECT_EQ(range(1, true), (FeatureRange{0, 0.5}));
}

TEST(Dataset, FeaturesOutsideTheStatedRangeAreReadAsTheyAre) {
    RawFile raw;
    raw.add<double>("x_train", {1, 2}, {-3, 7})
        .file.write_attribute("feature_range", std::vector<double>{0, 1});
    raw.file.close();
    EXPECT_THAT(DatasetReader(raw.path).read_all().features.wide_values(), ElementsAre(-3, 7));
}

TEST(Dataset, FactsThatCannotBeAreNamed) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto message = [](const std::string& name, const auto& value) {
        RawFile raw;
        raw.add<double>("x_train", {1, 1}, {0}).add<std::uint64_t>("id_train", {1}, {3});
        raw.file.write_attribute(name, value);
        const std::string text = raw.error().message();
        EXPECT_THAT(text, HasSubstr("'" + name + "'"));
        return text;
    };
    EXPECT_THAT(message("ids", "names"), HasSubstr("'names'"));
    EXPECT_THAT(message("expected_records", std::int64_t{-7}), HasSubstr("-7"));
    EXPECT_THAT(message("expected_records", std::int64_t{1} << 60), HasSubstr("no number of records"));
    EXPECT_THAT(message("expected_records", 3.5), HasSubstr("not an integer"));
    for (const std::string& name : {std::string("a b"), std::string("a/b"), std::string(65, 'a')})
        message("population", name);
    for (const std::vector<double>& ends : std::vector<std::vector<double>>{
             {1, 1}, {1, 0}, {-infinity, 0}, {0, infinity}, {std::nan(""), 1}, {0}, {0, 1, 2}})
        message("feature_range", ends);
}

TEST(Dataset, NotFiniteFeaturesAreNamed) {
    for (const double bad :
         {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
        RawFile raw;
        raw.add<double>("x_train", {2, 2}, {0, 1, bad, 0})
            .file.write_attribute("feature_names", "age,income");
        const Error error = raw.error();
        EXPECT_THAT(error.message(), HasSubstr("row 1, column 0 (age)"));
        EXPECT_EQ(DatasetReader(raw.path).read_unchecked(0, 2).size(), 2u);
        EXPECT_EQ(DatasetReader(raw.path).read(0, 1).size(), 1u);
    }
}

TEST(Dataset, NegativeLabelsAreNamed) {
    RawFile raw;
    raw.add<double>("x_train", {2, 1}, {0, 1}).add<std::int32_t>("y_train", {2}, {1, -1});
    EXPECT_THAT(raw.error().message(), HasSubstr("row 1 has label -1"));
}

TEST(Dataset, FloatingLabelsAreTargets) {
    RawFile raw;
    raw.add<double>("x_train", {2, 1}, {0, 1}).add<float>("y_train", {2}, {1, 0.5});
    raw.file.close();
    const DatasetReader reader(raw.path);
    EXPECT_TRUE(reader.info().has_targets);
    EXPECT_FALSE(reader.info().has_labels);
    EXPECT_THAT(reader.read_all().targets, ElementsAre(1, 0.5));
    EXPECT_TRUE(reader.read_all().labels.empty());
}

TEST(Dataset, IdsThatAreNoWholeNumbersAreNamed) {
    RawFile raw;
    raw.add<double>("x_train", {2, 1}, {0, 1}).add<double>("id_train", {2}, {4, 5.7});
    EXPECT_THAT(raw.error().message(), HasSubstr("row 1: the id 5.7"));
}

TEST(Dataset, ShapesThatDisagreeAreNamed) {
    RawFile labels;
    labels.add<double>("x_train", {2, 1}, {0, 1}).add<std::int32_t>("y_train", {3}, {0, 1, 1});
    EXPECT_THAT(labels.error().what(), HasSubstr("y_train"));
    RawFile flat;
    flat.add<double>("x_train", {2}, {0, 1});
    EXPECT_THAT(flat.error().message(), HasSubstr("[2] instead of [rows, features]"));
    RawFile empty;
    empty.add<double>("x_train", {0, 3}, {});
    EXPECT_THAT(empty.error().message(), HasSubstr("no rows"));
    RawFile narrow;
    narrow.add<double>("x_train", {3, 0}, {});
    EXPECT_THAT(narrow.error().message(), HasSubstr("no features"));
}

TEST(Dataset, OtherTypesOfFeaturesAreRefused) {
    RawFile raw;
    raw.add<std::int32_t>("x_train", {2, 1}, {0, 1});
    EXPECT_THAT(raw.error().message(), HasSubstr("int32"));
}

TEST(Dataset, ACorruptShapeIsNotAllocated) {
    RawFile raw;
    raw.file.create_dataset("x_train", hdf5::Type::uint8, {std::uint64_t{1} << 40, std::uint64_t{1} << 30},
                            {{1, 1024}, 0, true});
    EXPECT_THAT(raw.error().message(), HasSubstr("of which the file holds only a part"));
}

TEST(Dataset, AnUnknownSplitListsThoseThereAre) {
    RawFile raw;
    raw.add<double>("x_train", {1, 1}, {0}).add<double>("x_test", {1, 1}, {0});
    EXPECT_THAT(raw.error("valid").hint(), HasSubstr("test, train"));
}

TEST(Dataset, AnUnknownScalingIsNamed) {
    RawFile raw;
    raw.add<double>("x_train", {1, 1}, {0}).file.write_attribute("scaling", "minmax");
    EXPECT_THAT(raw.error().message(), HasSubstr("'minmax'"));
}

// Packed is what takes less than half the room so; what does not is read faster as it is. Each split by
// itself.
TEST(Dataset, IsPackedWhereThatSavesHalf) {
    TemporaryFolder folder;
    constexpr std::size_t rows = 6000, columns = 20;
    for (const bool wide : {false, true}) {
        const std::uintmax_t all = rows * columns * (wide ? 8 : 4);
        for (const int digits : {1, 9}) {  // a float packs to about 1/3, and to 9/10
            Records records = make_records(rows, columns, wide);
            const auto round = [&](auto& values) {
                const KeyedHash hash{7};
                for (std::size_t i = 0; i < values.size(); ++i)
                    values[i] = std::round(hash.uniform(1, i) * std::pow(10, digits)) * 0.125;
            };
            wide ? round(records.features.wide_values()) : round(records.features.values());
            const std::string path = folder.file(std::to_string(digits) + ".h5");
            DatasetWriter writer(path, 1);
            writer.begin_split("train", columns, wide);
            writer.append(records);
            writer.append(records);
            writer.commit();
            EXPECT_EQ(std::filesystem::file_size(path) < all, digits == 1) << wide;
            EXPECT_EQ(std::filesystem::file_size(path) > 2 * all, digits == 9) << wide;
            const Records read = DatasetReader(path).read_all();
            ASSERT_EQ(read.size(), 2 * rows);
            EXPECT_EQ(read.features.at(rows + 5, 3), records.features.at(5, 3));
        }
    }
}

TEST(Dataset, MissingAndForeignFilesAreNamed) {
    TemporaryFolder folder;
    EXPECT_EQ(error_of([&] { DatasetReader(folder.file("none.h5")); }).where(), folder.file("none.h5"));
    const std::string csv = folder.write("a.csv", "a,b\n1,2\n");
    EXPECT_THAT(error_of([&] { DatasetReader{csv}; }).hint(), HasSubstr("holdfast import"));
    EXPECT_EQ(error_of([&] { DatasetWriter(folder.file("no/where.h5")); }).code(), ExitCode::output);
}

TEST(Dataset, TruncatedFilesAreErrorsWhereverTheyEnd) {
    TemporaryFolder folder;
    {
        DatasetWriter writer(folder.file("a.h5"));
        writer.begin_split("train", 4, true);
        writer.append(make_records(500, 4, true));
        writer.commit();
    }
    const std::string whole = folder.read("a.h5");
    for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 200) {
        const std::string cut = folder.write("cut.h5", whole.substr(0, size));
        EXPECT_EQ(error_of([&] { DatasetReader(cut).read_all(); }).code(), ExitCode::input) << size;
    }
}

TEST(Dataset, DuplicateIdsAreNamedWithTheirRows) {
    RawFile raw;
    raw.add<double>("x_train", {4, 1}, {0, 1, 2, 3})
        .add<std::uint64_t>("id_train", {4}, {9, 4, 8, 4})
        .file.close();
    const Error error = error_of([&] { require_unique_ids(DatasetReader(raw.path)); });
    EXPECT_THAT(error.message(), HasSubstr("id 4 appears twice: row 1 and row 3"));
}

TEST(Dataset, NamesAreCutAtTheLastColon) {
    using Pair = std::pair<std::string, std::string>;
    EXPECT_EQ(split_dataset_name("a.h5", "train"), Pair("a.h5", "train"));
    EXPECT_EQ(split_dataset_name("a.h5:test", "train"), Pair("a.h5", "test"));
    EXPECT_EQ(split_dataset_name("a:b.h5:test", "train"), Pair("a:b.h5", "test"));
    EXPECT_EQ(split_dataset_name("host:/data/a.h5", "train"), Pair("host:/data/a.h5", "train"));
    EXPECT_EQ(error_of([] { split_dataset_name("a.h5:", "train"); }).code(), ExitCode::usage);
    EXPECT_EQ(error_of([] { split_dataset_name(":test", "train"); }).code(), ExitCode::usage);
    TemporaryFolder folder;
    const std::string path = folder.write("odd:name", "x");
    EXPECT_EQ(split_dataset_name(path, "train"), Pair(path, "train"));
}

TEST(Dataset, TheSharedDatasetsAreRead) {
    const std::string folder = std::string(HOLDFAST_SHARED) + "/data/";
    if (!std::filesystem::exists(folder + "adult.h5")) GTEST_SKIP() << "no datasets under " << folder;
    const DatasetReader adult(folder + "adult.h5");
    EXPECT_EQ(adult.info().rows, 32561u);
    EXPECT_EQ(adult.info().features, 14u);
    EXPECT_EQ(adult.info().scaling, Scaling::unknown);
    EXPECT_EQ(adult.info().ids, IdKind::row_number);
    EXPECT_EQ(adult.info().expected_records, 0u);
    EXPECT_EQ(adult.read_all().size(), 32561u);
    const DatasetReader mnist(folder + "mnist.h5:test");
    EXPECT_THAT(mnist.info().image_shape, ElementsAre(1, 28, 28));
    EXPECT_EQ(mnist.info().scaling, Scaling::public_constants);
    const Records images = mnist.read(0, 100);
    EXPECT_EQ(*std::max_element(images.features.values().begin(), images.features.values().end()), 1.0f);
    const Records casp = DatasetReader(folder + "casp.h5").read_all();  // a regression
    EXPECT_TRUE(casp.labels.empty());
    ASSERT_EQ(casp.targets.size(), 41157);
    const auto [least, greatest] = std::minmax_element(casp.targets.begin(), casp.targets.end());
    EXPECT_TRUE(*least >= 0 && *greatest > 20 && *greatest <= 21);
}

}  // namespace
}  // namespace holdfast
