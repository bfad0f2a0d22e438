#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/arithmetic.hpp"
#include "kernels/ops/clip.hpp"
#include "kernels/ops/linear_step.hpp"
#include "kernels/ops/network_shape.hpp"
#include "kernels/ops/outer_sums.hpp"
#include "kernels/ops/poison.hpp"
#include "kernels/ops/record_scales.hpp"
#include "kernels/ops/selection.hpp"

namespace holdfast {

/// Records are processed in panels of this many; a panel array is [rows, panel_height], records innermost.
/// A record's results depend on nothing else in its panel.
constexpr std::size_t panel_height = 128;
static_assert(static_cast<std::int64_t>(panel_height) <= BasicGradientGrid<double>::block_limit &&
                  static_cast<std::int64_t>(panel_height) <= BasicGradientGrid<float>::block_limit,
              "a panel's sum stays on the grid");

/// Bounds of an array. lower == upper (the same pointer) means a point: computed once, at half the price or
/// less, with the bits that two equal bounds would have.
template <typename Real>
struct BasicInterval {
    Real* lower;
    Real* upper;
    bool is_point() const { return lower == upper; }
};
template <typename Real>
struct BasicConstInterval {
    const Real* lower;
    const Real* upper;
    BasicConstInterval(const Real* lower_bound, const Real* upper_bound)
        : lower(lower_bound), upper(upper_bound) {}
    BasicConstInterval(BasicInterval<Real> other)
        : lower(other.lower), upper(other.upper) {}  // NOLINT(google-explicit-constructor)
    bool is_point() const { return lower == upper; }
};
using Interval = BasicInterval<double>;
using ConstInterval = BasicConstInterval<double>;

/// How interval products are formed.
enum class Product {
    exact,  ///< sign-split and four-product: isotone bit by bit
    rump,   ///< midpoint-radius with envelopes, as in the AGT package: wider; reference backend only
    nguyen  ///< the same with the smaller radii of Nguyen 2012, as there
};

/// The product of each layer; the last one named is that of all behind it.
struct Products {
    std::vector<Product> layers{Product::exact};

    Products() = default;
    Products(Product one) : layers{one} {}  // NOLINT(google-explicit-constructor)
    Product of(std::size_t layer) const { return layers[std::min(layer, layers.size() - 1)]; }
    bool exact() const {
        return std::all_of(layers.begin(), layers.end(),
                           [](Product product) { return product == Product::exact; });
    }
    bool operator==(const Products&) const = default;
};

/// The parameters of one layer at one level, in the form a backend wants them.
class PackedLayer {
  public:
    explicit PackedLayer(LayerShape shape, bool is_point) : shape_(shape), is_point_(is_point) {}
    virtual ~PackedLayer() = default;
    PackedLayer(const PackedLayer&) = delete;
    PackedLayer& operator=(const PackedLayer&) = delete;
    LayerShape shape() const { return shape_; }
    bool is_point() const { return is_point_; }

  private:
    LayerShape shape_;
    bool is_point_;
};

/// Of the records of a panel: the scales of one layer's entries.
template <typename Real>
struct LayerScales {
    RecordScale<Real> weights[panel_height], biases[panel_height];
};
/// Of the records of a panel: bounds of the squares of one layer's gradients.
struct LayerSquares {
    SquareBounds weights[panel_height], biases[panel_height];
};

/// What an outer product is made of: delta [out, panel_height] and, by records, (z, 1) [panel_height, stride]
/// as transpose() makes it, z >= 0 or a point. delta of the records from `count` on is 0.
template <typename Real>
struct OuterProduct {
    LayerShape shape;
    const Clip& clip;
    BasicConstInterval<Real> delta, z_rows;
    std::size_t stride, count;
    const LayerScales<Real>* scales = nullptr;  ///< where clip.by_scales()
    bool is_point() const { return delta.is_point() && z_rows.is_point(); }
};

/// What the gradient of a convolution's weights is made of: delta [out * positions, panel_height], z [rows of
/// the image, panel_height], >= 0 or a point. delta of the records from `count` on is 0.
template <typename Real>
struct ConvolutionProduct {
    const Convolution& convolution;
    LayerShape shape;
    const Clip& clip;
    BasicConstInterval<Real> delta, z;
    std::size_t count;
    const double* scales = nullptr;  ///< [panel_height], where the norm of points is clipped
    bool is_point() const { return delta.is_point() && z.is_point(); }
};

/// Sums of bounds, [out, in + 1] in grid units; the same pointer twice for a point.
struct SumBounds {
    std::int64_t* lower;
    std::int64_t* upper;
    SumBounds from(std::size_t offset) const { return {lower + offset, upper + offset}; }
};

/// Where the entries of an outer product are offered: entry 0 is `first_entry` there. Threads may share it:
/// their stripes are those of `least.upper`.
struct SelectionTarget {
    LeastEntries& least;
    std::size_t first_entry = 0;
};

/// The operations of a step on one panel of the host's memory, declared once. Every set of them gives the
/// bits of `reference` (kernels/reference), which states each operation as plain loops;
/// tests/unit/panel_operations_test.cpp holds them equal, for each Real. All arrays are [rows, panel_height]
/// unless said. No operation keeps a pointer.
///
/// Each has inclusion and isotony (kernels/base/arithmetic.hpp), by the lemma at its declaration: lower
/// computes the least, upper the greatest value over the box of its operands.
/// tests/property/reduced_format_test.cpp and interval_oracle_test.cpp try to break each.
template <typename Real>
class PanelOperations {
  public:
    using Interval = BasicInterval<Real>;
    using ConstInterval = BasicConstInterval<Real>;

    virtual ~PanelOperations() = default;
    virtual std::string name() const = 0;
    virtual Arithmetic arithmetic() const { return RealFormat<Real>::precision; }
    /// These operations on the public grids of one network; null: they have none. Error (usage): a network
    /// they do not compute.
    virtual std::unique_ptr<PanelOperations> for_network(const NetworkShape& /*network*/) const {
        return nullptr;
    }
    /// The operations of one layer, where layers differ in their products.
    virtual const PanelOperations& of_layer(std::size_t /*layer*/) const { return *this; }

    /// lower, upper: [out, in + 1] in parameter units; the same pointer for a point.
    virtual std::unique_ptr<PackedLayer> pack(LayerShape shape, const std::int64_t* lower,
                                              const std::int64_t* upper) const = 0;

    /// x [inputs]: what a network sees of the records `indices`, 1 to panel_height of them, and 0 behind
    /// them. moved: added to every feature, within the public range: of panels that bound poisoned records.
    virtual void load(const InputTransform& input, double moved, std::size_t inputs, const RecordSet& records,
                      std::span<const std::uint32_t> indices, Real* x) const;
    /// a = W x + b for point features x [in] of any sign; a [out].
    /// Lemma: a fma grows with its sum, and with its weight where x >= 0, falls with it elsewhere. Each sum
    /// is the next fma's operand, so the ends chosen by the signs of x give the least and the greatest:
    /// attained.
    virtual void forward_input(const PackedLayer& layer, const Real* x, Interval a) const = 0;
    /// a = W x + b for x [in] in a box of any sign; a [out], an interval.
    /// Lemma: that of backward's sum, from the bias on. Of a box that is a point: forward_input, but for the
    /// signs of zeros.
    virtual void forward_box(const PackedLayer& layer, ConstInterval x, Interval a) const = 0;
    /// a = W z + b for z >= 0 [in]; a [out].
    /// Lemma: as z >= 0, a fma grows with its weight; at the least weight it grows with z if that is >= 0,
    /// else it falls with z. No later choice depends on an earlier one: attained.
    virtual void forward(const PackedLayer& layer, ConstInterval z, Interval a) const = 0;
    /// a = min(max(a, 0), saturation), in place, [rows]. Lemma: non-decreasing.
    virtual void relu(std::size_t rows, Interval a) const = 0;
    /// How many of the activations z >= 0 [rows] of the first `count` records are undecided
    /// (kernels/ops/undecided_rule.hpp). No bound depends on it.
    virtual std::int64_t undecided(std::size_t rows, std::size_t count, ConstInterval z) const = 0;
    /// d = gate(z) * (W^T delta), saturated; delta [out], d and z [in]; gate is 1 where z > 0, else 0 (the
    /// derivative at 0 is 0).
    /// Lemma of the sum: w delta is linear in each factor, so extreme at a corner, and a fma grows with its
    /// sum: the least of four fma onto the least sum is the least of all, attained. Lemma of the gate: with
    /// [s, t] the bounds of the sum, its box is [s, t] where z > 0 on all of z's interval, [0, 0] where
    /// nowhere, and else the hull of [s, t] and 0: these are the bounds of the values over the box. A smaller
    /// box of z moves the last to one of the others, which both lie in it. Saturation is non-decreasing. The
    /// z of the gate and the z that led to delta count as two operands.
    virtual void backward(const PackedLayer& layer, ConstInterval delta, ConstInterval z,
                          Interval d) const = 0;
    /// sums += over the records of the panel of the clipped outer product; each entry of the first `count`
    /// records is offered to `selection` (may be null; never of a point): its upper bound, and its lower
    /// bound negated.
    /// Lemma: clamping and make_odd are non-decreasing, and of a zero's sign nothing comes; so the entry's
    /// four fma onto the bias hold its extremes, each rounded once to the grid, and the clamp to +-Gamma
    /// keeps their order. Entries are integers, their sums exact. Of scales:
    /// models/mathematics.md, scaled entry. Of clip.rows > 1 records the sums are clamped, and none are
    /// selected; then `count` is of whole persons: models/mathematics.md, entries of a person.
    virtual void accumulate(const OuterProduct<Real>& product, SumBounds sums,
                            const SelectionTarget* selection = nullptr) const = 0;

    /// What poisoning could add to the entries of an outer product: of each of the first `count` records, its
    /// bounds as it is (`record`) less those of all that it may become (`poisoned`, z of any sign), at most
    /// 0, are offered to the selection: of the upper bounds, and of the lower ones negated. A change of 0
    /// adds nothing and is left out. Lemma: those of accumulate for both, whose bounds are integers
    /// (models/mathematics.md, poisoned sums).
    virtual void offer_changes(const OuterProduct<Real>& record, const OuterProduct<Real>& poisoned,
                               const SelectionTarget& selection) const = 0;

    /// Bounds of the unclipped entries' squares, summed (models/mathematics.md, record scales). A few numbers
    /// a row, so plain loops serve all that form exact products.
    virtual LayerSquares squares(const OuterProduct<Real>& product) const;
    /// a = W x + b at every position of a convolution, for point features x [rows of the image] of any sign;
    /// a [out * positions]. Each is the chain of forward_input() over the taps inside the image: a tap beside
    /// it would add a product with 0, which changes no value.
    virtual void convolve_input(const Convolution& convolution, const PackedLayer& layer, const Real* x,
                                Interval a) const = 0;
    /// The same for z >= 0, by the chain of forward().
    virtual void convolve(const Convolution& convolution, const PackedLayer& layer, ConstInterval z,
                          Interval a) const = 0;
    /// d = gate(z) * (W^T delta), saturated, as backward(): the chain of a pixel goes over the windows that
    /// read it, in the order of for_each_window(), and for each over the channels out of its group; delta
    /// [out * positions], d and z [rows of the image].
    virtual void convolve_backward(const Convolution& convolution, const PackedLayer& layer,
                                   ConstInterval delta, ConstInterval z, Interval d) const = 0;
    /// sums += over the records of the panel of their clipped gradients, elementwise: a record's products are
    /// added first, by an fma each in the order of the positions, rounded to the grid then, and clamped.
    /// Selections as those of accumulate().
    /// Lemma: the least of four fma onto the least sum is the least sum of all (as in backward()); rounding
    /// and clamp keep the order.
    /// With scales, of points alone: the sum of the products, saturated, is multiplied by its record's scale,
    /// rounded down to Real, in an fma onto the bias: rounded once, to the grid
    /// (models/mathematics.md, whole gradient of a convolution).
    virtual void accumulate_positions(const ConvolutionProduct<Real>& product, SumBounds sums,
                                      const SelectionTarget* selection = nullptr) const = 0;
    /// squares [panel_height] += of each record the squares of these sums before they are scaled, of points:
    /// in double, a channel out after the other, each by an fma an entry of its row from 0 on.
    virtual void add_squares_of_positions(const ConvolutionProduct<Real>& product, double* squares) const = 0;

    /// squares [panel_height] += values^2 [rows], by an fma each in double, in the order of the rows.
    virtual void add_squares(std::size_t rows, const Real* values, double* squares) const = 0;
    /// values [rows] *= scales [panel_height], in place: in double, then rounded to Real.
    virtual void scale(std::size_t rows, const double* scales, Real* values) const = 0;

    /// Whole steps of a linear network at a point, for one thread; null: this set of operations has none of
    /// its own, and panels serve. It must not outlive network and clip.
    virtual std::unique_ptr<LinearStep> linear_step(const NetworkShape& /*network*/,
                                                    const Clip& /*clip*/) const {
        return nullptr;
    }

    /// The derivative of the loss by the logits [outputs]; targets [count], class indices or numbers as the
    /// loss wants them; records from `count` on get 0. A few numbers a record, so plain loops serve all; in
    /// double whatever Real is, then rounded once.
    void loss_gradient(Loss loss, std::size_t outputs, ConstInterval logits, const double* targets,
                       std::size_t count, Interval delta) const;
    /// The same, as an interval, of any target that the poison may put in a target's place.
    /// Lemma: a hull of boxes holds what each of them holds, and grows with each; a derivative by a number
    /// does not rise with that number.
    void poisoned_loss_gradient(Loss loss, std::size_t outputs, ConstInterval logits, const double* targets,
                                std::size_t count, const Poison& poison, Interval delta) const;
    /// panel [rows, panel_height] -> out [panel_height, stride], with a column of ones at index `rows`; zeros
    /// behind.
    virtual void transpose(std::size_t rows, const Real* panel, Real* out, std::size_t stride) const;

    /// How many panels of one variant are worth handing to outer_sums() between two calls of finish(), where
    /// some variant selects or none; 1: these operations gain nothing from gathering.
    virtual std::size_t panels_together(const NetworkShape& /*network*/, const Clip& /*clip*/,
                                        bool /*selecting*/) const {
        return 1;
    }
    /// accumulate() over several panels, for one thread, where panels_together() > 1. Must not outlive the
    /// operations.
    virtual std::unique_ptr<OuterSums<Real>> outer_sums(const NetworkShape& /*network*/,
                                                        const Clip& /*clip*/) const {
        return nullptr;
    }
};

/// Length of a row of transpose(): room for the column of ones, rounded up to a cache line.
template <typename Real = double>
constexpr std::size_t row_stride(std::size_t rows) {
    constexpr std::size_t line = 64 / sizeof(Real);
    return (rows + 1 + line - 1) / line * line;
}

}  // namespace holdfast
