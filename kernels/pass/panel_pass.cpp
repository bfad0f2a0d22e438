#include "kernels/pass/panel_pass.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "kernels/ops/norm_rule.hpp"
#include "kernels/pass/walk.hpp"

namespace holdfast {

template <typename Real>
PackedNetwork<Real>::PackedNetwork(const NetworkShape& network, const PanelOperations<Real>& operations,
                                   const std::int64_t* lower, const std::int64_t* upper) {
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
        const std::size_t first = network.offset(l);
        layers_.push_back(operations.of_layer(l).pack(network.layers[l], lower + first, upper + first));
    }
}

/// The steps of walk_gradient() for one panel in one box.
template <typename Real>
class PanelPass<Real>::Gradients {
  public:
    Gradients(PanelPass& pass, const PackedNetwork<Real>& parameters, const Panel<Real>& panel,
              const Clip& clip, const VariantSums& sums)
        : pass_(pass),
          network_(pass.network_),
          operations_(pass.operations_),
          parameters_(parameters),
          panel_(panel),
          clip_(clip),
          sums_(sums),
          point_(parameters.is_point()) {}

    void forward(std::size_t l) {
        pass_.apply(parameters_.layer(l), l, point_, panel_);
        if (sums_.undecided != nullptr && l < network_.last())
            sums_.undecided[l] += operations_.undecided(network_.layers[l].out, panel_.count(),
                                                        pass_.activations_[l].view(point_));
    }

    void loss() {
        const ConstInterval logits = pass_.activations_.back().view(point_);
        for (std::size_t r = 0; r < panel_.count(); ++r) {
            const auto label = static_cast<std::size_t>(panel_.labels()[r]);
            const Correct correct =
                correct_of(network_.outputs(), label, logits.lower + r, logits.upper + r, panel_height);
            sums_.correct[0] += correct.surely;
            sums_.correct[1] += correct.possibly;
        }
        operations_.loss_gradient(network_.loss, network_.outputs(), logits, panel_.labels(), panel_.count(),
                                  pass_.deltas_.back().view(point_));
    }

    void outer(std::size_t l) {
        OuterProduct<Real> product = product_of(l);
        if (clip_.kind == Clip::Kind::tensor_norm) scale_tensors(operations_.of_layer(l).squares(product));
        if (clip_.by_scales()) product.scales = &scales_;
        const std::size_t first = network_.offset(l);
        const PanelOperations<Real>& operations = operations_.of_layer(l);
        if (sums_.selection == nullptr) return operations.accumulate(product, sums_.sums.from(first));
        const SelectionTarget target{*sums_.selection, first};
        operations.accumulate(product, sums_.sums.from(first), &target);
    }

    void backward(std::size_t l) {
        operations_.of_layer(l).backward(parameters_.layer(l), pass_.deltas_[l].view(point_),
                             pass_.activations_[l - 1].view(point_), pass_.deltas_[l - 1].view(point_));
    }

    bool clips_whole_records() const {
        return clip_.kind == Clip::Kind::norm || clip_.kind == Clip::Kind::record_norm;
    }

    void clip_records() {
        if (clip_.kind == Clip::Kind::record_norm) return scale_records();
        const NormRule<Real> rule(clip_, network_.parameters());
        double squares[panel_height] = {};
        for (std::size_t l = 0; l < network_.layers.size(); ++l) {
            const auto [in, out] = static_cast<LayerShape>(network_.layers[l]);
            const Real* z = l == 0 ? panel_.by_feature() : pass_.activations_[l - 1].lower.data();
            double delta_square[panel_height] = {}, z_square[panel_height];
            std::fill_n(z_square, panel_height, 1.0);
            operations_.add_squares(out, pass_.deltas_[l].lower.data(), delta_square);
            operations_.add_squares(in, z, z_square);
            for (std::size_t r = 0; r < panel_height; ++r) squares[r] += delta_square[r] * z_square[r];
        }
        for (double& square : squares) square = rule.scale_of(square);
        for (std::size_t l = 0; l < network_.layers.size(); ++l)
            operations_.scale(network_.layers[l].out, squares, pass_.deltas_[l].lower.data());
    }

  private:
    OuterProduct<Real> product_of(std::size_t l) {
        const ConstInterval delta = pass_.deltas_[l].view(point_);
        if (l == 0)
            return {network_.layers[0], clip_, delta, {panel_.by_record(), panel_.by_record()},
                    panel_.stride(), panel_.count()};
        const std::size_t in = network_.layers[l].in, stride = row_stride<Real>(in);
        const Interval z = pass_.activations_[l - 1].view(point_), rows = pass_.rows_[l - 1].view(point_);
        operations_.transpose(in, z.lower, rows.lower, stride);
        if (!point_) operations_.transpose(in, z.upper, rows.upper, stride);
        return {network_.layers[l], clip_, delta, rows, stride, panel_.count()};
    }

    /// The scales of one layer's tensors.
    void scale_tensors(const LayerSquares& squares) {
        for (std::size_t r = 0; r < panel_.count(); ++r) {
            scales_.weights[r] = scale_to<Real>(clip_.norm_limit, squares.weights[r]);
            scales_.biases[r] = scale_to<Real>(clip_.norm_limit, squares.biases[r]);
        }
    }
    /// One scale for all of a record; squares are added in the order of the layers.
    void scale_records() {
        SquareBounds whole[panel_height];
        for (std::size_t l = 0; l < network_.layers.size(); ++l) {
            const LayerSquares squares = operations_.of_layer(l).squares(product_of(l));
            for (std::size_t r = 0; r < panel_.count(); ++r) {
                whole[r] += squares.weights[r];
                if (network_.layers[l].bias) whole[r] += squares.biases[r];
            }
        }
        for (std::size_t r = 0; r < panel_.count(); ++r)
            scales_.weights[r] = scales_.biases[r] = scale_to<Real>(clip_.norm_limit, whole[r]);
    }

    PanelPass& pass_;
    const NetworkShape& network_;
    const PanelOperations<Real>& operations_;
    const PackedNetwork<Real>& parameters_;
    const Panel<Real>& panel_;
    const Clip& clip_;
    const VariantSums& sums_;
    bool point_;
    LayerScales<Real> scales_;  // of a clip by scales
};

template <typename Real>
PanelPass<Real>::PanelPass(const NetworkShape& network, const PanelOperations<Real>& operations,
                           std::size_t last_rows)
    : network_(network), operations_(operations) {
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
        const std::size_t out = network.layers[l].out;
        const bool last = l == network.last();
        activations_.emplace_back((last ? std::max(out, last_rows) : out) * panel_height);
        rows_.emplace_back(row_stride<Real>(out) * panel_height);
        deltas_.emplace_back(out * panel_height);
    }
}

/// activations_[l] from the layer before it, or from the panel's features.
template <typename Real>
void PanelPass<Real>::apply(const PackedLayer& layer, std::size_t l, bool input_is_point,
                            const Panel<Real>& panel) {
    const Interval out = activations_[l].view(layer.is_point() && (l == 0 || input_is_point));
    if (l == 0) {
        operations_.forward_input(layer, panel.by_feature(), out);
    } else {
        operations_.of_layer(l).forward(layer, activations_[l - 1].view(input_is_point), out);
    }
    if (l < network_.last()) operations_.relu(network_.layers[l].out, out);
}

template <typename Real>
void PanelPass<Real>::add_gradients(const PackedNetwork<Real>& parameters, const Panel<Real>& panel,
                                    const Clip& clip, const VariantSums& sums) {
    ensure(clip.kind != Clip::Kind::norm || parameters.is_point(), "a box has no norm to clip by");
    Gradients gradients(*this, parameters, panel, clip, sums);
    walk_gradient(network_.layers.size(), gradients);
}

template <typename Real>
BasicConstInterval<Real> PanelPass<Real>::outputs(const PackedNetwork<Real>& parameters,
                                                  const PackedLayer& last, const Panel<Real>& panel) {
    const std::size_t hidden = network_.last();
    for (std::size_t l = 0; l < hidden; ++l) apply(parameters.layer(l), l, parameters.is_point(), panel);
    apply(last, hidden, parameters.is_point(), panel);
    return activations_.back().view(last.is_point() && (hidden == 0 || parameters.is_point()));
}

template class PackedNetwork<double>;
template class PackedNetwork<float>;
template class PanelPass<double>;
template class PanelPass<float>;

}  // namespace holdfast
