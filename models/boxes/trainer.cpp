#include "models/boxes/trainer.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/base/error.hpp"
#include "models/nets/dropout.hpp"

namespace holdfast {
namespace {

/// [layers]: the sum of upper - lower over a layer's parameters, in the units of both, in one order.
std::vector<double> layer_widths(const Network& network, std::span<const std::int64_t> lower,
                                 std::span<const std::int64_t> upper) {
    std::vector<double> widths;
    std::size_t p = 0;
    for (const LayerShape& layer : network.layers()) {
        double sum = 0;
        for (const std::size_t end = p + layer.parameters(); p < end; ++p)  // sums may lie 2^63 apart
            sum += static_cast<double>(static_cast<std::uint64_t>(upper[p]) -
                                       static_cast<std::uint64_t>(lower[p]));
        widths.push_back(sum);
    }
    return widths;
}

/// The part of a width that came to it by charging; where removals leave no more than there was, none.
double share_of_charge(double uncharged, double charged) {
    return charged > uncharged ? 1 - uncharged / charged : 0.0;
}

std::unique_ptr<Optimiser> optimiser_of(const TrainingPlan& plan) {
    return make_optimiser(plan.settings.training, plan.gradient_scale().exponent);
}

}  // namespace

MemberTrainer::MemberTrainer(const TrainingPlan& plan, Records records, const Records& public_records,
                             MemberState state)
    : plan_(plan),
      records_(std::make_unique<const Records>(std::move(records))),
      optimiser_(optimiser_of(plan)),
      charges_(make_charges(plan, *optimiser_)),
      batches_(plan.settings.training, *records_),
      public_batches_(plan.settings.training, public_records),
      sums_(plan, *records_, public_records),
      validation_(plan),
      state_(std::move(state)) {
    ensure(plan.backend->precision() == plan.settings.training.precision,
           "the backend has the precision of the settings");
    for (std::int64_t step = 0; step < state_.step; ++step) charges_->advance(step, state_.normalisers[step]);
}

MemberState MemberTrainer::fresh_state(const TrainingPlan& plan, std::uint64_t member) {
    return state_at(plan, member, plan.initial_parameters(member));
}

MemberState MemberTrainer::state_at(const TrainingPlan& plan, std::uint64_t member,
                                    const std::vector<std::int64_t>& initial) {
    MemberState state;
    state.member = member;
    const std::vector<std::int64_t> slots = optimiser_of(plan)->initial_slots(initial);
    for (const std::int64_t k : plan.levels) {
        state.levels.push_back({k, initial, initial, slots, slots});
        if (k > 0 && plan.settings.certificate.charge_rule == ChargeRule::both) {
            LevelState& level = state.levels.back();
            level.charged_lower = level.charged_upper = initial;
            level.charged_lower_slots = level.charged_upper_slots = slots;
        }
    }
    return state;
}

MemberState MemberTrainer::fresh_state(const TrainingPlan& plan, std::uint64_t member,
                                       const Records& public_records) {
    const Records no_records{FeatureMatrix(public_records.features.columns(), true), {}, {}, {}};
    PublicBatches batches(plan.settings.training, public_records);
    GradientSums sums(plan, no_records, public_records);
    TrainingSettings before = plan.settings.training;  // a training of its own, of so many steps
    before.epochs = before.public_steps;
    before.batches = 1;
    const auto optimiser = make_optimiser(before, plan.gradient_scale().exponent);
    const auto alone = make_serial_communicator();
    PhaseTimes times;
    LevelState point = fresh_state(plan, member).levels.front();
    for (std::int64_t step = 0; step < plan.settings.training.public_steps; ++step) {
        const Variant variant{point.lower.data(), point.lower.data()};
        const StepSums taken = sums.of({&variant, 1}, {{}, batches.of_step(step)}, *alone, times);
        step_ends(*optimiser, step, static_cast<double>(taken.records), {point.lower, point.lower_slots},
                  {point.upper, point.upper_slots}, taken.levels.front());
    }
    return state_at(plan, member, point.lower);
}

// Before the first step every box is the initial point, whatever its level.
bool MemberTrainer::all_levels_equal() const {
    return state_.step == 0 &&
           std::none_of(state_.levels.begin(), state_.levels.end(),
                        [&](const LevelState& level) { return charges_->selected(level.k) > 0; });
}

/// Of every level; of one alone where all are alike.
StepSums MemberTrainer::sums_of_step(const Communicator& block_group, PhaseTimes& times) {
    Stopwatch watch;
    const bool alike = all_levels_equal();
    std::vector<LevelState> boxes;
    for (std::size_t level = 0; level < (alike ? 1 : state_.levels.size()); ++level)
        boxes.push_back(box(level));
    std::vector<Variant> variants;
    for (const LevelState& box : boxes) {
        const bool point = box.k == 0 || alike;
        variants.push_back({box.lower.data(), point ? box.lower.data() : box.upper.data(),
                            static_cast<std::size_t>(charges_->selected(box.k))});
    }
    sums_.set_dropout(dropout_factors(plan_.network, static_cast<std::uint64_t>(plan_.settings.training.seed),
                                      state_.member, static_cast<std::uint64_t>(state_.step)));
    const StepRecords records{batches_.of_step(state_.step), public_batches_.of_step(state_.step)};
    times.update += watch.lap();
    StepSums sums = sums_.of(variants, records, block_group, times);
    return alike ? sums.repeated(state_.levels.size()) : std::move(sums);
}

double MemberTrainer::normaliser_of(std::int64_t k, std::int64_t records_in_batch) const {
    if (plan_.settings.training.normalise == Normalise::expected) return plan_.normaliser;
    const std::int64_t gone = plan_.settings.certificate.relation == Relation::remove ? k : 0;
    if (records_in_batch <= gone) {
        throw Error(ExitCode::input,
                    "a batch of " + std::to_string(records_in_batch) + " records, of which " +
                        std::to_string(gone) + " may go, cannot be averaged",
                    "use normalise = \"expected\" or larger batches", "training.normalise");
    }
    return static_cast<double>(records_in_batch - gone);
}

void MemberTrainer::step(const Communicator& block_group, PhaseTimes& times) {
    StepSums sums = sums_of_step(block_group, times);
    Stopwatch watch;
    const std::vector<double> uncharged =
        layer_widths(plan_.network, sums.levels.back().lower, sums.levels.back().upper);
    for (std::size_t index = 0; index < state_.levels.size(); ++index) {
        LevelState& level = state_.levels[index];
        charges_->update(state_.step, normaliser_of(level.k, sums.records), level, sums.levels[index],
                         block_group);
    }
    const double nominal_normaliser = normaliser_of(0, sums.records);
    charges_->advance(state_.step, nominal_normaliser);
    state_.normalisers.push_back(nominal_normaliser);
    record_metrics(sums, uncharged);
    ++state_.step;
    if (validation_.due(state_.step))
        state_.metrics.back().validation = validation_.of(box(0), box(state_.levels.size() - 1));
    times.update += watch.lap();
    if (done()) sums_.release();  // members train one after the other, and each wants a device's memory
}

void MemberTrainer::record_metrics(const StepSums& sums, const std::vector<double>& uncharged) {
    StepMetrics metrics = StepMetrics::of(plan_.settings.training, state_.step, sums.records);
    metrics.level = state_.levels.back().k;
    if (!plan_.network.is_regression()) {  // which is never right
        if (state_.levels.front().k == 0) metrics.correct = sums.levels.front().surely_correct;
        metrics.surely_correct = sums.levels.back().surely_correct;
        metrics.possibly_correct = sums.levels.back().possibly_correct;
    }
    const LevelState widest = box(state_.levels.size() - 1);
    double total = 0;
    for (std::size_t p = 0; p < widest.lower.size(); ++p)
        total += parameter_value(widest.upper[p] - widest.lower[p]);
    metrics.width_mean = total / static_cast<double>(widest.lower.size());
    record_layers(sums, uncharged, widest, metrics);
    metrics.width_max = *std::max_element(metrics.layer_width_max.begin(), metrics.layer_width_max.end());
    state_.metrics.push_back(std::move(metrics));
}

/// Of the largest level, whose sums had the widths `uncharged` before they were charged.
void MemberTrainer::record_layers(const StepSums& sums, const std::vector<double>& uncharged,
                                  const LevelState& widest, StepMetrics& metrics) const {
    const std::vector<Layer>& layers = plan_.network.layers();
    const LevelState& core = state_.levels.back();
    const std::vector<double> charged =
        layer_widths(plan_.network, sums.levels.back().lower, sums.levels.back().upper);
    const std::vector<double> of_core = layer_widths(plan_.network, core.lower, core.upper);
    const std::vector<double> of_box = layer_widths(plan_.network, widest.lower, widest.upper);
    const bool has_core = plan_.settings.certificate.charge_rule != ChargeRule::per_batch;
    for (std::size_t l = 0; l < layers.size(); ++l) {
        std::int64_t largest = 0;
        const std::size_t first = plan_.network.offset(l);
        for (std::size_t p = first; p < first + layers[l].parameters(); ++p)
            largest = std::max(largest, widest.upper[p] - widest.lower[p]);
        const auto parameters = static_cast<double>(layers[l].parameters());
        metrics.layer_width_mean.push_back(of_box[l] * parameter_unit / parameters);
        metrics.layer_width_max.push_back(parameter_value(largest));
        if (has_core) {
            metrics.charge_share.push_back(share_of_charge(of_core[l], of_box[l]));
        } else {  // of the sums that it took
            const bool moved = plan_.settings.training.moves(l, state_.step);
            metrics.charge_share.push_back(moved ? share_of_charge(uncharged[l], charged[l]) : 0.0);
        }
    }
    for (std::size_t l = 0; l < sums.undecided.size(); ++l) {
        const auto activations =
            static_cast<double>(sums.records) * static_cast<double>(layers[l].weighted_rows());
        metrics.undecided.push_back(activations > 0 ? static_cast<double>(sums.undecided[l]) / activations
                                                    : 0.0);
    }
}

}  // namespace holdfast
