#include "models/nets/feature_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "jobs/configuration.hpp"
#include "jobs/finished_run.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();
constexpr InputTransform unit_range{.range = {0, 1}};

Records records_of(const std::vector<std::vector<double>>& rows, bool wide) {
    Records records{FeatureMatrix(rows.front().size(), wide), {}, {}, {}};
    for (const std::vector<double>& row : rows) {
        records.features.append(row.data());
        records.ids.push_back(records.ids.size());
        records.rows.push_back(records.rows.size());
    }
    return records;
}

std::vector<double> row_of(const FeatureMatrix& features, std::size_t row) {
    std::vector<double> values;
    for (std::size_t j = 0; j < features.columns(); ++j) values.push_back(features.at(row, j));
    return values;
}

std::vector<double> mapped(const FeatureMap& map, const std::vector<double>& row, bool wide = true) {
    return row_of(map(records_of({row}, wide)).features, 0);
}

FeatureSettings bins(std::int64_t count, bool keep = false) {
    FeatureSettings settings;
    settings.map = FeatureSettings::Map::bins;
    settings.bins = count;
    settings.keep = keep;
    return settings;
}

TEST(FeatureMap, PutsEveryValueIntoOneBin) {
    const FeatureMap map = bins(4).make(1, unit_range);
    EXPECT_EQ(map.outputs(), 4U);
    const auto bin = [&](double value, bool wide) {
        const std::vector<double> row = mapped(map, {value}, wide);
        EXPECT_EQ(std::count(row.begin(), row.end(), 0.0), 3);
        return std::find(row.begin(), row.end(), 1.0) - row.begin();
    };
    for (const bool wide : {false, true}) {
        for (const auto& [value, expected] : std::vector<std::pair<double, int>>{{-infinity, 0},
                                                                                 {-5, 0},
                                                                                 {nan, 0},
                                                                                 {0, 0},
                                                                                 {0.25F - 0x1p-26F, 0},
                                                                                 {0.25, 1},
                                                                                 {0.5, 2},
                                                                                 {0.74, 2},
                                                                                 {0.75, 3},
                                                                                 {1, 3},
                                                                                 {9, 3},
                                                                                 {infinity, 3}})
            EXPECT_EQ(bin(value, wide), expected) << value;
    }
    EXPECT_EQ(bin(std::nextafter(0.25, 0), true), 0);
}

TEST(FeatureMap, KeepsColumnsAndMultipliesPairs) {
    FeatureSettings settings = bins(2, true);
    settings.edges = {0.5};
    settings.pairs = {1, 0};
    settings.hot = 0.25;
    const FeatureMap map = settings.make(2, {0.5, 4, {0, 1}});
    EXPECT_THAT(mapped(map, {0.75, 0.25}), ElementsAre(1, -1, 0, .25, .25, 0, 0, .25, 0, 0));
    EXPECT_THAT(mapped(map, {7, nan}), ElementsAre(2, -2, 0, .25, .25, 0, 0, .25, 0, 0));
    const InputTransform rest = map.network_input();
    EXPECT_EQ(rest.shift, 0);
    EXPECT_EQ(rest.scale, 1);
    EXPECT_EQ(rest.range, (FeatureRange{-2, 2}));
}

TEST(FeatureMap, IsAFunctionOfTheRecordAlone) {
    FeatureSettings settings = bins(7, true);
    settings.pairs = {0, 2, 2, 1};
    const FeatureMap map = settings.make(3, {0.1, 3, {-2, 5}});
    std::vector<std::vector<double>> rows;
    for (int i = 0; i < 50; ++i)
        rows.push_back({0.17 * i - 3, std::sin(i), i % 5 == 0 ? nan : 1.0 / (i + 1)});
    for (const bool wide : {false, true}) {
        const Records all = map(records_of(rows, wide));
        EXPECT_EQ(all.features.wide(), wide);
        EXPECT_EQ(all.features.columns(), 3U + 3 * 7 + 2 * 49);
        for (std::size_t i = 0; i < rows.size(); ++i)
            EXPECT_EQ(row_of(all.features, i), mapped(map, rows[i], wide));
    }
    // Of one value in float and double the same entries, up to the one rounding of a kept column.
    for (const std::vector<double>& row : rows) {
        const std::vector<double> same{static_cast<float>(row[0]), static_cast<float>(row[1]),
                                       static_cast<float>(row[2])};
        std::vector<double> in_double = mapped(map, same, true);
        for (std::size_t j = 0; j < 3; ++j) in_double[j] = static_cast<float>(in_double[j]);
        EXPECT_EQ(mapped(map, same, false), in_double);
    }
}

TEST(FeatureMap, OfNoRecordsHasItsColumnsAndNoneIsTheIdentity) {
    EXPECT_EQ(bins(3).make(2, unit_range)(Records{FeatureMatrix(2, false), {}, {}, {}}).features.columns(),
              6U);
    const InputTransform input{0.5, 2, {-1, 3}};
    const FeatureMap none = FeatureSettings{}.make(2, input);
    EXPECT_EQ(none.outputs(), 2U);
    EXPECT_EQ(none.network_input().shift, 0.5);
    EXPECT_EQ(none.network_input().range, input.range);
    EXPECT_THAT(mapped(none, {7, -9}), ElementsAre(7, -9));
}

std::string refusal(const std::vector<std::string>& settings, FeatureRange range = {0, 1}) {
    try {
        read_configuration("", settings).settings.feature_map(3, range);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_FALSE(error.hint().empty());
        return error.message();
    }
    return "";
}

TEST(FeatureMap, RefusesWhatIsNoMapOfTheColumns) {
    const std::string on = "features.map=bins";
    EXPECT_EQ(refusal({on, "features.pairs=[0,2]", "features.keep=false", "features.hot=0.5"}), "");
    EXPECT_THAT(refusal({on}, default_feature_range), HasSubstr("public range"));
    EXPECT_EQ(refusal({on, "features.edges=[0,1]"}, default_feature_range), "");
    EXPECT_THAT(refusal({on, "features.pairs=[0,3]"}),
                HasSubstr("0 and 3, where two different ones of 0..2"));
    EXPECT_THAT(refusal({on, "features.pairs=[1,1]"}), HasSubstr("1 and 1"));
    EXPECT_THAT(refusal({on, "features.pairs=[1]"}), HasSubstr("two columns a pair"));
    EXPECT_THAT(refusal({on, "features.pairs=[-1,0]"}), HasSubstr("outside"));
    EXPECT_THAT(refusal({on, "features.edges=[1,0]"}), HasSubstr("above the one before"));
    EXPECT_THAT(refusal({on, "features.edges=[0,\"a\"]"}), HasSubstr("finite numbers"));
    EXPECT_THAT(refusal({on, "features.bins=1024", "features.pairs=[0,1]"}), HasSubstr("entries a record"));
    EXPECT_THAT(refusal({on, "features.bins=1"}), HasSubstr("outside"));
    EXPECT_THAT(refusal({on, "features.hot=0"}), HasSubstr("outside"));
    EXPECT_THAT(refusal({on, "features.keep=1"}), HasSubstr("true or false"));
    EXPECT_THAT(refusal({"features.map=bin"}), HasSubstr("not one of"));
    EXPECT_THAT(refusal({"features.pairs=[0,1]"}), HasSubstr("there are none"));
    EXPECT_THAT(refusal({on}, {-1e308, 1e308}), HasSubstr("finite"));
}

/// A table, and the same records as the map gives them, the network's range stated.
struct MappedBefore : testing::Test {
    TemporaryFolder folder;
    std::string raw = folder.file("raw.h5"), before = folder.file("before.h5");
    std::vector<std::string> map{"features.map=bins", "features.bins=5", "features.pairs=[0,1,2,1]",
                                 "network.input_scale=2", "network.input_shift=0.25"};

    void write(bool wide) const {
        const FeatureRange range{-0.5, 1.5};
        DatasetWriter first(raw), second(before);
        const FeatureMap features = read_configuration("", map).settings.feature_map(6, range);
        const std::string source = folder.file("blobs.h5");
        run_job(declare_synth, {"blobs", "--records", "150", "--test", "40", "--out", source});
        for (const std::string split : {"train", "test"}) {
            const Records read = DatasetReader(source + ":" + split).read_all();
            Records records = read;
            records.features = FeatureMatrix(6, wide);
            for (std::size_t i = 0; i < read.size(); ++i)
                records.features.append(row_of(read.features, i).data());
            first.begin_split(split, 6, wide);
            first.append(records);
            second.begin_split(split, features.outputs(), wide);
            second.append(features(records));
        }
        PublicFacts facts;
        facts.ids = IdKind::given;
        facts.range = range;
        first.set_facts(facts);
        facts.range = features.network_input().range;
        second.set_facts(facts);
        first.commit();
        second.commit();
    }
    /// Digests of the result and of its certificates.
    std::vector<std::string> trained(const std::string& data, const std::string& name,
                                     std::vector<std::string> settings) const {
        std::vector<std::string> words{"--data", data, "--out", folder.file(name)};
        settings.insert(settings.end(), {"network.hidden=[4]", "training.expected_records=150",
                                         "training.batches=2", "certificate.levels=3"});
        for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
        run_job(declare_train, words);
        const nlohmann::json certified = nlohmann::json::parse(
            run_job(declare_certify, {"--run", folder.file(name), "--queries", data}, true));
        return {FinishedRun::open(folder.file(name)).manifest.digest, certified["digest"]};
    }
};

TEST_F(MappedBefore, TrainsAndCertifiesToTheSameBytes) {
    for (const bool wide : {false, true}) {
        write(wide);
        for (const std::vector<std::string>& kind : std::vector<std::vector<std::string>>{
                 {"clip.gamma=0.01", "ensemble.members=2"},
                 {"clip.gamma=0.01", "training.precision=single", "certificate.relation=substitute"},
                 {"training.kind=noisy", "clip.kind=norm", "noise.sampling_rate=1", "noise.law=none"}}) {
            const std::string name = std::to_string(wide) + kind.back();
            std::vector<std::string> with_map = kind;
            with_map.insert(with_map.end(), map.begin(), map.end());
            const auto one = trained(raw, name + "-raw", with_map);
            EXPECT_EQ(one, trained(before, name + "-before", kind));
            EXPECT_NE(one, trained(raw, name + "-none", kind));
        }
    }
}

}  // namespace
}  // namespace holdfast
