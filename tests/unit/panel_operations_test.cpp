// Every SIMD operation against plain loops: bitwise equality is the contract of
// kernels/ops/panel_operations.hpp. A device's kernels are held to it in whole steps (engine_test.cpp).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/backends.hpp"
#include "kernels/base/aligned.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "kernels/ops/correct_rule.hpp"
#include "kernels/ops/engine.hpp"
#include "tests/support/print.hpp"
#include "tests/support/selections.hpp"

namespace holdfast {
namespace panel_operations_test {

template <typename Real>
using Panel = AlignedVector<Real>;

/// Values of many magnitudes and signs, with zeros, signed zeros, subnormals and equal bounds among them.
template <typename Real>
class Values {
  public:
    explicit Values(std::uint64_t seed) : hash_{seed} {}
    Real any() {
        const std::uint64_t kind = hash_(1, next_) % 16;
        const auto value = static_cast<Real>(
            std::ldexp(hash_.uniform(2, next_) - 0.5, static_cast<int>(hash_(3, next_) % 12) - 8));
        ++next_;
        if (kind == 0) return 0;
        if (kind == 1) return Real{-0.0F};
        if (kind == 2) return std::copysign(64 * std::numeric_limits<Real>::denorm_min(), value);
        return value;
    }
    Real nonnegative() { return std::abs(any()); }
    std::int64_t units() { return parameter_units(any()); }
    std::int64_t radius() {
        const Real spread = any();
        return spread < 0.01 ? 0 : parameter_units(spread);
    }

  private:
    KeyedHash hash_;
    std::uint64_t next_ = 0;
};

template <typename Real>
struct Bounds {
    Panel<Real> lower, upper;
    BasicInterval<Real> view() { return {lower.data(), upper.data()}; }
    BasicConstInterval<Real> view() const { return {lower.data(), upper.data()}; }
};

template <typename Real>
Bounds<Real> empty_bounds(std::size_t rows) {
    return {Panel<Real>(rows * panel_height), Panel<Real>(rows * panel_height)};
}

template <typename Real, typename Draw>
Bounds<Real> random_bounds(std::size_t rows, Draw draw) {
    Bounds<Real> bounds = empty_bounds<Real>(rows);
    for (std::size_t i = 0; i < rows * panel_height; ++i) {
        const Real a = draw(), b = draw();
        bounds.lower[i] = std::min(a, b);
        bounds.upper[i] = std::max(a, b);
    }
    return bounds;
}

struct Weights {
    std::vector<std::int64_t> lower, upper;
    template <typename Real>
    Weights(LayerShape shape, Values<Real>& values) : lower(shape.parameters()), upper(shape.parameters()) {
        for (std::size_t p = 0; p < lower.size(); ++p) {
            lower[p] = values.units();
            upper[p] = lower[p] + values.radius();
        }
    }
};

/// What a layer reads: bounds of activations, or features, a point, of one sign or any.
enum class Reads { activations, nonnegative_features, features };
constexpr Reads all_reads[] = {Reads::activations, Reads::nonnegative_features, Reads::features};

/// The same by rows: [panel_height, row_stride].
template <typename Real>
struct Rows {
    Panel<Real> lower, upper;
    Reads reads;
    BasicConstInterval<Real> view() const {
        return {lower.data(), reads == Reads::activations ? upper.data() : lower.data()};
    }
};

/// The operations in one precision, held against the reference of that precision.
template <typename Real>
struct Operations : testing::TestWithParam<LayerShape> {
    std::unique_ptr<PanelOperations<Real>> reference = make_operations<Real>("reference");
    std::unique_ptr<PanelOperations<Real>> tested = make_operations<Real>("cpu");
    LayerShape shape = GetParam();
    Values<Real> values{shape.in * 1000 + shape.out};
    Weights weights{shape, values};

    void SetUp() override { ASSERT_EQ(tested->name(), "cpu"); }

    std::unique_ptr<PackedLayer> pack(const PanelOperations<Real>& operations, bool point) {
        return operations.pack(shape, weights.lower.data(),
                               point ? weights.lower.data() : weights.upper.data());
    }
    Bounds<Real> empty(std::size_t rows) { return empty_bounds<Real>(rows); }
    template <typename Draw>
    Bounds<Real> random(std::size_t rows, Draw draw) {
        return random_bounds<Real>(rows, draw);
    }

    Rows<Real> random_rows(Reads reads);

    void load();
    void transpose();
    void forward_input();
    void forward_box();
    void forward();
    void relu();
    void undecided();
    void norms();
    void saturate();
    void backward();
    void accumulate();
    void accumulate_persons();
    void accumulate_and_select();
    void gather_selections();
    void offer_changes();
};
using OperationsInDouble = Operations<double>;
using OperationsInSingle = Operations<float>;

template <typename Real>
void expect_equal(const Panel<Real>& expected, const Panel<Real>& actual, const char* what) {
    ASSERT_EQ(expected.size(), actual.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(expected[i], actual[i]) << what << " at " << i;
}
template <typename Real>
void expect_equal(const Bounds<Real>& expected, const Bounds<Real>& actual) {
    expect_equal(expected.lower, actual.lower, "lower");
    expect_equal(expected.upper, actual.upper, "upper");
}

template <typename Test>
void on_every_target(Test test) {
    for (const std::string& target : simd_targets()) {
        SCOPED_TRACE(target);
        const SimdTargetOverride only(target);
        test();
    }
}

/// Features as any file may hold them.
template <typename Feature>
std::vector<Feature> any_features(std::size_t count, Values<double>& values) {
    std::vector<Feature> features;
    for (std::size_t i = 0; i < count; ++i) {
        const auto value = static_cast<Feature>(values.any());
        features.push_back(i % 7 != 0    ? value
                           : i % 5 == 0  ? std::numeric_limits<Feature>::quiet_NaN()
                           : value > 0.1 ? std::numeric_limits<Feature>::infinity()
                                         : value * std::numeric_limits<Feature>::max());
    }
    return features;
}

template <typename Real>
void Operations<Real>::load() {
    Values<double> drawn(7);
    const std::size_t record_count = 150;
    const std::vector<float> features = any_features<float>(record_count * shape.in, drawn);
    const std::vector<double> wide = any_features<double>(record_count * shape.in, drawn);
    const auto labels = std::vector<std::int32_t>(record_count);
    const RecordSet sets[] = {{.features = features.data(), .labels = labels.data(), .count = record_count},
                              {.wide_features = wide.data(), .labels = labels.data(), .count = record_count}};
    const InputTransform transforms[] = {
        {}, {.range = {-0.25, 1.0 / 3}}, {.shift = 0.5, .scale = 3, .range = {-1, 1}}, {.scale = 1e30}};
    for (const RecordSet& records : sets) {
        for (const InputTransform& input : transforms) {
            for (const std::size_t count : {1, 7, 8, 100, 128}) {
                std::vector<std::uint32_t> indices;
                for (std::size_t i = 0; i < count; ++i)
                    indices.push_back(static_cast<std::uint32_t>((i * 61 + 149) % record_count));
                for (const double moved : {0.0, -0.125}) {
                    Panel<Real> expected(shape.in * panel_height, 3), actual = expected;
                    reference->load(input, moved, shape.in, records, indices, expected.data());
                    tested->load(input, moved, shape.in, records, indices, actual.data());
                    expect_equal(expected, actual, "feature");
                    const double first = records.feature(149 * shape.in);
                    EXPECT_EQ(actual[0], input.apply<Real>(moved == 0 ? first : input.inside(first) + moved));
                    EXPECT_TRUE(count == panel_height || actual.back() == 0);
                }
            }
        }
    }
}

template <typename Real>
void Operations<Real>::transpose() {
    const std::size_t stride = row_stride<Real>(shape.in);
    const Bounds<Real> panel = random(shape.in, [&] { return values.any(); });
    Panel<Real> expected(panel_height * stride, 3), actual = expected;
    reference->transpose(shape.in, panel.lower.data(), expected.data(), stride);
    tested->transpose(shape.in, panel.lower.data(), actual.data(), stride);
    expect_equal(expected, actual, "value");
    EXPECT_EQ(actual[stride], panel.lower[1]);
}

template <typename Real>
void Operations<Real>::forward_input() {
    for (const bool only_nonnegative : {false, true}) {
        Panel<Real> x(shape.in * panel_height);
        for (Real& value : x) value = only_nonnegative ? values.nonnegative() : values.any();
        Bounds<Real> expected = empty(shape.out), actual = empty(shape.out);
        reference->forward_input(*pack(*reference, false), x.data(), expected.view());
        tested->forward_input(*pack(*tested, false), x.data(), actual.view());
        expect_equal(expected, actual);

        reference->forward_input(*pack(*reference, true), x.data(),
                                 {expected.lower.data(), expected.lower.data()});
        tested->forward_input(*pack(*tested, true), x.data(), {actual.lower.data(), actual.lower.data()});
        expect_equal(expected.lower, actual.lower, "point");
    }
}

// Of a box that is a point too, forward_input's values.
template <typename Real>
void Operations<Real>::forward_box() {
    const Bounds<Real> x = random(shape.in, [&] { return values.any(); });
    Bounds<Real> expected = empty(shape.out), actual = empty(shape.out);
    reference->forward_box(*pack(*reference, false), x.view(), expected.view());
    tested->forward_box(*pack(*tested, false), x.view(), actual.view());
    expect_equal(expected, actual);

    tested->forward_box(*pack(*tested, false), {x.lower.data(), x.lower.data()}, actual.view());
    tested->forward_input(*pack(*tested, false), x.lower.data(), expected.view());
    expect_equal(expected, actual);
}

template <typename Real>
void Operations<Real>::forward() {
    const Bounds<Real> z = random(shape.in, [&] { return values.nonnegative(); });
    Bounds<Real> expected = empty(shape.out), actual = empty(shape.out);
    reference->forward(*pack(*reference, false), z.view(), expected.view());
    tested->forward(*pack(*tested, false), z.view(), actual.view());
    expect_equal(expected, actual);

    reference->forward(*pack(*reference, true), {z.lower.data(), z.lower.data()},
                       {expected.lower.data(), expected.lower.data()});
    tested->forward(*pack(*tested, true), {z.lower.data(), z.lower.data()},
                    {actual.lower.data(), actual.lower.data()});
    expect_equal(expected.lower, actual.lower, "point");
}

template <typename Real>
void Operations<Real>::relu() {
    Bounds<Real> expected = random(shape.out, [&] { return values.any(); }), actual = expected;
    reference->relu(shape.out, expected.view());
    tested->relu(shape.out, actual.view());
    expect_equal(expected, actual);
}

// Whatever is behind the records counted.
template <typename Real>
void Operations<Real>::undecided() {
    const Bounds<Real> z = random(shape.out, [&] { return std::max(Real{0}, values.any()); });
    std::int64_t before = 0;
    for (std::size_t count = 0; count <= panel_height; ++count) {
        const std::int64_t found = tested->undecided(shape.out, count, z.view());
        ASSERT_EQ(found, reference->undecided(shape.out, count, z.view())) << count << " records";
        ASSERT_TRUE(found >= before && found <= before + static_cast<std::int64_t>(shape.out));
        before = found;
    }
    EXPECT_GT(before, 0);
}

template <typename Real>
void Operations<Real>::norms() {
    Panel<Real> rows(shape.out * panel_height);
    for (Real& value : rows) value = values.any();
    Panel<Real> scaled = rows;
    std::vector<double> expected(panel_height), actual;
    for (double& square : expected) square = static_cast<double>(values.nonnegative());
    actual = expected;
    reference->add_squares(shape.out, rows.data(), expected.data());
    tested->add_squares(shape.out, rows.data(), actual.data());
    EXPECT_EQ(actual, expected);
    std::vector<double> scales(panel_height);
    for (std::size_t r = 0; r < panel_height; ++r)
        scales[r] = r % 7 == 0 ? 0 : 1.0 / (1.0 + 0.37 * static_cast<double>(r));
    reference->scale(shape.out, scales.data(), rows.data());
    tested->scale(shape.out, scales.data(), scaled.data());
    expect_equal(rows, scaled, "scaled");
}

// Factors at their public bounds: nothing leaves them, nothing becomes infinite or NaN.
template <typename Real>
void Operations<Real>::saturate() {
    const Real limit = RealFormat<Real>::saturation;
    const auto huge = [&] { return values.any() > 0 ? limit : -limit; };
    const auto expect_saturated = [&](const Bounds<Real>& expected, const Bounds<Real>& actual) {
        expect_equal(expected, actual);
        for (const Panel<Real>* side : {&actual.lower, &actual.upper}) {
            for (const Real value : *side) ASSERT_TRUE(value >= -limit && value <= limit);
        }
    };
    const Bounds<Real> z = random(shape.in, [&] { return values.any() > 0 ? limit : Real{0}; });
    Bounds<Real> expected = empty(shape.out), actual = empty(shape.out);
    reference->forward(*pack(*reference, false), z.view(), expected.view());
    tested->forward(*pack(*tested, false), z.view(), actual.view());
    expect_equal(expected, actual);
    for (const Real value : actual.upper) ASSERT_TRUE(std::isfinite(value));
    reference->relu(shape.out, expected.view());
    tested->relu(shape.out, actual.view());
    expect_saturated(expected, actual);

    const Bounds<Real> delta = random(shape.out, huge);
    Bounds<Real> expected_d = empty(shape.in), actual_d = empty(shape.in);
    reference->backward(*pack(*reference, false), delta.view(), z.view(), expected_d.view());
    tested->backward(*pack(*tested, false), delta.view(), z.view(), actual_d.view());
    expect_saturated(expected_d, actual_d);
}

template <typename Real>
void Operations<Real>::backward() {
    const Bounds<Real> z = random(shape.in, [&] { return std::max(Real{0}, values.any()); });
    const Bounds<Real> delta = random(shape.out, [&] { return values.any(); });
    Bounds<Real> expected = empty(shape.in), actual = empty(shape.in);
    reference->backward(*pack(*reference, false), delta.view(), z.view(), expected.view());
    tested->backward(*pack(*tested, false), delta.view(), z.view(), actual.view());
    expect_equal(expected, actual);

    const BasicConstInterval<Real> delta_point{delta.lower.data(), delta.lower.data()},
        z_point{z.lower.data(), z.lower.data()};
    reference->backward(*pack(*reference, true), delta_point, z_point,
                        {expected.lower.data(), expected.lower.data()});
    tested->backward(*pack(*tested, true), delta_point, z_point, {actual.lower.data(), actual.lower.data()});
    expect_equal(expected.lower, actual.lower, "point");
}

std::vector<Clip> clips() {
    return {{.kind = Clip::Kind::elementwise, .gamma = 0.06},
            {.kind = Clip::Kind::factored, .gamma = 0.06, .delta_limit = 0.2, .activation_limit = 0.3},
            {.kind = Clip::Kind::tensor_norm, .norm_limit = 0.06}};
}

/// Some of no width, some of all.
template <typename Real>
LayerScales<Real> random_scales(Values<Real>& values) {
    LayerScales<Real> scales;
    for (auto* side : {scales.weights, scales.biases}) {
        for (std::size_t r = 0; r < panel_height; ++r) {
            const Real a = std::min(Real{1}, values.nonnegative()),
                       b = std::min(Real{1}, values.nonnegative());
            side[r] = {std::min(a, b), r % 5 == 0 ? std::min(a, b) : std::max(a, b)};
        }
    }
    return scales;
}

template <typename Real>
Rows<Real> Operations<Real>::random_rows(Reads reads) {
    const std::size_t stride = row_stride<Real>(shape.in);
    const Bounds<Real> z =
        random(shape.in, [&] { return reads == Reads::features ? values.any() : values.nonnegative(); });
    Rows<Real> rows{Panel<Real>(panel_height * stride), Panel<Real>(panel_height * stride), reads};
    tested->transpose(shape.in, z.lower.data(), rows.lower.data(), stride);
    tested->transpose(shape.in, z.upper.data(), rows.upper.data(), stride);
    return rows;
}

template <typename Real>
void Operations<Real>::accumulate() {
    const std::size_t stride = row_stride<Real>(shape.in);
    for (const Clip& clip : clips()) {
        for (const Reads reads : all_reads) {
            const Bounds<Real> delta = random(shape.out, [&] { return values.any(); });
            const Rows<Real> rows = random_rows(reads);
            for (const bool point : {false, true}) {
                if (point && reads == Reads::activations) continue;
                const BasicConstInterval<Real> gradient{delta.lower.data(),
                                                        point ? delta.lower.data() : delta.upper.data()};
                std::vector<std::int64_t> expected(2 * shape.parameters(), 5), actual = expected;
                const auto upper_of = [&](std::vector<std::int64_t>& sums) {
                    return sums.data() + (point ? 0 : shape.parameters());
                };
                const LayerScales<Real> scales = random_scales(values);
                const OuterProduct<Real> product{shape,
                                                 clip,
                                                 gradient,
                                                 rows.view(),
                                                 stride,
                                                 panel_height,
                                                 clip.by_scales() ? &scales : nullptr};
                reference->accumulate(product, {expected.data(), upper_of(expected)});
                tested->accumulate(product, {actual.data(), upper_of(actual)});
                ASSERT_EQ(expected, actual);
            }
        }
    }
}

// Persons of several rows, whose sums are clamped; with little room for a row, and with so much that none
// fills it. Panels need not be full.
template <typename Real>
void Operations<Real>::accumulate_persons() {
    const std::size_t stride = row_stride<Real>(shape.in);
    std::int64_t clamped = 0, inside = 0;
    for (const std::size_t rows_of_person : {0, 12, 128, 2, 40}) {
        if (shape.parameters() > 4000 && rows_of_person == 2) break;  // the plain loops take seconds
        constexpr auto entries = Clip::Kind::elementwise, norms = Clip::Kind::tensor_norm;
        for (const auto& [kind, gamma, reads] : {std::tuple{entries, 0.06, Reads::activations},
                                                 {entries, 30.0, Reads::activations},
                                                 {entries, 0.06, Reads::nonnegative_features},
                                                 {entries, 30.0, Reads::nonnegative_features},
                                                 {entries, 0.06, Reads::features},
                                                 {entries, 30.0, Reads::features},
                                                 {norms, 0.06, Reads::activations},
                                                 {norms, 30.0, Reads::nonnegative_features},
                                                 {norms, 0.06, Reads::features}}) {
            const Clip clip{
                .kind = kind, .gamma = gamma, .norm_limit = gamma, .after = true, .rows = rows_of_person};
            const LayerScales<Real> scales = random_scales(values);
            const std::size_t persons = rows_of_person == 0 ? 1 : panel_height / rows_of_person,
                              count = rows_of_person == 0 ? 101 : persons * rows_of_person;
            Bounds<Real> delta = random(shape.out, [&] { return values.any(); });
            for (std::size_t i = 0; i < delta.lower.size(); ++i)
                if (i % panel_height >= count) delta.lower[i] = delta.upper[i] = 0;
            const Rows<Real> rows = random_rows(reads);
            for (const bool point : {false, true}) {
                if (point && reads == Reads::activations) continue;
                const BasicConstInterval<Real> gradient{delta.lower.data(),
                                                        point ? delta.lower.data() : delta.upper.data()};
                std::vector<std::int64_t> expected(2 * shape.parameters(), 5), actual = expected;
                const OuterProduct<Real> product{
                    shape, clip, gradient, rows.view(), stride, count, kind == norms ? &scales : nullptr};
                const std::size_t upper = point ? 0 : shape.parameters();
                reference->accumulate(product, {expected.data(), expected.data() + upper});
                tested->accumulate(product, {actual.data(), actual.data() + upper});
                ASSERT_EQ(expected, actual) << "persons of " << rows_of_person << ", gamma " << gamma;
                if (rows_of_person == 0) continue;
                const auto most = static_cast<std::int64_t>(persons) * clip.weight_units<Real>();
                for (const std::int64_t sum : actual) {
                    ASSERT_LE(std::abs(sum - 5), most);
                    ++(std::abs(sum - 5) == most ? clamped : inside);
                }
            }
        }
    }
    EXPECT_GT(clamped, 0);
    EXPECT_GT(inside, 0);
}

// Of the first records of two panels: the second finds the thresholds that the first one left.
template <typename Real>
void Operations<Real>::accumulate_and_select() {
    const std::size_t stride = row_stride<Real>(shape.in), records = 100;
    struct PanelOfRecords {
        Bounds<Real> delta;
        Rows<Real> rows;
        LayerScales<Real> scales;
    };
    const auto panel_of = [&](Reads reads) {
        PanelOfRecords panel{random(shape.out, [&] { return values.any(); }), random_rows(reads),
                             random_scales(values)};
        for (std::size_t i = 0; i < panel.delta.lower.size(); ++i) {
            if (i % panel_height >= records) panel.delta.lower[i] = panel.delta.upper[i] = 0;
        }
        return panel;
    };
    // Every pair of what is read, clipped and kept.
    constexpr std::size_t counts[] = {1, 3, 250};
    std::size_t turn = 0;
    for (const Reads reads : all_reads) {
        ++turn;
        const PanelOfRecords panels[] = {panel_of(reads), panel_of(reads)};
        for (const Clip& clip : clips()) {
            const std::size_t count = counts[turn++ % std::size(counts)];
            struct Sums {
                std::vector<std::int64_t> sums;
                LeastEntries least;
            };
            const auto by = [&](const PanelOperations<Real>& operations) {
                Sums found{std::vector<std::int64_t>(2 * shape.parameters(), 3),
                           LeastEntries(shape.parameters() + 2, count)};
                const SelectionTarget target{found.least, 2};
                for (const PanelOfRecords& panel : panels) {
                    const LayerScales<Real>* scales = clip.by_scales() ? &panel.scales : nullptr;
                    operations.accumulate(
                        {shape, clip, panel.delta.view(), panel.rows.view(), stride, records, scales},
                        {found.sums.data(), found.sums.data() + shape.parameters()}, &target);
                }
                return found;
            };
            Sums wanted = by(*reference);
            const auto least = sorted_values(wanted.least);
            on_every_target([&] {
                Sums found = by(*tested);
                ASSERT_EQ(wanted.sums, found.sums);
                ASSERT_EQ(least, sorted_values(found.least));
                EXPECT_EQ(found.least.upper.values(2).size(), std::min<std::size_t>(count, 2 * records));
                EXPECT_TRUE(found.least.upper.values(0).empty());
            });
        }
    }
}

// Several panels at a time: before anything is known; where the first records are the extreme ones, so that
// what is guessed from them is wrong; where thresholds are known. Of the second layer, whose rows do not
// last.
template <typename Real>
void Operations<Real>::gather_selections() {
    NetworkShape network{{}, Loss::cross_entropy, {}};
    Layer layer_of_shape;
    static_cast<LayerShape&>(layer_of_shape) = shape;
    network.layers.assign(2, layer_of_shape);
    const std::size_t stride = row_stride<Real>(shape.in);
    struct PanelOfRecords {
        Bounds<Real> delta;
        Rows<Real> rows;
        std::size_t records;
    };
    const auto panel_of = [&](Reads reads, std::size_t records, Real scale) {
        PanelOfRecords panel{random(shape.out, [&] { return scale * values.any(); }), random_rows(reads),
                             records};
        for (std::size_t i = 0; i < panel.delta.lower.size(); ++i) {
            if (i % panel_height >= records || (shape.out > 1 && i < panel_height))
                panel.delta.lower[i] = panel.delta.upper[i] = 0;  // one output has no gradient at all
        }
        return panel;
    };
    std::size_t turn = 0;  // every pair of what is read, clipped and kept
    for (const Reads reads : all_reads) {
        ++turn;
        const std::size_t layer = reads == Reads::activations ? 1 : 0;
        std::vector<PanelOfRecords> panels;
        panels.push_back(panel_of(reads, 5, 1));
        for (int i = 0; i < 10; ++i) panels.push_back(panel_of(reads, 90 + 4 * i, i == 0 ? 1 : Real{0.0625}));
        for (int i = 0; i < 2; ++i) panels.push_back(panel_of(reads, panel_height, Real{0.25}));
        for (const Clip& clip : clips()) {
            EXPECT_EQ(tested->panels_together(network, clip, false), 1U);
            EXPECT_EQ(tested->panels_together(network, clip, true) > 10, !clip.by_scales());
            if (clip.by_scales()) continue;
            const std::size_t count = turn++ % 2 == 0 ? 2 : 20;
            const auto product_of = [&](const PanelOfRecords& panel) -> OuterProduct<Real> {
                return {shape, clip, panel.delta.view(), panel.rows.view(), stride, panel.records};
            };
            const auto bounds = [&](std::vector<std::int64_t>& sums) -> SumBounds {
                return {sums.data(), sums.data() + shape.parameters()};
            };
            std::vector<std::int64_t> expected(2 * shape.parameters(), 3);
            LeastEntries wanted(shape.parameters() + 2, count);
            const SelectionTarget to_wanted{wanted, 2};
            for (const PanelOfRecords& panel : panels)
                reference->accumulate(product_of(panel), bounds(expected), &to_wanted);
            const auto least = sorted_values(wanted);
            on_every_target([&] {
                std::vector<std::int64_t> actual(2 * shape.parameters(), 3);
                LeastEntries found(shape.parameters() + 2, count);
                const SelectionTarget to_found{found, 2};
                const auto gathered = tested->outer_sums(network, clip);
                for (std::size_t i = 0; i < panels.size(); ++i) {
                    PanelOfRecords passing = panels[i];
                    OuterProduct<Real> product = product_of(passing);
                    if (layer == 0) product.z_rows = panels[i].rows.view();
                    EXPECT_FALSE(gathered->add(layer, product, bounds(actual), nullptr));
                    EXPECT_TRUE(gathered->add(layer, product, bounds(actual), &to_found));
                    for (Panel<Real>* values : {&passing.delta.lower, &passing.delta.upper,
                                                &passing.rows.lower, &passing.rows.upper})
                        std::fill(values->begin(), values->end(), std::numeric_limits<Real>::quiet_NaN());
                    if (i == 0 || i == 10) gathered->finish();
                }
                gathered->finish();
                gathered->finish();
                ASSERT_EQ(expected, actual);
                ASSERT_EQ(least, sorted_values(found));
            });
        }
    }
}

// Of the first records, some of which nothing changes; poisoned bounds may be within the others: no change.
template <typename Real>
void Operations<Real>::offer_changes() {
    const std::size_t stride = row_stride<Real>(shape.in), count = 100;
    const auto rows_of = [&](const Panel<Real>& panel) {
        Panel<Real> rows(panel_height * stride);
        tested->transpose(shape.in, panel.data(), rows.data(), stride);
        return rows;
    };
    const Clip clip{.kind = Clip::Kind::elementwise, .gamma = 0.06};
    for (const bool input : {false, true}) {
        const Bounds<Real> delta = random(shape.out, [&] { return values.any(); });
        const Bounds<Real> z = random(shape.in, [&] { return input ? values.any() : values.nonnegative(); });
        Bounds<Real> poisoned_delta = random(shape.out, [&] { return values.any(); });
        Bounds<Real> poisoned_z =
            random(shape.in, [&] { return input ? values.any() : values.nonnegative(); });
        for (std::size_t i = 0; i < delta.lower.size(); ++i) {
            if (i % panel_height % 3 != 0) continue;
            poisoned_delta.lower[i] = delta.lower[i];
            poisoned_delta.upper[i] = delta.upper[i];
        }
        for (std::size_t i = 0; i < z.lower.size(); ++i) {
            if (i % panel_height % 3 != 0) continue;
            poisoned_z.lower[i] = z.lower[i];
            poisoned_z.upper[i] = input ? z.lower[i] : z.upper[i];
        }
        const Panel<Real> z_lower = rows_of(z.lower), z_upper = rows_of(z.upper),
                          poisoned_lower = rows_of(poisoned_z.lower),
                          poisoned_upper = rows_of(poisoned_z.upper);
        const OuterProduct<Real> record{
            shape,  clip, delta.view(), {z_lower.data(), input ? z_lower.data() : z_upper.data()},
            stride, count},
            poisoned{shape,
                     clip,
                     std::as_const(poisoned_delta).view(),
                     {poisoned_lower.data(), poisoned_upper.data()},
                     stride,
                     count};
        for (const std::size_t kept : {1, 3, 200}) {
            LeastEntries wanted(shape.parameters() + 2, kept), found(shape.parameters() + 2, kept);
            reference->offer_changes(record, poisoned, {wanted, 2});
            tested->offer_changes(record, poisoned, {found, 2});
            std::size_t changes = 0;
            for (std::size_t entry = 0; entry < wanted.upper.entries(); ++entry) {
                const auto above = sorted_values(wanted.upper, entry),
                           below = sorted_values(wanted.negated_lower, entry);
                ASSERT_EQ(above, sorted_values(found.upper, entry)) << entry;
                ASSERT_EQ(below, sorted_values(found.negated_lower, entry)) << entry;
                for (const std::int64_t change : above) EXPECT_LT(change, 0);
                for (const std::int64_t change : below) EXPECT_LT(change, 0);
                changes += above.size() + below.size();
            }
            EXPECT_GT(changes, 0U);
            EXPECT_TRUE(found.upper.values(0).empty());
        }
    }
}

TEST_P(OperationsInDouble, Load) {
    on_every_target([&] { load(); });
}
TEST_P(OperationsInSingle, Load) {
    on_every_target([&] { load(); });
}
TEST_P(OperationsInDouble, Transpose) {
    on_every_target([&] { transpose(); });
}
TEST_P(OperationsInSingle, Transpose) {
    on_every_target([&] { transpose(); });
}
TEST_P(OperationsInDouble, ForwardInput) {
    forward_input();
}
TEST_P(OperationsInSingle, ForwardInput) {
    forward_input();
}
TEST_P(OperationsInDouble, ForwardBox) {
    forward_box();
}
TEST_P(OperationsInSingle, ForwardBox) {
    forward_box();
}
TEST_P(OperationsInDouble, OfferChanges) {
    on_every_target([&] { offer_changes(); });
}
TEST_P(OperationsInSingle, OfferChanges) {
    on_every_target([&] { offer_changes(); });
}
TEST_P(OperationsInDouble, Forward) {
    forward();
}
TEST_P(OperationsInSingle, Forward) {
    forward();
}
TEST_P(OperationsInDouble, Relu) {
    relu();
}
TEST_P(OperationsInSingle, Relu) {
    relu();
}
TEST_P(OperationsInDouble, Undecided) {
    undecided();
}
TEST_P(OperationsInSingle, Undecided) {
    undecided();
}
TEST_P(OperationsInDouble, Norms) {
    norms();
}
TEST_P(OperationsInSingle, Norms) {
    norms();
}
TEST_P(OperationsInDouble, SaturateAtPublicBounds) {
    saturate();
}
TEST_P(OperationsInSingle, SaturateAtPublicBounds) {
    saturate();
}
TEST_P(OperationsInDouble, Backward) {
    backward();
}
TEST_P(OperationsInSingle, Backward) {
    backward();
}
TEST_P(OperationsInDouble, Accumulate) {
    on_every_target([&] { accumulate(); });
}
TEST_P(OperationsInSingle, Accumulate) {
    on_every_target([&] { accumulate(); });
}
TEST_P(OperationsInDouble, AccumulatePersons) {
    on_every_target([&] { accumulate_persons(); });
}
TEST_P(OperationsInSingle, AccumulatePersons) {
    on_every_target([&] { accumulate_persons(); });
}
TEST_P(OperationsInDouble, AccumulateAndSelect) {
    accumulate_and_select();
}
TEST_P(OperationsInSingle, AccumulateAndSelect) {
    accumulate_and_select();
}

TEST_P(OperationsInDouble, GatherSelections) {
    gather_selections();
}
TEST_P(OperationsInSingle, GatherSelections) {
    gather_selections();
}

std::string test_name(const testing::TestParamInfo<LayerShape>& info) {
    return std::to_string(info.param.in) + "x" + std::to_string(info.param.out);
}

const auto shapes =
    testing::Values(LayerShape{1, 1}, LayerShape{6, 1}, LayerShape{7, 2}, LayerShape{8, 5}, LayerShape{13, 9},
                    LayerShape{16, 4}, LayerShape{33, 17}, LayerShape{64, 3}, LayerShape{70, 66});
INSTANTIATE_TEST_SUITE_P(Shapes, OperationsInDouble, shapes, test_name);
INSTANTIATE_TEST_SUITE_P(Shapes, OperationsInSingle, shapes, test_name);

// By hand: Gamma is 1, a row's room 8.
TEST(EntryOfAPerson, IsTheClampedSumOfWhatItsRowsHaveRoomFor) {
    const struct {
        double first, second, entry;
    } cases[] = {{6, -5.5, 0.5}, {20, -12.5, 0},  {20, -7.75, 0.25},
                 {0.5, 0.75, 1}, {-0.5, -20, -1}, {0, 0, 0}};
    for (const char* name : {"reference", "cpu"}) {
        const auto operations = make_operations<double>(name);
        for (const auto& [first, second, entry] : cases) {
            const Clip clip{.kind = Clip::Kind::elementwise, .gamma = 1, .after = true, .rows = 2};
            Panel<double> delta(panel_height, 0.0), rows(panel_height * row_stride(1), 0.0);
            delta[0] = first;
            delta[1] = second;
            for (const std::size_t r : {0, 1}) rows[r * row_stride(1) + 1] = 1;  // the bias's column
            std::vector<std::int64_t> sums(2, 0);
            const OuterProduct<double> product{
                {1, 1}, clip, {delta.data(), delta.data()}, {rows.data(), rows.data()}, row_stride(1), 2};
            operations->accumulate(product, {sums.data(), sums.data()});
            EXPECT_EQ(sums[0], 0) << name;
            EXPECT_EQ(static_cast<double>(sums[1]) * clip.grid().unit(), entry)
                << name << ": " << first << " and " << second;
        }
    }
}

// More rows than a chain of floats has room for: half of them near their limit, the others near the other.
TEST(EntryOfAPerson, StaysOnTheGridWhereManyRowsGoFar) {
    constexpr double gamma = 1.99;  // nearly all units that an entry may have
    const Clip clip{.kind = Clip::Kind::elementwise, .gamma = gamma, .after = true, .rows = panel_height};
    const auto reference = make_operations<float>("reference"), tested = make_operations<float>("cpu");
    Panel<float> delta(panel_height), rows(panel_height * row_stride<float>(1), 0.0F);
    for (std::size_t r = 0; r < panel_height; ++r) rows[r * row_stride<float>(1) + 1] = 1;
    int inside = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const KeyedHash hash{seed};
        for (std::size_t r = 0; r < panel_height; r += 2) {
            delta[r / 2] = static_cast<float>(gamma * (7 + hash.uniform(1, r)));
            delta[(panel_height + r) / 2] = -delta[r / 2] + static_cast<float>(hash.uniform(2, r) / 64);
        }
        std::vector<std::int64_t> expected(2, 0), actual(2, 0);
        const OuterProduct<float> product{
            {1, 1},      clip, {delta.data(), delta.data()}, {rows.data(), rows.data()}, row_stride<float>(1),
            panel_height};
        reference->accumulate(product, {expected.data(), expected.data()});
        tested->accumulate(product, {actual.data(), actual.data()});
        ASSERT_EQ(expected, actual);
        inside += expected[1] < clip.weight_units<float>();
    }
    EXPECT_GT(inside, 100);
}

TEST(MakeBackend, NamesItsProducts) {
    Products products;
    products.layers = {Product::exact, Product::nguyen};
    EXPECT_EQ(make_backend("auto", Precision::double_precision, products)->name(),
              "reference (exact, nguyen)");
    EXPECT_EQ(products.of(0), Product::exact);
    EXPECT_EQ(products.of(7), Product::nguyen);
    EXPECT_FALSE(products.exact());
    EXPECT_TRUE(Products().exact());
    EXPECT_THROW(make_backend("cpu", Precision::double_precision, products), Error);
}

TEST(MakeBackend, RumpProductsAreRefusedInSinglePrecision) {
    for (const char* name : {"auto", "reference"}) {
        EXPECT_EQ(make_backend(name, Precision::double_precision, Product::rump)->name(), "reference (rump)");
        try {
            make_backend(name, Precision::single_precision, Product::rump);
            FAIL() << "made";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            EXPECT_EQ(error.where(), "training.precision");
            EXPECT_NE(error.hint().find("training.precision=double"), std::string::npos) << error.hint();
        }
    }
}

TEST(SimdTarget, IsNamed) {
    EXPECT_FALSE(simd_target().empty());
}

/// Does a point predict the label: one logit above 0, or the one that is greater than all others?
bool predicts(const std::vector<int>& point, std::size_t label) {
    if (point.size() == 1) return (point[0] > 0) == (label == 1);
    for (std::size_t c = 0; c < point.size(); ++c) {
        if (c != label && point[c] >= point[label]) return false;
    }
    return true;
}

/// Every choice of `size` numbers of [least, most].
std::vector<std::vector<int>> all_points(std::size_t size, int least, int most) {
    std::vector<std::vector<int>> points{{}};
    for (std::size_t i = 0; i < size; ++i) {
        std::vector<std::vector<int>> longer;
        for (const std::vector<int>& point : points) {
            for (int value = least; value <= most; ++value) {
                longer.push_back(point);
                longer.back().push_back(value);
            }
        }
        points = std::move(longer);
    }
    return points;
}

// Every box of small integers against all integer points in it, which decide it.
TEST(CorrectRule, IsWhatThePointsOfTheBoxPredict) {
    for (const std::size_t outputs : {1U, 2U, 3U}) {
        const auto points = all_points(outputs, -1, 1);
        for (const auto& lower : points) {
            for (const auto& upper : points) {
                std::vector<double> low(2 * outputs), high(2 * outputs);  // every second number is another's
                bool empty = false;
                for (std::size_t c = 0; c < outputs; ++c) {
                    low[2 * c] = lower[c];
                    high[2 * c] = upper[c];
                    empty |= lower[c] > upper[c];
                }
                for (std::size_t label = 0; label < std::max<std::size_t>(2, outputs) && !empty; ++label) {
                    bool all = true, some = false;
                    for (const auto& point : points) {
                        bool inside = true;
                        for (std::size_t c = 0; c < outputs; ++c)
                            inside &= lower[c] <= point[c] && point[c] <= upper[c];
                        all &= !inside || predicts(point, label);
                        some |= inside && predicts(point, label);
                    }
                    const Correct correct = correct_of(outputs, label, low.data(), high.data(), 2);
                    ASSERT_EQ(correct.surely, all) << outputs << " outputs, label " << label;
                    ASSERT_EQ(correct.possibly, some) << outputs << " outputs, label " << label;
                }
            }
        }
    }
}

}  // namespace panel_operations_test
}  // namespace holdfast
