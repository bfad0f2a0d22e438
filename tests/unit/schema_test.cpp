#include "dist/data/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "dist/data/guess_schema.hpp"
#include "dist/data/import_csv.hpp"
#include "dist/data/import_records.hpp"
#include "dist/data/read_table.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// A number, a category that may be missing, and a date.
Schema patients() {
    return schema_from_json(
        json{{"label", "ill"},
             {"classes", {"no", "yes"}},
             {"id", "number"},
             {"column",
              {{{"name", "age"}, {"type", "number"}, {"range", {0, 100}}, {"unit", "years"}, {"missing", 50}},
               {{"name", "sex"}, {"type", "category"}, {"values", {"f", "m", ""}}},
               {{"name", "seen"},
                {"type", "date"},
                {"format", "%d.%m.%Y"},
                {"range", {"2020-01-01", "2020-01-11"}}}}}},
        "patients.toml");
}

std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty());
        return error.message() + " | " + error.hint();
    }
    return "";
}

TEST(Schema, ComesBackAsWritten) {
    const Schema schema = patients();
    EXPECT_EQ(to_json(schema_from_json(to_json(schema), "")), to_json(schema));
    EXPECT_EQ(schema.features(), 5U);
    EXPECT_THAT(schema.feature_names(), ElementsAre("age", "sex=f", "sex=m", "sex=", "seen"));
    EXPECT_EQ(schema.feature_ranges().front(), (Range{0, 100}));
    EXPECT_EQ(schema.columns[2].range, (Range{18262, 18272}));
    EXPECT_TRUE(std::isnan(schema.missing_values()[1]));
    EXPECT_EQ(schema.missing_values()[0], 50);
}

TEST(Schema, WhatIsNoneIsRefusedByItsField) {
    const json sound = to_json(patients());
    const auto with = [&](const std::string& place, const json& value) {
        json other = sound;
        other[json::json_pointer(place)] = value;
        return refusal([&] { schema_from_json(other, "s.toml"); });
    };
    EXPECT_THAT(with("/column", json::array()), HasSubstr("lists no column"));
    EXPECT_THAT(with("/column/0/type", "colour"), HasSubstr("number, date, category or any"));
    EXPECT_THAT(with("/column/0/range", {3, 3}), HasSubstr("LOW < HIGH"));
    EXPECT_THAT(with("/column/0/colour", 1), HasSubstr("none of a schema"));
    EXPECT_THAT(with("/column/1/values", {"f", "f"}), HasSubstr("different texts"));
    EXPECT_THAT(with("/column/1/name", "age"), HasSubstr("two uses"));
    EXPECT_THAT(with("/column/2/range", {"soon", "later"}), HasSubstr("dates"));
    EXPECT_THAT(with("/decimal", "point"), HasSubstr("one character"));
    EXPECT_THAT(refusal([] { schema_from_json(json(3), "s.toml"); }), HasSubstr("one object"));
    EXPECT_THAT(refusal([] { kept_schema("{", "s.h5"); }), HasSubstr("one object"));
}

TEST(Schema, WhatWasFoundInPrivateRecordsStaysAtHome) {
    Schema schema = patients();
    EXPECT_EQ(to_json(schema.public_part()), to_json(schema));
    schema.found = true;
    const std::string left = to_json(schema.public_part()).dump();
    for (const char* secret : {"100", "yes", "\"m\"", "18262", "50"})
        EXPECT_EQ(left.find(secret), std::string::npos) << left;
    EXPECT_THAT(left, AllOf(HasSubstr("age"), HasSubstr("withheld")));
    TemporaryFolder folder;
    const std::string path = folder.write("a.csv", "age,sex,seen\n3,f,01.01.2020\n");
    EXPECT_THAT(refusal([&] { read_table(path, schema.public_part()); }),
                HasSubstr("stayed with their owner"));
}

TEST(Schema, ATableIsReadByNamesAndAsItsImportHasIt) {
    TemporaryFolder folder;
    const Schema schema = patients();
    const std::string rows =
        folder.write("train.csv",
                     "number,age,sex,seen,ill\n7,25,f,06.01.2020,no\n8,,m,01.01.2020,yes\n"
                     "9,120,NA,31.12.2019,yes\n");
    std::vector<NamedSource> sources;
    sources.push_back({"train", open_csv(rows, schema)});
    const ImportSummary summary = import_records(sources, {}, folder.file("out.h5"));
    EXPECT_EQ(summary.facts.scaling, Scaling::public_constants);
    EXPECT_EQ(summary.filled, 1U);
    const DatasetReader reader(folder.file("out.h5"));
    EXPECT_TRUE(kept_schema(reader.info().schema, "")->same_features(schema));
    const Records imported = reader.read_all();
    EXPECT_THAT(imported.features.wide_values(),
                ElementsAre(0.25, 1, 0, 0, 0.5, 0.5, 0, 1, 0, 0, 1, 0, 0, 1, 0));
    EXPECT_THAT(imported.labels, ElementsAre(0, 1, 1));

    const std::string other = folder.write(
        "new.csv", "seen,sex,extra,age\n06.01.2020,f,1,25\n01.01.2020,m,2,\n31.12.2019,NA,3,120\n");
    const Table table = read_table(other, schema);
    EXPECT_EQ(table.records.features.wide_values(), imported.features.wide_values());
    EXPECT_THAT(table.ignored, ElementsAre("extra"));
    EXPECT_THAT(table.names, ElementsAre("2", "3", "4"));
    EXPECT_FALSE(table.has_ids);
    EXPECT_EQ(table.filled, 1U);
    EXPECT_THAT(table.outside, ElementsAre(AllOf(HasSubstr("age: 1 outside [0, 100]"), HasSubstr("line 4")),
                                           HasSubstr("seen: 1 outside")));
    EXPECT_EQ(read_table(other, schema, 1).records.size(), 1U);
    EXPECT_THAT(read_table(rows, schema).names, ElementsAre("7", "8", "9"));
    EXPECT_THAT(read_table(rows, schema).records.labels, ElementsAre(0, 1, 1));
}

TEST(Schema, NothingOfATableIsSilentlyAnotherNumber) {
    TemporaryFolder folder;
    const auto said = [&](const std::string& text) {
        const std::string path = folder.write("a.csv", text);
        return refusal([&] { read_table(path, patients()); });
    };
    EXPECT_THAT(said("age,sex\n1,f\n"), HasSubstr("lacks the columns 'seen'"));
    EXPECT_THAT(said("age,seen,sex\n1,01.01.2020,x\n2,01.01.2020,f\n3,01.01.2020,y\n4,1.1.2020,x\n"),
                AllOf(HasSubstr("line 2, column 'sex': 'x' is not in its public list"),
                      HasSubstr("2 more like it, at 4, 5"), HasSubstr("'y'")));
    const std::string all = said("age,seen,sex\nold,01.01.2020,x\n2,2020-01-01,f\n3,,f\n1,2\n");
    for (const char* words : {"'old' is not a number", "'x' is not in", "no date of the form %d.%m.%Y",
                              "column 'seen' is missing", "line 5 has 2 cells"})
        EXPECT_THAT(all, HasSubstr(words));
}

TEST(Schema, NumbersAreReadAsTheyAreWritten) {
    EXPECT_EQ(number_of_cell("1.234,5", ',', '.'), 1234.5);
    EXPECT_EQ(number_of_cell("-12.345.678", ',', '.'), -12345678);
    EXPECT_EQ(number_of_cell("12,5", ',', 0), 12.5);
    EXPECT_EQ(number_of_cell("1.5e3", '.', 0), 1500);
    EXPECT_EQ(number_of_cell("1'000.25", '.', '\''), 1000.25);
    for (const char* wrong : {"1.23,5", "1.2345", ".123,5", "1.234.5", "1,2,3", ""})
        EXPECT_EQ(number_of_cell(wrong, ',', '.'), std::nullopt) << wrong;
    EXPECT_EQ(number_of_cell("12.5", ',', 0), std::nullopt);
    EXPECT_EQ(days_of("29.02.2024", "%d.%m.%Y"), 19782);
    for (const char* wrong : {"30.02.2024", "1.1", "01.01.2024 x", ""})
        EXPECT_EQ(days_of(wrong, "%d.%m.%Y"), std::nullopt) << wrong;
}

TEST(Schema, YearsHaveFourDigitsUnlessTheFormatSaysTwo) {
    EXPECT_EQ(days_of("1/3/60", "%m/%d/%Y"), std::nullopt);
    EXPECT_EQ(days_of("1/3/0060", "%m/%d/%Y"), std::nullopt);
    EXPECT_EQ(days_of("1/3/70", "%m/%d/%y"), days_of("1970-01-03", "%Y-%m-%d"));
}

TEST(Schema, BooleansFallIntoOneBucket) {
    const Column column = hashed_column("married");
    for (const char* cell : {"True", "true", "T", "t", "1"})
        EXPECT_EQ(column.hashed_bucket(cell), column.hashed_bucket("TRUE")) << cell;
    for (const char* cell : {"False", "false", "F", "f", "0"})
        EXPECT_EQ(column.hashed_bucket(cell), column.hashed_bucket("FALSE")) << cell;
    EXPECT_NE(column.hashed_bucket("TRUE"), column.hashed_bucket("FALSE"));
}

TEST(Schema, WhatReadsTwoWaysIsNotGuessed) {
    const TemporaryFolder folder;
    const auto guess = [&](const std::string& text, CsvOptions options) {
        options.delimiter = options.decimal = 0;
        return guess_schema(folder.write("a.csv", text), options).schema;
    };
    const std::string pay = "pay,y\n437,0\n\"1,482\",1\n", days = "day,y\n02/03/2024,0\n04/05/2024,1\n";
    EXPECT_THAT(refusal([&] { guess(pay, {}); }),
                AllOf(HasSubstr("--decimal ','"), HasSubstr("--thousands ','")));
    EXPECT_THAT(refusal([&] { guess(days, {}); }), AllOf(HasSubstr("%m/%d/%Y"), HasSubstr("%d/%m/%Y")));
    EXPECT_EQ(guess(pay, {.thousands = ','}).columns[0].range, (Range{437, 1482}));
    EXPECT_EQ(guess(days, {.dates = {{"day", "%d/%m/%Y"}}}).columns[0].format, "%d/%m/%Y");
    EXPECT_EQ(guess("pay,y\n437,0\n\"1,482,000\",1\n", {}).thousands, ',');
    EXPECT_EQ(guess("pay,y\n437,0\n\"1,5\",1\n", {}).decimal, ',');
}

TEST(Schema, OfABankAsItLiesThereEveryColumnIsGuessed) {
    TemporaryFolder folder;
    std::string text = "\xef\xbb\xbfKunde;Name;Einkommen;Seit;Wohnung;Default\n";
    for (int i = 0; i < 60; ++i)
        text += "K" + std::to_string(i) + ";Herr " + std::to_string(i) + ";" + std::to_string(i + 1) +
                ".000,50;" + (i < 9 ? "0" : "") +
                std::to_string(i % 28 + 1 > 9 || i >= 9 ? i % 18 + 10 : i + 1) + ".03.2021;" +
                (i % 3 == 0   ? ""
                 : i % 3 == 1 ? "Miete"
                              : "Eigentum") +
                ";" + std::to_string(i % 2 + 1) + "\n";
    const std::string path = folder.write("bank.csv", text);
    const TableGuess guess = guess_schema(path, {.delimiter = 0, .label = "Default", .decimal = 0});
    EXPECT_EQ(guess.rows, 60U);
    EXPECT_EQ(guess.schema.delimiter, ';');
    EXPECT_EQ(guess.schema.decimal, ',');
    EXPECT_EQ(guess.schema.thousands, '.');
    EXPECT_THAT(guess.schema.classes, ElementsAre("1", "2"));
    EXPECT_THAT(guess.dropped, ElementsAre("Kunde", "Name"));
    EXPECT_THAT(guess.possible_ids, ElementsAre("Kunde", "Name"));
    ASSERT_EQ(guess.schema.columns.size(), 3U);
    EXPECT_EQ(guess.schema.columns[0].range, (Range{1000.5, 60000.5}));
    EXPECT_EQ(guess.schema.columns[1].kind, Column::Kind::date);
    EXPECT_EQ(guess.schema.columns[1].format, "%d.%m.%Y");
    EXPECT_THAT(guess.schema.columns[2].values, ElementsAre("Eigentum", "Miete", ""));
    EXPECT_EQ(guess.missing.at("Wohnung"), 20U);
    // It reads the table it was made of: labels 1 and 2 are two classes.
    const Table table = read_table(path, guess.schema);
    EXPECT_EQ(table.records.size(), 60U);
    EXPECT_THAT(table.outside, ElementsAre());
    EXPECT_EQ(table.records.labels[1], 1);
    EXPECT_THAT(refusal([&] { guess_schema(path, {.delimiter = 0, .label = "Defalt", .decimal = 0}); }),
                HasSubstr("Default"));
}

TEST(Schema, ARemedyIsNamedForWhatACellLooksLike) {
    TemporaryFolder folder;
    const auto said = [&](const std::string& text) {
        const std::string path = folder.write("a.csv", text);
        return refusal([&] {
            std::vector<NamedSource> sources;
            sources.push_back({"train", open_csv(path, CsvOptions{.label = "y"}, CsvUse::strict)});
            import_records(sources, {}, folder.file("out.h5"));
        });
    };
    EXPECT_THAT(said("a;y\n1;0\n"), HasSubstr("--delimiter ';'"));
    EXPECT_THAT(said("a\ty\n1\t0\n"), HasSubstr("--delimiter tab"));
    EXPECT_THAT(said("a,y\n\"1,5\",0\n"), HasSubstr("--decimal ,"));
    EXPECT_THAT(said("a,y\n\"1.234,5\",0\n"), HasSubstr("--decimal , --thousands '.'"));
    EXPECT_THAT(said("a,y\n01.02.2020,0\n"), HasSubstr("--date 'a=%d.%m.%Y'"));
    EXPECT_THAT(said("a,y\nred,0\n"), HasSubstr("--categories a=a|b|c"));
}

}  // namespace
}  // namespace holdfast
