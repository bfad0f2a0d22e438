#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "kernels/base/arithmetic.hpp"
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

/// A dense layer: parameters [out, in + 1], the bias last in each row.
struct LayerShape {
    std::size_t in, out;
    std::size_t parameters() const { return out * (in + 1); }
};

enum class Loss { binary_cross_entropy, cross_entropy };

/// A clip on the grid of one precision, all of it public: what sums are counted and charged in.
struct GradientScale {
    int exponent;                           ///< the unit is 2^exponent
    std::int64_t weight_units, bias_units;  ///< Gamma, rounded up
    std::int64_t record_limit;              ///< records whose sum surely fits
    double rounding;                        ///< Gamma was rounded up by at most this part
};

/// How one record's entry of a gradient is bounded (mathematics.md, entry). In single precision the limits
/// of a factored clip are rounded down to floats, and Gamma follows from those.
struct Clip {
    enum class Kind {
        elementwise,  ///< every entry clamped to [-gamma, gamma], gamma rounded up to the gradient grid
        factored      ///< inside the weight gradient delta clamped to [-delta_limit, delta_limit], z to
                      ///< [-z_limit, z_limit]
    };
    Kind kind = Kind::elementwise;
    double gamma = 0;
    double delta_limit = 0, activation_limit = 0;

    template <typename Real = double>
    double weight_bound() const;  ///< Gamma of a weight
    template <typename Real = double>
    double bias_bound() const;  ///< Gamma of a bias
    template <typename Real = double>
    BasicGradientGrid<Real> grid() const {
        return BasicGradientGrid<Real>(std::max(weight_bound<Real>(), bias_bound<Real>()));
    }
    template <typename Real = double>
    std::int64_t weight_units() const {  ///< Gamma in grid units, rounded up
        return grid<Real>().units_above(weight_bound<Real>());
    }
    template <typename Real = double>
    std::int64_t bias_units() const {
        return grid<Real>().units_above(bias_bound<Real>());
    }
    template <typename Real>
    GradientScale scale() const;
};

/// make_odd may raise each factor by an ulp, and the product by two and a little.
template <typename Real>
constexpr double odd_slack = 1.0 + 4.0 * static_cast<double>(std::numeric_limits<Real>::epsilon());

template <typename Real>
double Clip::weight_bound() const {
    if (kind == Kind::elementwise) return gamma;
    return static_cast<double>(rounded_down<Real>(delta_limit)) *
           static_cast<double>(rounded_down<Real>(activation_limit)) * odd_slack<Real>;
}
template <typename Real>
double Clip::bias_bound() const {
    if (kind == Kind::elementwise) return gamma;
    return static_cast<double>(rounded_down<Real>(delta_limit)) * odd_slack<Real>;
}
template <typename Real>
GradientScale Clip::scale() const {
    const BasicGradientGrid<Real> on = grid<Real>();
    const auto raised = [&](std::int64_t units, double bound) {
        return static_cast<double>(units) * on.unit() / bound - 1;
    };
    return {on.exponent(), weight_units<Real>(), bias_units<Real>(), on.record_limit,
            std::max(raised(weight_units<Real>(), weight_bound<Real>()),
                     raised(bias_units<Real>(), bias_bound<Real>()))};
}

/// How interval products are formed.
enum class Product {
    exact,  ///< sign-split and four-product: isotone bit by bit
    rump    ///< midpoint-radius with envelopes, as in the AGT package: wider; reference
            ///< backend only
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

class StepEngine;  // kernels/ops/step_engine.hpp
struct StepShape;

/// The operations of a step, declared once. Every backend gives the bits of `reference` (kernels/reference),
/// which states each operation as plain loops; tests/unit/backend_test.cpp holds them equal, for each Real.
/// All arrays are [rows, panel_height] unless said. No operation allocates on the caller's behalf or keeps a
/// pointer.
///
/// Each has inclusion and isotony (kernels/base/arithmetic.hpp), by the lemma at its declaration: lower
/// computes the least, upper the greatest value over the box of its operands.
/// tests/property/reduced_format_test.cpp and interval_oracle_test.cpp try to break each.
template <typename Real>
class BasicBackend {
  public:
    using Interval = BasicInterval<Real>;
    using ConstInterval = BasicConstInterval<Real>;

    virtual ~BasicBackend() = default;
    virtual std::string name() const = 0;

    /// lower, upper: [out, in + 1] in parameter units; the same pointer for a point.
    virtual std::unique_ptr<PackedLayer> pack(LayerShape shape, const std::int64_t* lower,
                                              const std::int64_t* upper) const = 0;

    /// a = W x + b for point features x [in] of any sign; a [out].
    /// Lemma: a fma grows with its sum, and with its weight where x >= 0, falls with it elsewhere. Each sum
    /// is the next fma's operand, so the ends chosen by the signs of x give the least and the greatest:
    /// attained.
    virtual void forward_input(const PackedLayer& layer, const Real* x, Interval a) const = 0;
    /// a = W z + b for z >= 0 [in]; a [out].
    /// Lemma: as z >= 0, a fma grows with its weight; at the least weight it grows with z if that is >= 0,
    /// else it falls with z. No later choice depends on an earlier one: attained.
    virtual void forward(const PackedLayer& layer, ConstInterval z, Interval a) const = 0;
    /// a = min(max(a, 0), saturation), in place, [rows]. Lemma: non-decreasing.
    virtual void relu(std::size_t rows, Interval a) const = 0;
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
    /// The derivative of the loss by the logits [outputs]; labels [count]; records from `count` on get 0.
    virtual void loss_gradient(Loss loss, std::size_t outputs, ConstInterval logits,
                               const std::int32_t* labels, std::size_t count, Interval delta) const = 0;
    /// panel [rows, panel_height] -> out [panel_height, stride], with a column of ones at index `rows`; zeros
    /// behind.
    virtual void transpose(std::size_t rows, const Real* panel, Real* out, std::size_t stride) const = 0;
    /// sums += over the records of the panel of the clipped outer product delta [out] x (z, 1); z_rows is
    /// [panel_height, stride] as transpose() makes it, z >= 0 or a point; sums [out, in + 1] in grid units.
    /// Lemma: clamping and make_odd are non-decreasing, and of a zero's sign nothing comes; so the entry's
    /// four fma onto the bias hold its extremes, each rounded once to the grid, and the clamp to +-Gamma
    /// keeps their order. Entries are integers, their sums exact.
    virtual void accumulate(LayerShape shape, const Clip& clip, ConstInterval delta, ConstInterval z_rows,
                            std::size_t stride, std::int64_t* sum_lower, std::int64_t* sum_upper) const = 0;
    /// The same for the first `count` records (delta of the others is 0), and each of their entries is
    /// offered: upper bounds to `least_upper`, lower bounds negated to `least_negated_lower`, at entry
    /// first_entry + index. Threads may share both: their stripes are those of `least_upper`.
    virtual void accumulate_and_select(LayerShape shape, const Clip& clip, ConstInterval delta,
                                       ConstInterval z_rows, std::size_t stride, std::size_t count,
                                       std::int64_t* sum_lower, std::int64_t* sum_upper,
                                       std::size_t first_entry, Selection& least_upper,
                                       Selection& least_negated_lower) const = 0;

    /// For backends whose memory is not the host's: whole steps where the data is, instead of the operations
    /// above one by one. Null: there is none. The backend must outlive it.
    virtual std::unique_ptr<StepEngine> step_engine(const StepShape& shape) const;
};
using Backend = BasicBackend<double>;

/// Length of a row of transpose(): room for the column of ones, rounded up to a cache line.
template <typename Real = double>
constexpr std::size_t row_stride(std::size_t rows) {
    constexpr std::size_t line = 64 / sizeof(Real);
    return (rows + 1 + line - 1) / line * line;
}

}  // namespace holdfast
