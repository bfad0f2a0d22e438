#include "models/nets/feature_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "jobs/configuration.hpp"
#include "jobs/finished_run.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/rational.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::DoubleNear;
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
    settings.bins = {count};
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
    settings.edges = {{0.5}};
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

/// The square of a row's 2-norm, exactly.
Rational squares_of(const FeatureMatrix& features, std::size_t row) {
    Rational sum(0);
    for (std::size_t j = 0; j < features.columns(); ++j) {
        const Rational entry = Rational(features.at(row, j));
        sum += entry * entry;
    }
    return sum;
}

/// Rows that try to be longer than they may: random ones, and those of extreme entries.
std::vector<std::vector<double>> hostile_rows(std::size_t columns, FeatureRange range) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> inside(range.low, range.high);
    const std::vector<double> extremes{1e308,      -1e308,    infinity,  -infinity, nan,        range.low,
                                       range.high, 0x1p-1074, -0x1p-149, 0x1p-1022, -0x1p-126F, 0};
    std::vector<std::vector<double>> rows;
    for (const double extreme : extremes) rows.emplace_back(columns, extreme);
    for (int i = 0; i < 300; ++i) {
        std::vector<double> row(columns);
        for (double& entry : row)
            entry = i % 3 == 0 ? extremes[random() % extremes.size()] : std::ldexp(inside(random), -(i % 40));
        rows.push_back(row);
    }
    return rows;
}

/// No row of the map, in either precision of the records and of the network, is longer than it says; some
/// row comes within a millionth of `reached` times it.
void expect_norms_within_bound(const FeatureMap& map, double reached) {
    const Rational bound = Rational(map.norm_bound()), most = bound * bound;
    const InputTransform rest = map.network_input();
    double longest = 0;
    for (const bool wide : {false, true}) {
        const Records records = map(records_of(hostile_rows(map.columns(), map.range()), wide));
        const FeatureMatrix& features = records.features;
        ASSERT_EQ(features.columns(), map.outputs());
        FeatureMatrix seen(map.outputs(), true), seen_in_single(map.outputs(), true);
        for (std::size_t i = 0; i < features.rows(); ++i) {
            std::vector<double> row = row_of(features, i), single = row;
            for (double& entry : row) entry = rest.apply<double>(entry);
            for (double& entry : single) entry = rest.apply<float>(entry);
            seen.append(row.data());
            seen_in_single.append(single.data());
            ASSERT_LE(squares_of(seen, i), most) << "row " << i;
            ASSERT_LE(squares_of(seen_in_single, i), most) << "row " << i;
            longest = std::max(longest, std::sqrt(squares_of(seen, i).get_d()));
            // What the map made of a record in double, the network leaves as it is.
            if (wide && !map.is_identity()) {
                ASSERT_EQ(row, row_of(features, i)) << "row " << i;
            }
        }
    }
    EXPECT_GE(longest, reached * map.norm_bound() * (1 - 2e-6));
}

TEST(FeatureMap, NoRowIsLongerThanItsBound) {
    const InputTransform input{0.3, 1.7, {-2, 5}};
    expect_norms_within_bound(FeatureSettings{}.make(3, input), 1);
    expect_norms_within_bound(FeatureSettings{}.make(3, {.range = default_feature_range}), 1);
    expect_norms_within_bound(bins(5).make(7, input), 1);
    expect_norms_within_bound(bins(5, true).make(7, input), 1);
    FeatureSettings hot = bins(5);
    hot.hot = 0.1;  // a float of it is more
    hot.pairs = {0, 1};
    expect_norms_within_bound(hot.make(7, input), 1);
    for (const double limit : {1e-6, 0.7, 1.0, 3.3, 1e6}) {
        FeatureSettings settings = bins(5, true);
        settings.norm_limit = limit;
        EXPECT_EQ(settings.make(7, input).norm_bound(), limit);
        expect_norms_within_bound(settings.make(7, input), limit < 1e6 ? 1 : 0);
        settings.map = FeatureSettings::Map::none;
        expect_norms_within_bound(settings.make(3, input), limit < 1e6 ? 1 : 0);
        expect_norms_within_bound(settings.make(400, {.shift = 1e6, .scale = 1e6}), 1);
        expect_norms_within_bound(settings.make(2, {.scale = 1e6, .range = {-1e308, 1e308}}), 1);
    }
}

TEST(FeatureMap, ClipsWhatIsLongerAndNothingElse) {
    FeatureSettings settings;
    settings.norm_limit = 5;
    const FeatureMap map = settings.make(2, {.range = {-100, 100}});
    EXPECT_FALSE(map.is_identity());
    EXPECT_THAT(mapped(map, {3, 3.9}), ElementsAre(3, 3.9));
    EXPECT_THAT(mapped(map, {30, -40}), ElementsAre(DoubleNear(3, 1e-5), DoubleNear(-4, 1e-5)));
    EXPECT_EQ(map.network_input().range, (FeatureRange{-5, 5}));
    settings.norm_limit = 200;
    EXPECT_EQ(settings.make(2, {.range = {50, 100}}).network_input().range, (FeatureRange{0, 100}));
}

TEST(FeatureMap, TakesEdgesAndCountsOfEachColumn) {
    FeatureSettings settings = bins(2);
    settings.bins = {2, 1, 4};
    settings.pairs = {2, 0};
    EXPECT_THAT(mapped(settings.make(3, unit_range), {0.6, 0.9, 0.3}),
                ElementsAre(0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0));
    settings.edges = {{0.5}, {0.1, 0.95}, {}};
    settings.pairs = {};
    EXPECT_THAT(mapped(settings.make(3, unit_range), {0.6, 0.9, 0.3}), ElementsAre(0, 1, 0, 1, 0, 1));
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
    EXPECT_EQ(refusal({on, "features.bins=[2,1,9]"}), "");
    EXPECT_EQ(refusal({on, "features.edges=[[0.5],[],[0.1,0.2]]", "features.norm_limit=2"}), "");
    EXPECT_THAT(refusal({on, "features.bins=[2,2]"}), HasSubstr("edges of 2 columns, where records have 3"));
    EXPECT_THAT(refusal({on, "features.edges=[[0.5],[0.5]]"}), HasSubstr("edges of 2 columns"));
    EXPECT_THAT(refusal({on, "features.edges=[[0.5],0.5,[1]]"}), HasSubstr("a list of fewer than"));
    EXPECT_THAT(refusal({on, "features.bins=[]"}), HasSubstr("one for each column"));
    EXPECT_THAT(refusal({on, "features.bins=[2,0,2]"}), HasSubstr("outside"));
    EXPECT_THAT(refusal({"features.norm_limit=-1"}), HasSubstr("outside"));
    EXPECT_THAT(refusal({"features.norm_limit=true"}), HasSubstr("wants a number"));
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
