#include "models/noisy/record_vector.hpp"

#include <algorithm>
#include <cmath>

#include "models/robust/dense_lanes.hpp"

namespace holdfast {

RecordVector::RecordVector(const Network& network) : parameters_(network.parameters()) {
    for (std::size_t l = 0; l < network.layers().size(); ++l) {
        const auto& layer = network.layers()[l];
        layers_.push_back(
            {layer.in, layer.out, network.offset(l), {}, std::vector<double>(layer.out * most_terms)});
    }
}

void RecordVector::clear() {
    for (Layer& layer : layers_) layer.terms = 0;
    if (has_folded_) std::fill(folded_.begin(), folded_.end(), 0);
    has_folded_ = false;
}

void RecordVector::add(std::span<const std::vector<double>> inputs,
                       std::span<const std::vector<double>> deltas, double weight) {
    for (std::size_t l = 0; l < layers_.size(); ++l) add_to(layers_[l], inputs[l], deltas[l], weight);
}

void RecordVector::add_first(std::span<const double> input, std::span<const double> deltas) {
    add_to(layers_.front(), input, deltas, 1);
}

void RecordVector::add_entries(std::span<const double> entries, double weight) {
    begin_folded();
    for (std::size_t i = 0; i < entries.size(); ++i) folded_[i] += weight * entries[i];
}

void RecordVector::add_to(Layer& layer, std::span<const double> input, std::span<const double> deltas,
                          double weight) {
    if (layer.terms == most_terms) fold(layer);
    const std::size_t term = layer.terms++;
    layer.inputs.resize(std::max(layer.inputs.size(), layer.terms * layer.in));
    std::copy(input.begin(), input.end(),
              layer.inputs.begin() + static_cast<std::ptrdiff_t>(term * layer.in));
    for (std::size_t o = 0; o < layer.out; ++o) layer.deltas[o * most_terms + term] = weight * deltas[o];
}

void RecordVector::begin_folded() {
    folded_.resize(parameters_);
    has_folded_ = true;
}

void RecordVector::fold(Layer& layer) {
    begin_folded();
    for (std::size_t o = 0; o < layer.out; ++o) {
        double* const row = &folded_[layer.first + o * (layer.in + 1)];
        const std::span factors(&layer.deltas[o * most_terms], layer.terms);
        sum_rows({factors, layer.inputs.data(), layer.in, row}, row, layer.in);
        for (const double factor : factors) row[layer.in] += factor;
    }
    layer.terms = 0;
}

template <typename Visit>
void RecordVector::visit_rows(const Layer& layer, const Visit& visit) const {
    for (std::size_t o = 0; o < layer.out; ++o) {
        const std::size_t first = layer.first + o * (layer.in + 1);
        const double* const before = has_folded_ ? &folded_[first] : nullptr;
        const std::span factors(&layer.deltas[o * most_terms], layer.terms);
        double last = before != nullptr ? before[layer.in] : 0;
        for (const double factor : factors) last += factor;
        visit(WeightedRows{factors, layer.inputs.data(), layer.in, before}, last, first);
    }
}

/// The squares of a layer's entries by the products of its terms, where these are fewer: (d.d')(x.x' + 1) of
/// each pair, and what rounding could have taken away.
std::optional<double> RecordVector::squares_by_terms(const Layer& layer) const {
    const std::size_t terms = layer.terms;
    std::size_t factors = 0;
    for (std::size_t o = 0; o < layer.out; ++o)
        for (std::size_t t = 0; t < terms; ++t) factors += layer.deltas[o * most_terms + t] != 0 ? 1 : 0;
    if (has_folded_ || terms * (terms + 1) / 2 > factors) return std::nullopt;
    double squares = 0, lengths = 0;
    for (std::size_t t = 0; t < terms; ++t) {
        for (std::size_t s = 0; s <= t; ++s) {
            double of_deltas = 0;
            for (std::size_t o = 0; o < layer.out; ++o)
                of_deltas += layer.deltas[o * most_terms + t] * layer.deltas[o * most_terms + s];
            const double product =
                of_deltas *
                (product_of(&layer.inputs[t * layer.in], &layer.inputs[s * layer.in], layer.in) + 1);
            squares += s < t ? 2 * product : product;
            if (s == t) lengths += std::sqrt(product);
        }
    }
    return std::isfinite(squares) ? std::max(squares, 0.0) + 0x1p-36 * lengths * lengths : INFINITY;
}

double RecordVector::norm() const {
    double squares = 0;
    for (const Layer& layer : layers_) {
        if (const std::optional<double> known = squares_by_terms(layer)) {
            squares += *known;
            continue;
        }
        visit_rows(layer, [&](const WeightedRows& row, double last, std::size_t) {
            squares += squares_of_rows(row, layer.in) + last * last;
        });
    }
    return std::sqrt(squares);
}

double RecordVector::add_units(double scale, std::int64_t sign, std::int64_t* sums) const {
    double squares = 0;
    for (const Layer& layer : layers_) {
        visit_rows(layer, [&](const WeightedRows& row, double last, std::size_t first) {
            squares += add_units_of_rows(row, layer.in, scale, sign, sums + first);
            const double whole = whole_units(last * scale);
            sums[first + layer.in] += sign * static_cast<std::int64_t>(whole);
            squares += whole * whole;
        });
    }
    return squares;
}

}  // namespace holdfast
