#include "models/idp/twin.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr double room = 1 + 0x1p-20;  // above what rounding takes off sums of sizes
constexpr double tiny = 0x1p-900;     // above all underflows of a sum together
constexpr double largest = 0x1p58;    // within it nothing saturates, in either precision

AlignedVector<double> padded(const std::vector<double>& values) {
    AlignedVector<double> all(PaddedMatrix::padded(values.size()), 0.0);
    std::copy(values.begin(), values.end(), all.begin());
    return all;
}

std::vector<double> less(const std::vector<double>& one, const std::vector<double>& other) {
    std::vector<double> difference(one.size());
    for (std::size_t i = 0; i < one.size(); ++i) difference[i] = one[i] - other[i];
    return difference;
}

/// The greater of each entry.
std::vector<double> greater(std::vector<double> one, const std::vector<double>& other) {
    for (std::size_t i = 0; i < one.size(); ++i) one[i] = std::max(one[i], other[i]);
    return one;
}

void require_within(double size) {
    if (size < largest) return;
    throw Error(ExitCode::usage, "activations may be so large that the program's arithmetic would saturate",
                "declare a narrower range of the features", "feature_range");
}

/// The middle of the least and the greatest of each entry, and how far any is from it, rounded up.
struct Hull {
    std::vector<double> middle, radius;
};
template <typename Values>
Hull hull_of(std::size_t networks, const Values& values) {
    std::vector<double> least = values(0), greatest = least;
    for (std::size_t n = 1; n < networks; ++n) {
        const std::vector<double>& next = values(n);
        for (std::size_t i = 0; i < next.size(); ++i) {
            least[i] = std::min(least[i], next[i]);
            greatest[i] = std::max(greatest[i], next[i]);
        }
    }
    Hull hull{least, least};
    for (std::size_t i = 0; i < least.size(); ++i) {
        hull.middle[i] = least[i] + (greatest[i] - least[i]) / 2;
        hull.radius[i] = std::max(greatest[i] - hull.middle[i], hull.middle[i] - least[i]) * room;
    }
    return hull;
}

}  // namespace

PaddedMatrix::PaddedMatrix(std::size_t rows_out, std::size_t columns_in, const std::vector<double>& values)
    : out(rows_out),
      in(columns_in),
      row_stride(padded(columns_in)),
      column_stride(padded(rows_out)),
      rows(out * row_stride),
      columns(in * column_stride) {
    for (std::size_t o = 0; o < out; ++o) {
        for (std::size_t j = 0; j < in; ++j)
            rows[o * row_stride + j] = columns[j * column_stride + o] = values[o * in + j];
    }
}

PreparedNetwork::PreparedNetwork(const PlainNetwork& network) {
    for (const AffineLayer& layer : network.layers)
        layers.push_back({PaddedMatrix(layer.out, layer.in, layer.weight), padded(layer.bias)});
}

std::size_t PreparedNetwork::widest() const {
    std::size_t most = 0;
    for (const PreparedLayer& layer : layers)
        most = std::max({most, layer.weight.column_stride, layer.weight.row_stride});
    return most;
}

Twin::Twin(const PlainNetwork& network, const PlainNetwork& other, const InputBox& box, Precision precision) {
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
        const AffineLayer &one = network.layers[l], &two = other.layers[l];
        TwinLayer layer;
        layer.difference = PaddedMatrix(one.out, one.in, less(two.weight, one.weight));
        layer.weight = PaddedMatrix(one.out, one.in, two.weight);
        layer.bias_difference = padded(less(two.bias, one.bias));
        layers_.push_back(std::move(layer));
    }
    prepare(network, greater(network.last_sizes, other.last_sizes), box, precision);
}

Twin::Twin(const PlainNetwork& network, std::span<const PlainNetwork> others, const InputBox& box,
           Precision precision)
    : hull_(true) {
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
        const AffineLayer& one = network.layers[l];
        const Hull weight = hull_of(others.size(), [&](std::size_t n) { return others[n].layers[l].weight; });
        const Hull bias = hull_of(others.size(), [&](std::size_t n) { return others[n].layers[l].bias; });
        TwinLayer layer;
        layer.difference = PaddedMatrix(one.out, one.in, less(weight.middle, one.weight));
        layer.weight = PaddedMatrix(one.out, one.in, weight.middle);
        layer.bias_difference = padded(less(bias.middle, one.bias));
        layer.radius = PaddedMatrix(one.out, one.in, weight.radius);
        layer.bias_radius = padded(bias.radius);
        layers_.push_back(std::move(layer));
    }
    std::vector<double> last_sizes = network.last_sizes;
    for (const PlainNetwork& other : others) last_sizes = greater(std::move(last_sizes), other.last_sizes);
    prepare(network, last_sizes, box, precision);
}

void Twin::prepare(const PlainNetwork& network, const std::vector<double>& last_sizes, const InputBox& box,
                   Precision precision) {
    const double unit_roundoff = precision == Precision::single_precision ? 0x1p-24 : 0x1p-53;
    const double least_normal = precision == Precision::single_precision ? 0x1p-126 : tiny;
    // Per unit: the greatest size that sums of sizes can have; bounds of a = max(z, 0) of either network; how
    // far the program's values may be from the exact ones.
    std::vector<double> size(box.size()), most(box.size()), error(box.size(), 0.0);
    for (std::size_t i = 0; i < box.size(); ++i) {
        size[i] = most[i] = std::max(std::abs(box.low[i]), std::abs(box.high[i]));
        require_within(size[i]);
    }
    double terms = 64;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        TwinLayer& layer = layers_[l];
        const AffineLayer& one = network.layers[l];
        const std::size_t in = one.in, out = one.out;
        const bool is_last = l + 1 == layers_.size();
        const auto count = static_cast<double>(in);
        terms += 4 * static_cast<double>(in + out);
        const auto depth = static_cast<double>(l + 1), weight_of_d = 3 * depth - 1;
        const double rounding = 16 * (depth + 1) * terms * 0x1p-53;
        std::vector<double> next_size(out), next_most(out), next_error(out);
        layer.value_error.assign(layer.bias_difference.size(), 0.0);
        layer.difference_error.assign(layer.bias_difference.size(), 0.0);
        if (is_last) program_error_.assign(out, 0.0);
        for (std::size_t o = 0; o < out; ++o) {
            const double* weight = &one.weight[o * in];
            const double* other = &layer.weight.rows[o * layer.weight.row_stride];
            const double* radius = hull_ ? &layer.radius.rows[o * layer.radius.row_stride] : nullptr;
            double bias =
                std::max(std::abs(one.bias[o]), std::abs(one.bias[o] + layer.bias_difference[o]) * room +
                                                    (hull_ ? layer.bias_radius[o] : 0.0));
            double sizes = bias, program = bias, inherited = 0;
            if (is_last) program = std::max(program, last_sizes[o * (in + 1) + in]);
            for (std::size_t j = 0; j < in; ++j) {
                double greatest =
                    std::max(std::abs(weight[j]), std::abs(other[j]) + (radius ? radius[j] : 0.0));
                sizes += greatest * size[j];
                if (is_last) greatest = std::max(greatest, last_sizes[o * (in + 1) + j]);
                inherited += greatest * error[j];
                program += greatest * (most[j] + error[j]);
            }
            next_size[o] = sizes * room + tiny;
            next_most[o] = program * room;
            next_error[o] =
                room * (inherited + 2 * (count + 8) * unit_roundoff * program + (count + 8) * least_normal);
            layer.value_error[o] = rounding * next_size[o] + tiny;
            layer.difference_error[o] = rounding * weight_of_d * next_size[o] + tiny;
            require_within(next_size[o]);
            require_within(next_most[o]);
            if (is_last) program_error_[o] = 2 * next_error[o];
        }
        // Of z' = z + d, the greater of the two.
        std::vector<double> split_error = next_size;
        for (double& split : split_error) split *= 1 + weight_of_d;
        split_error_.push_back(std::move(split_error));
        for (std::size_t k = 0; is_last && k < split_error_.size(); ++k)
            for (double& split : split_error_[k]) split = rounding * split * room + tiny;
        size = std::move(next_size);
        most = std::move(next_most);
        error = std::move(next_error);
    }
}

}  // namespace holdfast
