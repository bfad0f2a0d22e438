// The lemmas of kernels/base/arithmetic.hpp and kernels/ops/panel_operations.hpp over every box there is: the
// reference operations (kernels/reference/operations.hpp), instantiated with floating-point formats of 3 to 6
// bits.
//
// Every combination of boxes of the operands is evaluated once. Its bounds must hold those of each box that
// is one value narrower in one operand; and at a point both bounds must be what the operation computes there.
// Every box inside another is reached by such steps, down to its points: so this is inclusion and isotony for
// all of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "kernels/ops/loss_rule.hpp"
#include "kernels/ops/pooling_rule.hpp"
#include "kernels/reference/convolution.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/tiny_float.hpp"

namespace holdfast {
namespace reduced_format_test {

using Float3 = TinyFloat<1, 1, 0>;   // 0, 1, 2, 3
using Float4 = TinyFloat<2, 1, -1>;  // 0, 0.5, 1, 1.5, 2, 3, 4, 6
using Float5 = TinyFloat<2, 2, -2>;  // 0 to 2 by 1/4, then 2.5 to 7
using Float6 = TinyFloat<2, 3, -3>;  // 0 to 2 by 1/8, then 2.25 to 7.5

/// All boxes with ends in a list of ascending values, and of each those one value narrower.
template <typename Real>
class Boxes {
  public:
    explicit Boxes(const std::vector<Real>& values) {
        std::vector<std::vector<std::size_t>> index(values.size(), std::vector<std::size_t>(values.size()));
        for (std::size_t width = 0; width < values.size(); ++width) {
            for (std::size_t low = 0; low + width < values.size(); ++low) {
                const std::size_t high = low + width;
                index[low][high] = lower_.size();
                lower_.push_back(values[low]);
                upper_.push_back(values[high]);
                narrower_.push_back({});
                if (width > 0) narrower_.back() = {index[low + 1][high], index[low][high - 1]};
            }
        }
        points_ = values.size();
    }
    /// The values alone.
    static Boxes points(const std::vector<Real>& values) {
        Boxes boxes(values);
        boxes.lower_ = boxes.upper_ = values;
        boxes.narrower_.resize(values.size());
        return boxes;
    }

    std::size_t size() const { return lower_.size(); }
    Real lower(std::size_t box) const { return lower_[box]; }
    Real upper(std::size_t box) const { return upper_[box]; }
    bool is_point(std::size_t box) const { return box < points_; }
    const std::vector<std::size_t>& narrower(std::size_t box) const { return narrower_[box]; }

  private:
    std::vector<Real> lower_, upper_;
    std::vector<std::vector<std::size_t>> narrower_;
    std::size_t points_ = 0;  // the first boxes
};

/// Every value from `least` on, both zeros.
template <typename Real>
std::vector<Real> values_from(Real least) {
    std::vector<Real> values;
    for (int bits = 0; bits < Real::patterns; ++bits) {
        if (Real::from_bits(bits) >= least) values.push_back(Real::from_bits(bits));
    }
    std::sort(values.begin(), values.end());
    return values;
}
template <typename Real>
Boxes<Real> all_boxes() {
    return Boxes<Real>(values_from(Real::from_bits(Real::patterns - 1)));
}
template <typename Real>
Boxes<Real> boxes_of_activations() {
    return Boxes<Real>(values_from(Real{0}));
}
/// The combinations of boxes of several operands, numbered, the last operand's boxes first.
template <typename Real>
class Combinations {
  public:
    explicit Combinations(std::vector<Boxes<Real>> operands) : operands_(std::move(operands)) {
        strides_.resize(operands_.size());
        for (std::size_t i = operands_.size(); i-- > 0;) {
            strides_[i] = size_;
            size_ *= operands_[i].size();
        }
    }
    std::size_t size() const { return size_; }
    std::size_t operands() const { return operands_.size(); }
    Real lower(std::size_t combination, std::size_t operand) const {
        return operands_[operand].lower(box(combination, operand));
    }
    Real upper(std::size_t combination, std::size_t operand) const {
        return operands_[operand].upper(box(combination, operand));
    }
    bool is_point(std::size_t combination) const {
        for (std::size_t i = 0; i < operands_.size(); ++i) {
            if (!operands_[i].is_point(box(combination, i))) return false;
        }
        return true;
    }
    /// The combinations with one operand one value narrower.
    std::vector<std::size_t> narrower(std::size_t combination) const {
        std::vector<std::size_t> all;
        for (std::size_t i = 0; i < operands_.size(); ++i) {
            const std::size_t here = box(combination, i);
            for (const std::size_t narrower : operands_[i].narrower(here))
                all.push_back(combination + narrower * strides_[i] - here * strides_[i]);
        }
        return all;
    }

  private:
    std::size_t box(std::size_t combination, std::size_t operand) const {
        return combination / strides_[operand] % operands_[operand].size();
    }

    std::vector<Boxes<Real>> operands_;
    std::vector<std::size_t> strides_;
    std::size_t size_ = 1;
};

/// Bounds of one result as an integer that keeps the order.
struct Bounds {
    std::int8_t lower, upper;
};
template <typename Real>
Bounds bounds_of(Real lower, Real upper) {
    return {static_cast<std::int8_t>(lower.rank()), static_cast<std::int8_t>(upper.rank())};
}
Bounds bounds_of(reference::Entry entry) {
    return {static_cast<std::int8_t>(entry.lower), static_cast<std::int8_t>(entry.upper)};
}
bool holds(Bounds outer, Bounds inner) {
    return outer.lower <= inner.lower && inner.lower <= inner.upper && inner.upper <= outer.upper;
}

/// Boxes of the parameters of a layer or network, and of the operands that vary over the records of a panel.
/// evaluate(parameters, lanes, results): parameters [operands], lanes [operands, lanes], both the same
/// pointer twice for a point; results [outputs, lanes].
template <typename Real>
struct Operation {
    std::vector<Boxes<Real>> parameters, lanes;
    std::size_t outputs;
    std::function<void(BasicConstInterval<Real>, BasicConstInterval<Real>, std::span<Bounds>)> evaluate;
};

struct Counts {
    std::int64_t boxes = 0, nestings = 0, points = 0;
    std::int64_t narrowed = 0;  ///< nestings in which a bound moved
    Counts& operator+=(const Counts& other) {
        boxes += other.boxes, nestings += other.nestings, points += other.points, narrowed += other.narrowed;
        return *this;
    }
};

template <typename Real>
class Walk {
  public:
    explicit Walk(const Operation<Real>& operation)
        : operation_(operation), parameters_(operation.parameters), lanes_(operation.lanes) {
        for (std::size_t i = 0; i < lanes_.operands(); ++i) {
            for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
                lane_lower_.push_back(lanes_.lower(lane, i));
                lane_upper_.push_back(lanes_.upper(lane, i));
            }
        }
        for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
            lane_is_point_.push_back(lanes_.is_point(lane));
            narrower_lanes_.push_back(lanes_.narrower(lane));
        }
    }

    /// The first violation ends it.
    Counts run() {
        results_.resize(parameters_.size() * panel());
        for (std::size_t p = 0; p < parameters_.size() && !failed_; ++p) evaluate(p);
        for (std::size_t p = 0; p < parameters_.size() && !failed_; ++p) compare(p);
        return counts_;
    }

  private:
    std::size_t panel() const { return operation_.outputs * lanes_.size(); }
    std::span<Bounds> results(std::size_t parameters) {
        return std::span(results_).subspan(parameters * panel(), panel());
    }

    void evaluate(std::size_t p) {
        std::vector<Real> lower, upper;
        for (std::size_t i = 0; i < parameters_.operands(); ++i) {
            lower.push_back(parameters_.lower(p, i));
            upper.push_back(parameters_.upper(p, i));
        }
        operation_.evaluate({lower.data(), upper.data()}, {lane_lower_.data(), lane_upper_.data()},
                            results(p));
        counts_.boxes += static_cast<std::int64_t>(lanes_.size());
        if (parameters_.is_point(p)) compare_points(p, lower);
    }

    /// The operation at the points of the lanes, where its bounds must be its value.
    void compare_points(std::size_t p, const std::vector<Real>& parameters) {
        std::vector<Bounds> at_points(panel());
        operation_.evaluate({parameters.data(), parameters.data()}, {lane_lower_.data(), lane_lower_.data()},
                            at_points);
        for (std::size_t i = 0; i < panel(); ++i) {
            if (!lane_is_point_[i % lanes_.size()]) continue;
            ++counts_.points;
            const Bounds bounds = results(p)[i], value = at_points[i];
            if (value.lower != value.upper || bounds.lower != value.lower || bounds.upper != value.lower)
                fail("a point's bounds are not its value", p, i);
        }
    }

    void compare(std::size_t p) {
        const std::span<Bounds> here = results(p);
        for (const std::size_t narrower : parameters_.narrower(p)) {
            const std::span<Bounds> inner = results(narrower);
            for (std::size_t i = 0; i < panel(); ++i) compare(here[i], inner[i], p, i);
        }
        for (std::size_t i = 0; i < panel(); ++i) {
            const std::size_t lane = i % lanes_.size();
            for (const std::size_t narrower : narrower_lanes_[lane])
                compare(here[i], here[i - lane + narrower], p, i);
        }
    }
    void compare(Bounds outer, Bounds inner, std::size_t p, std::size_t i) {
        ++counts_.nestings;
        counts_.narrowed += outer.lower < inner.lower || inner.upper < outer.upper;
        if (!holds(outer, inner)) fail("a narrower box is not inside", p, i);
    }

    void fail(const char* what, std::size_t p, std::size_t i) {
        if (std::exchange(failed_, true)) return;
        std::string boxes;
        const auto describe = [&](const Combinations<Real>& combinations, std::size_t combination) {
            for (std::size_t k = 0; k < combinations.operands(); ++k)
                boxes += " [" + std::to_string(double(combinations.lower(combination, k))) + ", " +
                         std::to_string(double(combinations.upper(combination, k))) + "]";
        };
        describe(parameters_, p);
        describe(lanes_, i % lanes_.size());
        ADD_FAILURE() << what << ": output " << i / lanes_.size() << ", operands" << boxes;
    }

    const Operation<Real>& operation_;
    Combinations<Real> parameters_, lanes_;
    std::vector<Real> lane_lower_, lane_upper_;  // [operands, lanes]
    std::vector<bool> lane_is_point_;
    std::vector<std::vector<std::size_t>> narrower_lanes_;
    std::vector<Bounds> results_;  // [parameters, outputs, lanes]
    Counts counts_;
    bool failed_ = false;
};

void report(const char* what, const Counts& counts) {
    std::printf("%s: %lld boxes, %lld nestings (%lld proper), %lld points\n", what,
                static_cast<long long>(counts.boxes), static_cast<long long>(counts.nestings),
                static_cast<long long>(counts.narrowed), static_cast<long long>(counts.points));
    testing::Test::RecordProperty("boxes", std::to_string(counts.boxes));
    EXPECT_GT(counts.narrowed, counts.boxes / 10);  // bounds that never move would nest whatever they are
}
template <typename Real>
void walk(const char* what, const Operation<Real>& operation) {
    report(what, Walk<Real>(operation).run());
}

/// An interval array of an operation's result: one array for a point.
template <typename Real>
class Panel {
  public:
    Panel(std::size_t values, bool is_point)
        : lower_(values), upper_(is_point ? 0 : values), is_point_(is_point) {}
    BasicInterval<Real> bounds() { return {lower_.data(), is_point_ ? lower_.data() : upper_.data()}; }
    void store(std::span<Bounds> results) {
        for (std::size_t i = 0; i < lower_.size(); ++i)
            results[i] = bounds_of(bounds().lower[i], bounds().upper[i]);
    }

  private:
    std::vector<Real> lower_, upper_;
    bool is_point_;
};

template <typename Real>
reference::Weights<Real> weights(LayerShape shape, BasicConstInterval<Real> parameters) {
    return {shape, parameters.lower, parameters.upper};
}

// The operations one by one.

template <typename Real>
Operation<Real> forward(std::size_t inputs) {
    const std::vector<Boxes<Real>> parameters(inputs + 1, all_boxes<Real>()),
        z(inputs, boxes_of_activations<Real>());
    return {parameters, z, 1, [inputs](auto parameter_boxes, auto lanes, std::span<Bounds> results) {
                Panel<Real> a(results.size(), lanes.is_point());
                reference::forward(weights<Real>({inputs, 1}, parameter_boxes), results.size(), lanes,
                                   a.bounds());
                a.store(results);
            }};
}
TEST(ReducedFormat, ForwardOfOneUnitIn4Bits) {
    walk("forward, 1 unit, 4 bits", forward<Float4>(1));
}
TEST(ReducedFormat, ForwardOfOneUnitIn5Bits) {
    walk("forward, 1 unit, 5 bits", forward<Float5>(1));
}
TEST(ReducedFormat, ForwardOfTwoUnitsIn3Bits) {
    walk("forward, 2 units, 3 bits", forward<Float3>(2));
}

template <typename Real>
Operation<Real> forward_input(std::size_t inputs) {
    const std::vector<Boxes<Real>> parameters(inputs + 1, all_boxes<Real>()),
        x(inputs, Boxes<Real>::points(values_from(Real::from_bits(Real::patterns - 1))));
    return {parameters, x, 1, [inputs](auto parameter_boxes, auto lanes, std::span<Bounds> results) {
                Panel<Real> a(results.size(), parameter_boxes.is_point());
                reference::forward_input(weights<Real>({inputs, 1}, parameter_boxes), results.size(),
                                         lanes.lower, a.bounds());
                a.store(results);
            }};
}
TEST(ReducedFormat, ForwardInputOfOneFeatureIn5Bits) {
    walk("forward_input, 1 feature, 5 bits", forward_input<Float5>(1));
}
TEST(ReducedFormat, ForwardInputOfTwoFeaturesIn3Bits) {
    walk("forward_input, 2 features, 3 bits", forward_input<Float3>(2));
}

TEST(ReducedFormat, ForwardBoxOfOneFeatureIn4Bits) {
    walk<Float4>("forward_box, 1 feature, 4 bits",
                 {{all_boxes<Float4>(), all_boxes<Float4>()},
                  {all_boxes<Float4>()},
                  1,
                  [](auto parameter_boxes, auto lanes, std::span<Bounds> results) {
                      Panel<Float4> a(results.size(), parameter_boxes.is_point() && lanes.is_point());
                      reference::forward_box(weights<Float4>({1, 1}, parameter_boxes), results.size(), lanes,
                                             a.bounds());
                      a.store(results);
                  }});
}

TEST(ReducedFormat, ReluIn6Bits) {
    walk<Float6>("relu, 6 bits",
                 {{}, {all_boxes<Float6>()}, 1, [](auto, auto lanes, std::span<Bounds> results) {
                      Panel<Float6> a(results.size(), lanes.is_point());
                      std::copy_n(lanes.lower, results.size(), a.bounds().lower);
                      std::copy_n(lanes.upper, results.size(), a.bounds().upper);
                      reference::relu(results.size(), a.bounds());
                      a.store(results);
                  }});
}

/// Lanes: delta [outputs], then z of the one input. The layer's biases play no part.
template <typename Real>
Operation<Real> backward(std::size_t outputs) {
    std::vector<Boxes<Real>> lanes(outputs, all_boxes<Real>());
    lanes.push_back(boxes_of_activations<Real>());
    return {
        std::vector<Boxes<Real>>(outputs, all_boxes<Real>()), lanes, 1,
        [outputs](auto parameter_boxes, auto lane_boxes, std::span<Bounds> results) {
            const std::size_t count = results.size();
            std::vector<Real> lower(2 * outputs), upper(2 * outputs);
            for (std::size_t o = 0; o < outputs; ++o) {
                lower[2 * o] = parameter_boxes.lower[o];
                upper[2 * o] = parameter_boxes.upper[o];
            }
            const BasicConstInterval<Real> z{lane_boxes.lower + outputs * count,
                                             lane_boxes.upper + outputs * count};
            Panel<Real> d(count, lane_boxes.is_point());
            reference::backward({{1, outputs}, lower.data(), upper.data()}, count, lane_boxes, z, d.bounds());
            d.store(results);
        }};
}
TEST(ReducedFormat, BackwardOfOneUnitIn4Bits) {
    walk("backward and gate, 1 unit, 4 bits", backward<Float4>(1));
}
TEST(ReducedFormat, BackwardOfOneUnitIn5Bits) {
    walk("backward and gate, 1 unit, 5 bits", backward<Float5>(1));
}
TEST(ReducedFormat, BackwardOfTwoUnitsIn3Bits) {
    walk("backward and gate, 2 units, 3 bits", backward<Float3>(2));
}

/// Clips whose grid the format holds.
template <typename Real>
std::vector<Clip> clips() {
    constexpr auto elementwise = Clip::Kind::elementwise, factored = Clip::Kind::factored;
    std::vector<Clip> all;
    for (const double gamma : {0.125, 0.25, 0.375, 0.5}) all.push_back({.kind = elementwise, .gamma = gamma});
    for (const auto& [delta, z] : {std::pair{0.25, 0.5}, {0.25, 2.0}, {0.5, 0.5}, {0.3, 1.2}})
        all.push_back({.kind = factored, .gamma = delta * z, .delta_limit = delta, .activation_limit = z});
    std::erase_if(all, [](const Clip& clip) {
        const auto grid = clip.grid<Real>();
        const double unit = std::ldexp(1.0, grid.exponent());
        return double(grid.unit()) != unit ||
               double(grid.bias()) != std::ldexp(1.5, std::numeric_limits<Real>::digits - 1) * unit;
    });
    return all;
}

/// z: activations or, with features, points of any sign. Entries must stay within Gamma, too.
template <typename Real>
Operation<Real> entries(const Clip& clip, const Boxes<Real>& z, bool bias) {
    return {{}, {all_boxes<Real>(), z}, 1, [clip, bias](auto, auto lanes, std::span<Bounds> results) {
                const reference::Rule<Real> rule(clip);
                const std::int64_t most = bias ? clip.bias_units<Real>() : clip.weight_units<Real>();
                const std::size_t count = results.size();
                for (std::size_t i = 0; i < count; ++i) {
                    const Real one{1};
                    const reference::Entry entry = reference::clipped_entry<Real>(
                        rule, bias,
                        {lanes.lower[i], lanes.upper[i], bias ? one : lanes.lower[count + i],
                         bias ? one : lanes.upper[count + i]});
                    results[i] = bounds_of(entry);
                    ASSERT_TRUE(-most <= entry.lower && entry.upper <= most);
                }
            }};
}
template <typename Real>
void walk_entries(const char* what) {
    const Boxes<Real> features = Boxes<Real>::points(values_from(Real::from_bits(Real::patterns - 1)));
    Counts counts;
    EXPECT_GE(clips<Real>().size(), 5U);
    for (const Clip& clip : clips<Real>()) {
        for (const Boxes<Real>& z : {boxes_of_activations<Real>(), features})
            counts += Walk<Real>(entries(clip, z, false)).run();
        counts += Walk<Real>(entries(clip, Boxes<Real>::points({Real{1}}), true)).run();
    }
    std::printf("%s: %lld boxes, %lld nestings (%lld proper), %lld points, %zu clips\n", what,
                static_cast<long long>(counts.boxes), static_cast<long long>(counts.nestings),
                static_cast<long long>(counts.narrowed), static_cast<long long>(counts.points),
                clips<Real>().size());
    EXPECT_GT(counts.narrowed, 0);
}
/// An entry before it is clipped, and its scale >= 0.
template <typename Real>
void walk_scaled_entries(const char* what) {
    Counts counts;
    for (const Clip& clip : clips<Real>()) {
        if (clip.by_factors()) continue;
        counts += Walk<Real>({{},
                              {all_boxes<Real>(), boxes_of_activations<Real>()},
                              1,
                              [&](auto, auto lanes, std::span<Bounds> results) {
                                  const reference::Rule<Real> rule(clip);
                                  const std::size_t count = results.size();
                                  for (std::size_t i = 0; i < count; ++i)
                                      results[i] = bounds_of(reference::scaled_entry<Real>(
                                          rule, lanes.lower[i], lanes.upper[i],
                                          {lanes.lower[count + i], lanes.upper[count + i]}));
                              }})
                      .run();
    }
    report(what, counts);
}
TEST(ReducedFormat, ScaledEntriesIn5Bits) {
    walk_scaled_entries<Float5>("scaled entries, 5 bits");
}

TEST(ReducedFormat, EntriesOfBothClipsIn5Bits) {
    walk_entries<Float5>("clipped entries, 5 bits");
}
TEST(ReducedFormat, EntriesOfBothClipsIn6Bits) {
    walk_entries<Float6>("clipped entries, 6 bits");
}

// Whole networks: forward, loss, backward, entries of every parameter, as kernels/pass/panel_pass.hpp
// chains them.

/// Features, hidden units (0: no hidden layer), one logit.
struct Shape {
    std::size_t inputs, hidden;
    Loss loss = Loss::binary_cross_entropy;
    std::size_t last_inputs() const { return hidden == 0 ? inputs : hidden; }
    std::size_t first_parameters() const { return hidden * (inputs + 1); }
    std::size_t parameters() const { return first_parameters() + last_inputs() + 1; }
};

template <typename Real>
class Chain {
  public:
    Chain(Shape shape, std::size_t count, const Clip& clip, BasicConstInterval<Real> parameters)
        : shape_(shape),
          count_(count),
          is_point_(parameters.is_point()),
          rule_(clip),
          first_{{shape.inputs, shape.hidden}, parameters.lower, parameters.upper},
          last_{{shape.last_inputs(), 1},
                parameters.lower + shape.first_parameters(),
                parameters.upper + shape.first_parameters()},
          z_(shape.hidden * count, is_point_),
          logit_(count, is_point_),
          delta_(count, is_point_),
          d_(shape.hidden * count, is_point_) {}

    /// lanes: features, then a 1 for the label 1. Results: logit, its gradient, the entry of each parameter.
    void run(const Real* lanes, std::span<Bounds> results) {
        if (shape_.hidden > 0) {
            reference::forward_input(first_, count_, lanes, z_.bounds());
            reference::relu(shape_.hidden * count_, z_.bounds());
            reference::forward<Real>(last_, count_, z_.bounds(), logit_.bounds());
        } else {
            reference::forward_input(last_, count_, lanes, logit_.bounds());
        }
        logit_.store(results.first(count_));
        loss_gradient(lanes + shape_.inputs * count_);
        delta_.store(results.subspan(count_, count_));
        if (shape_.hidden > 0)
            reference::backward<Real>(last_, count_, delta_.bounds(), z_.bounds(), d_.bounds());
        const BasicInterval<Real> features{const_cast<Real*>(lanes), const_cast<Real*>(lanes)};
        std::size_t output = 2;
        for (std::size_t h = 0; h < shape_.hidden; ++h)
            store_entries(row(d_.bounds(), h), features, shape_.inputs, output, results);
        store_entries(delta_.bounds(), shape_.hidden > 0 ? z_.bounds() : features, shape_.last_inputs(),
                      output, results);
    }

  private:
    BasicInterval<Real> row(BasicInterval<Real> panel, std::size_t index) const {
        return {panel.lower + index * count_, panel.upper + index * count_};
    }
    void loss_gradient(const Real* labels) {
        const BasicInterval<Real> logit = logit_.bounds(), delta = delta_.bounds();
        for (std::size_t r = 0; r < count_; ++r) {
            const double target = labels[r] == Real{1} ? 1 : 0;
            const auto derivative = [&](const Real* own, const Real* others) {
                return Real(loss_derivative(shape_.loss, 1, 0, target, own + r, others + r, count_));
            };
            delta.lower[r] = derivative(logit.lower, logit.upper);
            delta.upper[r] = derivative(logit.upper, logit.lower);
        }
    }
    /// The entries of one unit: of each of its weights, then of its bias.
    void store_entries(BasicInterval<Real> delta, BasicInterval<Real> z, std::size_t inputs,
                       std::size_t& output, std::span<Bounds> results) const {
        for (std::size_t j = 0; j <= inputs; ++j, ++output) {
            const bool bias = j == inputs;
            const BasicInterval<Real> factor = row(z, bias ? 0 : j);
            for (std::size_t r = 0; r < count_; ++r) {
                const Real lower = bias ? Real{1} : factor.lower[r], upper = bias ? Real{1} : factor.upper[r];
                results[output * count_ + r] = bounds_of(reference::clipped_entry<Real>(
                    rule_, bias, {delta.lower[r], delta.upper[r], lower, upper}));
            }
        }
    }

    Shape shape_;
    std::size_t count_;
    bool is_point_;
    reference::Rule<Real> rule_;
    reference::Weights<Real> first_, last_;
    Panel<Real> z_, logit_, delta_, d_;
};

/// Boxes of all parameters with ends among `values`, at every combination of the features, with both labels.
template <typename Real>
void walk_network(const char* what, Shape shape, const Boxes<Real>& parameters,
                  const std::vector<Real>& features) {
    const Clip elementwise{.kind = Clip::Kind::elementwise, .gamma = 0.375},
        factored{.kind = Clip::Kind::factored, .gamma = 0.25, .delta_limit = 0.5, .activation_limit = 0.5};
    Counts counts;
    for (const Clip& clip : {elementwise, factored}) {
        std::vector<Boxes<Real>> lanes(shape.inputs, Boxes<Real>::points(features));
        lanes.push_back(Boxes<Real>::points({Real{0}, Real{1}}));
        counts +=
            Walk<Real>({std::vector<Boxes<Real>>(shape.parameters(), parameters), lanes,
                        2 + shape.parameters(),
                        [&](auto parameter_boxes, auto lane_boxes, std::span<Bounds> results) {
                            const std::size_t count = results.size() / (2 + shape.parameters());
                            Chain<Real>(shape, count, clip, parameter_boxes).run(lane_boxes.lower, results);
                        }})
                .run();
    }
    report(what, counts);
}
template <typename Real>
std::vector<Real> among(std::initializer_list<double> values) {
    std::vector<Real> list;
    for (const double value : values) list.emplace_back(value);
    return list;
}
TEST(ReducedFormat, NetworkOfOneHiddenUnit) {
    walk_network("network 1-1-1, 6 bits", {1, 1}, Boxes(among<Float6>({-4.5, -0.625, 0, 0.375, 1.75})),
                 values_from(Float6(-3)));
}
TEST(ReducedFormat, NetworkOfTwoHiddenUnits) {
    const std::vector<Float6> features = cases_of(1) == 1
                                             ? among<Float6>({-1.625, 0.375})
                                             : among<Float6>({-7.5, -1.625, -0.125, 0.0, 0.375, 2.75});
    walk_network("network 1-2-1, 6 bits", {1, 2}, Boxes(among<Float6>({-1.375, 0, 0.625})), features);
    walk_network("network 1-2-1, 6 bits", {1, 2}, Boxes(among<Float6>({-0.5, 0.25, 3.5})), features);
}
TEST(ReducedFormat, NetworkOfTwoFeatures) {
    for (const LossInfo& info : losses()) {
        if (!info.one_logit) continue;
        walk_network(
            "network 2-1, 5 bits", {2, 0, info.loss}, Boxes(among<Float5>({-3.5, -0.75, 0, 0.5, 1.25, 6})),
            cases_of(1) == 1
                ? among<Float5>({-7, -1.75, -0.75, 0, 0.25, 1.25, 3})
                : among<Float5>({-7, -2.5, -1.75, -1, -0.75, -0.25, 0, 0.25, 0.5, 1.25, 1.5, 3, 5, 7}));
    }
}

// What is between layers, and a convolution's gradient. Its sums forward and backward are those of dense
// layers (kernels/reference/convolution.hpp), walked above.

/// Lanes: the pixels of one image, >= 0.
template <typename Real>
Operation<Real> pooled(const Pooling& pooling, const Boxes<Real>& z) {
    return {{},
            std::vector<Boxes<Real>>(pooling.input.rows(), z),
            pooling.output().rows(),
            [pooling](auto, auto lanes, std::span<Bounds> results) {
                Panel<Real> a(results.size(), lanes.is_point());
                pool<Real>(pooling, results.size() / pooling.output().rows(), lanes, a.bounds());
                a.store(results);
            }};
}
TEST(ReducedFormat, Pooling) {
    using enum Pooling::Kind;
    walk("average of 2, 6 bits",
         pooled<Float6>({average, {1, 1, 2}, {1, 2}}, boxes_of_activations<Float6>()));
    walk("average of 3, padded, 4 bits",
         pooled<Float4>({average, {1, 1, 3}, {1, 3, 1, 1}}, boxes_of_activations<Float4>()));
    walk("greatest of 2, 6 bits",
         pooled<Float6>({greatest, {1, 1, 2}, {1, 2}}, boxes_of_activations<Float6>()));
    walk("greatest of 3, overlapping, 4 bits",
         pooled<Float4>({greatest, {1, 1, 4}, {1, 3}}, boxes_of_activations<Float4>()));
}

/// Lanes: deltas of the windows, then the pixels; results: the derivatives by the pixels, behind the gate.
template <typename Real>
Operation<Real> pooled_backward(const Pooling& pooling, const Boxes<Real>& delta, const Boxes<Real>& z) {
    const std::size_t windows = pooling.output().rows(), pixels = pooling.input.rows();
    std::vector<Boxes<Real>> lanes(windows, delta);
    lanes.insert(lanes.end(), pixels, z);
    return {{}, lanes, pixels, [pooling, windows](auto, auto lane_boxes, std::span<Bounds> results) {
                const std::size_t count = results.size() / pooling.input.rows();
                const BasicConstInterval<Real> activations{lane_boxes.lower + windows * count,
                                                           lane_boxes.upper + windows * count};
                Panel<Real> d(results.size(), lane_boxes.is_point());
                pool_backward<Real>(pooling, count, activations, lane_boxes, d.bounds());
                gate<Real>(results.size(), activations, d.bounds());
                d.store(results);
            }};
}
TEST(ReducedFormat, PoolingBackward) {
    using enum Pooling::Kind;
    const Boxes<Float4> deltas(among<Float4>({-6, -1.5, -0.5, 0, 1, 4}));
    for (const Pooling::Kind kind : {average, greatest}) {
        walk("backward of pooling 2, 4 bits",
             pooled_backward<Float4>({kind, {1, 1, 2}, {1, 2}}, all_boxes<Float4>(),
                                     boxes_of_activations<Float4>()));
        walk("backward of pooling 3, 4 bits",
             pooled_backward<Float4>({kind, {1, 1, 3}, {1, 3}}, deltas,
                                     Boxes(among<Float4>({0, 0.5, 1, 2, 6}))));
        walk("backward of overlapping pooling, 4 bits",
             pooled_backward<Float4>({kind, {1, 1, 3}, {1, 2}}, Boxes(among<Float4>({-6, -0.5, 0, 4})),
                                     Boxes(among<Float4>({0, 0.5, 1, 6}))));
    }
}

TEST(ReducedFormat, DropoutIn6Bits) {
    for (const double factor : {0.0, 1.0, 1.25, 2.0, 5.0}) {
        const auto multiply = [factor](auto, auto lanes, std::span<Bounds> results) {
            Panel<Float6> a(results.size(), lanes.is_point());
            multiply_rows<Float6>({Float6(factor)}, results.size(), lanes, a.bounds());
            a.store(results);
        };
        const Operation<Float6> operation{{}, {all_boxes<Float6>()}, 1, multiply};
        const Counts counts = Walk<Float6>(operation).run();
        EXPECT_EQ(counts.narrowed > 0, factor > 0);
    }
}

/// Of two positions: delta, delta, z, z.
template <typename Real>
Operation<Real> entry_of_two(const Clip& clip, const Boxes<Real>& delta, const Boxes<Real>& z) {
    return {{}, {delta, delta, z, z}, 1, [clip](auto, auto lanes, std::span<Bounds> results) {
                const reference::Rule<Real> rule(clip);
                const std::size_t count = results.size();
                for (std::size_t i = 0; i < count; ++i) {
                    const auto factors = [&](std::size_t position) {
                        const std::size_t of_delta = position * count + i, of_z = of_delta + 2 * count;
                        return reference::Factors<Real>{lanes.lower[of_delta], lanes.upper[of_delta],
                                                        lanes.lower[of_z], lanes.upper[of_z]};
                    };
                    const reference::Factors<Real> positions[] = {factors(0), factors(1)};
                    const reference::Entry entry = reference::clipped_sum<Real>(rule, positions);
                    results[i] = bounds_of(entry);
                    ASSERT_TRUE(-clip.weight_units<Real>() <= entry.lower &&
                                entry.upper <= clip.weight_units<Real>());
                }
            }};
}
TEST(ReducedFormat, EntriesOfTwoPositions) {
    const Boxes<Float6> deltas(among<Float6>({-7.5, -1, -0.375, -0.125, 0, 0.25, 1.5})),
        activations(among<Float6>({0, 0.125, 0.5, 1, 3.5})),
        features = Boxes<Float6>::points(among<Float6>({-4, -0.625, 0, 0.125, 1, 7.5}));
    Counts counts;
    std::size_t clips_tried = 0;
    for (const Clip& clip : clips<Float6>()) {
        if (clip.kind != Clip::Kind::elementwise) continue;
        for (const Boxes<Float6>& z : {activations, features})
            counts += Walk<Float6>(entry_of_two(clip, deltas, z)).run();
        ++clips_tried;
    }
    EXPECT_GT(clips_tried, 0U);
    report("entries of two positions, 6 bits", counts);
}

}  // namespace reduced_format_test
}  // namespace holdfast
