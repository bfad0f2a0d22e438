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
        layers_.push_back(operations.pack(network.layers[l], lower + first, upper + first));
    }
}

/// The steps of walk_gradient() for one panel in one box.
template <typename Real>
class PanelPass<Real>::Gradients {
  public:
    /// poisoned: what its records may become, if they may be poisoned.
    Gradients(PanelPass& pass, const PackedNetwork<Real>& parameters, const Panel<Real>& panel,
              const Clip& clip, const VariantSums& sums, const PanelBounds<Real>* poisoned)
        : pass_(pass),
          network_(pass.network_),
          operations_(pass.operations_),
          parameters_(parameters),
          panel_{panel, panel},
          clip_(clip),
          sums_(sums),
          poisoned_(poisoned),
          point_(parameters.is_point()) {}

    void forward(std::size_t l) {
        pass_.apply(parameters_.layer(l), l, point_, panel_.by_feature());
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
        operations_.loss_gradient(network_.loss, network_.outputs(), logits, panel_.targets(), panel_.count(),
                                  pass_.deltas_.back().view(point_));
    }

    void outer(std::size_t l) {
        if (l > 0) pass_.transpose(l, point_);
        add(l, pass_.product(l, panel_, clip_, point_));
    }

    void backward(std::size_t l) { pass_.backward(parameters_.layer(l), l, point_); }

    bool clips_whole_records() const { return clip_.kind == Clip::Kind::norm; }

    void clip_records() {
        const NormRule<Real> rule(clip_, network_.parameters());
        double squares[panel_height] = {};
        for (std::size_t l = 0; l < network_.layers.size(); ++l) {
            const auto [in, out] = static_cast<LayerShape>(network_.layers[l]);
            const Real* z = l == 0 ? panel_.by_feature().lower : pass_.activations_[l - 1].lower.data();
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
    void add(std::size_t l, const OuterProduct<Real>& product) {
        const std::size_t first = network_.offset(l);
        const SumBounds sums = sums_.sums.from(first);
        if (sums_.selection == nullptr) return operations_.accumulate(product, sums);
        const SelectionTarget target{*sums_.selection, first};
        if (poisoned_ == nullptr) return operations_.accumulate(product, sums, &target);
        operations_.accumulate(product, sums);
        operations_.offer_changes(product, pass_.poisoned_->product(l, *poisoned_, clip_, false), target);
    }

    PanelPass& pass_;
    const NetworkShape& network_;
    const PanelOperations<Real>& operations_;
    const PackedNetwork<Real>& parameters_;
    PanelBounds<Real> panel_;
    const Clip& clip_;
    const VariantSums& sums_;
    const PanelBounds<Real>* poisoned_;
    bool point_;
};

/// The steps of walk_gradient() for all that the records of a panel may become, in one box: everything a
/// product is made of, and no sums.
template <typename Real>
class PanelPass<Real>::PoisonedGradients {
  public:
    PoisonedGradients(PanelPass& pass, const PackedNetwork<Real>& parameters, const PanelBounds<Real>& panel,
                      const Poison& poison)
        : pass_(pass), parameters_(parameters), panel_(panel), poison_(poison) {}

    void forward(std::size_t l) { pass_.apply(parameters_.layer(l), l, false, panel_.by_feature()); }
    void loss() {
        const NetworkShape& network = pass_.network_;
        pass_.operations_.poisoned_loss_gradient(network.loss, network.outputs(),
                                                 pass_.activations_.back().view(false), panel_.targets(),
                                                 panel_.count(), poison_, pass_.deltas_.back().view(false));
    }
    void outer(std::size_t l) {
        if (l > 0) pass_.transpose(l, false);
    }
    void backward(std::size_t l) { pass_.backward(parameters_.layer(l), l, false); }
    bool clips_whole_records() const { return false; }
    void clip_records() {}

  private:
    PanelPass& pass_;
    const PackedNetwork<Real>& parameters_;
    const PanelBounds<Real>& panel_;
    const Poison& poison_;
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
                            ConstInterval features) {
    const Interval out = activations_[l].view(layer.is_point() && (l == 0 || input_is_point));
    if (l == 0 && features.is_point()) {
        operations_.forward_input(layer, features.lower, out);
    } else if (l == 0) {
        operations_.forward_box(layer, features, out);
    } else {
        operations_.forward(layer, activations_[l - 1].view(input_is_point), out);
    }
    if (l < network_.last()) operations_.relu(network_.layers[l].out, out);
}

template <typename Real>
void PanelPass<Real>::backward(const PackedLayer& layer, std::size_t l, bool point) {
    operations_.backward(layer, deltas_[l].view(point), activations_[l - 1].view(point),
                         deltas_[l - 1].view(point));
}

template <typename Real>
void PanelPass<Real>::transpose(std::size_t l, bool point) {
    const std::size_t in = network_.layers[l].in, stride = row_stride<Real>(in);
    const Interval z = activations_[l - 1].view(point), rows = rows_[l - 1].view(point);
    operations_.transpose(in, z.lower, rows.lower, stride);
    if (!point) operations_.transpose(in, z.upper, rows.upper, stride);
}

template <typename Real>
OuterProduct<Real> PanelPass<Real>::product(std::size_t l, const PanelBounds<Real>& panel, const Clip& clip,
                                            bool point) {
    const LayerShape shape = network_.layers[l];
    const Interval delta = deltas_[l].view(point);
    if (l == 0) return {shape, clip, delta, panel.by_record(), panel.stride(), panel.count()};
    return {shape, clip, delta, rows_[l - 1].view(point), row_stride<Real>(shape.in), panel.count()};
}

template <typename Real>
void PanelPass<Real>::add_gradients(const PackedNetwork<Real>& parameters, const Panel<Real>& panel,
                                    const Clip& clip, const VariantSums& sums) {
    ensure(clip.kind != Clip::Kind::norm || parameters.is_point(), "a box has no norm to clip by");
    Gradients gradients(*this, parameters, panel, clip, sums, nullptr);
    walk_gradient(network_.layers.size(), gradients);
}

template <typename Real>
void PanelPass<Real>::add_poisonable(const PackedNetwork<Real>& parameters, const Panel<Real>& panel,
                                     const PanelBounds<Real>& poisoned, const Poison& poison,
                                     const Clip& clip, const VariantSums& sums) {
    ensure(!clip.by_factors() && !parameters.is_point(), "poisoned records are bounded by entries, in a box");
    if (poisoned_ == nullptr) poisoned_ = std::make_unique<PanelPass>(network_, operations_);
    PoisonedGradients changed(*poisoned_, parameters, poisoned, poison);
    walk_gradient(network_.layers.size(), changed);
    Gradients gradients(*this, parameters, panel, clip, sums, &poisoned);
    walk_gradient(network_.layers.size(), gradients);
}

template <typename Real>
BasicConstInterval<Real> PanelPass<Real>::outputs(const PackedNetwork<Real>& parameters,
                                                  const PackedLayer& last, const Panel<Real>& panel) {
    const std::size_t hidden = network_.last();
    const ConstInterval features(panel.by_feature(), panel.by_feature());
    for (std::size_t l = 0; l < hidden; ++l) apply(parameters.layer(l), l, parameters.is_point(), features);
    apply(last, hidden, parameters.is_point(), features);
    return activations_.back().view(last.is_point() && (hidden == 0 || parameters.is_point()));
}

template class PackedNetwork<double>;
template class PackedNetwork<float>;
template class PanelPass<double>;
template class PanelPass<float>;

}  // namespace holdfast
