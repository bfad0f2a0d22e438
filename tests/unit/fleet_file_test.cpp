#include "models/fleet/fleet_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "dist/files/hdf5.hpp"
#include "dist/files/seal.hpp"
#include "jobs/program/runs/finished_fleet.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

namespace fs = std::filesystem;
using Values = std::vector<std::int64_t>;

/// A folder with a fleet of 70 networks of 3-4-1: two whole parts and a part of 6.
struct FleetFile : ::testing::TestWithParam<Precision> {
    static constexpr std::size_t networks = 70, parameters = 21;
    TemporaryFolder folder;
    RunFolder run = RunFolder::create(folder.file("run"), false);
    FleetParts parts{run, "fingerprint", {GetParam(), networks, parameters}};
    std::vector<std::uint64_t> left_out;
    Values all;  // [networks, parameters]

    void SetUp() override {
        std::mt19937_64 random(7);
        for (std::size_t i = 0; i + 1 < networks; ++i) left_out.push_back(random());
        for (std::size_t p = 0; p < networks * parameters; ++p)
            all.push_back(static_cast<std::int64_t>(random() >> (4 + random() % 60)) *
                          (random() % 2 ? 1 : -1));
        all[0] = parameter_limit_units;
        all[1] = -parameter_limit_units;
        all[2] = 0;
        all[3] = 1;
        parts.make_folder();
    }
    Values of_part(std::size_t part) const {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(parts.first(part) * parameters);
        return {first, first + static_cast<std::ptrdiff_t>(parts.size(part) * parameters)};
    }
    void write_all() const {
        for (std::size_t part = 0; part < parts.count(); ++part) parts.write(part, of_part(part));
    }
    RunManifest manifest(const std::string& digest, const std::string& kind = "fleet") const {
        Configuration configuration;
        configuration.settings.network.hidden = {4};
        configuration.settings.training.precision = GetParam();
        RunManifest manifest;
        manifest.kind = kind;
        manifest.configuration = to_json(configuration);
        manifest.dataset.path = "data.h5";
        manifest.dataset.features = 3;
        manifest.members = networks;
        manifest.parameters = parameters;
        manifest.digest = digest;
        manifest.arithmetic = manifest.guarantee = nlohmann::json::object();
        return manifest;
    }
    std::optional<Error> opening() const {
        try {
            FinishedFleet::open(run.path());
        } catch (const Error& error) {
            return error;
        }
        return std::nullopt;
    }
    unsigned mode(const std::string& path) const {
        struct stat status {};
        EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
        return status.st_mode & 0777;
    }
};

TEST_P(FleetFile, NetworksComeBackAsThePrecisionHasThem) {
    write_all();
    manifest(parts.join(left_out)).write(run);
    const FinishedFleet fleet = FinishedFleet::open(run.path());
    ASSERT_EQ(fleet.networks.count(), 69);
    EXPECT_EQ(fleet.networks.left_out(), left_out);
    EXPECT_EQ(fleet.networks.network().parameters(), parameters);
    Values read = fleet.networks.nominal(), others(69 * parameters);
    fleet.networks.read(0, 69, others);
    read.insert(read.end(), others.begin(), others.end());
    ASSERT_EQ(read.size(), all.size());
    for (std::size_t p = 0; p < all.size(); ++p) {
        EXPECT_EQ(read[p], stored_units(GetParam(), all[p]));
        if (GetParam() == Precision::single_precision) {
            EXPECT_EQ(parameter_value<float>(read[p]), parameter_value<float>(all[p]));
        } else {
            EXPECT_EQ(parameter_value<double>(read[p]), parameter_value<double>(all[p]));
            EXPECT_TRUE(read[p] == all[p] || std::abs(all[p]) > std::int64_t{1} << 53);
        }
    }
    Values some(2 * parameters);
    fleet.networks.read(40, 2, some);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), read.begin() + 41 * parameters));
}

TEST_P(FleetFile, IsExactWhereEveryParameterHasTheBitsOfADouble) {
    constexpr std::int64_t eight = std::int64_t{8} << 50;
    for (std::int64_t& units : all) units %= eight;
    write_all();
    manifest(parts.join(left_out)).write(run);
    EXPECT_EQ(FinishedFleet::open(run.path()).networks.exact(), GetParam() == Precision::double_precision);
    for (const std::size_t at : {std::size_t{5}, networks * parameters - 1}) {
        const std::int64_t before = std::exchange(all[at], -eight);
        write_all();
        manifest(parts.join(left_out)).write(run);
        EXPECT_FALSE(FinishedFleet::open(run.path()).networks.exact());
        all[at] = before;
    }
}

TEST_P(FleetFile, FilesAreTheOwnersAndTheSameFromEveryWriter) {
    write_all();
    EXPECT_EQ(mode(parts.file(0)), 0600U);
    EXPECT_EQ(mode(run.file("parts")), 0700U);
    const std::string digest = parts.join(left_out), bytes = folder.read("run/fleet.h5");
    EXPECT_EQ(mode(run.file("fleet.h5")), 0600U);
    for (std::size_t part = parts.count(); part-- > 0;) parts.write(part, of_part(part));
    EXPECT_EQ(parts.join(left_out), digest);
    EXPECT_EQ(folder.read("run/fleet.h5"), bytes);
    parts.remove_all();
    EXPECT_FALSE(fs::exists(run.file("parts")));
}

TEST_P(FleetFile, ADamagedPartIsNotFinishedAndOneOfAnotherRunIsRefused) {
    EXPECT_FALSE(parts.finished(1));
    write_all();
    EXPECT_TRUE(parts.finished(1));
    for (const std::size_t cut : {0, 1, 100, 3000}) {
        parts.write(1, of_part(1));
        const std::string bytes = folder.read("run/parts/part-00001.h5");
        folder.write("run/parts/part-00001.h5", bytes.substr(0, cut));
        EXPECT_FALSE(parts.finished(1)) << cut;
        EXPECT_THROW(parts.join(left_out), Error);
        EXPECT_FALSE(fs::exists(run.file("fleet.h5")));
    }
    parts.write(1, of_part(1));
    std::string bytes = folder.read("run/parts/part-00001.h5");
    const std::size_t at = bytes.size() / 2;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    folder.write("run/parts/part-00001.h5", bytes);
    EXPECT_FALSE(parts.finished(1));
    fs::copy_file(parts.file(0), parts.file(1), fs::copy_options::overwrite_existing);
    EXPECT_FALSE(parts.finished(1)) << "the part of other networks";
    const FleetParts other(run, "another", parts.shape());
    try {
        other.finished(0);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_EQ(error.where(), parts.file(0));
    }
}

TEST_P(FleetFile, WhatIsNoWholeFleetIsRefused) {
    write_all();
    const std::string digest = parts.join(left_out);
    manifest(digest, "boxes").write(run);
    ASSERT_TRUE(opening());
    EXPECT_EQ(opening()->code(), ExitCode::input);
    RunManifest fewer = manifest(digest);
    fewer.members = networks - 1;
    fewer.write(run);
    EXPECT_EQ(opening()->where(), run.file("fleet.h5"));
    manifest(std::string(64, '0')).write(run);
    EXPECT_EQ(opening()->code(), ExitCode::input);
    manifest(digest).write(run);
    EXPECT_FALSE(opening());
    const std::string bytes = folder.read("run/fleet.h5");
    std::string changed = bytes;
    changed[bytes.size() - 9] = static_cast<char>(changed[bytes.size() - 9] ^ 64);
    folder.write("run/fleet.h5", changed);
    ASSERT_TRUE(opening());
    EXPECT_EQ(opening()->code(), ExitCode::input);
    folder.write("run/fleet.h5", bytes.substr(0, bytes.size() / 2));
    EXPECT_EQ(opening()->code(), ExitCode::input);
    fs::remove(run.file("fleet.h5"));
    EXPECT_EQ(opening()->code(), ExitCode::input);
}

TEST_P(FleetFile, NotANumberIsNoParameterEvenWithTheRightDigest) {
    Values values = of_part(0);
    write_all();
    manifest(parts.join(left_out)).write(run);
    {
        hdf5::File file = hdf5::File::open_update(run.file("fleet.h5"));
        hdf5::Dataset networks = file.dataset("networks");
        const double bad = std::nan("");
        networks.write({3, 4}, {1, 1}, &bad);
        networks.close();
        file.close();
        add_seal(run.file("fleet.h5"), "");
    }
    ASSERT_TRUE(opening());
    EXPECT_NE(opening()->message().find("beyond the limit"), std::string::npos);
}

TEST_P(FleetFile, ParametersOutsideAFleetAreNotRead) {
    write_all();
    manifest(parts.join(left_out)).write(run);
    const FinishedFleet fleet = FinishedFleet::open(run.path());
    Values one(parameters);
    EXPECT_ANY_THROW(fleet.networks.read(69, 1, one));
    EXPECT_ANY_THROW(fleet.networks.read(-1, 1, one));
    EXPECT_ANY_THROW(fleet.networks.read(0, 2, one));
}

INSTANTIATE_TEST_SUITE_P(Precisions, FleetFile,
                         ::testing::Values(Precision::double_precision, Precision::single_precision));

}  // namespace
}  // namespace holdfast
