// One step of a 2-2-1 network that can be followed with a pencil: every number of every stage stands here,
// all of them multiples of 1/32, so that nothing is ever rounded and the numbers are exact.
//
//   unit 1   a1 = w11 x1 + w12 x2 + b1   z1 = max(a1, 0)       record     x       label
//   unit 2   a2 = w21 x1 + w22 x2 + b2   z2 = max(a2, 0)          A    (2, 1)       1
//   logit     s = v1 z1 + v2 z2 + c                               B  (5/4, 3/4)     0
//                                                                 C   (-1, 1)       1
//
// The parameters give every record the logit 0, where the derivative 1 / (1 + exp(-s)) - label is -1/2 or
// 1/2. The boxes of k = 1 and k = 2 are chosen so that every logit lies between 0 and something from 40 up:
// there exp(-s) is lost in 1 + exp(-s), and the derivative is 1 - label. Lemmas: models/mathematics.md.

#include <gtest/gtest.h>

#include "dist/comm/communicator.hpp"
#include "kernels/backends.hpp"
#include "kernels/ops/loss_rule.hpp"
#include "kernels/reference/operations.hpp"
#include "models/boxes/trainer.hpp"

namespace holdfast {
namespace pencil_step_test {

using Values = std::vector<double>;

constexpr std::size_t record_count = 3;
const Values features{2, 1, 1.25, 0.75, -1, 1};  // A, B, C
const std::vector<std::int32_t> labels{1, 0, 1};
constexpr double gamma = 1, alpha = 1, decay = 0.25, normaliser = 4;

/// lower == upper at k = 0.
struct Bounds {
    Values lower, upper;
    BasicInterval<double> view() { return {lower.data(), upper.data()}; }
    bool operator==(const Bounds&) const = default;
};
Bounds point(const Values& values) {
    return {values, values};
}
void PrintTo(const Bounds& bounds, std::ostream* out) {
    *out << testing::PrintToString(bounds.lower) << " to " << testing::PrintToString(bounds.upper);
}

/// Everything that one level goes through; values of several records in the order A, B, C.
struct Level {
    std::int64_t k;
    Bounds box;     // w11, w12, b1, w21, w22, b2, v1, v2, c
    Bounds hidden;  // z1 of A, B, C, then z2
    Bounds logits, derivative;
    Bounds hidden_deltas;  // by a1, then by a2
    Bounds entries[3];     // of A, B and C, in the order of the box: delta x or delta z, within +-gamma
    Bounds sums;
};

// k = 0: A has a1 = 2 + 1 - 1 = 2 and a2 = 2 - 1 = 1, so s = 2 - 2 = 0; C has a1 = -1 and a2 = -2, so z = 0.
// Backward, A has derivative -1/2: by a1 it is v1 (-1/2) = -1/2, by a2 v2 (-1/2) = 1. C's units are shut.
// Clipped are w21 of A (1 * 2 becomes 1) and of B (-1 * 5/4 becomes -1).
const Level nominal{
    0,
    point({1, 1, -1, 1, -1, 0, 1, -2, 0}),
    point({2, 1, 0, 1, 0.5, 0}),
    point({0, 0, 0}),
    point({-0.5, 0.5, -0.5}),
    point({-0.5, 0.5, 0, 1, -1, 0}),
    {point({-1, -0.5, -0.5, 1, 1, 1, -1, -0.5, -0.5}),
     point({0.625, 0.375, 0.5, -1, -0.75, -1, 0.5, 0.25, 0.5}), point({0, 0, 0, 0, 0, 0, 0, 0, -0.5})},
    point({-0.375, -0.125, 0, 0, 0.25, 0, -0.5, -0.25, -0.5})};

// k = 1: w11 up to 3/2, b2 down to -1, v1 up to 2, v2 up to -1, c up to 40.
// A: a1 from 2 to 3/2 * 2 = 3, a2 from 1 - 1 = 0 to 1; s from 1 * 2 - 2 * 1 = 0 to 2 * 3 - 1 * 0 + 40 = 46.
// C: x1 < 0, so a1 is least at the greatest w11; both units stay shut, and s is c alone.
// Backward, A: v1 [-1/2, 0] is [-1, 0] as v1 is in [1, 2]; v2 [-1/2, 0] is [0, 1], its gate open and shut.
// B: v2 [1/2, 1] is [-2, -1/2], and with the gate shut at some points 0 belongs to it: [-2, 0].
const Level first{1,
                  {{1, 1, -1, 1, -1, -1, 1, -2, 0}, {1.5, 1, -1, 1, -1, 0, 2, -1, 40}},
                  {{2, 1, 0, 0, 0, 0}, {3, 1.625, 0, 1, 0.5, 0}},
                  {{0, 0, 0}, {46, 43.25, 40}},
                  {{-0.5, 0.5, -0.5}, {0, 1, 0}},
                  {{-1, 0.5, 0, 0, -2, 0}, {0, 2, 0, 1, 0, 0}},
                  {{{-1, -1, -1, 0, 0, 0, -1, -0.5, -0.5}, {0, 0, 0, 1, 1, 1, 0, 0, 0}},
                   {{0.625, 0.375, 0.5, -1, -1, -1, 0.5, 0, 0.5}, {1, 1, 1, 0, 0, 0, 1, 0.5, 1}},
                   {{0, 0, 0, 0, 0, 0, 0, 0, -0.5}, {0, 0, 0, 0, 0, 0, 0, 0, 0}}},
                  {{-0.375, -0.625, -0.5, -1, -1, -1, -0.5, -0.5, -0.5}, {1, 1, 1, 1, 1, 1, 1, 0.5, 1}}};

// k = 2: b2 down to -2 and c up to 48 besides; no other number changes before the charge.
const Level second{2,
                   {{1, 1, -1, 1, -1, -2, 1, -2, 0}, {1.5, 1, -1, 1, -1, 0, 2, -1, 48}},
                   first.hidden,
                   {{0, 0, 0}, {54, 51.25, 48}},
                   first.derivative,
                   first.hidden_deltas,
                   {first.entries[0], first.entries[1], first.entries[2]},
                   first.sums};

/// [rows, columns] -> [columns, rows]: operations have records innermost.
Values transposed(const Values& values, std::size_t rows) {
    const std::size_t columns = values.size() / rows;
    Values result;
    for (std::size_t j = 0; j < columns; ++j) {
        for (std::size_t i = 0; i < rows; ++i) result.push_back(values[i * columns + j]);
    }
    return result;
}

Bounds zeros(std::size_t count) {
    return point(Values(count, 0.0));
}

struct PencilStep : testing::TestWithParam<Level> {
    const Level& level = GetParam();
    const reference::Weights<double> hidden_layer{{2, 2}, level.box.lower.data(), level.box.upper.data()},
        last_layer{{2, 1}, level.box.lower.data() + 6, level.box.upper.data() + 6};
};

TEST_P(PencilStep, Forward) {
    const Values by_feature = transposed(features, record_count);
    Bounds hidden = zeros(2 * record_count), logits = zeros(record_count);
    reference::forward_input(hidden_layer, record_count, by_feature.data(), hidden.view());
    reference::relu(hidden.lower.size(), hidden.view());
    EXPECT_EQ(hidden, level.hidden);
    reference::forward<double>(last_layer, record_count, hidden.view(), logits.view());
    EXPECT_EQ(logits, level.logits);
}

// The derivative grows with the logit: its lower bound is taken at the lower end.
TEST_P(PencilStep, LossDerivative) {
    const auto derivatives = [&](const Values& logits) {
        Values result;
        for (std::size_t r = 0; r < record_count; ++r) {
            result.push_back(loss_derivative(Loss::binary_cross_entropy, 1, 0, labels[r], &logits[r],
                                             &logits[r], record_count));
        }
        return result;
    };
    EXPECT_EQ(derivatives(level.logits.lower), level.derivative.lower);
    EXPECT_EQ(derivatives(level.logits.upper), level.derivative.upper);
}

TEST_P(PencilStep, Backward) {
    Bounds derivative = level.derivative, hidden = level.hidden, deltas = zeros(2 * record_count);
    reference::backward<double>(last_layer, record_count, derivative.view(), hidden.view(), deltas.view());
    EXPECT_EQ(deltas, level.hidden_deltas);
}

TEST_P(PencilStep, EntriesAndSums) {
    const reference::Rule<double> rule(Clip{.kind = Clip::Kind::elementwise, .gamma = gamma});
    const auto units = [&](double value) { return static_cast<std::int64_t>(value / rule.grid.unit()); };
    EXPECT_EQ(rule.grid.unit(), 0x1p-39);  // so that gamma has 2^39, of at most 2^40, units
    Bounds sums = zeros(9);
    for (std::size_t r = 0; r < record_count; ++r) {
        const auto expect_entry = [&](std::size_t p, const Bounds& deltas, std::size_t unit, double z_lower,
                                      double z_upper) {
            const std::size_t at = unit * record_count + r;
            const reference::Entry entry = reference::clipped_entry<double>(
                rule, p % 3 == 2, {deltas.lower[at], deltas.upper[at], z_lower, z_upper});
            EXPECT_EQ(entry.lower, units(level.entries[r].lower[p])) << "record " << r << " entry " << p;
            EXPECT_EQ(entry.upper, units(level.entries[r].upper[p])) << "record " << r << " entry " << p;
        };
        for (std::size_t j = 0; j < 3; ++j) {
            const std::size_t at = j * record_count + r;
            const double x = j == 2 ? 1 : features[2 * r + j];
            expect_entry(j, level.hidden_deltas, 0, x, x);
            expect_entry(3 + j, level.hidden_deltas, 1, x, x);
            expect_entry(6 + j, level.derivative, 0, j == 2 ? 1 : level.hidden.lower[at],
                         j == 2 ? 1 : level.hidden.upper[at]);
        }
        for (std::size_t p = 0; p < 9; ++p) {
            sums.lower[p] += level.entries[r].lower[p];
            sums.upper[p] += level.entries[r].upper[p];
        }
    }
    EXPECT_EQ(sums, level.sums);
}

INSTANTIATE_TEST_SUITE_P(Levels, PencilStep, testing::Values(nominal, first, second),
                         [](const auto& info) { return "k" + std::to_string(info.param.k); });

std::vector<std::int64_t> in_units(const Values& values) {
    std::vector<std::int64_t> units;
    for (const double value : values) units.push_back(parameter_units(value));
    return units;
}
Values in_numbers(const std::vector<std::int64_t>& units) {
    Values values;
    for (const std::int64_t unit : units) values.push_back(parameter_value(unit));
    return values;
}

TrainingPlan plan_of(Relation relation, ChargeRule rule) {
    Settings settings;
    settings.network.hidden = {2};
    settings.training.epochs = 2;
    settings.training.learning_rate = alpha;
    settings.training.l2 = decay;
    settings.training.expected_records = static_cast<std::int64_t>(normaliser);
    settings.clip.gamma = gamma;
    settings.certificate.levels = 2;
    settings.certificate.relation = relation;
    settings.certificate.charge_rule = rule;
    return make_plan(settings, {.features = 2},
                     make_backend("reference", Precision::double_precision, Product::exact));
}

const Records nobody{FeatureMatrix(2, true), {}, {}, {}};

Records records() {
    Records all{FeatureMatrix(2, true), labels, {17, 4, 99}, {0, 1, 2}};
    all.features.wide_values() = features;
    return all;
}

/// The state after one step from the boxes of the levels above. It is the second of the training: at the
/// first all boxes are one point still.
MemberState state_after_a_step(Relation relation) {
    const TrainingPlan plan = plan_of(relation, ChargeRule::per_batch);
    MemberState state;
    state.step = 1;
    state.normalisers = {normaliser};
    for (const Level& level : {nominal, first, second})
        state.levels.push_back({level.k, in_units(level.box.lower), in_units(level.box.upper), {}, {}});
    MemberTrainer trainer(plan, records(), nobody, state);
    trainer.step(*make_serial_communicator());
    return trainer.state();
}

std::vector<Bounds> stepped(Relation relation) {
    std::vector<Bounds> boxes;
    for (const LevelState& level : state_after_a_step(relation).levels)
        boxes.push_back({in_numbers(level.lower), in_numbers(level.upper)});
    return boxes;
}

// A parameter becomes 3/4 of itself less a quarter of the sum, its lower end less a quarter of the upper sum.
const Bounds stepped_nominal =
    point({27.0 / 32, 25.0 / 32, -0.75, 0.75, -13.0 / 16, 0, 7.0 / 8, -23.0 / 16, 1.0 / 8});

// Charge k gamma = k: for k = 1 the sum of w11 lies in [-3/8 - 1, 1 + 1], so w11 goes to
// [3/4 - 2/4, 3/4 * 3/2 + 11/8 / 4] = [1/4, 47/32].
TEST(PencilStepOfAllLevels, AddRemoveChargesGammaForEachRecord) {
    const std::vector<Bounds> boxes = stepped(Relation::add_remove);
    EXPECT_EQ(boxes[0], stepped_nominal);
    EXPECT_EQ(boxes[1], (Bounds{{0.25, 0.25, -1.25, 0.25, -1.25, -1.25, 0.25, -1.875, -0.5},
                                {47.0 / 32, 37.0 / 32, -0.375, 1.25, -0.25, 0.5, 1.875, -0.375, 30.375}}));
    EXPECT_EQ(boxes[2], (Bounds{{0, 0, -1.5, 0, -1.5, -2.25, 0, -2.125, -0.75},
                                {55.0 / 32, 45.0 / 32, -0.125, 1.5, 0, 0.75, 2.125, -0.125, 36.625}}));
}

// The k least upper entries go and k gamma comes; of lower entries the k greatest go. For c and k = 2 the
// lower entries are -1/2, 1/2, -1/2: the greatest two are 0 together, so its sum lies in [-1/2 - 2, 1 + 2].
TEST(PencilStepOfAllLevels, SubstituteTakesTheGreatestOutBesides) {
    const std::vector<Bounds> boxes = stepped(Relation::substitute);
    EXPECT_EQ(boxes[0], stepped_nominal);
    EXPECT_EQ(boxes[1], (Bounds{{0.25, 0.25, -1.25, 0.25, -1.25, -1.25, 0.25, -1.875, -0.5},
                                {1.625, 1.25, -0.25, 1.25, -0.25, 0.5, 2, -0.375, 30.5}}));
    EXPECT_EQ(boxes[2], (Bounds{{0, 0, -1.5, 0, -1.5, -2.25, 0, -2.125, -0.75},
                                {1.875, 1.5, 0, 1.5, 0, 0.75, 2.25, -0.125, 36.625}}));
}

// Nothing comes, and of the k greatest lower entries only those above 0 matter: 5/8 for w11, so that its sum
// lies in [-3/8 - 5/8, 1]; for c and k = 2 it is 1/2 alone.
TEST(PencilStepOfAllLevels, RemoveTakesOutWhatGains) {
    const std::vector<Bounds> boxes = stepped(Relation::remove);
    EXPECT_EQ(boxes[0], stepped_nominal);
    EXPECT_EQ(boxes[1], (Bounds{{0.5, 0.5, -1, 0.5, -1, -1, 0.5, -1.625, -0.25},
                                {1.375, 1, -0.5, 1, -0.5, 0.25, 1.75, -0.625, 30.25}}));
    EXPECT_EQ(boxes[2], (Bounds{{0.5, 0.5, -1, 0.5, -1, -1.75, 0.5, -1.625, -0.25},
                                {1.375, 1, -0.5, 1, -0.5, 0.25, 1.75, -0.625, 36.25}}));
}

// Of k = 2. Its box was stepped to widths of 55/32, 45/32, 11/8, 3/2, 3/2, 3 and of 17/8, 2, 299/8. In the
// box before, z2 of A and of B, of six activations, may be 0 or not. The sums of the hidden layer are 21/2
// wide in all, and of the last layer 4; charged are 2 gamma each way to each of six and of three.
TEST(PencilStepOfAllLevels, SaysWhereTheLargestBoxGrows) {
    const StepMetrics metrics = state_after_a_step(Relation::add_remove).metrics.back();
    EXPECT_EQ(metrics.level, 2);
    EXPECT_EQ(metrics.layer_width_mean, (Values{1.75, 41.5 / 3}));
    EXPECT_EQ(metrics.layer_width_max, (Values{3, 37.375}));
    EXPECT_EQ(metrics.undecided, (Values{2.0 / 6}));
    EXPECT_EQ(metrics.charge_share, (Values{1 - 10.5 / 34.5, 0.75}));
}

// A removal adds nothing: with the greatest lower entries go 5/8, 3/8 and 1/2 of w11, w12 and b1, and 1/2
// each of v1 and c.
TEST(PencilStepOfAllLevels, SaysWhatRemovalsCharge) {
    const StepMetrics metrics = state_after_a_step(Relation::remove).metrics.back();
    EXPECT_EQ(metrics.charge_share, (Values{1 - 10.5 / 12, 1 - 4.0 / 5}));
}

/// Of each layer of k = 2, whose parameters the radius makes so much wider than the core's.
void expect_radius_share(const MemberTrainer& trainer, double of_radius) {
    const StepMetrics& metrics = trainer.state().metrics.back();
    const LevelState& core = trainer.state().levels.back();
    for (std::size_t l = 0; l < 2; ++l) {
        double of_core = 0;
        for (std::size_t p = l == 0 ? 0 : 6; p < (l == 0 ? 6 : 9); ++p)
            of_core += parameter_value(core.upper[p] - core.lower[p]);
        of_core /= l == 0 ? 6 : 3;
        EXPECT_DOUBLE_EQ(metrics.layer_width_mean[l], of_core + of_radius);
        EXPECT_DOUBLE_EQ(metrics.charge_share[l], of_radius / (of_core + of_radius));
    }
}

// Core and radius: the core of the first step is the nominal step, a record moves a parameter by gamma / 4 in
// each of two epochs, and of the first quarter three quarters are left after the second: R_2 = 7/16.
TEST(PencilStepOfAllLevels, PerEpochWidensTheCoreByTheRadius) {
    for (const Relation relation : {Relation::add_remove, Relation::substitute, Relation::remove}) {
        const TrainingPlan plan = plan_of(relation, ChargeRule::per_epoch);
        MemberState state;
        for (const std::int64_t k : {0, 1, 2})
            state.levels.push_back({k, in_units(nominal.box.lower), in_units(nominal.box.upper), {}, {}});
        MemberTrainer trainer(plan, records(), nobody, state);
        const double reach = relation == Relation::substitute ? 2 : 1;
        for (const double radius : {0.25, 0.4375}) {
            trainer.step(*make_serial_communicator());
            expect_radius_share(trainer, 4 * reach * radius);
            for (std::size_t k = 0; k <= 2; ++k) {
                const LevelState &core = trainer.state().levels[k], box = trainer.box(k);
                const Bounds values{in_numbers(core.lower), in_numbers(core.upper)};
                EXPECT_TRUE(trainer.done() || values == stepped_nominal);
                const std::int64_t width = parameter_units(reach * static_cast<double>(k) * radius);
                for (std::size_t p = 0; p < 9; ++p) {
                    EXPECT_EQ(core.lower[p] - box.lower[p], width);
                    EXPECT_EQ(box.upper[p] - core.upper[p], width);
                }
            }
        }
    }
}

}  // namespace pencil_step_test
}  // namespace holdfast
