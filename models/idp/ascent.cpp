#include "models/idp/ascent.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast {
namespace {

constexpr int most_steps = 80, most_corrections = 3;
constexpr double least_region = 1e-9;

/// Both networks at one point: exact there up to rounding.
struct Point {
    std::vector<double> x;
    double confidence, margin;             // of N in the class; of the twin over the other
    std::vector<double> gradient, normal;  // of either
    double merit(double price) const { return confidence - price * std::max(0.0, margin); }
};

class Ascent {
  public:
    Ascent(DifferenceBounds& bounds, const Twin& twin, const Confidence& confidence)
        : bounds_(bounds), twin_(twin), against_(confidence.against) {
        for (const MarginAt& at : confidence.own) targets_.push_back({at.row, at.sign, 0});
        const MarginAt& at = confidence.own[against_];
        targets_.push_back({at.row, at.sign, at.sign});
    }

    Point at(std::vector<double> x) {
        bounds_.bound(twin_, x.data(), x.data(), targets_, {.differences = true, .symbolic = false}, found_);
        const std::size_t own = targets_.size() - 1;
        const std::size_t least = static_cast<std::size_t>(
            std::min_element(found_.upper.begin(), found_.upper.end() - 1) - found_.upper.begin());
        const auto of = [&](std::size_t t) {
            const auto first = found_.coefficients.begin() + static_cast<std::ptrdiff_t>(t * x.size());
            return std::vector<double>(first, first + static_cast<std::ptrdiff_t>(x.size()));
        };
        Point point{{}, found_.upper[least], found_.upper[own], of(least), of(own)};
        point.x = std::move(x);
        return point;
    }

  private:
    DifferenceBounds& bounds_;
    const Twin& twin_;
    std::size_t against_;
    std::vector<BoundTarget> targets_;
    BoxBounds found_;
};

/// The y in [low, high] with normal y <= limit where gradient y is greatest; where none is, normal y least. A
/// linear program of one constraint: its dual has one variable, found by halving.
struct Step {
    std::vector<double> y;
    double price;
};
Step linear_step(const Point& from, const std::vector<double>& low, const std::vector<double>& high,
                 double limit) {
    const std::size_t count = from.x.size();
    const auto corner = [&](double gain, double price) {
        std::vector<double> y(count);
        double value = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const double slope = gain * from.gradient[i] - price * from.normal[i];
            y[i] = slope > 0 ? high[i] : slope < 0 ? low[i] : from.x[i];
            value += from.normal[i] * y[i];
        }
        return std::pair(y, value);
    };
    auto [over, over_value] = corner(1, 0);
    if (over_value <= limit) return {over, 0};
    auto [under, under_value] = corner(0, 1);
    if (under_value > limit) return {under, 0};
    double cheap = 0, dear = 1;
    while (corner(1, dear).second > limit && dear < 1e12) dear *= 4;
    for (int halving = 0; halving < 50; ++halving) {
        const double price = (cheap + dear) / 2;
        auto [y, value] = corner(1, price);
        if (value > limit) {
            cheap = price;
            over = std::move(y);
            over_value = value;
        } else {
            dear = price;
            under = std::move(y);
            under_value = value;
        }
    }
    if (over_value > limit && under_value <= limit && over_value > under_value) {
        const double part = (limit - under_value) / (over_value - under_value);
        for (std::size_t i = 0; i < count; ++i) under[i] += part * (over[i] - under[i]);
    }
    return {under, dear};
}

/// From a point where the twin's margin is too great, along its normal within the box to where it would be
/// -slack, were it affine: an optimum often lies on a fold of both networks, where one step misses.
std::vector<double> corrected(const Point& from, const InputBox& box, double slack) {
    double excess = from.margin + slack;
    std::vector<double> y = from.x;
    for (std::size_t round = 0; round < y.size() && excess > 0; ++round) {  // each stops an input at an end
        double square = 0;
        const auto is_free = [&](std::size_t i) {
            return from.normal[i] > 0 ? y[i] > box.low[i] : from.normal[i] < 0 && y[i] < box.high[i];
        };
        for (std::size_t i = 0; i < y.size(); ++i) square += is_free(i) ? from.normal[i] * from.normal[i] : 0;
        if (!(square > 0)) break;
        const double length = excess / square;
        for (std::size_t i = 0; i < y.size(); ++i) {
            if (!is_free(i)) continue;
            const double to = std::clamp(y[i] - length * from.normal[i], box.low[i], box.high[i]);
            excess -= from.normal[i] * (y[i] - to);
            y[i] = to;
        }
    }
    return y;
}

}  // namespace

Confidence Confidence::of(std::size_t classes, std::size_t c, std::size_t other) {
    Confidence confidence{{}, 0};
    for (std::size_t b = 0; b < classes; ++b) {
        if (b == other) confidence.against = confidence.own.size();
        if (b != c) confidence.own.push_back(margin_at(classes, c, b));
    }
    return confidence;
}

std::optional<Found> ascend(DifferenceBounds& bounds, const Twin& twin, const Confidence& confidence,
                            const InputBox& box, double slack, std::vector<double> start) {
    Ascent ascent(bounds, twin, confidence);
    Point here = ascent.at(std::move(start));
    std::optional<Found> best;
    double region = 0.25, price = 2;
    std::vector<double> low(box.size()), high(box.size());
    for (int step = 0; step < most_steps && region > least_region; ++step) {
        double limit = -slack - here.margin;
        for (std::size_t i = 0; i < box.size(); ++i) {
            const double reach = region * (box.high[i] - box.low[i]);
            low[i] = std::max(box.low[i], here.x[i] - reach);
            high[i] = std::min(box.high[i], here.x[i] + reach);
            limit += here.normal[i] * here.x[i];
        }
        Step to = linear_step(here, low, high, limit);
        price = std::max(price, 2 * to.price);
        Point there = ascent.at(std::move(to.y));
        for (int correction = 0; correction < most_corrections && there.margin > -slack / 2; ++correction)
            there = ascent.at(corrected(there, box, slack));
        if (there.margin <= -slack / 2 && (!best || there.confidence > best->confidence))
            best = Found{there.confidence, there.x};
        if (there.merit(price) > here.merit(price)) {
            here = std::move(there);
            region = std::min(1.0, region * 1.6);
        } else {
            region *= 0.4;
        }
    }
    return best;
}

}  // namespace holdfast
