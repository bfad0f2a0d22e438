// holdfast fleet --backend cuda as its command line runs it: the bytes of the host's. Skips, saying why,
// where there is no device; HOLDFAST_REQUIRE_GPU=1 makes that a failure.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "jobs/program/job.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/gpu.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using Words = std::vector<std::string>;

struct FleetOnADevice : ::testing::Test {
    TemporaryFolder folder;
    void SetUp() override {
        HOLDFAST_SKIP_WITHOUT_DEVICE("cuda");
        run_job(declare_synth, {"blobs", "--records", "300", "--test", "5", "--seed", "3", "--out",
                                folder.file("blobs.h5")});
    }
    std::string fleet(const std::string& out, const Words& more) const {
        Words words{"--data", folder.file("blobs.h5"),     "--out", folder.file(out),
                    "--set",  "training.epochs=3",         "--set", "training.batches=2",
                    "--set",  "training.learning_rate=0.7"};
        words.insert(words.end(), more.begin(), more.end());
        run_job(declare_fleet, words);
        return folder.read(out + "/fleet.h5");
    }
};

TEST_F(FleetOnADevice, HasTheBytesOfTheHost) {
    for (const std::string clip : {"elementwise", "factored", "none"}) {
        for (const std::string normalise : {"expected", "actual"}) {
            const std::string name = clip + normalise;
            const Words options{"--set", "network.hidden=[70,5]",          "--set", "clip.kind=" + clip,
                                "--set", "training.normalise=" + normalise};
            const auto with = [&](const Words& more) {
                Words all = options;
                all.insert(all.end(), more.begin(), more.end());
                return all;
            };
            const std::string expected = fleet(name, with({"--backend", "cpu"}));
            EXPECT_EQ(fleet(name + "_cuda", with({"--backend", "cuda"})), expected) << name;
            EXPECT_EQ(fleet(name + "_one", with({"--backend", "cuda", "--set", "run.threads=1"})), expected)
                << name;
        }
    }
}

TEST_F(FleetOnADevice, ConvolutionsAreRefusedBeforeAnythingIsWritten) {
    try {
        fleet("refused", {"--backend", "cuda", "--set", "network.image=[1,2,3]", "--set",
                          "network.layers=[\"conv 2 2x2\", \"dense 4\"]"});
        FAIL() << "a convolution";
    } catch (const Error& error) {
        EXPECT_EQ(error.where(), "run.backend") << error.what();
        EXPECT_FALSE(std::filesystem::exists(folder.file("refused")));
    }
}

}  // namespace
}  // namespace holdfast
