#include "models/privacy/noise/secret_key.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"
#include "models/privacy/noise/secret_stream.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/secret_keys.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace secret_key_test {

using testing::HasSubstr;

std::string text(const SecretKey& key) {
    return {key.bytes().begin(), key.bytes().end()};
}

mode_t mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
}

TEST(SecretKey, FreshKeysDiffer) {
    std::set<std::string> keys;
    for (int i = 0; i < 100; ++i) keys.insert(text(SecretKey::fresh()));
    EXPECT_EQ(keys.size(), 100U);
}

/// Of the memory that holds this address, as the kernel tells: "rd wr … lo … dd".
std::string memory_flags(const void* address) {
    std::ifstream maps("/proc/self/smaps");
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t first = 0, last = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) inside = first <= at && at < last;
        if (inside && line.starts_with("VmFlags:")) return line + " ";
    }
    return "";
}

TEST(SecretKey, IsInGuardedMemoryAndMovesWithoutACopy) {
    SecretKey key = test::known_key(1);
    const std::string before = text(key);
    const unsigned char* const place = key.bytes().data();
    EXPECT_THAT(memory_flags(place), HasSubstr(" dd ")) << "a core file would have it";
    EXPECT_THAT(memory_flags(place), HasSubstr(" lo ")) << "it may be swapped (ulimit -l)";
    SecretKey moved = std::move(key);
    EXPECT_EQ(moved.bytes().data(), place);
    SecretKey other = SecretKey::fresh();
    other = std::move(moved);
    EXPECT_EQ(other.bytes().data(), place);
    EXPECT_EQ(text(other), before);
    static_assert(!std::is_copy_constructible_v<SecretKey> && !std::is_copy_assignable_v<SecretKey>);
}

TEST(SecretKey, MemoryOfAKeyThatIsGoneIsGivenAgainEmptyAndGuarded) {
    const unsigned char* place = nullptr;
    {
        const SecretKey key = SecretKey::fresh();
        place = key.bytes().data();
    }
    const GuardedBytes again = guarded_bytes(SecretKey::size);
    EXPECT_EQ(again.get(), place);
    EXPECT_THAT(std::vector<int>(place, place + SecretKey::size), testing::Each(0));
    EXPECT_THAT(memory_flags(place), HasSubstr(" dd "));
    EXPECT_THAT(memory_flags(place), HasSubstr(" lo "));
}

/// Who asks for the memory of a key that is gone is ended by the kernel.
TEST(SecretKeyDeathTest, IsGoneWithItsOwner) {
    const unsigned char* place = nullptr;
    {
        const SecretKey key = SecretKey::fresh();
        place = key.bytes().data();
    }
    EXPECT_EXIT(std::exit(*static_cast<const volatile unsigned char*>(place) == 0),
                testing::KilledBySignal(SIGSEGV), "");
}

TEST(SecretKey, AProcessThatHasOneLeavesNoCoreFile) {
    const pid_t child = fork();
    if (child == 0) {
        rlimit cores{4096, 1 << 30};
        setrlimit(RLIMIT_CORE, &cores);
        const SecretKey key = SecretKey::fresh();
        getrlimit(RLIMIT_CORE, &cores);
        std::_Exit(cores.rlim_cur == 1 && cores.rlim_max == 1 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(SecretKey, AFileGivesItBackToItsOwnerAlone) {
    const TemporaryFolder folder;
    const SecretKey key = SecretKey::fresh();
    key.write_new(folder.file("key"));
    EXPECT_EQ(mode_of(folder.file("key")), 0600U);
    EXPECT_EQ(text(SecretKey::read(folder.file("key"))), text(key));
    EXPECT_EQ(folder.read("key"), test::key_file_bytes(text(key)));
    EXPECT_EQ(folder.names(), std::vector<std::string>{"key"});
}

TEST(SecretKey, AFileIsNeverReplaced) {
    const TemporaryFolder folder;
    const SecretKey first = SecretKey::fresh();
    first.write_new(folder.file("key"));
    const Error error = error_of([&] { SecretKey::fresh().write_new(folder.file("key")); });
    EXPECT_EQ(error.code(), ExitCode::output);
    EXPECT_EQ(error.where(), folder.file("key"));
    EXPECT_EQ(text(SecretKey::read(folder.file("key"))), text(first));
    EXPECT_EQ(folder.names(), std::vector<std::string>{"key"});
}

TEST(SecretKey, AFolderThatCannotBeWrittenIsAnError) {
    const TemporaryFolder folder;
    const SecretKey key = SecretKey::fresh();
    EXPECT_EQ(error_of([&] { key.write_new(folder.file("missing/key")); }).code(), ExitCode::output);
    folder.write("file", "");
    EXPECT_EQ(error_of([&] { key.write_new(folder.file("file/key")); }).code(), ExitCode::output);
    EXPECT_EQ(error_of([&] { key.write_new(folder.path()); }).code(), ExitCode::output);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
    if (geteuid() == 0) GTEST_SKIP() << "root may write to a read-only folder";
    chmod(folder.path().c_str(), 0500);
    EXPECT_EQ(error_of([&] { key.write_new(folder.file("key")); }).code(), ExitCode::output);
    chmod(folder.path().c_str(), 0700);
}

TEST(SecretKey, AFileOthersMayReadIsRefused) {
    const TemporaryFolder folder;
    const std::string path = folder.file("key");
    SecretKey::fresh().write_new(path);
    for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0610U, 0601U}) {
        chmod(path.c_str(), mode);
        const Error error = error_of([&] { SecretKey::read(path); });
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_THAT(error.what(), HasSubstr("others may read"));
    }
    chmod(path.c_str(), 0400);
    EXPECT_NO_THROW(SecretKey::read(path));
}

TEST(SecretKey, AMissingOrDamagedFileIsAnError) {
    const TemporaryFolder folder;
    const auto code = [&](const std::string& path) {
        const Error error = error_of([&] { SecretKey::read(path); });
        EXPECT_EQ(error.where(), path);
        return error.code();
    };
    EXPECT_EQ(code(folder.file("missing")), ExitCode::input);
    EXPECT_EQ(code(folder.path()), ExitCode::input);

    const std::string whole = test::key_file_bytes(std::string(32, 'k'));
    const auto code_of_bytes = [&](const std::string& bytes) {
        const std::string path = folder.write("key", bytes);
        chmod(path.c_str(), 0600);
        return code(path);
    };
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_EQ(code_of_bytes(whole.substr(0, size)), ExitCode::input) << size;
    EXPECT_EQ(code_of_bytes(whole + "x"), ExitCode::input);
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 4);
        EXPECT_EQ(code_of_bytes(damaged), ExitCode::input) << at;
    }
}

TEST(SecretKey, DerivedKeysAndTokensDifferByKeyPurposeAndContext) {
    const SecretKey key = test::known_key(1), other = test::known_key(2);
    std::set<std::string> all = {text(key), text(other)};
    std::size_t expected = all.size();
    for (const SecretKey* parent : {&key, &other}) {
        // ("ab", "c") and ("a", "bc") are different pairs, though one after the other they read the same.
        for (const auto& [purpose, context] : std::vector<std::pair<std::string, std::string>>{
                 {"", ""}, {"a", "bc"}, {"ab", "c"}, {"abc", ""}, {"", "abc"}, {"noise", "run"}}) {
            all.insert(text(parent->derived(purpose, context)));
            ++expected;
        }
        for (const char* context : {"", "abc", "run"}) {
            const std::string token = parent->token(context);
            EXPECT_EQ(token.size(), 64U);
            EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
            all.insert(token);
            ++expected;
        }
    }
    EXPECT_EQ(all.size(), expected);
    EXPECT_EQ(text(key.derived("noise", "run")), text(test::known_key(1).derived("noise", "run")));
    EXPECT_EQ(key.token("run"), test::known_key(1).token("run"));
    EXPECT_NE(key.derived("noise", "run").token("run"), key.token("run"));
}

TEST(SecretKey, DestroyingItsFileOverwritesAndRemovesIt) {
    const TemporaryFolder folder;
    const std::string path = folder.file("key");
    SecretKey::fresh().write_new(path);
    const std::string size_of_file = folder.read("key");
    ASSERT_EQ(link(path.c_str(), folder.file("witness").c_str()), 0);  // another name of the same bytes
    destroy_key_file(path);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"witness"});
    EXPECT_EQ(folder.read("witness"), std::string(size_of_file.size(), '\0'));
    EXPECT_NO_THROW(destroy_key_file(path));  // there is none: nothing to do
}

TEST(SecretKey, OnlyARegularFileIsDestroyed) {
    const TemporaryFolder folder;
    const std::string target = folder.write("target", "of somebody else");
    ASSERT_EQ(symlink(target.c_str(), folder.file("link").c_str()), 0);
    EXPECT_EQ(error_of([&] { destroy_key_file(folder.file("link")); }).code(), ExitCode::output);
    EXPECT_EQ(folder.read("target"), "of somebody else");
    EXPECT_EQ(error_of([&] { destroy_key_file(folder.path()); }).code(), ExitCode::output);
}

std::string stream_bytes(SecretStream& stream, std::size_t count) {
    std::string bytes(count, '\0');
    stream.fill(std::as_writable_bytes(std::span(bytes)));
    return bytes;
}

TEST(SecretStream, IsChaCha20) {
    // RFC 8439, 2.3.2 and 2.4.2: key 00..1f, nonce 00 00 00 09 00 00 00 4a 00 00 00 00, block 1.
    std::string counting(32, '\0');
    for (std::size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<char>(i);
    const SecretKey key = test::key_of_bytes(counting);
    SecretStream stream(key, 0x4a00000009000000, 0, 1);
    const unsigned char expected[] = {0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15,
                                      0x50, 0x0f, 0xdd, 0x1f, 0xa3, 0x20, 0x71, 0xc4};
    EXPECT_EQ(stream_bytes(stream, 16), std::string(std::begin(expected), std::end(expected)));
}

TEST(SecretStream, GivesTheSameBytesHoweverTheyAreAskedFor) {
    const SecretKey key = test::known_key(1);
    SecretStream at_once(key, 5, 6);
    const std::string expected = stream_bytes(at_once, 2000);
    for (const std::size_t piece : {1, 7, 8, 63, 64, 65, 128, 200}) {
        SecretStream stream(key, 5, 6);
        std::string bytes;
        while (bytes.size() < expected.size())
            bytes += stream_bytes(stream, std::min(piece, expected.size() - bytes.size()));
        EXPECT_EQ(bytes, expected) << piece;
    }
    SecretStream later(key, 5, 6, 3);
    EXPECT_EQ(stream_bytes(later, 100), expected.substr(3 * SecretStream::block_size, 100));
}

TEST(SecretStream, DiffersByKeyPlaceAndPart) {
    std::set<std::string> all;
    const SecretKey key = test::known_key(1), other = test::known_key(2);
    for (const SecretKey* of : {&key, &other}) {
        for (const std::uint64_t place :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
            for (const std::uint32_t part : {0U, 1U, ~0U}) {
                SecretStream stream(*of, place, part);
                all.insert(stream_bytes(stream, 32));
            }
        }
    }
    EXPECT_EQ(all.size(), 24U);
}

TEST(SecretStream, EndsWithAnErrorAndNeverStartsAgain) {
    const SecretKey key = test::known_key(1);
    SecretStream stream(key, 0, 0, ~std::uint32_t{0});
    EXPECT_NO_THROW(stream_bytes(stream, SecretStream::block_size));
    EXPECT_EQ(error_of([&] { stream_bytes(stream, 1); }).code(), ExitCode::internal);
    SecretStream too_much(key, 0, 0, ~std::uint32_t{0} - 1);
    EXPECT_EQ(error_of([&] { stream_bytes(too_much, 3 * SecretStream::block_size); }).code(),
              ExitCode::internal);
}

}  // namespace secret_key_test
}  // namespace holdfast
