// holdfast fleet as its command line runs it: against train and unlearn, resumed, sampled, and what it
// refuses.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dist/data/dataset.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/runs/finished_fleet.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "kernels/base/error.hpp"
#include "kernels/cuda/cuda.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace fleet_job_test {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct FleetJob : ::testing::Test {
    TemporaryFolder folder;
    std::string data = folder.file("blobs.h5");
    const Words small{"--set", "network.hidden=[6,5]", "--set", "training.epochs=3",
                      "--set", "training.batches=4",   "--set", "training.learning_rate=0.7",
                      "--set", "certificate.levels=0"};

    void SetUp() override {
        run_job(declare_synth, {"blobs", "--records", "70", "--test", "5", "--seed", "3", "--out", data});
    }
    Words with(Words words, const Words& more = {}) const {
        words.insert(words.end(), small.begin(), small.end());
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    void fleet(const std::string& out, const Words& more = {}) const {
        run_job(declare_fleet, with({"--data", data, "--out", folder.file(out)}, more));
    }
    FinishedFleet open(const std::string& out) const { return FinishedFleet::open(folder.file(out)); }
    std::string bytes(const std::string& out) const { return folder.read(out + "/fleet.h5"); }
    std::optional<Error> refused(const std::string& out, const Words& more = {}) const {
        try {
            fleet(out, more);
        } catch (const Error& error) {
            return error;
        }
        return std::nullopt;
    }
    /// Level 0 of a run of holdfast train, as a fleet of its precision stores it.
    std::vector<std::int64_t> nominal(const std::string& run, Precision precision) const {
        const BoxesReader boxes(RunFolder::open(folder.file(run)));
        std::vector<std::int64_t> lower, upper;
        boxes.read(0, 0, lower, upper);
        EXPECT_EQ(lower, upper);
        for (std::int64_t& units : lower) units = stored_units(precision, units);
        return lower;
    }
};

/// The audit of deletion: what unlearn makes is, to the last bit, what the fleet had for that record.
TEST_F(FleetJob, NetworksAreThoseOfTrainAndUnlearn) {
    for (const std::string precision : {"double", "single"}) {
        for (const std::string clip : {"elementwise", "factored"}) {
            const Words options{"--set", "training.precision=" + precision, "--set", "clip.kind=" + clip};
            const std::string name = precision + clip;
            fleet(name, options);
            run_job(declare_train, with({"--data", data, "--out", folder.file(name + "_run")}, options));
            const FinishedFleet found = open(name);
            const Precision as =
                precision == "single" ? Precision::single_precision : Precision::double_precision;
            ASSERT_EQ(found.networks.count(), 70);
            EXPECT_EQ(found.networks.nominal(), nominal(name + "_run", as)) << name;
            for (const std::int64_t i : {0, 33, 69}) {
                const std::string id = std::to_string(found.networks.left_out(i)),
                                  out = name + "_without_" + id;
                folder.write("ids", id + "\n");
                run_job(declare_unlearn,
                        {"--run", folder.file(name + "_run"), "--data", data, "--ids", folder.file("ids"),
                         "--out", folder.file(out), "--out-data", folder.file(out + ".h5")});
                std::vector<std::int64_t> without(found.networks.network().parameters());
                found.networks.read(i, 1, without);
                EXPECT_EQ(without, nominal(out, as)) << name << " without " << id;
                EXPECT_NE(without, found.networks.nominal());
                EXPECT_NE(run_job(declare_verify, {folder.file(name), "--unlearned", folder.file(out)})
                              .find("the network without record " + id + "\n"),
                          std::string::npos);
            }
        }
    }
}

TEST_F(FleetJob, AnAuditFindsWhatWasNotDeleted) {
    fleet("fleet", {"--records", "5"});
    const auto verified = [&](const Words& words) {
        Words all{folder.file("fleet")};
        all.insert(all.end(), words.begin(), words.end());
        try {
            run_job(declare_verify, all);
            return true;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::input);
            return false;
        }
    };
    EXPECT_TRUE(verified({}));
    // All records are still in the first, and the second is without a record that the sample has not.
    run_job(declare_train, with({"--data", data, "--out", folder.file("all")}));
    EXPECT_FALSE(verified({"--unlearned", folder.file("all")}));
    const std::vector<std::uint64_t> left_out = open("fleet").networks.left_out();
    std::string other;
    for (const std::uint64_t id : DatasetReader(data).read_ids(0, 70)) {
        if (std::find(left_out.begin(), left_out.end(), id) == left_out.end()) other = std::to_string(id);
    }
    folder.write("ids", other + "\n");
    run_job(declare_unlearn, {"--run", folder.file("all"), "--data", data, "--ids", folder.file("ids"),
                              "--out", folder.file("other"), "--out-data", folder.file("other.h5")});
    EXPECT_FALSE(verified({"--unlearned", folder.file("other")}));
    run_job(declare_train,
            with({"--data", data, "--out", folder.file("wide")}, {"--set", "network.hidden=[9]"}));
    EXPECT_FALSE(verified({"--unlearned", folder.file("wide")}));
    EXPECT_FALSE(verified({"--unlearned", folder.file("nowhere")}));
    EXPECT_THROW(run_job(declare_verify, {folder.file("all"), "--unlearned", folder.file("other")}), Error);
    EXPECT_THROW(run_job(declare_verify, {folder.file("fleet"), "--data", data}), Error);
    // A network of the fleet, copied into the folder of another run: no proof of a deletion, least of all
    // where that folder fails its own checks.
    {
        const RunFolder copy = RunFolder::open(folder.file("all"));
        RunManifest stated = RunManifest::read(copy);
        std::vector<std::int64_t> network(stated.parameters);
        open("fleet").networks.read(0, 1, network);
        BoxesWriter boxes(copy, 1, stated.levels, network.size());
        boxes.write(0, 0, network, network);
        stated.digest = boxes.commit();
        stated.write(copy);
    }
    const std::string said =
        run_job(declare_verify, {folder.file("fleet"), "--unlearned", folder.file("all")});
    EXPECT_NE(said.find("open    " + folder.file("all") + ": that it was trained, and not copied"),
              std::string::npos)
        << said;
    fs::remove(folder.file("all/fingerprint"));
    EXPECT_FALSE(verified({"--unlearned", folder.file("all")}));
    // A changed guarantee, then a changed network.
    std::string manifest = folder.read("fleet/manifest.json");
    const std::size_t at = manifest.find("public constant B");
    folder.write("fleet/manifest.json", manifest.substr(0, at) + "private" + manifest.substr(at + 6));
    EXPECT_FALSE(verified({}));
    folder.write("fleet/manifest.json", manifest);
    std::string bytes = folder.read("fleet/fleet.h5");
    bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
    folder.write("fleet/fleet.h5", bytes);
    EXPECT_FALSE(verified({}));
}

TEST_F(FleetJob, AReportNamesTheJobsThatAskAFleet) {
    fleet("fleet", {"--records", "5"});
    run_job(declare_report, {folder.file("fleet")});
    const std::string page = folder.read("fleet/report.html");
    EXPECT_NE(page.find("networks"), std::string::npos);
    EXPECT_NE(page.find("no network of a fleet may leave"), std::string::npos);
    for (const std::string job : {"evaluate", "idp", "influence"})
        EXPECT_NE(page.find("holdfast " + job + " --run"), std::string::npos) << job;
}

TEST_F(FleetJob, TheManifestSaysWhatItIs) {
    fleet("fleet");
    const FinishedFleet found = open("fleet");
    EXPECT_EQ(found.manifest.kind, "fleet");
    EXPECT_FALSE(found.manifest.sample);
    EXPECT_EQ(found.manifest.members, 71U);
    EXPECT_EQ(found.manifest.relation, "remove");
    EXPECT_EQ(found.manifest.guarantee["status"], "proved");
    EXPECT_EQ(found.networks.left_out(), DatasetReader(data).read_ids(0, 70));
    EXPECT_FALSE(fs::exists(folder.file("fleet/parts")));
    try {
        FinishedRun::open(folder.file("fleet"));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_NE(error.message().find("fleet"), std::string::npos);
    }
    run_job(declare_train, with({"--data", data, "--out", folder.file("run")}));
    EXPECT_THROW(open("run"), Error);
}

TEST_F(FleetJob, ASampleIsSomeOfTheSameNetworks) {
    fleet("all");
    fleet("some", {"--records", "9"});
    fleet("none", {"--records", "0"});
    fleet("many", {"--records", "1000"});
    const FinishedFleet all = open("all"), some = open("some");
    ASSERT_EQ(some.networks.count(), 9);
    const auto network = [](const FinishedFleet& of, std::int64_t i) {
        std::vector<std::int64_t> parameters(of.networks.network().parameters());
        of.networks.read(i, 1, parameters);
        return parameters;
    };
    for (std::int64_t i = 0; i < 9; ++i) {
        const auto& ids = all.networks.left_out();
        const auto at = std::find(ids.begin(), ids.end(), some.networks.left_out(i)) - ids.begin();
        ASSERT_LT(at, 70);
        EXPECT_EQ(network(some, i), network(all, at));
    }
    EXPECT_EQ(open("none").networks.count(), 0);
    EXPECT_EQ(open("none").networks.nominal(), all.networks.nominal());
    EXPECT_EQ(bytes("many"), bytes("all"));
    EXPECT_TRUE(some.manifest.sample && open("none").manifest.sample && open("many").manifest.sample);
    const auto& ids = all.networks.left_out();
    folder.write("ids", std::to_string(ids[44]) + "\n\n" + std::to_string(ids[7]) + "\n" +
                            std::to_string(ids[44]) + "\n");
    fleet("named", {"--records", folder.file("ids")});
    const FinishedFleet named = open("named");
    EXPECT_EQ(named.networks.left_out(), (std::vector<std::uint64_t>{ids[7], ids[44]}));
    EXPECT_EQ(network(named, 1), network(all, 44));
}

TEST_F(FleetJob, BackendsAndThreadsGiveTheSameBytes) {
    fleet("fleet");
    fleet("reference", {"--backend", "reference"});
    EXPECT_EQ(bytes("reference"), bytes("fleet"));
    fleet("alone", {"--set", "run.threads=1"});
    EXPECT_EQ(bytes("alone"), bytes("fleet"));
    fleet("three", {"--set", "run.threads=3"});
    EXPECT_EQ(bytes("three"), bytes("fleet"));
}

TEST_F(FleetJob, WhatIsFinishedIsKeptAndWhatIsDamagedIsTrainedAgain) {
    fleet("whole");
    // An interrupted fleet: the parts of a run whose manifest was not written.
    fleet("fleet");
    const auto again = [&] { fleet("fleet", {"--resume"}); };
    const std::string before = bytes("fleet");
    again();
    EXPECT_EQ(bytes("fleet"), before) << "a finished fleet stays";
    fs::remove(folder.file("fleet/manifest.json"));
    fs::remove(folder.file("fleet/fleet.h5"));
    again();
    EXPECT_EQ(bytes("fleet"), bytes("whole"));
    // Another configuration does not go on with it, nor does anything start where something is.
    EXPECT_EQ(refused("fleet", {"--resume", "--set", "training.seed=9"})->code(), ExitCode::usage);
    EXPECT_EQ(refused("fleet", {"--resume", "--records", "3"})->code(), ExitCode::usage);
    EXPECT_EQ(refused("fleet")->code(), ExitCode::output);
    EXPECT_EQ(bytes("fleet"), before);
}

TEST_F(FleetJob, WhatItCannotDoIsSaidBeforeAnythingIsWritten) {
    const auto where = [&](const Words& more) {
        const std::optional<Error> error = refused("refused", more);
        EXPECT_FALSE(fs::exists(folder.file("refused"))) << more.back();
        return error ? error->where() : "nothing";
    };
    EXPECT_EQ(where({"--set", "clip.kind=record_norm"}), "clip.kind");
    EXPECT_EQ(where({"--set", "ensemble.members=2"}), "ensemble.members");
    EXPECT_EQ(where({"--set", "training.kind=convex"}), "network.hidden");
    const Words single{"--backend", "cuda", "--set", "training.precision=single"};
    EXPECT_EQ(where(single), "training.precision");
    EXPECT_NE(refused("refused", single)->hint().find("--backend cpu"), std::string::npos);
    if (!cuda_unavailable().empty()) {
        EXPECT_EQ(where({"--backend", "cuda"}), "run.backend");
    }
    folder.write("ids", "12345678901\n");
    EXPECT_EQ(where({"--records", folder.file("ids")}), folder.file("ids"));
    EXPECT_EQ(where({"--records", folder.file("nowhere")}), folder.file("nowhere"));
    EXPECT_EQ(where({"--records", "-3"}), "-3");
    try {
        run_job(declare_train,
                with({"--data", data, "--out", folder.file("refused")}, {"--set", "clip.kind=none"}));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.where(), "clip.kind");
        EXPECT_FALSE(fs::exists(folder.file("refused")));
    }
}

}  // namespace fleet_job_test
}  // namespace holdfast
