#include "models/dpal/dpal_noise.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/arithmetic.hpp"
#include "kernels/base/streams.hpp"

namespace holdfast {
namespace {

constexpr double pixel_delta = 0.05;  // of PixelDP's text, as its e = 1

/// Laplace noise of scale 1, as published in floating point.
double laplace(const KeyedHash& hash, std::uint64_t stream, std::uint64_t counter) {
    const double u = hash.uniform(stream, counter) - 0.5 + 0x1p-54;
    return u < 0 ? std::log1p(2 * u) : -std::log1p(-2 * u);
}

std::vector<double> laplaces(const KeyedHash& hash, std::uint64_t stream, std::size_t first,
                             std::size_t count, double scale) {
    std::vector<double> noise(count);
    for (std::size_t i = 0; i < count; ++i) noise[i] = scale * laplace(hash, stream, first + i);
    return noise;
}

KeyedHash hash_of(const Settings& settings) {
    return {static_cast<std::uint64_t>(settings.training.seed)};
}

/// What the weights of the public start that read each row, or give it, come to: the relevance of a feature,
/// or of a unit, which adlm and secure_sgd would measure of the private records.
std::vector<double> weights_of(const Network& network, std::uint64_t seed, bool of_units) {
    const Layer& layer = network.layers().front();
    const std::vector<std::int64_t> start = network.initial_parameters(seed, 0);
    std::vector<double> sums(of_units ? layer.weighted_rows() : network.inputs());
    for_each_weight(layer, [&](std::size_t read, std::size_t given, std::size_t weight) {
        sums[of_units ? given : read] += std::abs(parameter_value(start[weight]));
    });
    return sums;
}

}  // namespace

DpalNoise::DpalNoise(const Settings& settings, const Network& network, double batch)
    : settings_(settings), network_(network), batch_(batch) {
    const DpalSettings& dpal = settings.dpal;
    const Layer& first = network.layers().front();
    const bool window = dpal.sensitivity == "window";
    const auto d = static_cast<double>(window ? first.in : network.inputs()),
               beta = static_cast<double>(window ? first.out : first.weighted_rows()),
               last = static_cast<double>(network.layers().back().in);
    const double e1 = dpal.share * dpal.epsilon, e2 = dpal.epsilon - e1;
    const KeyedHash hash = hash_of(settings);
    sensitivity_ = d * (beta + 2);
    const std::size_t inputs = network.inputs(), units = first.weighted_rows(),
                      labels = network.layers().back().in;
    if (dpal.variant == "dpal") {
        fixed_.input = laplaces(hash, streams::dpal_noise, 0, inputs, sensitivity_ / e1 / batch);
        fixed_.hidden = laplaces(hash, streams::dpal_noise, inputs, units, 2 * sensitivity_ / e1 / batch);
        labels_ = laplaces(hash, streams::dpal_noise, inputs + units, labels, 2 * last / e2 / batch);
    }
    if (dpal.variant == "adlm") {
        sensitivity_ = 2 * d * beta;
        const std::vector<double> relevance = weights_of(network, hash.seed, false);
        double mean = 0;
        for (const double of : relevance) mean += of / static_cast<double>(inputs);
        fixed_.input = laplaces(hash, streams::dpal_noise, 0, inputs, sensitivity_ / e1 / batch);
        for (std::size_t i = 0; i < inputs; ++i) fixed_.input[i] *= mean / std::max(relevance[i], mean / 10);
        const double coefficients = static_cast<double>(network.outputs()) * (last + last * last / 4);
        labels_ = laplaces(hash, streams::dpal_noise, inputs + units, labels, coefficients / e2 / batch);
    }
    if (dpal.variant == "secure_sgd") {
        const std::vector<double> relevance = weights_of(network, hash.seed, true);
        double sum = 0;
        for (const double of : relevance) sum += 1 / std::max(of, 1e-6);
        for (const double of : relevance)
            shares_.push_back(std::sqrt(static_cast<double>(units) / std::max(of, 1e-6) / sum));
    }
}

/// sigma of a move of the first layer by 1, over its e, at e = 1.
double DpalNoise::gaussian_part(double e) const {
    if (settings_.dpal.variant == "pixel_dp") return std::sqrt(2 * std::log(1.25 / pixel_delta)) / e;
    const double s = std::log(std::sqrt(2 / std::acos(-1.0)) / pixel_delta);
    return std::sqrt(2.0) / (2 * e) * (std::sqrt(s) + std::sqrt(s + e));
}

/// For a move of the input by `bound` in the 2-norm: theta_1 moves h by its Frobenius norm at most, of a
/// convolution for each of the windows that read a pixel.
double DpalNoise::hidden_sigma(const std::vector<std::int64_t>& parameters) const {
    const Layer& first = network_.layers().front();
    double squares = 0, windows = 1;
    for (std::size_t p = 0; p < first.parameters(); ++p)
        squares += parameter_value(parameters[p]) * parameter_value(parameters[p]);
    if (first.convolution) {
        const Window& window = first.convolution->window;
        for (const std::size_t side : {window.height, window.width})
            windows *= std::ceil(static_cast<double>(side) / static_cast<double>(window.stride));
    }
    return settings_.dpal.bound * std::sqrt(squares * windows) * gaussian_part(1);
}

LayerNoise DpalNoise::of_answer(const std::vector<std::int64_t>& parameters, std::uint64_t draw) const {
    const DpalSettings& dpal = settings_.dpal;
    const KeyedHash hash = hash_of(settings_);
    const std::size_t inputs = network_.inputs(), units = network_.layers().front().weighted_rows(),
                      first = draw * (inputs + units);
    LayerNoise noise = fixed_;
    if (dpal.variant == "dpal") {
        const double scale = sensitivity_ / (dpal.share * dpal.epsilon) / dpal.psi / batch_;
        const std::vector<double> all = laplaces(hash, streams::dpal_draws, first, inputs + units, scale);
        for (std::size_t i = 0; i < inputs; ++i) noise.input[i] += all[i];
        for (std::size_t i = 0; i < units; ++i) noise.hidden[i] += 2 * all[inputs + i];
    }
    if (dpal.variant == "pixel_dp") {
        noise.input.resize(inputs);
        for (std::size_t i = 0; i < inputs; ++i)
            noise.input[i] = dpal.bound * gaussian_part(1) * hash.normal(streams::dpal_draws, first + i);
    }
    if (dpal.variant == "secure_sgd") {
        const double sigma = hidden_sigma(parameters);
        noise.hidden.resize(units);
        for (std::size_t i = 0; i < units; ++i)
            noise.hidden[i] = sigma * shares_[i] * hash.normal(streams::dpal_draws, first + i);
    }
    return noise;
}

LayerNoise DpalNoise::of_training(const std::vector<std::int64_t>& parameters, std::uint64_t step,
                                  const std::uint64_t* ids, std::size_t count) const {
    const std::string& variant = settings_.dpal.variant;
    if (variant != "pixel_dp" && variant != "secure_sgd") return fixed_;
    const KeyedHash hash = hash_of(settings_);
    const bool hidden = variant == "secure_sgd";
    const std::size_t rows = hidden ? network_.layers().front().weighted_rows() : network_.inputs();
    const double sigma = hidden ? hidden_sigma(parameters) : settings_.dpal.bound * gaussian_part(1);
    std::vector<double> noise(rows * panel_height);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t r = 0; r < count; ++r)
            noise[i * panel_height + r] = sigma * (hidden ? shares_[i] : 1) *
                                          hash.normal(streams::dpal_records(step), ids[r] * rows + i);
    return hidden ? LayerNoise{{}, std::move(noise)} : LayerNoise{std::move(noise), {}};
}

double DpalNoise::bound_of_means() const {
    const DpalSettings& dpal = settings_.dpal;
    return std::sqrt(std::log(2 * static_cast<double>(network_.outputs()) / (1 - dpal.confidence)) /
                     (2 * static_cast<double>(dpal.draws)));
}

double DpalNoise::size(const std::vector<std::int64_t>& parameters, double lower, double upper,
                       double mu) const {
    const DpalSettings& dpal = settings_.dpal;
    if (dpal.variant == "adlm" || !(lower > upper)) return 0;
    const double e_r = std::log(lower / upper) / 2;
    if (dpal.variant == "dpal") {
        const Layer& first = network_.layers().front();
        LayerShape counted = first;  // d and beta as D_R counts them
        if (dpal.sensitivity == "text") counted = {network_.inputs(), first.weighted_rows()};
        const double scale = sensitivity_ / (batch_ * dpal.share * dpal.epsilon);
        return dpal_size(e_r, scale, mu, counted, first, parameters.data());
    }
    double best = 0;  // the move whose noise this is at e, over e
    for (double e = 0.01; e <= 1; e += 0.01)
        if (lower > std::exp(2 * e) * upper + (1 + std::exp(e)) * pixel_delta)
            best = std::max(best, dpal.bound * gaussian_part(1) / gaussian_part(e));
    return best;
}

double dpal_size(double e_r, double scale, double mu, LayerShape counted, LayerShape first,
                 const std::int64_t* theta) {
    double longest = 0;  // of theta_1 [d, beta]: a row is what one input gives to every unit
    for (std::size_t i = 0; i < first.in; ++i) {
        double norm = 0;
        for (std::size_t o = 0; o < first.out; ++o)
            norm += std::abs(parameter_value(theta[o * (first.in + 1) + i]));
        longest = std::max(longest, norm);
    }
    const auto d = static_cast<double>(counted.in);
    return e_r * scale * (1 / (mu * d * d) + 2 / (std::sqrt(static_cast<double>(counted.out)) * longest));
}

}  // namespace holdfast
