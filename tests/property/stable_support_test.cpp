// Which columns a lasso keeps: retrained on neighbours, random, made to hurt and all of small sets, the
// distance of that choice moves by one and its release tells no two apart beyond its price
// (models/privacy/mathematics.md, stable support).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "kernels/base/error.hpp"
#include "models/convex/convex_bounds.hpp"
#include "models/convex/radius.hpp"
#include "models/convex/stable_support.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "tests/support/convex_runs.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast::stable_support_test {
namespace {

using test::ConvexRuns;
using Parameters = std::vector<std::int64_t>;
using Groups = std::vector<std::size_t>;

struct Person {
    std::uint64_t id;
    std::vector<std::vector<double>> rows;
    std::vector<std::int32_t> labels;  ///< of each row
};
using Persons = std::vector<Person>;

Records records_of(const Persons& persons, std::size_t columns, std::int64_t rows_at_most = 1) {
    Records records = test::no_records(columns);
    for (const Person& person : persons)
        for (std::size_t r = 0; r < person.rows.size(); ++r)
            test::append(records, person.id, person.rows[r], person.labels[r]);
    if (rows_at_most > 1) weigh_persons(records, static_cast<std::uint64_t>(rows_at_most), "test");
    return records;
}

/// A training, and what its columns are worth on any dataset.
class Lasso {
  public:
    Lasso(const Settings& settings, std::size_t columns)
        : runs(settings, columns), support(settings, runs.plan.features) {}

    Parameters stepped(const Records& records) const {
        return support.stepped(records, runs.trained(records));
    }
    ConvexRuns runs;
    StableSupport support;
};

/// By its definition: the greatest t at which, after t changes, no group could have crossed the threshold.
Support plain_support(const Lasso& lasso, const Parameters& stepped, const Groups& groups,
                      std::size_t count) {
    const std::size_t inputs = groups.size();
    Support found{std::vector<bool>(count, false), 0};
    const std::int64_t threshold = lasso.support.threshold(), moved = lasso.support.moved();
    for (std::size_t p = 0; p < stepped.size(); ++p) {
        const std::size_t input = p % (inputs + 1);
        if (input < inputs && groups[input] != StableSupport::no_group && std::abs(stepped[p]) > threshold)
            found.used[groups[input]] = true;
    }
    for (std::int64_t t = 1; t <= lasso.support.cap(); ++t) {
        for (std::size_t g = 0; g < count; ++g) {
            bool stays_used = false, stays_unused = t * moved <= threshold;
            for (std::size_t p = 0; p < stepped.size(); ++p) {
                const std::size_t input = p % (inputs + 1);
                if (input == inputs || groups[input] != g) continue;
                stays_used = stays_used || std::abs(stepped[p]) - t * moved > threshold;
                stays_unused = stays_unused && std::abs(stepped[p]) + t * moved <= threshold;
            }
            if (found.used[g] ? !stays_used : !stays_unused) return found;
        }
        found.distance = t;
    }
    return found;
}

/// A problem drawn from a seed.
class Problem {
  public:
    explicit Problem(std::uint64_t seed) : engine_(seed), columns_(1 + draw(5)), settings_(settings()) {
        const std::size_t count = draw(3) == 0 ? draw(200) : draw(20);
        const bool alike = draw(2) == 0;
        for (std::size_t i = 0; i < count; ++i) {
            persons_.push_back(person());
            if (!alike || i == 0) continue;
            persons_.back().rows = persons_.front().rows;
            persons_.back().labels = persons_.front().labels;
        }
        count_ = 1 + draw(columns_);
        for (std::size_t j = 0; j < columns_; ++j)
            groups_.push_back(draw(8) == 0 ? StableSupport::no_group : draw(count_));
    }

    Lasso lasso() const { return {settings_, columns_}; }
    Records records(const Persons& persons) const {
        return records_of(persons, columns_, settings_.training.rows_at_most);
    }
    const Persons& persons() const { return persons_; }
    const Groups& groups() const { return groups_; }
    std::size_t count() const { return count_; }

    /// One person more, gone, or replaced.
    Persons neighbour() {
        Persons changed = persons_;
        const bool more = persons_.empty() || draw(2) == 0;
        const std::size_t which = persons_.empty() ? 0 : draw(persons_.size());
        if (settings_.certificate.relation == Relation::substitute) {
            if (persons_.empty()) return changed;
            changed[which] = person();
            changed[which].id = persons_[which].id;
        } else if (more) {
            changed.push_back(person());
        } else {
            changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(which));
        }
        return changed;
    }

  private:
    std::size_t draw(std::size_t below) { return engine_() % below; }
    double real(double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(engine_);
    }
    /// At an end of the range, along an axis, or anywhere.
    std::vector<double> row() {
        std::vector<double> values;
        const std::size_t kind = draw(4), axis = draw(columns_);
        for (std::size_t j = 0; j < columns_; ++j) {
            const double end = draw(2) == 0 ? -1 : 1;
            values.push_back(kind == 0   ? end
                             : kind == 1 ? (j == axis ? end : 0)
                             : kind == 2 ? end * 1e300
                                         : real(-1, 1));
        }
        return values;
    }
    Person person() {
        Person person{engine_(), {}, {}};
        const std::size_t rows = 1 + draw(static_cast<std::size_t>(settings_.training.most_rows()));
        for (std::size_t r = 0; r < rows; ++r) {
            person.rows.push_back(row());
            person.labels.push_back(
                static_cast<std::int32_t>(draw(static_cast<std::size_t>(settings_.network.classes))));
        }
        return person;
    }
    Settings settings() {
        const char* losses[] = {"binary_cross_entropy", "huber", "cross_entropy", "one_vs_rest"};
        const std::size_t loss = draw(4);
        Settings chosen =
            test::convex_settings(loss < 2 ? 2 : static_cast<std::int64_t>(2 + draw(2)), losses[loss]);
        chosen.training.epochs = static_cast<std::int64_t>(1 + draw(12));
        chosen.training.batches = static_cast<std::int64_t>(1 + draw(2));
        chosen.training.expected_records = static_cast<std::int64_t>(2 + draw(100));
        chosen.training.seed = static_cast<std::int64_t>(draw(1000));
        chosen.training.l2 = draw(3) == 0 ? 0 : real(0, 0.5);
        if (draw(3) == 0) chosen.training.rows_at_most = 3;
        if (draw(3) == 0) chosen.convex.box = real(0.01, 1);
        if (draw(3) == 0) chosen.convex.average = real(0, 1);
        if (draw(2) == 0) chosen.convex.most_records = static_cast<std::int64_t>(1 + draw(100));
        if (loss != 2 && draw(2) == 0) chosen.convex.derivative_limit = real(0.01, 1);
        chosen.convex.l1 = std::pow(10, real(-4, -0.5)) * chosen.convex.derivative_limit;
        chosen.certificate.relation = draw(2) == 0 ? Relation::add_remove : Relation::substitute;
        const ConvexBounds bounds(chosen, ConvexRuns(chosen, columns_).plan.features);
        chosen.training.learning_rate = bounds.largest_learning_rate() * (draw(2) == 0 ? 1 : real(0.01, 1));
        return chosen;
    }

    std::mt19937_64 engine_;
    std::size_t columns_;
    Settings settings_;
    Persons persons_;
    Groups groups_;
    std::size_t count_ = 1;
};

TEST(StableSupport, NeighboursMoveItsDistanceByOneAndKeepItsColumns) {
    double reached = 0;
    int equal = 0, different = 0, farther = 0;
    for (std::uint64_t seed = 1; seed <= 2500; ++seed) {
        Problem problem(seed);
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Lasso lasso = problem.lasso();
        const Parameters nominal = lasso.stepped(problem.records(problem.persons()));
        const Support here = lasso.support.of(nominal, problem.groups(), problem.count());
        for (int neighbour = 0; neighbour < 4; ++neighbour) {
            const Parameters other = lasso.stepped(problem.records(problem.neighbour()));
            for (std::size_t p = 0; p < nominal.size(); ++p) {
                const std::int64_t apart = std::abs(nominal[p] - other[p]);
                EXPECT_LE(apart, lasso.support.moved());
                reached = std::max(reached,
                                   static_cast<double>(apart) / static_cast<double>(lasso.support.moved()));
            }
            const Support there = lasso.support.of(other, problem.groups(), problem.count());
            EXPECT_LE(std::abs(here.distance - there.distance), 1);
            if (here.distance + there.distance >= 1) {
                EXPECT_EQ(here.used, there.used);
                ++equal;
            }
            different += here.used == there.used ? 0 : 1;
            farther += here.distance > 2 ? 1 : 0;
        }
        if (HasFailure()) return;
    }
    EXPECT_GT(reached, 0.6);
    EXPECT_GT(equal, 1000);
    EXPECT_GT(farther, 300);
    EXPECT_GT(different, 30);  // and what is told without a test tells of one person
}

/// A chain of neighbours cannot leave the support sooner than it says: as many of the worst persons as it
/// names.
TEST(StableSupport, StandsAsManyOfTheWorstPersonsAsItSays) {
    int stood = 0;
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        Problem problem(seed);
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Lasso lasso = problem.lasso();
        const Support here = lasso.support.of(lasso.stepped(problem.records(problem.persons())),
                                              problem.groups(), problem.count());
        if (here.distance < 1 || here.distance > 40) continue;
        // The same person over and over.
        const Persons worst = problem.neighbour();
        if (worst.size() <= problem.persons().size()) continue;
        Persons changed = problem.persons();
        for (std::int64_t k = 0; k < here.distance; ++k) {
            changed.push_back(worst.back());
            changed.back().id += static_cast<std::uint64_t>(k);
        }
        const Support there =
            lasso.support.of(lasso.stepped(problem.records(changed)), problem.groups(), problem.count());
        EXPECT_EQ(here.used, there.used);
        ++stood;
    }
    EXPECT_GT(stood, 60);
}

TEST(StableSupport, IsThatOfItsDefinition) {
    std::mt19937_64 engine(3);
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        Problem problem(seed);
        const Lasso lasso = problem.lasso();
        Parameters stepped = lasso.stepped(problem.records(problem.persons()));
        const std::int64_t moved = lasso.support.moved(), threshold = lasso.support.threshold();
        // At and beside the places where something changes.
        if (seed % 2 == 0) {
            for (std::int64_t& value : stepped)
                value = (engine() % 2 == 0 ? 1 : -1) *
                        (threshold +
                         (static_cast<std::int64_t>(engine() % 9) - 4) * (moved % (std::int64_t{1} << 56)) +
                         static_cast<std::int64_t>(engine() % 3) - 1);
        }
        const Support expected = plain_support(lasso, stepped, problem.groups(), problem.count());
        if (expected.distance > 2000) continue;
        const Support found = lasso.support.of(stepped, problem.groups(), problem.count());
        ASSERT_EQ(found.used, expected.used) << seed;
        ASSERT_EQ(found.distance, expected.distance) << seed;
    }
}

/// In plain loops and long double: one step of all records from the run's result, without the threshold.
TEST(StableSupport, ItsStepIsThatOfTheLemmaUpToItsRounding) {
    Settings settings = test::convex_settings(2, "binary_cross_entropy");
    settings.training.epochs = 30;
    settings.training.batches = 2;
    settings.training.expected_records = 60;
    settings.training.l2 = 0.02;
    settings.training.learning_rate = 0.5;
    settings.convex.l1 = 0.01;
    std::mt19937_64 engine(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    Records records = test::no_records(4);
    for (std::uint64_t id = 0; id < 60; ++id) {
        std::vector<double> row;
        for (int j = 0; j < 4; ++j) row.push_back(uniform(engine));
        test::append(records, id, row, row[0] + row[1] > 0 ? 1 : 0);
    }
    const Lasso lasso(settings, 4);
    const Parameters parameters = lasso.runs.trained(records),
                     stepped = lasso.support.stepped(records, parameters);
    // M of both batches together, B of all records; the longest step.
    const long double most = 2 * 8 * 30, normaliser = 60, norm = std::sqrt(5.0L), lambda = 0.02L;
    const long double pull = (most + 1) * (most + 1) / (4 * most) / 4 * norm * norm / normaliser,
                      rate = 2 / (2 * lambda + pull), factor = (most + 1 - 60) / most;
    EXPECT_NEAR(static_cast<double>(std::ldexp(static_cast<long double>(lasso.support.threshold()), -50)),
                static_cast<double>(rate * 0.01L), 1e-6);
    std::vector<long double> theta, gradient(5, 0);
    for (const std::int64_t value : parameters)
        theta.push_back(std::ldexp(static_cast<long double>(value), -50));
    for (std::size_t r = 0; r < records.size(); ++r) {
        long double logit = theta[4];
        for (std::size_t j = 0; j < 4; ++j)
            logit += theta[j] * static_cast<long double>(records.features.at(r, j));
        const long double psi = 1 / (1 + std::exp(-logit)) - static_cast<long double>(records.labels[r]);
        for (std::size_t j = 0; j < 4; ++j)
            gradient[j] += psi * static_cast<long double>(records.features.at(r, j));
        gradient[4] += psi;
    }
    for (std::size_t j = 0; j < 5; ++j) {
        const long double exact = (1 - rate * lambda) * theta[j] - rate / normaliser * factor * gradient[j];
        EXPECT_NEAR(static_cast<double>(std::ldexp(static_cast<long double>(stepped[j]), -50)),
                    static_cast<double>(exact), 1e-5);
    }
    // (1 - d) rho + v a + 2 eta, hardly more than without roundings.
    const long double moved =
        (1 - rate * lambda) *
            static_cast<long double>(
                Rational(convex_radius(settings, lasso.runs.plan.features, Relation::add_remove).all /
                         Rational(power_of_two(50)))
                    .get_d()) +
        rate * norm / normaliser;
    EXPECT_NEAR(static_cast<double>(std::ldexp(static_cast<long double>(lasso.support.moved()), -50) / moved),
                1, 1e-4);
    EXPECT_GT(std::ldexp(static_cast<long double>(lasso.support.moved()), -50), moved * (1 - 1e-5L));
}

// All small sets -------------------------------------------------------------------------------------------

/// Every set of persons 1 to 4, each absent or one of a catalogue, in the order of a number in that base.
struct SmallSets {
    std::vector<Person> catalogue;
    std::size_t columns;
    std::int64_t rows_at_most;

    std::size_t choices() const { return catalogue.size() + 1; }
    std::size_t size() const { return choices() * choices() * choices() * choices(); }
    Persons at(std::size_t number) const {
        Persons persons;
        for (std::uint64_t id = 1; id <= 4; ++id, number /= choices()) {
            if (number % choices() == 0) continue;
            persons.push_back(catalogue[number % choices() - 1]);
            persons.back().id = id;
        }
        return persons;
    }
    /// Those with one person more, less or other, as the relation has it.
    std::vector<std::size_t> neighbours(std::size_t number, Relation relation) const {
        std::vector<std::size_t> all;
        for (std::size_t place = 1; place < size(); place *= choices()) {
            const std::size_t own = number / place % choices();
            for (std::size_t other = 0; other < choices(); ++other) {
                const bool both = own > 0 && other > 0;
                if (other != own && both == (relation == Relation::substitute))
                    all.push_back(number - own * place + other * place);
            }
        }
        return all;
    }
};

SmallSets sets_of(std::int64_t rows_at_most) {
    SmallSets sets{{}, 2, rows_at_most};
    for (const std::vector<double>& row : {std::vector<double>{1, 0.25}, {1, -1}}) {
        for (const std::int32_t label : {0, 1}) {
            Person person{0, {row}, {label}};
            if (rows_at_most > 1 && label == 1) {
                person.rows.push_back({0, -1});
                person.labels.push_back(0);
            }
            sets.catalogue.push_back(person);
        }
    }
    return sets;
}

/// What two laws over supports and a refusal leave of delta at this epsilon.
Rational delta_between(const Support& one, const Support& other, const Mechanism& test,
                       const StableSupport& support, const Rational& growth) {
    const auto released = [&](const Support& of) { return test.exact_law(support.evidence(of)).front(); };
    const auto over = [&](const Rational& p, const Rational& q) {
        return std::max(Rational(0), Rational(p - growth * q));
    };
    const Rational p = released(one), q = released(other);
    const Rational refusal = over(1 - p, 1 - q);
    return refusal + (one.used == other.used ? over(p, q) : p);
}

TEST(StableSupport, OfEverySmallSetItsReleaseCostsNoMoreThanItsPrice) {
    int told = 0, kept = 0;
    for (const std::int64_t rows : {1, 2}) {
        for (const Relation relation : {Relation::add_remove, Relation::substitute}) {
            for (const double l1 : {0.02, 0.1, 0.2}) {
                Settings settings = test::convex_settings(2, "binary_cross_entropy");
                settings.training.epochs = 3;
                settings.training.batches = 1;
                settings.training.expected_records = 3;
                settings.training.rows_at_most = rows > 1 ? rows : 0;
                settings.training.l2 = 0.3;
                settings.convex.l1 = l1;
                settings.convex.derivative_limit = 0.3;
                settings.certificate.relation = relation;
                const SmallSets sets = sets_of(rows);
                settings.training.learning_rate =
                    ConvexBounds(settings, ConvexRuns(settings, 2).plan.features).largest_learning_rate();
                const Lasso lasso(settings, 2);
                std::vector<Support> supports;
                for (std::size_t number = 0; number < sets.size(); ++number)
                    supports.push_back(lasso.support.of(lasso.stepped(records_of(sets.at(number), 2, rows)),
                                                        Groups{0, 1}, 2));
                const double epsilon = 1.5, delta = 0.1;
                const Mechanism test = lasso.support.test(epsilon, delta);
                const Rational growth = exp_upper(decimal_value(epsilon, ""));
                for (std::size_t number = 0; number < sets.size(); ++number) {
                    for (const std::size_t other : sets.neighbours(number, relation)) {
                        const Support &here = supports[number], &there = supports[other];
                        ASSERT_LE(std::abs(here.distance - there.distance), 1);
                        if (here.distance >= 1) {
                            ASSERT_EQ(here.used, there.used);
                        }
                        ASSERT_LE(delta_between(here, there, test, lasso.support, growth),
                                  decimal_value(delta, ""));
                        told += here.used == there.used ? 0 : 1;
                        kept += here.distance >= 1 ? 1 : 0;
                    }
                }
            }
        }
    }
    EXPECT_GT(told, 100);
    EXPECT_GT(kept, 60);
}

TEST(StableSupport, IsReleasedAsOftenAsItsLawSays) {
    Settings settings = test::convex_settings();
    settings.convex.l1 = 0.1;
    settings.training.learning_rate = 0.01;
    const Lasso lasso(settings, 1);
    const Mechanism test = lasso.support.test(1, 1e-2);
    test::SeededBits bits(11);
    for (const std::int64_t distance : {0, 2, 4, 6, 12}) {
        const Evidence evidence = lasso.support.evidence({{true}, distance});
        const double expected = 1 - test.law(evidence).back();
        constexpr int draws = 20000;
        int passed = 0;
        for (int i = 0; i < draws; ++i) passed += test.draw(evidence, bits) != refused ? 1 : 0;
        EXPECT_NEAR(passed, draws * expected, 4.5 * std::sqrt(draws * expected * (1 - expected)) + 1)
            << distance;
        // P(h + Lap(1) > ln 50)
        const double beyond = std::log(50.0) - static_cast<double>(distance);
        EXPECT_NEAR(expected, beyond > 0 ? std::exp(-beyond) / 2 : 1 - std::exp(beyond) / 2, 1e-9);
    }
}

TEST(StableSupport, RefusesWhatHasNoSupport) {
    Settings settings = test::convex_settings();
    settings.training.learning_rate = 0.01;
    EXPECT_THROW(Lasso(settings, 2), Error);
    settings.convex.l1 = 0.1;
    settings.ensemble.members = 2;
    EXPECT_THROW(Lasso(settings, 2), Error);
    const InputTransform input = ConvexRuns(test::convex_settings(), 2).plan.features.input();
    const FeatureBins bins{{{0.0}, {-0.5, 0.5}}};
    EXPECT_EQ(columns_of_inputs(FeatureMap(2, input)), (Groups{0, 1}));
    EXPECT_EQ(columns_of_inputs(FeatureMap(2, input, bins)), (Groups{0, 1, 0, 0, 1, 1, 1}));
    EXPECT_EQ(columns_of_inputs(FeatureMap(2, input, bins, false)), (Groups{0, 0, 1, 1, 1}));
    FeatureBins pairs = bins;
    pairs.pairs = {{0, 1}};
    EXPECT_THROW(columns_of_inputs(FeatureMap(2, input, pairs)), Error);
}

}  // namespace
}  // namespace holdfast::stable_support_test
