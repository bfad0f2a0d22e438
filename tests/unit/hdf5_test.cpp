#include "dist/files/hdf5.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include "kernels/base/error.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast::hdf5 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
class Hdf5Values : public testing::Test {};
using Types =
    testing::Types<std::int8_t, std::uint8_t, std::int32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Hdf5Values, Types);

TYPED_TEST(Hdf5Values, SlabsOfThreeAxesComeBack) {
    TemporaryFolder folder;
    const Shape shape{3, 4, 5};
    std::vector<TypeParam> all(60);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<TypeParam>(i);
    {
        File file = File::create(folder.file("a.h5"));
        Dataset dataset =
            file.create_dataset("group/values", TypeOf<TypeParam>::value, shape, {{1, 4, 5}, 4, false});
        for (std::uint64_t member = 0; member < 3; ++member) {
            dataset.write({member, 0, 0}, {1, 4, 5}, all.data() + 20 * member);
        }
        dataset.close();
        file.close();
    }
    const File file = File::open_read(folder.file("a.h5"));
    const Dataset dataset = file.dataset("group/values");
    EXPECT_EQ(dataset.shape(), shape);
    EXPECT_EQ(dataset.type(), TypeOf<TypeParam>::value);
    EXPECT_EQ(dataset.template read_all<TypeParam>(), all);
    std::vector<TypeParam> part(4);
    dataset.read({1, 2, 3}, {1, 2, 2}, part.data());
    EXPECT_THAT(part, ElementsAre(all[33], all[34], all[38], all[39]));
}

TEST(Hdf5, ADatasetGrowsAlongItsFirstAxis) {
    TemporaryFolder folder;
    File file = File::create(folder.file("a.h5"));
    Dataset dataset = file.create_dataset("x", Type::int64, {0, 2}, {{8, 2}, 0, true});
    const std::vector<std::int64_t> row{7, -9};
    for (std::uint64_t i = 0; i < 20; ++i) {
        dataset.resize(i + 1);
        dataset.write({i, 0}, {1, 2}, row.data());
    }
    EXPECT_EQ(dataset.shape(), (Shape{20, 2}));
    EXPECT_EQ(dataset.read_all<std::int64_t>()[39], -9);
}

TEST(Hdf5, AttributesComeBackAndAreReplaced) {
    TemporaryFolder folder;
    {
        File file = File::create(folder.file("a.h5"));
        file.write_attribute("text", "first");
        file.write_attribute("text", "größer");
        file.write_attribute("count", std::int64_t{-5});
        file.write_attribute("rate", 0.1);
        file.write_attribute("shape", std::vector<std::int64_t>{1, 28, 28});
        file.write_attribute("range", std::vector<double>{-0.5, 1});
        file.close();
    }
    const File file = File::open_read(folder.file("a.h5"));
    EXPECT_EQ(file.read_text_attribute("text"), "größer");
    EXPECT_EQ(file.read_int64_attribute("count"), -5);
    EXPECT_EQ(file.read_double_attribute("rate"), 0.1);
    EXPECT_THAT(file.read_int64s_attribute("shape"), ElementsAre(1, 28, 28));
    EXPECT_THAT(file.read_doubles_attribute("range", 2), ElementsAre(-0.5, 1));
    EXPECT_THAT(error_of([&] { file.read_doubles_attribute("range", 3); }).message(), HasSubstr("3 numbers"));
    EXPECT_THAT(error_of([&] { file.read_double_attribute("range"); }).message(), HasSubstr("one number"));
    EXPECT_THAT(error_of([&] { file.read_doubles_attribute("text", 2); }).message(), HasSubstr("2 numbers"));
    EXPECT_FALSE(file.has_attribute("none"));
    EXPECT_THAT(error_of([&] { file.read_int64_attribute("text"); }).message(), HasSubstr("'text'"));
    EXPECT_THAT(error_of([&] { file.read_text_attribute("none"); }).message(), HasSubstr("'none'"));
    EXPECT_THAT(error_of([&] { file.read_int64_attribute("shape"); }).message(), HasSubstr("one integer"));
}

TEST(Hdf5, OpenUpdateWritesIntoWhatIsThere) {
    TemporaryFolder folder;
    const std::vector<std::int64_t> old(6, 1), fresh(3, 8);
    {
        File file = File::create(folder.file("a.h5"));
        file.create_dataset("boxes", Type::int64, {2, 3}).write({0, 0}, {2, 3}, old.data());
        file.close();
    }
    {
        File file = File::open_update(folder.file("a.h5"));
        file.dataset("boxes").write({1, 0}, {1, 3}, fresh.data());
        file.close();
    }
    EXPECT_THAT(File::open_read(folder.file("a.h5")).dataset("boxes").read_all<std::int64_t>(),
                ElementsAre(1, 1, 1, 8, 8, 8));
}

TEST(Hdf5, BadFilesAreNamedWithARemedy) {
    TemporaryFolder folder;
    const auto message = [&](const std::string& path) {
        const Error error = error_of([&] { File::open_read(path); });
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_EQ(error.where(), path);
        EXPECT_FALSE(error.hint().empty());
        return error.message();
    };
    EXPECT_THAT(message(folder.file("none.h5")), HasSubstr("No such file"));
    EXPECT_THAT(message(folder.path()), HasSubstr("not a regular file"));
    EXPECT_THAT(message(folder.write("empty.h5", "")), HasSubstr("is empty"));
    EXPECT_THAT(message(folder.write("text.h5", "a,b\n1,2\n")), HasSubstr("not an HDF5 file"));
}

TEST(Hdf5, EveryTruncationIsAnErrorOrReadsTheSameBytes) {
    TemporaryFolder folder;
    std::vector<double> values(5000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
    {
        File file = File::create(folder.file("a.h5"));
        file.create_dataset("x", Type::float64, {5000}, {{500}, 1, false}).write({0}, {5000}, values.data());
        file.close();
    }
    const std::string whole = folder.read("a.h5");
    for (std::size_t size = 1; size < whole.size(); size += 97) {
        const std::string path = folder.write("cut.h5", whole.substr(0, size));
        const Error error = error_of([&] { File::open_read(path).dataset("x").read_all<double>(); });
        EXPECT_EQ(error.code(), ExitCode::input);
    }
    const Error error =
        error_of([&] { File::open_read(folder.write("cut.h5", whole.substr(0, whole.size() - 1))); });
    EXPECT_THAT(error.message(), HasSubstr("truncated"));
}

TEST(Hdf5, ADamagedChunkIsNoticed) {
    TemporaryFolder folder;
    const std::vector<double> values(4096, 0.7);
    {
        File file = File::create(folder.file("a.h5"));
        file.create_dataset("x", Type::float64, {4096}, {{4096}, 0, false}).write({0}, {4096}, values.data());
        file.close();
    }
    std::string bytes = folder.read("a.h5");
    const std::string pattern(reinterpret_cast<const char*>(values.data()), 64);
    const auto at = bytes.find(pattern);
    ASSERT_NE(at, std::string::npos);
    bytes[at + 20] ^= 1;
    const std::string path = folder.write("b.h5", bytes);
    EXPECT_EQ(error_of([&] { File::open_read(path).dataset("x").read_all<double>(); }).code(),
              ExitCode::input);
}

TEST(Hdf5, LinksOutOfTheFileAreNotFollowed) {
    TemporaryFolder folder;
    {
        File file = File::create(folder.file("secret.h5"));
        const double value = 42;
        file.create_dataset("x_train", Type::float64, {1}).write({0}, {1}, &value);
        file.close();
    }
    if (std::system("python3 -c 'import h5py' 2>/dev/null") != 0)
        GTEST_SKIP() << "needs python3-h5py to make links";
    const std::string script =
        "import h5py; f = h5py.File('" + folder.file("link.h5") +
        "', 'w'); f['x_train'] = h5py.ExternalLink('secret.h5', '/x_train'); f['soft'] = "
        "h5py.SoftLink('/x_train')";
    ASSERT_EQ(std::system(("python3 -c \"" + script + "\"").c_str()), 0);
    const File file = File::open_read(folder.file("link.h5"));
    for (const char* name : {"x_train", "soft"}) {
        EXPECT_THAT(error_of([&] { file.dataset(name); }).message(), HasSubstr("not followed")) << name;
    }
}

TEST(Hdf5, AShapeThatTheFileDoesNotHoldIsRefusedWhenItIsOpened) {
    const TemporaryFolder folder;
    const std::string path = folder.file("a.h5");
    const auto make = [&](const Shape& shape, const Storage& storage, std::uint64_t written) {
        {
            File file = File::create(path);
            Dataset values = file.create_dataset("x", Type::float32, shape, storage);
            const std::vector<float> row(shape[1] * written, 1);
            values.write({0, 0}, {written, shape[1]}, row.data());
            file.create_dataset("y", Type::int32, {0});
        }
        File file = File::open_read(path);
        EXPECT_EQ(file.dataset("y").size(), 0U);
        return file;
    };
    EXPECT_EQ(make({4, 100}, {}, 4).dataset("x").size(), 400U);
    EXPECT_EQ(make({4, 100000}, {{1, 1000}, 9}, 4).dataset("x").size(), 400000U);
    for (const Storage& storage : {Storage{}, Storage{{1, 1000}}, Storage{{1, 1000}, 9}}) {
        const std::uint64_t written = storage.chunk.empty() ? 0 : 3;
        const File file = make({4, 100000}, storage, written);
        const Error error = error_of([&] { file.dataset("x"); });
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_THAT(error.message(), HasSubstr("[4, 100000]"));
    }
}

TEST(Hdf5, AMissingDatasetIsNamed) {
    TemporaryFolder folder;
    const File file = File::create(folder.file("a.h5"));
    EXPECT_FALSE(file.has("x"));
    EXPECT_FALSE(file.has("x/y"));
    EXPECT_THAT(error_of([&] { file.dataset("x/y"); }).message(), HasSubstr("'x'"));
}

TEST(Hdf5, AWriteIntoAMissingFolderIsAnOutputError) {
    TemporaryFolder folder;
    EXPECT_EQ(error_of([&] { File::create(folder.file("none/a.h5")); }).code(), ExitCode::output);
}

/// Reads all that a reader may ask for. The errors of a damaged file are input errors.
int read_all_of(const std::string& path) {
    const File file = File::open_read(path);
    int refused = 0;
    const auto attempt = [&](const auto& read) {
        try {
            read();
        } catch (const Error& error) {
            if (error.code() != ExitCode::input) throw;
            ++refused;
        }
    };
    attempt([&] { file.names(); });
    attempt([&] { file.read_text_attribute("name"); });
    attempt([&] { file.read_doubles_attribute("range", 2); });
    for (const char* name : {"x", "group/values", "none"}) {
        attempt([&] { file.has(name); });
        attempt([&] { file.dataset(name).read_all<double>(); });
    }
    return refused > 0 ? static_cast<int>(ExitCode::input) : 0;
}

std::string small_file(const std::string& path) {
    {
        File file = File::create(path);
        const std::vector<double> values(600, 0.5);
        file.create_dataset("x", Type::float64, {100, 6}, {{10, 6}, 4, false})
            .write({0, 0}, {100, 6}, values.data());
        file.create_dataset("group/values", Type::float64, {20, 3}).write({0, 0}, {20, 3}, values.data());
        file.write_attribute("name", "damaged");
        file.write_attribute("range", std::vector<double>{0, 1});
        file.close();
    }
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// The bytes of a file that were damaged in one of four ways.
std::string damaged(std::string bytes, std::mt19937& random) {
    const std::size_t at = random() % bytes.size(),
                      count = std::min<std::size_t>(random() % 64, bytes.size() - at);
    switch (random() % 4) {
        case 0:
            return bytes.substr(0, at);
        case 1:
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
            return bytes;
        case 2:
            for (std::size_t i = at; i < at + count; ++i) bytes[i] = static_cast<char>(random());
            return bytes;
        default:  // a size or an address of all ones
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min<std::size_t>(count, 8),
                        '\xff');
            return bytes;
    }
}

TEST(Hdf5, NoDamagedFileWithoutASealEndsItsReaderByASignal) {
    TemporaryFolder folder;
    const std::string path = folder.file("a.h5"), whole = small_file(path);
    std::mt19937 random(11);
    std::string crashes;
    for (std::uint64_t i = 0; i < cases_of(1000); ++i) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged(whole, random);
        const int status = wait_for(fork_child([&] {
            try {
                return read_all_of(path);
            } catch (const Error& error) {
                const bool crashed = error.message().find("HDF5 crashes") != std::string::npos;
                return crashed ? 77 : static_cast<int>(error.code());
            }
        }));
        if (status == 77) crashes += " " + std::to_string(i);
        ASSERT_THAT(status, testing::AnyOf(0, static_cast<int>(ExitCode::input), 77)) << "damage " << i;
    }
    std::cout << "HDF5 crashes over the damaged files" << crashes << "\n";
}

}  // namespace
}  // namespace holdfast::hdf5
