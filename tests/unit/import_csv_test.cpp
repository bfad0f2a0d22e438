#include "dist/data/import_csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "dist/data/csv_reader.hpp"
#include "dist/data/import_records.hpp"
#include "dist/files/hdf5.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// One import of a text; `out` is the dataset.
struct CsvImport {
    TemporaryFolder folder;
    CsvOptions csv;
    CsvUse use = CsvUse::training;
    ImportOptions options;
    std::string out = folder.file("out.h5");

    CsvImport() { csv.label = "y"; }
    ImportSummary run(const std::string& text) {
        std::vector<NamedSource> sources;
        sources.push_back({"train", open_csv(folder.write("a.csv", text), csv, use)});
        return import_records(sources, options, out);
    }
    Records records(const std::string& text) {
        run(text);
        return DatasetReader(out).read_all();
    }
    /// The one Error of this text; nothing is left behind.
    Error error(const std::string& text) {
        try {
            run(text);
        } catch (const Error& error) {
            EXPECT_FALSE(error.hint().empty());
            EXPECT_THAT(folder.names(), ElementsAre("a.csv"));
            return error;
        }
        ADD_FAILURE() << "no Error thrown for " << text;
        return Error(ExitCode::success, "");
    }
};

TEST(ImportCsv, ARowWhoseLabelIsNoneOfTheStatedIsNoRecord) {
    const std::string text = "a,y\n1,0\n2,\nx,NA\n4,1\n";
    CsvImport import;
    EXPECT_EQ(import.run(text).unlabelled, 2);
    import.options.classes = 2;
    EXPECT_EQ(import.run("a,y\n1,0\n2,2\n3,-1\n4,1.0\n5,0.5\n6,ja\n").unlabelled, 4);
    import.options.classes = 0;
    EXPECT_THAT(DatasetReader(import.out).read_all().features.wide_values(), ElementsAre(1, 4));
    import.csv.classes = {"0", "1", ""};  // which stands for a missing one
    EXPECT_EQ(import.run("a,y\n1,0\n2,\n4,1\n").unlabelled, 0);
    CsvImport none;
    EXPECT_THAT(none.error("a,y\n2,ja\n").message(),
                HasSubstr("the label of none is one of the stated classes"));
    CsvImport strict;
    strict.use = CsvUse::strict;
    EXPECT_THAT(strict.error(text).message(), HasSubstr("line 3, column 'y': the label is missing (and 1"));
    CsvImport numbers;
    numbers.csv.regression = true;
    EXPECT_EQ(numbers.run("a,y\n1,2.5\n2,ja\n3,inf\n4,\n").unlabelled, 3);
}

/// Kinds of one dirty record beside clean ones: "id,a,c,d,y".
constexpr const char* dirty_rows[] = {"9,unknown,red,2020-01-02,1",
                                      "9,inf,red,2020-01-02,1",
                                      "9,nan,red,2020-01-02,1",
                                      "9,1e999,red,2020-01-02,1",
                                      "9,1,blue,2020-01-02,1",
                                      "9,2020-01-02,red,2020-01-02,1",
                                      "9,\"2,5\",red,2020-01-02,1",
                                      "9,1,red,2020-01-02,2",
                                      "9,1,red,2020-01-02,",
                                      "9,1,red,2020-01-02,1,extra",
                                      "9,1",
                                      "",
                                      "9,1,TRUE,2020-01-02,1",
                                      "9,1,red,soon,1",
                                      "9,,NA,?,1"};
constexpr const char* clean_rows = "id,a,c,d,y\n1,4,red,2020-01-01,0\n2,6,green,2020-01-03,1\n";

/// What a model carries of a dataset, and the other records of it.
struct Carried {
    std::string schema;
    std::vector<std::string> names;
    std::vector<double> others;
    friend bool operator==(const Carried&, const Carried&) = default;
};

Carried carried(CsvImport& import, const std::string& text) {
    import.run(text);
    const DatasetReader reader(import.out);
    const std::vector<double> values = reader.read_all().features.wide_values();
    return {reader.info().schema,
            reader.info().feature_names,
            {values.begin(), values.begin() + 2 * static_cast<std::ptrdiff_t>(reader.info().features)}};
}

class OneDirtyRecord : public testing::TestWithParam<const char*> {};

TEST_P(OneDirtyRecord, ChangesNothingButItself) {
    const auto is_alike = [&](CsvImport& import) {
        import.csv.id = "id";
        import.options.classes = 2;
        EXPECT_EQ(carried(import, std::string(clean_rows) + GetParam() + "\n"), carried(import, clean_rows));
    };
    CsvImport stated;
    stated.csv.categories["c"] = {"red", "green"};
    stated.csv.dates["d"] = "%Y-%m-%d";
    stated.options.ranges = {{"a", {0, 10}}, {"d", {18000, 19000}}};
    is_alike(stated);
    CsvImport undeclared;
    undeclared.csv.undeclared = true;
    is_alike(undeclared);
    undeclared.csv.classes = {"0", "1"};
    is_alike(undeclared);
}

INSTANTIATE_TEST_SUITE_P(ImportCsv, OneDirtyRecord, testing::ValuesIn(dirty_rows));

TEST(ImportCsv, OfAColumnWithoutATypeEachCellIsReadByItself) {
    CsvImport import;
    import.csv.undeclared = true;
    const auto cells = [&](const std::string& rows) {
        return import.records("a,y\n" + rows).features.wide_values();
    };
    const std::vector<double> values =
        cells("7,0\n7.0,0\n2020-01-02,0\n02.01.2020,0\nTRUE,0\nT,0\n,0\nNA,0\ninf,0\n");
    const std::vector<double> numbers{7, 7, 18263, 18263, 0, 0, 0, 0, 0};
    for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(values[2 * i], numbers[i]) << i;
    for (const std::size_t i : {1u, 2u, 3u}) EXPECT_EQ(values[2 * i + 1], values[1]) << i;  // all are numbers
    EXPECT_EQ(values[2 * 4 + 1], values[2 * 5 + 1]);                                        // booleans
    EXPECT_EQ(values[2 * 6 + 1], values[2 * 7 + 1]);                                        // missing
    EXPECT_NE(values[2 * 4 + 1], values[1]);
    EXPECT_NE(values[2 * 6 + 1], values[1]);
    EXPECT_EQ(cells("\"1,5\",0\n")[0], 0);  // between commas no mark of decimals
    import.csv.delimiter = ';';
    EXPECT_EQ(import.records("a;y\n1,5;0\n1.5;1\n").features.wide_values()[0], 1.5);
    EXPECT_EQ(import.records("a;y\n1,5;0\n1.5;1\n").features.wide_values()[2], 1.5);
}

TEST(ImportCsv, ReadsNumbersAndLabels) {
    CsvImport import;
    const Records records = import.records("a,y,b\n1,0,2.5\r\n-3e2,1, +4 \n");
    EXPECT_THAT(records.features.wide_values(), ElementsAre(1, 2.5, -300, 4));
    EXPECT_THAT(records.labels, ElementsAre(0, 1));
    EXPECT_THAT(records.ids, ElementsAre(0, 1));
    const DatasetInfo info = DatasetReader(import.out).info();
    EXPECT_EQ(info.scaling, Scaling::none);
    EXPECT_THAT(info.feature_names, ElementsAre("a", "b"));
}

TEST(ImportCsv, ReadsQuotesBlankLinesAndAByteOrderMark) {
    CsvImport import;
    import.csv.categories["c"] = {"x,1", "says \"hi\"", "two\nlines"};
    import.csv.encoding = CategoryEncoding::integer;
    const Records records =
        import.records("\xef\xbb\xbf\"y\",c\n0,\"x,1\"\n\n1,\"says \"\"hi\"\"\"\n\"1\",\"two\nlines\"");
    EXPECT_THAT(records.features.wide_values(), ElementsAre(0, 1, 2));
    EXPECT_THAT(records.labels, ElementsAre(0, 1, 1));
}

TEST(ImportCsv, AByteOrderMarkIsOneAtTheStartAlone) {
    const std::string mark = "\xef\xbb\xbf";
    constexpr std::size_t buffer = 1 << 17;
    std::string edge = mark;  // its second cell begins where a buffer does
    edge.resize(buffer - 1, 'a');
    edge += "," + mark + "b\n";
    const TemporaryFolder folder;
    const auto cells_of = [&](CsvReader& reader) {
        std::vector<std::string> all, cells;
        while (reader.next(cells)) all.insert(all.end(), cells.begin(), cells.end());
        EXPECT_FALSE(reader.next(cells));  // the end stays the end
        return all;
    };
    const std::vector<std::pair<std::string, std::vector<std::string>>> files{
        {"", {}},
        {mark, {}},
        {mark + "a,b\n" + mark + "c\n", {"a", "b", mark + "c"}},
        {edge, {std::string(buffer - 4, 'a'), mark + "b"}}};
    for (const auto& [text, cells] : files) {
        CsvReader reader(folder.write("a.csv", text), ',');
        for (int pass = 0; pass < 3; ++pass, reader.rewind()) EXPECT_EQ(cells_of(reader), cells);
    }
}

TEST(ImportCsv, CategoriesBecomeOneColumnEach) {
    CsvImport import;
    import.csv.categories["c"] = {"red", "green"};
    import.options.ranges["a"] = {0, 10};
    const Records records = import.records("a,c,y\n5,green,0\n20,red,1\n");
    EXPECT_THAT(records.features.wide_values(), ElementsAre(0.5, 0, 1, 1, 1, 0));
    const DatasetInfo info = DatasetReader(import.out).info();
    EXPECT_EQ(info.scaling, Scaling::public_constants);
    EXPECT_THAT(info.feature_names, ElementsAre("a", "c=red", "c=green"));
}

TEST(ImportCsv, ClassesNameTheLabels) {
    CsvImport import;
    import.csv.classes = {"<=50K", ">50K"};
    EXPECT_THAT(import.records("a,y\n1,>50K\n2,<=50K\n").labels, ElementsAre(1, 0));
    std::filesystem::remove(import.out);
    import.use = CsvUse::strict;
    EXPECT_THAT(import.error("a,y\n1,>50K\n2,>50k\n").message(),
                AllOf(HasSubstr("line 3, column 'y'"), HasSubstr("'>50k'")));
}

TEST(ImportCsv, PublicRangesClipAndMap) {
    CsvImport import;
    import.options.ranges = {{"a", { -1, 1 }}, { "*", { 0, 4 } }};
    const ImportSummary summary = import.run("a,b,y\n0,1,0\n-5,9,1\n");
    EXPECT_EQ(summary.clipped, 2u);
    EXPECT_THAT(DatasetReader(import.out).read_all().features.wide_values(), ElementsAre(0.5, 0.25, 0, 1));
}

TEST(ImportCsv, RangesOfTheDataMarkTheDatasetPrivate) {
    CsvImport import;
    import.options.ranges_from_data = true;
    const Records records = import.records("a,b,y\n10,3,0\n30,3,1\n20,3,1\n");
    EXPECT_THAT(records.features.wide_values(), ElementsAre(0, 0, 1, 0, 0.5, 0));
    EXPECT_EQ(DatasetReader(import.out).info().scaling, Scaling::private_data);
}

TEST(ImportCsv, MissingValuesFollowTheStatedRule) {
    for (const char* missing : {"", "NA", "n/a", "NaN", "null", "?", "  "}) {
        CsvImport import;
        const std::string text = std::string("a,b,y\n1,2,0\n3,") + missing + ",1\n";
        import.options.missing.refused = true;
        EXPECT_THAT(import.error(text).message(),
                    AllOf(HasSubstr("line 3"), HasSubstr("column 'b'"), HasSubstr("missing")));
        import.options.missing = {};
        EXPECT_THAT(import.records(text).features.wide_values(), ElementsAre(1, 2, 3, 0));
        import.options.ranges["*"] = {0, 8};  // the middle
        EXPECT_THAT(import.records(text).features.wide_values(), ElementsAre(0.125, 0.25, 0.375, 0.5));
        import.options.ranges.clear();
        import.options.missing.zero = true;
        EXPECT_THAT(import.records(text).features.wide_values(), ElementsAre(1, 2, 3, 0));
        import.options.missing = {false, false, { { "b", 7 } }};
        EXPECT_EQ(import.run(text).filled, 1u);
        EXPECT_THAT(DatasetReader(import.out).read_all().features.wide_values(), ElementsAre(1, 2, 3, 7));
    }
}

TEST(ImportCsv, InfiniteValuesAreMissing) {
    CsvImport import;
    EXPECT_THAT(import.records("a,y\ninf,0\n1,0\n").features.wide_values(), ElementsAre(0, 1));
    std::filesystem::remove(import.out);
    import.options.missing.refused = true;
    EXPECT_THAT(import.error("a,y\ninf,0\n").message(), AllOf(HasSubstr("line 2"), HasSubstr("infinite")));
}

TEST(ImportCsv, IdsComeFromTheirColumn) {
    CsvImport import;
    import.csv.id = "id";
    const Records records = import.records("id,a,y\n17,1,0\nana,2,1\n007,3,1\n7,4,0\n");
    EXPECT_EQ(records.ids[0], 17u);
    EXPECT_EQ(records.ids[3], 7u);
    EXPECT_NE(records.ids[2], 7u);  // "007" is text: another id than 7
    import.options.seed = 5;        // a person's id is the same in every file
    EXPECT_EQ(import.records("id,a,y\nana,2,1\n").ids[0], records.ids[1]);
}

/// The ids by the first feature, which names the records of these tests.
std::map<double, std::uint64_t> ids_by_feature(const Records& records) {
    std::map<double, std::uint64_t> ids;
    for (std::size_t i = 0; i < records.size(); ++i) ids[records.features.at(i, 0)] = records.ids[i];
    return ids;
}

TEST(ImportCsv, IdsFromContentDependOnNoOtherRecord) {
    CsvImport import;
    import.options.ids_from_content = true;
    const auto all = ids_by_feature(import.records("a,b,y\n1,2,0\n3,4,1\n5,6,0\n7,8,1\n"));
    EXPECT_EQ(DatasetReader(import.out).info().ids, IdKind::content);
    ASSERT_EQ(all.size(), 4u);
    const auto reversed = ids_by_feature(import.records("a,b,y\n7,8,1\n5,6,0\n3,4,1\n1,2,0\n"));
    EXPECT_EQ(reversed, all);
    auto without = all;
    without.erase(1);
    EXPECT_EQ(ids_by_feature(import.records("a,b,y\n3,4,1\n5,6,0\n7,8,1\n")), without);
}

TEST(ImportCsv, HashedIdsAreThoseOfEveryVersion) {
    CsvImport import;
    import.options.ids_from_content = true;
    EXPECT_EQ(import.records("a,b,y\n1,2.5,1\n").ids[0], 0xfcc21469431b675ULL);
    import.options.ids_from_content = false;
    import.csv.id = "id";
    EXPECT_EQ(import.records("id,a,y\nana,1,0\n").ids[0], 0x3e7f31bcae8fe488ULL);
}

TEST(ImportCsv, IdsFromContentTellEveryChangeOfTheRecord) {
    CsvImport import;
    import.options.ids_from_content = true;
    const Records records = import.records("a,b,y\n1,2,0\n1,2,1\n2,1,0\n1,2.0000000000000004,0\n");
    EXPECT_EQ(std::set<std::uint64_t>(records.ids.begin(), records.ids.end()).size(), 4u);
    import.options.seed = 7;
    EXPECT_EQ(import.records("a,b,y\n1,2,0\n").ids[0], records.ids[0]);
    import.options.ranges["*"] = {0, 10};  // another scaling of the same records
    EXPECT_EQ(import.records("a,b,y\n1,2,0\n").ids[0], records.ids[0]);
}

TEST(ImportCsv, EqualRecordsHaveNoIdsFromContent) {
    const auto error = [](const std::string& text, bool scaled) {
        CsvImport import;
        import.options.ids_from_content = true;
        if (scaled) import.options.ranges["*"] = {0, 1};
        const Error error = import.error(text);
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_EQ(error.where(), import.folder.file("a.csv"));
        EXPECT_THAT(error.hint(), AllOf(HasSubstr("--id"), HasSubstr("remove the duplicate")));
        return error.message();
    };
    EXPECT_THAT(error("a,y\n5,0\n6,0\n5,0\n", false), HasSubstr("line 2 and line 4"));
    EXPECT_THAT(error("a,y\n0,0\n-0,0\n", false), HasSubstr("line 2 and line 3"));
    EXPECT_THAT(error("a,y\n5,0\n5,0\n", true), HasSubstr("line 2 and line 3"));
}

TEST(ImportCsv, IdsFromContentReplaceNoOthersAndNeedPublicRanges) {
    CsvImport named;
    named.csv.id = "id";
    named.options.ids_from_content = true;
    const Error given = named.error("id,a,y\n5,1,0\n");
    EXPECT_EQ(given.code(), ExitCode::usage);
    EXPECT_EQ(given.where(), "--id-from-content");
    EXPECT_THAT(given.message(), HasSubstr("column 'id'"));
    CsvImport ranged;
    ranged.options.ids_from_content = ranged.options.ranges_from_data = true;
    const Error tied = ranged.error("a,y\n1,0\n2,1\n");
    EXPECT_EQ(tied.code(), ExitCode::usage);
    EXPECT_EQ(tied.where(), "--id-from-content");
    EXPECT_THAT(tied.hint(), HasSubstr("--scale"));
}

TEST(ImportCsv, TheFileSaysWhereItsIdsComeFrom) {
    CsvImport import;
    EXPECT_THAT(import.run("a,y\n1,0\n").id_note, HasSubstr("no guarantee about a record added or removed"));
    EXPECT_EQ(DatasetReader(import.out).info().ids, IdKind::row_number);
    import.csv.id = "id";
    EXPECT_THAT(import.run("id,a,y\n4,1,0\n").id_note,
                AllOf(HasSubstr("column 'id'"), HasSubstr("renames no other")));
    EXPECT_EQ(DatasetReader(import.out).info().ids, IdKind::given);
    import.csv.id = "";
    import.options.ids_from_content = true;
    EXPECT_THAT(import.run("a,y\n1,0\n").id_note, HasSubstr("without two equal records"));
}

TEST(ImportCsv, TheFileSaysTheRangeOfWhatWasScaled) {
    CsvImport import;
    import.run("a,y\n1,0\n");
    EXPECT_EQ(DatasetReader(import.out).info().range, default_feature_range);
    EXPECT_FALSE(hdf5::File::open_read(import.out).has_attribute("feature_range"));
    import.options.ranges["a"] = {0, 4};
    import.run("a,y\n1,0\n");
    EXPECT_EQ(DatasetReader(import.out).info().range, (FeatureRange{0, 1}));
    import.options.ranges.clear();
    import.options.ranges_from_data = true;
    import.run("a,y\n1,0\n2,1\n");
    EXPECT_EQ(DatasetReader(import.out).info().range, (FeatureRange{0, 1}));
}

TEST(ImportCsv, DuplicateIdsAreNamedWithTheirLines) {
    CsvImport import;
    import.csv.id = "id";
    EXPECT_THAT(import.error("id,a,y\n5,1,0\n6,2,1\n\n5,3,1\n").message(),
                HasSubstr("id '5' appears twice: line 2 and line 5"));
}

TEST(ImportCsv, IdsAreNamedAsTheTableHasThem) {
    CsvImport import;
    import.csv.id = "id";
    EXPECT_THAT(import.error("id,a,y\np-17,1,0\nq,2,1\np-17,3,1\n").message(),
                HasSubstr("id 'p-17' appears twice: line 2 and line 4"));
}

TEST(ImportCsv, RangesHaveAFiniteWidth) {
    CsvImport import;
    import.options.ranges["a"] = {-1e308, 1e308};
    EXPECT_THAT(import.error("a,y\n1,0\n").message(), HasSubstr("HIGH - LOW finite"));
    CsvImport target;
    target.csv.regression = true;
    target.options.target_range = Range{-1e308, 1e308};
    EXPECT_EQ(target.error("a,y\n1,0\n").where(), "--target-range");
}

TEST(ImportCsv, EncodingsAreReadAndNamed) {
    CsvImport import;
    import.csv.categories["town"] = {"Bonn", "K\xc3\xb6ln"};
    const std::string latin = "town,a,y\nBonn,1,0\nK\xf6ln,2,1\n";
    const Error error = import.error(latin);
    EXPECT_EQ(error.code(), ExitCode::input);
    EXPECT_THAT(error.message(), HasSubstr("not UTF-8: line 3"));
    EXPECT_THAT(error.hint(), AllOf(HasSubstr("--encoding"), HasSubstr("iconv")));
    for (const std::string encoding : {"latin-1", "cp1252"}) {
        import.csv.text_encoding = encoding;
        EXPECT_THAT(import.records(latin).features.wide_values(), ElementsAre(1, 0, 1, 0, 1, 2));
    }
    import.csv.text_encoding = "utf-8";
    for (const bool big : {false, true}) {
        std::string wide = big ? "\xfe\xff" : "\xff\xfe";
        for (const char letter : latin) wide += big ? std::string{'\0', letter} : std::string{letter, '\0'};
        EXPECT_THAT(import.records(wide).features.wide_values(), ElementsAre(1, 0, 1, 0, 1, 2));
    }
    std::filesystem::remove(import.out);
    EXPECT_THAT(import.error(std::string("PK\x03\x04 workbook")).message(), HasSubstr("workbook"));
}

TEST(ImportCsv, ASeparatorLineNamesTheDelimiter) {
    CsvImport import;
    EXPECT_THAT(import.records("sep=;\r\na;y\r\n1;0\r\n2;1\r\n").features.wide_values(), ElementsAre(1, 2));
    std::filesystem::remove(import.out);
    EXPECT_THAT(import.error("sep=;\na;y\n\"x\"z;0\n").message(), HasSubstr("line 3"));
}

TEST(ImportCsv, AFirstColumnWithoutANameIsLeftOut) {
    CsvImport import;
    EXPECT_THAT(import.records("\"\",a,y\n\"1\",5,0\n\"2\",6,1\n").features.wide_values(), ElementsAre(5, 6));
    std::filesystem::remove(import.out);
    const Error error = import.error("a,,y\n1,2,0\n");
    EXPECT_THAT(error.message(), HasSubstr("column 2 has no name"));
    EXPECT_THAT(error.hint(), HasSubstr("--drop ''"));
    import.csv.drop = {""};
    EXPECT_THAT(import.records("a,,,y\n1,2,,0\n").features.wide_values(), ElementsAre(1));
}

TEST(ImportCsv, AMistypedLabelIsNamedBeforeTheDelimiter) {
    CsvImport import;
    import.csv.label = "il";
    const Error error = import.error("a;b;ill\n1;2;0\n");
    EXPECT_EQ(error.where(), "--label");
    EXPECT_THAT(error.hint(), AllOf(HasSubstr("'ill'"), HasSubstr("--delimiter ';'")));
}

TEST(ImportCsv, LongListsAreCut) {
    std::string header = "y";
    for (int i = 0; i < 500; ++i) header += ",column" + std::to_string(i);
    CsvImport import;
    import.options.ranges["column1"] = {0, 1};
    std::string row = "0";
    for (int i = 0; i < 500; ++i) row += ",1";
    EXPECT_LT(std::string(import.error(header + "\n" + row + "\n").what()).size(), 2000u);
}

TEST(ImportCsv, AMissingIdIsNamed) {
    CsvImport import;
    import.csv.id = "id";
    EXPECT_THAT(import.error("id,a,y\n,1,0\n").message(), HasSubstr("line 2, column 'id'"));
}

TEST(ImportCsv, TheTestSplitFollowsTheIdNotTheOrder) {
    CsvImport import;
    import.csv.id = "id";
    import.options.test_fraction = 0.3;
    std::vector<std::string> lines;
    for (int i = 0; i < 2000; ++i) lines.push_back(std::to_string(i) + ",1," + std::to_string(i % 2) + "\n");
    const auto text = [&] {
        std::string all = "id,a,y\n";
        for (const std::string& line : lines) all += line;
        return all;
    };
    import.run(text());
    auto first = DatasetReader(import.out + ":test").read_all().ids;
    std::reverse(lines.begin(), lines.end());
    import.run(text());
    auto second = DatasetReader(import.out + ":test").read_all().ids;
    std::sort(second.begin(), second.end());
    EXPECT_EQ(first, second);
    EXPECT_NEAR(static_cast<double>(first.size()), 600, 100);
    EXPECT_EQ(DatasetReader(import.out + ":train").info().rows, 2000 - first.size());
}

TEST(ImportCsv, ManyRowsAreStreamedInOrder) {
    CsvImport import;
    std::string text = "a,y\n";
    for (int i = 0; i < 10001; ++i) text += std::to_string(i) + ",0\n";
    const Records records = import.records(text);
    ASSERT_EQ(records.size(), 10001u);
    for (std::size_t i = 0; i < records.size(); ++i)
        ASSERT_EQ(records.features.at(i, 0), static_cast<double>(i));
}

TEST(ImportCsv, ColumnsMayBeDroppedAndTheDelimiterNamed) {
    CsvImport import;
    import.csv.drop = {"name"};
    import.csv.delimiter = ';';
    EXPECT_THAT(import.records("a;name;y\n1;Ana, B.;0\n").features.wide_values(), ElementsAre(1));
}

TEST(ImportCsv, QueriesNeedNoLabels) {
    CsvImport import;
    import.csv.label = "";
    import.run("a,b\n1,2\n");
    EXPECT_FALSE(DatasetReader(import.out).info().has_labels);
}

TEST(ImportCsv, BadFilesAreNamedOnce) {
    const auto message = [](const std::string& text) {
        CsvImport import;
        import.use = CsvUse::strict;
        const Error error = import.error(text);
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_EQ(error.where(), import.folder.file("a.csv"));
        return error.message();
    };
    EXPECT_THAT(message(""), HasSubstr("is empty"));
    EXPECT_THAT(message("a,y\n"), HasSubstr("header but no records"));
    EXPECT_THAT(message("a,b,y\n1,2,0\n1,2\n"), HasSubstr("line 3 has 2 cells, the header has 3"));
    EXPECT_THAT(message("a,y\n1,0\n\"2,1\n3,0\n"), HasSubstr("opened on line 3 is never closed"));
    EXPECT_THAT(message("a,y\n\"1\"2,0\n"), HasSubstr("line 2: text behind a closing quote"));
    EXPECT_THAT(message("a,y\nabc,0\n"), HasSubstr("line 2, column 'a': 'abc' is not a number"));
    EXPECT_THAT(message("a,y\n+-5,0\n"), HasSubstr("'+-5' is not a number"));
    EXPECT_THAT(message("a,y\n1,-1\n"), HasSubstr("line 2 has label -1"));
    EXPECT_THAT(message("a,y\n1,0.5\n"), HasSubstr("label '0.5' is not an integer"));
    EXPECT_THAT(message("a,y\n1,\n"), HasSubstr("column 'y': the label is missing"));
    EXPECT_THAT(message("a,a,y\n1,2,0\n"), HasSubstr("two columns are named 'a'"));
    EXPECT_THAT(message("y\n0\n"), HasSubstr("no feature columns"));
}

TEST(ImportCsv, UnknownColumnsSuggestTheNearest) {
    CsvImport import;
    import.csv.label = "incme";
    const Error error = import.error("age,income\n1,0\n");
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_EQ(error.where(), "--label");
    EXPECT_THAT(error.hint(), HasSubstr("'income'"));
    CsvImport scale;
    scale.options.ranges["aeg"] = {0, 1};
    EXPECT_THAT(scale.error("age,y\n1,0\n").hint(), HasSubstr("'age'"));
    CsvImport missing;
    missing.options.missing.columns["agg"] = 1;
    EXPECT_THAT(missing.error("age,y\n1,0\n").hint(), HasSubstr("'age'"));
}

TEST(ImportCsv, AnUnknownCategoryIsNamed) {
    CsvImport import;
    import.csv.categories["c"] = {"red", "green"};
    EXPECT_THAT(import.records("c,y\nred,0\nblue,1\n").features.wide_values(), ElementsAre(1, 0, 0, 0));
    std::filesystem::remove(import.out);
    import.use = CsvUse::strict;
    EXPECT_THAT(import.error("c,y\nred,0\nblue,1\n").message(),
                AllOf(HasSubstr("line 3, column 'c'"), HasSubstr("'blue'")));
}

TEST(ImportCsv, EveryColumnNeedsAPublicRangeOrNone) {
    CsvImport import;
    import.options.ranges["a"] = {0, 1};
    EXPECT_THAT(import.error("a,b,c,y\n1,2,3,0\n").message(), HasSubstr("b, c"));
    import.options.ranges = {{ "*", { 2, 2 } }};
    EXPECT_THAT(import.error("a,y\n1,0\n").message(), HasSubstr("LOW < HIGH"));
}

TEST(ImportCsv, AnUnwritableOutputIsAnOutputError) {
    CsvImport import;
    import.out = import.folder.file("none/out.h5");
    EXPECT_EQ(import.error("a,y\n1,0\n").code(), ExitCode::output);
}

TEST(ImportCsv, AMissingFileIsNamed) {
    TemporaryFolder folder;
    try {
        open_csv(folder.file("none.csv"), CsvOptions{});
        FAIL() << "no Error thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.where(), folder.file("none.csv"));
        EXPECT_THAT(error.message(), HasSubstr("No such file"));
    }
}

}  // namespace
}  // namespace holdfast
