#include "models/certify/margins.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/backends.hpp"
#include "kernels/base/random.hpp"

namespace holdfast {
namespace margins_test {

constexpr std::size_t inputs = 3;

/// Lower and upper bounds of all pairwise margins of one record, as Margins reads them; all magnitudes are 0.
class Table {
  public:
    explicit Table(std::size_t classes)
        : classes_(classes),
          lower_((classes * (classes - 1) / 2 + 2 * classes) * panel_height, 0.0),
          upper_(lower_.size(), 0.0) {}
    void set(std::size_t a, std::size_t b, double least, double greatest) {
        const std::size_t pair = a * (2 * classes_ - a - 1) / 2 + (b - a - 1);
        lower_[pair * panel_height + record] = least;
        upper_[pair * panel_height + record] = greatest;
    }
    Margins margins(Precision precision = Precision::double_precision) const {
        return {classes_, inputs, precision, {0, panel_height, panel_height, lower_.data(), upper_.data()}};
    }
    static constexpr std::size_t record = 17;

  private:
    std::size_t classes_;
    std::vector<double> lower_, upper_;
};

/// A network without hidden layers and a box around its parameters; every value is a small multiple of 1/64,
/// so that double arithmetic is exact and brute force has no rounding of its own.
struct Case {
    Case(std::size_t class_count, Loss loss, std::uint64_t seed)
        : network(inputs, {}, class_count, loss), classes(class_count) {
        const KeyedHash hash{seed};
        const auto draw = [&](std::uint64_t stream, std::size_t i, std::int64_t range) {
            return static_cast<std::int64_t>(hash(stream, i) % static_cast<std::uint64_t>(2 * range + 1)) -
                   range;
        };
        const std::int64_t radius = static_cast<std::int64_t>(hash(0, 0) % 4) * 8;
        for (std::size_t p = 0; p < network.parameters(); ++p) {
            const std::int64_t centre = draw(1, p, 64),
                               below = radius == 0 ? 0 : std::abs(draw(2, p, radius)),
                               above = radius == 0 ? 0 : std::abs(draw(3, p, radius));
            lower.push_back((centre - below) << 44);
            upper.push_back((centre + above) << 44);
        }
        for (std::size_t j = 0; j < inputs; ++j) x.push_back(static_cast<double>(draw(4, j, 64)) / 64);
    }
    double value(std::int64_t units) const { return parameter_value(units); }
    /// Bounds of z_a - z_b over the box: each parameter of each class at the end that makes it least or
    /// greatest.
    std::pair<double, double> bounds(std::size_t a, std::size_t b) const {
        double least = 0, greatest = 0;
        for (std::size_t j = 0; j <= inputs; ++j) {
            const double z = j < inputs ? x[j] : 1.0;
            const auto term = [&](std::size_t c, double sign) {
                const double one = sign * value(lower[c * (inputs + 1) + j]) * z,
                             other = sign * value(upper[c * (inputs + 1) + j]) * z;
                least += std::min(one, other);
                greatest += std::max(one, other);
            };
            if (network.outputs() == 1) {
                term(0, a == 0 ? -1 : 1);  // z_0 - z_1 is -z
            } else {
                term(a, 1);
                term(b, -1);
            }
        }
        return {least, greatest};
    }

    Network network;
    std::size_t classes;
    std::vector<std::int64_t> lower, upper;
    std::vector<double> x;
};

/// The margins of a panel's records, [panel_height, inputs], kept in `low` and `high`.
OutputBlock outputs_of(const Network& network, const Backend& backend, const Variant& box,
                       const std::vector<double>& features, std::vector<double>& low,
                       std::vector<double>& high) {
    const MarginRows rows(network, Precision::double_precision, box.lower, box.upper);
    const auto engine = backend.engine(network.shape(), {});
    engine->set_records(std::vector{RecordSet{.wide_features = features.data(), .count = panel_height}});
    std::vector<std::uint32_t> indices(panel_height);
    std::iota(indices.begin(), indices.end(), 0);
    OutputBlock kept = {};
    engine->outputs(box, rows.layer(), indices, [&](const OutputBlock& block) {
        kept = block;
        low.assign(block.lower, block.lower + rows.layer().rows * block.stride);
        high.assign(block.upper, block.upper + rows.layer().rows * block.stride);
    });
    kept.lower = low.data();
    kept.upper = high.data();
    return kept;
}

/// The margins the program computes of x in every column of a panel.
struct Computed {
    Computed(const Case& example, const Backend& backend, bool point) : classes(example.classes) {
        std::vector<double> features;
        for (std::size_t r = 0; r < panel_height; ++r)
            features.insert(features.end(), example.x.begin(), example.x.end());
        const Variant box{example.lower.data(), point ? example.lower.data() : example.upper.data()};
        block = outputs_of(example.network, backend, box, features, low, high);
    }
    Margins margins() const { return {classes, inputs, Precision::double_precision, block}; }
    std::size_t classes;
    std::vector<double> low, high;
    OutputBlock block = {};
};

class MarginsOfClasses : public ::testing::TestWithParam<int> {};

TEST_P(MarginsOfClasses, AgreeWithBruteForceOverTheCorners) {
    const bool one_logit = GetParam() == 1;
    const std::size_t classes = one_logit ? 2 : static_cast<std::size_t>(GetParam());
    const auto backend = make_backend("cpu");
    int certified = 0, beaten = 0, open = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const Case example(classes, one_logit ? Loss::binary_cross_entropy : Loss::cross_entropy, seed);
        const Computed computed(example, *backend, false);
        const Margins margins = computed.margins();
        for (const std::size_t r : {std::size_t{0}, panel_height - 1}) {
            for (std::size_t c = 0; c < classes; ++c) {
                bool all = true, any = false;
                for (std::size_t other = 0; other < classes; ++other) {
                    if (other == c) continue;
                    const auto [least, greatest] = example.bounds(c, other);
                    EXPECT_EQ(margins.least(c, other, r) > 0, least > 0);
                    EXPECT_LE(margins.least(c, other, r), least + 1e-9);
                    EXPECT_GE(margins.least(c, other, r), least - 1e-9);
                    all = all && least > 0;
                    any = any || greatest < 0;
                }
                EXPECT_EQ(margins.certified(c, r), all) << seed;
                EXPECT_EQ(margins.beaten(c, r), any) << seed;
                certified += all;
                beaten += any;
                open += !all && !any;
            }
        }
    }
    EXPECT_GT(certified, 50);
    EXPECT_GT(beaten, 50);
    EXPECT_GT(open, 20);
}

TEST_P(MarginsOfClasses, ThePointsWinnerHasTheGreatestLogit) {
    const bool one_logit = GetParam() == 1;
    const std::size_t classes = one_logit ? 2 : static_cast<std::size_t>(GetParam());
    const auto backend = make_backend("cpu");
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        Case example(classes, one_logit ? Loss::binary_cross_entropy : Loss::cross_entropy, seed);
        example.upper = example.lower;
        const Computed computed(example, *backend, true);
        std::size_t expected = 0;  // ties keep the first
        for (std::size_t c = 1; c < classes; ++c) {
            if (example.bounds(c, expected).first > 0) expected = c;
        }
        EXPECT_EQ(computed.margins().winner(3), expected) << seed;
        EXPECT_FALSE(computed.margins().beaten(expected, 3));
    }
}

INSTANTIATE_TEST_SUITE_P(Classes, MarginsOfClasses, ::testing::Values(1, 2, 3, 4, 5), [](const auto& info) {
    return info.param == 1 ? std::string("OneLogit") : std::to_string(info.param) + "Logits";
});

// Every parameter of the last layer may be saturated at one end: the box is one all the same, by its hidden
// layers, and a label that they decide is not certified.
TEST(MarginRows, OfABoxWhoseLastLayerIsAPointAreABox) {
    const Network network(1, {1}, 2, Loss::binary_cross_entropy);
    // relu(w x + b) times 1024, less 512: w in [0, 1].
    const std::int64_t one = parameter_units(1);
    const std::vector<std::int64_t> lower{0, 0, 1024 * one, -512 * one},
        upper{one, 0, 1024 * one, -512 * one};
    const MarginRows rows(network, Precision::double_precision, lower.data(), upper.data());
    EXPECT_FALSE(rows.layer().is_point());
    EXPECT_TRUE(
        MarginRows(network, Precision::double_precision, lower.data(), lower.data()).layer().is_point());
    for (const char* name : {"cpu", "reference"}) {
        std::vector<double> low, high;
        const OutputBlock block = outputs_of(network, *make_backend(name), {lower.data(), upper.data()},
                                             std::vector<double>(panel_height, 1.0), low, high);
        const Margins margins(2, 1, Precision::double_precision, block);
        for (const std::size_t label : {0U, 1U}) EXPECT_FALSE(margins.certified(label, 0)) << name;
    }
}

TEST(Margins, ATieCertifiesNobodyAndGoesToTheFirstClass) {
    for (std::size_t classes = 2; classes <= 5; ++classes) {
        const Table table(classes);  // all margins 0
        EXPECT_EQ(table.margins().winner(Table::record), 0U);
        for (std::size_t c = 0; c < classes; ++c) {
            EXPECT_FALSE(table.margins().certified(c, Table::record));
            EXPECT_FALSE(table.margins().beaten(c, Table::record));
        }
    }
}

TEST(Margins, ABoundOfExactlyZeroIsNotPositive) {
    Table table(3);
    table.set(0, 1, 0.0, 1.0);
    table.set(0, 2, 0.5, 1.0);
    EXPECT_FALSE(table.margins().certified(0, Table::record));
    EXPECT_FALSE(table.margins().beaten(1, Table::record));
    EXPECT_TRUE(table.margins().beaten(2, Table::record));
    table.set(0, 1, 5e-324, 1.0);  // within what underflow can do
    EXPECT_FALSE(table.margins().certified(0, Table::record));
    table.set(0, 1, 1e-300, 1.0);
    EXPECT_TRUE(table.margins().certified(0, Table::record));
}

// In fixed precision sums are rounded to floats: logits of 256 are equal within half of 2^-15.
TEST(Margins, OfFixedPrecisionAreMoreThanAFloatIsRoundedBy) {
    constexpr std::size_t pairs = 3;
    std::vector<double> values((pairs + 3) * panel_height, 0.0);
    for (std::size_t c = 0; c < 3; ++c) values[(pairs + c) * panel_height] = 256;  // sizes
    values[0] = 0x1p-17;                                                           // class 0 before class 1
    values[1 * panel_height] = 100;                                                // and before class 2
    for (const auto& [precision, certified] :
         {std::pair(Precision::double_precision, true), std::pair(Precision::single_precision, false),
          std::pair(Precision::fixed, false)}) {
        const Margins margins(3, 2, precision, {0, 1, panel_height, values.data(), values.data()});
        EXPECT_EQ(margins.certified(0, 0), certified) << name_of(precision);
        EXPECT_EQ(Verdicts(margins).certified(0, 0), certified) << name_of(precision);
        EXPECT_EQ(margins.beaten(1, 0), certified) << name_of(precision);
    }
}

TEST(Margins, NaNCertifiesAndBeatsNobody) {
    const double nan = std::nan("");
    for (std::size_t classes = 2; classes <= 4; ++classes) {
        Table table(classes);
        for (std::size_t a = 0; a < classes; ++a) {
            for (std::size_t b = a + 1; b < classes; ++b) table.set(a, b, nan, nan);
        }
        for (std::size_t c = 0; c < classes; ++c) {
            EXPECT_FALSE(table.margins().certified(c, Table::record));
            EXPECT_FALSE(table.margins().beaten(c, Table::record));
        }
    }
    Table one(3);
    one.set(0, 1, 1.0, 2.0);
    one.set(0, 2, nan, 2.0);
    EXPECT_FALSE(one.margins().certified(0, Table::record));
}

TEST(Margins, ReadTheRightPairOfTheRightRecord) {
    constexpr std::size_t classes = 5;
    Table table(classes);
    for (std::size_t a = 0; a < classes; ++a) {
        for (std::size_t b = a + 1; b < classes; ++b)
            table.set(a, b, static_cast<double>(10 * a + b), static_cast<double>(100 * a + b));
    }
    const Margins margins = table.margins();
    for (std::size_t a = 0; a < classes; ++a) {
        for (std::size_t b = a + 1; b < classes; ++b) {
            EXPECT_EQ(margins.least(a, b, Table::record), static_cast<double>(10 * a + b));
            EXPECT_EQ(margins.least(b, a, Table::record), -static_cast<double>(100 * a + b));
            EXPECT_EQ(margins.least(a, b, Table::record + 1), 0.0);
        }
    }
}

/// Three classes whose exact logits are equal: the same products in other orders. What is left of their
/// margins is rounding, and goes round in circles.
TEST(Margins, NobodyIsBeatenAtItsOwnPointWhateverRoundingDoes) {
    constexpr std::size_t terms = 6, classes = 3;
    const Network network(terms, {}, classes, Loss::cross_entropy);
    const auto backend = make_backend("cpu");
    int cycles = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        const KeyedHash hash{seed};
        std::vector<double> panel(terms * panel_height, 0.0), low, high;
        std::vector<std::int64_t> parameters(network.parameters());
        for (std::size_t j = 0; j < terms; ++j) {
            panel[j] = hash.uniform(1, j / classes);  // of the first record
            for (std::size_t c = 0; c < classes; ++c)
                parameters[c * (terms + 1) + j] =
                    static_cast<std::int64_t>(hash(2 + (c + j) % classes, j / classes) >> 6);
        }
        const Variant point{parameters.data(), parameters.data()};
        const OutputBlock block = outputs_of(network, *backend, point, panel, low, high);
        const Margins margins(classes, terms, Precision::double_precision, block);
        const auto raw = [&](std::size_t a, std::size_t b) { return margins.least(a, b, 0) > 0; };
        cycles += (raw(0, 1) && raw(1, 2) && raw(2, 0)) || (raw(1, 0) && raw(2, 1) && raw(0, 2));
        EXPECT_FALSE(margins.beaten(margins.winner(0), 0)) << seed;
        for (std::size_t c = 0; c < classes; ++c) {
            if (margins.certified(c, 0)) {
                EXPECT_EQ(margins.winner(0), c) << seed;
            }
        }
    }
    EXPECT_GT(cycles, 0);
}

}  // namespace margins_test
}  // namespace holdfast
