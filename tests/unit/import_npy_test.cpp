#include "dist/data/import_npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "dist/data/import_csv.hpp"
#include "dist/data/import_hdf5.hpp"
#include "dist/data/import_records.hpp"
#include "dist/data/record_id.hpp"
#include "dist/files/hdf5.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace import_npy_test {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::string little(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// An NPY file as numpy.save writes it.
std::string npy(const std::string& type, const std::string& shape, const std::string& data, int version = 1,
                const std::string& fortran = "False") {
    const std::string header =
        "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
    const std::string size =
        version == 1 ? little<std::uint16_t>(header.size()) : little<std::uint32_t>(header.size());
    return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + size + header + data;
}

std::string deflated(const std::string& data) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    std::string packed(data.size() + 100, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    stream.avail_in = static_cast<unsigned>(data.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<unsigned>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

/// A ZIP archive as numpy.savez (stored, with ZIP64 fields) and numpy.savez_compressed write it.
std::string npz(const std::vector<std::pair<std::string, std::string>>& members, bool compress) {
    std::string body, table;
    for (const auto& [name, data] : members) {
        const std::string packed = compress ? deflated(data) : data;
        const auto checksum =
            static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
        const std::string common = little<std::uint16_t>(20) + little<std::uint16_t>(0) +
                                   little<std::uint16_t>(compress ? 8 : 0) + little<std::uint32_t>(0) +
                                   little(checksum);
        const std::string extra64 = little<std::uint16_t>(1) + little<std::uint16_t>(16) +
                                    little<std::uint64_t>(data.size()) + little<std::uint64_t>(packed.size());
        const std::string ones = little<std::uint32_t>(0xffffffff);
        table += "PK\x01\x02" + little<std::uint16_t>(20) + common + ones + ones +
                 little<std::uint16_t>(name.size()) + little<std::uint16_t>(extra64.size()) +
                 std::string(10, '\0') + little<std::uint32_t>(static_cast<std::uint32_t>(body.size())) +
                 name + extra64;
        // common of the local header stands without the "made by" field
        body += "PK\x03\x04" + common + ones + ones + little<std::uint16_t>(name.size()) +
                little<std::uint16_t>(extra64.size()) + name + extra64 + packed;
    }
    const auto count = little<std::uint16_t>(members.size());
    return body + table + "PK\x05\x06" + std::string(4, '\0') + count + count +
           little<std::uint32_t>(static_cast<std::uint32_t>(table.size())) +
           little<std::uint32_t>(static_cast<std::uint32_t>(body.size())) + little<std::uint16_t>(0);
}

std::vector<RawRecord> all_of(RecordSource& source) {
    std::vector<RawRecord> records;
    for (RawRecord record; source.next(record);) records.push_back(record);
    return records;
}

struct Files {
    TemporaryFolder folder;
    ArrayName file(const std::string& name, const std::string& bytes) const {
        return {folder.write(name, bytes), ""};
    }
    Error error(const std::string& features, const std::string& labels = "") const {
        const ArrayName x = file("x.npy", features), y = labels.empty() ? ArrayName{} : file("y.npy", labels);
        const Error found = error_of([&] { all_of(*open_npy(x, y, {})); });
        EXPECT_EQ(found.code(), ExitCode::input);
        EXPECT_THAT(found.what(), HasSubstr(folder.path()));
        return found;
    }
};

TEST(ImportNpy, ReadsEveryTypeAndVersion) {
    Files files;
    const auto values = [&](const std::string& type, const std::string& data, int version) {
        const auto records =
            all_of(*open_npy(files.file("x.npy", npy(type, "(2, 2)", data, version)), {}, {}));
        EXPECT_EQ(records.size(), 2u);
        return records.size() == 2 ? records[1].features : std::vector<double>{};
    };
    EXPECT_THAT(values("<f4", bytes_of<float>({1, 2, 3.5, -4}), 1), ElementsAre(3.5, -4));
    EXPECT_THAT(values("<f8", bytes_of<double>({1, 2, 0.1, -4}), 2), ElementsAre(0.1, -4));
    EXPECT_THAT(values("<i4", bytes_of<std::int32_t>({1, 2, 3, -4}), 3), ElementsAre(3, -4));
    EXPECT_THAT(values("<i8", bytes_of<std::int64_t>({1, 2, 3, -4}), 1), ElementsAre(3, -4));
    EXPECT_THAT(values("|u1", bytes_of<std::uint8_t>({1, 2, 3, 255}), 1), ElementsAre(3, 255));
}

TEST(ImportNpy, LabelsAndIdsBelongToTheRows) {
    Files files;
    const auto source =
        open_npy(files.file("x.npy", npy("<f4", "(2, 1)", bytes_of<float>({1, 2}))),
                 files.file("y.npy", npy("<f8", "(2,)", bytes_of<double>({1, 0}))),
                 files.file("id.npy", npy("<u8", "(2,)", bytes_of<std::uint64_t>({~0ull, 3}))));
    for (int pass = 0; pass < 2; ++pass) {
        const auto records = all_of(*source);
        ASSERT_EQ(records.size(), 2u);
        EXPECT_EQ(records[0].label, 1);
        EXPECT_EQ(records[0].id, ~0ull);
        EXPECT_EQ(records[1].id, 3u);
        source->rewind();
    }
}

/// The table of doors: what a kind of cell gives, whichever file has it.
struct Door {
    std::string text;              ///< in a CSV
    std::optional<double> number;  ///< in arrays of floats
    std::optional<std::int64_t> integer;
    std::string same_as;  ///< the id is that of this text; empty: it is refused
};

class Ids : public testing::TestWithParam<Door> {
  protected:
    /// The id, or nothing where the import refuses it with its line or row.
    std::optional<std::uint64_t> imported(std::unique_ptr<RecordSource> source, const std::string& place) {
        std::vector<NamedSource> sources;
        sources.push_back({"train", std::move(source)});
        const std::string out = files.folder.file("out.h5");
        try {
            import_records(sources, {}, out);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::input);
            EXPECT_THAT(error.message(), HasSubstr(place));
            return std::nullopt;
        }
        return DatasetReader(out).read_ids(0, 1)[0];
    }
    std::optional<std::uint64_t> of_csv(const std::string& text) {
        const std::string path = files.folder.write("ids.csv", "\xef\xbb\xbfid,a,y\r\n" + text + ",1,0\r\n");
        return imported(open_csv(path, CsvOptions{.label = "y", .id = "id"}), "line 2, column 'id'");
    }
    template <class T>
    std::optional<std::uint64_t> of_npy(const std::string& type, T value) {
        return imported(open_npy(files.file("x.npy", npy("<f4", "(1, 1)", bytes_of<float>({1}))), {},
                                 files.file("id.npy", npy(type, "(1,)", bytes_of<T>({value})))),
                        "row 0");
    }
    template <class T>
    std::optional<std::uint64_t> of_hdf5(T value) {
        const std::string path = files.folder.file("ids.h5");
        hdf5::File file = hdf5::File::create(path);
        const float feature = 1;
        file.create_dataset("x_train", hdf5::Type::float32, {1, 1}).write({0, 0}, {1, 1}, &feature);
        file.create_dataset("id_train", hdf5::TypeOf<T>::value, {1}).write({0}, {1}, &value);
        file.close();
        return imported(open_hdf5_split(path, "train", std::nullopt, false), "row 0");
    }
    Files files;
};

TEST_P(Ids, AreReadAlikeByEveryDoor) {
    const Door& door = GetParam();
    std::optional<std::uint64_t> wanted;
    if (!door.same_as.empty()) wanted = read_id(door.same_as).id;
    EXPECT_EQ(of_csv(door.text), wanted);
    EXPECT_EQ(of_csv("\" " + door.text + " \""), wanted);
    if (door.number) {
        EXPECT_EQ(of_npy<double>("<f8", *door.number), wanted);
        EXPECT_EQ(of_hdf5<double>(*door.number), wanted);
    }
    if (door.integer) {
        EXPECT_EQ(of_npy<std::int64_t>("<i8", *door.integer), wanted);
        EXPECT_EQ(of_hdf5<std::int64_t>(*door.integer), wanted);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Doors, Ids,
    testing::Values(Door{"7", 7., 7, "7"}, Door{"7.0", 7., {}, "7"}, Door{"7.", {}, {}, "7"},
                    Door{"1e+05", 1e5, 100000, "100000"}, Door{"0", -0., 0, "0"}, Door{"-7", -7., -7, "-7"},
                    Door{"-7.0", -7., {}, "-7"}, Door{"007", {}, {}, "007"}, Door{"p-17", {}, {}, "p-17"},
                    Door{"9007199254740993", {}, 9007199254740993, "9007199254740993"},
                    Door{"18446744073709551615", {}, {}, "18446744073709551615"},
                    Door{"18446744073709551616", {}, {}, "18446744073709551616"},
                    Door{"9007199254740992.0", 0x1p53, {}, ""}, Door{"1e+20", 1e20, {}, ""},
                    Door{"5.7", 5.7, {}, ""}, Door{"inf", INFINITY, {}, ""}, Door{"nan", NAN, {}, ""},
                    Door{"", NAN, {}, ""}, Door{"NA", {}, {}, ""}, Door{"N/A", {}, {}, ""},
                    Door{"null", {}, {}, ""}, Door{"None", {}, {}, ""}, Door{"-", {}, {}, ""},
                    Door{"?", {}, {}, ""}, Door{"#N/A", {}, {}, ""}, Door{"<NA>", {}, {}, ""}));

TEST(ReadId, TextsAreThemselves) {
    EXPECT_EQ(read_id("18446744073709551615").id, ~0ull);
    EXPECT_NE(read_id("007").id, 7u);
    EXPECT_NE(read_id("-7").id, 7u);
    EXPECT_NE(read_id("18446744073709551616").id, read_id("18446744073709551617").id);
    EXPECT_EQ(read_id("12e4").id, id_of_text("12e4"));  // as hashes of 16 digits have it
}

TEST(ImportNpy, ImagesAreFlattenedAndMappedByThePublicConstant) {
    Files files;
    std::vector<NamedSource> sources;
    sources.push_back({"train", open_npy(files.file("x.npy", npy("|u1", "(1, 2, 2)",
                                                                 bytes_of<std::uint8_t>({0, 51, 102, 255}))),
                                         files.file("y.npy", npy("|u1", "(1, 1)", "\x07")), {})});
    const std::string out = files.folder.file("out.h5");
    EXPECT_EQ(import_records(sources, {}, out).facts.scaling, Scaling::public_constants);
    const DatasetReader reader(out);
    EXPECT_EQ(reader.info().range, (FeatureRange{0, 1}));
    EXPECT_EQ(reader.info().ids, IdKind::row_number);
    EXPECT_THAT(reader.info().image_shape, ElementsAre(1, 2, 2));
    EXPECT_THAT(reader.read_all().features.values(), ElementsAre(0, 0.2f, 0.4f, 1));
    EXPECT_THAT(reader.read_all().labels, ElementsAre(7));
}

TEST(ImportNpy, IdsAreGivenOrComeFromTheContentAsStored) {
    Files files;
    const ArrayName narrow = files.file("x.npy", npy("<f4", "(2, 1)", bytes_of<float>({0.1f, 2}))),
                    wide = files.file("w.npy", npy("<f8", "(2, 1)", bytes_of<double>({0.1f, 2}))),
                    id = files.file("id.npy", npy("<u8", "(2,)", bytes_of<std::uint64_t>({8, 3})));
    const std::string out = files.folder.file("out.h5");
    const auto info = [&](const ArrayName& x, const ArrayName& ids, bool from_content) {
        std::vector<NamedSource> sources;
        sources.push_back({"train", open_npy(x, {}, ids)});
        ImportOptions options;
        options.ids_from_content = from_content;
        import_records(sources, options, out);
        return DatasetReader(out).info();
    };
    EXPECT_EQ(info(narrow, id, false).ids, IdKind::given);
    EXPECT_EQ(error_of([&] { info(narrow, id, true); }).where(), "--id-from-content");
    EXPECT_EQ(info(narrow, {}, true).ids, IdKind::content);
    const auto ids = DatasetReader(out).read_ids(0, 2);
    EXPECT_EQ(info(wide, {}, true).wide, true);
    EXPECT_EQ(DatasetReader(out).read_ids(0, 2), ids);  // the same numbers are the same content
}

TEST(ImportNpy, BadArraysAreNamed) {
    Files files;
    const std::string good = npy("<f8", "(2, 2)", bytes_of<double>({1, 2, 3, 4}));
    EXPECT_THAT(files.error("not an array at all").message(), HasSubstr("not an NPY array"));
    EXPECT_THAT(files.error("").message(), HasSubstr("not an NPY array"));
    EXPECT_THAT(files.error(npy("<f8", "(2, 2)", "", 1, "True")).message(), HasSubstr("Fortran order"));
    EXPECT_THAT(files.error(npy(">f8", "(2, 2)", bytes_of<double>({1, 2, 3, 4}))).message(),
                HasSubstr(">f8"));
    EXPECT_THAT(files.error(npy("|O", "(2, 2)", "pickle")).message(), HasSubstr("|O"));
    EXPECT_THAT(files.error(npy("<f8", "(0, 2)", "")).message(), HasSubstr("no rows"));
    EXPECT_THAT(files.error(npy("<f8", "()", bytes_of<double>({1}))).message(), HasSubstr("no rows"));
    EXPECT_THAT(files.error(npy("<f8", "(2, 2)", bytes_of<double>({1, 2, 3, 4}), 9)).message(),
                HasSubstr("version 9"));
    EXPECT_THAT(files.error(npy("<f8", "(4611686018427387904, 8)", "")).message(), HasSubstr("any machine"));
    for (std::size_t size = 6; size < good.size(); ++size) {
        EXPECT_EQ(files.error(good.substr(0, size)).code(), ExitCode::input) << size;
    }
    EXPECT_THAT(files.error(good.substr(0, good.size() - 1)).message(),
                HasSubstr("truncated: it ends inside row 1"));
}

TEST(ImportNpy, BadLabelsAreNamed) {
    Files files;
    const std::string good = npy("<f8", "(2, 1)", bytes_of<double>({1, 2}));
    EXPECT_THAT(files.error(good, npy("<i8", "(3,)", bytes_of<std::int64_t>({0, 1, 1}))).message(),
                HasSubstr("has 3 labels, the features have 2 rows"));
    EXPECT_THAT(files.error(good, npy("<f4", "(2,)", bytes_of<float>({0, 0.5}))).message(),
                HasSubstr("row 1 is not an integer"));
    EXPECT_THAT(files.error(good, npy("<i8", "(2, 2)", bytes_of<std::int64_t>({0, 1, 1, 0}))).message(),
                HasSubstr("more than one value"));
    std::vector<NamedSource> sources;
    sources.push_back(
        {"train", open_npy(files.file("x.npy", good),
                           files.file("y.npy", npy("<i8", "(2,)", bytes_of<std::int64_t>({0, -1}))), {})});
    EXPECT_THAT(error_of([&] { import_records(sources, {}, files.folder.file("o.h5")); }).message(),
                HasSubstr("row 1 has label -1"));
}

TEST(ImportNpy, NotFiniteFeaturesCountAsMissingOrAreNamed) {
    Files files;
    const std::string out = files.folder.file("o.h5");
    const auto import = [&](double value, const ImportOptions& options) {
        std::vector<NamedSource> sources;
        sources.push_back(
            {"train",
             open_npy(files.file("x.npy", npy("<f8", "(2, 1)", bytes_of<double>({1, value}))), {}, {})});
        return import_records(sources, options, out);
    };
    ImportOptions refusing;
    refusing.missing.refused = true;
    for (const double value : {NAN, INFINITY, -INFINITY}) {
        EXPECT_THAT(error_of([&] { import(value, refusing); }).message(),
                    HasSubstr(std::isnan(value) ? "row 1, column 'f0' is missing or NaN"
                                                : "row 1, column 'f0' is infinite"));
        EXPECT_EQ(import(value, {}).filled, 1U);
        EXPECT_THAT(DatasetReader(out).read_all().features.wide_values(), ElementsAre(1, 0));
        ImportOptions ranged;
        ranged.ranges["f0"] = {0, 4};
        EXPECT_EQ(import(value, ranged).filled, 1U);  // the middle of the range
        EXPECT_THAT(DatasetReader(out).read_all().features.wide_values(), ElementsAre(0.25, 0.5));
    }
}

class Npz : public testing::TestWithParam<bool> {
  protected:
    std::string archive() const {
        std::vector<float> x(30000);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97);
        return npz({{"x_train.npy", npy("<f4", "(10000, 3)", bytes_of(x))},
                    {"y_train.npy", npy("<i8", "(10000,)", bytes_of(std::vector<std::int64_t>(10000, 1)))},
                    {"x_test.npy", npy("<f4", "(1, 3)", bytes_of<float>({7, 8, 9}))}},
                   GetParam());
    }
    Files files;
};

TEST_P(Npz, MembersAreRead) {
    const std::string path = files.folder.write("a.npz", archive());
    EXPECT_THAT(npz_splits(path), ElementsAre("train", "test"));
    EXPECT_TRUE(npz_has(path, "y_train"));
    EXPECT_FALSE(npz_has(path, "y_test"));
    const auto source = open_npy({path, "x_train"}, {path, "y_train"}, {});
    for (int pass = 0; pass < 2; ++pass) {
        const auto records = all_of(*source);
        ASSERT_EQ(records.size(), 10000u);
        EXPECT_THAT(records[9999].features, ElementsAre(29997 % 97, 29998 % 97, 29999 % 97));
        EXPECT_EQ(records[9999].label, 1);
        source->rewind();
    }
}

TEST_P(Npz, EveryTruncationIsAnError) {
    const std::string whole = archive();
    for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 50) {
        const std::string path = files.folder.write("a.npz", whole.substr(0, size));
        EXPECT_EQ(error_of([&] {
                      all_of(*open_npy({path, "x_train"}, {}, {}));
                  }).code(),
                  ExitCode::input)
            << size;
    }
}

TEST_P(Npz, ADamagedMemberIsNoticed) {
    std::string bytes = archive();
    bytes[200] ^= 0x10;
    const std::string path = files.folder.write("a.npz", bytes);
    EXPECT_EQ(error_of([&] { all_of(*open_npy({path, "x_train"}, {}, {})); }).code(), ExitCode::input);
}

TEST_P(Npz, AnUnknownMemberSuggestsTheNearest) {
    const std::string path = files.folder.write("a.npz", archive());
    EXPECT_THAT(error_of([&] { open_npy({path, "x_trian"}, {}, {}); }).hint(), HasSubstr("'x_train'"));
}
INSTANTIATE_TEST_SUITE_P(Compression, Npz, testing::Bool());

TEST(ImportNpz, OtherFilesAreRefused) {
    TemporaryFolder folder;
    const std::string path = folder.write("a.npz", "no archive, but some text that is long enough");
    EXPECT_THAT(error_of([&] { npz_splits(path); }).message(), HasSubstr("not a ZIP archive"));
    EXPECT_EQ(error_of([&] { npz_splits(folder.file("none.npz")); }).code(), ExitCode::input);
}

TEST(ImportHdf5, SplitsGetIdsThatAreUniqueOverTheFile) {
    TemporaryFolder folder;
    const std::string path = folder.file("in.h5"), out = folder.file("out.h5");
    const std::string data = std::string(HOLDFAST_SHARED) + "/data/crypto.h5";
    if (!std::filesystem::exists(data)) GTEST_SKIP() << "no datasets under " << HOLDFAST_SHARED;
    std::vector<NamedSource> sources;
    for (const std::string& split : hdf5_splits(data))
        sources.push_back({split, open_hdf5_split(data, split)});
    const ImportSummary summary = import_records(sources, {}, out);
    EXPECT_EQ(summary.rows.at("train"), 2800u);
    EXPECT_EQ(summary.rows.at("test"), 1200u);
    EXPECT_EQ(summary.facts.scaling, Scaling::unknown);
    EXPECT_EQ(DatasetReader(out).read_ids(2799, 1)[0], 2799u);
    EXPECT_EQ(DatasetReader(out, "test").read_ids(0, 1)[0], 2800u);
    EXPECT_EQ(DatasetReader(out).read_all().features.values(),
              DatasetReader(data).read_all().features.values());
    EXPECT_EQ(DatasetReader(out).read_all().labels, DatasetReader(data).read_all().labels);
}

}  // namespace import_npy_test
}  // namespace holdfast
