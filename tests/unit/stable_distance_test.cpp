#include "models/certify/stable_distance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "models/certify/linear_distances.hpp"
#include "models/certify/prediction_steps.hpp"

namespace holdfast {
namespace stable_distance_test {

constexpr std::size_t features = 2;

Records queries(std::size_t count, std::uint64_t seed) {
    Records records{FeatureMatrix(features, true), {}, {}, {}};
    const KeyedHash hash{seed};
    for (std::size_t i = 0; i < count; ++i) {
        const double row[features] = {2 * hash.uniform(1, i) - 1, 2 * hash.uniform(2, i) - 1};
        records.features.append(row);
        records.ids.push_back(i);
        records.rows.push_back(i);
    }
    return records;
}

/// Boxes centre +- k step around the initial parameters: nested, and loaded level by level as boxes.h5 is.
struct Boxes {
    Boxes(const Network& network, std::int64_t step_units, std::vector<std::int64_t> ks)
        : centre(network.initial_parameters(3, 0)), step(step_units), levels(std::move(ks)) {}
    LevelLoader loader() {
        return [this](std::size_t level, std::vector<std::int64_t>& lower, std::vector<std::int64_t>& upper) {
            ++loads;
            lower = upper = centre;
            for (std::size_t p = 0; p < centre.size(); ++p) {
                lower[p] -= levels[level] * step;
                upper[p] += levels[level] * step;
            }
        };
    }
    std::vector<std::int64_t> centre;
    std::int64_t step;
    std::vector<std::int64_t> levels;
    std::size_t loads = 0;
};

std::vector<std::int64_t> contiguous(std::int64_t most) {
    std::vector<std::int64_t> levels;
    for (std::int64_t k = 0; k <= most; ++k) levels.push_back(k);
    return levels;
}

Network network_of(std::size_t classes) {
    return Network(features, {5}, classes, classes == 2 ? Loss::binary_cross_entropy : Loss::cross_entropy);
}

/// Is every box up to `level` certifying, and which classes does each beat? One level alone, the plain way.
bool certified_at(const Network& network, const Backend& backend, const Records& records, Boxes& boxes,
                  std::size_t level, std::size_t query) {
    const LevelLoader load = [&](std::size_t asked, auto& lower, auto& upper) {
        boxes.loader()(asked == 0 ? 0 : level, lower, upper);
    };
    return certify(network, backend, records, 2, load, LevelSearch::ascending).distances[query] == 1;
}

class StableDistance : public ::testing::TestWithParam<std::size_t> {};

TEST_P(StableDistance, BisectionEqualsScanningAllLevels) {
    const Network network = network_of(GetParam());
    const auto backend = make_backend("cpu");
    const Records records = queries(150, 7);  // more than a panel
    for (const std::int64_t most : {0, 1, 2, 13, 40}) {
        Boxes boxes(network, std::int64_t{1} << 43, contiguous(most));
        const auto levels = static_cast<std::size_t>(most) + 1;
        const Certificates bisected =
            certify(network, *backend, records, levels, boxes.loader(), LevelSearch::bisection);
        const Certificates scanned =
            certify(network, *backend, records, levels, boxes.loader(), LevelSearch::ascending);
        EXPECT_EQ(bisected.labels, scanned.labels);
        EXPECT_EQ(bisected.distances, scanned.distances) << most;
        EXPECT_EQ(bisected.class_distances, scanned.class_distances) << most;
        const Certificates exhausted =
            certify(network, *backend, records, levels, boxes.loader(), LevelSearch::exhaustive);
        EXPECT_EQ(bisected.labels, exhausted.labels);
        EXPECT_EQ(bisected.distances, exhausted.distances) << most;
        EXPECT_EQ(bisected.class_distances, exhausted.class_distances) << most;
        const Certificates apart =
            certify(network, *backend, records, levels, boxes.loader(), LevelSearch::each_apart);
        EXPECT_EQ(bisected.labels, apart.labels);
        EXPECT_EQ(bisected.distances, apart.distances) << most;
        EXPECT_EQ(bisected.class_distances, apart.class_distances) << most;
        EXPECT_EQ(bisected.class_distances.size(), records.size() * GetParam());
        for (const std::int64_t distance : bisected.distances)
            EXPECT_TRUE(distance >= 0 && distance <= most) << distance;
    }
}

TEST_P(StableDistance, IsTheNumberOfLeadingLevelsThatCertify) {
    const Network network = network_of(GetParam());
    const auto backend = make_backend("reference");
    const Records records = queries(30, 9);
    Boxes boxes(network, std::int64_t{1} << 44, contiguous(8));
    const Certificates found = certify(network, *backend, records, 9, boxes.loader(), LevelSearch::bisection);
    std::vector<std::int64_t> distinct = found.distances;
    for (std::size_t q = 0; q < records.size(); ++q) {
        std::int64_t leading = 0;
        while (leading < 8 &&
               certified_at(network, *backend, records, boxes, static_cast<std::size_t>(leading) + 1, q))
            ++leading;
        EXPECT_EQ(found.distances[q], leading) << q;
    }
    std::sort(distinct.begin(), distinct.end());
    EXPECT_GT(std::unique(distinct.begin(), distinct.end()) - distinct.begin(), 2) << "the cases must differ";
}

TEST_P(StableDistance, SparseListsCountLevelsNotRecords) {
    const Network network = network_of(GetParam());
    const auto backend = make_backend("cpu");
    const Records records = queries(60, 11);
    Boxes every(network, std::int64_t{1} << 43, contiguous(40)),
        sparse(network, std::int64_t{1} << 43, {0, 1, 5, 20, 40});
    const Certificates all = certify(network, *backend, records, 41, every.loader(), LevelSearch::bisection);
    const Certificates some = certify(network, *backend, records, 5, sparse.loader(), LevelSearch::bisection);
    EXPECT_EQ(all.labels, some.labels);
    for (std::size_t q = 0; q < records.size(); ++q) {
        const auto held = std::count_if(sparse.levels.begin() + 1, sparse.levels.end(),
                                        [&](std::int64_t k) { return k <= all.distances[q]; });
        EXPECT_EQ(some.distances[q], held) << q;
    }
}

TEST_P(StableDistance, WhereNoLevelCertifiesItIsZero) {
    const Network network = network_of(GetParam());
    const auto backend = make_backend("cpu");
    const Records records = queries(20, 13);
    Boxes boxes(network, std::int64_t{1} << 55, contiguous(6));
    const Certificates found = certify(network, *backend, records, 7, boxes.loader(), LevelSearch::bisection);
    EXPECT_EQ(found.distances, std::vector<std::int64_t>(records.size(), 0));
    for (std::size_t q = 0; q < records.size(); ++q) {
        for (std::size_t j = 0; j < GetParam(); ++j) {
            // The nominal point alone beats the others; the label itself is never beaten.
            EXPECT_EQ(found.class_distances[q * GetParam() + j],
                      static_cast<std::int32_t>(j) == found.labels[q] ? 0 : 1);
        }
    }
}

TEST_P(StableDistance, OfBoxesThatArePointsIsTheCap) {
    const Network network = network_of(GetParam());
    const auto backend = make_backend("cpu");
    const Records records = queries(20, 17);
    Boxes boxes(network, 0, contiguous(6));
    const Certificates found = certify(network, *backend, records, 7, boxes.loader(), LevelSearch::bisection);
    EXPECT_EQ(found.distances, std::vector<std::int64_t>(records.size(), 6));
    for (std::size_t q = 0; q < records.size(); ++q) {
        for (std::size_t j = 0; j < GetParam(); ++j)
            EXPECT_EQ(found.class_distances[q * GetParam() + j],
                      static_cast<std::int32_t>(j) == found.labels[q] ? 0 : 7);
    }
}

INSTANTIATE_TEST_SUITE_P(Classes, StableDistance, ::testing::Values(2, 3, 5));

TEST(StableDistanceTies, AreNotCertifiedAtAnyLevelAndBeatNobody) {
    const auto backend = make_backend("cpu");
    const Records records = queries(5, 19);
    for (const std::size_t classes : {2U, 3U}) {
        const Network network(features, {}, classes, Loss::cross_entropy);
        const LevelLoader load = [&](std::size_t, auto& lower, auto& upper) {
            lower = upper = std::vector<std::int64_t>(network.parameters(), 0);
        };
        const Certificates found = certify(network, *backend, records, 4, load, LevelSearch::bisection);
        EXPECT_EQ(found.labels, std::vector<std::int32_t>(5, 0));
        EXPECT_EQ(found.distances, std::vector<std::int64_t>(5, 0));
        EXPECT_EQ(found.class_distances, std::vector<std::int64_t>(5 * classes, 0));
    }
}

// Boxes that do not nest, as midpoint-radius products may leave them: a level counts only if all below it
// hold.
TEST(StableDistanceSearch, NoLevelCountsAboveOneThatFails) {
    const auto backend = make_backend("cpu");
    for (const std::size_t classes : {2U, 3U}) {
        const Network network = network_of(classes);
        const LevelLoader load = [&](std::size_t level, auto& lower, auto& upper) {
            lower = upper = network.initial_parameters(3, 0);
            for (std::size_t p = 0; level == 1 && p < lower.size(); ++p) {
                lower[p] -= std::int64_t{1} << 55;
                upper[p] += std::int64_t{1} << 55;
            }
        };
        const Certificates found =
            certify(network, *backend, queries(5, 19), 5, load, LevelSearch::exhaustive);
        EXPECT_EQ(found.distances, std::vector<std::int64_t>(5, 0));
    }
}

TEST(StableDistanceSearch, BisectionLoadsFewLevels) {
    const Network network = network_of(2);
    const auto backend = make_backend("cpu");
    const Records records = queries(1, 23);
    Boxes boxes(network, std::int64_t{1} << 40, contiguous(1000));
    certify(network, *backend, records, 1001, boxes.loader(), LevelSearch::bisection);
    EXPECT_LE(boxes.loads, 12U);  // the point, then log2(1000)
}

// What a release does: the same boxes are loaded whatever the records have made of them.
TEST(StableDistanceSearch, ExhaustiveLoadsEveryLevelWhateverTheBoxes) {
    const auto backend = make_backend("cpu");
    for (const std::size_t classes : {2U, 3U}) {
        for (const int width : {0, 30, 40, 55}) {
            const Network network = network_of(classes);
            Boxes boxes(network, width == 0 ? 0 : std::int64_t{1} << width, contiguous(20));
            certify(network, *backend, queries(300, 5), 21, boxes.loader(), LevelSearch::exhaustive);
            EXPECT_EQ(boxes.loads, 21U) << "every level once";
        }
    }
}

TEST(StableDistanceSearch, EachApartLoadsAsManyLevelsWhateverTheBoxes) {
    const auto backend = make_backend("cpu");
    for (const std::size_t classes : {2U, 3U}) {
        for (const int width : {0, 30, 40, 49}) {
            const Network network = network_of(classes);
            Boxes boxes(network, width == 0 ? 0 : std::int64_t{1} << width, contiguous(2000));
            certify(network, *backend, queries(30, 5), 2001, boxes.loader(), LevelSearch::each_apart);
            const std::size_t searches = classes == 2 ? 1 : 1 + classes;
            EXPECT_EQ(boxes.loads, 1 + 30 * searches * 11) << "2^11 are more levels than there are";
        }
    }
}

// Of many classes a level is asked once for all that is open about a query, and not where the logits of one
// point say no: the same distances as by asking everything, in every precision, with and without hidden
// layers.
TEST(StableDistanceSearch, OfManyClassesIsThatOfEveryLevel) {
    const std::size_t levels = 14;
    for (const Precision precision :
         {Precision::double_precision, Precision::single_precision, Precision::fixed}) {
        for (const std::size_t hidden : {0U, 6U}) {
            const std::vector<std::size_t> layers(hidden == 0 ? 0 : 1, hidden);
            const Network network(features, layers, 23, Loss::cross_entropy);
            const auto backend = make_backend("cpu", precision);
            const Records records = queries(150, 41);
            bool labels = false, others = false;
            for (const int width : {38, 40, 42, 44, 46}) {
                // Widths of the classes' own: one that is not the label may beat others longest.
                const LevelLoader load = [&](std::size_t level, auto& lower, auto& upper) {
                    lower = upper = network.initial_parameters(3, 0);
                    for (std::size_t p = 0; p < lower.size(); ++p) {
                        const std::int64_t step = (std::int64_t{1} << width) * static_cast<int>(p % 5);
                        lower[p] -= step * static_cast<std::int64_t>(level);
                        upper[p] += step * static_cast<std::int64_t>(level);
                    }
                };
                const Certificates found =
                    certify(network, *backend, records, levels, load, LevelSearch::bisection);
                const Certificates every =
                    certify(network, *backend, records, levels, load, LevelSearch::exhaustive);
                EXPECT_EQ(found.labels, every.labels) << width;
                EXPECT_EQ(found.distances, every.distances) << width;
                EXPECT_EQ(found.class_distances, every.class_distances) << width;
                const auto between = [](std::int64_t d) { return d > 1 && d < 12; };
                labels = labels || std::any_of(every.distances.begin(), every.distances.end(), between);
                others = others ||
                         std::any_of(every.class_distances.begin(), every.class_distances.end(), between);
            }
            EXPECT_TRUE(labels && others) << "the cases must differ";
        }
    }
}

/// A backend that counts the rows of outputs that are asked of its engine.
class Counted final : public Backend {
  public:
    explicit Counted(std::size_t& rows) : rows_(rows), backend_(make_backend("cpu")) {}
    std::string name() const override { return backend_->name(); }
    Arithmetic arithmetic() const override { return backend_->arithmetic(); }
    std::unique_ptr<Engine> engine(const NetworkShape& network, const Clip& clip) const override {
        return std::make_unique<Asked>(backend_->engine(network, clip), rows_);
    }

  private:
    class Asked final : public Engine {
      public:
        Asked(std::unique_ptr<Engine> engine, std::size_t& rows) : engine_(std::move(engine)), rows_(rows) {}
        void set_records(std::span<const RecordSet> sets) override { engine_->set_records(sets); }
        void set_dropout(std::span<const std::vector<double>> factors) override {
            engine_->set_dropout(factors);
        }
        DeviceSpan run(std::span<const Variant> variants,
                       std::span<const std::span<const std::uint32_t>> indices) override {
            return engine_->run(variants, indices);
        }
        std::span<std::int64_t> finish() override { return engine_->finish(); }
        LeastEntries take_selection(std::size_t variant) override { return engine_->take_selection(variant); }
        void outputs(const Variant& box, const LastLayer& last, std::span<const std::uint32_t> indices,
                     const std::function<void(const OutputBlock&)>& visit) override {
            rows_ += last.rows * indices.size();
            engine_->outputs(box, last, indices, visit);
        }

      private:
        std::unique_ptr<Engine> engine_;
        std::size_t& rows_;
    };

    std::size_t& rows_;
    std::shared_ptr<const Backend> backend_;
};

TEST(StableDistanceSearch, OfManyClassesAsksForFewRows) {
    constexpr std::size_t classes = 60, most = 20, pairs = classes * (classes - 1) / 2;
    const Network network = network_of(classes);
    const Records records = queries(100, 43);
    for (const int width : {40, 44, 50}) {
        std::size_t rows = 0;
        Boxes boxes(network, std::int64_t{1} << width, contiguous(most));
        certify(network, Counted(rows), records, most + 1, boxes.loader(), LevelSearch::bisection);
        // No query is asked any level twice, whatever is asked about it.
        EXPECT_LE(rows, records.size() * (most + 1) * (pairs + 3 * classes)) << width;
        if (width == 50) {
            EXPECT_LE(rows, records.size() * 2 * (pairs + 7 * classes)) << "levels that certify nothing";
        }
    }
}

TEST(StableDistanceEmpty, NoQueriesHaveNoCertificates) {
    const Network network = network_of(3);
    const auto backend = make_backend("cpu");
    Boxes boxes(network, 1, contiguous(3));
    const Certificates found =
        certify(network, *backend, queries(0, 1), 4, boxes.loader(), LevelSearch::bisection);
    EXPECT_TRUE(found.labels.empty() && found.distances.empty() && found.class_distances.empty());
}

/// Members of a linear network: boxes of widths of their own, the last one's apart from each other and one
/// level in the middle as wide as can be.
struct LinearMembers {
    explicit LinearMembers(const Network& of) : network(of) {}
    void load(std::size_t member, std::size_t level, std::vector<std::int64_t>& lower,
              std::vector<std::int64_t>& upper) const {
        lower = upper = network.initial_parameters(3, member);
        const std::int64_t step = std::int64_t{1} << (40 + member % 10);
        for (std::size_t p = 0; p < lower.size(); ++p) {
            const std::int64_t width = member % 7 == 6 && level == 2
                                           ? std::int64_t{1} << 59
                                           : static_cast<std::int64_t>(level) * step;
            lower[p] -= width;
            upper[p] += width;
        }
    }
    const Network& network;
};

TEST(LinearDistances, AreThoseOfEachMemberAlone) {
    struct Case {
        std::size_t classes, members;
        Loss loss;
        const char* backend;
        Precision precision;
        Product product;
    };
    const auto real = Precision::double_precision, single = Precision::single_precision;
    const auto cross = Loss::cross_entropy, binary = Loss::binary_cross_entropy;
    for (const Case& of : {Case{2, 9, binary, "cpu", real, Product::exact},
                           {2, 9, cross, "cpu", real, Product::exact},
                           {2, 9, binary, "cpu", single, Product::exact},
                           {2, 5, binary, "reference", real, Product::exact},
                           {2, 9, binary, "auto", real, Product::rump},
                           {3, 150, cross, "cpu", real, Product::exact},
                           {5, 9, cross, "cpu", single, Product::exact},
                           {2, 1100, binary, "cpu", real, Product::exact}}) {
        const Network network(features, {}, of.classes, of.loss);
        const auto backend = make_backend(of.backend, of.precision, of.product);
        const Records records = queries(of.members > 100 ? 20 : 150, 31);
        const LinearMembers boxes(network);
        const std::size_t levels = 6;
        const auto load = [&](std::size_t m, std::size_t level, auto& lower, auto& upper) {
            boxes.load(m, level, lower, upper);
        };
        const std::vector<Certificates> together =
            certify_linear(network, *backend, records, of.members, levels, load);
        ASSERT_EQ(together.size(), of.members);
        std::size_t between = 0;
        for (std::size_t m = 0; m < of.members; ++m) {
            const LevelLoader own = [&](std::size_t level, auto& lower, auto& upper) {
                boxes.load(m, level, lower, upper);
            };
            for (const LevelSearch order : {LevelSearch::ascending, LevelSearch::exhaustive}) {
                const Certificates alone = certify(network, *backend, records, levels, own, order);
                EXPECT_EQ(together[m].labels, alone.labels) << m;
                EXPECT_EQ(together[m].distances, alone.distances) << m;
                EXPECT_EQ(together[m].class_distances, alone.class_distances) << m;
            }
            for (const std::int64_t distance : together[m].distances) between += distance > 0 && distance < 5;
        }
        EXPECT_GT(between, 10U) << "the cases must differ";
    }
}

TEST(LinearDistances, LoadEveryLevelOnceWhateverTheBoxes) {
    const Network network(features, {}, 2, Loss::binary_cross_entropy);
    const auto backend = make_backend("cpu");
    for (const int width : {0, 40, 55}) {
        Boxes boxes(network, width == 0 ? 0 : std::int64_t{1} << width, contiguous(7));
        const LevelLoader one = boxes.loader();
        certify_linear(
            network, *backend, queries(40, 5), 3, 8,
            [&](std::size_t, std::size_t level, auto& lower, auto& upper) { one(level, lower, upper); });
        EXPECT_EQ(boxes.loads, 3U * 8U);
    }
}

TEST(LinearDistances, OfNoLevelsButThePointAndOfNoQueries) {
    const Network network(features, {}, 2, Loss::binary_cross_entropy);
    const auto backend = make_backend("cpu");
    const LinearMembers boxes(network);
    const auto load = [&](std::size_t m, std::size_t level, auto& lower, auto& upper) {
        boxes.load(m, level, lower, upper);
    };
    for (const Certificates& member : certify_linear(network, *backend, queries(50, 2), 4, 1, load)) {
        EXPECT_EQ(member.distances, std::vector<std::int64_t>(50, 0));
        EXPECT_EQ(*std::max_element(member.class_distances.begin(), member.class_distances.end()), 1);
    }
    EXPECT_TRUE(certify_linear(network, *backend, queries(0, 2), 4, 3, load).front().labels.empty());
}

/// A prediction that may lie anywhere within [centre - k width, centre + k width] at level k.
PredictionSteps steps_about(const std::vector<double>& centres, double width, std::int64_t levels,
                            std::size_t count) {
    PredictionSteps steps({-1, 3}, count);
    for (std::int64_t k = 0; k <= levels; ++k) {
        OutputBounds bounds{centres, centres};
        for (double& end : bounds.lower) end -= static_cast<double>(k) * width;
        for (double& end : bounds.upper) end += static_cast<double>(k) * width;
        steps.add_level(bounds);
    }
    return steps;
}

TEST(PredictionSteps, AreAsFarAsTheFirstLevelThatReachesThem) {
    constexpr std::int64_t levels = 6;
    constexpr std::size_t count = 8;  // of 1/2 each
    std::vector<double> centres{-7, -1, 0.25, 0.5, 2.9, 3, 40};
    const PredictionSteps steps = steps_about(centres, 0.2, levels, count);
    const Certificates& found = steps.certificates();
    EXPECT_EQ(found.labels, (std::vector<std::int32_t>{0, 0, 2, 3, 7, 7, 7}));
    EXPECT_EQ(found.distances, (std::vector<std::int64_t>{6, 2, 1, 0, 2, 2, 6}));
    for (std::size_t q = 0; q < centres.size(); ++q) {
        for (std::size_t j = 0; j < count; ++j) {
            std::int64_t first = 0;
            const auto reached = [&](std::int64_t k) {
                const double reach = static_cast<double>(k) * 0.2;
                return steps.step_of(centres[q] - reach) <= j && j <= steps.step_of(centres[q] + reach);
            };
            while (first <= levels && !reached(first)) ++first;
            EXPECT_EQ(found.class_distances[q * count + j], first) << q << " " << j;
        }
    }
}

TEST(PredictionSteps, CountLeadingLevelsAlone) {
    PredictionSteps steps({0, 1}, 2);
    steps.add_level({{0.1}, {0.1}});
    steps.add_level({{0.1}, {0.9}});
    steps.add_level({{0.1}, {0.2}});  // as no nested box does
    EXPECT_EQ(steps.certificates().distances, (std::vector<std::int64_t>{0}));
    EXPECT_EQ(steps.certificates().class_distances, (std::vector<std::int64_t>{0, 1}));
}

TEST(PredictionSteps, NeverFallAndHoldTheirMiddles) {
    for (const std::size_t count : {std::size_t{2}, std::size_t{7}, PredictionSteps::most}) {
        const PredictionSteps steps({0.1, 0.7}, count);
        for (std::size_t j = 0; j < count; ++j) EXPECT_EQ(steps.step_of(steps.middle_of(j)), j);
        std::size_t last = 0;
        for (double x = -0.2; x < 1; x = std::nextafter(x, 2) + 1e-5) {
            EXPECT_GE(steps.step_of(x), last);
            last = steps.step_of(x);
        }
        EXPECT_EQ(last, count - 1);
        EXPECT_EQ(steps.step_of(-1e300), 0U);
        EXPECT_EQ(steps.step_of(1e300), count - 1);
    }
    EXPECT_THROW(PredictionSteps({0, 1}, 1), Error);
    EXPECT_THROW(PredictionSteps({0, 1}, PredictionSteps::most + 1), Error);
}

}  // namespace stable_distance_test
}  // namespace holdfast
