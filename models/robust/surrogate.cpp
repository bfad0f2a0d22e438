#include "models/robust/surrogate.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "kernels/base/monotone_exp.hpp"
#include "kernels/base/sixteen_sums.hpp"
#include "models/idp/plain_network.hpp"
#include "models/robust/dense_lanes.hpp"

namespace holdfast {
namespace {

constexpr std::size_t columns_together = 16;  // as dense_lanes has them in registers

}  // namespace

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
    layers_.assign(plain.layers.begin(), plain.layers.end());
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

void Surrogate::Layer::forward(const std::vector<double>& x, std::vector<double>& result) const {
    result.resize(width);
    sum_rows({x, by_input.data(), width, bias.data()}, result.data(), width);
    result.resize(out);
}

void Surrogate::Layer::behind(const std::vector<double>& deltas, std::vector<double>& result) const {
    result.resize(in);
    sum_rows({deltas, by_output.data(), in}, result.data(), in);
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

void Surrogate::backward(std::span<const double> by_logits, Pass& pass) const {
    pass.deltas.resize(layers_.size());
    pass.deltas.back().assign(by_logits.begin() + (layers_.back().out == 1 ? 1 : 0), by_logits.end());
    for (std::size_t l = layers_.size(); l-- > 1;) {
        std::vector<double>& before = pass.deltas[l - 1];
        layers_[l].behind(pass.deltas[l], before);
        for (std::size_t i = 0; i < before.size(); ++i)
            if (!(pass.values[l][i] > 0)) before[i] = 0;
    }
}

void Surrogate::gradient(std::span<const double> by_logits, Pass& pass, std::span<double> gradient) const {
    backward(by_logits, pass);
    layers_.front().behind(pass.deltas.front(), pass.behind);
    for (double& delta : pass.behind) delta *= transform_.scale;
    if (map_)
        map_->gradient(pass.behind, pass.scattered, gradient);
    else
        std::copy(pass.behind.begin(), pass.behind.end(), gradient.begin());
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
