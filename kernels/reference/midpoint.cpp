#include "kernels/reference/midpoint.hpp"

#include <cmath>

#include "kernels/base/next.hpp"

namespace holdfast::midpoint {
namespace {

struct Ball {
    double middle, radius;
};
Ball ball(double lower, double upper) {
    if (lower == upper) return {lower, 0.0};
    const double middle = lower + 0.5 * (upper - lower);
    return {middle, next_above(std::max(upper - middle, middle - lower))};
}

/// Sum of products of balls with its envelope: covers the rounding of the bound and of the run it bounds
/// (models/mathematics.md, midpoint-radius products).
class BallSum {
  public:
    BallSum(Product product, std::size_t terms)
        : nguyen_(product == Product::nguyen),
          terms_(static_cast<double>(terms)),
          gamma_(relative(nguyen_ ? 2 * terms_ + 2 : terms_)) {}

    void add(Ball a, Ball b) {
        middle_ += a.middle * b.middle;
        const double widened_radius = next_above(b.radius + 2 * gamma_ * std::abs(b.middle));
        if (!nguyen_) {
            radius_ +=
                std::abs(a.middle) * widened_radius + a.radius * next_above(std::abs(b.middle) + b.radius);
            return;
        }
        const double a_turned = std::copysign(std::min(std::abs(a.middle), a.radius), a.middle),
                     b_turned = std::copysign(std::min(std::abs(b.middle), b.radius), b.middle);
        middle_ += a_turned * b_turned;
        const double of_radii = next_above(a.radius * b.radius) - next_below(std::abs(a_turned * b_turned));
        radius_ += std::abs(a.middle) * widened_radius + a.radius * std::abs(b.middle) + next_above(of_radii);
    }
    std::pair<double, double> bounds() const {
        constexpr double least_subnormal = 0x1p-1074;
        const double n = nguyen_ ? 8 * terms_ + 32 : 2 * terms_ + 8;
        const double lost = (nguyen_ ? 16 : 8) * terms_ * least_subnormal;
        const double radius = next_above(next_above((1 + relative(n)) * radius_) + lost);
        return {next_below(middle_ - radius), next_above(middle_ + radius)};
    }

  private:
    /// gamma_n = n u / (1 - n u).
    static double relative(double n) {
        constexpr double unit = 0x1p-53;
        return n * unit / (1 - n * unit);
    }

    bool nguyen_;
    double terms_, gamma_;
    double middle_ = 0, radius_ = 0;
};

}  // namespace

std::pair<double, double> product(Product product, double a_lower, double a_upper, double b_lower,
                                  double b_upper) {
    BallSum sum(product, 1);
    sum.add(ball(a_lower, a_upper), ball(b_lower, b_upper));
    return sum.bounds();
}

std::pair<double, double> sum(Product product, std::span<const reference::Factors<double>> factors) {
    BallSum sum(product, factors.size());
    for (const auto& [a_lower, a_upper, b_lower, b_upper] : factors)
        sum.add(ball(a_lower, a_upper), ball(b_lower, b_upper));
    return sum.bounds();
}

void forward(Product product, LayerShape shape, const double* lower, const double* upper, ConstInterval z,
             Interval a) {
    for (std::size_t o = 0; o < shape.out; ++o) {
        const std::size_t row = o * (shape.in + 1);
        for (std::size_t r = 0; r < panel_height; ++r) {
            BallSum sum(product, shape.in + 1);
            sum.add({1.0, 0.0}, ball(lower[row + shape.in], upper[row + shape.in]));
            for (std::size_t j = 0; j < shape.in; ++j) {
                const std::size_t at = j * panel_height + r;
                sum.add(ball(lower[row + j], upper[row + j]), ball(z.lower[at], z.upper[at]));
            }
            std::tie(a.lower[o * panel_height + r], a.upper[o * panel_height + r]) = sum.bounds();
        }
    }
}

void backward(Product product, LayerShape shape, const double* lower, const double* upper,
              ConstInterval delta, ConstInterval z, Interval d) {
    for (std::size_t j = 0; j < shape.in; ++j) {
        for (std::size_t r = 0; r < panel_height; ++r) {
            BallSum sum(product, shape.out);
            for (std::size_t o = 0; o < shape.out; ++o) {
                const std::size_t w = o * (shape.in + 1) + j;
                sum.add(ball(lower[w], upper[w]),
                        ball(delta.lower[o * panel_height + r], delta.upper[o * panel_height + r]));
            }
            const auto [least, greatest] = sum.bounds();
            const std::size_t at = j * panel_height + r;
            d.lower[at] = saturated(z.lower[at] > 0 ? least : z.upper[at] > 0 ? std::min(least, 0.0) : 0.0);
            d.upper[at] = saturated(z.lower[at] > 0   ? greatest
                                    : z.upper[at] > 0 ? std::max(greatest, 0.0)
                                                      : 0.0);
        }
    }
}

}  // namespace holdfast::midpoint
