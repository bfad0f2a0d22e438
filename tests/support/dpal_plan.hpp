#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/backends.hpp"
#include "models/dpal/dpal_trainer.hpp"
#include "models/dpal/dpal_training.hpp"

namespace holdfast::test {

/// Of training.kind = "dpal", in batches of so many records.
inline Settings dpal_settings(std::vector<std::int64_t> hidden, std::int64_t batch) {
    Settings settings;
    settings.network.hidden = std::move(hidden);
    settings.network.loss = "cross_entropy";
    settings.training.kind = "dpal";
    settings.training.batches = 2;
    settings.training.learning_rate = 0.1;
    settings.training.expected_records = 2 * batch;
    return settings;
}

inline Records dpal_records(const std::vector<std::vector<double>>& features,
                            const std::vector<std::int32_t>& labels) {
    Records records{FeatureMatrix(features.front().size(), true), labels, {}, {}};
    for (std::size_t i = 0; i < features.size(); ++i) {
        records.features.append(features[i].data());
        records.ids.push_back(10 + 3 * i);
        records.rows.push_back(i);
    }
    return records;
}

struct DpalWorld {
    DpalWorld(const Settings& asked, Records of)
        : plan(make_plan(settled_for_dpal(asked),
                         {.features = of.features.columns(), .range = {-1, 1}, .found = of.size()},
                         make_backend("cpu"))),
          records(std::move(of)) {}
    DpalTrainer start() const { return start(DpalTrainer::fresh_state(plan)); }
    DpalTrainer start(NoisyState state) const { return {plan, records, std::move(state)}; }

    TrainingPlan plan;
    Records records;
};

}  // namespace holdfast::test
