#include "models/training/join_members.hpp"

namespace holdfast {

std::string join_members(const RunFolder& run, const MemberStore& store, const TrainingPlan& plan) {
    const std::vector<std::int64_t> levels = plan.settings.kept_levels();
    const auto members = static_cast<std::size_t>(plan.settings.ensemble.members);
    BoxesWriter boxes(run, members, levels, plan.network.parameters());
    std::string metrics;
    std::vector<std::int64_t> lower, upper;
    for (std::size_t member = 0; member < members; ++member) {
        MemberReader reader(store, member, levels.size(), plan.network.parameters());
        for (std::size_t level = 0; level < levels.size(); ++level) {
            reader.read(lower, upper);
            boxes.write(member, level, lower, upper);
        }
        metrics += reader.finish();
    }
    run.write_text("metrics.jsonl", metrics);
    return boxes.commit();
}

}  // namespace holdfast
