#include "models/robust/surrogate.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "kernels/base/monotone_exp.hpp"
#include "kernels/base/sixteen_sums.hpp"
#include "models/idp/plain_network.hpp"

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
    PlainNetwork plain = plain_network(network, precision, units);
    const std::size_t last = network.layers().size() - 1, in = network.layers()[last].in,
                      first = network.offset(last);
    plain.layers.back() = {in, network.outputs(), {}, {}};  // logits for margins
    for (std::size_t p = 0; p < network.outputs() * (in + 1); ++p) {
        AffineLayer& rows = plain.layers.back();
        const double value = precision == Precision::single_precision
                                 ? static_cast<double>(parameter_value<float>(units[first + p]))
                                 : parameter_value<double>(units[first + p]);
        (p % (in + 1) < in ? rows.weight : rows.bias).push_back(value);
    }
    for (AffineLayer& affine : plain.layers) {
        Layer layer{affine.in, affine.out, std::vector<double>(affine.weight.size()),
                    std::move(affine.weight), std::move(affine.bias)};
        for (std::size_t o = 0; o < layer.out; ++o) {
            for (std::size_t i = 0; i < layer.in; ++i)
                layer.by_input[i * layer.out + o] = layer.by_output[o * layer.in + i];
        }
        layers_.push_back(std::move(layer));
    }
}

/// out [Count] from `first` on: as many sums, each in order, as stay in registers. Inputs of 0 add nothing.
template <std::size_t Count>
void Surrogate::Layer::add_inputs(std::size_t first, const std::vector<double>& x, double* result) const {
    double sums[Count];
    std::copy_n(&bias[first], Count, sums);
    for (std::size_t i = 0; i < in; ++i) {
        const double value = x[i], *weights = &by_input[i * out + first];
        if (value == 0) continue;
        for (std::size_t o = 0; o < Count; ++o) sums[o] += weights[o] * value;
    }
    std::copy_n(sums, Count, result + first);
}

void Surrogate::Layer::forward(const std::vector<double>& x, std::vector<double>& result) const {
    result.resize(out);
    std::size_t first = 0;
    for (; first + 8 <= out; first += 8) add_inputs<8>(first, x, result.data());
    for (; first + 2 <= out; first += 2) add_inputs<2>(first, x, result.data());
    for (; first < out; ++first) add_inputs<1>(first, x, result.data());
}

void Surrogate::forward(std::span<const double> x, Pass& pass) const {
    pass.values.resize(layers_.size() + 1);
    pass.values[0].assign(x.begin(), x.end());
    if (map_) {
        pass.values[0].resize(features());
        map_->forward(x, pass.scattered, pass.values[0]);
    }
    for (double& value : pass.values[0]) value = transform_.apply<double>(value);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        std::vector<double>& out = pass.values[l + 1];
        layers_[l].forward(pass.values[l], out);
        if (l + 1 == layers_.size()) break;
        for (double& value : out) value = std::max(value, 0.0);
    }
    pass.logits = pass.values.back();
    if (pass.logits.size() == 1) pass.logits.insert(pass.logits.begin(), 0);
}

void Surrogate::start(std::span<const double> by_logits, Pass& pass) const {
    pass.deltas.assign(by_logits.begin() + (layers_.back().out == 1 ? 1 : 0), by_logits.end());
}

/// deltas of the layer before, from those of this one.
void Surrogate::behind(std::size_t l, Pass& pass) const {
    const Layer& layer = layers_[l];
    pass.behind.assign(layer.in, 0);
    for (std::size_t o = 0; o < layer.out; ++o) {
        const double delta = pass.deltas[o], *weights = &layer.by_output[o * layer.in];
        if (delta == 0) continue;
        for (std::size_t i = 0; i < layer.in; ++i) pass.behind[i] += weights[i] * delta;
    }
    for (std::size_t i = 0; l > 0 && i < layer.in; ++i)
        if (!(pass.values[l][i] > 0)) pass.behind[i] = 0;
    std::swap(pass.deltas, pass.behind);
}

void Surrogate::gradient(std::span<const double> by_logits, Pass& pass, std::span<double> gradient) const {
    start(by_logits, pass);
    for (std::size_t l = layers_.size(); l-- > 0;) behind(l, pass);
    for (double& delta : pass.deltas) delta *= transform_.scale;
    if (map_)
        map_->gradient(pass.deltas, pass.scattered, gradient);
    else
        std::copy(pass.deltas.begin(), pass.deltas.end(), gradient.begin());
}

void Surrogate::add_by_parameters(std::span<const double> by_logits, double weight, Pass& pass,
                                  std::span<double> sums) const {
    start(by_logits, pass);
    double* end = sums.data() + sums.size();
    for (std::size_t l = layers_.size(); l-- > 0;) {
        const Layer& layer = layers_[l];
        end -= layer.out * (layer.in + 1);
        for (std::size_t o = 0; o < layer.out; ++o) {
            const double delta = weight * pass.deltas[o], *inputs = pass.values[l].data();
            double* row = end + o * (layer.in + 1);
            if (delta == 0) continue;
            for (std::size_t i = 0; i < layer.in; ++i) row[i] += delta * inputs[i];
            row[layer.in] += delta;
        }
        if (l > 0) behind(l, pass);
    }
    ensure(end == sums.data(), "the parameters of a dense network");
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
