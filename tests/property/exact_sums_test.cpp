// Sums over records are sums of integers (models/training/gradient_sums.hpp): the same for any order,
// partition, number of threads and backend; no number of records that is let through can overflow; one record
// moves a sum by at most Gamma.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "models/training/gradient_sums.hpp"
#include "models/training/trainer.hpp"

namespace holdfast {
namespace {

constexpr std::size_t record_count = 700;  // six panels, the last not full

const Clip elementwise{.kind = Clip::Kind::elementwise, .gamma = 0.06};
const Clip factored{.kind = Clip::Kind::factored, .gamma = 0.06, .delta_limit = 0.2, .activation_limit = 0.3};

Records random_records(std::size_t count, std::size_t features, std::size_t classes) {
    std::mt19937_64 engine(3);
    Records records{FeatureMatrix(features, true), {}, {}, {}};
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < features; ++j) {
            // Some records are far away, so that their gradients are clipped everywhere; some entries are
            // nothing.
            const double value = normal(engine) * (i % 50 == 7 ? 1e12 : 1.0);
            records.features.wide_values().push_back(engine() % 16 == 0 ? 0.0 : value);
        }
        records.labels.push_back(static_cast<std::int32_t>(engine() % classes));
        records.ids.push_back(i);
        records.rows.push_back(i);
    }
    return records;
}

struct Level {
    std::vector<std::int64_t> lower, upper;
};

/// The initial parameters, and boxes about them.
std::vector<Level> levels_of(const Network& network) {
    const std::vector<std::int64_t> middle = network.initial_parameters(1, 0);
    std::vector<Level> levels;
    for (const double radius : {0.0, 1e-9, 0.01}) {
        levels.push_back({middle, middle});
        for (std::size_t p = 0; p < middle.size(); ++p) {
            levels.back().lower[p] -= parameter_units(radius);
            levels.back().upper[p] += parameter_units(radius);
        }
    }
    return levels;
}

/// Everything a LevelSums holds, selections in order.
struct Result {
    std::vector<std::int64_t> lower, upper, selected;
    std::int64_t surely_correct, possibly_correct;
    bool operator==(const Result&) const = default;
};

struct Setting {
    const char* name;
    Network network;
    Clip clip;
    bool select;  // for substitute and remove, elementwise only
};

template <typename Real>
struct ExactSumsIn : testing::TestWithParam<Setting> {
    const Network& network = GetParam().network;
    const Clip& clip = GetParam().clip;
    const std::unique_ptr<BasicBackend<Real>> cpu = make_backend<Real>("cpu");
    const Records records = random_records(record_count, network.inputs(), network.classes());
    const std::vector<Level> levels = levels_of(network);
    const int threads_before = omp_get_max_threads();

    void TearDown() override { omp_set_num_threads(threads_before); }

    std::vector<LevelSums> raw_sums(const std::vector<std::vector<std::uint32_t>>& parts,
                                    const BasicBackend<Real>& backend) const {
        std::vector<BoxView> boxes;
        std::vector<std::int64_t> selections;
        for (const Level& level : levels) {
            const bool point = boxes.empty();
            boxes.push_back({level.lower.data(), point ? level.lower.data() : level.upper.data()});
            selections.push_back(GetParam().select && !point ? 5 : 0);
        }
        std::vector<Batch> batches;
        for (const auto& part : parts) batches.push_back({records, part, true});
        return gradient_sums(network, backend, clip, boxes, batches, selections);
    }
    std::vector<Result> sums(const std::vector<std::vector<std::uint32_t>>& parts,
                             const BasicBackend<Real>& backend) const {
        std::vector<Result> results;
        for (LevelSums& level : raw_sums(parts, backend)) {
            Result result{level.lower, level.upper, {}, level.surely_correct, level.possibly_correct};
            for (auto* side : {&level.least_upper, &level.least_negated_lower}) {
                for (Selection& selection : *side) {
                    for (std::size_t entry = 0; entry < selection.entries(); ++entry) {
                        const auto kept = selection.values(entry);
                        std::vector<std::int64_t> values(kept.begin(), kept.end());
                        std::sort(values.begin(), values.end());
                        result.selected.insert(result.selected.end(), values.begin(), values.end());
                    }
                }
            }
            results.push_back(std::move(result));
        }
        return results;
    }
    std::vector<Result> sums(const std::vector<std::vector<std::uint32_t>>& parts) const {
        return sums(parts, *cpu);
    }

    void order_and_panels();
    void threads();
    void backends();
    void instruction_sets();
    void nesting();
    void one_record();
};
using ExactSums = ExactSumsIn<double>;
using ExactSumsInSinglePrecision = ExactSumsIn<float>;

std::vector<std::uint32_t> all_records() {
    std::vector<std::uint32_t> indices(record_count);
    std::iota(indices.begin(), indices.end(), 0U);
    return indices;
}

template <typename Real>
void ExactSumsIn<Real>::order_and_panels() {
    std::mt19937_64 engine(4);
    std::vector<std::uint32_t> indices = all_records();
    const std::vector<Result> expected = sums({indices});
    EXPECT_EQ(expected.back().selected.empty(), !GetParam().select);
    for (int repeat = 0; repeat < 4; ++repeat) {
        std::shuffle(indices.begin(), indices.end(), engine);
        ASSERT_EQ(sums({indices}), expected);
        // Cut into parts of any size, empty ones too: other panels, other neighbours in a panel.
        std::vector<std::vector<std::uint32_t>> parts(1 + engine() % 9);
        for (const std::uint32_t index : indices) parts[engine() % parts.size()].push_back(index);
        parts.emplace_back();
        ASSERT_EQ(sums(parts), expected);
    }
}

template <typename Real>
void ExactSumsIn<Real>::threads() {
    std::vector<std::vector<Result>> results;
    for (int threads = 1; threads <= 4; ++threads) {
        omp_set_num_threads(threads);
        results.push_back(sums({all_records()}));
        ASSERT_EQ(results.back(), results.front()) << threads << " threads";
    }
}

template <typename Real>
void ExactSumsIn<Real>::backends() {
    ASSERT_EQ(sums({all_records()}, *make_backend<Real>("reference")), sums({all_records()}));
}

template <typename Real>
void ExactSumsIn<Real>::instruction_sets() {
    const std::vector<Result> expected = sums({all_records()}, *make_backend<Real>("reference"));
    for (const std::string& target : simd_targets()) {
        const SimdTargetOverride override(target);
        ASSERT_EQ(simd_target(), target);
        ASSERT_EQ(sums({all_records()}), expected) << target;
    }
}

template <typename Real>
void ExactSumsIn<Real>::nesting() {
    const std::vector<Result> levels_sums = sums({all_records()});
    for (std::size_t level = 1; level < levels_sums.size(); ++level) {
        for (std::size_t p = 0; p < network.parameters(); ++p) {
            ASSERT_LE(levels_sums[level].lower[p], levels_sums[level - 1].lower[p]);
            ASSERT_GE(levels_sums[level].upper[p], levels_sums[level - 1].upper[p]);
        }
        EXPECT_LE(levels_sums[level].surely_correct, levels_sums[level - 1].surely_correct);
        EXPECT_GE(levels_sums[level].possibly_correct, levels_sums[level - 1].possibly_correct);
    }
}

template <typename Real>
void ExactSumsIn<Real>::one_record() {
    const std::vector<bool> biases = network.biases();
    const std::vector<LevelSums> with = raw_sums({all_records()}, *cpu);
    bool attained = false;
    for (const std::uint32_t changed : {0U, 7U, 57U, 127U, 128U, 300U, 699U}) {
        std::vector<std::uint32_t> others = all_records();
        others.erase(others.begin() + changed);
        const std::vector<LevelSums> without = raw_sums({others}, *cpu), alone = raw_sums({{changed}}, *cpu);
        for (std::size_t level = 0; level < levels.size(); ++level) {
            for (std::size_t p = 0; p < network.parameters(); ++p) {
                const std::int64_t gamma = biases[p] ? clip.bias_units<Real>() : clip.weight_units<Real>();
                const std::int64_t lower = with[level].lower[p] - without[level].lower[p],
                                   upper = with[level].upper[p] - without[level].upper[p];
                ASSERT_EQ(lower, alone[level].lower[p]);
                ASSERT_EQ(upper, alone[level].upper[p]);
                ASSERT_LE(-gamma, lower)
                    << "record " << changed << ", level " << level << ", parameter " << p;
                ASSERT_LE(lower, upper);
                ASSERT_LE(upper, gamma) << "record " << changed << ", level " << level << ", parameter " << p;
                attained |= std::max(-lower, upper) >= gamma - 2;
            }
        }
    }
    EXPECT_TRUE(attained) << "no gradient was clipped: the bound was not tried";
}

TEST_P(ExactSums, DoNotDependOnTheOrderOfRecordsNorOnPanels) {
    order_and_panels();
}
TEST_P(ExactSumsInSinglePrecision, DoNotDependOnTheOrderOfRecordsNorOnPanels) {
    order_and_panels();
}
TEST_P(ExactSums, DoNotDependOnThreads) {
    threads();
}
TEST_P(ExactSumsInSinglePrecision, DoNotDependOnThreads) {
    threads();
}
TEST_P(ExactSums, DoNotDependOnTheBackend) {
    backends();
}
TEST_P(ExactSumsInSinglePrecision, DoNotDependOnTheBackend) {
    backends();
}
TEST_P(ExactSums, DoNotDependOnTheInstructionSet) {
    instruction_sets();
}
TEST_P(ExactSumsInSinglePrecision, DoNotDependOnTheInstructionSet) {
    instruction_sets();
}
TEST_P(ExactSums, HoldThePointAndNest) {
    nesting();
}
TEST_P(ExactSumsInSinglePrecision, HoldThePointAndNest) {
    nesting();
}
TEST_P(ExactSums, OneRecordMovesEverySumByItsOwnIntegerOfAtMostGamma) {
    one_record();
}
TEST_P(ExactSumsInSinglePrecision, OneRecordMovesEverySumByItsOwnIntegerOfAtMostGamma) {
    one_record();
}

const auto settings = testing::Values(
    Setting{"elementwise", Network(7, {19}, 3, Loss::cross_entropy), elementwise, true},
    Setting{"factored", Network(7, {19}, 3, Loss::cross_entropy), factored, false},
    Setting{"two_hidden_layers", Network(5, {11, 9}, 2, Loss::binary_cross_entropy), elementwise, true},
    Setting{"linear", Network(6, {}, 4, Loss::cross_entropy), factored, false});
const auto name_of_setting = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Settings, ExactSums, settings, name_of_setting);
INSTANTIATE_TEST_SUITE_P(Settings, ExactSumsInSinglePrecision, settings, name_of_setting);

template <typename Real>
struct WorstPanelIn : testing::TestWithParam<std::tuple<std::string, double>> {
    const std::unique_ptr<BasicBackend<Real>> backend = make_backend<Real>(std::get<0>(GetParam()));
    const double gamma = std::get<1>(GetParam());
    static constexpr Real huge = sizeof(Real) == sizeof(double) ? Real(1e200) : Real(1e30);
    const LayerShape shape{17, 5};
    const std::size_t stride = row_stride<Real>(shape.in);

    /// Sums of a panel in which every record has the same gradient, far beyond the clip; added to `start`.
    std::vector<std::int64_t> after(const Clip& clip, Real delta, std::int64_t start) const {
        const AlignedVector<Real> deltas(shape.out * panel_height, delta), z(shape.in * panel_height, huge);
        AlignedVector<Real> rows(panel_height * stride);
        backend->transpose(shape.in, z.data(), rows.data(), stride);
        std::vector<std::int64_t> sums(shape.parameters(), start), upper = sums, point = sums;
        backend->accumulate(shape, clip, {deltas.data(), deltas.data()}, {rows.data(), rows.data()}, stride,
                            point.data(), point.data());
        const AlignedVector<Real> same_deltas(deltas.begin(), deltas.end()),
            same_rows(rows.begin(), rows.end());  // equal bounds that are no point
        backend->accumulate(shape, clip, {deltas.data(), same_deltas.data()}, {rows.data(), same_rows.data()},
                            stride, sums.data(), upper.data());
        EXPECT_EQ(sums, point);
        EXPECT_EQ(upper, point);
        return point;
    }

    void elementwise();
    void factored_sums();
    void record_limit();
    void charges();
};

template <typename Real>
void WorstPanelIn<Real>::elementwise() {
    for (const Real sign : {1, -1}) {
        const Clip clip{.kind = Clip::Kind::elementwise, .gamma = gamma};
        const std::int64_t all = static_cast<std::int64_t>(panel_height) * clip.weight_units<Real>();
        EXPECT_EQ(after(clip, sign * huge, 0),
                  std::vector<std::int64_t>(shape.parameters(), sign > 0 ? all : -all));
    }
}

template <typename Real>
void WorstPanelIn<Real>::factored_sums() {
    for (const double limit : {1.0, 0.3, 7.0}) {
        Clip clip{.kind = Clip::Kind::factored,
                  .gamma = gamma * limit,
                  .delta_limit = gamma,
                  .activation_limit = limit};
        const std::vector<std::int64_t> sums = after(clip, huge, 0), negative = after(clip, -huge, 0);
        for (std::size_t p = 0; p < sums.size(); ++p) {
            const std::int64_t most =
                static_cast<std::int64_t>(panel_height) *
                (p % (shape.in + 1) == shape.in ? clip.bias_units<Real>() : clip.weight_units<Real>());
            EXPECT_LE(sums[p], most);
            EXPECT_GE(sums[p], most - 2 * static_cast<std::int64_t>(panel_height));
            EXPECT_EQ(negative[p], -sums[p]);
        }
    }
}

template <typename Real>
void WorstPanelIn<Real>::record_limit() {
    const Clip clip{.kind = Clip::Kind::elementwise, .gamma = gamma};
    constexpr auto height = static_cast<std::int64_t>(panel_height);
    const std::int64_t before = (BasicGradientGrid<Real>::record_limit - height) * clip.weight_units<Real>();
    ASSERT_LE(static_cast<__int128>(BasicGradientGrid<Real>::record_limit) * clip.weight_units<Real>(),
              __int128{1} << 62);
    for (const std::int64_t sign : {1, -1}) {
        const __int128 expected =
            static_cast<__int128>(sign) * before + height * sign * clip.weight_units<Real>();
        for (const std::int64_t sum : after(clip, static_cast<Real>(sign) * huge, sign * before)) {
            EXPECT_TRUE(sum == expected);
        }
    }
}

// A batch of n records is let through with levels up to k if n + k <= record_limit. Its charge is at most k
// Gamma, and for `substitute` that of the min(k, n) entries it takes out besides.
template <typename Real>
void WorstPanelIn<Real>::charges() {
    const __int128 units = Clip{.kind = Clip::Kind::elementwise, .gamma = gamma}.weight_units<Real>();
    for (std::int64_t n = 0; n <= BasicGradientGrid<Real>::record_limit;
         n += BasicGradientGrid<Real>::record_limit / 64) {
        const std::int64_t k = BasicGradientGrid<Real>::record_limit - n;
        ASSERT_LE((n + k + std::min(n, k)) * units, __int128{INT64_MAX}) << n;
    }
}

using WorstPanel = WorstPanelIn<double>;
using WorstPanelInSinglePrecision = WorstPanelIn<float>;

TEST_P(WorstPanel, AddsUpWithoutLoss) {
    elementwise();
}
TEST_P(WorstPanelInSinglePrecision, AddsUpWithoutLoss) {
    elementwise();
}
TEST_P(WorstPanel, AddsUpWithoutLossWhenFactored) {
    factored_sums();
}
TEST_P(WorstPanelInSinglePrecision, AddsUpWithoutLossWhenFactored) {
    factored_sums();
}
TEST_P(WorstPanel, FitsBehindAsManyAsAreLetThrough) {
    record_limit();
}
TEST_P(WorstPanelInSinglePrecision, FitsBehindAsManyAsAreLetThrough) {
    record_limit();
}
TEST_P(WorstPanel, ChargedSumsFit) {
    charges();
}
TEST_P(WorstPanelInSinglePrecision, ChargedSumsFit) {
    charges();
}

const auto worst = testing::Combine(
    testing::Values("reference", "cpu"),
    testing::Values(0.06, 1.0, std::nextafter(1.0, 0.0), std::nextafter(1.0, 2.0), 0.04, 1e-20, 3e20));
INSTANTIATE_TEST_SUITE_P(Backends, WorstPanel, worst);
INSTANTIATE_TEST_SUITE_P(Backends, WorstPanelInSinglePrecision, worst);

struct RecordLimit : testing::TestWithParam<Precision> {};

TEST_P(RecordLimit, RefusesWhatCouldOverflow) {
    constexpr std::size_t count = 40;
    const Records records = random_records(count, 4, 2), none{FeatureMatrix(4, true), {}, {}, {}};
    const AnyBackend backend = make_backend("auto", GetParam(), Product::exact);
    const std::int64_t record_limit = backend.scale(Settings{}.clip).record_limit;
    const auto alone = make_serial_communicator();
    const auto train = [&](std::int64_t largest_level) {
        Settings settings;
        settings.precision = GetParam();
        settings.hidden = {3};
        settings.budget = ChargeRule::per_batch;
        settings.level_list = {1, largest_level};
        settings.epochs = 2;
        const Network network(4, {3}, 2, Loss::cross_entropy);
        const TrainingPlan plan{settings, network, backend, static_cast<double>(count),
                                settings.level_values()};
        MemberTrainer trainer(plan, records, none, MemberTrainer::fresh_state(plan, 0));
        while (!trainer.done()) trainer.step(*alone);
        return trainer.state();
    };
    const std::int64_t largest = record_limit - static_cast<std::int64_t>(count);
    const MemberState state = train(largest);
    for (std::size_t level = 1; level < state.levels.size(); ++level) {
        for (std::size_t p = 0; p < state.levels[0].lower.size(); ++p) {
            ASSERT_LT(state.levels[level].lower[p], state.levels[level - 1].lower[p]);
            ASSERT_GT(state.levels[level].upper[p], state.levels[level - 1].upper[p]);
        }
    }
    try {
        train(largest + 1);
        FAIL() << "a batch that could overflow was let through";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_NE(error.message().find(std::to_string(record_limit)), std::string::npos) << error.message();
        EXPECT_FALSE(error.hint().empty());
    }
}

INSTANTIATE_TEST_SUITE_P(Precisions, RecordLimit,
                         testing::Values(Precision::double_precision, Precision::single_precision));

}  // namespace
}  // namespace holdfast
