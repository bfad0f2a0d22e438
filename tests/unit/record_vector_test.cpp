#include "models/noisy/record_vector.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace holdfast {
namespace record_vector_test {

using Layers = std::vector<std::vector<double>>;

Layers drawn(std::initializer_list<std::size_t> sizes, std::mt19937_64& engine) {
    std::normal_distribution<double> normal;
    Layers layers;
    for (const std::size_t size : sizes) {
        layers.emplace_back(size);
        for (double& value : layers.back()) value = engine() % 5 == 0 ? 0 : normal(engine);
    }
    return layers;
}

/// 20 columns, 6 hidden units, 3 classes, and the same in plain loops.
struct Both {
    Network network{20, {6}, 3, Loss::cross_entropy, InputTransform{}};
    RecordVector vector{network};
    std::vector<double> entries = std::vector<double>(network.parameters());

    void add(const Layers& inputs, const Layers& deltas, double weight) {
        vector.add(inputs, deltas, weight);
        std::size_t p = 0;
        for (std::size_t l = 0; l < 2; ++l)
            for (const double delta : deltas[l]) {
                for (const double input : inputs[l]) entries[p++] += weight * delta * input;
                entries[p++] += weight * delta;
            }
    }
    double norm() const {
        double squares = 0;
        for (const double entry : entries) squares += entry * entry;
        return std::sqrt(squares);
    }
    void clear() {
        vector.clear();
        entries.assign(entries.size(), 0);
    }
};

TEST(RecordVectors, AreTheSumOfOuterProductsHoweverManyThereAre) {
    std::mt19937_64 engine(3);
    Both both;
    for (const int terms : {0, 1, 2, 5, 40, 64, 65, 200}) {
        both.clear();
        for (int t = 0; t < terms; ++t)
            both.add(drawn({20, 6, 3}, engine), drawn({6, 3}, engine), 1.0 / (t + 1));
        EXPECT_NEAR(both.vector.norm(), both.norm(), 1e-8 * (1 + both.norm())) << terms;
        std::vector<std::int64_t> sums(both.entries.size(), 7);
        double squares = 0;
        const double found = both.vector.add_units(1000, 1, sums.data());
        for (std::size_t p = 0; p < sums.size(); ++p) {
            EXPECT_NEAR(static_cast<double>(sums[p] - 7), 1000 * both.entries[p], 0.5 + 1e-9) << terms;
            squares += std::pow(static_cast<double>(sums[p] - 7), 2);
        }
        EXPECT_EQ(found, squares);
        both.vector.add_units(1000, -1, sums.data());
        EXPECT_EQ(sums, std::vector<std::int64_t>(sums.size(), 7));
    }
}

/// Products of terms that cancel tell little of what is left: the norm is never said to be less.
TEST(RecordVectors, AreNoLongerThanTheyAreSaidToBeWhereTermsCancel) {
    std::mt19937_64 engine(4);
    Both both;
    for (int trial = 0; trial < 50; ++trial) {
        both.clear();
        const Layers inputs = drawn({20, 6, 3}, engine), deltas = drawn({6, 3}, engine);
        Layers near = inputs;
        near[0][3] += std::ldexp(1.0, -trial);
        both.add(inputs, deltas, 1);
        both.add(near, deltas, -1);
        EXPECT_GE(both.vector.norm(), both.norm());
        EXPECT_LE(both.vector.norm(), both.norm() + 1e-3);
    }
}

TEST(RecordVectors, HoldWhatIsAddedToTheFirstLayerAndToTheEntries) {
    std::mt19937_64 engine(5);
    Both both;
    const Layers inputs = drawn({20}, engine), deltas = drawn({6}, engine);
    both.vector.add_first(inputs[0], deltas[0]);
    both.vector.add_entries(inputs[0], 2);
    double squares = 0;
    for (std::size_t o = 0; o < 6; ++o) {
        for (std::size_t i = 0; i < 20; ++i)
            squares += std::pow(deltas[0][o] * inputs[0][i] + (o == 0 ? 2 * inputs[0][i] : 0), 2);
        squares += deltas[0][o] * deltas[0][o];
    }
    EXPECT_NEAR(both.vector.norm(), std::sqrt(squares), 1e-9);
    both.vector.clear();
    EXPECT_EQ(both.vector.norm(), 0);
}

}  // namespace record_vector_test
}  // namespace holdfast
