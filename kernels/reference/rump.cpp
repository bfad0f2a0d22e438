#include "kernels/reference/rump.hpp"

#include <cmath>
#include <limits>

namespace holdfast::rump {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
double up(double value) {
    return std::nextafter(value, infinity);
}
double down(double value) {
    return std::nextafter(value, -infinity);
}

struct Ball {
    double middle, radius;
};
Ball ball(double lower, double upper) {
    if (lower == upper) return {lower, 0.0};
    const double middle = lower + 0.5 * (upper - lower);
    return {middle, up(std::max(upper - middle, middle - lower))};
}

/// Sum of products of balls with its envelope: covers the rounding of the bound and of the run
/// it bounds.
class BallSum {
  public:
    explicit BallSum(std::size_t terms)
        : terms_(static_cast<double>(terms)), gamma_(terms_ * unit_ / (1 - terms_ * unit_)) {}

    void add(Ball a, Ball b) {
        middle_ += a.middle * b.middle;
        const double widened_radius = up(b.radius + 2 * gamma_ * std::abs(b.middle));
        radius_ += std::abs(a.middle) * widened_radius + a.radius * up(std::abs(b.middle) + b.radius);
    }
    std::pair<double, double> bounds() const {
        constexpr double least_subnormal = 0x1p-1074;
        const double n = 2 * terms_ + 8;
        const double radius =
            up(up((1 + n * unit_ / (1 - n * unit_)) * radius_) + 8 * terms_ * least_subnormal);
        return {down(middle_ - radius), up(middle_ + radius)};
    }

  private:
    static constexpr double unit_ = 0x1p-53;
    double terms_, gamma_;
    double middle_ = 0, radius_ = 0;
};

}  // namespace

std::pair<double, double> product(double a_lower, double a_upper, double b_lower, double b_upper) {
    BallSum sum(1);
    sum.add(ball(a_lower, a_upper), ball(b_lower, b_upper));
    return sum.bounds();
}

std::pair<double, double> sum(std::span<const reference::Factors<double>> factors) {
    BallSum sum(factors.size());
    for (const auto& [a_lower, a_upper, b_lower, b_upper] : factors)
        sum.add(ball(a_lower, a_upper), ball(b_lower, b_upper));
    return sum.bounds();
}

void forward(LayerShape shape, const double* lower, const double* upper, ConstInterval z, Interval a) {
    for (std::size_t o = 0; o < shape.out; ++o) {
        const std::size_t row = o * (shape.in + 1);
        for (std::size_t r = 0; r < panel_height; ++r) {
            BallSum sum(shape.in + 1);
            sum.add({1.0, 0.0}, ball(lower[row + shape.in], upper[row + shape.in]));
            for (std::size_t j = 0; j < shape.in; ++j) {
                const std::size_t at = j * panel_height + r;
                sum.add(ball(lower[row + j], upper[row + j]), ball(z.lower[at], z.upper[at]));
            }
            std::tie(a.lower[o * panel_height + r], a.upper[o * panel_height + r]) = sum.bounds();
        }
    }
}

void backward(LayerShape shape, const double* lower, const double* upper, ConstInterval delta,
              ConstInterval z, Interval d) {
    for (std::size_t j = 0; j < shape.in; ++j) {
        for (std::size_t r = 0; r < panel_height; ++r) {
            BallSum sum(shape.out);
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

}  // namespace holdfast::rump
