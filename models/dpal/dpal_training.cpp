#include "models/dpal/dpal_training.hpp"

#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "models/dpal/dpal_trainer.hpp"
#include "models/kinds/trainer_of.hpp"
#include "models/noisy/noisy_claim.hpp"
#include "models/training/join_members.hpp"

namespace holdfast {
namespace {

constexpr const char* gap = "not differentially private, radius not proved";

class LoneDpalTrainer final : public TrainerOf<DpalTrainer> {
  public:
    LoneDpalTrainer(const TrainingPlan& plan, Records records, NoisyState state)
        : TrainerOf(plan, std::move(records), std::move(state)), plan_(plan) {}

    void write_result(const MemberStore& store) const override {
        const std::vector<std::int64_t>& parameters = trainer_.state().parameters;
        MemberWriter writer(store, 0, 1, plan_.network.parameters());
        writer.write(parameters, parameters);
        writer.commit(metrics_lines(trainer_.state().metrics, 0));
    }

  private:
    const TrainingPlan& plan_;
};

class DpalTraining final : public Training {
  public:
    explicit DpalTraining(const TrainingPlan& plan) : plan_(plan) {}

    std::unique_ptr<Trainer> start(std::size_t, Records records,
                                   const std::vector<CheckpointFolder::Payload>& saved) const override {
        return std::make_unique<LoneDpalTrainer>(
            plan_, std::move(records),
            saved.empty() ? DpalTrainer::fresh_state(plan_) : NoisyState::unpacked(saved.front()));
    }
    std::string join(const RunFolder& run, const MemberStore& store) const override {
        return join_members(run, store, plan_);
    }
    nlohmann::json arithmetic() const override {
        const DpalSettings& dpal = plan_.settings.dpal;
        const double e1 = dpal.share * dpal.epsilon;
        const DpalNoise noise(plan_.settings, plan_.network, plan_.normaliser);
        return {{"precision", "double"},
                {"chosen",
                 {{"beta", plan_.network.layers().front().out},
                  {"batch", plan_.normaliser},
                  {"steps", plan_.settings.training.steps()},
                  {"learning_rate", plan_.settings.training.learning_rate},
                  {"encoder_rate", dpal.encoder_rate},
                  {"epsilon_1", e1},
                  {"epsilon_2", dpal.epsilon - e1},
                  {"draws", dpal.draws},
                  {"confidence", dpal.confidence},
                  {"sensitivity", noise.sensitivity()}}}};
    }
    std::string arithmetic_text() const override {
        const nlohmann::json chosen = arithmetic()["chosen"];
        return "what the text does not state was chosen: " + chosen.dump();
    }

  private:
    const TrainingPlan& plan_;
};

class DpalCertificate final : public Certificate {
  public:
    explicit DpalCertificate(RecordClaim claim) : claim_(std::move(claim)) {}
    const std::vector<std::int64_t>& levels() const override { return levels_; }
    bool nested() const override { return false; }
    void set_input_radius(double, Norm) override { refuse_dpal(); }
    Certificates distances(std::size_t, const Records&, Asker, int) const override { refuse_dpal(); }
    std::optional<Certificates> means(std::size_t, const Records&, std::span<const std::size_t>,
                                      int) const override {
        refuse_dpal();
    }
    bool by_answers() const override { return false; }
    RecordClaim claim() const override { return claim_; }
    RecordClaim release_claim() const override { refuse_dpal(); }

  private:
    std::vector<std::int64_t> levels_{0};
    RecordClaim claim_;
};

}  // namespace

void refuse_dpal() {
    throw Error(ExitCode::usage,
                std::string("training.kind = \"dpal\" is as published (gap: ") + gap +
                    "): nothing is charged, published, released, certified, forgotten or told of its risk",
                "holdfast evaluate measures it; train with training.kind = \"noisy\" and section robust for "
                "what is proved",
                "training.kind");
}

Settings settled_for_dpal(const Settings& asked) {
    Settings settings = asked;
    settings.certificate.levels = 0;
    settings.certificate.level_list.clear();
    if (settings.training.expected_records == 0)
        throw Error(ExitCode::usage, "noise is divided by the size of a batch, which is a public number",
                    "state one: import --expected-records, or training.expected_records",
                    "training.expected_records");
    if (settings.dpal.variant != "secure_sgd") {
        settings.clip.gamma = 0x1p16;  // of one record's entry, and so the grid: no clip is meant
        return settings;
    }
    Settings noisy = settings;
    noisy.noise.epsilon = settings.dpal.epsilon;
    noisy.noise.delta = settings.dpal.delta;
    settings.noise.multiplier = settled_for_noise(noisy).noise.multiplier;
    return settings;
}

RecordClaim dpal_claim(const Settings& settings, const DataFacts&) {
    // Nothing is claimed of the records, so nothing hangs on what their file says.
    const DataFacts none{.scaling = Scaling::public_constants, .ids = IdKind::given};
    RecordClaim claim = claim_about_records(
        "nothing but what was published: that the parameters are differentially private and that answers "
        "stand within their robust sizes. Neither follows: models/privacy/mathematics.md has the "
        "counterexamples",
        settings, none, {settings.certificate.relation, "nothing covers", true, false});
    claim.weaken(gap);
    return claim;
}

std::unique_ptr<Training> train_dpal(const TrainingPlan& plan, const Records& public_records,
                                     const ProcessGrid& grid) {
    if (public_records.size() > 0)
        throw Error(ExitCode::usage, "what is published has no public records", "leave it out", "--public");
    if (grid.blocks() > 1)
        throw Error(ExitCode::usage, "what is published is trained by one rank",
                    "run it without mpirun; run.threads says how many cores it takes", "training.kind");
    return std::make_unique<DpalTraining>(plan);
}

std::unique_ptr<Certificate> open_dpal(const RunFolder&, const RunManifest& manifest,
                                       const Settings& settings, const std::string&) {
    return std::make_unique<DpalCertificate>(dpal_claim(settings, facts_of(manifest)));
}

}  // namespace holdfast
