// A query that moves: what bounds it, what is certified of it, what attacks find. Each claim is put to inputs
// that try to break it: corners of boxes, the points of a grid, the direction in which a linear model gives
// in first.

#include "models/robust/input_certificate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/backends.hpp"
#include "kernels/base/random.hpp"
#include "models/certify/answers.hpp"
#include "models/privacy/rational.hpp"
#include "models/robust/attack.hpp"
#include "models/robust/hidden_slope.hpp"
#include "tests/support/convolution_cases.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/records_of.hpp"

namespace holdfast {
namespace input_certificate_test {

std::vector<std::vector<double>> random_rows(std::size_t count, std::size_t columns, std::uint64_t seed,
                                             FeatureRange range) {
    const KeyedHash hash{seed};
    std::vector<std::vector<double>> rows(count, std::vector<double>(columns));
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
            const double part = 1.2 * hash.uniform(i, j) - 0.1;  // some beyond the range
            rows[i][j] = static_cast<double>(static_cast<float>(range.low + part * (range.high - range.low)));
        }
    }
    return rows;
}

std::vector<std::int64_t> random_parameters(const Network& network, std::uint64_t seed, double size) {
    const KeyedHash hash{seed};
    std::vector<std::int64_t> units;
    for (std::size_t p = 0; p < network.parameters(); ++p)
        units.push_back(parameter_units(size * (2 * hash.uniform(7, p) - 1)));
    for (const std::size_t entry : network.pinned()) units[entry] = 0;
    return units;
}

/// The logits of every record over the box, [classes, records]: lower, then upper ends.
std::vector<double> logits_of(const Network& network, const Backend& backend,
                              const std::vector<std::int64_t>& lower, const std::vector<std::int64_t>& upper,
                              const Records& records, double radius) {
    const std::size_t last = network.offset(network.layers().size() - 1), rows = network.outputs(),
                      count = records.size();
    RecordSet set = records.view();
    set.input_radius = radius;
    const auto engine = backend.engine(network.shape(), {});
    engine->set_records({&set, 1});
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> ends(2 * rows * count);
    const bool point = &lower == &upper;
    const std::int64_t* above = point ? lower.data() : upper.data();
    engine->outputs({lower.data(), above}, {rows, lower.data() + last, above + last}, all,
                    [&](const OutputBlock& block) {
                        for (std::size_t r = 0; r < block.count; ++r) {
                            for (std::size_t c = 0; c < rows; ++c) {
                                const std::size_t to = c * count + block.first + r;
                                ends[to] = block.lower[c * block.stride + r];
                                ends[rows * count + to] = block.upper[c * block.stride + r];
                            }
                        }
                    });
    return ends;
}

/// Of one or two hidden layers, of convolutions with pooling and groups; a range with signs or without.
std::vector<Network> networks() {
    const InputTransform signs{0.25, 3, {-1, 2}}, image{0, 1, {0, 1}};
    std::vector<Network> all;
    all.emplace_back(4, std::vector<std::size_t>{}, 3, Loss::cross_entropy, signs);
    all.emplace_back(5, std::vector<std::size_t>{6}, 2, Loss::cross_entropy, image);
    all.emplace_back(3, std::vector<std::size_t>{7, 4}, 4, Loss::cross_entropy, signs);
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        NetworkShape shape = convolutional_network(seed, Loss::cross_entropy, 3);
        for (Layer& layer : shape.layers) layer.dropout = 0;
        all.emplace_back(shape.layers, 3, Loss::cross_entropy, seed % 2 == 0 ? signs : image);
    }
    return all;
}

/// x moved by at most the radius: to a corner, an end of some features, or somewhere between.
std::vector<double> moved(const std::vector<double>& x, double radius, FeatureRange range, bool wide,
                          std::uint64_t seed) {
    const KeyedHash hash{seed};
    std::vector<double> to(x.size());
    for (std::size_t j = 0; j < x.size(); ++j) {
        const double inside = std::clamp(x[j], range.low, range.high), pick = hash.uniform(1, j);
        const double by = pick < 0.4 ? -radius : pick < 0.8 ? radius : radius * (2 * hash.uniform(2, j) - 1);
        to[j] = within_reach(inside + by, inside, radius, range, wide);
    }
    return to;
}

class InputBox : public ::testing::TestWithParam<Precision> {};

TEST_P(InputBox, HoldsWhatInputsOfTheBallGiveAndTheBoxesInside) {
    const bool wide = GetParam() == Precision::double_precision;
    const auto cpu = make_backend("cpu", GetParam()), reference = make_backend("reference", GetParam());
    std::size_t touched = 0, compared = 0;
    for (const Network& network : networks()) {
        if (GetParam() == Precision::fixed && !network.shape().is_dense()) continue;
        const std::vector<std::int64_t> point = random_parameters(network, 3, 0.8);
        std::vector<std::int64_t> lower = point, upper = point;
        for (std::size_t p = 0; p < point.size(); ++p) {
            lower[p] -= std::int64_t{1} << 43;
            upper[p] += std::int64_t{1} << 43;
        }
        const FeatureRange range = network.transform().range;
        const auto rows = random_rows(9, network.inputs(), 11, range);
        const Records records = records_of(rows, wide);
        std::vector<double> inner;
        for (const double radius : {0.01, 0.125, 0.7}) {
            const std::vector<double> of_point = logits_of(network, *cpu, point, point, records, radius);
            EXPECT_EQ(of_point, logits_of(network, *reference, point, point, records, radius));
            const std::vector<double> of_box = logits_of(network, *cpu, lower, upper, records, radius);
            EXPECT_EQ(of_box, logits_of(network, *reference, lower, upper, records, radius));
            const std::size_t half = of_point.size() / 2;
            for (std::size_t i = 0; i < half; ++i) {
                ASSERT_LE(of_box[i], of_point[i]);
                ASSERT_GE(of_box[half + i], of_point[half + i]);
                if (!inner.empty()) {
                    ASSERT_LE(of_point[i], inner[i]) << "a larger ball";
                    ASSERT_GE(of_point[half + i], inner[half + i]);
                }
            }
            inner = of_point;
            for (std::uint64_t seed = 0; seed < 40; ++seed) {
                std::vector<std::vector<double>> others;
                for (const auto& row : rows) others.push_back(moved(row, radius, range, wide, seed));
                const std::vector<double> there =
                    logits_of(network, *cpu, point, point, records_of(others, wide), 0);
                for (std::size_t i = 0; i < half; ++i) {
                    ASSERT_LE(of_point[i], there[i]) << network.layers().size() << " layers, " << radius;
                    ASSERT_GE(of_point[half + i], there[i]);
                    touched += of_point[i] == there[i] || of_point[half + i] == there[i] ? 1 : 0;
                    ++compared;
                }
            }
        }
    }
    EXPECT_GT(touched, 0U) << "corners of linear networks attain their bounds";
    EXPECT_GT(compared, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Precisions, InputBox,
                         ::testing::Values(Precision::double_precision, Precision::single_precision,
                                           Precision::fixed),
                         [](const auto& of) { return std::string(name_of(of.param)); });

Model model_of(Network network, Precision precision, std::vector<std::int64_t> parameters) {
    Model model{std::move(network), precision, std::move(parameters), "elsewhere", "", "", {}, {}};
    return model;
}

std::vector<std::int32_t> labels_at(const Model& model, const Backend& backend, const Records& records) {
    return answers_of(model.network, backend, model.parameters, model.feature_map()(records)).labels;
}

TEST(BoxCertificates, LabelsStandAtEveryPointOfAGrid) {
    const std::vector<double> radii{0.0625, 0.125, 0.25, 0.5};
    const auto backend = make_backend("cpu");
    std::vector<std::size_t> levels(radii.size() + 1);
    for (const std::size_t classes : {2, 4}) {
        const InputTransform transform{0, 1, {0, 1}};
        const Model model = model_of(Network(3, {6}, classes, Loss::cross_entropy, transform),
                                     Precision::double_precision, {});
        for (std::uint64_t seed = 0; seed < 12; ++seed) {
            Model of_seed = model;
            of_seed.parameters = random_parameters(model.network, seed, 2);
            const auto rows = random_rows(12, 3, seed, transform.range);
            const Records queries = records_of(rows, true);
            const InputCertificates found = certify_boxes(of_seed, *backend, radii, queries);
            EXPECT_EQ(found.labels, labels_at(of_seed, *backend, queries));
            for (std::size_t q = 0; q < rows.size(); ++q) {
                ++levels[static_cast<std::size_t>(std::count_if(
                    radii.begin(), radii.end(), [&](double r) { return r <= found.radii[q]; }))];
                std::vector<std::vector<double>> grid;
                for (int a = -2; a <= 2; ++a) {
                    for (int b = -2; b <= 2; ++b) {
                        for (int c = -2; c <= 2; ++c) {
                            std::vector<double> at = rows[q];
                            const int steps[] = {a, b, c};
                            for (std::size_t j = 0; j < 3; ++j)
                                at[j] = std::clamp(rows[q][j], 0.0, 1.0) + found.radii[q] / 2 * steps[j];
                            grid.push_back(at);
                        }
                    }
                }
                for (const std::int32_t label : labels_at(of_seed, *backend, records_of(grid, true)))
                    ASSERT_EQ(label, found.labels[q]) << "within " << found.radii[q];
            }
        }
    }
    for (const std::size_t count : levels) EXPECT_GT(count, 0U) << "every radius is the largest somewhere";
}

/// Linear models of a range wide enough that no ball meets its ends.
Model linear_model(std::size_t classes, Precision precision, std::uint64_t seed, double size) {
    Network network(6, {}, classes,
                    classes == 2 && seed % 2 == 0 ? Loss::binary_cross_entropy : Loss::cross_entropy,
                    InputTransform{0.5, 1.5, {-0x1p20, 0x1p20}});
    std::vector<std::int64_t> parameters = random_parameters(network, seed, size);
    return model_of(std::move(network), precision, std::move(parameters));
}

TEST(LinearRadii, NoAttackWithinAndEveryoneBeyond) {
    for (const std::size_t classes : {2, 5}) {
        for (std::uint64_t seed = 0; seed < cases_of(8); ++seed) {
            const Model model = linear_model(classes, Precision::double_precision, seed, 1);
            const auto backend = make_backend("cpu");
            const Records queries = records_of(random_rows(30, 6, seed, {-1, 2}), true);
            const InputCertificates found = certify_l2_radii(model, *backend, queries);
            EXPECT_EQ(found.labels, labels_at(model, *backend, queries));
            const Attacker attacker(model, *backend, queries);
            const Attack margin{"margin", 5, 1};
            for (std::size_t q = 0; q < queries.size(); ++q) {
                std::vector<char> one(queries.size());
                one[q] = 1;
                ASSERT_GT(found.radii[q], 0);
                EXPECT_EQ(
                    attacker.succeed(margin, Norm::l2, found.radii[q] * (1 - 1e-9), found.labels, one)[q], 0);
                EXPECT_EQ(
                    attacker.succeed(margin, Norm::l2, found.radii[q] * (1 + 1e-6), found.labels, one)[q], 1);
            }
        }
    }
}

/// The largest radius of the exact numbers: margin over length, as if nothing rounded.
double radius_without_rounding(const Model& model, std::size_t q, const std::vector<double>& logits) {
    const std::size_t columns = model.network.inputs() + 1, classes = model.network.classes();
    const std::size_t label = static_cast<std::size_t>(
        std::max_element(logits.begin() + static_cast<std::ptrdiff_t>(q * classes),
                         logits.begin() + static_cast<std::ptrdiff_t>((q + 1) * classes)) -
        logits.begin() - static_cast<std::ptrdiff_t>(q * classes));
    double least = INFINITY;
    for (std::size_t j = 0; j < classes; ++j) {
        if (j == label) continue;
        double squares = 0;
        for (std::size_t i = 0; i + 1 < columns; ++i) {
            const double w = parameter_value(model.parameters[label * columns + i]) -
                             parameter_value(model.parameters[j * columns + i]);
            squares += w * w;
        }
        least = std::min(least, (logits[q * classes + label] - logits[q * classes + j]) /
                                    (model.network.transform().scale * std::sqrt(squares)));
    }
    return least;
}

/// In single precision, far from the origin, where the logits are large beside their differences: a radius
/// that forgets rounding is broken, ours is not.
TEST(LinearRadii, HoldWhereRoundingDecides) {
    std::size_t forgotten = 0, positive = 0;
    for (std::uint64_t seed = 1; seed < 400; seed += 2) {
        const Model model = linear_model(3, Precision::single_precision, seed, 1);
        const auto backend = make_backend("cpu", Precision::single_precision);
        const std::size_t columns = 7;
        std::vector<double> normal(6);  // x + t normal crosses the border of classes 0 and 1
        for (std::size_t i = 0; i < 6; ++i)
            normal[i] = parameter_value(model.parameters[i]) - parameter_value(model.parameters[columns + i]);
        std::vector<std::vector<double>> rows;
        for (std::size_t r = 0; r < 20; ++r) {
            std::vector<double> x = random_rows(1, 6, seed * 100 + r, {-4000, 4000}).front();
            double margin =
                       parameter_value(model.parameters[6]) - parameter_value(model.parameters[columns + 6]),
                   squares = 0;
            for (std::size_t i = 0; i < 6; ++i) {
                margin += normal[i] * (x[i] - 0.5) * 1.5;
                squares += normal[i] * normal[i];
            }
            const double by = (margin - 1e-4 * static_cast<double>(r)) / (1.5 * squares);
            for (std::size_t i = 0; i < 6; ++i) x[i] -= by * normal[i];
            rows.push_back(x);
        }
        const Records queries = records_of(rows, true);
        const InputCertificates found = certify_l2_radii(model, *backend, queries);
        const std::vector<double> logits =
            deciding_values(model.network, *backend, model.parameters, queries);
        const Attacker attacker(model, *backend, queries);
        for (std::size_t q = 0; q < queries.size(); ++q) {
            std::vector<char> one(queries.size());
            one[q] = 1;
            const Attack margin{"margin", 3, 1};
            positive += found.radii[q] > 0 ? 1 : 0;
            if (found.radii[q] > 0) {
                EXPECT_EQ(attacker.succeed(margin, Norm::l2, found.radii[q], found.labels, one)[q], 0);
            }
            const double naive = radius_without_rounding(model, q, logits);
            ASSERT_LE(found.radii[q], naive);
            if (naive > 0)
                forgotten += static_cast<std::size_t>(
                    attacker.succeed(margin, Norm::l2, naive * (1 - 1e-9), found.labels, one)[q]);
        }
    }
    EXPECT_GT(positive, 100U);
    EXPECT_GT(forgotten, 0U) << "the cases do not reach where rounding decides";
}

/// What the program computes, against exact rationals, within what the radius takes off for it.
TEST(LinearRadii, TakeOffMoreThanTheProgramRounds) {
    double largest = 0;
    for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
        for (std::uint64_t seed = 1; seed < 60; seed += 2) {
            const Model model = linear_model(3, precision, seed, seed % 3 == 0 ? 900 : 1);
            const auto backend = make_backend("cpu", precision);
            const bool saturated = seed % 5 == 0;  // beyond the range
            const Records queries = records_of(
                random_rows(4, 6, seed, saturated ? FeatureRange{-0x1p22, 0x1p22} : FeatureRange{-3, 3}),
                true);
            const std::vector<double> logits =
                deciding_values(model.network, *backend, model.parameters, queries);
            const double u = precision == Precision::single_precision ? 0x1p-24 : 0x1p-53;
            for (std::size_t q = 0; q < queries.size(); ++q) {
                for (std::size_t c = 0; c < 3; ++c) {
                    Rational exact(parameter_value(model.parameters[c * 7 + 6])), size = abs(exact);
                    for (std::size_t i = 0; i < 6; ++i) {
                        const Rational seen =
                            (Rational(model.network.transform().inside(queries.features.at(q, i))) -
                             Rational(1, 2)) *
                            Rational(3, 2);
                        // Parameters are multiples of 2^-50 below 2^10: doubles round them.
                        const Rational weight = as_rational(model.parameters[c * 7 + i]) / power_of_two(50);
                        exact += weight * seen;
                        size += abs(weight * seen);
                    }
                    const Rational error = abs(Rational(logits[q * 3 + c]) - exact);
                    const double part = Rational(error / size).get_d() / (2 * (10 + 4) * u);
                    ASSERT_LE(part, 1) << "twice (n + 4 + 4) u of the sizes";
                    largest = std::max(largest, part);
                }
            }
        }
    }
    EXPECT_GT(largest, 0.02) << "the allowance is not wasted";
}

/// A limit of the norm projects onto a ball, which lengthens no difference.
/// A file that anybody may write: what stands between the map and the rows moves more than the map does.
TEST(LinearRadii, AreRefusedWhereTheNetworkScalesOrCutsWhatItsMapGives) {
    const auto backend = make_backend("cpu");
    const FeatureMap map(4, InputTransform{0, 2, {-1, 1}}, {}, true, 1.0);
    const FeatureRange whole = map.network_input().range;
    const Records queries = records_of(random_rows(3, 4, 1, {-1, 1}), true);
    for (const InputTransform& input : {InputTransform{0, 1000, whole}, InputTransform{0.5, 1, whole},
                                        InputTransform{0, 1, {whole.low / 2, whole.high}},
                                        InputTransform{0, 1, {whole.low, whole.high / 2}},
                                        InputTransform{0, 1, {2 * whole.low, 2 * whole.high}}}) {
        Network network(4, {}, 3, Loss::cross_entropy, input);
        Model model = model_of(network, Precision::double_precision, random_parameters(network, 1, 1));
        model.features = map;
        if (input.range.high > whole.high) {
            EXPECT_EQ(certify_l2_radii(model, *backend, queries).radii.size(), 3U);
        } else {
            EXPECT_EQ(error_of([&] { certify_l2_radii(model, *backend, queries); }).code(), ExitCode::usage);
        }
    }
}

TEST(LinearRadii, HoldBehindALimitOfTheNorm) {
    const auto backend = make_backend("cpu");
    std::size_t tight = 0;
    for (std::uint64_t seed = 1; seed < 40; ++seed) {
        const FeatureMap map(4, InputTransform{0, 2, {-1, 1}}, {}, true, 1.0);
        Network network(4, {}, 3, Loss::cross_entropy, map.network_input());
        Model model = model_of(network, Precision::double_precision, random_parameters(network, seed, 1));
        model.features = map;
        const auto rows = random_rows(20, 4, seed, {-1, 1});
        const Records queries = records_of(rows, true);
        const InputCertificates found = certify_l2_radii(model, *backend, queries);
        const KeyedHash hash{seed};
        for (std::size_t q = 0; q < rows.size(); ++q) {
            std::vector<std::vector<double>> others, beyond;
            for (std::uint64_t trial = 0; trial < 200; ++trial) {
                std::vector<double> step(4), at(4), past(4);
                double squares = 0;
                for (std::size_t i = 0; i < 4; ++i) {
                    step[i] = hash.normal(trial, 4 * q + i);
                    squares += step[i] * step[i];
                }
                for (std::size_t i = 0; i < 4; ++i) {
                    const double inside = std::clamp(rows[q][i], -1.0, 1.0);
                    at[i] = inside + step[i] / std::sqrt(squares) * found.radii[q] * (1 - 1e-9);
                    past[i] = inside + step[i] / std::sqrt(squares) * found.radii[q] * 2.5;
                }
                others.push_back(at);
                beyond.push_back(past);
            }
            for (const std::int32_t label : labels_at(model, *backend, records_of(others, true)))
                ASSERT_EQ(label, found.labels[q]);
            const auto past = labels_at(model, *backend, records_of(beyond, true));
            tight +=
                std::any_of(past.begin(), past.end(), [&](auto label) { return label != found.labels[q]; })
                    ? 1
                    : 0;
        }
    }
    EXPECT_GT(tight, 50U) << "two and a half times as far changes many labels";
}

/// Behind a map a narrow file's records are floats: of one parameter in double, at the end of the radius of a
/// query of doubles, the program answers otherwise for its float.
TEST(LinearRadii, HoldOfNarrowQueriesBehindAMap) {
    const auto backend = make_backend("cpu");
    const FeatureMap map(1, InputTransform{0.5, 2, {0, 1}}, {}, true, 2.0);
    const Network network(1, {}, 2, Loss::binary_cross_entropy, map.network_input());
    constexpr std::int64_t one = std::int64_t{1} << 50;
    Model model = model_of(network, Precision::double_precision, {one, one - (one >> 30)});
    model.features = map;
    const InputCertificates found = certify_l2_radii(model, *backend, records_of({{0.5}}, true));
    ASSERT_EQ(found.labels[0], 1);
    EXPECT_GT(found.radii[0], 0.4999);
    const std::vector<std::vector<double>> other{{0x1p-30}};
    EXPECT_EQ(labels_at(model, *backend, records_of(other, true))[0], 1);
    EXPECT_EQ(labels_at(model, *backend, records_of(other, false))[0], 0);
    EXPECT_LT(found.radii[0], 0.5 - 0x1p-30);
}

/// Of one to three hidden layers, with wide ranges.
Model deep_model(std::uint64_t seed, Precision precision, double size) {
    const std::vector<std::vector<std::size_t>> hidden{{5}, {7, 4}, {6, 6, 5}};
    const std::size_t classes = 2 + seed % 3;
    Network network(6, hidden[seed / 3 % 3], classes, Loss::cross_entropy, InputTransform{0.5, 1.5, {-4, 4}});
    std::vector<std::int64_t> parameters = random_parameters(network, seed, size);
    return model_of(std::move(network), precision, std::move(parameters));
}

TEST(SpectralNorms, AreNoLessThanTheGreatestSingularValueAndHardlyMore) {
    const KeyedHash hash{3};
    for (std::uint64_t trial = 0; trial < 60; ++trial) {
        const std::size_t in = 1 + trial % 11, out = 1 + trial % 7;
        AffineLayer layer{in, out, {}, std::vector<double>(out)};
        for (std::size_t p = 0; p < in * out; ++p)
            layer.weight.push_back(trial % 13 == 0 ? 0 : hash.uniform(trial, p) - 0.5);
        std::vector<double> v(in, 1.0), u(out);
        double length = 1, greatest = 0;
        for (int power = 0; power < 300 && length > 0; ++power) {
            std::fill(u.begin(), u.end(), 0);
            for (std::size_t o = 0; o < out; ++o)
                for (std::size_t i = 0; i < in; ++i) u[o] += layer.weight[o * in + i] * v[i];
            std::fill(v.begin(), v.end(), 0);
            for (std::size_t o = 0; o < out; ++o)
                for (std::size_t i = 0; i < in; ++i) v[i] += layer.weight[o * in + i] * u[o];
            length = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
            greatest = std::sqrt(length);
            for (double& entry : v) entry /= length > 0 ? length : 1;
        }
        const double found = spectral_norm(layer).value();
        EXPECT_GE(found, greatest * (1 - 1e-12)) << trial;
        EXPECT_LE(found, greatest * 1.001 + 1e-100) << trial;
    }
}

/// Behind a limit of the norm.
Model limited_model(std::uint64_t seed) {
    const FeatureMap features(6, {.shift = 0.5, .scale = 1.5, .range = {-4, 4}}, {}, true, 2);
    Network network(6, {7, 4}, 3, Loss::cross_entropy, features.network_input());
    std::vector<std::int64_t> parameters = random_parameters(network, seed, 1);
    Model model = model_of(std::move(network), Precision::double_precision, std::move(parameters));
    model.features = features;
    return model;
}

/// Of convolutions, if this seed has some without pooling.
std::optional<Model> convolved_model(std::uint64_t seed) {
    NetworkShape shape = convolutional_network(seed, Loss::cross_entropy, 3);
    for (Layer& layer : shape.layers) {
        layer.dropout = 0;
        if (layer.pooling) return std::nullopt;
    }
    Network network(shape.layers, 3, Loss::cross_entropy, InputTransform{0.5, 1.5, {-4, 4}});
    std::vector<std::int64_t> parameters = random_parameters(network, seed, 0.7);
    return model_of(std::move(network), Precision::double_precision, std::move(parameters));
}

/// How often labels fell six times as far, or sixty by chance alone; none does within.
struct Fallen {
    int certified = 0, beyond = 0;

    void attack(const Model& model, bool follows, std::uint64_t seed) {
        const auto backend = make_backend("cpu");
        const std::size_t columns = model.feature_map().columns();
        const Records queries = records_of(random_rows(20, columns, seed, {-3, 3}), true);
        const InputCertificates found = certify_l2_radii(model, *backend, queries);
        EXPECT_EQ(found.labels, labels_at(model, *backend, queries));
        std::optional<Attacker> attacker;
        if (follows) attacker.emplace(model, *backend, queries);
        const KeyedHash hash{seed};
        for (std::size_t q = 0; q < queries.size(); ++q) {
            if (!(found.radii[q] > 0)) continue;
            ++certified;
            std::vector<char> one(queries.size());
            one[q] = 1;
            const auto falls = [&](const char* name, double part) {
                return attacker->succeed({name, 12, 2}, Norm::l2, part * found.radii[q], found.labels,
                                         one)[q] != 0;
            };
            for (const char* name : {"margin", "pgd", "apgd"}) {
                if (!follows) break;
                EXPECT_FALSE(falls(name, 1 - 1e-9)) << name << " " << seed;
                beyond += falls(name, 6) ? 1 : 0;
            }
            for (std::uint64_t draw = 0; draw < 20; ++draw) {
                std::vector<double> x(columns);
                double squares = 0;
                for (std::size_t j = 0; j < columns; ++j) {
                    x[j] = hash.normal(100 * q + draw, j);
                    squares += x[j] * x[j];
                }
                std::vector<std::vector<double>> moved(2, std::vector<double>(columns));
                for (std::size_t j = 0; j < columns; ++j) {
                    const double step = found.radii[q] * x[j] / std::sqrt(squares),
                                 from = std::clamp(queries.features.at(q, j), -4., 4.);
                    moved[0][j] = from + (1 - 1e-9) * step;
                    moved[1][j] = from + (follows ? 6 : 60) * step;
                }
                const std::vector<std::int32_t> there = labels_at(model, *backend, records_of(moved, true));
                EXPECT_EQ(there[0], found.labels[q]) << seed;
                beyond += there[1] != found.labels[q] ? 1 : 0;
            }
        }
    }
};

TEST(DeepRadii, NoMoveWithinThemChangesALabel) {
    Fallen dense, limited, convolved;
    for (std::uint64_t seed = 0; seed < cases_of(24); ++seed)
        dense.attack(deep_model(seed, Precision::double_precision, 1), true, seed);
    for (std::uint64_t seed = 0; seed < cases_of(12); ++seed)
        limited.attack(limited_model(seed), false, seed);
    for (std::uint64_t seed = 0; seed < cases_of(40); ++seed)
        if (const std::optional<Model> model = convolved_model(seed)) convolved.attack(*model, true, seed);
    EXPECT_GT(dense.certified, 200);
    EXPECT_GT(dense.beyond, 60) << "six times as far changes labels";
    EXPECT_GT(limited.certified, 100);
    EXPECT_GT(limited.beyond, 10);
    EXPECT_GT(convolved.certified, 100);
    EXPECT_GT(convolved.beyond, 10);
}

/// The margin of class 0 over class 1 at a query, of the parameters as the program has them, in real numbers.
long double exact_margin(const Model& model, const Records& query) {
    const PlainNetwork plain = plain_network(model.network, model.precision, model.parameters);
    const InputTransform input = model.network.transform();
    std::vector<long double> values;
    for (std::size_t j = 0; j < plain.inputs(); ++j)
        values.push_back((static_cast<long double>(
                              std::clamp(query.features.at(0, j), input.range.low, input.range.high)) -
                          input.shift) *
                         input.scale);
    for (std::size_t l = 0; l < plain.layers.size(); ++l) {
        const AffineLayer& layer = plain.layers[l];
        std::vector<long double> next(layer.bias.begin(), layer.bias.end());
        for (std::size_t o = 0; o < layer.out; ++o) {
            for (std::size_t i = 0; i < layer.in; ++i) next[o] += layer.weight[o * layer.in + i] * values[i];
            if (l + 1 < plain.layers.size()) next[o] = std::max(next[o], 0.0L);
        }
        values = next;
    }
    return values[0];
}

/// In single precision, of queries near a tie: what is certified has the label of real numbers.
TEST(DeepRadii, HoldWhereTheProgramRounds) {
    const auto backend = make_backend("cpu", Precision::single_precision);
    int certified = 0, otherwise = 0;
    for (std::uint64_t seed = 0; seed < cases_of(600); ++seed) {
        Model model = deep_model(3 * seed, Precision::single_precision, 3);  // of two classes
        const Records query = records_of(random_rows(1, 6, seed, {-3, 3}), false);
        const std::size_t last = model.network.offset(model.network.layers().size() - 1),
                          columns = model.network.layers().back().in + 1;
        const auto lead = static_cast<double>(exact_margin(model, query));
        const double wanted =
            (seed % 2 == 0 ? 1 : -1) * std::ldexp(std::abs(lead), -8 - static_cast<int>(seed % 18));
        model.parameters[last + columns - 1] += parameter_units(wanted - lead);
        const bool first = exact_margin(model, query) >= 0;
        const InputCertificates found = certify_l2_radii(model, *backend, query);
        otherwise += (found.labels[0] == 0) != first ? 1 : 0;
        if (!(found.radii[0] > 0)) continue;
        ++certified;
        EXPECT_EQ(found.labels[0] == 0, first) << seed;
    }
    EXPECT_GT(certified, 50);
    EXPECT_GT(otherwise, 5) << "rounding decides labels here";
}

/// The difference of two long sums, of which every step of one is rounded down.
TEST(DeepRadii, HoldWhereHiddenLayersRound) {
    constexpr std::size_t columns = 4000;
    const auto backend = make_backend("cpu", Precision::single_precision);
    Network network(columns, {2}, 2, Loss::cross_entropy, InputTransform{0, 1, {0, 1}});
    std::vector<std::int64_t> parameters(network.parameters());
    for (std::size_t o = 0; o < 2; ++o)
        for (std::size_t i = 0; i < columns; ++i)
            parameters[o * (columns + 1) + i] = parameter_units(o == 0 ? 1 + 0.875 * 0x1p-14 : 1);
    std::int64_t* const last = &parameters[network.offset(1)];
    last[0] = parameter_units(1);
    last[1] = parameter_units(-1);
    const std::size_t bias = network.offset(1) + 2;
    Model model = model_of(std::move(network), Precision::single_precision, std::move(parameters));
    const Records query = records_of({std::vector<double>(columns, 1)}, false);
    const auto lead = static_cast<double>(exact_margin(model, query));
    int certified = 0, otherwise = 0;
    for (const double wanted : {-60., -20., -1., -0.1, -0.01, 0.01, 0.05, 0.1, 0.15, 1., 20., 60.}) {
        model.parameters[bias] = parameter_units(wanted - lead);
        const InputCertificates found = certify_l2_radii(model, *backend, query);
        const bool agrees = (found.labels[0] == 0) == (wanted > 0);
        otherwise += agrees ? 0 : 1;
        certified += found.radii[0] > 0 ? 1 : 0;
        EXPECT_TRUE(agrees || found.radii[0] == 0) << wanted;
    }
    EXPECT_GT(otherwise, 2) << "rounding decides labels here";
    EXPECT_GT(certified, 1);
}

TEST(InputCertificates, RefuseWhatTheyDoNotBound) {
    const auto backend = make_backend("cpu");
    const Records queries = records_of({{0.5, 0.5}}, true);
    const std::vector<double> radii{0.1};
    const auto model_with = [](const std::vector<std::size_t>& hidden, std::size_t classes, Loss loss) {
        Network network(2, hidden, classes, loss);
        const std::size_t parameters = network.parameters();
        return model_of(std::move(network), Precision::double_precision,
                        std::vector<std::int64_t>(parameters));
    };
    const Model regression = model_with({}, 1, Loss::squared_error);
    EXPECT_NE(
        error_of([&] { certify_boxes(regression, *backend, radii, queries); }).message().find("no label"),
        std::string::npos);
    Model fixed = model_with({}, 2, Loss::cross_entropy);
    fixed.precision = Precision::fixed;
    EXPECT_NE(error_of([&] { certify_l2_radii(fixed, *backend, queries); }).message().find("fixed precision"),
              std::string::npos);
    Model mapped = model_with({}, 2, Loss::cross_entropy);
    mapped.features = FeatureMap(2, {}, {}, true, 1.0);
    EXPECT_THAT(error_of([&] { certify_boxes(mapped, *backend, radii, queries); }).what(),
                testing::AllOf(testing::HasSubstr("--model: "), testing::HasSubstr("no map"),
                               testing::HasSubstr("--smoothing")));
    EXPECT_NE(error_of([&] { Attacker attacker(mapped, *backend, queries); }).message().find("no map"),
              std::string::npos);
}

TEST(Attacks, StayWithinTheBallExactly) {
    const KeyedHash hash{5};
    std::size_t moved_least = 0;
    for (std::uint64_t i = 0; i < 20000; ++i) {
        const bool wide = i % 2 == 0;
        const FeatureRange range{-0.3, 0.9};
        double x = -0.3 + 1.2 * hash.uniform(1, i);
        if (!wide) x = std::clamp(static_cast<double>(static_cast<float>(x)), -0.299, 0.899);
        if (!wide) x = static_cast<double>(static_cast<float>(x));
        const double radius = std::pow(10, -9 * hash.uniform(2, i)),
                     found = within_reach(x + (i % 3 == 0 ? radius : -radius), x, radius, range, wide);
        ASSERT_LE(abs(Rational(found) - Rational(x)), Rational(radius));
        ASSERT_TRUE(found >= range.low && found <= range.high);
        if (!wide) {
            ASSERT_EQ(found, static_cast<double>(static_cast<float>(found)));
        }
        moved_least += std::abs(found - x) > 0.9 * radius ? 1 : 0;
    }
    EXPECT_GT(moved_least, 10000U);
}

/// Logits so far apart that the cross-entropy has no gradient in double: what follows the leads, or asks for
/// logits alone, still finds what pgd does not.
TEST(Attacks, OfLeadsAndOfLogitsFindWhatMaskedGradientsHide) {
    const Network network(6, {}, 3, Loss::cross_entropy, {0, 1, {0, 1}});
    std::vector<std::int64_t> parameters = random_parameters(network, 8, 900);
    const Model model = model_of(network, Precision::double_precision, parameters);
    const auto backend = make_backend("cpu");
    const Records queries = records_of(random_rows(60, 6, 4, {0.3, 0.7}), true);
    const std::vector<std::int32_t> labels = labels_at(model, *backend, queries);
    const Attacker attacker(model, *backend, queries);
    const std::vector<char> all(queries.size(), 1);
    for (const Norm norm : {Norm::linf, Norm::l2}) {
        const auto found = [&](const char* name) {
            const auto fell =
                attacker.succeed({name, 20, 1}, norm, norm == Norm::l2 ? 0.3 : 0.15, labels, all);
            return std::count(fell.begin(), fell.end(), 1);
        };
        const auto margin = found("margin");
        EXPECT_GT(margin, 10);
        EXPECT_LT(found("pgd"), margin - 5);
        EXPECT_GE(found("apgd"), margin - 3);
        EXPECT_GT(found("square"), found("pgd") + 1);
        EXPECT_LE(found("square"), margin);
    }
}

/// Each attack finds what a far weaker search does not miss: more as the radius grows, and no attack succeeds
/// where boxes certify.
TEST(Attacks, FindMoreInLargerBallsAndNothingInCertifiedOnes) {
    const InputTransform transform{0, 1, {0, 1}};
    Network network(6, {8, 6}, 3, Loss::cross_entropy, transform);
    const Model model = model_of(network, Precision::single_precision, random_parameters(network, 21, 1.5));
    const auto backend = make_backend("cpu", Precision::single_precision);
    const Records queries = records_of(random_rows(200, 6, 4, transform.range), false);
    const std::vector<double> radii{0.001, 0.01, 0.05, 0.4};
    const InputCertificates found = certify_boxes(model, *backend, radii, queries);
    const Attacker attacker(model, *backend, queries);
    const std::vector<char> all(queries.size(), 1);
    for (const std::string& name : Attack::names()) {
        for (const Norm norm : {Norm::linf, Norm::l2}) {
            std::vector<std::ptrdiff_t> fallen;
            for (const double radius : radii) {
                const std::vector<char> fell =
                    attacker.succeed({name, 20, 3}, norm, radius, found.labels, all);
                for (std::size_t q = 0; q < queries.size(); ++q)
                    ASSERT_FALSE(fell[q] != 0 && found.radii[q] >= radius) << name << " at " << radius;
                fallen.push_back(std::count(fell.begin(), fell.end(), 1));
            }
            EXPECT_TRUE(std::is_sorted(fallen.begin(), fallen.end())) << name;
            EXPECT_GT(fallen.back(), 20) << name;
            EXPECT_EQ(
                fallen, ([&] {
                    std::vector<std::ptrdiff_t> again;
                    for (const double radius : radii) {
                        const auto fell = attacker.succeed({name, 20, 3}, norm, radius, found.labels, all);
                        again.push_back(std::count(fell.begin(), fell.end(), 1));
                    }
                    return again;
                }()))
                << "the same again";
        }
    }
}

}  // namespace input_certificate_test
}  // namespace holdfast
