// Fixed precision: every instruction set gives the bits of the plain loops; what is refused; what is charged.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <latch>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>

#include "kernels/backends.hpp"
#include "kernels/base/aligned.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "kernels/ops/fixed_format.hpp"
#include "models/certify/claims.hpp"
#include "models/certify/margins.hpp"
#include "models/training/plan.hpp"
#include "tests/support/print.hpp"
#include "tests/support/selections.hpp"

namespace holdfast {
namespace fixed_operations_test {

using Values = AlignedVector<float>;

struct Case {
    LayerShape shape;
    int bits;
};
void PrintTo(const Case& of, std::ostream* out) {
    *out << of.shape.in << "x" << of.shape.out << " in " << of.bits;
}

/// A network whose first and second layer have the shape, so that their grids differ.
NetworkShape network_of(LayerShape shape) {
    NetworkShape network{{}, Loss::binary_cross_entropy, {}};
    Layer first;
    static_cast<LayerShape&>(first) = {shape.in, shape.out};
    network.layers = {first};
    network.input.range = {-1.5, 2.5};
    return network;
}

class FixedOperations : public testing::TestWithParam<Case> {
  protected:
    struct Box {
        Values lower, upper;
        BasicInterval<float> view() { return {lower.data(), upper.data()}; }
        BasicConstInterval<float> view() const { return {lower.data(), upper.data()}; }
        BasicInterval<float> point() { return {lower.data(), lower.data()}; }
    };

    const LayerShape shape = GetParam().shape;
    const std::unique_ptr<PanelOperations<float>>
        reference = make_fixed_operations("reference", GetParam().bits)->for_network(network_of(shape)),
        tested = make_fixed_operations("cpu", GetParam().bits)->for_network(network_of(shape));
    const std::vector<std::string> all_targets = [] {
        std::vector<std::string> targets = simd_targets();
        for (const std::string& tiles : tile_targets()) targets.push_back(tiles);
        return targets;
    }();
    KeyedHash hash{shape.in * 131 + shape.out};
    std::uint64_t next = 0;

    void SetUp() override {
        ASSERT_EQ(tested->name(), "cpu");
        ASSERT_EQ(reference->name(), "reference");
    }

    /// On the grid and off it, beyond it, zeros; of many magnitudes.
    float any() {
        const std::uint64_t kind = hash(1, ++next) % 16;
        const double value =
            std::ldexp(hash.uniform(2, next) - 0.5, static_cast<int>(hash(3, next) % 14) - 9);
        if (kind == 0) return 0;
        if (kind == 1) return -0.0F;
        if (kind <= 3) return std::copysign(0x1p60F, static_cast<float>(value));
        if (kind == 4) return static_cast<float>(std::copysign(1e-40, value));
        if (kind <= 6) return std::ldexp(std::nearbyint(static_cast<float>(value) * 64), -7);  // halfway
        return static_cast<float>(value);
    }
    float nonnegative() { return std::abs(any()); }
    template <typename Draw>
    Box box(std::size_t rows, Draw draw) {
        Box box{Values(rows * panel_height), Values(rows * panel_height)};
        for (std::size_t i = 0; i < rows * panel_height; ++i) {
            const float a = draw(), b = hash(4, ++next) % 3 == 0 ? a : draw();
            box.lower[i] = std::min(a, b);
            box.upper[i] = std::max(a, b);
        }
        return box;
    }
    Box empty(std::size_t rows) const { return {Values(rows * panel_height), Values(rows * panel_height)}; }

    struct Weights {
        std::vector<std::int64_t> lower, upper;
    };
    /// Across zero, of one sign, points, beyond the grid; extreme: of the greatest size.
    Weights weights(bool extreme) {
        Weights weights;
        for (std::size_t p = 0; p < shape.parameters(); ++p) {
            const double most = hash(5, ++next) % 8 == 0 ? 900 : 2;
            double a = most * (hash.uniform(6, next) - 0.5), b = most * (hash.uniform(7, next) - 0.5);
            if (extreme) a = std::copysign(1000, a), b = std::copysign(1000, b);
            if (hash(8, next) % 3 == 0) b = a;
            weights.lower.push_back(parameter_units(std::min(a, b)));
            weights.upper.push_back(parameter_units(std::max(a, b)));
        }
        return weights;
    }
    std::unique_ptr<PackedLayer> pack(const PanelOperations<float>& operations, const Weights& weights,
                                      bool point) const {
        return operations.pack(shape, weights.lower.data(),
                               point ? weights.lower.data() : weights.upper.data());
    }

    static void expect_equal(const Box& expected, const Box& actual, const char* what) {
        ASSERT_EQ(expected.lower, actual.lower) << what;
        ASSERT_EQ(expected.upper, actual.upper) << what;
    }
    /// By every instruction set, what the plain loops, which take longest and are asked once, give.
    template <typename Check>
    void on_every(const std::vector<std::string>& targets, Check check) {
        for (const std::string& target : targets) {
            SCOPED_TRACE(target);
            const SimdTargetOverride only(target);
            check();
            if (HasFatalFailure()) return;
        }
    }
    /// use(operations, layer, out) with a box and a point of weights, into `rows` rows.
    template <typename Use>
    void compare(std::size_t rows, const char* what, Use use) {
        for (const bool extreme : {false, true}) {
            const Weights both = weights(extreme);
            for (const bool point : {false, true}) {
                Box expected = empty(rows);
                use(*reference, *pack(*reference, both, point), point, expected);
                on_every(all_targets, [&] {
                    Box actual = empty(rows);
                    use(*tested, *pack(*tested, both, point), point, actual);
                    expect_equal(expected, actual, what);
                });
                if (HasFatalFailure()) return;
            }
        }
    }
    Box transposed(const PanelOperations<float>& by, const Box& z, std::size_t stride) const {
        Box rows{Values(panel_height * stride), Values(panel_height * stride)};
        by.transpose(shape.in, z.lower.data(), rows.lower.data(), stride);
        by.transpose(shape.in, z.upper.data(), rows.upper.data(), stride);
        return rows;
    }

    void operations() {
        const Box x = box(shape.in, [&] { return any(); }), z = box(shape.in, [&] { return nonnegative(); }),
                  delta = box(shape.out, [&] { return any(); });
        Values positive = z.lower;
        for (const Values* features : {&x.lower, static_cast<const Values*>(&positive)}) {
            compare(shape.out, "forward_input", [&](const auto& of, const auto& layer, bool point, Box& a) {
                of.forward_input(layer, features->data(), point ? a.point() : a.view());
            });
        }
        compare(shape.out, "forward_box", [&](const auto& of, const auto& layer, bool, Box& a) {
            of.forward_box(layer, x.view(), a.view());
        });
        compare(shape.out, "forward", [&](const auto& of, const auto& layer, bool point, Box& a) {
            of.forward(layer, point ? BasicConstInterval<float>{z.lower.data(), z.lower.data()} : z.view(),
                       point ? a.point() : a.view());
        });
        compare(
            shape.out, "forward of a box by a point",
            [&](const auto& of, const auto& layer, bool, Box& a) { of.forward(layer, z.view(), a.view()); });
        compare(shape.in, "backward", [&](const auto& of, const auto& layer, bool point, Box& d) {
            const BasicConstInterval<float> here{delta.lower.data(), delta.lower.data()},
                gate{z.lower.data(), z.lower.data()};
            of.backward(layer, point ? here : delta.view(), point ? gate : z.view(),
                        point ? d.point() : d.view());
        });
        compare(shape.in, "backward of a box by a point",
                [&](const auto& of, const auto& layer, bool, Box& d) {
                    of.backward(layer, delta.view(), z.view(), d.view());
                });
    }

    void accumulate() {
        const std::size_t stride = row_stride<float>(shape.in), count = 100;
        Box delta = box(shape.out, [&] { return any(); });
        for (std::size_t i = 0; i < delta.lower.size(); ++i) {
            if (i % panel_height >= count) delta.lower[i] = delta.upper[i] = 0;
        }
        const Box any_sign = box(shape.in, [&] { return any(); }),
                  nonnegative_box = box(shape.in, [&] { return nonnegative(); });
        const std::vector<Clip> clips{
            {.kind = Clip::Kind::factored, .delta_limit = 0.2, .activation_limit = 0.3},
            {.kind = Clip::Kind::factored, .delta_limit = 1, .activation_limit = 2},
            {.kind = Clip::Kind::factored,
             .delta_limit = 1,
             .activation_limit = 0x1p-10},  // biases of 40 bits
            {.kind = Clip::Kind::elementwise, .gamma = 0.06}};
        for (const Clip& clip : clips) {
            for (const Box* z : {&any_sign, &nonnegative_box}) {
                const Box rows = transposed(*reference, *z, stride);
                for (const bool z_point : {true, false}) {
                    if (!z_point && z == &any_sign) continue;
                    for (const bool point : {true, false}) {
                        if (point && !z_point) continue;
                        accumulate({shape,
                                    clip,
                                    {delta.lower.data(), (point ? delta.lower : delta.upper).data()},
                                    {rows.lower.data(), (z_point ? rows.lower : rows.upper).data()},
                                    stride,
                                    count},
                                   point);
                        if (HasFatalFailure()) return;
                    }
                }
                on_every(all_targets,
                         [&] { expect_equal(rows, transposed(*tested, *z, stride), "transpose"); });
            }
        }
    }

    /// The product once into the sums, and of a box once more, beside its selections.
    void accumulate(const OuterProduct<float>& product, bool point) {
        struct Sums {
            std::vector<std::int64_t> once, twice;
            LeastEntries least;
        };
        const auto by = [&](const PanelOperations<float>& operations) {
            std::vector<std::int64_t> sums(2 * shape.parameters(), 7);
            const SumBounds bounds{sums.data(), sums.data() + (point ? 0 : shape.parameters())};
            operations.accumulate(product, bounds);
            Sums found{sums, {}, LeastEntries(shape.parameters(), 3)};
            if (point) return found;
            const SelectionTarget selected{found.least};
            operations.accumulate(product, bounds, &selected);
            found.twice = sums;
            return found;
        };
        Sums expected = by(*reference);
        const auto least = sorted_values(expected.least);
        on_every(all_targets, [&] {
            Sums actual = by(*tested);
            ASSERT_EQ(expected.once, actual.once);
            ASSERT_EQ(expected.twice, actual.twice);
            ASSERT_EQ(least, sorted_values(actual.least));
        });
    }

    /// Panels of every kind, more of one kind than are gathered, and sums that change in between.
    void gather() {
        const Clip clip{.kind = Clip::Kind::factored, .delta_limit = 1, .activation_limit = 2},
            elementwise{.kind = Clip::Kind::elementwise, .gamma = 0.06};
        const NetworkShape network = network_of(shape);
        EXPECT_EQ(tested->panels_together(network, elementwise, false), 1U);
        const std::size_t stride = row_stride<float>(shape.in);
        struct Panel {
            char kind;
            Box delta, rows;
        };
        std::vector<Panel> panels;
        for (const char kind : std::string("++++++-+--bb..b+++")) {
            Box delta = box(shape.out, [&] { return any(); });
            const Box z = box(shape.in, [&] { return kind == '-' ? any() : nonnegative(); });
            panels.push_back({kind, std::move(delta), transposed(*reference, z, stride)});
        }
        // Calls use(product, bounds of sums) for each of them.
        const auto each = [&](std::vector<std::int64_t>& sums, auto use) {
            for (const auto& [kind, delta, rows] : panels) {
                const bool point = kind == '.';
                use(OuterProduct<float>{shape,
                                        clip,
                                        {delta.lower.data(), (point ? delta.lower : delta.upper).data()},
                                        {rows.lower.data(), (kind == 'b' ? rows.upper : rows.lower).data()},
                                        stride,
                                        panel_height},
                    SumBounds{sums.data(), sums.data() + (point ? 0 : shape.parameters())});
            }
        };
        const std::vector<std::int64_t> nothing(2 * shape.parameters(), 7);
        std::vector<std::int64_t> expected = nothing;
        each(expected, [&](const auto& product, auto bounds) { reference->accumulate(product, bounds); });
        on_every(tile_targets(), [&] {
            ASSERT_GT(tested->panels_together(network, clip, false), 1U);
            const auto gathered = tested->outer_sums(network, clip);
            ASSERT_NE(nullptr, gathered);
            std::vector<std::int64_t> actual = nothing;
            each(actual, [&](const auto& product, auto bounds) {
                if (!gathered->add(0, product, bounds, nullptr)) tested->accumulate(product, bounds);
            });
            gathered->finish();
            ASSERT_EQ(expected, actual);
            gathered->finish();
            ASSERT_EQ(expected, actual);
        });
    }
};

TEST_P(FixedOperations, GatherOuterProductsByTiles) {
    gather();
}

TEST_P(FixedOperations, AreThoseOfThePlainLoopsOnEveryInstructionSet) {
    operations();
    if (!HasFatalFailure()) accumulate();
}

// What a layer makes when it is first asked is whole for each of the threads that ask at once.
TEST_P(FixedOperations, ALayerServesThreadsThatAskAtOnce) {
    constexpr std::size_t threads = 4;
    const Weights both = weights(false);
    const Box delta = box(shape.out, [&] { return any(); }), z = box(shape.in, [&] { return nonnegative(); });
    for (const bool point : {false, true}) {
        const auto expected_layer = pack(*reference, both, point), layer = pack(*tested, both, point);
        Box expected = empty(shape.in), expected_forward = empty(shape.out);
        reference->backward(*expected_layer, delta.view(), z.view(), expected.view());
        reference->forward(*expected_layer, z.view(), expected_forward.view());
        std::vector<Box> found(threads, empty(shape.in)), found_forward(threads, empty(shape.out));
        std::latch start(threads);
        {
            std::vector<std::jthread> asking;
            for (std::size_t t = 0; t < threads; ++t) {
                asking.emplace_back([&, t] {
                    start.arrive_and_wait();
                    tested->backward(*layer, delta.view(), z.view(), found[t].view());
                    tested->forward(*layer, z.view(), found_forward[t].view());
                });
            }
        }
        for (std::size_t t = 0; t < threads; ++t) {
            expect_equal(expected, found[t], "backward");
            expect_equal(expected_forward, found_forward[t], "forward");
        }
    }
}

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const int bits : {16, 8}) {
        for (const LayerShape shape :
             {LayerShape{1, 1}, LayerShape{2, 3}, LayerShape{7, 2}, LayerShape{16, 4}, LayerShape{33, 17},
              LayerShape{65, 9}, LayerShape{512, 1}, LayerShape{513, 1}, LayerShape{1030, 2},
              LayerShape{9, 130}, LayerShape{1030, 9}, LayerShape{3, 130}})
            all.push_back({shape, bits});
    }
    return all;
}
INSTANTIATE_TEST_SUITE_P(Cases, FixedOperations, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                             return std::to_string(info.param.shape.in) + "x" +
                                    std::to_string(info.param.shape.out) + "_" +
                                    std::to_string(info.param.bits);
                         });

Settings fixed_settings() {
    Settings settings;
    settings.training.precision = Precision::fixed;
    settings.network.hidden = {4};
    return settings;
}
Error refusal_of(const Settings& settings, FeatureRange range = {0, 1}, std::size_t features = 3) {
    try {
        check(settings);
        make_plan(settings, {.features = features, .range = range},
                  make_backend("cpu", settings.training.arithmetic()));
    } catch (const Error& error) {
        return error;
    }
    return {ExitCode::internal, "nothing was refused", ""};
}

TEST(FixedPrecision, IsPlannedAndNamed) {
    const Settings settings = fixed_settings();
    check(settings);
    const TrainingPlan plan = make_plan(settings, {.features = 3, .range = {0, 1}},
                                        make_backend("auto", settings.training.arithmetic()));
    EXPECT_EQ(plan.backend->precision(), Precision::fixed);
    EXPECT_EQ(plan.backend->arithmetic().activation_bits, 16);
    EXPECT_EQ(plan.backend->name(), "cpu");
    const Guarantee claim = certificate_claim(settings, {Scaling::public_constants, IdKind::given, false});
    EXPECT_NE(claim.to_json().dump().find("in fixed precision"), std::string::npos);
}

TEST(FixedPrecision, RefusesWhatItDoesNotCompute) {
    const auto expect = [](const Error& error, const char* words, const char* where) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        EXPECT_EQ(error.where(), where);
        EXPECT_FALSE(error.hint().empty());
    };
    expect(refusal_of(fixed_settings(), {-40000, 1}), "features of up to 40000", "training.precision");
    EXPECT_EQ(refusal_of(fixed_settings(), default_feature_range).what(), std::string("nothing was refused"));
    Settings settings = fixed_settings();
    settings.training.activation_bits = 8;
    expect(refusal_of(settings, {0, 129}), "takes 128 at most", "training.precision");
    EXPECT_EQ(refusal_of(settings, {-128, 128}).what(), std::string("nothing was refused"));
    expect(refusal_of(fixed_settings(), {0, 1}, (std::size_t{1} << 20) + 1), "layer 1 adds 1048577 products",
           "training.precision");

    settings = fixed_settings();
    settings.network.hidden = NetworkSettings{}.hidden;
    settings.network.image = {1, 4, 4};
    settings.network.layers = {"conv 2 2x2"};
    expect(refusal_of(settings, {0, 1}, 16), "no products of convolutions", "training.precision");

    settings = fixed_settings();
    settings.certificate.product = Product::rump;
    expect(refusal_of(settings), "midpoint-radius", "training.precision");

    settings = fixed_settings();
    settings.clip.kind = Clip::Kind::factored;
    settings.clip.activation_limit = 0x1p-11;
    expect(refusal_of(settings), "2^-10", "clip.activation_limit");
    settings.clip.activation_limit = 1;
    settings.clip.delta_limit = 40000;
    expect(refusal_of(settings), "2^-10", "clip.delta_limit");

    settings = Settings{};
    settings.training.activation_bits = 8;
    expect(refusal_of(settings), "is of fixed precision", "training.activation_bits");
    try {
        make_backend("cuda", Precision::single_precision);
        FAIL() << "made";
    } catch (const Error& error) {
        expect(error, "in double or fixed precision", "training.precision");
    }
}

// Every limit within what is let through: Gamma bounds the greatest entry, with no more than 40 bits, and a
// panel of the greatest entries adds up.
TEST(FixedPrecision, ChargesWhatAnEntryCanBe) {
    for (const int bits : {16, 8}) {
        for (const double delta : {0x1p-10, 0.2, 0.7, 1.0, 32768.0}) {
            for (const double activation : {0x1p-10, 0.3, 1.0, 100.0}) {
                const Clip clip{
                    .kind = Clip::Kind::factored, .delta_limit = delta, .activation_limit = activation};
                const GradientScale scale = clip.scale({Precision::fixed, bits});
                const double unit = std::ldexp(1.0, scale.exponent);
                EXPECT_LE(static_cast<double>(scale.weight_units) * unit, delta * activation);
                EXPECT_GT(static_cast<double>(scale.weight_units) * unit, 0.95 * delta * activation);
                EXPECT_LE(static_cast<double>(scale.bias_units) * unit, delta);
                EXPECT_LE(std::max(scale.weight_units, scale.bias_units), std::int64_t{1} << 40);
                EXPECT_LE(static_cast<double>(scale.record_limit) *
                              static_cast<double>(std::max(scale.weight_units, scale.bias_units)),
                          0x1p62);
                EXPECT_EQ(scale.rounding, 0);

                const LayerShape shape{1, 1};
                const std::size_t stride = row_stride<float>(1);
                const Values huge(panel_height, 0x1p60F);
                Values rows(panel_height * stride);
                const auto operations = make_fixed_operations("cpu", bits);
                operations->transpose(1, huge.data(), rows.data(), stride);
                std::vector<std::int64_t> sums(2);
                operations->accumulate({shape,
                                        clip,
                                        {huge.data(), huge.data()},
                                        {rows.data(), rows.data()},
                                        stride,
                                        panel_height},
                                       {sums.data(), sums.data()});
                EXPECT_EQ(sums[0], static_cast<std::int64_t>(panel_height) * scale.weight_units);
                EXPECT_EQ(sums[1], static_cast<std::int64_t>(panel_height) * scale.bias_units);
            }
        }
    }
    const Clip elementwise{.kind = Clip::Kind::elementwise, .gamma = 0.06};
    EXPECT_EQ(elementwise.scale({Precision::fixed, 8}).weight_units, elementwise.scale<float>().weight_units);
}

/// Margins and logits of every query, at a point or over a box.
template <typename Visit>
void visit_margins(const Network& network, const Backend& backend, const Variant& box, const Records& queries,
                   Visit visit) {
    const auto engine = backend.engine(network.shape(), {});
    engine->set_records(std::vector{queries.view()});
    std::vector<std::uint32_t> all(queries.size());
    std::iota(all.begin(), all.end(), 0);
    const MarginRows rows(network, Precision::fixed, box.lower, box.upper);
    engine->outputs(box, rows.layer(), all, [&](const OutputBlock& block) {
        const Margins margins(network.classes(), network.layers().back().in, Precision::fixed, block);
        for (std::size_t r = 0; r < block.count; ++r) visit(block.first + r, margins, r);
    });
}

// Weights of every size, some beyond half the limit of their grid, classes that all but tie: what a box
// certifies is what every point of it answers, and at a point the winner is beaten by nobody.
TEST(FixedPrecision, WhatABoxOfManyClassesCertifiesEveryPointAnswers) {
    const KeyedHash hash{17};
    constexpr std::size_t classes = 4, features = 5;
    Settings settings = fixed_settings();
    settings.network.classes = classes;
    settings.network.loss = "cross_entropy";
    const Network network = settings.network.make(settings.feature_map(features, {-1, 1}));
    int certified = 0, ties = 0, beaten = 0;
    for (std::uint64_t trial = 0; trial < 200; ++trial) {
        const auto backend = make_backend("cpu", {Precision::fixed, trial % 2 == 0 ? 16 : 8});
        Records queries{FeatureMatrix(features, false), {}, {}, {}};
        for (std::uint64_t id = 0; id < 40; ++id) {
            queries.ids.push_back(id);
            queries.rows.push_back(id);
            queries.labels.push_back(0);
            for (std::uint64_t j = 0; j < features; ++j)
                queries.features.values().push_back(
                    static_cast<float>(hash.uniform(trial * 64 + j, id) * 2 - 1));
        }
        std::vector<std::int64_t> lower, upper, point;
        const double size = trial % 5 == 0 ? 40 : 1, width = trial % 3 == 0 ? 1e-3 : 0.02;
        for (std::uint64_t p = 0; p < network.parameters(); ++p) {
            // Every second trial the classes have nearly the same weights.
            const std::uint64_t of = trial % 2 == 0 ? p : p % (4 + 1);
            const double middle = size * (hash.uniform(1000 + trial, of) - 0.5) + 1e-3 * hash.uniform(2, p),
                         radius = width * hash.uniform(3, p + trial);
            lower.push_back(parameter_units(middle - radius));
            upper.push_back(parameter_units(middle + radius));
            point.push_back(parameter_units(middle + radius * (2 * hash.uniform(4, p) - 1)));
        }
        std::vector<int> sure(queries.size(), -1);
        visit_margins(network, *backend, {lower.data(), upper.data()}, queries,
                      [&](std::size_t query, const Margins& margins, std::size_t r) {
                          for (std::size_t c = 0; c < classes; ++c) {
                              if (margins.certified(c, r)) sure[query] = static_cast<int>(c);
                          }
                      });
        visit_margins(network, *backend, {point.data(), point.data()}, queries,
                      [&](std::size_t query, const Margins& margins, std::size_t r) {
                          const std::size_t winner = margins.winner(r);
                          ASSERT_FALSE(margins.beaten(winner, r));
                          ties += margins.certified(winner, r) ? 0 : 1;
                          for (std::size_t c = 0; c < classes; ++c) beaten += margins.beaten(c, r) ? 1 : 0;
                          if (sure[query] < 0) return;
                          ++certified;
                          ASSERT_EQ(static_cast<int>(winner), sure[query]);
                      });
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(certified, 500);
    EXPECT_GT(beaten, 5000);
    EXPECT_GT(ties, 0);
}

}  // namespace fixed_operations_test
}  // namespace holdfast
