#include "models/boxes/charges.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "dist/sum/selection_merge.hpp"

namespace holdfast {
namespace {

/// Is a changed record one gone and one come in its place?
bool replaces(Relation relation) {
    return relation == Relation::substitute || relation == Relation::poison;
}

/// Of every parameter, what a record's entry is at most, in units: by factors, a convolution adds the entries
/// of its positions (models/mathematics.md, convolution by factors). make_plan() has seen to it that a charge
/// of them fits.
std::vector<std::int64_t> largest_entries(const TrainingPlan& plan, const GradientScale& scale) {
    std::vector<std::int64_t> entries;
    for (const Layer& layer : plan.network.layers()) {
        const bool by_factors = plan.settings.clip.kind == Clip::Kind::factored;
        const auto positions = static_cast<std::int64_t>(by_factors ? layer.positions() : 1);
        for (std::size_t p = 0; p < layer.parameters(); ++p) {
            const bool bias = p % (layer.in + 1) == layer.in;
            const bool is_pinned = bias && !layer.bias;  // no record moves it
            entries.push_back(is_pinned ? 0 : positions * (bias ? scale.bias_units : scale.weight_units));
        }
    }
    return entries;
}

/// The steps of a training, of those layers that each moves (models/mathematics.md, layers that stay).
class LayerwiseStep {
  public:
    LayerwiseStep(const TrainingPlan& plan, const Optimiser& optimiser)
        : plan_(plan), optimiser_(optimiser) {}

    bool moves(std::size_t layer, std::int64_t step) const {
        return plan_.settings.training.moves(layer, step);
    }
    void operator()(std::int64_t step, double normaliser, BoxEnd lower, BoxEnd upper,
                    const LevelSums& sums) const {
        const Network& network = plan_.network;
        for (std::size_t l = 0; l < network.layers().size(); ++l) {
            if (!moves(l, step)) continue;
            const std::size_t first = network.offset(l), count = network.layers()[l].parameters();
            const auto part = [&](const BoxEnd& end) {  // an optimiser has one slot a parameter, or none
                return BoxEnd{end.parameters.subspan(first, count),
                              end.slots.empty() ? end.slots : end.slots.subspan(first, count)};
            };
            LevelSums of_layer;
            of_layer.lower = sums.lower.subspan(first, count);
            of_layer.upper = sums.upper.subspan(first, count);
            step_ends(optimiser_, step, normaliser, part(lower), part(upper), of_layer);
        }
    }

  private:
    const TrainingPlan& plan_;
    const Optimiser& optimiser_;
};

/// Records act once an epoch: the state is a core, charged nothing, and T^k is the core +- k R_t.
class ChargesPerEpoch final : public Charges {
  public:
    ChargesPerEpoch(const TrainingPlan& plan, const Optimiser& optimiser, const GradientScale& scale)
        : step_(plan, optimiser),
          batches_(plan.settings.training.batches),
          // c (models/mathematics.md, core and radius): how many Gamma one changed record can move a sum by.
          reach_(replaces(plan.settings.certificate.relation) ? 2 : 1),
          response_of_(plan.network.parameters()) {
        const std::vector<std::int64_t> entries = largest_entries(plan, scale);
        std::map<std::pair<std::size_t, std::int64_t>, std::size_t> known;
        for (std::size_t l = 0, p = 0; l < plan.network.layers().size(); ++l) {
            for (const std::size_t end = p + plan.network.layers()[l].parameters(); p < end; ++p) {
                const auto [at, first] = known.try_emplace({l, entries[p]}, responses_.size());
                if (first) responses_.push_back({l, optimiser.impulse_response(entries[p])});
                response_of_[p] = at->second;
            }
        }
    }

    LevelState box(const LevelState& level) const override {
        LevelState box{level.k, level.lower, level.upper, {}, {}};
        if (level.k == 0) return box;
        std::vector<std::int64_t> radii;
        for (const auto& response : responses_) radii.push_back(response.moved_by->radius());
        for (std::size_t p = 0; p < box.lower.size(); ++p) {
            const std::int64_t radius = radii[response_of_[p]];
            box.lower[p] = widened_lower(box.lower[p], radius, reach_ * level.k);
            box.upper[p] = widened_upper(box.upper[p], radius, reach_ * level.k);
        }
        return box;
    }
    std::int64_t selected(std::int64_t) const override { return 0; }
    void update(std::int64_t step, double normaliser, LevelState& level, LevelSums& sums,
                const Communicator&) const override {
        step_(step, normaliser, {level.lower, level.lower_slots}, {level.upper, level.upper_slots}, sums);
    }
    void advance(std::int64_t step, double normaliser) override {
        const bool first_of_epoch = step % batches_ == 0;
        for (const Response& response : responses_) {
            if (step_.moves(response.layer, step))
                response.moved_by->advance(step, normaliser, first_of_epoch);
        }
    }

  private:
    struct Response {
        std::size_t layer;
        std::unique_ptr<ImpulseResponse> moved_by;
    };
    LayerwiseStep step_;
    std::int64_t batches_, reach_;
    std::vector<std::size_t> response_of_;  // [parameters]
    std::vector<Response> responses_;       // one of each layer and Gamma there are
};

/// Records act in every batch: the state is T^k, and the sum over a neighbour's records lies in
/// [SL - cL(k), SU + cU(k)] (models/mathematics.md, charges).
class ChargesPerBatch final : public Charges {
  public:
    ChargesPerBatch(const TrainingPlan& plan, const Optimiser& optimiser, const GradientScale& scale)
        : step_(plan, optimiser),
          relation_(plan.settings.certificate.relation),
          exactly_k_go_(plan.settings.training.normalise == Normalise::actual),
          entries_(largest_entries(plan, scale)),
          pinned_(plan.network.pinned()) {}

    LevelState box(const LevelState& level) const override {
        return {level.k, level.lower, level.upper, {}, {}};
    }
    std::int64_t selected(std::int64_t k) const override { return relation_ == Relation::add_remove ? 0 : k; }
    void update(std::int64_t step, double normaliser, LevelState& level, LevelSums& sums,
                const Communicator& ranks) const override {
        charge(level.k, sums, ranks);
        step_(step, normaliser, {level.lower, level.lower_slots}, {level.upper, level.upper_slots}, sums);
    }
    void advance(std::int64_t, double) override {}

    /// Widens a level's sums over this dataset to those over every neighbour's. Collective over the ranks.
    void charge(std::int64_t k, LevelSums& sums, const Communicator& ranks) const {
        if (k == 0) return;
        if (relation_ == Relation::add_remove || relation_ == Relation::substitute)
            charge_new_records(k, sums);
        if (relation_ != Relation::add_remove) charge_selected_records(sums, ranks);
        for (const std::size_t p : pinned_) sums.lower[p] = sums.upper[p] = 0;
    }

  private:
    /// What the k records put in their place, or added, can do: k Gamma each way. A removal adds nothing.
    void charge_new_records(std::int64_t k, LevelSums& sums) const {
        for (std::size_t p = 0; p < sums.lower.size(); ++p) {
            const std::int64_t gamma = k * entries_[p];
            sums.lower[p] -= gamma;
            sums.upper[p] += gamma;
        }
    }
    /// What the k records did that are gone: at most minus the least of their upper bounds. Of removals up to
    /// k, only those that gain are counted; as published (actual), exactly k are gone. What k poisoned
    /// records could add is offered negated, and so charged alike (models/mathematics.md, poisoned sums).
    void charge_selected_records(LevelSums& sums, const Communicator& ranks) const {
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

    LayerwiseStep step_;
    Relation relation_;
    bool exactly_k_go_;
    std::vector<std::int64_t> entries_;  // [parameters]: Gamma
    std::vector<std::size_t> pinned_;    // no record moves them
};

/// Either budget encloses, so T^k is what the core's box and the charged one have in common, and both take
/// their next step with the sums over it (models/mathematics.md, both budgets).
class ChargesOfBoth final : public Charges {
  public:
    ChargesOfBoth(const TrainingPlan& plan, const Optimiser& optimiser, const GradientScale& scale)
        : step_(plan, optimiser), per_epoch_(plan, optimiser, scale), per_batch_(plan, optimiser, scale) {}

    LevelState box(const LevelState& level) const override {
        LevelState box = per_epoch_.box(level);
        if (level.k == 0) return box;
        for (std::size_t p = 0; p < box.lower.size(); ++p) {
            box.lower[p] = std::max(box.lower[p], level.charged_lower[p]);
            box.upper[p] = std::min(box.upper[p], level.charged_upper[p]);
        }
        return box;
    }
    std::int64_t selected(std::int64_t k) const override { return per_batch_.selected(k); }
    void update(std::int64_t step, double normaliser, LevelState& level, LevelSums& sums,
                const Communicator& ranks) const override {
        LevelState common = box(level);
        per_epoch_.update(step, normaliser, level, sums, ranks);
        if (level.k == 0) return;
        per_batch_.charge(level.k, sums, ranks);
        level.charged_lower = std::move(common.lower);
        level.charged_upper = std::move(common.upper);
        step_(step, normaliser, {level.charged_lower, level.charged_lower_slots},
              {level.charged_upper, level.charged_upper_slots}, sums);
    }
    void advance(std::int64_t step, double normaliser) override { per_epoch_.advance(step, normaliser); }

  private:
    LayerwiseStep step_;
    ChargesPerEpoch per_epoch_;
    ChargesPerBatch per_batch_;
};

}  // namespace

void step_ends(const Optimiser& optimiser, std::int64_t step, double normaliser, BoxEnd lower, BoxEnd upper,
               const LevelSums& sums) {
    optimiser.before(step, lower, upper);
    optimiser.update(step, normaliser, lower, sums.upper);
    optimiser.update(step, normaliser, upper, sums.lower);
}

std::unique_ptr<Charges> make_charges(const TrainingPlan& plan, const Optimiser& optimiser) {
    const GradientScale scale = plan.gradient_scale();
    const ChargeRule rule = plan.settings.certificate.charge_rule;
    if (rule == ChargeRule::per_epoch) return std::make_unique<ChargesPerEpoch>(plan, optimiser, scale);
    if (rule == ChargeRule::per_batch) return std::make_unique<ChargesPerBatch>(plan, optimiser, scale);
    return std::make_unique<ChargesOfBoth>(plan, optimiser, scale);
}

}  // namespace holdfast
