#pragma once

#include <vector>

#include "kernels/backends.hpp"
#include "models/convex/convex_trainer.hpp"
#include "models/convex/convex_training.hpp"
#include "tests/support/quiet_communicator.hpp"

namespace holdfast::test {

/// A convex training of records with so many columns within +-1.
class ConvexRuns {
  public:
    ConvexRuns(const Settings& settings, std::size_t columns)
        : plan(convex_plan(
              make_plan(settings, {.features = columns, .range = {-1, 1}}, make_backend("cpu")))) {}

    ConvexTrainer start(const Records& records, ConvexState state) const {
        return {plan, records, none, std::move(state)};
    }
    static void finish(ConvexTrainer& trainer) {
        PhaseTimes times;
        while (!trainer.done()) trainer.step(QuietCommunicator(), times);
    }
    std::vector<std::int64_t> trained(const Records& records) const {
        ConvexTrainer trainer = start(records, ConvexTrainer::fresh_state(plan));
        finish(trainer);
        return trainer.result();
    }

    TrainingPlan plan;
    Records none{FeatureMatrix(plan.features.columns(), true), {}, {}, {}};
};

inline Settings convex_settings(std::int64_t classes = 2, const char* loss = "auto") {
    Settings settings;
    settings.network.hidden = {};
    settings.network.classes = classes;
    settings.network.loss = loss;
    settings.training.kind = "convex";
    settings.training.epochs = 2;
    settings.training.batches = 2;
    settings.training.expected_records = 8;
    settings.certificate.levels = 0;
    return settings;
}

inline Records no_records(std::size_t columns) {
    return {FeatureMatrix(columns, true), {}, {}, {}};
}
inline void append(Records& records, std::uint64_t id, const std::vector<double>& row, std::int32_t label) {
    auto& values = records.features.wide_values();
    values.insert(values.end(), row.begin(), row.end());
    records.ids.push_back(id);
    records.labels.push_back(label);
    records.rows.push_back(records.rows.size());
}

/// |a - b|^2, exactly, over the entries first .. first + count.
inline Integer squared_distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                                std::size_t first, std::size_t count) {
    Integer sum = 0;
    for (std::size_t p = first; p < first + count; ++p) {
        const Integer apart(static_cast<long>(a[p] - b[p]));
        sum += apart * apart;
    }
    return sum;
}

}  // namespace holdfast::test
