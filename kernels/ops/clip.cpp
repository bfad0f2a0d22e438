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

void Selection::insert(std::size_t entry, std::int64_t value) {
    std::int64_t* heap = values_.data() + entry * count_;
    std::uint32_t& size = sizes_[entry];
    if (size < count_) {
        heap[size++] = value;
        std::push_heap(heap, heap + size);
    } else if (count_ > 0 && value < heap[0]) {
        std::pop_heap(heap, heap + size);
        heap[size - 1] = value;
        std::push_heap(heap, heap + size);
    }
}

void Selection::merge(const Selection& other) {
    for (std::size_t entry = 0; entry < entries(); ++entry) {
        for (const std::int64_t value : other.values(entry)) insert(entry, value);
    }
}

}  // namespace holdfast
