// Answers of persons with several rows (models/mathematics.md, answers of a person): every small table of
// rows' certificates there is, against every one that a neighbouring dataset could give; and means in every
// network of small boxes.

#include "models/certify/person_answers.hpp"

#include <gtest/gtest.h>

#include <random>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace person_answers_test {

/// One row's certificate over levels 0 .. levels - 1.
struct Row {
    std::int32_t label;
    std::int64_t distance;
    std::vector<std::int64_t> class_distances;
};

/// Every certificate a row may have: the label is beaten nowhere, and certified only where all others are.
std::vector<Row> all_rows(std::size_t classes, std::int64_t levels) {
    std::vector<Row> rows;
    for (std::int32_t label = 0; label < static_cast<std::int32_t>(classes); ++label) {
        std::size_t tables = 1;
        for (std::size_t j = 1; j < classes; ++j) tables *= static_cast<std::size_t>(levels) + 1;
        for (std::size_t table = 0; table < tables; ++table) {
            Row row{label, levels - 1, std::vector<std::int64_t>(classes)};
            std::size_t left = table;
            for (std::size_t j = 0; j < classes; ++j) {
                if (j == static_cast<std::size_t>(label)) continue;
                row.class_distances[j] =
                    static_cast<std::int64_t>(left % (static_cast<std::size_t>(levels) + 1));
                left /= static_cast<std::size_t>(levels) + 1;
                row.distance = std::min(row.distance, std::max<std::int64_t>(0, row.class_distances[j] - 1));
            }
            for (; row.distance >= 0; --row.distance) rows.push_back(row);
        }
    }
    return rows;
}

bool one_apart(const Row& one, const Row& other) {
    if (std::abs(one.distance - other.distance) > 1) return false;
    if (one.label != other.label && (one.distance >= 1 || other.distance >= 1)) return false;
    for (std::size_t j = 0; j < one.class_distances.size(); ++j)
        if (std::abs(one.class_distances[j] - other.class_distances[j]) > 1) return false;
    return true;
}

Certificates of(const std::vector<const Row*>& rows) {
    Certificates table;
    for (const Row* row : rows) {
        table.labels.push_back(row->label);
        table.distances.push_back(row->distance);
        table.class_distances.insert(table.class_distances.end(), row->class_distances.begin(),
                                     row->class_distances.end());
    }
    return table;
}

/// Holds every table of `count` rows against every one that is one record apart; how many pairs there were.
std::int64_t hold_pairs(std::size_t classes, std::int64_t levels, std::size_t count) {
    const std::vector<Row> rows = all_rows(classes, levels);
    std::vector<std::vector<std::size_t>> near(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t j = 0; j < rows.size(); ++j)
            if (one_apart(rows[i], rows[j])) near[i].push_back(j);
    const std::vector<std::size_t> starts{0, count};
    const auto voted = [&](const std::vector<const Row*>& of_person) {
        return votes_of_persons(of(of_person), starts, classes, static_cast<std::size_t>(levels));
    };
    std::int64_t pairs = 0;
    std::vector<const Row*> ours(count), theirs(count);
    std::vector<std::size_t> mine(count);
    const auto neighbours = [&](auto&& self, std::size_t at, const Certificates& own) -> void {
        if (at < count) {
            for (const std::size_t j : near[mine[at]]) {
                theirs[at] = &rows[j];
                self(self, at + 1, own);
            }
            return;
        }
        const Certificates other = voted(theirs);
        ++pairs;
        ASSERT_LE(std::abs(own.distances[0] - other.distances[0]), 1);
        if (own.distances[0] >= 1) {
            ASSERT_EQ(own.labels[0], other.labels[0]);
        }
        for (std::size_t j = 0; j < classes; ++j)
            ASSERT_LE(std::abs(own.class_distances[j] - other.class_distances[j]), 1);
        ASSERT_EQ(own.class_distances[static_cast<std::size_t>(own.labels[0])], 0);
    };
    const auto tables = [&](auto&& self, std::size_t at, std::size_t from) -> void {
        if (at == count) {
            const Certificates own = voted(ours);
            neighbours(neighbours, 0, own);
            return;
        }
        for (std::size_t i = from; i < rows.size() && !testing::Test::HasFatalFailure(); ++i) {  // a bag
            mine[at] = i;
            ours[at] = &rows[i];
            self(self, at + 1, i);
        }
    };
    tables(tables, 0, 0);
    return pairs;
}

TEST(VotesOfPersons, MoveByOneWhereverARecordChanges) {
    for (std::size_t count = 1; count <= 4; ++count) EXPECT_GT(hold_pairs(2, 3, count), 10);
    for (std::size_t count = 1; count <= 2; ++count) EXPECT_GT(hold_pairs(3, 3, count), 500);
    EXPECT_GT(hold_pairs(3, 2, 3), 100000);
}

// What is false: the formula of an ensemble, in which a record moves one row of several. Here it moves all.
TEST(VotesOfPersons, AreNoEnsemblesVotes) {
    const Row near{0, 1, {0, 2}}, moved{0, 0, {0, 1}};
    const Certificates before =
                           votes_of_persons(of({&near, &near, &near}), std::vector<std::size_t>{0, 3}, 2, 4),
                       after = votes_of_persons(of({&moved, &moved, &moved}), std::vector<std::size_t>{0, 3},
                                                2, 4);
    EXPECT_EQ(before.distances[0], 1);  // an ensemble of three such members would stand two records
    EXPECT_EQ(after.distances[0], 0);
}

/// What plain loops say of a network's answer about a person by means.
std::int32_t label_of_mean(const Network& network, const std::vector<double>& logits) {
    std::vector<long double> sums(network.classes());
    const std::size_t width = network.outputs();
    for (std::size_t i = 0; i < logits.size(); ++i)
        sums[network.classes() - width + i % width] +=
            static_cast<long double>(std::nearbyint(logits[i] * 0x1p26));
    return static_cast<std::int32_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
}

TEST(MeansOfPersons, HoldInEveryNetworkOfTheirBoxes) {
    const auto backend = make_backend("cpu", Precision::double_precision, Product::exact);
    std::mt19937_64 engine(3);
    std::normal_distribution<double> normal;
    std::int64_t certified = 0, beyond = 0, beaten = 0;
    for (int problem = 0; problem < 60; ++problem) {
        const std::size_t classes = 2 + static_cast<std::size_t>(problem % 3);
        const Network network(
            3, problem % 2 == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{4}, classes,
            classes == 2 && problem % 4 < 2 ? Loss::binary_cross_entropy : Loss::cross_entropy);
        Records rows{FeatureMatrix(3, true), {}, {}, {}};
        std::vector<std::size_t> starts{0};
        for (std::size_t person = 0; person < 12; ++person) {
            for (std::size_t r = 0; r <= person % 4; ++r) {
                const double row[3] = {normal(engine), normal(engine), normal(engine)};
                rows.features.append(row);
                rows.ids.push_back(person);
                rows.rows.push_back(rows.rows.size());
            }
            starts.push_back(rows.size());
        }
        const auto center = network.initial_parameters(static_cast<std::uint64_t>(problem), 0);
        const auto box = [&](std::int64_t level, int side) {
            auto parameters = center;
            for (std::int64_t& units : parameters) units += side * level * (std::int64_t{1} << 44);
            return parameters;
        };
        const OutputBounder bounder(network, *backend, rows);
        MeansOfPersons means(network, starts);
        for (std::int64_t level = 0; level < 6; ++level)
            means.add_level(bounder.over(box(level, -1), box(level, 1)));
        const Answers own = answers_of_persons(AnswerUnit::mean, network,
                                               answers_of(network, *backend, center, rows), starts);
        ASSERT_EQ(own.labels, means.certificates().labels);
        for (int trial = 0; trial < 30; ++trial) {
            const std::int64_t level = 1 + trial % 5;
            auto parameters = center;
            for (std::size_t p = 0; p < parameters.size(); ++p)
                parameters[p] += (trial < 15 ? (engine() % 2 == 0 ? level : -level)
                                             : static_cast<std::int64_t>(engine() % 3) - 1) *
                                 (std::int64_t{1} << 44);
            const Answers each = answers_of(network, *backend, parameters, rows);
            const Answers theirs = answers_of_persons(AnswerUnit::mean, network, each, starts);
            for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
                const auto width = static_cast<std::ptrdiff_t>(network.outputs());
                ASSERT_EQ(
                    theirs.labels[i],
                    label_of_mean(
                        network, {each.logits.begin() + static_cast<std::ptrdiff_t>(starts[i]) * width,
                                  each.logits.begin() + static_cast<std::ptrdiff_t>(starts[i + 1]) * width}));
                const auto label = static_cast<std::size_t>(theirs.labels[i]);
                const bool holds = means.certificates().distances[i] >= level;
                ASSERT_TRUE(!holds || theirs.labels[i] == own.labels[i]);
                ASSERT_LE(means.certificates().class_distances[i * classes + label], level);
                certified += holds;
                beyond += !holds && theirs.labels[i] != own.labels[i];
                beaten += means.certificates().class_distances[i * classes + (label + 1) % classes] > level;
            }
        }
    }
    EXPECT_GT(certified, 1000);
    EXPECT_GT(beyond, 100);
    EXPECT_GT(beaten, 1000);
}

TEST(MeansOfPersons, HaveNoOrderAndAnEnd) {
    const Network network(1, std::vector<std::size_t>{}, 3, Loss::cross_entropy);
    Answers rows{{0, 1, 2, 1}, {1e300, -1e300, 0.1, 0.3, 0.7, -1e-9, 5, -5, 1e7, 0.1, 0.2, -0.3}};
    const std::vector<std::size_t> starts{0, 4};
    const Answers one = answers_of_persons(AnswerUnit::mean, network, rows, starts);
    std::vector<double> turned;
    for (std::size_t r = 4; r-- > 0;)
        turned.insert(turned.end(), rows.logits.begin() + static_cast<std::ptrdiff_t>(3 * r),
                      rows.logits.begin() + static_cast<std::ptrdiff_t>(3 * r + 3));
    rows.logits = turned;
    EXPECT_EQ(answers_of_persons(AnswerUnit::mean, network, rows, starts).logits, one.logits);
    EXPECT_EQ(answers_of_persons(AnswerUnit::vote, network, rows, starts).labels.front(), 1);
    EXPECT_EQ(answers_of_persons(AnswerUnit::vote, network, rows, starts).logits,
              (std::vector<double>{0.25, 0.5, 0.25}));
    const std::vector<std::size_t> many{0, most_rows_of_a_mean + 1};
    EXPECT_THROW(MeansOfPersons(network, many), Error);
}

}  // namespace person_answers_test
}  // namespace holdfast
