#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/nets/network.hpp"
#include "models/robust/scattering_gradient.hpp"

namespace holdfast {

struct AffineLayer;

/// A network as a function of real numbers, in double and in a fixed order, with its derivatives: what
/// attacks climb. Nothing is claimed of it; whether an attack succeeded, the program itself decides. A
/// convolution is the matrix it is.
class Surrogate {
  public:
    /// units: [network.parameters()], each read as the precision has it. map: what the network sees images
    /// behind, or none. Error (usage): a regression; pooling.
    Surrogate(const Network& network, Precision precision, const std::vector<std::int64_t>& units,
              const Scattering* map = nullptr);

    std::size_t features() const { return layers_.front().in; }  ///< of the network
    FeatureRange range() const { return range_; }                ///< of the inputs
    Image image() const { return image_; }  ///< that an input is; of a table a strip, one row high
    std::size_t classes() const { return classes_; }
    const InputTransform& transform() const { return transform_; }

    /// The numbers of one input, kept for its derivatives.
    struct Pass {
        std::vector<std::vector<double>> values;  ///< what each layer reads; at last what the last one gives
        std::vector<double> logits;               ///< [classes]; one logit stands against 0 of class 0
        std::vector<double> by_logits;            ///< [classes]: of the sum that is derived, the weights
        std::vector<std::vector<double>> deltas;  ///< its derivatives by what each layer gives
        std::vector<double> gradient;             ///< [features]: at the input
        SmoothScattering::Pass scattered;         ///< of the map
    };
    // Of several inputs at once, each as if it were alone.
    static constexpr std::size_t together = 8;  ///< are worth it

    /// values.front(): x is [features], or an image.
    void read(std::span<const double> x, Pass& pass) const;
    /// From there on.
    void forward(std::span<Pass> passes) const;
    /// deltas, by by_logits.
    void backward(std::span<Pass> passes) const;
    /// And the gradient.
    void gradient(std::span<Pass> passes) const;

    /// Of a network without hidden layers: how far the logit of class c rises above that of class j where the
    /// [features] values that it reads move by so much.
    double rise(std::size_t c, std::size_t j, std::span<const double> move) const;

  private:
    struct Layer {
        Layer(const AffineLayer& affine);
        std::size_t in, out;
        std::size_t width;                              ///< out, and columns of zeros up to whole vectors
        std::vector<double> by_input, by_output, bias;  ///< weights [in, width] and [out, in]; [width]
    };
    /// Of what layer l reads, by the deltas of what it gives; result(pass): where to.
    template <typename Result>
    void behind(std::size_t l, std::span<Pass> passes, const Result& result) const;

    InputTransform transform_;
    FeatureRange range_;
    Image image_;
    std::optional<SmoothScattering> map_;
    std::size_t classes_;
    std::vector<Layer> layers_;
};

/// The derivative of the cross-entropy of `truth` by each class's logit: its probability, less 1 of truth.
void cross_entropy_by_logits(std::span<const double> logits, std::size_t truth, std::vector<double>& deltas);
/// The same where the label was drawn, and [classes] whole units of evidence are all that is known of it: of
/// -log of the sum over classes of probability times exp(unit evidence)
/// (models/privacy/mathematics.md, drawn labels).
void drawn_label_by_logits(std::span<const double> logits, std::span<const std::uint8_t> evidence,
                           double unit, std::vector<double>& deltas);

}  // namespace holdfast
