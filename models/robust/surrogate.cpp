#include "models/robust/surrogate.hpp"

#include <algorithm>
#include <array>

#include "kernels/base/error.hpp"
#include "kernels/base/monotone_exp.hpp"
#include "kernels/base/sixteen_sums.hpp"
#include "models/idp/plain_network.hpp"
#include "models/robust/dense_lanes.hpp"

namespace holdfast {
Surrogate::Surrogate(const Network& network, Precision precision, const std::vector<std::int64_t>& units,
                     const Scattering* map)
    : transform_(network.transform()),
      range_(transform_.range),
      image_{1, 1, network.inputs()},
      classes_(network.classes()) {
    if (const auto& first = network.layers().front(); first.convolution) image_ = first.convolution->input;
    if (map != nullptr) {
        map_.emplace(*map);
        range_ = map->range();
        image_ = map->image();
    }
    for (const auto& layer : network.layers()) {
        if (layer.pooling)
            throw Error(ExitCode::usage, "attacks follow the gradient through no pooling",
                        "leave attacks out, or train without pooling", "--attack");
    }
    const std::vector<AffineLayer> layers = affine_layers(network, precision, units);
    layers_.assign(layers.begin(), layers.end());
}

Surrogate::Layer::Layer(const AffineLayer& affine)
    : in(affine.in),
      out(affine.out),
      width(out + (columns_together - out % columns_together) % columns_together),
      by_input(in * width),
      by_output(affine.weight),
      bias(affine.bias) {
    bias.resize(width);
    for (std::size_t o = 0; o < out; ++o) {
        for (std::size_t i = 0; i < in; ++i) by_input[i * width + o] = by_output[o * in + i];
    }
}

void Surrogate::read(std::span<const double> x, Pass& pass) const {
    pass.values.resize(layers_.size() + 1);
    pass.values[0].assign(x.begin(), x.end());
    if (map_) {
        pass.values[0].resize(features());
        map_->forward(x, pass.scattered, pass.values[0]);
    }
    for (double& value : pass.values[0]) value = transform_.apply<double>(value);
}

namespace {

/// Of each pass, factors(pass) times the rows, to result(pass), [length].
template <typename Factors, typename Result>
void sum_rows_of(std::span<Surrogate::Pass> passes, const SharedRows& rows, std::size_t length,
                 const Factors& factors, const Result& result) {
    for (std::size_t first = 0; first < passes.size(); first += Surrogate::together) {
        const std::size_t count = std::min(Surrogate::together, passes.size() - first);
        std::array<const double*, Surrogate::together> from;
        std::array<double*, Surrogate::together> to;
        for (std::size_t i = 0; i < count; ++i) {
            std::vector<double>& into = result(passes[first + i]);
            into.resize(length);
            from[i] = factors(passes[first + i]).data();
            to[i] = into.data();
        }
        sum_rows(rows, std::span(from).first(count), std::span(to).first(count), length);
    }
}

}  // namespace

void Surrogate::forward(std::span<Pass> passes) const {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        const Layer& layer = layers_[l];
        sum_rows_of(
            passes, {layer.in, layer.by_input.data(), layer.width, layer.bias.data()}, layer.width,
            [l](Pass& pass) -> std::vector<double>& { return pass.values[l]; },
            [l](Pass& pass) -> std::vector<double>& { return pass.values[l + 1]; });
        for (Pass& pass : passes) {
            std::vector<double>& given = pass.values[l + 1];
            given.resize(layer.out);
            for (double& value : given) value = l + 1 < layers_.size() ? std::max(value, 0.0) : value;
        }
    }
    for (Pass& pass : passes) {
        pass.logits = pass.values.back();
        if (pass.logits.size() == 1) pass.logits.insert(pass.logits.begin(), 0);
    }
}

template <typename Result>
void Surrogate::behind(std::size_t l, std::span<Pass> passes, const Result& result) const {
    const Layer& layer = layers_[l];
    sum_rows_of(
        passes, {layer.out, layer.by_output.data(), layer.in}, layer.in,
        [l](Pass& pass) -> std::vector<double>& { return pass.deltas[l]; }, result);
}

void Surrogate::backward(std::span<Pass> passes) const {
    for (Pass& pass : passes) {
        pass.deltas.resize(layers_.size());
        pass.deltas.back().assign(pass.by_logits.begin() + (layers_.back().out == 1 ? 1 : 0),
                                  pass.by_logits.end());
    }
    for (std::size_t l = layers_.size(); l-- > 1;) {
        behind(l, passes, [l](Pass& pass) -> std::vector<double>& { return pass.deltas[l - 1]; });
        for (Pass& pass : passes) {
            for (std::size_t i = 0; i < pass.deltas[l - 1].size(); ++i)
                if (!(pass.values[l][i] > 0)) pass.deltas[l - 1][i] = 0;
        }
    }
}

void Surrogate::gradient(std::span<Pass> passes) const {
    backward(passes);
    behind(0, passes, [](Pass& pass) -> std::vector<double>& { return pass.gradient; });
    for (Pass& pass : passes) {
        for (double& entry : pass.gradient) entry *= transform_.scale;
        if (!map_) continue;
        std::vector<double> of_image(image_.channels * image_.height * image_.width);
        map_->gradient(pass.gradient, pass.scattered, of_image);
        pass.gradient = std::move(of_image);
    }
}

double Surrogate::rise(std::size_t c, std::size_t j, std::span<const double> move) const {
    const Layer& rows = layers_.back();
    const double *w_c = &rows.by_output[c * rows.in], *w_j = &rows.by_output[j * rows.in];
    return in_sixteen_sums(rows.in, [&](std::size_t i) { return (w_c[i] - w_j[i]) * move[i]; });
}

namespace {

void probabilities_of(std::span<const double> logits, std::vector<double>& probabilities) {
    const double most = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    probabilities.resize(logits.size());
    for (std::size_t c = 0; c < logits.size(); ++c) sum += probabilities[c] = monotone_exp(logits[c] - most);
    for (double& probability : probabilities) probability /= sum;
}

}  // namespace

void cross_entropy_by_logits(std::span<const double> logits, std::size_t truth, std::vector<double>& deltas) {
    probabilities_of(logits, deltas);
    deltas[truth] -= 1;
}

void drawn_label_by_logits(std::span<const double> logits, std::span<const std::uint8_t> evidence,
                           double unit, std::vector<double>& deltas) {
    std::vector<double> known(logits.begin(), logits.end()), posterior;
    for (std::size_t c = 0; c < known.size(); ++c) known[c] += unit * evidence[c];
    probabilities_of(logits, deltas);
    probabilities_of(known, posterior);
    for (std::size_t c = 0; c < known.size(); ++c) deltas[c] -= posterior[c];
}

}  // namespace holdfast
