// Access by a vote, on fleets that are trained: on a dataset, on every dataset without one of its records,
// with one more, and with one replaced. No answer's law moves by more than e^epsilon between neighbours.

#include <gtest/gtest.h>

#include <random>

#include "kernels/backends.hpp"
#include "models/boxes/trainer.hpp"
#include "models/fleet/fleet_outputs.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "tests/support/privacy_tester.hpp"
#include "tests/support/quiet_communicator.hpp"

namespace holdfast {
namespace {

constexpr std::size_t features = 2;

struct Row {
    std::uint64_t id;
    double x[features];
    std::int32_t label;
};
using Table = std::vector<Row>;
using test::is_private;

Records records_of(const Table& table) {
    Records records{FeatureMatrix(features, true), {}, {}, {}};
    for (const Row& row : table) {
        records.features.append(row.x);
        records.ids.push_back(row.id);
        records.labels.push_back(row.label);
        records.rows.push_back(records.rows.size());
    }
    return records;
}

/// Answers of one network to all queries, as a fleet's are decided.
class Trained {
  public:
    explicit Trained(const TrainingPlan& plan, const Records& queries) : plan_(plan), queries_(queries) {}

    std::vector<std::int32_t> labels(const Table& table) const {
        const Records none{FeatureMatrix(features, true), {}, {}, {}};
        MemberTrainer trainer(plan_, records_of(table), none, MemberTrainer::fresh_state(plan_, 0));
        while (!trainer.done()) trainer.step(QuietCommunicator());
        const Decision decision(plan_.network);
        std::vector<std::int64_t> packed;
        decision.append(trainer.state().levels.front().lower, packed);
        const auto outputs = make_models_outputs(Precision::double_precision, decision.shape());
        outputs->add(packed);
        std::vector<std::int32_t> labels(queries_.size());
        outputs->outputs(queries_.view(), [&](const ModelsBlock& block) {
            for (std::size_t r = 0; r < block.records; ++r)
                labels[block.first_record + r] =
                    decision.label([&](std::size_t o) { return block.at(r, o, 0); });
        });
        return labels;
    }
    /// Label, and 1 if it withstands every removal, of every query.
    std::vector<Evidence> evidence(const Table& table) const {
        std::vector<Evidence> all;
        for (const std::int32_t label : labels(table)) {
            Evidence evidence;
            evidence.label = label;
            evidence.distance = evidence.cap = 1;
            all.push_back(evidence);
        }
        for (std::size_t i = 0; i < table.size(); ++i) {
            Table fewer = table;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
            const std::vector<std::int32_t> without = labels(fewer);
            for (std::size_t q = 0; q < all.size(); ++q)
                if (without[q] != all[q].label) all[q].distance = 0;
        }
        return all;
    }

  private:
    const TrainingPlan& plan_;
    const Records& queries_;
};

TEST(AccessPrivacy, EveryNeighbourOfTrainedFleetsIsWithinEpsilon) {
    const Mechanism law("one_record_rr", {0.7, 0, 2, 1, 0}), stable("stable_rr", {0.7, 0, 2, 1, 0});
    std::size_t withstand = 0, noisy = 0, against_stable = 0;
    for (std::uint64_t run = 0; run < 12; ++run) {
        std::mt19937_64 random(run);
        std::normal_distribution<double> normal(0, 0.7);
        const auto row = [&](std::uint64_t id) {
            const auto label = static_cast<std::int32_t>(random() % 2);
            return Row{id, {(label == 0 ? -0.5 : 0.5) + normal(random), normal(random)}, label};
        };
        Table table;
        for (std::uint64_t i = 0; i < 6; ++i) table.push_back(row(100 + 7 * i));
        Table queries;
        for (std::uint64_t i = 0; i < 60; ++i) queries.push_back(row(i));
        const Records asked = records_of(queries);

        Settings settings;
        if (run % 2 == 0) settings.network.hidden = {3};
        if (run % 2 == 1) settings.network.hidden = {};
        settings.training.epochs = 2;
        settings.training.batches = 2;
        settings.training.expected_records = 6;
        settings.training.learning_rate = 3;
        settings.training.seed = static_cast<std::int64_t>(run);
        settings.clip.gamma = 0.5;
        settings.certificate.levels = 0;
        const TrainingPlan plan =
            make_plan(settings, {.features = features, .found = 6}, make_backend("cpu"));
        const Trained trained(plan, asked);

        std::vector<Table> neighbours;
        for (std::size_t i = 0; i < table.size(); ++i) {
            neighbours.push_back(table);
            neighbours.back().erase(neighbours.back().begin() + static_cast<std::ptrdiff_t>(i));
            if (i > 1) continue;
            neighbours.push_back(table);
            neighbours.back()[i] = row(table[i].id);  // substitute
            neighbours.push_back(table);
            neighbours.back().push_back(row(900 + i));
        }
        const std::vector<Evidence> here = trained.evidence(table);
        for (const Table& neighbour : neighbours) {
            const std::vector<Evidence> there = trained.evidence(neighbour);
            for (std::size_t q = 0; q < here.size(); ++q) {
                ASSERT_TRUE(is_private(law.exact_law(here[q]), law.exact_law(there[q]), law.epsilon(), 0))
                    << "run " << run << " query " << q;
                against_stable +=
                    is_private(stable.exact_law(here[q]), stable.exact_law(there[q]), stable.epsilon(), 0)
                        ? 0
                        : 1;
            }
        }
        for (const Evidence& query : here) (query.distance == 1 ? withstand : noisy) += 1;
    }
    EXPECT_GT(withstand, 50U);
    EXPECT_GT(noisy, 50U);
    EXPECT_GT(against_stable, 0U) << "the law of smooth distances would not do";
}

}  // namespace
}  // namespace holdfast
