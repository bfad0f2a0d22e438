#include "kernels/reference/reference.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "kernels/ops/fixed_format.hpp"
#include "kernels/ops/undecided_rule.hpp"
#include "kernels/reference/convolution.hpp"
#include "kernels/reference/fixed_operations.hpp"
#include "kernels/reference/midpoint.hpp"
#include "kernels/reference/operations.hpp"

namespace holdfast {
namespace {

constexpr std::size_t height = panel_height;

/// Row-major, as they come.
template <typename Real>
struct ReferenceLayer final : PackedLayer {
    ReferenceLayer(LayerShape shape, const std::int64_t* lower_units, const std::int64_t* upper_units)
        : PackedLayer(shape, lower_units == upper_units),
          lower(shape.parameters()),
          upper(shape.parameters()) {
        for (std::size_t p = 0; p < shape.parameters(); ++p) {
            lower[p] = parameter_value<Real>(lower_units[p]);
            upper[p] = parameter_value<Real>(upper_units[p]);
        }
    }
    std::vector<Real> lower, upper;  // [out, in + 1]
};

template <typename Real>
reference::Weights<Real> weights(const PackedLayer& packed) {
    const auto& layer = static_cast<const ReferenceLayer<Real>&>(packed);
    return {layer.shape(), layer.lower.data(), layer.upper.data()};
}

using reference::clamp_to, reference::Entry, reference::Factors, reference::Rule;

template <typename Real>
class ReferenceOperations : public PanelOperations<Real> {
  public:
    using typename PanelOperations<Real>::Interval;
    using typename PanelOperations<Real>::ConstInterval;

    std::string name() const override { return "reference"; }

    std::unique_ptr<PackedLayer> pack(LayerShape shape, const std::int64_t* lower,
                                      const std::int64_t* upper) const override {
        return std::make_unique<ReferenceLayer<Real>>(shape, lower, upper);
    }

    void forward_input(const PackedLayer& layer, const Real* x, Interval a) const override {
        reference::forward_input(weights<Real>(layer), height, x, a);
    }
    void forward_box(const PackedLayer& layer, ConstInterval x, Interval a) const override {
        reference::forward_box(weights<Real>(layer), height, x, a);
    }
    void forward(const PackedLayer& layer, ConstInterval z, Interval a) const override {
        reference::forward(weights<Real>(layer), height, z, a);
    }
    void relu(std::size_t rows, Interval a) const override { reference::relu(rows * height, a); }
    std::int64_t undecided(std::size_t rows, std::size_t count, ConstInterval z) const override {
        std::int64_t found = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t r = 0; r < count; ++r)
                found += is_undecided(z.lower[row * height + r], z.upper[row * height + r]) ? 1 : 0;
        }
        return found;
    }
    void backward(const PackedLayer& layer, ConstInterval delta, ConstInterval z, Interval d) const override {
        reference::backward(weights<Real>(layer), height, delta, z, d);
    }

    void convolve_input(const Convolution& convolution, const PackedLayer& layer, const Real* x,
                        Interval a) const override {
        reference::convolve(convolution, weights<Real>(layer), height, ConstInterval{x, x}, a,
                            [](const reference::Weights<Real>& dense, ConstInterval patch, Interval sums) {
                                reference::forward_input(dense, height, patch.lower, sums);
                            });
    }
    void convolve(const Convolution& convolution, const PackedLayer& layer, ConstInterval z,
                  Interval a) const override {
        reference::convolve(convolution, weights<Real>(layer), height, z, a,
                            [](const reference::Weights<Real>& dense, ConstInterval patch, Interval sums) {
                                reference::forward(dense, height, patch, sums);
                            });
    }
    void convolve_backward(const Convolution& convolution, const PackedLayer& layer, ConstInterval delta,
                           ConstInterval z, Interval d) const override {
        reference::convolve_backward(
            convolution, weights<Real>(layer), height, delta, z, d,
            [](const reference::Weights<Real>& dense, ConstInterval read, ConstInterval activation,
               Interval sums) { reference::backward(dense, height, read, activation, sums); });
    }

    void add_squares(std::size_t rows, const Real* values, double* squares) const override {
        for (std::size_t i = 0; i < rows * height; ++i) {
            const auto value = static_cast<double>(values[i]);
            squares[i % height] = std::fma(value, value, squares[i % height]);
        }
    }
    void scale(std::size_t rows, const double* scales, Real* values) const override {
        for (std::size_t i = 0; i < rows * height; ++i)
            values[i] = static_cast<Real>(static_cast<double>(values[i]) * scales[i % height]);
    }

    void accumulate(const OuterProduct<Real>& product, SumBounds sums,
                    const SelectionTarget* selection) const override {
        add_entries(by_person(product.clip, product.shape, product.count,
                              [&](auto visit) { for_each_entry(product, visit); }),
                    sums, selection);
    }
    void accumulate_positions(const ConvolutionProduct<Real>& product, SumBounds sums,
                              const SelectionTarget* selection) const override {
        const Rule<Real> rule(product.clip);
        const auto entries = [&](auto visit) {
            for_each_gradient(product, [&](std::size_t index, std::size_t r,
                                           std::span<const Factors<Real>> positions) {
                visit(index, r,
                      product.scales == nullptr ? entry_of_sum(rule, positions)
                                                : reference::scaled_sum(rule, product.scales[r], positions));
            });
        };
        add_entries(by_person(product.clip, product.shape, product.count, entries), sums, selection);
    }
    void add_squares_of_positions(const ConvolutionProduct<Real>& product, double* squares) const override {
        double square = 0;  // of a channel out
        for_each_gradient(product,
                          [&](std::size_t index, std::size_t r, std::span<const Factors<Real>> positions) {
                              const std::size_t j = index % (product.shape.in + 1);
                              const auto sum = static_cast<double>(reference::summed(positions));
                              square = std::fma(sum, sum, j == 0 ? 0 : square);
                              if (j == product.shape.in) squares[r] += square;
                          });
    }

    void offer_changes(const OuterProduct<Real>& record, const OuterProduct<Real>& poisoned,
                       const SelectionTarget& selection) const override {
        LeastEntries& least = selection.least;
        std::vector<Entry> entries;  // of the records as they are, in the order of for_each_entry
        for_each_entry(record, [&](std::size_t, std::size_t, Entry entry) { entries.push_back(entry); });
        least.upper.for_each_stripe(1, [&](std::size_t) {
            std::size_t next = 0;
            for_each_entry(poisoned, [&](std::size_t index, std::size_t, Entry entry) {
                const Entry before = entries[next++];
                const std::size_t at = selection.first_entry + index;
                if (entry.upper > before.upper) least.upper.insert(at, before.upper - entry.upper);
                if (entry.lower < before.lower) least.negated_lower.insert(at, entry.lower - before.lower);
            });
        });
    }

  protected:
    virtual Entry entry_of_sum(const Rule<Real>& rule, std::span<const Factors<Real>> positions) const {
        return reference::clipped_sum(rule, positions);
    }
    /// Clipped; by `scale`, if there is one.
    virtual Entry entry_of(const Rule<Real>& rule, const RecordScale<Real>* scale, bool bias,
                           Factors<Real> of) const {
        return scale == nullptr ? reference::clipped_entry(rule, bias, of)
                                : reference::scaled_entry(rule, *scale, of);
    }
    /// Every entry of a panel: visit(index, record, is it a bias's, factors).
    template <typename Visit>
    static void for_each_pair(const OuterProduct<Real>& product, Visit visit) {
        const auto [in, out] = product.shape;
        const BasicConstInterval<Real>&delta = product.delta, &z_rows = product.z_rows;
        for (std::size_t o = 0; o < out; ++o) {
            for (std::size_t r = 0; r < product.count; ++r) {
                for (std::size_t j = 0; j <= in; ++j) {
                    const std::size_t from = o * height + r, to = r * product.stride + j;
                    visit(o * (in + 1) + j, r, j == in,
                          Factors<Real>{delta.lower[from], delta.upper[from], z_rows.lower[to],
                                        z_rows.upper[to]});
                }
            }
        }
    }

  private:
    template <typename Visit>
    static void for_each_gradient(const ConvolutionProduct<Real>& product, Visit visit) {
        reference::for_each_gradient(product.convolution, product.shape, height, product.count, product.delta,
                                     product.z, visit);
    }
    static void add(std::size_t index, Entry entry, SumBounds sums) {
        sums.lower[index] += entry.lower;
        if (sums.upper != sums.lower) sums.upper[index] += entry.upper;
    }

    /// entries(visit) visits all of so many records: visit(index, record, entry). What is returned visits
    /// those of the persons, visit(index, entry): of rows that are clipped after, the clamped sums.
    template <typename Entries>
    static auto by_person(const Clip& clip, LayerShape shape, std::size_t count, Entries entries) {
        return [=](auto visit) {
            if (clip.rows <= 1)
                return entries([&](std::size_t index, std::size_t, Entry entry) { visit(index, entry); });
            const std::size_t parameters = shape.parameters();
            std::vector<Entry> persons(count / clip.rows * parameters, Entry{0, 0});
            entries([&](std::size_t index, std::size_t r, Entry entry) {
                Entry& person = persons[r / clip.rows * parameters + index];
                person.lower += entry.lower;
                person.upper += entry.upper;
            });
            const std::int64_t limit = clip.weight_units<Real>();
            for (std::size_t i = 0; i < persons.size(); ++i)
                visit(i % parameters, Entry{std::clamp(persons[i].lower, -limit, limit),
                                            std::clamp(persons[i].upper, -limit, limit)});
        };
    }

    /// entries(visit) visits them all.
    template <typename Entries>
    static void add_entries(Entries entries, SumBounds sums, const SelectionTarget* selection) {
        if (selection == nullptr)
            return entries([&](std::size_t index, Entry entry) { add(index, entry, sums); });
        LeastEntries& least = selection->least;
        least.upper.for_each_stripe(1, [&](std::size_t) {
            entries([&](std::size_t index, Entry entry) {
                add(index, entry, sums);
                least.upper.insert(selection->first_entry + index, entry.upper);
                least.negated_lower.insert(selection->first_entry + index, -entry.lower);
            });
        });
    }

    template <typename Visit>
    void for_each_entry(const OuterProduct<Real>& product, Visit visit) const {
        const Rule<Real> rule(product.clip);
        const LayerScales<Real>* scales = product.scales;
        for_each_pair(product, [&](std::size_t index, std::size_t r, bool bias, Factors<Real> of) {
            const RecordScale<Real>* scale =
                scales == nullptr ? nullptr : (bias ? scales->biases : scales->weights) + r;
            visit(index, r, entry_of(rule, scale, bias, of));
        });
    }
};

const char* name_of(Product product) {
    return product == Product::exact ? "exact" : product == Product::rump ? "rump" : "nguyen";
}

/// Midpoint-radius products in place of the exact ones, where they are not of points.
class MidpointOperations final : public ReferenceOperations<double> {
  public:
    explicit MidpointOperations(Product product) : product_(product) {}
    std::string name() const override { return std::string("reference (") + name_of(product_) + ")"; }

    void forward_box(const PackedLayer& layer, ConstInterval x, Interval a) const override {
        const auto [shape, lower, upper] = weights<double>(layer);
        midpoint::forward(product_, shape, lower, upper, x, a);
    }
    void forward(const PackedLayer& layer, ConstInterval z, Interval a) const override {
        if (layer.is_point()) return ReferenceOperations<double>::forward(layer, z, a);
        const auto [shape, lower, upper] = weights<double>(layer);
        midpoint::forward(product_, shape, lower, upper, z, a);
    }
    void backward(const PackedLayer& layer, ConstInterval delta, ConstInterval z, Interval d) const override {
        if (layer.is_point()) return ReferenceOperations<double>::backward(layer, delta, z, d);
        const auto [shape, lower, upper] = weights<double>(layer);
        midpoint::backward(product_, shape, lower, upper, delta, z, d);
    }
    /// Of the products as they are formed here, one by one: their ends nearest 0 are no products of ends.
    LayerSquares squares(const OuterProduct<double>& product) const override {
        LayerSquares squares;
        for_each_pair(product, [&](std::size_t, std::size_t r, bool bias, Factors<double> of) {
            const auto [least, greatest] = product_of(of);
            (bias ? squares.biases : squares.weights)[r].add(least, greatest);
        });
        return squares;
    }
    void convolve(const Convolution& convolution, const PackedLayer& layer, ConstInterval z,
                  Interval a) const override {
        if (layer.is_point()) return ReferenceOperations<double>::convolve(convolution, layer, z, a);
        reference::convolve(convolution, weights<double>(layer), height, z, a,
                            [this](const auto& dense, ConstInterval patch, Interval sums) {
                                midpoint::forward(product_, dense.shape, dense.lower, dense.upper, patch,
                                                  sums);
                            });
    }
    void convolve_backward(const Convolution& convolution, const PackedLayer& layer, ConstInterval delta,
                           ConstInterval z, Interval d) const override {
        if (layer.is_point())
            return ReferenceOperations<double>::convolve_backward(convolution, layer, delta, z, d);
        reference::convolve_backward(
            convolution, weights<double>(layer), height, delta, z, d,
            [this](const auto& dense, ConstInterval read, ConstInterval activation, Interval sums) {
                midpoint::backward(product_, dense.shape, dense.lower, dense.upper, read, activation, sums);
            });
    }

  private:
    std::pair<double, double> product_of(Factors<double> of) const {
        return midpoint::product(product_, of.delta_lower, of.delta_upper, of.z_lower, of.z_upper);
    }
    Entry entry_of_sum(const Rule<double>& rule, std::span<const Factors<double>> positions) const override {
        return clamped(rule, midpoint::sum(product_, positions));
    }
    Entry entry_of(const Rule<double>& rule, const RecordScale<double>* scale, bool,
                   Factors<double> of) const override {
        const auto [least, greatest] = product_of(of);
        if (scale != nullptr) return reference::scaled_entry(rule, least, greatest, *scale);
        return clamped(rule, {least, greatest});
    }
    static Entry clamped(const Rule<double>& rule, std::pair<double, double> bounds) {
        const double limit = rule.limit,  // of a row: its part, or its room
            gamma = rule.odd ? limit : std::min(rule.gamma, limit);
        return {rule.grid.units(clamp_to(gamma, bounds.first)),
                rule.grid.units(clamp_to(gamma, bounds.second))};
    }

    Product product_;
};

/// A product a layer.
class ProductsByLayer final : public ReferenceOperations<double> {
  public:
    explicit ProductsByLayer(const Products& products) {
        for (const Product product : products.layers) {
            names_ += (names_.empty() ? "" : ", ") + std::string(name_of(product));
            if (product == Product::exact) layers_.push_back(std::make_unique<ReferenceOperations<double>>());
            if (product != Product::exact) layers_.push_back(std::make_unique<MidpointOperations>(product));
        }
    }
    std::string name() const override { return "reference (" + names_ + ")"; }
    const PanelOperations<double>& of_layer(std::size_t layer) const override {
        return *layers_[std::min(layer, layers_.size() - 1)];
    }

  private:
    std::string names_;
    std::vector<std::unique_ptr<PanelOperations<double>>> layers_;
};

/// In weight units, as they come.
struct FixedLayer final : PackedLayer {
    FixedLayer(LayerShape shape, const std::int64_t* lower_units, const std::int64_t* upper_units)
        : PackedLayer(shape, lower_units == upper_units) {
        for (std::size_t o = 0; o < shape.out; ++o) {
            const std::size_t first = o * (shape.in + 1);
            for (std::size_t j = first; j < first + shape.in; ++j) {
                lower.push_back(fixed_weight(lower_units[j]));
                upper.push_back(fixed_weight(upper_units[j]));
            }
            bias_lower.push_back(fixed_parameter(lower_units[first + shape.in]));
            bias_upper.push_back(fixed_parameter(upper_units[first + shape.in]));
        }
    }
    std::vector<std::int32_t> lower, upper;            // [out, in]
    std::vector<std::int64_t> bias_lower, bias_upper;  // [out]
};

reference::fixed::Weights fixed_layer(const PackedLayer& packed) {
    const auto& layer = static_cast<const FixedLayer&>(packed);
    return {layer.shape(), layer.lower.data(), layer.upper.data(), layer.bias_lower.data(),
            layer.bias_upper.data()};
}

/// Exact products of integers (kernels/ops/fixed_grid.hpp), on the grids of a network once it is known.
class FixedOperations final : public ReferenceOperations<float> {
  public:
    explicit FixedOperations(int bits, std::optional<FixedFormat> format = std::nullopt)
        : bits_(bits), format_(format) {}
    std::string name() const override { return "reference"; }
    Arithmetic arithmetic() const override { return {Precision::fixed, bits_}; }
    std::unique_ptr<PanelOperations<float>> for_network(const NetworkShape& network) const override {
        return std::make_unique<FixedOperations>(bits_, FixedFormat::of(network, bits_));
    }
    std::unique_ptr<PackedLayer> pack(LayerShape shape, const std::int64_t* lower,
                                      const std::int64_t* upper) const override {
        return std::make_unique<FixedLayer>(shape, lower, upper);
    }

    void forward_input(const PackedLayer& layer, const float* x, Interval a) const override {
        reference::fixed::forward(fixed_layer(layer), format_.value().features, height, {x, x}, a);
    }
    void forward_box(const PackedLayer& layer, ConstInterval x, Interval a) const override {
        reference::fixed::forward(fixed_layer(layer), format_.value().features, height, x, a);
    }
    void forward(const PackedLayer& layer, ConstInterval z, Interval a) const override {
        reference::fixed::forward(fixed_layer(layer), format_.value().activations, height, z, a);
    }
    void backward(const PackedLayer& layer, ConstInterval delta, ConstInterval z, Interval d) const override {
        reference::fixed::backward(fixed_layer(layer), format_.value().deltas, height, delta, z, d);
    }

  private:
    Entry entry_of(const Rule<float>& rule, const RecordScale<float>* scale, bool bias,
                   Factors<float> of) const override {
        if (!rule.by_factors) return ReferenceOperations<float>::entry_of(rule, scale, bias, of);
        const FixedFactors factors(static_cast<double>(rule.delta_limit),
                                   static_cast<double>(rule.activation_limit), bits_);
        return reference::fixed::entry(factors, bias, of);
    }

    int bits_;
    std::optional<FixedFormat> format_;
};

}  // namespace

std::unique_ptr<PanelOperations<float>> make_fixed_reference(int bits) {
    return std::make_unique<FixedOperations>(bits);
}

template <typename Real>
std::unique_ptr<PanelOperations<Real>> make_reference_operations() {
    return std::make_unique<ReferenceOperations<Real>>();
}
template std::unique_ptr<PanelOperations<double>> make_reference_operations();
template std::unique_ptr<PanelOperations<float>> make_reference_operations();

std::unique_ptr<PanelOperations<double>> make_midpoint_operations(const Products& products) {
    if (products.layers.size() == 1) return std::make_unique<MidpointOperations>(products.of(0));
    return std::make_unique<ProductsByLayer>(products);
}

}  // namespace holdfast
