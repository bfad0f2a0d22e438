#include "models/nets/interval_pass.hpp"

namespace holdfast {

template <typename Real>
PackedNetwork::PackedNetwork(const Network& network, const BasicBackend<Real>& backend,
                             const std::int64_t* lower, const std::int64_t* upper) {
    for (std::size_t l = 0; l < network.layers().size(); ++l) {
        layers_.push_back(
            backend.pack(network.layers()[l], lower + network.offset(l), upper + network.offset(l)));
    }
}

template <typename Real>
BasicIntervalPass<Real>::BasicIntervalPass(const Network& network, const BasicBackend<Real>& backend)
    : network_(network), backend_(backend) {
    for (const LayerShape& layer : network.layers()) {
        activations_.emplace_back(layer.out * panel_height);
        rows_.emplace_back(row_stride<Real>(layer.out) * panel_height);
        deltas_.emplace_back(layer.out * panel_height);
    }
    // A layer of margins has more rows than the logits: pairs, and two for each class.
    const std::size_t classes = network.classes();
    activations_.back() = Buffer((classes * (classes - 1) / 2 + 2 * classes) * panel_height);
}

template <typename Real>
void BasicIntervalPass<Real>::forward_hidden(const PackedNetwork& parameters, const Panel& panel) {
    const bool point = parameters.is_point();
    for (std::size_t l = 0; l + 1 < network_.layers().size(); ++l) {
        const Interval out = activations_[l].view(point);
        if (l == 0) {
            backend_.forward_input(parameters.layer(0), panel.by_feature(), out);
        } else {
            backend_.forward(parameters.layer(l), activations_[l - 1].view(point), out);
        }
        backend_.relu(network_.layers()[l].out, out);
    }
}

template <typename Real>
BasicConstInterval<Real> BasicIntervalPass<Real>::last_layer(const PackedLayer& last, const Panel& panel,
                                                             bool hidden_point) {
    const std::size_t hidden = network_.layers().size() - 1;
    const Interval out = activations_[hidden].view(last.is_point());
    if (hidden == 0) {
        backend_.forward_input(last, panel.by_feature(), out);
    } else {
        backend_.forward(last, activations_[hidden - 1].view(hidden_point), out);
    }
    return out;
}

template <typename Real>
BasicConstInterval<Real> BasicIntervalPass<Real>::forward(const PackedNetwork& parameters,
                                                          const Panel& panel) {
    forward_hidden(parameters, panel);
    return last_layer(parameters.layer(network_.layers().size() - 1), panel, parameters.is_point());
}

template <typename Real>
void BasicIntervalPass<Real>::accumulate(const PackedNetwork& parameters, const Panel& panel,
                                         const Clip& clip, std::int64_t* sum_lower, std::int64_t* sum_upper,
                                         const Selections* selections) {
    const bool point = parameters.is_point();
    const auto add_layer = [&](std::size_t l, ConstInterval rows, std::size_t stride) {
        const LayerShape shape = network_.layers()[l];
        const std::size_t first = network_.offset(l);
        std::int64_t* lower = sum_lower + first;
        std::int64_t* upper = point ? lower : sum_upper + first;
        if (selections == nullptr) {
            backend_.accumulate(shape, clip, deltas_[l].view(point), rows, stride, lower, upper);
        } else {
            backend_.accumulate_and_select(shape, clip, deltas_[l].view(point), rows, stride, panel.count(),
                                           lower, upper, first, selections->least_upper,
                                           selections->least_negated_lower);
        }
    };
    std::size_t l = network_.layers().size() - 1;
    backend_.loss_gradient(network_.loss(), network_.outputs(), activations_[l].view(point), panel.labels(),
                           panel.count(), deltas_[l].view(point));
    for (; l > 0; --l) {
        const std::size_t in = network_.layers()[l].in, stride = row_stride<Real>(in);
        const Interval z = activations_[l - 1].view(point), rows = rows_[l - 1].view(point);
        backend_.transpose(in, z.lower, rows.lower, stride);
        if (!point) backend_.transpose(in, z.upper, rows.upper, stride);
        add_layer(l, rows, stride);
        backend_.backward(parameters.layer(l), deltas_[l].view(point), z, deltas_[l - 1].view(point));
    }
    add_layer(0, {panel.by_record(), panel.by_record()}, panel.stride());
}

template PackedNetwork::PackedNetwork(const Network&, const Backend&, const std::int64_t*,
                                      const std::int64_t*);
template PackedNetwork::PackedNetwork(const Network&, const BasicBackend<float>&, const std::int64_t*,
                                      const std::int64_t*);
template class BasicIntervalPass<double>;
template class BasicIntervalPass<float>;

}  // namespace holdfast
