// Sums over records are sums of integers (kernels/ops/step_message.hpp): the same for any order,
// partition, number of threads and backend; no number of records that is let through can overflow; one record
// moves a sum by at most Gamma.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/backends.hpp"
#include "kernels/base/aligned.hpp"
#include "kernels/base/error.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "models/boxes/trainer.hpp"
#include "models/training/gradient_sums.hpp"
#include "models/training/wide_sums.hpp"
#include "tests/support/print.hpp"
#include "tests/support/quiet_communicator.hpp"
#include "tests/support/selections.hpp"

namespace holdfast {

static void PrintTo(ChargeRule rule, std::ostream* out) {
    *out << name_of(rule);
}

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
void PrintTo(const Setting& setting, std::ostream* out) {
    *out << setting.name;
}

template <typename Real>
struct ExactSumsIn : testing::TestWithParam<Setting> {
    const Network& network = GetParam().network;
    const Clip& clip = GetParam().clip;
    const std::shared_ptr<const Backend> cpu = make_backend("cpu", RealFormat<Real>::precision);
    const Records records = random_records(record_count, network.inputs(), network.classes());
    const std::vector<Level> levels = levels_of(network);
    const int threads_before = omp_get_max_threads();

    void TearDown() override { omp_set_num_threads(threads_before); }

    StepMessage layout() const { return StepMessage::of(levels.size(), network.shape()); }
    std::vector<Variant> variants() const {
        std::vector<Variant> all;
        for (const Level& level : levels) {
            const bool point = all.empty();
            all.push_back({level.lower.data(), point ? level.lower.data() : level.upper.data(),
                           std::size_t{GetParam().select && !point ? 5U : 0U}});
        }
        return all;
    }
    StepSums raw_sums(const std::vector<std::vector<std::uint32_t>>& parts, const Backend& backend) const {
        const auto engine = backend.engine(network.shape(), clip);
        const std::vector<RecordSet> sets(parts.size(), records.view(true));
        engine->set_records(sets);
        const std::vector<Variant> all = variants();
        engine->run(all, std::vector<std::span<const std::uint32_t>>(parts.begin(), parts.end()));
        const auto message = engine->finish();
        return {layout(), {message.begin(), message.end()}, take_selections(*engine, all)};
    }
    static std::vector<Result> results_of(StepSums sums) {
        std::vector<Result> results;
        for (LevelSums& level : sums.levels) {
            Result result{{level.lower.begin(), level.lower.end()},
                          {level.upper.begin(), level.upper.end()},
                          {},
                          level.surely_correct,
                          level.possibly_correct};
            if (level.least) {
                for (Selection* selection : {&level.least->upper, &level.least->negated_lower})
                    add_sorted(*selection, result.selected);
            }
            results.push_back(std::move(result));
        }
        return results;
    }
    static void add_sorted(Selection& selection, std::vector<std::int64_t>& all) {
        for (std::size_t entry = 0; entry < selection.entries(); ++entry) {
            const std::vector<std::int64_t> values = sorted_values(selection, entry);
            all.insert(all.end(), values.begin(), values.end());
        }
    }
    std::vector<Result> sums(const std::vector<std::vector<std::uint32_t>>& parts,
                             const Backend& backend) const {
        return results_of(raw_sums(parts, backend));
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
    ASSERT_EQ(sums({all_records()}, *make_backend("reference", RealFormat<Real>::precision)),
              sums({all_records()}));
}

template <typename Real>
void ExactSumsIn<Real>::instruction_sets() {
    const std::vector<Result> expected =
        sums({all_records()}, *make_backend("reference", RealFormat<Real>::precision));
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
    const StepSums with = raw_sums({all_records()}, *cpu);
    bool attained = false;
    for (const std::uint32_t changed : {0U, 7U, 57U, 127U, 128U, 300U, 699U}) {
        std::vector<std::uint32_t> others = all_records();
        others.erase(others.begin() + changed);
        const StepSums without = raw_sums({others}, *cpu), alone = raw_sums({{changed}}, *cpu);
        for (std::size_t level = 0; level < levels.size(); ++level) {
            for (std::size_t p = 0; p < network.parameters(); ++p) {
                const std::int64_t gamma = biases[p] ? clip.bias_units<Real>() : clip.weight_units<Real>();
                const std::int64_t lower = with.levels[level].lower[p] - without.levels[level].lower[p],
                                   upper = with.levels[level].upper[p] - without.levels[level].upper[p];
                ASSERT_EQ(lower, alone.levels[level].lower[p]);
                ASSERT_EQ(upper, alone.levels[level].upper[p]);
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
    const std::unique_ptr<PanelOperations<Real>> operations = make_operations<Real>(std::get<0>(GetParam()));
    const double gamma = std::get<1>(GetParam());
    static constexpr Real huge = sizeof(Real) == sizeof(double) ? Real(1e200) : Real(1e30);
    const LayerShape shape{17, 5};
    const std::size_t stride = row_stride<Real>(shape.in);

    /// Sums of a panel in which every record has the same gradient, far beyond the clip; added to `start`.
    std::vector<std::int64_t> after(const Clip& clip, Real delta, std::int64_t start) const {
        const AlignedVector<Real> deltas(shape.out * panel_height, delta), z(shape.in * panel_height, huge);
        AlignedVector<Real> rows(panel_height * stride);
        operations->transpose(shape.in, z.data(), rows.data(), stride);
        std::vector<std::int64_t> sums(shape.parameters(), start), upper = sums, point = sums;
        operations->accumulate(
            {shape, clip, {deltas.data(), deltas.data()}, {rows.data(), rows.data()}, stride, panel_height},
            {point.data(), point.data()});
        const AlignedVector<Real> same_deltas(deltas.begin(), deltas.end()),
            same_rows(rows.begin(), rows.end());  // equal bounds that are no point
        operations->accumulate({shape,
                                clip,
                                {deltas.data(), same_deltas.data()},
                                {rows.data(), same_rows.data()},
                                stride,
                                panel_height},
                               {sums.data(), upper.data()});
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

// A batch's sum is at most 2^62 (WideSums clamps what is more). Its charge is at most K Gamma, and for
// `substitute` that of the K entries it takes out besides; K is at most 2^20.
template <typename Real>
void WorstPanelIn<Real>::charges() {
    const __int128 units = Clip{.kind = Clip::Kind::elementwise, .gamma = gamma}.weight_units<Real>();
    constexpr __int128 most_levels = 1 << 20;
    ASSERT_LE((__int128{1} << 62) + 2 * most_levels * units, __int128{INT64_MAX});
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

/// One rank of so many that it may add a few records at a time only; the others hold nothing.
class CrowdedCommunicator final : public QuietCommunicator {
  public:
    explicit CrowdedCommunicator(int size) : size_(size) {}
    int size() const override { return size_; }

  private:
    int size_;
};

struct PartsOfABatch : testing::TestWithParam<std::tuple<ChargeRule, Precision>> {
    std::vector<std::byte> trained(const Communicator& ranks) const {
        const auto [charge_rule, precision] = GetParam();
        Settings settings;
        settings.training.precision = precision;
        settings.certificate.charge_rule = charge_rule;
        settings.network.hidden = {3};
        settings.certificate.levels = 4;
        settings.training.epochs = 2;
        const Records records = random_records(90, 4, 2), open = random_records(0, 4, 2);
        const auto backend = make_backend("auto", precision);
        const TrainingPlan plan = make_plan(settings, {.features = 4, .found = records.size()}, backend);
        MemberTrainer trainer(plan, records, open, MemberTrainer::fresh_state(plan, 0));
        while (!trainer.done()) trainer.step(ranks);
        return trainer.state().packed();
    }
};

TEST_P(PartsOfABatch, AddUpToTheSameBytes) {
    const std::vector<std::byte> whole = trained(*make_serial_communicator());
    for (const int crowd : {1 << 21, 1 << 20, 1 << 16}) EXPECT_EQ(trained(CrowdedCommunicator(crowd)), whole);
}

INSTANTIATE_TEST_SUITE_P(
    Settings, PartsOfABatch,
    testing::Combine(testing::Values(ChargeRule::per_epoch, ChargeRule::per_batch, ChargeRule::both),
                     testing::Values(Precision::double_precision, Precision::single_precision)));

// No part tears the rows of a person apart: what is selected are persons, in whatever parts.
TEST(PartsOfABatchOfPersons, SelectWholePersons) {
    Records records = random_records(90, 4, 2);
    const Records open = random_records(0, 4, 2);
    for (std::size_t i = 0, person = 0, end = 1; i < records.size(); ++i) {
        if (i == end) end += 1 + ++person % 5;
        records.ids[i] = person;
    }
    weigh_persons(records, 5, "test");
    Settings settings;
    settings.network.hidden = {3};
    settings.certificate.charge_rule = ChargeRule::per_batch;
    settings.certificate.relation = Relation::substitute;
    settings.training.rows_at_most = 5;
    const TrainingPlan plan = make_plan(settings, {.features = 4, .found = records.size()},
                                        make_backend("cpu", Precision::double_precision));
    const std::vector<std::int64_t> lower = plan.initial_parameters(0);
    std::vector<std::int64_t> upper = lower;
    for (std::int64_t& units : upper) units += std::int64_t{1} << 40;
    const Variant box{lower.data(), upper.data(), 4};
    std::vector<std::uint32_t> all(records.size());
    std::iota(all.begin(), all.end(), 0);
    const auto selected = [&](const Communicator& ranks) {
        GradientSums sums(plan, records, open);
        PhaseTimes times;
        StepSums step = sums.of({&box, 1}, {all, {}}, ranks, times);
        std::vector<std::vector<std::int64_t>> kept;
        for (std::size_t p = 0; p < lower.size(); ++p) {
            const auto values = step.levels.front().least->upper.values(p);
            kept.emplace_back(values.begin(), values.end());
            std::sort(kept.back().begin(), kept.back().end());
        }
        return kept;
    };
    const auto whole = selected(*make_serial_communicator());
    for (const int crowd : {1 << 21, 1 << 20, 1 << 16})
        EXPECT_EQ(selected(CrowdedCommunicator(crowd)), whole);
}

// Parts keep the least of all records, as one sum over them does.
TEST_P(ExactSums, PartsHaveTheSumsOfTheWhole) {
    WideSums wide(layout());
    for (std::uint32_t first = 0; first < record_count; first += 130) {
        std::vector<std::uint32_t> part(std::min<std::uint32_t>(130, record_count - first));
        std::iota(part.begin(), part.end(), first);
        StepSums sums = raw_sums({part}, *cpu);
        std::vector<std::optional<LeastEntries>> selections;
        for (LevelSums& level : sums.levels) selections.push_back(std::move(level.least));
        wide.add(sums.message, std::move(selections));
    }
    EXPECT_EQ(results_of(wide.clamped()), sums({all_records()}));
}

// More records in a batch than an int64 can add: the step is taken all the same, with the sum clamped to
// 2^62.
TEST(LargeBatch, HasASumOfItsOwn) {
    Settings settings;
    settings.network.hidden = {};
    settings.certificate.levels = 1;
    settings.training.epochs = 1;
    settings.clip.gamma = std::nextafter(2.0, 0.0);
    const auto backend = make_backend("auto", settings.training.precision);
    const GradientScale scale = settings.clip.scale(backend->precision());
    const auto count = static_cast<std::size_t>(scale.record_limit) * 9 / 8;
    Records records{FeatureMatrix(1, false), {}, {}, {}};
    records.features.values().assign(count, 100.0F);  // every entry is beyond gamma
    records.rows.resize(count);
    std::iota(records.rows.begin(), records.rows.end(), 0);
    records.ids = records.rows;
    settings.training.expected_records = static_cast<std::int64_t>(count);
    const TrainingPlan plan = make_plan(settings, {.features = 1}, backend);
    const MemberState before = MemberTrainer::fresh_state(plan, 0);
    const bool answers_one = before.levels[0].lower[0] > 0;
    records.labels.assign(count, answers_one ? 0 : 1);  // wrong, all of them
    const Records none{FeatureMatrix(1, false), {}, {}, {}};
    MemberTrainer trainer(plan, std::move(records), none, before);
    trainer.step(*make_serial_communicator());

    const std::int64_t greatest = std::int64_t{1} << 62;
    std::vector<std::int64_t> expected = before.levels[0].lower, sums(2, answers_one ? greatest : -greatest);
    ASSERT_GT(static_cast<__int128>(count) * scale.weight_units, __int128{1} << 62);
    make_sgd(settings.training, scale.exponent)->update(0, static_cast<double>(count), {expected, {}}, sums);
    EXPECT_EQ(trainer.state().levels[0].lower[0], expected[0]);
    EXPECT_LE(trainer.box(1).lower[0], expected[0]);
    EXPECT_GE(trainer.box(1).upper[0], expected[0]);
}

}  // namespace
}  // namespace holdfast
