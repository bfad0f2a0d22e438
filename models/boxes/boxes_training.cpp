#include "models/boxes/boxes_training.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "kernels/ops/fixed_format.hpp"
#include "models/boxes/trainer.hpp"
#include "models/kinds/trainer_of.hpp"
#include "models/training/join_members.hpp"

namespace holdfast {
namespace {

/// The checkpoint files of a member, as far as they concern these levels, joined.
std::optional<MemberState> resumed_state(const std::vector<CheckpointFolder::Payload>& saved,
                                         std::uint64_t member, const std::vector<std::int64_t>& levels) {
    if (saved.empty()) return std::nullopt;
    MemberState joined;
    joined.member = member;
    for (const CheckpointFolder::Payload& payload : saved) {
        MemberState state = MemberState::unpacked(payload);
        if (state.member != member)
            throw Error(ExitCode::input,
                        "the checkpoint of member " + std::to_string(member) + " is of member " +
                            std::to_string(state.member),
                        "files were moved: delete its folder, and the member is trained from the beginning");
        joined.step = state.step;
        joined.normalisers = std::move(state.normalisers);
        if (joined.metrics.empty()) {
            joined.metrics = std::move(state.metrics);
        } else {
            for (std::size_t i = 0; i < joined.metrics.size(); ++i) joined.metrics[i].merge(state.metrics[i]);
        }
        for (LevelState& level : state.levels) {
            if (std::binary_search(levels.begin(), levels.end(), level.k))
                joined.levels.push_back(std::move(level));
        }
    }
    std::sort(joined.levels.begin(), joined.levels.end(),
              [](const LevelState& a, const LevelState& b) { return a.k < b.k; });
    if (joined.levels.size() != levels.size())
        throw Error(ExitCode::input, "the checkpoint lacks levels of member " + std::to_string(member),
                    "a file of it was deleted: restore it, or train into a new folder");
    return joined;
}

class BoxesTrainer final : public TrainerOf<MemberTrainer> {
  public:
    BoxesTrainer(const TrainingPlan& plan, Records records, const Records& public_records, MemberState state,
                 const ProcessGrid& grid)
        : TrainerOf(plan, std::move(records), public_records, std::move(state)), plan_(plan), grid_(grid) {}

    /// Level by level, so that no rank holds more than its own and one.
    void write_result(const MemberStore& store) const override {
        const Communicator& group = grid_.member_group();
        const std::size_t member = trainer_.state().member;
        const std::size_t levels = plan_.settings.kept_levels().size();
        std::optional<MemberWriter> writer;
        if (group.is_root()) writer.emplace(store, member, levels, plan_.network.parameters());
        std::vector<StepMetrics> metrics;
        int last_owner = -1;
        for (std::size_t level = 0; level < levels; ++level) {
            const int owner = grid_.rank_in_member_group(level, 0);
            const MemberState part = at_root(owner, level, owner != last_owner);
            last_owner = owner;
            if (!group.is_root()) continue;
            writer->write(part.levels[0].lower, part.levels[0].upper);
            if (metrics.empty()) metrics.resize(part.metrics.size());
            for (std::size_t i = 0; i < part.metrics.size(); ++i) {
                if (level == 0) metrics[i] = part.metrics[i];
                if (level != 0) metrics[i].merge(part.metrics[i]);
            }
        }
        if (!group.is_root()) return;
        writer->commit(metrics_lines(metrics, member));
    }

  private:
    /// One level's box, and with the first of an owner's its metrics, from the owner to the group's first
    /// rank.
    MemberState at_root(int owner, std::size_t level, bool with_metrics) const {
        const Communicator& group = grid_.member_group();
        MemberState part;
        if (group.rank() == owner) {
            part.levels.push_back(trainer_.box(level - grid_.levels().first));
            if (with_metrics) part.metrics = trainer_.state().metrics;
        }
        if (owner == 0) return part;
        if (group.rank() == owner) group.send(part.packed(), 0);
        return group.is_root() ? MemberState::unpacked(group.receive(owner)) : part;
    }

    const TrainingPlan& plan_;
    const ProcessGrid& grid_;
};

class BoxesTraining final : public Training {
  public:
    BoxesTraining(const TrainingPlan& plan, const Records& public_records, const ProcessGrid& grid)
        : plan_(plan), public_records_(public_records), grid_(grid) {}

    std::unique_ptr<Trainer> start(std::size_t member, Records records,
                                   const std::vector<CheckpointFolder::Payload>& saved) const override {
        std::optional<MemberState> state = resumed_state(saved, member, plan_.levels);
        return std::make_unique<BoxesTrainer>(
            plan_, std::move(records), public_records_,
            state ? std::move(*state) : MemberTrainer::fresh_state(plan_, member, public_records_), grid_);
    }

    std::string join(const RunFolder& run, const MemberStore& store) const override {
        return join_members(run, store, plan_);
    }

    nlohmann::json arithmetic() const override {
        const GradientScale scale = plan_.gradient_scale();
        const TrainingSettings& training = plan_.settings.training;
        const double unit = std::ldexp(1.0, scale.exponent);
        const double least_gamma =
            unit * static_cast<double>(std::min(scale.weight_units, scale.bias_units)) / (1 + scale.rounding);
        const double last_impulse =
            training.learning_rate_at(training.steps() - 1) / plan_.normaliser * least_gamma;
        // Of a velocity, in every step anew; of an average four, and it makes none greater.
        const auto steps = static_cast<double>(training.steps());
        const double roundings = training.averaged_momentum() ? 4 * steps + 1
                                 : training.momentum > 0
                                     ? steps * (training.learning_rate / (1 - training.momentum) + 1)
                                     : 1;
        return {{"parameter_unit", parameter_unit},
                {"parameter_limit", parameter_value(parameter_limit_units)},
                {"precision", name_of(training.precision)},
                {"gradient_unit", unit},
                // A record's charge is rounded up by at most this part: Gamma to the grid, then its response.
                {"charge_rounding", scale.rounding + roundings * parameter_unit / last_impulse}};
    }

    std::string arithmetic_text() const override {
        const nlohmann::json grids = arithmetic();
        return printed(
                   "%s precision, exact in units of 2^-50 (parameters, within +-1024) and 2^%d (gradients); "
                   "rounding adds at most %.1g of a record's charge",
                   grids["precision"].get<std::string>().c_str(), plan_.gradient_scale().exponent,
                   grids["charge_rounding"].get<double>()) +
               features_text();
    }

  private:
    /// Where features saturate in products of fixed precision.
    std::string features_text() const {
        if (plan_.settings.training.precision != Precision::fixed) return "";
        const FixedGrid grid =
            FixedFormat::of(plan_.network.shape(), plan_.backend->arithmetic().activation_bits).features;
        return printed("; features within +-%.6g on multiples of 2^%d", std::ldexp(grid.limit, grid.exponent),
                       grid.exponent);
    }

    const TrainingPlan& plan_;
    const Records& public_records_;
    const ProcessGrid& grid_;
};

}  // namespace

std::unique_ptr<Training> train_boxes(const TrainingPlan& plan, const Records& public_records,
                                      const ProcessGrid& grid) {
    return std::make_unique<BoxesTraining>(plan, public_records, grid);
}

}  // namespace holdfast
