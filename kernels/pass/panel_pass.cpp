#include "kernels/pass/panel_pass.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "kernels/base/error.hpp"
#include "kernels/ops/norm_rule.hpp"
#include "kernels/ops/pooling_rule.hpp"
#include "kernels/ops/row_weight.hpp"
#include "kernels/pass/walk.hpp"

namespace holdfast {
namespace {

/// Of the outputs of layer l; null: all are left as they are.
template <typename Real>
const std::vector<Real>* factors_of(const DropoutFactors<Real>& dropout, std::size_t l) {
    return l < dropout.size() && !dropout[l].empty() ? &dropout[l] : nullptr;
}

template <typename Real>
void copy_row(BasicConstInterval<Real> from, std::size_t row, BasicInterval<Real> to, std::size_t to_row) {
    std::copy_n(from.lower + row * panel_height, panel_height, to.lower + to_row * panel_height);
    if (to.is_point()) return;
    std::copy_n(from.upper + row * panel_height, panel_height, to.upper + to_row * panel_height);
}

/// One scale for all rows of a person, by the sum of their norms: the norm of their sum may fall where a
/// magnitude rises (models/mathematics.md, scales of a person). Of one row, a record's.
template <typename Real>
RecordScale<Real> scale_of_person(double limit, std::span<const SquareBounds> rows) {
    if (rows.size() == 1) return scale_to<Real>(limit, rows.front());
    double least = 0, greatest = 0;
    for (const SquareBounds& square : rows) {
        least += std::sqrt(square.least);
        greatest += std::sqrt(square.greatest);
    }
    return scale_to<Real>(limit, SquareBounds{least * least, greatest * greatest});
}

/// What a window reads at one position, by the channels of a group; 0 beside the image.
template <typename Real>
void copy_patch(const Convolution& convolution, const Image& positions, std::size_t group,
                std::size_t position, BasicConstInterval<Real> image, BasicInterval<Real> patch) {
    const std::size_t pixels = convolution.input.height * convolution.input.width,
                      taps = convolution.window.taps(),
                      channels = convolution.input.channels / convolution.groups;
    std::fill_n(patch.lower, channels * taps * panel_height, Real{0});
    if (!patch.is_point()) std::fill_n(patch.upper, channels * taps * panel_height, Real{0});
    for_each_tap(convolution.input, convolution.window, position / positions.width,
                 position % positions.width, [&](std::size_t tap, std::size_t pixel) {
                     for (std::size_t c = 0; c < channels; ++c)
                         copy_row<Real>(image, (group * channels + c) * pixels + pixel, patch,
                                        c * taps + tap);
                 });
}

}  // namespace

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
    /// poisoned: what its records may become, if they may be poisoned.
    Gradients(PanelPass& pass, const PackedNetwork<Real>& parameters, const Panel<Real>& panel,
              const Clip& clip, const DropoutFactors<Real>& dropout, const VariantSums& sums,
              const PanelBounds<Real>* poisoned, OuterSums<Real>* gathered)
        : pass_(pass),
          network_(pass.network_),
          operations_(pass.operations_),
          parameters_(parameters),
          panel_{panel, panel},
          row_clip_(clip_of_rows(clip, panel)),
          clip_(panel.weight() ? row_clip_ : clip),
          dropout_(dropout),
          sums_(sums),
          poisoned_(poisoned),
          gathered_(gathered),
          point_(parameters.is_point()) {}

    void forward(std::size_t l) {
        pass_.apply(parameters_.layer(l), l, point_, panel_.by_feature(), dropout_);
        if (sums_.undecided != nullptr && l < network_.last())
            sums_.undecided[l] += operations_.undecided(network_.layers[l].weighted_rows(), panel_.count(),
                                                        pass_.activations_[l].view(point_));
    }

    void loss() {
        const ConstInterval logits = pass_.activations_.back().view(point_);
        for (std::size_t r = 0; r < panel_.count(); ++r) {
            const auto label = static_cast<std::size_t>(panel_.labels()[r]);
            const Correct correct =
                correct_of(network_.outputs(), label, logits.lower + r, logits.upper + r, panel_height);
            sums_.correct[0] += panel_.lower.counts() * correct.surely;
            sums_.correct[1] += panel_.lower.counts() * correct.possibly;
        }
        operations_.loss_gradient(network_.loss, network_.outputs(), logits, panel_.targets(), panel_.count(),
                                  pass_.deltas_.back().view(point_));
    }

    void outer(std::size_t l) {
        if (network_.layers[l].convolution) {
            ensure(!clip_.by_scales(), "no convolution is clipped by the norms of tensors or records");
            if (clip_.kind == Clip::Kind::factored) return add_factors(l);
            return add_positions(l);
        }
        pass_.make_rows(l, point_, dropout_);
        OuterProduct<Real> product = pass_.product(l, panel_, clip_, point_);
        if (clip_.kind == Clip::Kind::tensor_norm) scale_tensors(operations_.of_layer(l).squares(product));
        if (clip_.by_scales()) product.scales = &scales_;
        add(l, product);
    }

    void backward(std::size_t l) { pass_.backward(parameters_.layer(l), l, point_, dropout_); }

    bool clips_whole_records() const {
        return clip_.kind == Clip::Kind::norm || clip_.kind == Clip::Kind::record_norm ||
               panel_.lower.weight();
    }

    void clip_records() {
        if (clip_.kind == Clip::Kind::norm) return clip_norms();
        if (panel_.lower.weight()) weigh_records();
        if (clip_.kind == Clip::Kind::record_norm) scale_records();
    }

  private:
    /// Clipped after: rows of whole persons; or, where clip.rows is 0, of one who may have more.
    static Clip clip_of_rows(Clip clip, const Panel<Real>& panel) {
        if (!clip.after)
            clip.part = panel.weight().value_or(1);
        else if (clip.rows != 0 || panel.rows_of_person() == 1)
            clip.rows = panel.rows_of_person();
        ensure(clip.rows == 0 || panel.count() % clip.rows == 0, "a panel of whole persons");
        return clip;
    }
    /// Of a clip by factors, which are clamped before: the products clamp them no more.
    void weigh_records() {
        weigh_deltas(pass_.deltas_);
        if (poisoned_ != nullptr) weigh_deltas(pass_.poisoned_->deltas_);
    }
    void weigh_deltas(std::vector<Buffer>& deltas) const {
        const Real limit = clip_.by_factors() ? clip_.delta_clamp<Real>() : RealFormat<Real>::saturation;
        const double weight = panel_.lower.weight().value();  // clipped after, no part of a bound
        for (std::size_t l = 0; l < network_.layers.size(); ++l) {
            const std::size_t count = network_.layers[l].weighted_rows() * panel_height;
            weigh_rows(count, limit, weight, deltas[l].lower.data());
            if (!point_) weigh_rows(count, limit, weight, deltas[l].upper.data());
        }
    }
    void clip_norms() {
        const NormRule<Real> rule(clip_, network_.parameters());
        double squares[panel_height] = {};
        for (std::size_t l = 0; l < network_.layers.size(); ++l) {
            if (network_.layers[l].convolution) {
                operations_.of_layer(l).add_squares_of_positions(convolution(l), squares);
                continue;
            }
            const auto [in, out] = static_cast<LayerShape>(network_.layers[l]);
            const Real* z = image(l).lower;
            double delta_square[panel_height] = {}, z_square[panel_height];
            std::fill_n(z_square, panel_height, 1.0);
            operations_.add_squares(out, pass_.deltas_[l].lower.data(), delta_square);
            operations_.add_squares(in, z, z_square);
            for (std::size_t r = 0; r < panel_height; ++r) squares[r] += delta_square[r] * z_square[r];
        }
        for (std::size_t r = 0; r < panel_height; ++r) norm_scales_[r] = rule.scale_of(squares[r]);
        for (std::size_t l = 0; l < network_.layers.size(); ++l) {
            if (network_.layers[l].convolution) continue;  // what is scaled are the sums over its positions
            operations_.scale(network_.layers[l].out, norm_scales_, pass_.deltas_[l].lower.data());
        }
    }

    /// What layer l reads.
    ConstInterval image(std::size_t l) {
        if (l == 0) return panel_.by_feature();
        return pass_.output(l - 1, dropout_).view(point_);
    }

    ConvolutionProduct<Real> convolution(std::size_t l) {
        const Layer& layer = network_.layers[l];
        return {*layer.convolution, layer, clip_, pass_.deltas_[l].view(point_), image(l), panel_.count()};
    }

    void add_positions(std::size_t l) {
        ConvolutionProduct<Real> product = convolution(l);
        if (clip_.kind == Clip::Kind::norm) product.scales = norm_scales_;
        const std::size_t first = network_.offset(l);
        if (sums_.selection == nullptr)
            return operations_.of_layer(l).accumulate_positions(product, sums_.sums.from(first));
        const SelectionTarget target{*sums_.selection, first};
        operations_.of_layer(l).accumulate_positions(product, sums_.sums.from(first), &target);
    }

    /// The outer products of all positions one by one: an entry of the record is the sum of their entries
    /// (models/mathematics.md, convolution by factors).
    void add_factors(std::size_t l) {
        const Layer& layer = network_.layers[l];
        const Convolution& convolution = *layer.convolution;
        const Image positions = convolution.window.over(convolution.input, 1);
        const std::size_t in = layer.in, out = layer.out / convolution.groups, stride = row_stride<Real>(in);
        const ConstInterval z = image(l), all_deltas = pass_.deltas_[l].view(point_);
        const Interval patch = pass_.patch_.view(z.is_point()), rows = pass_.patch_rows_.view(z.is_point()),
                       delta = pass_.patch_deltas_.view(point_);
        for (std::size_t group = 0; group < convolution.groups; ++group) {
            for (std::size_t position = 0; position < positions.rows(); ++position) {
                copy_patch<Real>(convolution, positions, group, position, z, patch);
                for (std::size_t o = 0; o < out; ++o)
                    copy_row<Real>(all_deltas, (group * out + o) * positions.rows() + position, delta, o);
                operations_.transpose(in, patch.lower, rows.lower, stride);
                if (!rows.is_point()) operations_.transpose(in, patch.upper, rows.upper, stride);
                const OuterProduct<Real> product{{in, out}, clip_, delta, rows, stride, panel_.count()};
                operations_.of_layer(l).accumulate(
                    product, sums_.sums.from(network_.offset(l) + group * out * (in + 1)));
            }
        }
    }

    void add(std::size_t l, const OuterProduct<Real>& product) {
        const std::size_t first = network_.offset(l);
        const SumBounds sums = sums_.sums.from(first);
        const PanelOperations<Real>& operations = operations_.of_layer(l);
        std::optional<SelectionTarget> target;
        if (sums_.selection != nullptr) target.emplace(SelectionTarget{*sums_.selection, first});
        const SelectionTarget* selection = target ? &*target : nullptr;
        if (poisoned_ == nullptr || selection == nullptr) {
            if (gathered_ != nullptr && gathered_->add(l, product, sums, selection)) return;
            return operations.accumulate(product, sums, selection);
        }
        operations.accumulate(product, sums);
        operations.offer_changes(product, pass_.poisoned_->product(l, *poisoned_, clip_, false), *target);
    }

    /// The scales of one layer's tensors.
    void scale_tensors(const LayerSquares& squares) {
        set_scales(squares.weights, scales_.weights);
        set_scales(squares.biases, scales_.biases);
    }
    /// One scale for all of a record; squares are added in the order of the layers.
    void scale_records() {
        SquareBounds whole[panel_height];
        for (std::size_t l = 0; l < network_.layers.size(); ++l) {
            pass_.make_rows(l, point_, dropout_);
            const LayerSquares squares =
                operations_.of_layer(l).squares(pass_.product(l, panel_, clip_, point_));
            for (std::size_t r = 0; r < panel_.count(); ++r) {
                whole[r] += squares.weights[r];
                if (network_.layers[l].bias) whole[r] += squares.biases[r];
            }
        }
        set_scales(whole, scales_.weights);
        std::copy_n(scales_.weights, panel_.count(), scales_.biases);
    }
    /// One for each record, or for all rows of a person clipped after; of one alone where clip_.rows is 0.
    void set_scales(const SquareBounds* squares, RecordScale<Real>* scales) const {
        const std::size_t rows = clip_.rows == 0 ? panel_.count() : clip_.rows;
        const double limit = clip_.part * clip_.norm_limit;
        for (std::size_t r = 0; r < panel_.count(); r += rows)
            std::fill_n(scales + r, rows, scale_of_person<Real>(limit, std::span(squares + r, rows)));
    }

    PanelPass& pass_;
    const NetworkShape& network_;
    const PanelOperations<Real>& operations_;
    const PackedNetwork<Real>& parameters_;
    PanelBounds<Real> panel_;
    Clip row_clip_;  // of rows that are weighed
    const Clip& clip_;
    const DropoutFactors<Real>& dropout_;
    const VariantSums& sums_;
    const PanelBounds<Real>* poisoned_;
    OuterSums<Real>* gathered_;
    bool point_;
    LayerScales<Real> scales_;          // of a clip by scales
    double norm_scales_[panel_height];  // of a clip of points in the norm
};

/// The steps of walk_gradient() for all that the records of a panel may become, in one box: everything a
/// product is made of, and no sums.
template <typename Real>
class PanelPass<Real>::PoisonedGradients {
  public:
    PoisonedGradients(PanelPass& pass, const PackedNetwork<Real>& parameters, const PanelBounds<Real>& panel,
                      const Poison& poison)
        : pass_(pass), parameters_(parameters), panel_(panel), poison_(poison) {}

    void forward(std::size_t l) { pass_.apply(parameters_.layer(l), l, false, panel_.by_feature(), {}); }
    void loss() {
        const NetworkShape& network = pass_.network_;
        pass_.operations_.poisoned_loss_gradient(network.loss, network.outputs(),
                                                 pass_.activations_.back().view(false), panel_.targets(),
                                                 panel_.count(), poison_, pass_.deltas_.back().view(false));
    }
    void outer(std::size_t l) { pass_.make_rows(l, false, {}); }
    void backward(std::size_t l) { pass_.backward(parameters_.layer(l), l, false, {}); }
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
    : network_(network), operations_(operations), behind_(0), patch_(0), patch_rows_(0), patch_deltas_(0) {
    std::size_t behind = 0, patch = 0, patch_row = 0, patch_delta = 0;
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
        const Layer& layer = network.layers[l];
        const std::size_t weighted = layer.weighted_rows(), out = layer.output_rows();
        const bool last = l == network.last(), changed = layer.pooling || layer.dropout > 0;
        activations_.emplace_back((last ? std::max(weighted, last_rows) : weighted) * panel_height);
        outputs_.emplace_back(changed ? out * panel_height : 0);
        const bool read_by_dense = !last && !network.layers[l + 1].convolution;
        rows_.emplace_back(read_by_dense ? row_stride<Real>(out) * panel_height : 0);
        deltas_.emplace_back(weighted * panel_height);
        if (changed) behind = std::max(behind, out * panel_height);
        if (!layer.convolution) continue;
        patch = std::max(patch, layer.in * panel_height);
        patch_row = std::max(patch_row, row_stride<Real>(layer.in) * panel_height);
        patch_delta = std::max(patch_delta, layer.out * panel_height);
    }
    behind_ = Buffer(behind);
    ones_.assign(behind, Real{1});
    patch_ = Buffer(patch);
    patch_rows_ = Buffer(patch_row);
    patch_deltas_ = Buffer(patch_delta);
}

template <typename Real>
void PanelPass<Real>::apply(const PackedLayer& layer, std::size_t l, bool input_is_point,
                            ConstInterval features, const DropoutFactors<Real>& dropout) {
    const bool point = layer.is_point() && (l == 0 ? features.is_point() : input_is_point);
    const Interval weighted = activations_[l].view(point);
    if (l == 0) {
        weigh(layer, l, features, weighted);
    } else {
        weigh(layer, l, output(l - 1, dropout).view(input_is_point), weighted);
    }
    if (l == network_.last()) return;
    const Layer& after = network_.layers[l];
    operations_.relu(after.weighted_rows(), weighted);
    const Interval out = outputs_[l].view(point);
    if (after.pooling) pool<Real>(*after.pooling, panel_height, weighted, out);
    if (const std::vector<Real>* factors = factors_of<Real>(dropout, l))
        multiply_rows<Real>(*factors, panel_height, after.pooling ? out : weighted, out);
}

template <typename Real>
void PanelPass<Real>::weigh(const PackedLayer& layer, std::size_t l, ConstInterval z, Interval a) {
    const std::optional<Convolution>& convolution = network_.layers[l].convolution;
    if (l == 0 && z.is_point()) {
        if (convolution) return operations_.convolve_input(*convolution, layer, z.lower, a);
        return operations_.forward_input(layer, z.lower, a);
    }
    if (l == 0 && convolution) return convolve_box(layer, *convolution, z, a);
    if (l == 0) return operations_.of_layer(l).forward_box(layer, z, a);
    if (convolution) return operations_.of_layer(l).convolve(*convolution, layer, z, a);
    operations_.of_layer(l).forward(layer, z, a);
}

template <typename Real>
void PanelPass<Real>::convolve_box(const PackedLayer& layer, const Convolution& convolution, ConstInterval x,
                                   Interval a) {
    const Image positions = convolution.window.over(convolution.input, 1);
    const std::size_t out = layer.shape().out / convolution.groups;
    const Interval patch = patch_.view(false), sums = patch_deltas_.view(false);
    for (std::size_t group = 0; group < convolution.groups; ++group) {
        for (std::size_t position = 0; position < positions.rows(); ++position) {
            copy_patch<Real>(convolution, positions, group, position, x, patch);
            operations_.of_layer(0).forward_box(layer, patch, sums);
            for (std::size_t o = group * out; o < (group + 1) * out; ++o)
                copy_row<Real>(sums, o, a, o * positions.rows() + position);
        }
    }
}

template <typename Real>
auto PanelPass<Real>::output(std::size_t l, const DropoutFactors<Real>& dropout) -> Buffer& {
    const bool changed = network_.layers[l].pooling || factors_of<Real>(dropout, l) != nullptr;
    return changed ? outputs_[l] : activations_[l];
}

template <typename Real>
void PanelPass<Real>::backward(const PackedLayer& layer, std::size_t l, bool point,
                               const DropoutFactors<Real>& dropout) {
    const Layer& before = network_.layers[l - 1];
    const Interval z = activations_[l - 1].view(point), d = deltas_[l - 1].view(point);
    const std::vector<Real>* factors = factors_of<Real>(dropout, l - 1);
    if (!before.pooling && factors == nullptr) return transposed(layer, l, point, z, d);
    const Interval behind = before.pooling ? behind_.view(point) : d;
    transposed(layer, l, point, {ones_.data(), ones_.data()}, behind);
    if (factors != nullptr) multiply_rows<Real>(*factors, panel_height, behind, behind);
    if (before.pooling) pool_backward<Real>(*before.pooling, panel_height, z, behind, d);
    gate<Real>(before.weighted_rows() * panel_height, z, d);
}

template <typename Real>
void PanelPass<Real>::transposed(const PackedLayer& layer, std::size_t l, bool point, ConstInterval z,
                                 Interval d) {
    const ConstInterval delta = deltas_[l].view(point);
    const std::optional<Convolution>& convolution = network_.layers[l].convolution;
    if (convolution) return operations_.of_layer(l).convolve_backward(*convolution, layer, delta, z, d);
    operations_.of_layer(l).backward(layer, delta, z, d);
}

template <typename Real>
void PanelPass<Real>::make_rows(std::size_t l, bool point, const DropoutFactors<Real>& dropout) {
    if (l == 0) return;
    const std::size_t in = network_.layers[l].in, stride = row_stride<Real>(in);
    const Interval z = output(l - 1, dropout).view(point), rows = rows_[l - 1].view(point);
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
                                    const Clip& clip, const DropoutFactors<Real>& dropout,
                                    const VariantSums& sums, OuterSums<Real>* gathered) {
    ensure(clip.kind != Clip::Kind::norm || parameters.is_point(), "a box has no norm to clip by");
    Gradients gradients(*this, parameters, panel, clip, dropout, sums, nullptr, gathered);
    walk_gradient(network_.layers.size(), gradients);
}

template <typename Real>
void PanelPass<Real>::add_poisonable(const PackedNetwork<Real>& parameters, const Panel<Real>& panel,
                                     const PanelBounds<Real>& poisoned, const Poison& poison,
                                     const Clip& clip, const VariantSums& sums) {
    ensure(!clip.by_factors() && !parameters.is_point(), "poisoned records are bounded by entries, in a box");
    ensure(network_.is_dense(), "poisoned records are bounded in dense networks");
    if (poisoned_ == nullptr) poisoned_ = std::make_unique<PanelPass>(network_, operations_);
    PoisonedGradients changed(*poisoned_, parameters, poisoned, poison);
    walk_gradient(network_.layers.size(), changed);
    const DropoutFactors<Real> none;
    Gradients gradients(*this, parameters, panel, clip, none, sums, &poisoned, nullptr);
    walk_gradient(network_.layers.size(), gradients);
}

template <typename Real>
BasicConstInterval<Real> PanelPass<Real>::outputs(const PackedNetwork<Real>& parameters,
                                                  const PackedLayer& last, ConstInterval features) {
    const std::size_t hidden = network_.last();
    const bool point = features.is_point() && (hidden == 0 || parameters.is_point());  // before the last
    for (std::size_t l = 0; l < hidden; ++l) apply(parameters.layer(l), l, point, features, {});
    apply(last, hidden, point, features, {});
    return activations_.back().view(last.is_point() && point);
}

template class PackedNetwork<double>;
template class PackedNetwork<float>;
template class PanelPass<double>;
template class PanelPass<float>;

}  // namespace holdfast
