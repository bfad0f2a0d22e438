#include <algorithm>
#include <limits>

#include "kernels/ops/backend.hpp"

namespace holdfast {

namespace {
// make_odd may raise each factor by an ulp, and the product by two and a little.
template <typename Real>
constexpr double odd_slack = 1.0 + 4.0 * std::numeric_limits<Real>::epsilon();
}  // namespace

template <typename Real>
double Clip::weight_bound() const {
    if (kind == Kind::elementwise) return gamma;
    return double{rounded_down<Real>(delta_limit)} * rounded_down<Real>(activation_limit) * odd_slack<Real>;
}
template <typename Real>
double Clip::bias_bound() const {
    if (kind == Kind::elementwise) return gamma;
    return rounded_down<Real>(delta_limit) * odd_slack<Real>;
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
template double Clip::weight_bound<double>() const;
template double Clip::weight_bound<float>() const;
template double Clip::bias_bound<double>() const;
template double Clip::bias_bound<float>() const;
template GradientScale Clip::scale<double>() const;
template GradientScale Clip::scale<float>() const;

namespace {

/// Reorders [first, last) so that what is less than the pivot comes first; returns how many are. Without a
/// branch on the values, which no processor could foresee.
std::int64_t* partition_below(std::int64_t* first, std::int64_t* last, std::int64_t pivot) {
    std::int64_t* border = first;
    for (std::int64_t* at = first; at != last; ++at) {
        const std::int64_t value = *at;
        *at = *border;
        *border = value;
        border += value < pivot;
    }
    return border;
}

std::int64_t median(std::int64_t a, std::int64_t b, std::int64_t c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

/// Reorders [first, last) so that the `count` least come first (quickselect).
void move_least_to_front(std::int64_t* first, std::int64_t* last, std::int64_t count) {
    std::int64_t* const end = first + count;  // of what is to be the least
    while (first < end && end < last) {
        const std::int64_t pivot = median(*first, first[(last - first) / 2], last[-1]);
        std::int64_t* const below = partition_below(first, last, pivot);
        if (end <= below) {
            last = below;
            continue;
        }
        // The pivot itself is behind `below`: those equal to it come next, in any number.
        first = pivot == INT64_MAX ? last : partition_below(below, last, pivot + 1);
    }
}

}  // namespace

void Selection::keep_least(std::size_t entry) {
    std::int64_t* const values = values_.data() + entry * 2 * count_;
    move_least_to_front(values, values + sizes_[entry], static_cast<std::int64_t>(count_));
    sizes_[entry] = static_cast<std::uint32_t>(count_);
    thresholds_[entry] = *std::max_element(values, values + count_);
}

}  // namespace holdfast
