// Linear relaxations of boxes of networks (models/mathematics.md, relaxation): no network of a certified box
// has another label, whatever its precision, at corners, at random points and at those an attacker steps to;
// and they certify what intervals do not.

#include "models/certify/relaxation.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/backends.hpp"
#include "kernels/base/random.hpp"
#include "models/certify/answers.hpp"
#include "models/certify/claims.hpp"
#include "tests/support/print.hpp"

namespace holdfast {
namespace relaxation_test {

constexpr std::size_t features = 3, query_count = 24;

struct Shape {
    std::vector<std::size_t> hidden;
    std::size_t classes;
    Loss loss;
};
const std::vector<Shape> shapes{{{6, 5}, 2, Loss::binary_cross_entropy},
                                {{4, 7}, 2, Loss::cross_entropy},
                                {{5, 4}, 3, Loss::cross_entropy},
                                {{4, 4, 3}, 2, Loss::binary_cross_entropy}};

Records queries_of(const KeyedHash& hash) {
    Records records{FeatureMatrix(features, true), {}, {}, {}};
    for (std::size_t i = 0; i < query_count; ++i) {
        double row[features];
        for (std::size_t j = 0; j < features; ++j) row[j] = 4 * hash.uniform(1, features * i + j) - 2;
        if (i == 0) std::fill(row, row + features, 0.0);
        records.features.append(row);
        records.ids.push_back(i);
        records.rows.push_back(i);
    }
    return records;
}

/// Boxes of levels 0..levels-1 around a network, wider and wider, an end here and there the same.
struct Boxes {
    Boxes(const Network& network, const KeyedHash& from, double step_) : hash(from), step(step_) {
        for (std::size_t p = 0; p < network.parameters(); ++p)
            centre.push_back(parameter_units(3 * hash.uniform(2, p) - 1.5));
    }
    void load(std::size_t level, std::vector<std::int64_t>& lower, std::vector<std::int64_t>& upper) const {
        lower = upper = centre;
        for (std::size_t p = 0; p < centre.size(); ++p) {
            const double width = step * static_cast<double>(level) * hash.uniform(3, p);
            if (hash(4, p) % 4 != 0) lower[p] -= parameter_units(width);
            if (hash(5, p) % 4 != 0) upper[p] += parameter_units(width);
        }
    }
    KeyedHash hash;
    double step;
    std::vector<std::int64_t> centre;
};

/// The margin of `label` over the nearest other class, in double: what an attacker lowers.
double margin(const Network& network, const std::vector<std::int64_t>& parameters, const Records& records,
              std::size_t query, std::size_t label) {
    std::vector<double> values;
    for (std::size_t j = 0; j < features; ++j) values.push_back(records.features.at(query, j));
    for (std::size_t l = 0; l < network.layers().size(); ++l) {
        const LayerShape& layer = network.layers()[l];
        std::vector<double> next;
        for (std::size_t o = 0; o < layer.out; ++o) {
            const std::int64_t* row = parameters.data() + network.offset(l) + o * (layer.in + 1);
            double a = parameter_value(row[layer.in]);
            for (std::size_t i = 0; i < layer.in; ++i) a += parameter_value(row[i]) * values[i];
            next.push_back(l + 1 < network.layers().size() ? std::max(0.0, a) : a);
        }
        values = std::move(next);
    }
    if (values.size() == 1) return label == 1 ? values[0] : -values[0];
    double best = -1e300;
    for (std::size_t c = 0; c < values.size(); ++c) best = c == label ? best : std::max(best, values[c]);
    return values[label] - best;
}

/// Coordinate descent of the margin over the corners of a box, from a random one.
std::vector<std::int64_t> attacked(const Network& network, const std::vector<std::int64_t>& lower,
                                   const std::vector<std::int64_t>& upper, const Records& records,
                                   std::size_t query, std::size_t label, const KeyedHash& hash,
                                   std::uint64_t stream) {
    std::vector<std::int64_t> point = lower;
    for (std::size_t p = 0; p < point.size(); ++p) point[p] = hash(stream, p) % 2 == 0 ? lower[p] : upper[p];
    for (int round = 0; round < 2; ++round) {
        for (std::size_t p = 0; p < point.size(); ++p) {
            const std::int64_t before = point[p];
            const double at = margin(network, point, records, query, label);
            point[p] = before == lower[p] ? upper[p] : lower[p];
            if (margin(network, point, records, query, label) > at) point[p] = before;
        }
    }
    return point;
}

struct RelaxationIn : testing::TestWithParam<Precision> {};

TEST_P(RelaxationIn, CertifiesLabelsThatNoNetworkOfTheBoxChanges) {
    constexpr std::size_t levels = 40;
    const auto backend = make_backend("reference", GetParam());
    std::int64_t longer = 0, tried = 0, changed = 0;
    for (std::uint64_t seed = 1; seed <= 80; ++seed) {
        const Shape& shape = shapes[seed % shapes.size()];
        const Network network(features, shape.hidden, shape.classes, shape.loss);
        const KeyedHash hash{seed};
        const Records records = queries_of(hash);
        const Boxes boxes(network, hash, 0.001);
        const LevelLoader load = [&](std::size_t level, auto& lower, auto& upper) {
            boxes.load(level, lower, upper);
        };
        const Certificates found = certify(network, *backend, records, levels, load, LevelSearch::bisection);
        const Certificates relaxed = sharpened(network, GetParam(), records, levels, load, found);
        ASSERT_EQ(relaxed.labels, found.labels);
        std::vector<std::int64_t> lower, upper;
        for (std::size_t q = 0; q < query_count; ++q) {
            ASSERT_GE(relaxed.distances[q], found.distances[q]);
            longer += relaxed.distances[q] > found.distances[q];
            const auto label = static_cast<std::size_t>(found.labels[q]);
            for (const std::int64_t beyond : {0, 12}) {  // behind what is certified labels do change
                const auto level = static_cast<std::size_t>(relaxed.distances[q] + beyond);
                if (level >= levels) continue;
                boxes.load(level, lower, upper);
                for (const std::uint64_t stream : {100 + q, 200 + q}) {
                    const auto point = attacked(network, lower, upper, records, q, label, hash, stream);
                    const bool same =
                        answers_of(network, *backend, point, records).labels[q] == found.labels[q];
                    if (beyond == 0) {
                        EXPECT_TRUE(same || relaxed.distances[q] == 0) << "seed " << seed << " query " << q;
                        ++tried;
                    } else {
                        changed += !same;
                    }
                }
            }
        }
    }
    EXPECT_GT(tried, 1000);
    EXPECT_GT(longer, 80);
    EXPECT_GT(changed, 100) << "attacks that change nothing try nothing";
}

// With points for boxes nothing is left but rounding: what is not decided is nearer to a tie than that.
TEST_P(RelaxationIn, OfAPointIsTheSignOfItsMarginUpToRounding) {
    const auto backend = make_backend("reference", GetParam());
    const double roundings = GetParam() == Precision::single_precision ? 1e-3 : 1e-11;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Shape& shape = shapes[seed % shapes.size()];
        const Network network(features, shape.hidden, shape.classes, shape.loss);
        const KeyedHash hash{seed};
        const Records records = queries_of(hash);
        const Boxes boxes(network, hash, 0);
        const Relaxation relaxation(network, GetParam(), boxes.centre.data(), boxes.centre.data());
        const Answers answers = answers_of(network, *backend, boxes.centre, records);
        for (std::size_t q = 0; q < query_count; ++q) {
            std::vector<double> record;
            for (std::size_t j = 0; j < features; ++j) record.push_back(records.features.at(q, j));
            for (std::size_t c = 0; c < shape.classes; ++c) {
                const bool is_label = answers.labels[q] == static_cast<std::int32_t>(c);
                const bool decided = margin(network, boxes.centre, records, q, c) > roundings;
                EXPECT_TRUE(is_label || !relaxation.certifies(c, record));
                EXPECT_TRUE(!is_label || !decided || relaxation.certifies(c, record));
            }
        }
    }
}

// Units of the second layer in pairs that are nearly equal, taken from each other, all of it large: what is
// left of a margin is of the size of its roundings, and often has the other sign than exactly.
TEST_P(RelaxationIn, IsDeceivedByNoCancellation) {
    const auto backend = make_backend("reference", GetParam());
    const int fewest = GetParam() == Precision::single_precision ? 34 : 4;  // bits by which pairs may differ
    std::int64_t decided = 0, misled = 0;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const std::size_t classes = 2 + seed % 2;
        const Network network(features, {5, 6}, classes, Loss::cross_entropy);
        const KeyedHash hash{seed};
        std::vector<std::int64_t> point;
        for (std::size_t p = 0; p < network.parameters(); ++p)
            point.push_back(parameter_units(2000 * hash.uniform(2, p) - 1000));
        for (std::size_t unit = 0; unit < 6; unit += 2) {
            for (std::size_t i = 0; i < 6; ++i) {
                const std::size_t at = network.offset(1) + unit * 6 + i;
                const auto bits = static_cast<int>(hash(7, seed) % 22);
                point[at + 6] =
                    point[at] + (std::int64_t{1} << (fewest + bits)) * (hash(8, at) % 2 == 0 ? 1 : -1);
            }
            for (std::size_t c = 0; c < classes; ++c)
                point[network.offset(2) + 7 * c + unit + 1] = -point[network.offset(2) + 7 * c + unit];
        }
        for (std::size_t c = 0; c < classes; ++c) point[network.offset(2) + 7 * c + 6] = 0;
        Records records = queries_of(hash);
        for (double& value : records.features.wide_values()) value *= 0x1p18;
        const Relaxation relaxation(network, GetParam(), point.data(), point.data());
        const Answers answers = answers_of(network, *backend, point, records);
        for (std::size_t q = 0; q < query_count; ++q) {
            std::vector<double> record;
            for (std::size_t j = 0; j < features; ++j) record.push_back(records.features.at(q, j));
            for (std::size_t c = 0; c < classes; ++c) {
                const bool is_label = answers.labels[q] == static_cast<std::int32_t>(c);
                const bool certified = relaxation.certifies(c, record);
                EXPECT_TRUE(is_label || !certified) << "seed " << seed << " query " << q << " class " << c;
                decided += certified;
                misled += !is_label && margin(network, point, records, q, c) > 0;
            }
        }
    }
    EXPECT_GT(decided, 100);
    if (GetParam() == Precision::single_precision) {
        EXPECT_GT(misled, 50);  // margin() itself is in double
    }
}

// Two hidden units that are one and the same function of the first: their difference is 0 over the whole box,
// which intervals cannot see.
TEST_P(RelaxationIn, KnowsThatUnitsShareTheirInputs) {
    const Network network(1, {1, 2}, 2, Loss::binary_cross_entropy);
    // z1 = relu(w x + 1), a2 = (z1 + 1, z1 + 1), margin of label 1: a2_0 - a2_1 + 1/2.
    const std::vector<double> values{1, 1, 1, 1, 1, 1, 1, -1, 0.5};
    std::vector<std::int64_t> lower, upper;
    for (const double value : values) lower.push_back(parameter_units(value));
    upper = lower;
    lower[0] -= parameter_units(0.75);
    upper[0] += parameter_units(0.75);
    Records query{FeatureMatrix(1, true), {}, {0}, {0}};
    const double x = 1;
    query.features.append(&x);
    const auto backend = make_backend("reference", GetParam());
    const LevelLoader load = [&](std::size_t level, auto& least, auto& greatest) {
        least = lower;
        greatest = upper;
        if (level == 0) least[0] = greatest[0] = parameter_units(1);
    };
    const Certificates found = certify(network, *backend, query, 2, load, LevelSearch::bisection);
    EXPECT_EQ(found.labels[0], 1);
    EXPECT_EQ(found.distances[0], 0);
    const Certificates relaxed = sharpened(network, GetParam(), query, 2, load, found);
    EXPECT_EQ(relaxed.distances[0], 1);
    EXPECT_EQ(relaxed.class_distances, (std::vector<std::int64_t>{2, 0}));
}

TEST(Relaxation, SharpensWhereUnitsShareInputs) {
    const auto network = [](const std::vector<std::size_t>& hidden) {
        return Network(features, hidden, 2, Loss::binary_cross_entropy);
    };
    EXPECT_FALSE(Relaxation::sharpens(network({})));
    EXPECT_FALSE(Relaxation::sharpens(network({9})));
    EXPECT_TRUE(Relaxation::sharpens(network({9, 9})));
}

INSTANTIATE_TEST_SUITE_P(Precisions, RelaxationIn,
                         testing::Values(Precision::double_precision, Precision::single_precision),
                         [](const auto& info) {
                             return info.param == Precision::single_precision ? "single" : "double";
                         });

}  // namespace relaxation_test
}  // namespace holdfast
