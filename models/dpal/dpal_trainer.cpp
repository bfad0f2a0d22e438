#include "models/dpal/dpal_trainer.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/base/streams.hpp"
#include "kernels/base/threads.hpp"

namespace holdfast {
namespace {

const std::vector<std::string> ensemble{"ifgsm", "mim", "pgd"};  // A

std::int64_t units_of(double value, double unit) {
    return static_cast<std::int64_t>(std::nearbyint(std::clamp(value / unit, -0x1p60, 0x1p60)));
}

/// Neither h = theta_1^T x nor z = h_pi W has biases.
void clear_biases(const Network& network, std::size_t layer, std::vector<std::int64_t>& of) {
    const LayerShape shape = network.layers()[layer];
    for (std::size_t o = 0; o < shape.out; ++o) of[network.offset(layer) + o * (shape.in + 1) + shape.in] = 0;
}

}  // namespace

struct DpalTrainer::Part {
    std::vector<std::uint32_t> rows;
    std::string attack;  ///< empty: none
    double weight;
};

DpalTrainer::DpalTrainer(const TrainingPlan& plan, Records records, NoisyState state)
    : plan_(plan),
      records_(std::make_unique<const Records>(std::move(records))),
      optimiser_(make_optimiser(plan.settings.training, plan.gradient_scale().exponent)),
      batches_(plan.settings.training, *records_),
      noise_(plan.settings, plan.network, plan.normaliser),
      state_(std::move(state)) {}

NoisyState DpalTrainer::fresh_state(const TrainingPlan& plan) {
    NoisyState state;
    state.parameters = plan.initial_parameters(0);
    for (const std::size_t layer : {std::size_t{0}, plan.network.layers().size() - 1})
        clear_biases(plan.network, layer, state.parameters);
    state.slots = make_optimiser(plan.settings.training, plan.gradient_scale().exponent)
                      ->initial_slots(state.parameters);
    return state;
}

auto DpalTrainer::parts_of(std::span<const std::uint32_t> benign,
                           std::span<const std::uint32_t> adversarial) const -> std::vector<Part> {
    const double xi = plan_.settings.dpal.weight;
    const bool both = plan_.settings.dpal.variant == "dpal";
    std::vector<Part> parts;
    const auto add_parts = [&](std::span<const std::uint32_t> rows, std::size_t first, std::size_t stride,
                               const std::string& attack, double weight) {
        for (std::size_t i = first; i < rows.size(); i += stride) {
            if (parts.empty() || parts.back().attack != attack || parts.back().rows.size() == panel_height)
                parts.push_back({{}, attack, weight});
            parts.back().rows.push_back(rows[i]);
        }
    };
    add_parts(benign, 0, 1, "", both ? 1 / (1 + xi) : 1);
    for (std::size_t a = 0; both && a < ensemble.size(); ++a)
        add_parts(adversarial, a, ensemble.size(), ensemble[a], xi / (1 + xi));
    return parts;
}

void DpalTrainer::add(const Part& part, const PackedNetwork<double>& parameters, DpalPass& pass,
                      std::vector<double>& x, Sums& sums) const {
    const Settings& settings = plan_.settings;
    const DpalSettings& dpal = settings.dpal;
    const std::size_t count = part.rows.size(), last = plan_.network.outputs();
    const auto step = static_cast<std::uint64_t>(state_.step);
    const KeyedHash hash{static_cast<std::uint64_t>(settings.training.seed)};
    std::uint64_t ids[panel_height];
    for (std::size_t r = 0; r < count; ++r) ids[r] = records_->ids[part.rows[r]];
    pass.load(records_->view(), part.rows, x.data());
    const LayerNoise noise = noise_.of_training(state_.parameters, step, ids, count);
    if (!part.attack.empty()) {  // mu_t in (0, 1]; no range is stated
        const double mu = 1 - hash.uniform(streams::dpal_starts(step), UINT64_MAX);
        pass.climb(parameters, noise,
                   {part.attack, mu, dpal.steps, {-INFINITY, INFINITY}, hash, streams::dpal_starts(step)},
                   nullptr, ids, count, x.data());
    }
    pass.forward(parameters, x.data(), noise);
    const bool softmax = dpal.variant == "pixel_dp" || dpal.variant == "secure_sgd";
    pass.backward(parameters, count, [&](std::size_t r, double* slopes) {
        const auto label = static_cast<std::size_t>(records_->labels[part.rows[r]]);
        const std::vector<double> scores = softmax ? pass.scores(r) : std::vector<double>();
        for (std::size_t k = 0; k < last; ++k) {
            const double y = k == label ? 1 : 0;
            slopes[k] = part.weight * (softmax ? scores[k] - y
                                               : taylor_slope(pass.logits()[k * panel_height + r], y,
                                                              dpal.taylor == "corrected"));
        }
        if (part.attack.empty()) sums.correct += pass.predicted(r) == label ? 1 : 0;
    });
    const bool encodes = dpal.variant == "dpal";
    pass.add_gradients(encodes ? 1 : 0, plan_.clip(), count, sums.gradient.data());
    if (encodes) pass.add_reconstruction(parameters, count, sums.reconstruction.data());
    sums.weight += part.weight * static_cast<double>(count);
    if (part.attack.empty()) sums.records += static_cast<std::int64_t>(count);
}

auto DpalTrainer::sums_of(std::span<const std::uint32_t> benign,
                          std::span<const std::uint32_t> adversarial) const -> Sums {
    const Network& network = plan_.network;
    const std::vector<Part> parts = parts_of(benign, adversarial);
    const PackedNetwork<double> parameters = DpalPass(network.shape()).pack(state_.parameters);
    const std::size_t first = network.layers().front().parameters();
    // Of each part its own, added in their order: the same bytes by however many threads.
    std::vector<Sums> each(parts.size());
    ThreadFailure failure;
    const int threads =
        threads_for(4.0 * static_cast<double>(panel_height * parts.size() * network.shape().products()));
#pragma omp parallel num_threads(threads)
    {
        std::optional<DpalPass> pass;
        std::vector<double> x(network.inputs() * panel_height);
        failure.guard([&] { pass.emplace(network.shape()); });
#pragma omp for schedule(dynamic)
        for (std::size_t i = 0; i < parts.size(); ++i) {
            failure.guard([&] {
                if (!pass) return;
                each[i] = {std::vector<std::int64_t>(network.parameters()), std::vector<double>(first)};
                add(parts[i], parameters, *pass, x, each[i]);
            });
        }
    }
    failure.rethrow();
    Sums all{std::vector<std::int64_t>(network.parameters()), std::vector<double>(first)};
    for (const Sums& one : each) {
        for (std::size_t p = 0; p < all.gradient.size(); ++p) all.gradient[p] += one.gradient[p];
        for (std::size_t p = 0; p < first; ++p) all.reconstruction[p] += one.reconstruction[p];
        all.weight += one.weight;
        all.records += one.records;
        all.correct += one.correct;
    }
    // -(h_pi y_k + chi_3/m) . W_k of every record: one noise for all classes.
    const double unit = std::ldexp(1.0, plan_.gradient_scale().exponent);
    const std::vector<double>& chi = noise_.labels();
    const std::size_t last = network.layers().size() - 1;
    for (std::size_t k = 0; k < network.outputs(); ++k)
        for (std::size_t i = 0; i < chi.size(); ++i)
            all.gradient[network.offset(last) + k * (chi.size() + 1) + i] -=
                units_of(all.weight * chi[i], unit);
    return all;
}

void DpalTrainer::step(const Communicator&, PhaseTimes& times) {
    Stopwatch watch;
    const Settings& settings = plan_.settings;
    const TrainingSettings& training = settings.training;
    const std::int64_t batch = state_.step % training.batches,
                       other = state_.step - batch + (batch + 1) % training.batches;
    const std::span<const std::uint32_t> mine = batches_.of_step(state_.step);
    Sums sums = sums_of(mine, batches_.of_step(other));
    times.sums += watch.lap();

    const Network& network = plan_.network;
    const double unit = std::ldexp(1.0, plan_.gradient_scale().exponent);
    // Of the mean over the terms of the reconstruction, so that a rate serves any number of features.
    const Layer& first = network.layers().front();
    const double rate = settings.dpal.encoder_rate / static_cast<double>(first.positions() * first.in) /
                        training.learning_rate_at(state_.step);
    for (std::size_t p = 0; settings.dpal.variant == "dpal" && p < sums.reconstruction.size(); ++p)
        sums.gradient[p] = units_of(rate * sums.reconstruction[p], unit);
    if (settings.dpal.variant == "secure_sgd") {
        const KeyedHash hash{static_cast<std::uint64_t>(training.seed)};
        const double sigma = noise_in_units(plan_);
        for (std::size_t p = 0; p < sums.gradient.size(); ++p)
            sums.gradient[p] += static_cast<std::int64_t>(
                sigma * hash.normal(streams::dpal_gradients(static_cast<std::uint64_t>(state_.step)), p));
    }
    for (const std::size_t layer : {std::size_t{0}, network.layers().size() - 1})
        clear_biases(network, layer, sums.gradient);
    const BoxEnd point{state_.parameters, state_.slots};
    optimiser_->before(state_.step, point, point);
    optimiser_->update(state_.step, plan_.normaliser, point, sums.gradient);
    state_.metrics.push_back(
        StepMetrics::of_point(training, state_.step, sums.records, sums.correct, network.layers().size()));
    ++state_.step;
    times.update += watch.lap();
}

}  // namespace holdfast
