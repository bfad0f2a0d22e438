#include "jobs/study/advise/trial.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "dist/layout/distribute.hpp"
#include "dist/runs/manifest.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/training/train_alone.hpp"
#include "kernels/backends.hpp"
#include "models/kinds/kinds.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

Settings settings_on(const StandIn& stand_in, const Candidate& candidate, const PublicNumbers& numbers) {
    const double share = stand_in.share(numbers);
    Settings settings = candidate.settings;
    settings.training.expected_records = stand_in.records;
    settings = kind_named(settings.training.kind).settled(settings);
    settings.noise.multiplier *= share;
    const std::int64_t members = candidate.settings.ensemble.members;
    settings.ensemble.members = std::max<std::int64_t>(std::min<std::int64_t>(members, 10),
                                                       std::llround(static_cast<double>(members) * share));
    return settings;
}

void train_on_stand_in(const Settings& settings, const StandIn& stand_in, std::uint64_t noise,
                       const std::string& run_path) {
    // 1. What is trained on what, by this rank alone.
    const DatasetReader reader(stand_in.path);
    const FeatureMap features = settings.feature_map(reader.info().features, reader.info().range);
    const auto alone = make_serial_communicator();
    const auto members = static_cast<std::size_t>(settings.ensemble.members);
    const ProcessGrid grid(*alone, "auto", members, settings.kept_levels().size());
    std::vector<std::size_t> all(members);
    for (std::size_t member = 0; member < members; ++member) all[member] = member;
    Distributed records = distribute(reader, grid, *alone,
                                     {members, all, static_cast<std::size_t>(settings.network.classes),
                                      static_cast<std::uint64_t>(settings.training.seed)});

    // 2. Every member, step by step.
    const TrainingPlan plan =
        make_plan(settings, {reader.info().features, reader.info().range, reader.info().rows, 0},
                  make_backend("cpu", settings.training.arithmetic(), settings.certificate.product, 0));
    for (MemberRecords& member : records.held) {
        weigh_by_class(member.records, plan.settings.training.class_weights);
        member.records = features(std::move(member.records));
    }
    const Records none{FeatureMatrix(features.outputs(), false), {}, {}, {}};
    const RunFolder run = RunFolder::create(run_path, false);
    const TrainedAlone trained = train_alone(plan, std::move(records.held), none,
                                             SecretKey::known_to_all(stand_in.seed << 8 | noise), run);

    // 3. The run that it comes to.
    RunManifest manifest = manifest_of(plan, {}, reader.info(), "");
    manifest.arithmetic = trained.arithmetic;
    manifest.guarantee = Guarantee::not_private("a trial on public records", "nobody is protected").to_json();
    manifest.digest = trained.digest;
    manifest.write(run);
}

}  // namespace holdfast
