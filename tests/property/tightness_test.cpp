// Boxes beside the trainings on every neighbour of a catalogue: none leaves its box (models/mathematics.md,
// enclosure).

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/backends.hpp"
#include "kernels/base/random.hpp"
#include "models/boxes/trainer.hpp"

namespace holdfast {
namespace tightness_test {

/// A training of two features and four hidden units on a few records, every neighbour made of one catalogue
/// of candidates trained as well.
struct TightnessProblem {
    Relation relation = Relation::add_remove;
    ChargeRule charge_rule = ChargeRule::per_epoch;
    std::int64_t records, batches = 2, k = 1;
    std::vector<std::int64_t> hidden = {4}, layer_steps = {};
};

/// Of one layer after one step, mean widths over its parameters.
struct TightnessRow {
    double reached;  ///< by the trainings on all neighbours of the catalogue
    double box;      ///< of T^k
};

struct Tightness {
    std::int64_t trainings = 0;  ///< of neighbours
    bool held = true;            ///< none left its box
    std::vector<TightnessRow> rows;
};

constexpr std::size_t features = 2;
constexpr double range = 1.0;

struct Person {
    double x[features];
    std::int32_t label;
    std::uint64_t id;
};

/// Two clouds that overlap.
std::vector<Person> people_of(const TightnessProblem& problem) {
    const KeyedHash hash{1};
    std::vector<Person> people;
    for (std::uint64_t id = 0; id < static_cast<std::uint64_t>(problem.records); ++id) {
        Person person{{}, static_cast<std::int32_t>(id % 2), id};
        for (std::uint64_t j = 0; j < features; ++j)
            person.x[j] = std::clamp((id % 2 == 0 ? -0.4 : 0.4) + 0.3 * hash.normal(j, id), -range, range);
        people.push_back(person);
    }
    return people;
}

/// Corners of the range and its middle, of either label; ids that no record has, so that batches vary.
std::vector<Person> candidates() {
    std::vector<Person> all;
    std::uint64_t id = 1000;
    for (int copy = 0; copy < 2; ++copy) {
        for (const double x : {-range, range}) {
            for (const double y : {-range, range}) {
                for (const std::int32_t label : {0, 1}) all.push_back({{x, y}, label, id++});
            }
        }
        for (const std::int32_t label : {0, 1}) all.push_back({{0, 0}, label, id++});
    }
    return all;
}

Records records_of(const std::vector<Person>& people) {
    Records records{FeatureMatrix(features, true), {}, {}, {}};
    for (const Person& person : people) {
        records.features.append(person.x);
        records.labels.push_back(person.label);
        records.ids.push_back(person.id);
        records.rows.push_back(records.rows.size());
    }
    return records;
}

/// Calls visit with every dataset one change further on from `people`; changes touch what lies from `first`
/// on, so that no set of changes is made twice. Added people stay.
template <typename Visit>
void each_change(Relation relation, const std::vector<Person>& people, std::size_t first, Visit visit) {
    const std::vector<Person> pool = candidates();
    for (std::size_t i = first; i < people.size() && people[i].id < 1000; ++i) {
        std::vector<Person> changed = people;
        if (relation == Relation::substitute) {
            for (const Person& other : pool) {
                changed[i] = other;
                changed[i].id = people[i].id;
                visit(changed, i + 1);
            }
        } else {
            changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
            visit(changed, i);
        }
    }
    if (relation != Relation::add_remove) return;
    for (const Person& other : pool) {
        if (!people.empty() && people.back().id >= other.id) continue;  // in ascending order of ids
        std::vector<Person> changed = people;
        changed.push_back(other);
        visit(changed, changed.size());
    }
}

TrainingPlan plan_of(const TightnessProblem& problem, std::int64_t levels) {
    Settings settings;
    settings.network.hidden = problem.hidden;
    settings.training.layer_steps = problem.layer_steps;
    settings.training.epochs = 3;
    settings.training.batches = problem.batches;
    settings.training.learning_rate = 1.0;
    settings.training.expected_records = problem.records;
    settings.training.seed = 1;
    settings.clip.gamma = 0.05;
    settings.certificate.levels = levels;
    settings.certificate.relation = problem.relation;
    settings.certificate.charge_rule = problem.charge_rule;
    return make_plan(settings, {.features = features}, make_backend("cpu", Precision::double_precision));
}

/// After every step: visit(step, trainer).
template <typename Visit>
void train(const TrainingPlan& plan, const std::vector<Person>& people, Visit visit) {
    const Records nobody{FeatureMatrix(features, true), {}, {}, {}};
    MemberTrainer trainer(plan, records_of(people), nobody, MemberTrainer::fresh_state(plan, 0));
    const auto alone = make_serial_communicator();
    for (std::size_t step = 0; !trainer.done(); ++step) {
        trainer.step(*alone);
        visit(step, trainer);
    }
}

double mean_width(const LevelState& box, std::size_t first, std::size_t count) {
    double sum = 0;
    for (std::size_t p = first; p < first + count; ++p) sum += parameter_value(box.upper[p] - box.lower[p]);
    return sum / static_cast<double>(count);
}

/// Neighbours at distance k, 1 or 2: all removals of k records; k candidates added, or put in the place of
/// any k records.
Tightness tightness_of(const TightnessProblem& problem) {
    const TrainingPlan plan = plan_of(problem, problem.k), nominal = plan_of(problem, 0);
    const std::vector<Person> people = people_of(problem);
    std::vector<LevelState> boxes, reached;
    train(plan, people, [&](std::size_t, const MemberTrainer& trainer) {
        boxes.push_back(trainer.box(static_cast<std::size_t>(problem.k)));
        reached.push_back(trainer.box(0));
        reached.back().upper = reached.back().lower;
    });
    Tightness result;
    const auto try_neighbour = [&](const std::vector<Person>& neighbour) {
        ++result.trainings;
        train(nominal, neighbour, [&](std::size_t step, const MemberTrainer& trainer) {
            const std::vector<std::int64_t>& point = trainer.state().levels[0].lower;
            for (std::size_t p = 0; p < point.size(); ++p) {
                reached[step].lower[p] = std::min(reached[step].lower[p], point[p]);
                reached[step].upper[p] = std::max(reached[step].upper[p], point[p]);
                result.held &= boxes[step].lower[p] <= point[p] && point[p] <= boxes[step].upper[p];
            }
        });
    };
    each_change(problem.relation, people, 0, [&](const std::vector<Person>& once, std::size_t next) {
        try_neighbour(once);
        if (problem.k == 1) return;
        each_change(problem.relation, once, next,
                    [&](const std::vector<Person>& twice, std::size_t) { try_neighbour(twice); });
    });
    for (std::size_t step = 0; step < boxes.size(); ++step) {
        for (std::size_t l = 0; l < plan.network.layers().size(); ++l) {
            const std::size_t first = plan.network.offset(l), count = plan.network.layers()[l].parameters();
            result.rows.push_back(
                {mean_width(reached[step], first, count), mean_width(boxes[step], first, count)});
        }
    }
    return result;
}

TEST(Tightness, EveryNeighbourIsHeld) {
    for (const Relation relation : {Relation::add_remove, Relation::substitute, Relation::remove}) {
        for (const ChargeRule rule : {ChargeRule::per_epoch, ChargeRule::per_batch, ChargeRule::both}) {
            const Tightness tightness = tightness_of({relation, rule, 12});
            EXPECT_TRUE(tightness.held);
            EXPECT_GE(tightness.trainings, 12);
            ASSERT_EQ(tightness.rows.size(), 12U);
            for (const TightnessRow& row : tightness.rows) {
                EXPECT_GT(row.reached, 0);
                EXPECT_GE(row.box, row.reached);
            }
        }
    }
}

/// How many times as wide as what the neighbours reached the boxes of the last layer are, at the end.
double ratio_at_the_end(const Tightness& tightness) {
    return tightness.rows.back().box / tightness.rows.back().reached;
}

TEST(Tightness, OfDeepBoxesIsWonBackByLayersThatStay) {
    const auto of = [](const std::vector<std::int64_t>& layer_steps) {
        TightnessProblem problem{.records = 12};
        problem.hidden = {4, 4};
        problem.layer_steps = layer_steps;
        return tightness_of(problem);
    };
    const Tightness whole = of({}), one_step = of({1, 1}), frozen_first = of({0, 1}), frozen = of({0, 0});
    for (const Tightness* tightness : {&whole, &one_step, &frozen_first, &frozen})
        EXPECT_TRUE(tightness->held);
    for (std::size_t row = 0; row < frozen.rows.size(); ++row) {
        const bool is_first = row % 3 == 0, is_last = row % 3 == 2;
        EXPECT_EQ(frozen.rows[row].box > 0, is_last);
        EXPECT_EQ(frozen_first.rows[row].box > 0, !is_first);
    }
    RecordProperty("every step moves all", std::to_string(ratio_at_the_end(whole)));
    RecordProperty("one step", std::to_string(ratio_at_the_end(one_step)));
    RecordProperty("the first stays, the second takes one", std::to_string(ratio_at_the_end(frozen_first)));
    RecordProperty("both stay", std::to_string(ratio_at_the_end(frozen)));
    EXPECT_GT(ratio_at_the_end(whole), 3.5);
    EXPECT_LT(ratio_at_the_end(one_step), 2.5);
    EXPECT_LT(ratio_at_the_end(frozen_first), 2.5);
    EXPECT_LT(ratio_at_the_end(frozen), 2);
}

TEST(Tightness, TwoChangesReachFurtherThanOne) {
    TightnessProblem problem{.records = 6, .batches = 1};
    const Tightness one = tightness_of(problem);
    problem.k = 2;
    const Tightness two = tightness_of(problem);
    EXPECT_TRUE(two.held);
    // 26 changes of one record; of two 15 pairs of removals, 6 times 20 of either, 190 of additions.
    EXPECT_EQ(one.trainings, 26);
    EXPECT_EQ(two.trainings, 26 + 15 + 120 + 190);
    for (std::size_t i = 0; i < one.rows.size(); ++i) EXPECT_GT(two.rows[i].reached, one.rows[i].reached);
}

}  // namespace tightness_test
}  // namespace holdfast
