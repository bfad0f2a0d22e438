#include "models/noisy/noisy_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/base/error.hpp"
#include "models/nets/dropout.hpp"
#include "models/noisy/noise_copies.hpp"
#include "models/noisy/spectral_limit.hpp"
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
    : sampling(run.derived("sampling", "")),
      noise(run.derived("noise", "")),
      augment(run.derived("augment", "")) {}

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
    if (plan.settings.clips_one_vector()) robust_sums_.emplace(plan, *records_, secrets.augment);
    ensure(plan.backend->precision() == plan.settings.training.precision,
           "the backend has the precision of the settings");
}

NoisyState NoisyTrainer::fresh_state(const TrainingPlan& plan) {
    NoisyState state;
    state.parameters = plan.initial_parameters(0);
    state.slots = make_optimiser(plan.settings.training, plan.gradient_scale().exponent)
                      ->initial_slots(state.parameters);
    state.average = IterateAverage(state.parameters.size());
    return state;
}

void NoisyTrainer::step(const Communicator& ranks, PhaseTimes& times) {
    const NoisyStepSums sums = sums_of_step(ranks, times);
    Stopwatch watch;
    std::vector<std::int64_t> total = noised(sums.sums);
    const bool centred = plan_.settings.noise.centre > 0;
    if (centred && state_.centre.empty()) {
        state_.centre = measured_centre(total);
    } else {
        update(std::move(total));
        // At most 2^31 iterates (check of the settings), so no sum leaves an int64.
        const std::int64_t learning = steps() - (centred ? 1 : 0);
        if (state_.step >= steps() - averaged_steps(plan_.settings.noise.average, learning))
            state_.average.add(state_.parameters);
    }
    state_.metrics.push_back(StepMetrics::of_point(plan_.settings.training, state_.step, sums.records,
                                                   sums.correct, plan_.network.layers().size()));
    ++state_.step;
    times.update += watch.lap();
    if (done()) sums_.release();
}

NoisyStepSums NoisyTrainer::sums_of_step(const Communicator& ranks, PhaseTimes& times) {
    const StepRecords records{sample_.of_step(state_.step), public_batches_.of_step(state_.step)};
    if (robust_sums_) {
        Stopwatch watch;
        NoisyStepSums sums =
            robust_sums_->of({state_.parameters, state_.centre, state_.step}, records.private_ones, ranks);
        times.sums += watch.lap();
        return sums;
    }
    return plan_.settings.robust.one_noise_copy() ? sums_of_copies(records.private_ones, ranks, times)
                                                  : sums_by(sums_, records, ranks, times);
}

NoisyStepSums NoisyTrainer::sums_by(GradientSums& sums_of, const StepRecords& records,
                                    const Communicator& ranks, PhaseTimes& times) const {
    sums_of.set_dropout(dropout_factors(plan_.network,
                                        static_cast<std::uint64_t>(plan_.settings.training.seed), 0,
                                        static_cast<std::uint64_t>(state_.step)));
    const Variant nominal{state_.parameters.data(), state_.parameters.data()};
    const StepSums sums = sums_of.of({&nominal, 1}, records, ranks, times);
    const LevelSums& level = sums.levels.front();
    return {{level.lower.begin(), level.lower.end()}, sums.records, level.surely_correct};
}

NoisyStepSums NoisyTrainer::sums_of_copies(std::span<const std::uint32_t> taken, const Communicator& ranks,
                                           PhaseTimes& times) const {
    const Records none = records_->none(),
                  copies = noise_copies(*records_, taken, plan_.network.transform(),
                                        plan_.settings.robust.noise, secrets_.augment, state_.step);
    std::vector<std::uint32_t> all(copies.size());
    std::iota(all.begin(), all.end(), 0);
    GradientSums sums(plan_, copies, none);
    return sums_by(sums, {all, {}}, ranks, times);
}

std::vector<std::int64_t> NoisyTrainer::noised(std::span<const std::int64_t> sums) const {
    std::vector<std::int64_t> total(sums.size(), 0);
    if (noise_) noise_->fill(total, secrets_.noise, static_cast<std::uint64_t>(state_.step));
    for (std::size_t p = 0; p < sums.size(); ++p) total[p] = cut(total[p] + cut(sums[p]));
    return total;
}

std::vector<double> NoisyTrainer::measured_centre(std::span<const std::int64_t> total) const {
    const Settings& settings = plan_.settings;
    const double unit = std::ldexp(1.0, plan_.gradient_scale().exponent) / settings.clip.norm_limit *
                        settings.noise.centre / plan_.normaliser;
    std::vector<double> centre(plan_.network.inputs());
    for (std::size_t i = 0; i < centre.size(); ++i) centre[i] = static_cast<double>(total[i]) * unit;
    return centre;
}

/// By inputs less a centre c, W (x - c) + b: in terms of W x + b' what moves W takes W c from b'.
void NoisyTrainer::update(std::vector<std::int64_t> total) {
    const std::vector<double>& centre = state_.centre;
    const std::size_t outputs = centre.empty() ? 0 : plan_.network.layers().front().out;
    for (std::size_t o = 0; o < outputs; ++o) {
        std::int64_t* const row = &total[o * (centre.size() + 1)];
        double moved = 0;
        for (std::size_t i = 0; i < centre.size(); ++i) moved += centre[i] * static_cast<double>(row[i]);
        const auto limit = static_cast<double>(greatest_sum);
        row[centre.size()] =
            cut(row[centre.size()] - static_cast<std::int64_t>(std::rint(std::clamp(moved, -limit, limit))));
    }
    const BoxEnd point{state_.parameters, state_.slots};
    optimiser_->before(state_.step, point, point);
    optimiser_->update(state_.step, plan_.normaliser, point, total);
    if (const double limit = plan_.settings.robust.lipschitz; limit > 0)
        limit_spectral_norms(plan_.network, limit, state_.parameters);
}

std::vector<std::int64_t> NoisyTrainer::result() const {
    ensure(done(), "noisy training is done");
    return state_.average.rounded_down();
}

}  // namespace holdfast
