#include "models/convex/convex_training.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/convex/convex_bounds.hpp"
#include "models/convex/convex_trainer.hpp"
#include "models/convex/radius.hpp"
#include "models/kinds/trainer_of.hpp"
#include "models/training/join_members.hpp"

namespace holdfast {
namespace {

class GroupConvexTrainer final : public TrainerOf<ConvexTrainer> {
  public:
    GroupConvexTrainer(const TrainingPlan& plan, std::size_t member, Records records,
                       const Records& public_records, ConvexState state, const ProcessGrid& grid)
        : TrainerOf(plan, std::move(records), public_records, std::move(state)),
          plan_(plan),
          member_(member),
          grid_(grid) {}

    void write_result(const MemberStore& store) const override {
        const std::vector<std::int64_t> radii = level_radii(), parameters = trainer_.result();
        if (!grid_.member_group().is_root()) return;
        MemberWriter writer(store, member_, radii.size(), parameters.size());
        for (const std::int64_t radius : radii)
            writer.write(moved(parameters, -radius), moved(parameters, radius));
        writer.commit(metrics_lines(trainer_.state().metrics, member_));
    }

  private:
    /// Of relation `remove` the boxes of levels 1..K are as wide as the removal of k records may move the
    /// point in the 2-norm: they hold what that leaves, and say how far. Else there is the point alone.
    std::vector<std::int64_t> level_radii() const {
        if (trainer_.removals() == nullptr) return {0};
        const auto levels = static_cast<std::size_t>(plan_.settings.certificate.levels);
        return trainer_.removals()->radii(levels, grid_.block_group());
    }
    static std::vector<std::int64_t> moved(std::vector<std::int64_t> parameters, std::int64_t by) {
        for (std::int64_t& parameter : parameters) parameter += by;
        return parameters;
    }

    const TrainingPlan& plan_;
    std::size_t member_;
    const ProcessGrid& grid_;
};

class ConvexTraining final : public Training {
  public:
    ConvexTraining(const TrainingPlan& plan, const Records& public_records, const ProcessGrid& grid)
        : plan_(convex_plan(plan)),
          radius_(convex_radius(plan.settings, plan.features, plan.settings.certificate.relation)),
          public_records_(public_records),
          grid_(grid) {
        if (public_records.size() > 0)
            throw Error(ExitCode::usage, "convex training takes no public records beside the private ones",
                        "leave --public out", "--public");
    }

    /// All ranks hold the same state, so one file of it is enough. What removals may do is in none: such a
    /// training begins again.
    std::unique_ptr<Trainer> start(std::size_t member, Records records,
                                   const std::vector<CheckpointFolder::Payload>& saved) const override {
        const bool again = saved.empty() || plan_.settings.certificate.relation == Relation::remove;
        ConvexState state = again ? ConvexTrainer::fresh_state(plan_) : ConvexState::unpacked(saved.front());
        return std::make_unique<GroupConvexTrainer>(plan_, member, std::move(records), public_records_,
                                                    std::move(state), grid_);
    }

    std::string join(const RunFolder& run, const MemberStore& store) const override {
        return join_members(run, store, plan_);
    }

    nlohmann::json arithmetic() const override {
        return {{"parameter_unit", parameter_unit},
                {"parameter_limit", parameter_value(parameter_limit_units)},
                {"precision", "double"},
                {"gradient_unit", std::ldexp(1.0, plan_.gradient_scale().exponent)},
                {"radius", round_up(radius_.all) * parameter_unit},
                {"margin_radius", round_up(radius_.margin) * parameter_unit}};
    }

    std::string arithmetic_text() const override {
        return printed(
            "double precision, exact in units of 2^-50 (parameters) and 2^%d (gradients); one record moves "
            "the parameters by at most %.4g, a margin by %.4g times the length of the query",
            plan_.gradient_scale().exponent, round_up(radius_.all) * parameter_unit,
            round_up(radius_.margin) * parameter_unit);
    }

  private:
    TrainingPlan plan_;
    ConvexRadius radius_;
    const Records& public_records_;
    const ProcessGrid& grid_;
};

}  // namespace

TrainingPlan convex_plan(TrainingPlan plan) {
    plan.settings.clip = convex_clip(plan.settings, plan.features);
    return plan;
}

std::unique_ptr<Training> train_convex(const TrainingPlan& plan, const Records& public_records,
                                       const ProcessGrid& grid) {
    return std::make_unique<ConvexTraining>(plan, public_records, grid);
}

}  // namespace holdfast
