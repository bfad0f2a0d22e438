// What the bound takes the program to compute is what the program computes, bit by bit: dense and
// convolutional networks, two classes and more, of one logit and of several, in either precision.

#include "models/idp/program_answer.hpp"

#include <gtest/gtest.h>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "models/certify/answers.hpp"
#include "models/nets/layers.hpp"

namespace holdfast {
namespace program_answer_test {

constexpr std::size_t features = 16, query_count = 40;

Records queries() {
    Records records{FeatureMatrix(features, true), {}, {}, {}};
    const KeyedHash hash{3};
    for (std::size_t i = 0; i < query_count; ++i) {
        double row[features];
        for (std::size_t j = 0; j < features; ++j) row[j] = hash.uniform(j, i);
        records.features.append(row);
        records.ids.push_back(i);
        records.rows.push_back(i);
    }
    return records;
}

std::vector<Network> networks() {
    const InputTransform transform{0.25, 0.5, {0, 1}};
    std::vector<Network> all;
    all.emplace_back(features, std::vector<std::size_t>{9, 6}, 2, Loss::binary_cross_entropy, transform);
    all.emplace_back(features, std::vector<std::size_t>{9, 6}, 2, Loss::cross_entropy, transform);
    all.emplace_back(features, std::vector<std::size_t>{7}, 4, Loss::cross_entropy, transform);
    for (const std::size_t classes : {2, 3}) {
        const std::vector<std::string> texts{"conv 4 2x2 padding 1", "conv 6 3x3 stride 2 groups 2",
                                             "dense 5"};
        std::vector<Layer> layers = layers_of(texts, Image{1, 4, 4}, features, true);
        const std::size_t in = layers.back().output_rows();
        Layer last;
        last.in = in;
        last.out = classes;
        layers.push_back(last);
        all.emplace_back(layers, classes, Loss::cross_entropy, transform);
    }
    return all;
}

TEST(ProgramAnswer, HasTheBitsOfTheProgram) {
    const Records records = queries();
    for (const Network& network : networks()) {
        for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
            for (std::uint64_t seed = 0; seed < 3; ++seed) {
                const std::vector<std::int64_t> units = network.initial_parameters(seed, 0);
                const Answers answers = answers_of(network, *make_backend("cpu", precision), units, records);
                const PlainNetwork plain = plain_network(network, precision, units);
                int seen_labels = 0;
                for (std::size_t q = 0; q < query_count; ++q) {
                    std::vector<double> seen;
                    for (std::size_t j = 0; j < features; ++j) {
                        const double x = records.features.at(q, j);
                        seen.push_back(precision == Precision::single_precision
                                           ? static_cast<double>(network.transform().apply<float>(x))
                                           : network.transform().apply<double>(x));
                    }
                    const ProgramAnswer answer = program_answer(plain, network.classes(), precision, seen);
                    EXPECT_EQ(static_cast<std::int32_t>(answer.label), answers.labels[q]);
                    seen_labels |= 1 << answer.label;
                    if (network.outputs() == 1) {
                        EXPECT_EQ(answer.confidence, std::abs(answers.logits[q]));
                    } else {
                        double greatest = -INFINITY;
                        const double* logits = &answers.logits[q * network.outputs()];
                        for (std::size_t c = 0; c < network.outputs(); ++c) {
                            if (c != answer.label) greatest = std::max(greatest, logits[c]);
                        }
                        const double tolerance = precision == Precision::single_precision ? 1e-5 : 1e-13;
                        EXPECT_NEAR(answer.confidence, logits[answer.label] - greatest, tolerance);
                    }
                }
                EXPECT_NE(seen_labels, 0);
            }
        }
    }
}

TEST(PlainNetworks, AreNotOfPoolingOrNumbers) {
    const std::vector<Layer> pooled = [] {
        std::vector<Layer> layers =
            layers_of({"conv 2 2x2", "max_pool 3x3", "dense 4"}, Image{1, 4, 4}, features, true);
        Layer last;
        last.in = layers.back().output_rows();
        last.out = 2;
        layers.push_back(last);
        return layers;
    }();
    EXPECT_THROW(require_plain(Network(pooled, 2, Loss::cross_entropy)), Error);
    EXPECT_THROW(require_plain(Network(features, {3}, 1, Loss::squared_error)), Error);
    for (const Network& network : networks()) EXPECT_NO_THROW(require_plain(network));
}

}  // namespace program_answer_test
}  // namespace holdfast
