#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/base/random.hpp"
#include "kernels/ops/panel_operations.hpp"
#include "kernels/ops/window_walk.hpp"
#include "kernels/pass/panel_pass.hpp"

namespace holdfast {

/// What is added to a network's input and to what its first layer gives: the same to every record of a panel,
/// [rows], or to each its own, [rows, panel_height]; empty: nothing.
struct LayerNoise {
    std::vector<double> input, hidden;
};

/// log(1 + e^-z) to the second order as it is published, log 2 - |z|/2 + z^2/8, or corrected, with -z/2 in
/// the middle; the loss of one logit, whose class the record has (y = 1) or has not, and its derivative.
double taylor_loss(double z, double y, bool corrected);
double taylor_slope(double z, double y, bool corrected);

/// Every product of a layer: visit(row it reads, row it gives, index of its weight).
template <typename Visit>
void for_each_weight(const Layer& layer, Visit visit) {
    if (!layer.convolution) {
        for (std::size_t o = 0; o < layer.out; ++o)
            for (std::size_t i = 0; i < layer.in; ++i) visit(i, o, o * (layer.in + 1) + i);
        return;
    }
    const Convolution& of = *layer.convolution;
    const Image positions = layer.weighted();
    const std::size_t pixels = of.input.height * of.input.width, area = positions.height * positions.width,
                      channels = of.input.channels / of.groups, out = layer.out / of.groups,
                      taps = of.window.taps();
    for (std::size_t position = 0; position < area; ++position) {
        for_each_tap(of.input, of.window, position / positions.width, position % positions.width,
                     [&](std::size_t tap, std::size_t pixel) {
                         for (std::size_t o = 0; o < layer.out; ++o)
                             for (std::size_t c = 0; c < channels; ++c)
                                 visit((o / out * channels + c) * pixels + pixel, o * area + position,
                                       o * (layer.in + 1) + c * taps + tap);
                     });
    }
}

/// Published adversarial training on one panel of records, in double; one a thread. Layers as any network's,
/// but that the first, the auto-encoder h = theta_1^T x, is given noise before its ReLU, which with
/// everything behind it is g. Arrays are [rows, panel_height], records from `count` on are 0
/// (models/privacy/mathematics.md, published adversarial training).
class DpalPass {
  public:
    explicit DpalPass(const NetworkShape& network);

    const NetworkShape& network() const { return network_; }
    PackedNetwork<double> pack(const std::vector<std::int64_t>& parameters) const {
        return {network_, *operations_, parameters.data(), parameters.data()};
    }
    /// What the network sees of the records, without noise.
    void load(const RecordSet& records, std::span<const std::uint32_t> indices, double* x) const;

    void forward(const PackedNetwork<double>& parameters, const double* x, const LayerNoise& noise);
    const double* logits() const { return activations_.back().data(); }
    const double* encoded() const { return encoded_.data(); }  ///< h with noise
    const double* last_hidden() const;                         ///< what the last layer reads
    /// Scores of the classes of record r: the softmax of its logits.
    std::vector<double> scores(std::size_t r) const;
    std::size_t predicted(std::size_t r) const;

    /// After forward(): derivatives by what every layer gives, from those by the logits.
    void backward(const PackedNetwork<double>& parameters, std::size_t count,
                  const std::function<void(std::size_t record, double* slopes)>& by_logits);
    /// After backward(): the derivative by the input.
    const double* by_input(const PackedNetwork<double>& parameters);

    /// After backward(): the gradients of the layers from `first` on, clipped, added to sums [parameters] in
    /// units of the clip's grid; of Clip::Kind::norm all layers are to be added.
    void add_gradients(std::size_t first, const Clip& clip, std::size_t count, std::int64_t* sums);
    /// After forward(): the gradient of the reconstruction's Taylor expansion,
    ///   sum over records of (1/2 - x) . (theta_1 h), h = theta_1^T x + noise, x with its noise,
    /// added to sums [out, in + 1] of the first layer; of a convolution at every position of its window.
    void add_reconstruction(const PackedNetwork<double>& parameters, std::size_t count, double* sums);

    /// An attack of l-infinity from x, in place: fgsm, ifgsm, mim or pgd (models/robust/attack.hpp), `mu` in
    /// the units the network sees, kept in `range` of these. labels [count]: of the class that is to lose;
    /// null: the one predicted there. Random starts are a function of `hash`, `stream` and ids [count].
    struct Climb {
        std::string attack;
        double mu;
        std::int64_t steps;
        FeatureRange range;
        KeyedHash hash;
        std::uint64_t stream;
    };
    void climb(const PackedNetwork<double>& parameters, const LayerNoise& noise, const Climb& how,
               const std::int32_t* labels, const std::uint64_t* ids, std::size_t count, double* x);

  private:
    using Values = AlignedVector<double>;
    const Values& read_by(std::size_t layer) const;  ///< what a layer behind the first reads
    void weigh(const PackedNetwork<double>& parameters, std::size_t layer, const double* z, double* a);
    void transposed(const PackedNetwork<double>& parameters, std::size_t layer, const double* z, double* d);
    void clip_norms(const Clip& clip, double* scales);

    NetworkShape network_;
    std::unique_ptr<PanelOperations<double>> operations_;
    std::vector<Values> activations_, pooled_, deltas_;
    Values input_, encoded_, behind_, ones_, rows_, by_input_, half_, mirrored_;
};

}  // namespace holdfast
