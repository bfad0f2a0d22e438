#include <algorithm>

#include "kernels/ops/backend.hpp"

namespace holdfast {

namespace {
// make_odd may raise each factor by an ulp, and the product by two.
constexpr double odd_slack = 1.0 + 0x1p-50;
}  // namespace

double Clip::weight_bound() const {
    return kind == Kind::elementwise ? gamma : delta_limit * activation_limit * odd_slack;
}
double Clip::bias_bound() const {
    return kind == Kind::elementwise ? gamma : delta_limit * odd_slack;
}
GradientGrid Clip::grid() const {
    return GradientGrid(std::max(weight_bound(), bias_bound()));
}
std::int64_t Clip::weight_units() const {
    return grid().units_above(weight_bound());
}
std::int64_t Clip::bias_units() const {
    return grid().units_above(bias_bound());
}

void Selection::keep_least(std::size_t entry) {
    const auto first = values_.begin() + static_cast<std::ptrdiff_t>(entry * 2 * count_);
    const auto last_kept = first + static_cast<std::ptrdiff_t>(count_ - 1);
    std::nth_element(first, last_kept, first + sizes_[entry]);
    sizes_[entry] = static_cast<std::uint32_t>(count_);
    thresholds_[entry] = *last_kept;
}

}  // namespace holdfast
