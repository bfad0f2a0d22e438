#include "models/dpal/dpal_network.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/base/error.hpp"
#include "kernels/base/sixteen_sums.hpp"
#include "kernels/cpu/cpu.hpp"
#include "kernels/ops/norm_rule.hpp"
#include "kernels/ops/pooling_rule.hpp"

namespace holdfast {
namespace {

constexpr std::size_t height = panel_height;

/// to [rows, height] += what is the same for all records, or each one's own.
void add_noise(const std::vector<double>& noise, std::size_t rows, double* to) {
    if (noise.empty()) return;
    const bool own = noise.size() == rows * height;
    ensure(own || noise.size() == rows, "noise of as many rows");
    for (std::size_t i = 0; i < rows * height; ++i) to[i] += noise[own ? i : i / height];
}

double dot(const double* a, const double* b) {
    return in_sixteen_sums(height, [&](std::size_t r) { return a[r] * b[r]; });
}

double sign_of(double value) {
    return value > 0 ? 1 : value < 0 ? -1 : 0;
}

}  // namespace

double taylor_loss(double z, double y, bool corrected) {
    return std::log(2) + z - (corrected ? z : std::abs(z)) / 2 + z * z / 8 - y * z;
}

double taylor_slope(double z, double y, bool corrected) {
    return 1 - (corrected ? 1 : sign_of(z)) / 2 + z / 4 - y;
}

DpalPass::DpalPass(const NetworkShape& network)
    : network_(network), operations_(make_cpu_operations<double>()) {
    std::size_t behind = 0, rows = 0;
    for (const Layer& layer : network.layers) {
        activations_.emplace_back(layer.weighted_rows() * height);
        deltas_.emplace_back(layer.weighted_rows() * height);
        pooled_.emplace_back(layer.pooling ? layer.output_rows() * height : 0);
        behind = std::max(behind, layer.output_rows() * height);
        if (!layer.convolution) rows = std::max(rows, row_stride(layer.in) * height);
    }
    const std::size_t inputs = network.inputs() * height, first = deltas_.front().size();
    for (Values* values : {&input_, &by_input_, &half_}) values->resize(inputs);
    for (Values* values : {&encoded_, &mirrored_}) values->resize(first);
    behind_.resize(behind);
    rows_.resize(rows);
    ones_.assign(std::max(behind, inputs), 1.0);
}

void DpalPass::load(const RecordSet& records, std::span<const std::uint32_t> indices, double* x) const {
    operations_->load(network_.input, 0, network_.inputs(), records, indices, x);
}

auto DpalPass::read_by(std::size_t layer) const -> const Values& {
    return network_.layers[layer - 1].pooling ? pooled_[layer - 1] : activations_[layer - 1];
}

const double* DpalPass::last_hidden() const {
    return read_by(network_.last()).data();
}

void DpalPass::weigh(const PackedNetwork<double>& parameters, std::size_t layer, const double* z, double* a) {
    const std::optional<Convolution>& convolution = network_.layers[layer].convolution;
    const PackedLayer& packed = parameters.layer(layer);
    if (layer == 0 && convolution) return operations_->convolve_input(*convolution, packed, z, {a, a});
    if (layer == 0) return operations_->forward_input(packed, z, {a, a});
    if (convolution) return operations_->convolve(*convolution, packed, {z, z}, {a, a});
    operations_->forward(packed, {z, z}, {a, a});
}

void DpalPass::forward(const PackedNetwork<double>& parameters, const double* x, const LayerNoise& noise) {
    std::copy_n(x, input_.size(), input_.data());
    add_noise(noise.input, network_.inputs(), input_.data());
    for (std::size_t l = 0; l < network_.layers.size(); ++l) {
        const Layer& layer = network_.layers[l];
        double* const a = activations_[l].data();
        weigh(parameters, l, l == 0 ? input_.data() : read_by(l).data(), a);
        if (l == 0) {
            add_noise(noise.hidden, layer.weighted_rows(), a);
            encoded_ = activations_[l];
        }
        if (l == network_.last()) return;
        operations_->relu(layer.weighted_rows(), {a, a});
        if (layer.pooling)
            pool<double>(*layer.pooling, height, {a, a}, {pooled_[l].data(), pooled_[l].data()});
    }
}

std::size_t DpalPass::predicted(std::size_t r) const {
    std::size_t best = 0;
    for (std::size_t k = 1; k < network_.outputs(); ++k)
        if (logits()[k * height + r] > logits()[best * height + r]) best = k;
    return best;
}

std::vector<double> DpalPass::scores(std::size_t r) const {
    const double most = logits()[predicted(r) * height + r];
    std::vector<double> scores(network_.outputs());
    double sum = 0;
    for (std::size_t k = 0; k < scores.size(); ++k)
        sum += scores[k] = std::exp(logits()[k * height + r] - most);
    for (double& score : scores) score /= sum;
    return scores;
}

void DpalPass::transposed(const PackedNetwork<double>& parameters, std::size_t layer, const double* z,
                          double* d) {
    const double* delta = deltas_[layer].data();
    const std::optional<Convolution>& convolution = network_.layers[layer].convolution;
    const PackedLayer& packed = parameters.layer(layer);
    if (convolution)
        return operations_->convolve_backward(*convolution, packed, {delta, delta}, {z, z}, {d, d});
    operations_->backward(packed, {delta, delta}, {z, z}, {d, d});
}

void DpalPass::backward(const PackedNetwork<double>& parameters, std::size_t count,
                        const std::function<void(std::size_t record, double* slopes)>& by_logits) {
    std::vector<double> slopes(network_.outputs());
    Values& last = deltas_.back();
    std::fill(last.begin(), last.end(), 0.0);
    for (std::size_t r = 0; r < count; ++r) {
        by_logits(r, slopes.data());
        for (std::size_t k = 0; k < slopes.size(); ++k) last[k * height + r] = slopes[k];
    }
    for (std::size_t l = network_.last(); l > 0; --l) {
        const Layer& before = network_.layers[l - 1];
        const double* z = activations_[l - 1].data();
        double* const d = deltas_[l - 1].data();
        if (!before.pooling) {
            transposed(parameters, l, z, d);
            continue;
        }
        double* const behind = behind_.data();
        transposed(parameters, l, ones_.data(), behind);
        pool_backward<double>(*before.pooling, height, {z, z}, {behind, behind}, {d, d});
        gate<double>(before.weighted_rows() * height, {z, z}, {d, d});
    }
}

const double* DpalPass::by_input(const PackedNetwork<double>& parameters) {
    transposed(parameters, 0, ones_.data(), by_input_.data());
    return by_input_.data();
}

/// As the host's pass clips whole records (kernels/pass/panel_pass.cpp).
void DpalPass::clip_norms(const Clip& clip, double* scales) {
    double squares[height] = {};
    for (std::size_t l = 0; l < network_.layers.size(); ++l) {
        const Layer& layer = network_.layers[l];
        const double *z = l == 0 ? input_.data() : read_by(l).data(), *delta = deltas_[l].data();
        if (layer.convolution) {
            operations_->add_squares_of_positions(
                {*layer.convolution, layer, clip, {delta, delta}, {z, z}, height}, squares);
            continue;
        }
        double of_delta[height] = {}, of_z[height];
        std::fill_n(of_z, height, 1.0);
        operations_->add_squares(layer.out, delta, of_delta);
        operations_->add_squares(layer.in, z, of_z);
        for (std::size_t r = 0; r < height; ++r) squares[r] += of_delta[r] * of_z[r];
    }
    const NormRule<double> rule(clip, network_.parameters());
    for (std::size_t r = 0; r < height; ++r) scales[r] = rule.scale_of(squares[r]);
    for (std::size_t l = 0; l < network_.layers.size(); ++l)
        if (!network_.layers[l].convolution)
            operations_->scale(network_.layers[l].out, scales, deltas_[l].data());
}

void DpalPass::add_gradients(std::size_t first, const Clip& clip, std::size_t count, std::int64_t* sums) {
    double scales[height];
    const bool norms = clip.kind == Clip::Kind::norm;
    if (norms) clip_norms(clip, scales);
    for (std::size_t l = first; l < network_.layers.size(); ++l) {
        const Layer& layer = network_.layers[l];
        const double *z = l == 0 ? input_.data() : read_by(l).data(), *delta = deltas_[l].data();
        std::int64_t* const to = sums + network_.offset(l);
        if (layer.convolution) {
            ConvolutionProduct<double> product{*layer.convolution, layer,  clip,
                                               {delta, delta},     {z, z}, count};
            if (norms) product.scales = scales;
            operations_->accumulate_positions(product, {to, to});
            continue;
        }
        const std::size_t stride = row_stride(layer.in);
        operations_->transpose(layer.in, z, rows_.data(), stride);
        operations_->accumulate({layer, clip, {delta, delta}, {rows_.data(), rows_.data()}, stride, count},
                                {to, to});
    }
}

void DpalPass::add_reconstruction(const PackedNetwork<double>& parameters, std::size_t count, double* sums) {
    const Layer& layer = network_.layers.front();
    for (std::size_t i = 0; i < half_.size(); ++i) half_[i] = i % height < count ? 0.5 - input_[i] : 0;
    weigh(parameters, 0, half_.data(), mirrored_.data());  // theta_1^T (1/2 - x): by h
    for (std::size_t i = 0; i < mirrored_.size(); ++i)
        if (i % height >= count) mirrored_[i] = 0;
    for_each_weight(layer, [&](std::size_t read, std::size_t given, std::size_t weight) {
        sums[weight] += dot(&half_[read * height], &encoded_[given * height]) +
                        dot(&input_[read * height], &mirrored_[given * height]);
    });
}

void DpalPass::climb(const PackedNetwork<double>& parameters, const LayerNoise& noise, const Climb& how,
                     const std::int32_t* labels, const std::uint64_t* ids, std::size_t count, double* x) {
    const std::size_t inputs = network_.inputs(), values = inputs * height;
    const bool projects = how.attack == "pgd";
    const std::int64_t steps = how.attack == "fgsm" ? 1 : how.steps;
    const double length = (projects ? 2.5 : 1.0) * how.mu / static_cast<double>(steps);
    const std::vector<double> centre(x, x + values);
    std::vector<double> velocity(how.attack == "mim" ? values : 0);
    const auto keep = [&](std::size_t i) {
        if (projects) x[i] = std::clamp(x[i], centre[i] - how.mu, centre[i] + how.mu);
        x[i] = std::clamp(x[i], how.range.low, how.range.high);
    };
    for (std::size_t i = 0; projects && i < inputs; ++i)
        for (std::size_t r = 0; r < count; ++r) {
            x[i * height + r] += how.mu * (2 * how.hash.uniform(how.stream, ids[r] * inputs + i) - 1);
            keep(i * height + r);
        }
    for (std::int64_t step = 0; step < steps; ++step) {
        forward(parameters, x, noise);
        backward(parameters, count, [&](std::size_t r, double* slopes) {
            const std::vector<double> of = scores(r);
            std::copy(of.begin(), of.end(), slopes);
            slopes[labels != nullptr ? static_cast<std::size_t>(labels[r]) : predicted(r)] -= 1;
        });
        const double* direction = by_input(parameters);
        if (!velocity.empty()) {
            double sizes[height] = {};
            for (std::size_t i = 0; i < values; ++i) sizes[i % height] += std::abs(direction[i]);
            for (std::size_t i = 0; i < values; ++i)
                velocity[i] += sizes[i % height] > 0 ? direction[i] / sizes[i % height] : 0;
            direction = velocity.data();
        }
        for (std::size_t i = 0; i < values; ++i) {
            if (i % height >= count) continue;
            x[i] += length * sign_of(direction[i]);
            keep(i);
        }
    }
}

}  // namespace holdfast
