#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "dist/data/statistics.hpp"
#include "dist/files/hdf5.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

struct Raw {
    TemporaryFolder folder;
    std::string path = folder.file("a.h5");

    DatasetStatistics statistics(const std::vector<double>& x, std::uint64_t columns,
                                 const std::vector<std::int32_t>& y, const std::vector<std::uint64_t>& ids,
                                 const char* scaling) {
        hdf5::File file = hdf5::File::create(path);
        const std::uint64_t rows = x.size() / columns;
        file.create_dataset("x_train", hdf5::Type::float64, {rows, columns})
            .write({0, 0}, {rows, columns}, x.data());
        if (!y.empty())
            file.create_dataset("y_train", hdf5::Type::int32, {rows}).write({0}, {rows}, y.data());
        if (!ids.empty())
            file.create_dataset("id_train", hdf5::Type::uint64, {rows}).write({0}, {rows}, ids.data());
        if (scaling) file.write_attribute("scaling", scaling);
        file.close();
        return describe(DatasetReader(path));
    }
};

std::string all_notes(const DatasetStatistics& statistics) {
    std::string all;
    for (const std::string& note : guarantee_notes(statistics)) all += note + "\n";
    return all;
}

TEST(Inspect, CountsRangesClassesAndConstants) {
    Raw raw;
    const auto found = raw.statistics({0, 5, -1, 1, 5, 0.5, 0.5, 5, 2}, 3, {0, 2, 0}, {5, 6, 7}, "public");
    EXPECT_THAT(found.class_counts, UnorderedElementsAre(Pair(0, 2), Pair(2, 1)));
    EXPECT_EQ(found.features[0].lowest, 0);
    EXPECT_EQ(found.features[0].highest, 1);
    EXPECT_EQ(found.features[0].outside, 0u);
    EXPECT_TRUE(found.features[1].constant());
    EXPECT_FALSE(found.features[2].constant());
    EXPECT_EQ(found.features[1].outside, 3u);
    EXPECT_EQ(found.features[2].outside, 2u);
    EXPECT_EQ(found.duplicate_rows, 0u);
    EXPECT_EQ(found.duplicate_ids, 0u);
    EXPECT_EQ(guarantee_notes(found).size(), 3u);  // scaling, ids, and the count that is not stated
}

TEST(Inspect, MoreColumnsThanAreTakenAreRefusedBeforeAnyIsRead) {
    const TemporaryFolder folder;
    const std::string path = folder.file("wide.h5");
    {
        hdf5::File file = hdf5::File::create(path);
        hdf5::Dataset x =
            file.create_dataset("x_train", hdf5::Type::uint8, {1, (1 << 22) + 1}, {{1, 1 << 20}, 9});
        const std::vector<std::uint8_t> row((1 << 22) + 1);
        x.write({0, 0}, {1, row.size()}, row.data());
    }
    try {
        DatasetReader reader(path);
        FAIL() << "was taken";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_THAT(error.what(), HasSubstr("4194305 features"));
    }
}

TEST(Inspect, CountsAllThatIsNotFinite) {
    Raw raw;
    const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
    const auto found = raw.statistics({nan, 1, nan, infinity, 0, -infinity}, 2, {}, {}, nullptr);
    EXPECT_EQ(found.nan(), 2u);
    EXPECT_EQ(found.infinite(), 2u);
    EXPECT_EQ(found.features[0].nan, 2u);
    EXPECT_EQ(found.features[0].highest, 0);
    EXPECT_THAT(all_notes(found), HasSubstr("NaN or infinite"));
}

TEST(Inspect, CountsDuplicateRowsAndIds) {
    Raw raw;
    const auto found = raw.statistics({1, 2, 1, 2, 1, 2, 3, 4}, 2, {0, 0, 1, 0}, {9, 4, 9, 9}, "none");
    EXPECT_EQ(found.duplicate_rows, 1u);  // the third has another label
    EXPECT_EQ(found.duplicate_ids, 2u);
    EXPECT_EQ(found.first_duplicate_id, 9u);
    EXPECT_EQ(found.first_row, 0u);
    EXPECT_EQ(found.second_row, 2u);
    EXPECT_THAT(all_notes(found),
                AllOf(HasSubstr("training refuses"), HasSubstr("not k persons"), HasSubstr("scaling: none")));
}

TEST(Inspect, SaysWhatTheScalingDoesToTheGuarantees) {
    Raw raw;
    const auto note = [&](const char* scaling) {
        return all_notes(raw.statistics({0, 1}, 1, {}, {1, 2}, scaling));
    };
    EXPECT_THAT(note("public"), HasSubstr("no guarantee is affected"));
    EXPECT_THAT(note("none"), AllOf(HasSubstr("hold only if"), HasSubstr("public constants"),
                                    Not(HasSubstr("no guarantee is affected"))));
    EXPECT_THAT(note("private"), HasSubstr("no certificate and no privacy claim holds"));
    EXPECT_THAT(note(nullptr), HasSubstr("unknown"));
}

TEST(Inspect, SaysWhatTheIdsCover) {
    Raw raw;
    const auto note = [&](const char* ids) {
        raw.statistics({0, 1}, 1, {}, {1, 2}, "public");
        hdf5::File file = hdf5::File::open_update(raw.path);
        file.write_attribute("ids", ids);
        file.close();
        return all_notes(describe(DatasetReader(raw.path)));
    };
    EXPECT_THAT(note("given"), HasSubstr("ids: given; a record added, removed or replaced renames no other"));
    EXPECT_THAT(note("content"), AllOf(HasSubstr("ids: content"), HasSubstr("without two equal records")));
    const std::string none = all_notes(raw.statistics({0, 1}, 1, {}, {}, "public"));
    EXPECT_THAT(none, AllOf(HasSubstr("ids: row number"),
                            HasSubstr("no guarantee about a record added or removed holds")));
    EXPECT_EQ(note("row number"), none);
}

TEST(Inspect, SaysThatThePublicCountIsNotStated) {
    Raw raw;
    EXPECT_THAT(all_notes(raw.statistics({0, 1}, 1, {0, 1}, {1, 2}, "public")),
                AllOf(HasSubstr("public count: not stated"), HasSubstr("release is refused")));
    hdf5::File file = hdf5::File::open_update(raw.path);
    file.write_attribute("expected_records", std::int64_t{2});
    file.close();
    EXPECT_THAT(all_notes(describe(DatasetReader(raw.path))), Not(HasSubstr("public count")));
    EXPECT_THAT(all_notes(raw.statistics({0, 1}, 1, {}, {1, 2}, "public")), Not(HasSubstr("public count")));
}

TEST(Inspect, DuplicatesAmongStoredRowNumbersAreFound) {
    Raw raw;
    raw.statistics({0, 1}, 1, {}, {5, 5}, "public");
    hdf5::File file = hdf5::File::open_update(raw.path);
    file.write_attribute("ids", "row number");
    file.close();
    EXPECT_EQ(describe(DatasetReader(raw.path)).duplicate_ids, 1u);
}

TEST(Inspect, SlabsAddUpOnARealDataset) {
    const std::string path = std::string(HOLDFAST_SHARED) + "/data/crypto.h5";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no dataset " << path;
    const auto found = describe(DatasetReader(path));
    EXPECT_THAT(found.class_counts, ElementsAre(Pair(0, 1408), Pair(1, 1392)));
    EXPECT_EQ(found.info.rows - found.duplicate_rows, 1994u);
    EXPECT_EQ(found.nan() + found.infinite(), 0u);
}

}  // namespace
}  // namespace holdfast
