#include "dist/data/import_idx.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "dist/data/import_records.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string big(std::uint32_t value) {
    return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
            static_cast<char>(value)};
}

std::string idx(const std::vector<std::uint32_t>& shape, const std::string& data, char type = 8) {
    std::string bytes{'\0', '\0', type, static_cast<char>(shape.size())};
    for (const std::uint32_t size : shape) bytes += big(size);
    return bytes + data;
}

struct Files {
    TemporaryFolder folder;
    std::string images = idx({2, 2, 2}, std::string("\x00\x33\x66\xff\x01\x02\x03\x04", 8));
    std::string labels = idx({2}, std::string("\x05\x00", 2));

    std::vector<RawRecord> read() const {
        const auto source = open_idx(folder.write("images", images), folder.write("labels", labels));
        std::vector<RawRecord> records;
        for (RawRecord record; source->next(record);) records.push_back(record);
        return records;
    }
    Error error() const {
        try {
            read();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::input);
            EXPECT_FALSE(error.hint().empty());
            EXPECT_THAT(error.where(), HasSubstr(folder.path()));
            return error;
        }
        ADD_FAILURE() << "no Error thrown";
        return Error(ExitCode::success, "");
    }
};

TEST(ImportIdx, ReadsImagesAndLabels) {
    Files files;
    const auto records = files.read();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_THAT(records[0].features, ElementsAre(0, 51, 102, 255));
    EXPECT_EQ(records[0].label, 5);
    EXPECT_THAT(records[1].features, ElementsAre(1, 2, 3, 4));
}

TEST(ImportIdx, GzipIsReadAsItIs) {
    Files files;
    const std::string path = files.folder.file("images.gz");
    const gzFile file = gzopen(path.c_str(), "wb");
    ASSERT_EQ(gzwrite(file, files.images.data(), static_cast<unsigned>(files.images.size())),
              static_cast<int>(files.images.size()));
    gzclose(file);
    std::vector<NamedSource> sources;
    sources.push_back({"train", open_idx(path, files.folder.write("labels", files.labels))});
    const std::string out = files.folder.file("out.h5");
    import_records(sources, {}, out);
    const DatasetReader reader(out);
    EXPECT_EQ(reader.info().scaling, Scaling::public_constants);
    EXPECT_THAT(reader.info().image_shape, ElementsAre(1, 2, 2));
    EXPECT_FLOAT_EQ(reader.read_all().features.values()[1], 0.2f);

    const std::string packed = files.folder.read("images.gz");
    const std::string cut = files.folder.write("cut.gz", packed.substr(0, packed.size() / 2));
    EXPECT_THROW(open_idx(cut, "")->next(*std::make_unique<RawRecord>()), Error);
}

TEST(ImportIdx, EveryTruncationIsAnError) {
    for (std::size_t size = 0; size < 24; ++size) {
        Files files;
        files.images.resize(size);
        EXPECT_THAT(files.error().where(), HasSubstr("images")) << size;
    }
    Files files;
    files.labels.pop_back();
    EXPECT_THAT(files.error().message(), HasSubstr("truncated: it ends inside row 1"));
}

TEST(ImportIdx, BadHeadersAreNamed) {
    Files text;
    text.images = "no idx file";
    EXPECT_THAT(text.error().message(), HasSubstr("wrong magic"));
    Files floats;
    floats.images = idx({1, 1}, "abcd", 0x0d);
    EXPECT_THAT(floats.error().message(), HasSubstr("IDX type 13"));
    Files empty;
    empty.images = idx({0, 2, 2}, "");
    EXPECT_THAT(empty.error().message(), HasSubstr("no rows"));
    Files huge;
    huge.images = idx({1, 0xffffffff, 0xffffffff}, "");
    EXPECT_THAT(huge.error().message(), HasSubstr("damaged header"));
    Files disagree;
    disagree.labels = idx({3}, "abc");
    EXPECT_THAT(disagree.error().message(), HasSubstr("has 3 rows"));
    Files swapped;
    std::swap(swapped.images, swapped.labels);
    EXPECT_THAT(swapped.error().message(), HasSubstr("2 rows of 4 bytes"));
}

}  // namespace
}  // namespace holdfast
