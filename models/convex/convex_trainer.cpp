#include "models/convex/convex_trainer.hpp"

#include <utility>

#include "kernels/base/error.hpp"
#include "models/convex/convex_bounds.hpp"
#include "models/training/archive.hpp"

namespace holdfast {

std::vector<std::byte> ConvexState::packed() const {
    return archived(*this);
}

ConvexState ConvexState::unpacked(std::span<const std::byte> bytes) {
    return from_archive<ConvexState>(bytes);
}

std::int64_t counted_sum(std::int64_t sum, std::int64_t records, std::int64_t most_records) {
    if (records > most_records) return 0;
    const __int128 most = most_records, counted = __int128{sum} * (most + 1 - records) * 2 + most;
    const __int128 quotient = counted / (2 * most);
    return static_cast<std::int64_t>(quotient - (counted < 0 && quotient * 2 * most != counted ? 1 : 0));
}

ConvexTrainer::ConvexTrainer(const TrainingPlan& plan, Records records, const Records& public_records,
                             ConvexState state)
    : plan_(plan),
      most_records_(most_records_of(plan.settings)),
      records_(std::make_unique<const Records>(std::move(records))),
      optimiser_(make_sgd(plan.settings.training, plan.gradient_scale().exponent)),
      proximal_(plan.settings, plan.network.biases()),
      batches_(plan.settings.training, *records_),
      public_batches_(plan.settings.training, public_records),
      sums_(plan, *records_, public_records),
      state_(std::move(state)) {
    if (plan.settings.certificate.relation == Relation::remove && state_.step == 0)
        removals_ = std::make_unique<Removals>(plan, *records_);
    ensure(plan.backend->precision() == Precision::double_precision, "convex training is in double");
}

ConvexState ConvexTrainer::fresh_state(const TrainingPlan& plan) {
    ConvexState state;
    state.parameters.assign(plan.network.parameters(), 0);
    state.average = IterateAverage(state.parameters.size());
    return state;
}

void ConvexTrainer::step(const Communicator& ranks, PhaseTimes& times) {
    const Variant point{state_.parameters.data(), state_.parameters.data()};
    const StepRecords records{batches_.of_step(state_.step), public_batches_.of_step(state_.step)};
    StepSums sums = sums_.of({&point, 1}, records, ranks, times);
    Stopwatch watch;
    if (removals_) removals_->add(state_.step, state_.parameters, records.private_ones, sums);
    const std::span<std::int64_t> sum = sums.levels.front().lower;
    for (std::int64_t& entry : sum) entry = counted_sum(entry, sums.records, most_records_);
    optimiser_->update(state_.step, plan_.normaliser, {state_.parameters, {}}, sum);
    proximal_.apply(state_.step, state_.parameters);
    // At most 2^31 iterates (check of the settings), so no sum leaves an int64.
    if (state_.step >= steps() - averaged_steps(plan_.settings.convex.average, steps()))
        state_.average.add(state_.parameters);
    state_.metrics.push_back(StepMetrics::of_point(plan_.settings.training, state_.step, sums.records,
                                                   sums.levels.front().surely_correct, 1));
    ++state_.step;
    times.update += watch.lap();
    if (done()) sums_.release();
}

std::vector<std::int64_t> ConvexTrainer::result() const {
    ensure(done(), "convex training is done");
    return state_.average.rounded_down();
}

}  // namespace holdfast
