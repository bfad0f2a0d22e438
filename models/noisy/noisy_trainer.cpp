#include "models/noisy/noisy_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/error.hpp"
#include "models/training/archive.hpp"

namespace holdfast {
namespace {

/// Sums are cut to this before and after noise is added (GaussianNoise says why the cut loses nothing).
constexpr std::int64_t greatest_sum = std::int64_t{1} << 61;
static_assert(greatest_sum <= INT64_MAX - GaussianNoise::greatest, "a cut sum and noise fit an int64");

std::int64_t cut(std::int64_t sum) {
    return std::clamp(sum, -greatest_sum, greatest_sum);
}

/// In units of 2^-32; check(settings) has seen that it is a multiple.
std::uint64_t sampling_threshold(const Settings& settings) {
    return static_cast<std::uint64_t>(std::ldexp(settings.step_share(), 32));
}

std::optional<GaussianNoise> noise_of(const TrainingPlan& plan) {
    if (plan.settings.noise.law == NoiseSettings::Law::none) return std::nullopt;
    return GaussianNoise(noise_in_units(plan));
}

}  // namespace

NoisySecrets::NoisySecrets(const SecretKey& run)
    : sampling(run.derived("sampling", "")), noise(run.derived("noise", "")) {}

double noise_in_units(const TrainingPlan& plan) {
    const auto sensitivity = static_cast<double>(plan.gradient_scale().weight_units);
    return std::nextafter(plan.settings.noise.multiplier * sensitivity, INFINITY);
}

std::vector<std::byte> NoisyState::packed() const {
    return archived(*this);
}

NoisyState NoisyState::unpacked(std::span<const std::byte> bytes) {
    return from_archive<NoisyState>(bytes);
}

NoisyTrainer::NoisyTrainer(const TrainingPlan& plan, Records records, const Records& public_records,
                           const NoisySecrets& secrets, NoisyState state)
    : plan_(plan),
      secrets_(secrets),
      records_(std::make_unique<const Records>(std::move(records))),
      optimiser_(make_optimiser(plan.settings.training, plan.gradient_scale().exponent)),
      noise_(noise_of(plan)),
      sample_(secrets.sampling, sampling_threshold(plan.settings), records_->ids),
      public_batches_(plan.settings.training, public_records),
      sums_(plan, *records_, public_records),
      state_(std::move(state)) {
    ensure(plan.backend->precision() == plan.settings.training.precision,
           "the backend has the precision of the settings");
}

NoisyState NoisyTrainer::fresh_state(const TrainingPlan& plan) {
    NoisyState state;
    state.parameters =
        plan.network.initial_parameters(static_cast<std::uint64_t>(plan.settings.training.seed), 0);
    const std::size_t count = state.parameters.size();
    const TrainingSettings& training = plan.settings.training;
    state.slots.assign(make_optimiser(training, plan.gradient_scale().exponent)->slots() * count, 0);
    state.high_sums.assign(count, 0);
    state.low_sums.assign(count, 0);
    return state;
}

void NoisyTrainer::step(const Communicator& ranks, PhaseTimes& times) {
    const Variant point{state_.parameters.data(), state_.parameters.data()};
    const StepRecords records{sample_.of_step(state_.step), public_batches_.of_step(state_.step)};
    const StepSums sums = sums_.of({&point, 1}, records, ranks, times);
    Stopwatch watch;
    const std::vector<std::int64_t> total = noised(sums.levels.front().lower);
    optimiser_->update(state_.step, plan_.normaliser, {state_.parameters, state_.slots}, total);
    if (state_.step >= first_averaged()) add_to_average();
    record_metrics(sums);
    ++state_.step;
    times.update += watch.lap();
    if (done()) sums_.release();
}

std::vector<std::int64_t> NoisyTrainer::noised(std::span<const std::int64_t> sums) const {
    std::vector<std::int64_t> total(sums.size(), 0);
    if (noise_) noise_->fill(total, secrets_.noise, static_cast<std::uint64_t>(state_.step));
    for (std::size_t p = 0; p < sums.size(); ++p) total[p] = cut(total[p] + cut(sums[p]));
    return total;
}

std::int64_t NoisyTrainer::first_averaged() const {
    const auto averaged =
        static_cast<std::int64_t>(std::ceil(plan_.settings.noise.average * static_cast<double>(steps())));
    return steps() - std::max<std::int64_t>(averaged, 1);
}

// At most 2^31 iterates (check of the settings), so neither sum leaves an int64.
void NoisyTrainer::add_to_average() {
    for (std::size_t p = 0; p < state_.parameters.size(); ++p) {
        state_.high_sums[p] += state_.parameters[p] >> 32;
        state_.low_sums[p] += state_.parameters[p] & 0xffffffff;
    }
}

std::vector<std::int64_t> NoisyTrainer::result() const {
    ensure(done(), "noisy training is done");
    const __int128 iterates = steps() - first_averaged();
    std::vector<std::int64_t> average(state_.parameters.size());
    for (std::size_t p = 0; p < average.size(); ++p) {
        const __int128 sum = (static_cast<__int128>(state_.high_sums[p]) << 32) + state_.low_sums[p];
        const __int128 quotient = sum / iterates;
        average[p] = static_cast<std::int64_t>(quotient - (sum < 0 && quotient * iterates != sum ? 1 : 0));
    }
    return average;
}

void NoisyTrainer::record_metrics(const StepSums& sums) {
    StepMetrics metrics = StepMetrics::of(plan_.settings.training, state_.step, sums.records);
    metrics.correct = metrics.surely_correct = metrics.possibly_correct = sums.levels.front().surely_correct;
    metrics.width_mean = metrics.width_max = 0;
    metrics.layer_width_mean.assign(plan_.network.layers().size(), 0);
    metrics.layer_width_max = metrics.charge_share = metrics.layer_width_mean;
    metrics.undecided.assign(plan_.network.layers().size() - 1, 0);
    state_.metrics.push_back(std::move(metrics));
}

}  // namespace holdfast
