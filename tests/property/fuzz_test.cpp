// Damaged inputs for every reader of files from elsewhere: each ends in success or a holdfast::Error. Some
// hundred a reader here, or HOLDFAST_EFFORT times as many; `tools/fuzz SECONDS` goes on under the sanitizers.
//   HOLDFAST_FUZZ_SECONDS   for each reader, instead of a number of inputs
//   HOLDFAST_FUZZ_SEED      of the changes
//   HOLDFAST_FUZZ_FOLDER    where the input at work is written; it stays there after a crash or a hang

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "kernels/base/error.hpp"
#include "tests/fuzz/isolated.hpp"
#include "tests/fuzz/mutator.hpp"
#include "tests/fuzz/stores.hpp"
#include "tests/support/effort.hpp"

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

enum class Outcome { read, refused, crashed_in_library };
constexpr unsigned hang_seconds = 20;

Outcome attempt(const fuzz::Target& target, const std::string& path) {
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

/// The same in a process of its own.
Outcome attempt_isolated(const fuzz::Target& target, const std::string& path) {
    const auto action = [&]() -> int {
        try {
            target.read(path);
            return 0;
        } catch (const Error& error) {
            return error.code() == ExitCode::internal ? 3 : 1;
        } catch (const std::exception&) {
            return 2;
        }
    };
    int status = 0;
    const fuzz::Ending ending = fuzz::isolated(action, hang_seconds, status);
    if (ending == fuzz::Ending::crashed_in_library) return Outcome::crashed_in_library;
    if (ending == fuzz::Ending::crashed) throw std::runtime_error("a crash or a hang");
    if (status > 1) throw std::runtime_error(status == 3 ? "an internal error" : "another exception");
    return status == 0 ? Outcome::read : Outcome::refused;
}

Outcome attempt_any(const fuzz::Target& target, const std::string& path) {
    return target.uses_hdf5() ? attempt_isolated(target, path) : attempt(target, path);
}

void run(const fuzz::Target& target) {
    const std::vector<std::string> corpus = target.seeds();
    const Workplace workplace(target.file_name());
    for (const std::string& seed : corpus) {
        workplace.put(seed);
        EXPECT_EQ(attempt_any(target, workplace.path), Outcome::read) << "a sound input is refused";
    }
    const std::uint64_t seed = std::stoull(setting("HOLDFAST_FUZZ_SEED", "1"));
    const std::chrono::duration<double> length(std::stod(setting("HOLDFAST_FUZZ_SECONDS", "0")));
    fuzz::Mutator mutator(seed);
    std::size_t refused = 0, in_library = 0, tried = 0;
    const auto start = std::chrono::steady_clock::now();
    const auto goes_on = [&] {
        return length.count() > 0 ? std::chrono::steady_clock::now() - start < length : tried < cases_of(100);
    };
    for (; goes_on() && !::testing::Test::HasFailure(); ++tried) {
        const std::string input = mutator.next(corpus);
        workplace.put(input);
        try {
            const Outcome outcome = attempt_any(target, workplace.path);
            refused += outcome == Outcome::refused;
            in_library += outcome == Outcome::crashed_in_library;
        } catch (const std::exception& error) {
            const std::string kept = setting("HOLDFAST_FUZZ_FOLDER", std::filesystem::temp_directory_path()) +
                                     "/holdfast-fuzz-" + std::to_string(seed) + "-" + std::to_string(tried);
            std::ofstream(kept, std::ios::binary) << input;
            ADD_FAILURE() << "no holdfast::Error but " << typeid(error).name() << ": " << error.what()
                          << "; the input is " << kept;
        }
    }
    std::printf("%zu inputs, %zu refused\n", tried, refused);
    if (in_library > 0) std::printf("%zu crashed inside libhdf5 itself\n", in_library);
    EXPECT_GT(tried, 20U);
    EXPECT_LE(in_library, tried / 20);
    EXPECT_GT(refused, tried / 10) << "the changes damage nothing";
}

TEST(Isolated, TellsAnEndFromACrashAndFromAHang) {
    int status = 0;
    EXPECT_EQ(fuzz::isolated([] { return 5; }, 5, status), fuzz::Ending::finished);
    EXPECT_EQ(status, 5);
    EXPECT_EQ(fuzz::isolated([]() -> int { std::abort(); }, 5, status), fuzz::Ending::crashed);
    EXPECT_EQ(fuzz::isolated([] { return pause(); }, 1, status), fuzz::Ending::crashed);
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
TEST(Fuzz, Member) {
    run(fuzz::MemberTarget());
}
TEST(Fuzz, Model) {
    run(fuzz::ModelTarget());
}
TEST(Fuzz, Configuration) {
    run(fuzz::ConfigurationTarget());
}
TEST(Fuzz, Manifest) {
    run(fuzz::ManifestTarget());
}

}  // namespace
}  // namespace holdfast
