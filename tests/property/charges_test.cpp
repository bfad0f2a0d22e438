// Charges and radius over every small dataset there is: all multisets of up to four persons of a catalogue,
// of one row each, or of several (models/mathematics.md, rows of a person),
// each trained with its boxes, held against each other. Whoever is at distance d of a dataset has its
// parameters in the box d (models/mathematics.md, enclosure) and its boxes in the boxes d further
// (models/mathematics.md, nesting).

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "dist/comm/communicator.hpp"
#include "kernels/backends.hpp"
#include "models/boxes/trainer.hpp"
#include "models/certify/claims.hpp"

namespace holdfast {
namespace charges_test {

struct Row {
    double x;
    std::int32_t y;
};
constexpr std::size_t kinds = 5;
using Catalogue = std::array<std::vector<Row>, kinds>;
/// Entries of either sign, clipped ones and small ones.
const Catalogue records{{{{1, 0}}, {{1, 1}}, {{-2, 1}}, {{0.25, 0}}, {{40, 1}}}};
/// Rows that agree, that cancel each other, that are alone.
const Catalogue persons{{{{1, 0}, {1, 0}, {-2, 1}},
                         {{1, 1}, {1, 0}},
                         {{-2, 1}},
                         {{0.25, 0}, {40, 1}},
                         {{40, 1}, {40, 1}, {40, 0}}}};
constexpr std::int64_t most_records = 4, most_levels = 4;

using Counts = std::array<std::int64_t, kinds>;  // how often each of the catalogue is there

std::vector<Counts> all_datasets() {
    std::vector<Counts> all;
    std::vector<Counts> sized{Counts{}};
    for (std::int64_t size = 0; size <= most_records; ++size) {
        all.insert(all.end(), sized.begin(), sized.end());
        std::vector<Counts> larger;
        for (const Counts& counts : sized) {
            for (std::size_t kind = 0; kind < kinds; ++kind) {
                larger.push_back(counts);
                ++larger.back()[kind];
            }
        }
        std::sort(larger.begin(), larger.end());
        larger.erase(std::unique(larger.begin(), larger.end()), larger.end());
        sized = std::move(larger);
    }
    return all;
}

/// The distance of `other` from `counts`, if there is one.
std::optional<std::int64_t> distance(Relation relation, const Counts& counts, const Counts& other) {
    std::int64_t gone = 0, come = 0;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        gone += std::max<std::int64_t>(0, counts[kind] - other[kind]);
        come += std::max<std::int64_t>(0, other[kind] - counts[kind]);
    }
    if (relation == Relation::add_remove) return gone + come;
    if (relation == Relation::remove) return come == 0 ? std::optional(gone) : std::nullopt;
    return gone == come ? std::optional(gone) : std::nullopt;
}

Settings settings_of(Relation relation, ChargeRule rule) {
    Settings settings;
    settings.network.hidden = {};
    settings.training.epochs = 3;
    // A replaced record keeps its id, which multisets do not tell: then all are in one batch.
    settings.training.batches = relation == Relation::substitute ? 1 : 2;
    settings.training.expected_records = 3;
    settings.training.learning_rate = 2;
    settings.training.l2 = 0.125;
    settings.clip.gamma = 0.75;
    settings.certificate.levels = most_levels;
    settings.certificate.relation = relation;
    settings.certificate.charge_rule = rule;
    return settings;
}

std::vector<LevelState> boxes_of(const TrainingPlan& plan, const Catalogue& catalogue, const Counts& counts) {
    Records all{FeatureMatrix(1, true), {}, {}, {}};
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        for (std::int64_t i = 0; i < counts[kind]; ++i) {
            for (const Row& row : catalogue[kind]) {
                all.features.append(&row.x);
                all.labels.push_back(row.y);
                all.ids.push_back(10 * kind + static_cast<std::uint64_t>(i));  // common ones share theirs
                all.rows.push_back(all.rows.size());
            }
        }
    }
    if (plan.settings.training.rows_of_persons()) weigh_persons(all, 3, "test");
    const Records nobody{FeatureMatrix(1, true), {}, {}, {}};
    MemberTrainer trainer(plan, std::move(all), nobody, MemberTrainer::fresh_state(plan, 0));
    while (!trainer.done()) trainer.step(*make_serial_communicator());
    std::vector<LevelState> boxes;
    for (std::size_t level = 0; level < trainer.state().levels.size(); ++level)
        boxes.push_back(trainer.box(level));
    return boxes;
}

bool inside(const LevelState& inner, const LevelState& outer) {
    for (std::size_t p = 0; p < inner.lower.size(); ++p) {
        if (inner.lower[p] < outer.lower[p] || outer.upper[p] < inner.upper[p]) return false;
    }
    return true;
}

enum class Rows { one, before, after, after_by_norms };  // of a person: one, or several, clipped so

struct Charges : testing::TestWithParam<std::tuple<Relation, ChargeRule, Rows>> {};

TEST_P(Charges, HoldEveryNeighbourOfEverySmallDatasetAndNest) {
    const auto [relation, rule, rows] = GetParam();
    const bool of_persons = rows != Rows::one;
    Settings settings = settings_of(relation, rule);
    settings.training.rows_at_most = of_persons ? 3 : 0;
    settings.training.clip_rows = rows == Rows::after || rows == Rows::after_by_norms ? "after" : "before";
    if (rows == Rows::after_by_norms)
        settings.clip = {.kind = Clip::Kind::record_norm, .norm_limit = settings.clip.gamma};
    check(settings);
    const TrainingPlan plan = make_plan(
        settings, {.features = 1}, make_backend("reference", Precision::double_precision, Product::exact));
    std::map<Counts, std::vector<LevelState>> boxes;
    for (const Counts& counts : all_datasets())
        boxes[counts] = boxes_of(plan, of_persons ? persons : records, counts);
    std::int64_t held = 0, too_few = 0;
    for (const auto& [counts, own] : boxes) {
        for (const auto& [other, theirs] : boxes) {
            const std::optional<std::int64_t> apart = distance(relation, counts, other);
            if (!apart) continue;
            for (std::int64_t k = 0; k + *apart <= most_levels; ++k, ++held)
                ASSERT_TRUE(
                    inside(theirs[static_cast<std::size_t>(k)], own[static_cast<std::size_t>(k + *apart)]))
                    << "level " << k << " at distance " << *apart;
            if (*apart > 0 && *apart <= most_levels)
                too_few += inside(theirs[0], own[static_cast<std::size_t>(*apart - 1)]) ? 0 : 1;
        }
    }
    EXPECT_GT(held, 1000);
    EXPECT_GT(too_few, 0) << "no neighbour leaves the box of one record fewer: the boxes were not tried";
}

// Level by level both budgets together lie within either of them alone, and somewhere strictly.
TEST(ChargesOfBoth, LieWithinEitherAlone) {
    for (const Relation relation : {Relation::add_remove, Relation::substitute, Relation::remove}) {
        const auto boxes = [&](ChargeRule rule, const Counts& counts) {
            Settings settings = settings_of(relation, rule);
            settings.training.batches = 2;  // with one, who is charged in every batch is charged no more
            return boxes_of(make_plan(settings, {.features = 1},
                                      make_backend("reference", Precision::double_precision, Product::exact)),
                            records, counts);
        };
        std::int64_t smaller_than_either = 0;
        for (const Counts& counts : all_datasets()) {
            const std::vector<LevelState> both = boxes(ChargeRule::both, counts),
                                          once = boxes(ChargeRule::per_epoch, counts),
                                          always = boxes(ChargeRule::per_batch, counts);
            for (std::size_t k = 0; k < both.size(); ++k) {
                ASSERT_TRUE(inside(both[k], once[k]) && inside(both[k], always[k])) << "level " << k;
                smaller_than_either += !inside(once[k], both[k]) && !inside(always[k], both[k]);
            }
        }
        EXPECT_EQ(smaller_than_either > 0, relation != Relation::add_remove) << name_of(relation);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Relations, Charges,
    testing::Combine(testing::Values(Relation::add_remove, Relation::substitute, Relation::remove),
                     testing::Values(ChargeRule::per_epoch, ChargeRule::per_batch, ChargeRule::both),
                     testing::Values(Rows::one, Rows::before, Rows::after, Rows::after_by_norms)),
    [](const auto& info) {
        return std::string(name_of(std::get<0>(info.param))) + "_" + name_of(std::get<1>(info.param)) +
               (std::get<2>(info.param) == Rows::one      ? ""
                : std::get<2>(info.param) == Rows::before ? "_of_persons"
                : std::get<2>(info.param) == Rows::after  ? "_of_persons_after"
                                                          : "_of_persons_after_by_norms");
    });

}  // namespace charges_test
}  // namespace holdfast
