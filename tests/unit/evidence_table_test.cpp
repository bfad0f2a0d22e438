#include "models/privacy/evidence_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "kernels/base/random.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"

namespace holdfast {
namespace {

/// Any evidence of three classes, from few possibilities, so that some of it repeats.
Evidence some_evidence(const KeyedHash& hash, std::uint64_t i) {
    Evidence evidence;
    evidence.classes = 3;
    evidence.label = static_cast<int>(hash(1, i) % 3);
    evidence.distance = static_cast<std::int64_t>(hash(2, i) % 2);
    evidence.sparse_distance = evidence.distance * 7;
    evidence.class_distances.assign(3, evidence.distance + static_cast<std::int64_t>(hash(3, i) % 2));
    evidence.class_distances[static_cast<std::size_t>(evidence.label)] = 0;
    evidence.votes = {static_cast<std::int64_t>(hash(4, i) % 2), 1, 2};
    return evidence;
}

bool same(const Evidence& a, const Evidence& b) {
    return a.label == b.label && a.distance == b.distance && a.sparse_distance == b.sparse_distance &&
           a.class_distances == b.class_distances && a.votes == b.votes;
}

std::vector<std::int32_t> some_labels(const KeyedHash& hash) {
    std::vector<std::int32_t> labels;
    for (std::uint64_t q = 0; q < 200; ++q) labels.push_back(static_cast<std::int32_t>(hash(9, q) % 3));
    return labels;
}

struct EvidenceTables : testing::Test {
    EvidenceTables() {
        for (std::uint64_t m = 0; m < models; ++m) {
            evidence.emplace_back();
            for (std::uint64_t q = 0; q < queries; ++q)
                evidence[m].push_back(some_evidence(hash, m * 1000 + q));
        }
        for (const auto& model : evidence) table.add_model(model);
    }
    static constexpr std::uint64_t models = 4, queries = 200;
    KeyedHash hash{5};
    std::vector<std::vector<Evidence>> evidence;
    std::vector<std::int32_t> truth = some_labels(hash);
    EvidenceTable table{3, truth};
};

TEST_F(EvidenceTables, HoldEachDistinctEvidenceOnce) {
    const std::vector<Evidence>& distinct = table.distinct();
    for (std::size_t i = 0; i < distinct.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(same(distinct[i], distinct[j]));
    }
    EXPECT_GT(distinct.size(), 12U);
    EXPECT_LT(distinct.size(), 3U * 2 * 2 * 2 + 1);
}

TEST_F(EvidenceTables, MeansAndEvidenceAreThoseOfTheQueriesOneByOne) {
    // A law that tells every evidence and every class apart.
    const auto law = [](const Evidence& of) {
        std::vector<double> p(3);
        for (std::size_t c = 0; c < 3; ++c)
            p[c] = 0.01 * of.label + 0.1 * static_cast<double>(of.distance) +
                   0.3 * static_cast<double>(of.votes[0]) + static_cast<double>(of.class_distances[c]) +
                   0.007 * static_cast<double>(c);
        return p;
    };
    std::vector<std::vector<double>> laws;
    for (const Evidence& distinct : table.distinct()) laws.push_back(law(distinct));

    double expected = 0;
    for (const auto& model : evidence) {
        double sum = 0;
        for (std::size_t q = 0; q < queries; ++q) sum += law(model[q])[static_cast<std::size_t>(truth[q])];
        expected += sum / queries;
    }
    EXPECT_EQ(table.mean(laws), expected / models);  // the same sums in the same order
    for (std::size_t m = 0; m < models; ++m) {
        for (std::size_t q = 0; q < queries; ++q) {
            EXPECT_TRUE(same(table.of(m, q), evidence[m][q]));
            EXPECT_EQ(table.truth(q), truth[q]);
        }
    }
}

TEST(EvidenceTable, WithoutQueriesHasNothing) {
    const std::vector<std::int32_t> truth;
    EvidenceTable table(2, truth);
    table.add_model(std::vector<Evidence>());
    EXPECT_TRUE(table.distinct().empty());
}

TEST_F(EvidenceTables, LawsMadeForTheFarthestDistanceAreThoseOfAnyCap) {
    std::int64_t farthest = 0;
    for (const Evidence& each : table.distinct()) {
        farthest = std::max(farthest, each.distance);
        for (const std::int64_t distance : each.class_distances) farthest = std::max(farthest, distance - 1);
    }
    EXPECT_EQ(table.farthest(), farthest);
    for (const char* name : {"stable_rr", "stable_gauss", "class_exponential", "permute_and_flip", "ptr"}) {
        const double delta = mechanism_info(name).needs_delta || mechanism_info(name).gaussian ? 1e-6 : 0;
        const Mechanism shortest(name, {0.4, delta, 3, table.farthest()}),
            longest(name, {0.4, delta, 3, 50000});
        for (const Evidence& each : table.distinct())
            EXPECT_EQ(shortest.law(each), longest.law(each)) << name;
    }
}

}  // namespace
}  // namespace holdfast
