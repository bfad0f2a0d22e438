// Every interval operation on every backend against two oracles. The backend's own point operation, bit by
// bit: it stays inside the bounds (inclusion), the bounds are points of it (nothing is given away), smaller
// boxes give smaller bounds (isotony). And exact real arithmetic (MPFR): the bounds are the optimum but for
// the rounding of the sum, whose price is printed.

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "kernels/backends.hpp"
#include "kernels/base/aligned.hpp"

namespace holdfast {
namespace {

/// A box of a panel array or of parameters; a point is a box of equal ends.
template <typename Array>
struct BoxOf {
    Array lower, upper;
    std::size_t size() const { return lower.size(); }
};
using WeightBox = BoxOf<std::vector<std::int64_t>>;

/// What numbers a test draws.
enum class Range {
    ordinary,  ///< within a factor of a thousand of 1, boxes of 1%
    extreme    ///< zeros of both signs, subnormals, 1e30, equal ends, boxes across zero
};

/// Where in its box a point lies.
enum class Place { lower, upper, corner, anywhere };
constexpr Place places[] = {Place::lower, Place::upper, Place::corner, Place::corner, Place::anywhere};

/// A sum of products to 256 bits, with the sum of their magnitudes.
class ExactSum {
  public:
    ExactSum() {
        mpfr_inits2(256, sum_, product_, magnitude_, nullptr);
        mpfr_set_zero(sum_, 1);
        mpfr_set_zero(magnitude_, 1);
    }
    ~ExactSum() { mpfr_clears(sum_, product_, magnitude_, nullptr); }
    ExactSum(const ExactSum&) = delete;
    ExactSum& operator=(const ExactSum&) = delete;

    void add(double a, double b) {
        mpfr_set_d(product_, a, MPFR_RNDN);
        mpfr_mul_d(product_, product_, b, MPFR_RNDN);
        add_product();
    }
    /// a b clamped to [-limit, limit].
    void add_clamped(double a, double b, double limit) {
        mpfr_set_d(product_, a, MPFR_RNDN);
        mpfr_mul_d(product_, product_, b, MPFR_RNDN);
        if (mpfr_cmp_d(product_, limit) > 0) mpfr_set_d(product_, limit, MPFR_RNDN);
        if (mpfr_cmp_d(product_, -limit) < 0) mpfr_set_d(product_, -limit, MPFR_RNDN);
        add_product();
    }
    double sum() const { return mpfr_get_d(sum_, MPFR_RNDN); }
    double magnitude() const { return mpfr_get_d(magnitude_, MPFR_RNDU); }
    /// |value - sum|, up.
    double distance(double value) {
        mpfr_d_sub(product_, value, sum_, MPFR_RNDN);
        return std::abs(mpfr_get_d(product_, MPFR_RNDA));
    }

  private:
    void add_product() {
        mpfr_add(sum_, sum_, product_, MPFR_RNDN);
        mpfr_abs(product_, product_, MPFR_RNDN);
        mpfr_add(magnitude_, magnitude_, product_, MPFR_RNDU);
    }
    mpfr_t sum_, product_, magnitude_;
};

/// The bound on the rounding of a chain of `terms` fma: (n + 2) u times the magnitude, and the subnormals.
template <typename Real>
double rounding_of(std::size_t terms, double magnitude) {
    const auto n = static_cast<double>(terms);
    return (n + 2) * 0.5 * std::numeric_limits<Real>::epsilon() * magnitude +
           n * std::numeric_limits<Real>::denorm_min();
}
/// What the rounding of bounds may cost of the exact width, where boxes are 1% wide.
template <typename Real>
constexpr double most_excess = sizeof(Real) == sizeof(double) ? 1e-9 : 1e-3;

/// What the rigour costs: computed width over the width of the exact optimum, less one.
class Excess {
  public:
    void add(double computed_width, double exact_width) {
        computed_ += computed_width;
        exact_ += exact_width;
    }
    double relative() const { return computed_ / exact_ - 1; }
    void report(const std::string& what) const {
        std::printf("%-32s excess width %+.2e of the exact width\n", what.c_str(), relative());
    }

  private:
    double computed_ = 0, exact_ = 0;
};

struct Case {
    std::string backend;  // "rump", "nguyen": the reference with midpoint-radius products
    LayerShape shape;
};

struct Sums {
    std::vector<std::int64_t> lower, upper;
};

/// What the tests below need, and themselves, in one precision.
template <typename Real>
struct Oracle : testing::TestWithParam<Case> {
    using Values = AlignedVector<Real>;
    using Interval = BasicInterval<Real>;
    using ConstInterval = BasicConstInterval<Real>;
    using Operations = PanelOperations<Real>;

    struct Box : BoxOf<Values> {
        Interval view() { return {this->lower.data(), this->upper.data()}; }
        ConstInterval view() const { return {this->lower.data(), this->upper.data()}; }
    };

    static Box empty_box(std::size_t size) { return {{Values(size), Values(size)}}; }
    static Interval view(Values& point) { return {point.data(), point.data()}; }
    static ConstInterval view(const Values& point) { return {point.data(), point.data()}; }

    class Draws {
      public:
        Draws(Range range, std::uint64_t seed) : range_(range), engine_(seed) {}

        std::uint64_t below(std::uint64_t count) { return engine_() % count; }
        double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

        Real value() {
            constexpr bool wide = sizeof(Real) == sizeof(double);
            const auto ordinary =
                static_cast<Real>(std::ldexp(uniform() - 0.5, static_cast<int>(below(10)) - 7));
            if (range_ == Range::ordinary) return ordinary;
            switch (below(12)) {
                case 0:
                    return std::copysign(Real{0}, ordinary);
                case 1:
                    return std::copysign(
                        std::numeric_limits<Real>::denorm_min() * static_cast<Real>(1 + below(1000)),
                        ordinary);
                case 2:
                    return ordinary * Real(wide ? 1e-300 : 1e-36);
                case 3:
                    return ordinary * Real(wide ? 1e30 : 1e12);
                default:
                    return ordinary;
            }
        }

        Box box(std::size_t size, bool nonnegative) {
            Box box = empty_box(size);
            for (std::size_t i = 0; i < size; ++i) {
                const Real a = nonnegative ? std::abs(value()) : value();
                Real b = range_ == Range::ordinary ? a * Real(1 + 0.02 * (uniform() - 0.5))
                         : below(4) == 0           ? a
                                                   : value();
                if (nonnegative) b = std::abs(b);
                box.lower[i] = std::min(a, b);
                box.upper[i] = std::max(a, b);
            }
            return box;
        }

        /// After ReLU: some entries surely closed, some undecided.
        Box activations(std::size_t size) {
            Box result = box(size, true);
            for (std::size_t i = 0; i < size; ++i) {
                const std::uint64_t kind = below(8);
                if (kind <= 1) result.lower[i] = 0;
                if (kind == 0) result.upper[i] = 0;
            }
            return result;
        }

        WeightBox weights(LayerShape shape) {
            WeightBox box;
            for (std::size_t p = 0; p < shape.parameters(); ++p) {
                const double middle = value();
                std::int64_t lower = parameter_units(middle), upper = lower;
                if (range_ == Range::ordinary || below(3) > 0)
                    upper += parameter_units(0.02 * uniform() * std::min(std::abs(middle), 50.0));
                if (range_ == Range::extreme && below(8) == 0)
                    lower -= parameter_units(2 * uniform());  // across zero
                box.lower.push_back(lower);
                box.upper.push_back(upper);
            }
            return box;
        }

        template <typename T>
        T pick(T lower, T upper, Place place) {
            if (place == Place::lower) return lower;
            if (place == Place::upper) return upper;
            if (place == Place::corner || below(4) == 0) return below(2) == 0 ? lower : upper;
            const double t = uniform();
            return std::clamp(
                static_cast<T>(static_cast<double>(lower) * (1 - t) + static_cast<double>(upper) * t), lower,
                upper);
        }

        template <typename Array>
        Array point(const BoxOf<Array>& box, Place place) {
            Array point(box.size());
            for (std::size_t i = 0; i < box.size(); ++i) point[i] = pick(box.lower[i], box.upper[i], place);
            return point;
        }

        template <typename BoxType>
        BoxType sub_box(const BoxType& box) {
            BoxType part = box;
            for (std::size_t i = 0; i < box.size(); ++i) {
                const auto a = pick(box.lower[i], box.upper[i], Place::anywhere),
                           b = pick(box.lower[i], box.upper[i], Place::anywhere);
                part.lower[i] = std::min(a, b);
                part.upper[i] = std::max(a, b);
            }
            return part;
        }

      private:
        Range range_;
        std::mt19937_64 engine_;
    };

    const std::string prefix = sizeof(Real) == sizeof(double) ? "" : "single ";
    const LayerShape shape = GetParam().shape;
    const bool exact_products = GetParam().backend != "rump" && GetParam().backend != "nguyen";
    const std::unique_ptr<Operations> operations =
        exact_products ? make_operations<Real>(GetParam().backend)
                       : make_operations<Real>(
                             "reference", GetParam().backend == "rump" ? Product::rump : Product::nguyen);

    void SetUp() override {
        ASSERT_EQ(operations->name(),
                  exact_products ? GetParam().backend : "reference (" + GetParam().backend + ")");
    }

    std::unique_ptr<PackedLayer> pack(const WeightBox& box) const {
        return operations->pack(shape, box.lower.data(), box.upper.data());
    }
    std::unique_ptr<PackedLayer> pack(const std::vector<std::int64_t>& point) const {
        return operations->pack(shape, point.data(), point.data());
    }
    Box forward(const WeightBox& weights, const Box& z) const {
        Box a = empty_box(shape.out * panel_height);
        operations->forward(*pack(weights), z.view(), a.view());
        return a;
    }
    Values forward(const std::vector<std::int64_t>& weights, const Values& z) const {
        Values a(shape.out * panel_height);
        operations->forward(*pack(weights), view(z), view(a));
        return a;
    }
    Box forward_input(const WeightBox& weights, const Values& x) const {
        Box a = empty_box(shape.out * panel_height);
        operations->forward_input(*pack(weights), x.data(), a.view());
        return a;
    }
    Values forward_input(const std::vector<std::int64_t>& weights, const Values& x) const {
        Values a(shape.out * panel_height);
        operations->forward_input(*pack(weights), x.data(), view(a));
        return a;
    }
    Box backward(const WeightBox& weights, const Box& delta, const Box& z) const {
        Box d = empty_box(shape.in * panel_height);
        operations->backward(*pack(weights), delta.view(), z.view(), d.view());
        return d;
    }
    Values backward(const std::vector<std::int64_t>& weights, const Values& delta, const Values& z) const {
        Values d(shape.in * panel_height);
        operations->backward(*pack(weights), view(delta), view(z), view(d));
        return d;
    }

    /// Runs `test` with ordinary and extreme numbers.
    void with_boxes(const std::function<void(Range, Draws&)>& test) const {
        for (const Range range : {Range::ordinary, Range::extreme}) {
            for (std::uint64_t seed = 0; seed < 3; ++seed) {
                Draws draws(range, seed * 1000003 + shape.in * 31 + shape.out);
                test(range, draws);
                if (HasFatalFailure()) return;
            }
        }
    }
    const std::size_t stride = row_stride<Real>(shape.in);

    Values by_record(const Values& panel) const {
        Values rows(panel_height * stride);
        operations->transpose(shape.in, panel.data(), rows.data(), stride);
        return rows;
    }
    Sums accumulate(const Clip& clip, const Box& delta, const Box& z, bool z_is_point) const {
        const Values lower = by_record(z.lower), upper = by_record(z.upper);
        Sums sums{std::vector<std::int64_t>(shape.parameters()),
                  std::vector<std::int64_t>(shape.parameters())};
        operations->accumulate({shape,
                                clip,
                                delta.view(),
                                {lower.data(), z_is_point ? lower.data() : upper.data()},
                                stride,
                                panel_height},
                               {sums.lower.data(), sums.upper.data()});
        return sums;
    }
    std::vector<std::int64_t> accumulate(const Clip& clip, const Values& delta, const Values& z) const {
        const Values rows = by_record(z);
        std::vector<std::int64_t> sums(shape.parameters());
        operations->accumulate({shape, clip, view(delta), view(rows), stride, panel_height},
                               {sums.data(), sums.data()});
        return sums;
    }
    std::vector<Clip> clips() const {
        std::vector<Clip> all{{.kind = Clip::Kind::elementwise, .gamma = 0.06},
                              {.kind = Clip::Kind::elementwise, .gamma = 1e4}};
        if (exact_products) {  // the midpoint-radius product is elementwise only
            all.push_back(
                {.kind = Clip::Kind::factored, .gamma = 0.06, .delta_limit = 0.2, .activation_limit = 0.3});
            all.push_back(
                {.kind = Clip::Kind::factored, .gamma = 1e4, .delta_limit = 1e2, .activation_limit = 1e2});
        }
        return all;
    }

    static void expect_inside(const Values& point, const Box& bounds) {
        for (std::size_t i = 0; i < point.size(); ++i) {
            ASSERT_LE(bounds.lower[i], point[i])
                << "entry " << i << std::hexfloat << " " << bounds.lower[i] << " " << point[i];
            ASSERT_LE(point[i], bounds.upper[i])
                << "entry " << i << std::hexfloat << " " << bounds.upper[i] << " " << point[i];
        }
    }

    static void expect_inside(const Box& part, const Box& bounds) {
        expect_inside(part.lower, bounds);
        expect_inside(part.upper, bounds);
    }

    static void expect_inside(const std::vector<std::int64_t>& point, const Sums& bounds) {
        for (std::size_t p = 0; p < point.size(); ++p) {
            ASSERT_LE(bounds.lower[p], point[p]) << p;
            ASSERT_LE(point[p], bounds.upper[p]) << p;
        }
    }

    /// A panel of `rows` by panel_height whose records repeat after the first few: long ones are drawn
    /// quickly.
    static Box repeated(const Box& few, std::size_t rows, std::size_t distinct) {
        Box all = empty_box(rows * panel_height);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::size_t from = i / panel_height * distinct + i % distinct;
            all.lower[i] = few.lower[from];
            all.upper[i] = few.upper[from];
        }
        return all;
    }

    void forward_holds_points_and_sub_boxes();
    void forward_is_attained();
    void forward_is_the_optimum_but_for_rounding();
    void forward_input_holds_points_is_attained_and_optimal();
    void relu_holds_points_and_is_exact();
    void backward_holds_points_and_sub_boxes();
    void backward_is_attained_and_optimal();
    void loss_gradient_holds_points_is_attained_and_optimal();
    void accumulate_holds_points_and_sub_boxes();
    void accumulate_is_attained_and_optimal();
    void long_sums();
};

/// p = 1 / (1 + sum of exp(z_j - z_c)) - target, exactly; the straight pieces of the others.
template <typename Real>
double exact_loss_gradient(Loss loss, std::size_t outputs, std::size_t c, const Real* own, const Real* others,
                           double truth) {
    if (loss == Loss::squared_error) {
        const long double most = RealFormat<Real>::saturation, z = own[0];
        return static_cast<double>(std::clamp(2 * (z - truth), -most, most));
    }
    const bool target = truth == (info_of(loss).one_logit ? 1 : static_cast<double>(c));
    if (loss == Loss::hinge) return target ? -(own[0] < 1 ? 1.0 : 0.0) : own[0] > -1 ? 1.0 : 0.0;
    if (loss == Loss::huber) {
        const long double margin = target ? own[0] : -own[0], rise = margin - 1.5L;
        const auto derivative = static_cast<double>(std::clamp(rise, -1.0L, 0.0L));
        return target ? derivative : -derivative;
    }
    mpfr_t sum, term;
    mpfr_inits2(160, sum, term, nullptr);
    mpfr_set_ui(sum, 1, MPFR_RNDN);
    const bool softmax = loss == Loss::cross_entropy;
    for (std::size_t j = 0; j < (softmax ? outputs : 1); ++j) {
        if (softmax && j == c) continue;
        mpfr_set_d(term, softmax ? others[j * panel_height] : 0.0, MPFR_RNDN);
        mpfr_sub_d(term, term, own[c * panel_height], MPFR_RNDN);
        mpfr_exp(term, term, MPFR_RNDN);
        mpfr_add(sum, sum, term, MPFR_RNDN);
    }
    mpfr_ui_div(sum, 1, sum, MPFR_RNDN);
    if (target) mpfr_sub_ui(sum, sum, 1, MPFR_RNDN);
    const double gradient = mpfr_get_d(sum, MPFR_RNDN);
    mpfr_clears(sum, term, nullptr);
    return gradient;
}

/// Of the four corners of w delta, the one whose product is least (sign +1) or greatest (-1).
std::pair<bool, bool> extreme_corner(double w_lower, double w_upper, double d_lower, double d_upper,
                                     double sign) {
    std::pair<bool, bool> best{false, false};
    long double least = HUGE_VALL;
    for (const bool w : {false, true}) {
        for (const bool d : {false, true}) {
            const long double product =
                sign * static_cast<long double>(w ? w_upper : w_lower) * (d ? d_upper : d_lower);
            if (product < least) {
                least = product;
                best = {w, d};
            }
        }
    }
    return best;
}

template <typename Real>
void Oracle<Real>::forward_holds_points_and_sub_boxes() {
    with_boxes([&](Range, Draws& draws) {
        const WeightBox weights = draws.weights(shape);
        const Box z = draws.box(shape.in * panel_height, true);
        const Box bounds = forward(weights, z);
        for (const Place place : places)
            expect_inside(forward(draws.point(weights, place), draws.point(z, place)), bounds);
        if (exact_products) expect_inside(forward(draws.sub_box(weights), draws.sub_box(z)), bounds);
    });
}

// The lower bound of an output is its value at the lower weights and the ends of z that their signs pick.
template <typename Real>
void Oracle<Real>::forward_is_attained() {
    with_boxes([&](Range, Draws& draws) {
        const WeightBox weights = draws.weights(shape);
        const Box z = draws.box(shape.in * panel_height, true);
        const Box bounds = forward(weights, z);
        for (std::size_t o = 0; o < shape.out; ++o) {
            Values least = z.lower, greatest = z.upper;
            for (std::size_t i = 0; i < z.size(); ++i) {
                const std::size_t p = o * (shape.in + 1) + i / panel_height;
                if (weights.lower[p] < 0) least[i] = z.upper[i];
                if (weights.upper[p] < 0) greatest[i] = z.lower[i];
            }
            const Values lower = forward(weights.lower, least), upper = forward(weights.upper, greatest);
            for (std::size_t at = o * panel_height; at < (o + 1) * panel_height; ++at) {
                ASSERT_EQ(lower[at], bounds.lower[at]);
                ASSERT_EQ(upper[at], bounds.upper[at]);
            }
        }
    });
}

template <typename Real>
void Oracle<Real>::forward_is_the_optimum_but_for_rounding() {
    Excess excess;
    with_boxes([&](Range range, Draws& draws) {
        const WeightBox weights = draws.weights(shape);
        const Box z = draws.box(shape.in * panel_height, true);
        const Box bounds = forward(weights, z);
        for (std::size_t o = 0; o < shape.out; ++o) {
            const std::size_t row = o * (shape.in + 1);
            for (std::size_t r = 0; r < panel_height; ++r) {
                ExactSum least, greatest;
                for (std::size_t j = 0; j < shape.in; ++j) {
                    const double low = parameter_value<Real>(weights.lower[row + j]),
                                 high = parameter_value<Real>(weights.upper[row + j]);
                    const std::size_t at = j * panel_height + r;
                    least.add(low, low >= 0 ? z.lower[at] : z.upper[at]);
                    greatest.add(high, high >= 0 ? z.upper[at] : z.lower[at]);
                }
                least.add(parameter_value<Real>(weights.lower[row + shape.in]), 1);
                greatest.add(parameter_value<Real>(weights.upper[row + shape.in]), 1);
                const std::size_t at = o * panel_height + r;
                if (exact_products) {
                    ASSERT_LE(least.distance(bounds.lower[at]),
                              rounding_of<Real>(shape.in + 1, least.magnitude()));
                    ASSERT_LE(greatest.distance(bounds.upper[at]),
                              rounding_of<Real>(shape.in + 1, greatest.magnitude()));
                }
                if (range == Range::ordinary)
                    excess.add(bounds.upper[at] - bounds.lower[at], greatest.sum() - least.sum());
            }
        }
    });
    excess.report(prefix + "forward " + GetParam().backend + " n=" + std::to_string(shape.in));
    if (exact_products) {
        EXPECT_LT(std::abs(excess.relative()), most_excess<Real>);
    }
}

template <typename Real>
void Oracle<Real>::forward_input_holds_points_is_attained_and_optimal() {
    Excess excess;
    with_boxes([&](Range range, Draws& draws) {
        const WeightBox weights = draws.weights(shape);
        Values x(shape.in * panel_height);
        const std::uint64_t signs = draws.below(3);  // all of one sign, or mixed
        for (Real& value : x)
            value = signs == 0 ? draws.value() : std::copysign(draws.value(), Real(signs == 1 ? 1 : -1));
        const Box bounds = forward_input(weights, x);
        for (const Place place : places) expect_inside(forward_input(draws.point(weights, place), x), bounds);
        expect_inside(forward_input(draws.sub_box(weights), x), bounds);
        for (const std::size_t r : {std::size_t{0}, std::size_t{1}, panel_height - 1}) {
            // The weights that make record r's outputs least and greatest.
            std::vector<std::int64_t> least = weights.lower, greatest = weights.upper;
            for (std::size_t o = 0; o < shape.out; ++o) {
                ExactSum exact_least, exact_greatest;
                for (std::size_t j = 0; j <= shape.in; ++j) {
                    const std::size_t p = o * (shape.in + 1) + j;
                    const double value = j < shape.in ? x[j * panel_height + r] : 1;
                    if (value < 0) std::swap(least[p], greatest[p]);
                    exact_least.add(parameter_value<Real>(least[p]), value);
                    exact_greatest.add(parameter_value<Real>(greatest[p]), value);
                }
                const std::size_t at = o * panel_height + r;
                ASSERT_LE(exact_least.distance(bounds.lower[at]),
                          rounding_of<Real>(shape.in + 1, exact_least.magnitude()));
                ASSERT_LE(exact_greatest.distance(bounds.upper[at]),
                          rounding_of<Real>(shape.in + 1, exact_greatest.magnitude()));
                if (range == Range::ordinary)
                    excess.add(bounds.upper[at] - bounds.lower[at], exact_greatest.sum() - exact_least.sum());
            }
            const Values lower = forward_input(least, x), upper = forward_input(greatest, x);
            for (std::size_t o = 0; o < shape.out; ++o) {
                ASSERT_EQ(lower[o * panel_height + r], bounds.lower[o * panel_height + r]);
                ASSERT_EQ(upper[o * panel_height + r], bounds.upper[o * panel_height + r]);
            }
        }
    });
    excess.report(prefix + "forward_input " + GetParam().backend + " n=" + std::to_string(shape.in));
    EXPECT_LT(std::abs(excess.relative()), most_excess<Real>);
}

template <typename Real>
void Oracle<Real>::relu_holds_points_and_is_exact() {
    with_boxes([&](Range, Draws& draws) {
        const Box a = draws.box(shape.out * panel_height, false);
        Box bounds = a;
        operations->relu(shape.out, bounds.view());
        for (const Place place : places) {
            Values point = draws.point(a, place);
            operations->relu(shape.out, view(point));
            expect_inside(point, bounds);
        }
        for (std::size_t i = 0; i < a.size(); ++i) {
            ASSERT_EQ(bounds.lower[i], std::max(a.lower[i], Real{0}));
            ASSERT_EQ(bounds.upper[i], std::max(a.upper[i], Real{0}));
        }
    });
}

template <typename Real>
void Oracle<Real>::backward_holds_points_and_sub_boxes() {
    with_boxes([&](Range, Draws& draws) {
        const WeightBox weights = draws.weights(shape);
        const Box delta = draws.box(shape.out * panel_height, false),
                  z = draws.activations(shape.in * panel_height);
        const Box bounds = backward(weights, delta, z);
        for (const Place place : places) {
            expect_inside(backward(draws.point(weights, place), draws.point(delta, Place::corner),
                                   draws.point(z, place)),
                          bounds);
            expect_inside(backward(draws.point(weights, Place::corner), draws.point(delta, place),
                                   draws.point(z, Place::anywhere)),
                          bounds);
        }
        if (exact_products)
            expect_inside(backward(draws.sub_box(weights), draws.sub_box(delta), draws.sub_box(z)), bounds);
    });
}

template <typename Real>
void Oracle<Real>::backward_is_attained_and_optimal() {
    Excess excess;
    with_boxes([&](Range range, Draws& draws) {
        const WeightBox weights = draws.weights(shape);
        const Box delta = draws.box(shape.out * panel_height, false),
                  z = draws.activations(shape.in * panel_height);
        const Box bounds = backward(weights, delta, z);
        for (int probe = 0; probe < 24; ++probe) {
            const std::size_t j = draws.below(shape.in), r = draws.below(panel_height),
                              at = j * panel_height + r;
            double exact[2] = {}, computed[2] = {bounds.lower[at], bounds.upper[at]};
            for (const bool upper : {false, true}) {
                std::vector<std::int64_t> w = weights.lower;
                Values d = delta.lower, gate = z.upper;
                ExactSum sum;
                for (std::size_t o = 0; o < shape.out; ++o) {
                    const std::size_t p = o * (shape.in + 1) + j, of_record = o * panel_height + r;
                    const double low = parameter_value<Real>(weights.lower[p]),
                                 high = parameter_value<Real>(weights.upper[p]);
                    const auto [w_high, d_high] = extreme_corner(low, high, delta.lower[of_record],
                                                                 delta.upper[of_record], upper ? -1 : 1);
                    if (w_high) w[p] = weights.upper[p];
                    if (d_high) d[of_record] = delta.upper[of_record];
                    sum.add(w_high ? high : low, d[of_record]);
                }
                exact[upper] = sum.sum();
                const bool undecided = z.lower[at] == 0, wrong_side = upper ? exact[1] < 0 : exact[0] > 0;
                if (z.upper[at] == 0 || (undecided && wrong_side)) {
                    gate[at] = z.lower[at];  // closed
                    exact[upper] = 0;
                    ASSERT_LE(std::abs(computed[upper]), rounding_of<Real>(shape.out, sum.magnitude()));
                } else {
                    ASSERT_LE(sum.distance(computed[upper]), rounding_of<Real>(shape.out, sum.magnitude()));
                }
                ASSERT_EQ(backward(w, d, gate)[at], computed[upper]);
            }
            if (range == Range::ordinary) excess.add(computed[1] - computed[0], exact[1] - exact[0]);
        }
    });
    excess.report(prefix + "backward " + GetParam().backend + " n=" + std::to_string(shape.out));
    EXPECT_LT(std::abs(excess.relative()), most_excess<Real>);
}

template <typename Real>
void Oracle<Real>::loss_gradient_holds_points_is_attained_and_optimal() {
    Excess excess;
    with_boxes([&](Range range, Draws& draws) {
        Box logits = draws.box(shape.out * panel_height, false);
        if (range == Range::ordinary) {
            for (std::size_t i = 0; i < logits.size(); ++i)
                logits.upper[i] += static_cast<Real>(draws.uniform());
        }
        std::vector<double> labels(panel_height), numbers(panel_height);
        for (double& label : labels)
            label = static_cast<double>(draws.below(std::max<std::size_t>(shape.out, 2)));
        for (double& number : numbers)
            number = std::ldexp(draws.uniform() - 0.5, static_cast<int>(draws.below(20)));
        for (const LossInfo& info : losses()) {
            const Loss loss = info.loss;
            const std::vector<double>& targets = info.of_numbers ? numbers : labels;
            const std::size_t outputs = info.one_logit ? 1 : shape.out, count = 100;
            const auto gradient = [&](const Box& at) {
                Box delta = empty_box(shape.out * panel_height);
                operations->loss_gradient(loss, outputs, at.view(), targets.data(), count, delta.view());
                return delta;
            };
            const auto point_gradient = [&](const Values& at) {
                Values delta(shape.out * panel_height);
                operations->loss_gradient(loss, outputs, view(at), targets.data(), count, view(delta));
                return delta;
            };
            const Box bounds = gradient(logits);
            for (const Place place : places)
                expect_inside(point_gradient(draws.point(logits, place)), bounds);
            expect_inside(gradient(draws.sub_box(logits)), bounds);
            for (std::size_t c = 0; c < outputs; ++c) {
                Values least = logits.upper, greatest = logits.lower;
                std::copy_n(logits.lower.begin() + static_cast<std::ptrdiff_t>(c * panel_height),
                            panel_height, least.begin() + static_cast<std::ptrdiff_t>(c * panel_height));
                std::copy_n(logits.upper.begin() + static_cast<std::ptrdiff_t>(c * panel_height),
                            panel_height, greatest.begin() + static_cast<std::ptrdiff_t>(c * panel_height));
                const Values lower = point_gradient(least), upper = point_gradient(greatest);
                for (std::size_t r = 0; r < count; ++r) {
                    const std::size_t at = c * panel_height + r;
                    ASSERT_EQ(lower[at], bounds.lower[at]);
                    ASSERT_EQ(upper[at], bounds.upper[at]);
                    const double exact_lower =
                        exact_loss_gradient(loss, outputs, c, &least[r], &least[r], targets[r]);
                    const double exact_upper =
                        exact_loss_gradient(loss, outputs, c, &greatest[r], &greatest[r], targets[r]);
                    // exp is taken on a grid of 2^-40; the slope of p by it is p (1 - p); then a few
                    // roundings.
                    for (const auto& [computed, exact] :
                         {std::pair<double, double>{lower[at], exact_lower}, {upper[at], exact_upper}}) {
                        const double p = exact < 0 ? exact + 1 : exact;
                        ASSERT_LE(std::abs(computed - exact),
                                  (info.of_numbers ? 0 : p * (1 - p) * 0x1.01p-41) +
                                      (static_cast<double>(outputs) + 4) * 0x1p-53 +
                                      std::abs(exact) * std::numeric_limits<Real>::epsilon() +
                                      std::numeric_limits<Real>::denorm_min());
                    }
                    if (range == Range::ordinary)
                        excess.add(bounds.upper[at] - bounds.lower[at], exact_upper - exact_lower);
                }
            }
        }
    });
    excess.report(prefix + "loss_gradient " + GetParam().backend + " n=" + std::to_string(shape.out));
    EXPECT_LT(std::abs(excess.relative()), most_excess<Real>);
}

template <typename Real>
void Oracle<Real>::accumulate_holds_points_and_sub_boxes() {
    with_boxes([&](Range, Draws& draws) {
        const Box delta = draws.box(shape.out * panel_height, false);
        for (const bool input : {false, true}) {
            Box z = input ? draws.box(shape.in * panel_height, false)
                          : draws.activations(shape.in * panel_height);
            if (input) z.upper = z.lower;  // the features of the data: a point, of any sign
            for (const Clip& clip : clips()) {
                const Sums bounds = accumulate(clip, delta, z, input);
                for (const Place place : places)
                    expect_inside(accumulate(clip, draws.point(delta, place), draws.point(z, Place::corner)),
                                  bounds);
                expect_inside(
                    accumulate(clip, draws.point(delta, Place::corner), draws.point(z, Place::anywhere)),
                    bounds);
                if (!exact_products) continue;
                const Sums part = accumulate(clip, draws.sub_box(delta), draws.sub_box(z), input);
                expect_inside(part.lower, bounds);
                expect_inside(part.upper, bounds);
            }
        }
    });
}

template <typename Real>
void Oracle<Real>::accumulate_is_attained_and_optimal() {
    Excess excess;
    with_boxes([&](Range range, Draws& draws) {
        const Box delta = draws.box(shape.out * panel_height, false),
                  z = draws.activations(shape.in * panel_height);
        for (const Clip& clip : clips()) {
            const BasicGradientGrid<Real> grid = clip.grid<Real>();
            const double ulps = std::ldexp(
                4.0, BasicGradientGrid<Real>::significant_bits - std::numeric_limits<Real>::digits + 1);
            const bool factored = clip.kind == Clip::Kind::factored;
            const auto clamped = [&](double value, double limit) {
                return factored ? std::clamp(value, -limit, limit) : value;
            };
            const Sums bounds = accumulate(clip, delta, z, false);
            for (int probe = 0; probe < 12; ++probe) {
                const std::size_t o = draws.below(shape.out), j = draws.below(shape.in + 1),
                                  p = o * (shape.in + 1) + j;
                double exact[2] = {};
                for (const bool upper : {false, true}) {
                    Values d = delta.lower, activation = z.lower;
                    ExactSum sum;
                    for (std::size_t r = 0; r < panel_height; ++r) {
                        const std::size_t of_delta = o * panel_height + r, of_z = j * panel_height + r;
                        const bool bias = j == shape.in;
                        const auto [d_high, z_high] = extreme_corner(
                            delta.lower[of_delta], delta.upper[of_delta], bias ? 1.0 : z.lower[of_z],
                            bias ? 1.0 : z.upper[of_z], upper ? -1 : 1);
                        if (d_high) d[of_delta] = delta.upper[of_delta];
                        if (z_high && !bias) activation[of_z] = z.upper[of_z];
                        sum.add_clamped(clamped(d[of_delta], clip.delta_limit),
                                        bias ? 1.0 : clamped(activation[of_z], clip.activation_limit),
                                        factored ? 1e300 : clip.gamma);
                    }
                    const std::int64_t units = upper ? bounds.upper[p] : bounds.lower[p];
                    ASSERT_EQ(accumulate(clip, d, activation)[p], units);
                    // Half a unit a record, and the ulps of its product and limits (2^-12 of a unit at most,
                    // of float 2^-9).
                    ASSERT_LE(sum.distance(static_cast<double>(units) * grid.unit()),
                              static_cast<double>(panel_height) * (0.5 + ulps) * grid.unit());
                    exact[upper] = sum.sum();
                }
                if (range == Range::ordinary && clip.gamma < 1)  // a grid made for entries of this size
                    excess.add(static_cast<double>(bounds.upper[p] - bounds.lower[p]) * grid.unit(),
                               exact[1] - exact[0]);
            }
        }
    });
    excess.report(prefix + "accumulate " + GetParam().backend + " " + std::to_string(shape.in) + "x" +
                  std::to_string(shape.out));
    EXPECT_LT(std::abs(excess.relative()), most_excess<Real>);
}

template <typename Real>
void Oracle<Real>::long_sums() {
    constexpr std::size_t distinct = 4;
    const std::size_t n = shape.in;
    for (const Range range : {Range::ordinary, Range::extreme}) {
        Draws draws(range, 77);
        const WeightBox weights = draws.weights(shape);
        const Box few = draws.box(n * distinct, true);
        const Box z = repeated(few, n, distinct), bounds = forward(weights, z);
        const Box part = repeated(draws.sub_box(few), n, distinct);
        const Box part_bounds = forward(draws.sub_box(weights), part);
        expect_inside(part_bounds, bounds);
        expect_inside(forward(draws.point(weights, Place::corner), part.lower), bounds);
        Box ends = z;  // where the bounds are taken
        for (std::size_t i = 0; i < z.size(); ++i) {
            if (weights.lower[i / panel_height] < 0) ends.lower[i] = z.upper[i];
            if (weights.upper[i / panel_height] < 0) ends.upper[i] = z.lower[i];
        }
        const Values lower = forward(weights.lower, ends.lower), upper = forward(weights.upper, ends.upper);
        Excess excess;
        for (std::size_t r = 0; r < panel_height; ++r) {
            ASSERT_EQ(lower[r], bounds.lower[r]);
            ASSERT_EQ(upper[r], bounds.upper[r]);
            if (r >= distinct) continue;
            ExactSum least, greatest;
            for (std::size_t j = 0; j < n; ++j) {
                least.add(parameter_value<Real>(weights.lower[j]), ends.lower[j * panel_height + r]);
                greatest.add(parameter_value<Real>(weights.upper[j]), ends.upper[j * panel_height + r]);
            }
            least.add(parameter_value<Real>(weights.lower[n]), 1);
            greatest.add(parameter_value<Real>(weights.upper[n]), 1);
            ASSERT_LE(least.distance(bounds.lower[r]), rounding_of<Real>(n + 1, least.magnitude()));
            ASSERT_LE(greatest.distance(bounds.upper[r]), rounding_of<Real>(n + 1, greatest.magnitude()));
            excess.add(bounds.upper[r] - bounds.lower[r], greatest.sum() - least.sum());
        }
        if (range == Range::extreme) continue;
        excess.report(prefix + "forward " + GetParam().backend + " n=" + std::to_string(n));
        EXPECT_LT(std::abs(excess.relative()), most_excess<Real>);
    }
}

struct IntervalOracle : Oracle<double> {};
struct IntervalOracleInSingle : Oracle<float> {};
struct ExactOracle : Oracle<double> {};
struct ExactOracleInSingle : Oracle<float> {};
struct AccumulateOracle : Oracle<double> {};
struct AccumulateOracleInSingle : Oracle<float> {};
struct ExactAccumulate : Oracle<double> {};
struct ExactAccumulateInSingle : Oracle<float> {};
struct LongSums : Oracle<double> {};
struct LongSumsInSingle : Oracle<float> {};

TEST_P(IntervalOracle, ForwardHoldsPointsAndSubBoxes) {
    forward_holds_points_and_sub_boxes();
}
TEST_P(IntervalOracleInSingle, ForwardHoldsPointsAndSubBoxes) {
    forward_holds_points_and_sub_boxes();
}
TEST_P(ExactOracle, ForwardIsAttained) {
    forward_is_attained();
}
TEST_P(ExactOracleInSingle, ForwardIsAttained) {
    forward_is_attained();
}
TEST_P(IntervalOracle, ForwardIsTheOptimumButForRounding) {
    forward_is_the_optimum_but_for_rounding();
}
TEST_P(IntervalOracleInSingle, ForwardIsTheOptimumButForRounding) {
    forward_is_the_optimum_but_for_rounding();
}
TEST_P(ExactOracle, ForwardInputHoldsPointsIsAttainedAndOptimal) {
    forward_input_holds_points_is_attained_and_optimal();
}
TEST_P(ExactOracleInSingle, ForwardInputHoldsPointsIsAttainedAndOptimal) {
    forward_input_holds_points_is_attained_and_optimal();
}
TEST_P(ExactOracle, ReluHoldsPointsAndIsExact) {
    relu_holds_points_and_is_exact();
}
TEST_P(ExactOracleInSingle, ReluHoldsPointsAndIsExact) {
    relu_holds_points_and_is_exact();
}
TEST_P(IntervalOracle, BackwardHoldsPointsAndSubBoxes) {
    backward_holds_points_and_sub_boxes();
}
TEST_P(IntervalOracleInSingle, BackwardHoldsPointsAndSubBoxes) {
    backward_holds_points_and_sub_boxes();
}
TEST_P(ExactOracle, BackwardIsAttainedAndOptimal) {
    backward_is_attained_and_optimal();
}
TEST_P(ExactOracleInSingle, BackwardIsAttainedAndOptimal) {
    backward_is_attained_and_optimal();
}
TEST_P(ExactOracle, LossGradientHoldsPointsIsAttainedAndOptimal) {
    loss_gradient_holds_points_is_attained_and_optimal();
}
TEST_P(ExactOracleInSingle, LossGradientHoldsPointsIsAttainedAndOptimal) {
    loss_gradient_holds_points_is_attained_and_optimal();
}
TEST_P(AccumulateOracle, HoldsPointsAndSubBoxes) {
    accumulate_holds_points_and_sub_boxes();
}
TEST_P(AccumulateOracleInSingle, HoldsPointsAndSubBoxes) {
    accumulate_holds_points_and_sub_boxes();
}
TEST_P(ExactAccumulate, IsAttainedAndOptimal) {
    accumulate_is_attained_and_optimal();
}
TEST_P(ExactAccumulateInSingle, IsAttainedAndOptimal) {
    accumulate_is_attained_and_optimal();
}
TEST_P(LongSums, HoldPointsAreAttainedAndOptimal) {
    long_sums();
}
TEST_P(LongSumsInSingle, HoldPointsAreAttainedAndOptimal) {
    long_sums();
}

std::vector<Case> cases(std::initializer_list<const char*> backends,
                        std::initializer_list<LayerShape> shapes) {
    std::vector<Case> all;
    for (const char* backend : backends) {
        for (const LayerShape& shape : shapes) all.push_back({backend, shape});
    }
    return all;
}
std::string name_of_case(const testing::TestParamInfo<Case>& info) {
    return info.param.backend + "_" + std::to_string(info.param.shape.in) + "x" +
           std::to_string(info.param.shape.out);
}
void PrintTo(const Case& parameters, std::ostream* out) {
    *out << parameters.backend << " " << parameters.shape.in << "x" << parameters.shape.out;
}

const auto every_backend =
    testing::ValuesIn(cases({"reference", "cpu", "rump", "nguyen"}, {{1, 1}, {5, 3}, {33, 10}}));
const auto exact_backends = testing::ValuesIn(cases({"reference", "cpu"}, {{1, 1}, {5, 3}, {33, 10}}));
const auto long_sums = testing::ValuesIn(cases({"reference", "cpu"}, {{100000, 1}}));
INSTANTIATE_TEST_SUITE_P(Backends, IntervalOracle, every_backend, name_of_case);
INSTANTIATE_TEST_SUITE_P(Backends, AccumulateOracle, every_backend, name_of_case);
INSTANTIATE_TEST_SUITE_P(Backends, ExactOracle, exact_backends, name_of_case);
INSTANTIATE_TEST_SUITE_P(Backends, ExactAccumulate, exact_backends, name_of_case);
INSTANTIATE_TEST_SUITE_P(Backends, LongSums, long_sums, name_of_case);
INSTANTIATE_TEST_SUITE_P(Backends, IntervalOracleInSingle, exact_backends, name_of_case);
INSTANTIATE_TEST_SUITE_P(Backends, ExactOracleInSingle, exact_backends, name_of_case);
INSTANTIATE_TEST_SUITE_P(Backends, AccumulateOracleInSingle, exact_backends, name_of_case);
INSTANTIATE_TEST_SUITE_P(Backends, ExactAccumulateInSingle, exact_backends, name_of_case);
INSTANTIATE_TEST_SUITE_P(Backends, LongSumsInSingle, long_sums, name_of_case);

}  // namespace
}  // namespace holdfast
