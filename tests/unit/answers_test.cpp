#include "models/certify/answers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/backends.hpp"
#include "kernels/base/random.hpp"
#include "models/certify/stable_distance.hpp"

namespace holdfast {
namespace {

constexpr std::size_t features = 3;

Records queries(std::size_t count, std::uint64_t seed) {
    Records records{FeatureMatrix(features, true), {}, {}, {}};
    const KeyedHash hash{seed};
    for (std::size_t i = 0; i < count; ++i) {
        double row[features];
        for (std::size_t j = 0; j < features; ++j) row[j] = 4 * hash.uniform(j, i) - 2;
        records.features.append(row);
        records.ids.push_back(i);
        records.rows.push_back(i);
    }
    return records;
}

struct Case {
    std::vector<std::size_t> hidden;
    std::size_t classes;
    Loss loss;
    Precision precision;
    Network network() const { return Network(features, hidden, classes, loss, {0.25, 0.5, {-1.5, 1.75}}); }
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all = [] {
        std::vector<Case> made;
        for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
            for (const std::vector<std::size_t>& hidden : {std::vector<std::size_t>{}, {7}, {5, 4}}) {
                made.push_back({hidden, 2, Loss::binary_cross_entropy, precision});
                made.push_back({hidden, 2, Loss::cross_entropy, precision});
                made.push_back({hidden, 4, Loss::cross_entropy, precision});
                made.push_back({hidden, 3, Loss::one_vs_rest, precision});
                made.push_back({hidden, 2, Loss::huber, precision});
            }
        }
        return made;
    }();
    return all;
}

std::vector<std::int32_t> nominal(const Network& network, const Backend& backend,
                                  const std::vector<std::int64_t>& parameters, const Records& records) {
    const LevelLoader load = [&](std::size_t, auto& lower, auto& upper) { lower = upper = parameters; };
    return certify(network, backend, records, 1, load, LevelSearch::bisection).labels;
}

/// Biases pull all records to one class.
std::vector<std::int64_t> without_biases(const Network& network) {
    std::vector<std::int64_t> parameters = network.initial_parameters(3, 0);
    const std::vector<bool> biases = network.biases();
    for (std::size_t p = 0; p < parameters.size(); ++p) parameters[p] = biases[p] ? 0 : parameters[p];
    return parameters;
}

/// Makes the last layer's rows equal but for one unit, up or down, of a bias.
void bring_together(const Network& network, std::vector<std::int64_t>& parameters) {
    const LayerShape& last = network.layers().back();
    std::int64_t* rows = parameters.data() + network.offset(network.layers().size() - 1);
    for (std::size_t c = 1; c < last.out; ++c) {
        std::copy_n(rows, last.in + 1, rows + c * (last.in + 1));
        rows[(c + 1) * (last.in + 1) - 1] += c % 2 == 1 ? 1 : -1;
    }
}

TEST(Answers, AreTheLabelsThatCertificatesAreAbout) {
    const Records records = queries(150, 7);  // more than a panel
    int varied = 0;
    for (const Case& each : cases()) {
        const Network network = each.network();
        const auto backend = make_backend("cpu", each.precision);
        std::vector<std::int64_t> parameters = without_biases(network);
        const auto labels = answers_of(network, *backend, parameters, records).labels;
        EXPECT_EQ(labels, nominal(network, *backend, parameters, records));
        varied += std::count(labels.begin(), labels.end(), labels[0]) < 150 ? 1 : 0;
        bring_together(network, parameters);
        EXPECT_EQ(answers_of(network, *backend, parameters, records).labels,
                  nominal(network, *backend, parameters, records));
    }
    EXPECT_GT(varied, 8) << "the labels must differ";
}

TEST(Answers, AreThoseInFixedPrecisionHoweverLargeTheWeights) {
    const Records records = queries(150, 7);
    const auto backend = make_backend("cpu", Precision::fixed);
    for (const std::size_t classes : {2, 4}) {
        const Network network(features, {}, classes, Loss::cross_entropy, {0.25, 0.5, {-1.5, 1.75}});
        std::vector<std::int64_t> parameters = without_biases(network);
        for (std::int64_t& parameter : parameters) parameter *= 64;  // beyond half of what the grid holds
        EXPECT_EQ(answers_of(network, *backend, parameters, records).labels,
                  nominal(network, *backend, parameters, records));
    }
}

TEST(Answers, OfTwoLogitsThatRoundingMakesEqualTheMarginDecides) {
    const Network network(features, {}, 2, Loss::cross_entropy);
    std::vector<std::int64_t> parameters = network.initial_parameters(3, 0);
    for (std::int64_t& parameter : parameters) parameter *= 512;
    bring_together(network, parameters);
    const Answers answers = answers_of(network, *make_backend("cpu"), parameters, queries(150, 7));
    std::size_t equal = 0;
    for (std::size_t q = 0; q < 150; ++q) equal += answers.logits[2 * q] == answers.logits[2 * q + 1];
    EXPECT_GT(equal, 0U);
    EXPECT_EQ(std::count(answers.labels.begin(), answers.labels.end(), 1), 150);
}

TEST(Answers, LogitsAreWhatTheNetworkComputes) {
    const Records records = queries(70, 5);
    for (const Case& each : cases()) {
        const Network network = each.network();
        const std::vector<std::int64_t> parameters = network.initial_parameters(9, 0);
        const Answers answers =
            answers_of(network, *make_backend("cpu", each.precision), parameters, records);
        ASSERT_EQ(answers.logits.size(), 70 * network.outputs());
        const double tolerance = each.precision == Precision::double_precision ? 1e-14 : 1e-5;
        for (std::size_t q = 0; q < records.size(); ++q) {
            std::vector<double> values;
            for (std::size_t j = 0; j < features; ++j)
                values.push_back((std::clamp(records.features.at(q, j), -1.5, 1.75) - 0.25) * 0.5);
            const std::int64_t* parameter = parameters.data();
            for (const LayerShape& layer : network.layers()) {
                std::vector<double> next;
                const bool last = &layer == &network.layers().back();
                for (std::size_t row = 0; row < layer.out; ++row) {
                    double sum = 0;
                    for (std::size_t j = 0; j < layer.in; ++j)
                        sum += parameter_value(*parameter++) * values[j];
                    sum += parameter_value(*parameter++);
                    next.push_back(last ? sum : std::max(sum, 0.0));
                }
                values = next;
            }
            for (std::size_t c = 0; c < network.outputs(); ++c)
                EXPECT_NEAR(answers.logits[q * network.outputs() + c], values[c], tolerance);
        }
    }
}

TEST(Answers, DependOnNoBackendAndOnNoOtherQuery) {
    const Records records = queries(90, 5), fewer = queries(11, 5);
    for (const Case& each : cases()) {
        const Network network = each.network();
        const std::vector<std::int64_t> parameters = network.initial_parameters(9, 0);
        const Answers all = answers_of(network, *make_backend("cpu", each.precision), parameters, records),
                      plain = answers_of(network, *make_backend("reference", each.precision), parameters,
                                         records),
                      some = answers_of(network, *make_backend("cpu", each.precision), parameters, fewer);
        EXPECT_EQ(all.labels, plain.labels);
        EXPECT_EQ(all.logits, plain.logits);
        EXPECT_TRUE(std::equal(some.logits.begin(), some.logits.end(), all.logits.begin()));
        EXPECT_TRUE(std::equal(some.labels.begin(), some.labels.end(), all.labels.begin()));
    }
}

}  // namespace
}  // namespace holdfast
