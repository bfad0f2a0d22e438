#include "models/noisy/noisy_training.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "kernels/ops/norm_rule.hpp"
#include "kernels/ops/row_weight.hpp"
#include "models/kinds/trainer_of.hpp"
#include "models/noisy/noisy_trainer.hpp"
#include "models/training/join_members.hpp"

namespace holdfast {
namespace {

class GroupNoisyTrainer final : public TrainerOf<NoisyTrainer> {
  public:
    GroupNoisyTrainer(const TrainingPlan& plan, Records records, const Records& public_records,
                      const NoisySecrets& secrets, NoisyState state, const ProcessGrid& grid)
        : TrainerOf(plan, std::move(records), public_records, secrets, std::move(state)),
          plan_(plan),
          grid_(grid) {}

    void write_result(const MemberStore& store) const override {
        if (!grid_.member_group().is_root()) return;
        const std::vector<std::int64_t> parameters = trainer_.result();
        MemberWriter writer(store, 0, 1, plan_.network.parameters());
        writer.write(parameters, parameters);
        writer.commit(metrics_lines(trainer_.state().metrics, 0));
    }

  private:
    const TrainingPlan& plan_;
    const ProcessGrid& grid_;
};

void refuse_beside(const Records& public_records, const Settings& settings) {
    if (public_records.size() == 0 || !(settings.robust.used() || settings.clips_one_vector())) return;
    throw Error(ExitCode::usage,
                "copies, centred inputs, means of rows and corrected labels are of private records alone",
                "leave --public out",
                settings.robust.used()            ? "robust.attack"
                : settings.noise.centre > 0       ? "noise.centre"
                : settings.training.clips_after() ? "training.clip_rows"
                                                  : "training.labels");
}

class NoisyTraining final : public Training {
  public:
    NoisyTraining(const TrainingPlan& plan, const Records& public_records, const ProcessGrid& grid,
                  const SecretKey* run)
        : plan_(plan), public_records_(public_records), grid_(grid) {
        if (run != nullptr) secrets_.emplace(*run);
        refuse_beside(public_records, plan.settings);
        const bool single = plan.backend->precision() == Precision::single_precision;
        const std::size_t parameters = plan.network.parameters();
        // Of a row that counts least, twice: rounding then takes no more than half of what a row may be.
        const TrainingSettings& training = plan.settings.training;
        Clip clip = plan.settings.clip;
        if (training.weighs_rows() && !training.clips_after()) clip.part = training.least_weight() / 2;
        if ((single ? NormRule<float>::inside(clip, parameters)
                    : NormRule<double>::inside(clip, parameters)) <= 0)
            throw Error(ExitCode::usage,
                        std::to_string(parameters) + " parameters" +
                            (training.rows_of_persons()
                                 ? ", " + std::to_string(training.rows_at_most) + " rows of a person"
                             : training.weighs_rows() ? ", records that count by their class"
                                                      : "") +
                            ": their rounding may exceed clip.norm_limit",
                        single                       ? "set training.precision = \"double\""
                        : training.rows_of_persons() ? "lower import --rows-at-most"
                                                     : "raise the least of training.class_weights",
                        "training.precision");
        if (plan.settings.noise.law != NoiseSettings::Law::none &&
            noise_in_units(plan) > GaussianNoise::greatest_sigma)
            throw Error(ExitCode::usage,
                        "noise of " + std::to_string(plan.settings.noise.multiplier) +
                            " times clip.norm_limit is more than is drawn",
                        "raise noise.epsilon or noise.delta", "noise.multiplier");
    }

    /// All ranks hold the same state, so one file of it is enough.
    std::unique_ptr<Trainer> start(std::size_t, Records records,
                                   const std::vector<CheckpointFolder::Payload>& saved) const override {
        ensure(secrets_.has_value(), "noisy training has the key of its run");
        NoisyState state =
            saved.empty() ? NoisyTrainer::fresh_state(plan_) : NoisyState::unpacked(saved.front());
        return std::make_unique<GroupNoisyTrainer>(plan_, std::move(records), public_records_, *secrets_,
                                                   std::move(state), grid_);
    }

    std::string join(const RunFolder& run, const MemberStore& store) const override {
        return join_members(run, store, plan_);
    }

    nlohmann::json arithmetic() const override {
        const bool none = plan_.settings.noise.law == NoiseSettings::Law::none;
        return {{"parameter_unit", parameter_unit},
                {"parameter_limit", parameter_value(parameter_limit_units)},
                {"precision", name_of(plan_.backend->precision())},
                {"gradient_unit", std::ldexp(1.0, plan_.gradient_scale().exponent)},
                {"norm_units", plan_.gradient_scale().weight_units},
                {"noise_units", none ? 0.0 : noise_in_units(plan_)}};
    }

    std::string arithmetic_text() const override {
        const nlohmann::json grids = arithmetic();
        return printed(
            "%s precision, exact in units of 2^-50 (parameters, within +-1024) and 2^%d (gradients "
            "and noise)",
            grids["precision"].get<std::string>().c_str(), plan_.gradient_scale().exponent);
    }

  private:
    const TrainingPlan& plan_;
    const Records& public_records_;
    const ProcessGrid& grid_;
    std::optional<NoisySecrets> secrets_;
};

}  // namespace

std::unique_ptr<Training> train_noisy(const TrainingPlan& plan, const Records& public_records,
                                      const ProcessGrid& grid, const SecretKey* run) {
    return std::make_unique<NoisyTraining>(plan, public_records, grid, run);
}

}  // namespace holdfast
