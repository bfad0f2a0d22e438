#include "dist/files/seal.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "dist/files/digest.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast::seal_test {
namespace {

constexpr std::size_t block = std::size_t{4} << 20;

std::string bytes_of(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::string in_digits(const std::string& bytes) {
    return hex_of({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
}

/// A file of so many bytes of noise.
void write_noise(const std::string& path, std::size_t bytes) {
    std::mt19937_64 engine(bytes);
    std::vector<std::uint64_t> noise(bytes / sizeof(std::uint64_t) + 1);
    for (std::uint64_t& word : noise) word = engine();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(noise.data()), static_cast<std::streamsize>(bytes));
}

/// Turns a bit of a file over.
void damage(const std::string& path, std::size_t at) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
}

std::string problem_of(const std::string& path, SealShare share = {}) {
    try {
        const SealedFile file(path, share);
    } catch (const Error& error) {
        return error.message();
    }
    return "";
}

/// Some of them side by side, some alone.
TEST(Seals, AreTheDigestsOfEveryBlockWhateverTheirNumber) {
    const TemporaryFolder folder;
    const std::string path = folder.file("noise");
    for (const std::size_t bytes : {std::size_t{5}, block, 8 * block, 9 * block + 3}) {
        write_noise(path, bytes);
        const std::string plain = bytes_of(path);
        add_seal(path, path);
        const std::string sealed = bytes_of(path);
        ASSERT_EQ(sealed.substr(0, bytes), plain);
        std::string digests;
        for (std::size_t at = 0; at < bytes; at += block)
            digests += StreamDigest::of(plain.substr(at, block));
        EXPECT_EQ(in_digits(sealed.substr(bytes, digests.size() / 2)), digests);
        EXPECT_EQ(sealed.size(), bytes + digests.size() / 2 + 56);
        EXPECT_EQ(problem_of(path), "");
    }
}

TEST(Seals, KnowADamagedBlockAndEveryRankItsOwn) {
    const TemporaryFolder folder;
    const std::string path = folder.file("noise");
    write_noise(path, 18 * block + 7);
    add_seal(path, path);
    for (const std::size_t damaged : {0, 15, 18}) {
        damage(path, damaged * block + 6);
        const std::string place = "at " + std::to_string(damaged * block) + " or behind";
        EXPECT_NE(problem_of(path).find(place), std::string::npos) << problem_of(path);
        for (const int rank : {0, 1})
            EXPECT_EQ(problem_of(path, {rank, 2}).empty(), static_cast<int>(damaged % 2) != rank) << damaged;
        damage(path, damaged * block + 6);
    }
    EXPECT_EQ(problem_of(path), "");
}

}  // namespace
}  // namespace holdfast::seal_test
