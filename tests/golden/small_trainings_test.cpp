// Small trainings of boxes, computed a second time from models/mathematics.md by small_trainings.py: the same
// integers, for every relation, budget and clip that go together, on the backend of this machine and on
// plain loops.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "dist/comm/communicator.hpp"
#include "kernels/backends.hpp"
#include "models/boxes/trainer.hpp"
#include "models/settings/option.hpp"

namespace holdfast {
namespace {

nlohmann::json recorded() {
    std::ifstream file(HOLDFAST_SMALL_TRAININGS);
    return nlohmann::json::parse(file);
}

template <typename Section>
void take(const std::string& name, const nlohmann::json& values, std::vector<BasicOption<Section>> options,
          Section& section) {
    for (const auto& option : options) {
        const auto value = values.find(name + "." + option.key);
        if (value != values.end()) option.set(section, *value);
    }
}

Settings settings_of(const nlohmann::json& values) {
    Settings settings;
    take("network", values, network_options(), settings.network);
    take("training", values, training_options(), settings.training);
    take("clip", values, clip_options(), settings.clip);
    take("certificate", values, certificate_options(), settings.certificate);
    check(settings);
    return settings;
}

Records records_of(const nlohmann::json& rows, std::int64_t classes) {
    Records records{FeatureMatrix(2, true), {}, {}, {}};
    for (const auto& row : rows) {
        records.features.append(row["x"].get<std::vector<double>>().data());
        records.labels.push_back(static_cast<std::int32_t>(row["y"].get<std::int64_t>() % classes));
        records.ids.push_back(row["id"]);
        records.rows.push_back(records.rows.size());
    }
    return records;
}

/// Relation, budget, clip and precision of a case.
std::string kind_of(const nlohmann::json& values) {
    std::string kind;
    for (const char* key : {"certificate.relation", "certificate.budget", "clip.kind", "training.precision"})
        kind += values[key].get<std::string>() + " ";
    return kind;
}

struct SmallTrainings : testing::TestWithParam<const char*> {};

TEST_P(SmallTrainings, GiveTheIntegersOfTheSecondComputation) {
    const nlohmann::json file = recorded();
    std::set<std::string> kinds;
    for (const auto& one : file["cases"]) {
        nlohmann::json values = file["settings"];
        values.update(one["changes"]);
        kinds.insert(kind_of(values));
        SCOPED_TRACE(one["changes"].dump());
        const Settings settings = settings_of(values);
        const auto range = values["feature_range"].get<std::vector<double>>();
        const Records records = records_of(file["records"], settings.network.classes),
                      open = records_of(file["public_records"], settings.network.classes);
        const TrainingPlan plan =
            make_plan(settings, {.features = 2, .range = {range[0], range[1]}, .public_records = open.size()},
                      make_backend(GetParam(), settings.training.precision, Product::exact));
        MemberTrainer trainer(plan, records, open, MemberTrainer::fresh_state(plan, 0));
        while (!trainer.done()) trainer.step(*make_serial_communicator());
        ASSERT_EQ(trainer.state().levels.size(), one["boxes"].size());
        for (std::size_t level = 0; level < one["boxes"].size(); ++level) {
            const LevelState box = trainer.box(level);
            EXPECT_EQ(box.k, one["boxes"][level]["k"].get<std::int64_t>());
            EXPECT_EQ(box.lower, one["boxes"][level]["lower"].get<std::vector<std::int64_t>>());
            EXPECT_EQ(box.upper, one["boxes"][level]["upper"].get<std::vector<std::int64_t>>());
        }
    }
    // Three relations under three budgets, factored clips under add_remove, and single precision of both
    // clips.
    EXPECT_EQ(kinds.size(), 3U * 3 + 3 + 2);
}

INSTANTIATE_TEST_SUITE_P(Backends, SmallTrainings, testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace holdfast
