// Damaged inputs for every reader of files from elsewhere: each ends in success or a holdfast::Error. A
// second or so a reader here; `tools/fuzz SECONDS` goes on for longer, under the sanitizers.
//   HOLDFAST_FUZZ_SECONDS   for each reader
//   HOLDFAST_FUZZ_SEED      of the changes
//   HOLDFAST_FUZZ_FOLDER    where the input at work is written; it stays there after a crash or a hang

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "kernels/base/error.hpp"
#include "tests/fuzz/mutator.hpp"
#include "tests/fuzz/stores.hpp"

namespace holdfast {
namespace {

std::string setting(const char* name, const std::string& otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise : value;
}

/// A folder for one reader's input: kept if HOLDFAST_FUZZ_FOLDER names where.
struct Workplace {
    explicit Workplace(const std::string& file)
        : path(setting("HOLDFAST_FUZZ_FOLDER", own.path()) + "/" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name() + "/" + file) {
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    }
    void put(const std::string& input) const { std::ofstream(path, std::ios::binary) << input; }
    TemporaryFolder own;
    std::string path;
};

enum class Outcome { read, refused };

Outcome attempt(const fuzz::Target& target, const std::string& path) {
    constexpr unsigned hang_seconds = 20;
    alarm(hang_seconds);  // ends the process: the input stays where it is
    try {
        target.read(path);
    } catch (const Error& error) {
        alarm(0);
        EXPECT_NE(error.code(), ExitCode::internal) << error.what();
        return Outcome::refused;
    }
    alarm(0);
    return Outcome::read;
}

void run(const fuzz::Target& target) {
    const std::vector<std::string> corpus = target.seeds();
    const Workplace workplace(target.file_name());
    for (const std::string& seed : corpus) {
        workplace.put(seed);
        EXPECT_EQ(attempt(target, workplace.path), Outcome::read) << "a sound input is refused";
    }
    const std::uint64_t seed = std::stoull(setting("HOLDFAST_FUZZ_SEED", "1"));
    const std::chrono::duration<double> length(std::stod(setting("HOLDFAST_FUZZ_SECONDS", "1.2")));
    fuzz::Mutator mutator(seed);
    std::size_t refused = 0, tried = 0;
    for (const auto start = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() - start < length && !::testing::Test::HasFailure(); ++tried) {
        const std::string input = mutator.next(corpus);
        workplace.put(input);
        try {
            refused += attempt(target, workplace.path) == Outcome::refused;
        } catch (const std::exception& error) {
            const std::string kept = setting("HOLDFAST_FUZZ_FOLDER", std::filesystem::temp_directory_path()) +
                                     "/holdfast-fuzz-" + std::to_string(seed) + "-" + std::to_string(tried);
            std::ofstream(kept, std::ios::binary) << input;
            ADD_FAILURE() << "no holdfast::Error but " << typeid(error).name() << ": " << error.what()
                          << "; the input is " << kept;
        }
    }
    std::printf("%zu inputs, %zu refused\n", tried, refused);
    EXPECT_GT(tried, 20U);
    EXPECT_GT(refused, tried / 10) << "the changes damage nothing";
}

TEST(Fuzz, Csv) {
    run(fuzz::CsvTarget());
}
TEST(Fuzz, Npy) {
    run(fuzz::NpyTarget());
}
TEST(Fuzz, Npz) {
    run(fuzz::NpzTarget());
}
TEST(Fuzz, Idx) {
    run(fuzz::IdxTarget());
}
TEST(Fuzz, Dataset) {
    run(fuzz::DatasetTarget());
}
TEST(Fuzz, Checkpoint) {
    run(fuzz::CheckpointTarget());
}
TEST(Fuzz, Configuration) {
    run(fuzz::ConfigurationTarget());
}
TEST(Fuzz, Manifest) {
    run(fuzz::ManifestTarget());
}

}  // namespace
}  // namespace holdfast
