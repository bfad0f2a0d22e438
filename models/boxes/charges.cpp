#include "models/boxes/charges.hpp"

#include <algorithm>
#include <vector>

#include "dist/sum/selection_merge.hpp"

namespace holdfast {
namespace {

/// Records act once an epoch: the state is a core, charged nothing, and T^k is the core +- k R_t.
class ChargesPerEpoch final : public Charges {
  public:
    ChargesPerEpoch(const TrainingPlan& plan, const Optimiser& optimiser, const GradientScale& scale)
        : batches_(plan.settings.training.batches),
          // c (models/mathematics.md, core and radius): how many Gamma one changed record can move a sum by.
          reach_(plan.settings.certificate.relation == Relation::substitute ? 2 : 1),
          biases_(plan.network.biases()),
          pinned_(plan.network.pinned()),
          weight_response_(optimiser.impulse_response(scale.weight_units)),
          bias_response_(optimiser.impulse_response(scale.bias_units)) {}

    LevelState box(const LevelState& level) const override {
        LevelState box{level.k, level.lower, level.upper, {}, {}};
        if (level.k == 0) return box;
        const std::int64_t weight_radius = weight_response_->radius(), bias_radius = bias_response_->radius();
        for (std::size_t p = 0; p < box.lower.size(); ++p) {
            const std::int64_t radius = biases_[p] ? bias_radius : weight_radius;
            box.lower[p] = widened_lower(box.lower[p], radius, reach_ * level.k);
            box.upper[p] = widened_upper(box.upper[p], radius, reach_ * level.k);
        }
        for (const std::size_t p : pinned_) box.lower[p] = box.upper[p] = 0;
        return box;
    }
    std::int64_t selected(std::int64_t) const override { return 0; }
    void charge(std::int64_t, LevelSums&, const Communicator&) const override {}
    void advance(std::int64_t step, double normaliser) override {
        const bool first_of_epoch = step % batches_ == 0;
        weight_response_->advance(step, normaliser, first_of_epoch);
        bias_response_->advance(step, normaliser, first_of_epoch);
    }

  private:
    std::int64_t batches_, reach_;
    std::vector<bool> biases_;
    std::vector<std::size_t> pinned_;  // no record moves them
    std::unique_ptr<ImpulseResponse> weight_response_, bias_response_;
};

/// Records act in every batch: the state is T^k, and the sum over a neighbour's records lies in
/// [SL - cL(k), SU + cU(k)] (models/mathematics.md, charges).
class ChargesPerBatch final : public Charges {
  public:
    ChargesPerBatch(const TrainingPlan& plan, const GradientScale& scale)
        : relation_(plan.settings.certificate.relation),
          exactly_k_go_(plan.settings.training.normalise == Normalise::actual),
          scale_(scale),
          biases_(plan.network.biases()),
          pinned_(plan.network.pinned()) {}

    LevelState box(const LevelState& level) const override {
        return {level.k, level.lower, level.upper, {}, {}};
    }
    std::int64_t selected(std::int64_t k) const override { return relation_ == Relation::add_remove ? 0 : k; }
    void charge(std::int64_t k, LevelSums& sums, const Communicator& ranks) const override {
        if (k == 0) return;
        if (relation_ != Relation::remove) charge_new_records(k, sums);
        if (relation_ != Relation::add_remove) charge_gone_records(sums, ranks);
        for (const std::size_t p : pinned_) sums.lower[p] = sums.upper[p] = 0;
    }
    void advance(std::int64_t, double) override {}

  private:
    /// What the k records put in their place, or added, can do: k Gamma each way. A removal adds nothing.
    void charge_new_records(std::int64_t k, LevelSums& sums) const {
        for (std::size_t p = 0; p < sums.lower.size(); ++p) {
            const std::int64_t gamma = k * (biases_[p] ? scale_.bias_units : scale_.weight_units);
            sums.lower[p] -= gamma;
            sums.upper[p] += gamma;
        }
    }
    /// What the k records did that are gone: at most minus the least of their upper bounds. Of removals up to
    /// k, only those that gain are counted; as published (actual), exactly k are gone.
    void charge_gone_records(LevelSums& sums, const Communicator& ranks) const {
        const bool up_to_k = relation_ == Relation::remove && !exactly_k_go_;
        const auto value_itself = +[](std::int64_t value) { return value; };
        const auto gain = +[](std::int64_t value) { return std::min<std::int64_t>(0, value); };
        const auto term = up_to_k ? gain : value_itself;
        const auto upper = sum_of_least(sums.least->upper, term, ranks),
                   negated_lower = sum_of_least(sums.least->negated_lower, term, ranks);
        for (std::size_t p = 0; p < sums.lower.size(); ++p) {
            sums.lower[p] += negated_lower[p];
            sums.upper[p] -= upper[p];
        }
    }

    Relation relation_;
    bool exactly_k_go_;
    GradientScale scale_;
    std::vector<bool> biases_;
    std::vector<std::size_t> pinned_;  // no record moves them
};

}  // namespace

std::unique_ptr<Charges> make_charges(const TrainingPlan& plan, const Optimiser& optimiser) {
    const GradientScale scale = plan.gradient_scale();
    if (plan.settings.certificate.charge_rule == ChargeRule::per_epoch)
        return std::make_unique<ChargesPerEpoch>(plan, optimiser, scale);
    return std::make_unique<ChargesPerBatch>(plan, scale);
}

}  // namespace holdfast
