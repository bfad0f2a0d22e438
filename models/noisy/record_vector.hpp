#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/nets/network.hpp"

namespace holdfast {

/// What a record, or a person, adds to a step before and after its clip: the gradient of a dense network as a
/// sum of outer products, of what each layer reads and the derivatives by what it gives. Its entries are made
/// when they are needed, and kept nowhere.
class RecordVector {
  public:
    explicit RecordVector(const Network& network);

    void clear();
    /// inputs, deltas: [layers] of a pass, each delta times `weight`; nothing where a layer has none.
    void add(std::span<const std::vector<double>> inputs, std::span<const std::vector<double>> deltas,
             double weight);
    /// Of the first layer alone.
    void add_first(std::span<const double> input, std::span<const double> deltas);
    /// To the entries themselves, from the first on.
    void add_entries(std::span<const double> entries, double weight);

    double norm() const;
    /// sums [parameters] += sign times what is rounded of `scale` times the entries; returns the squares of
    /// that.
    double add_units(double scale, std::int64_t sign, std::int64_t* sums) const;

  private:
    struct Layer {
        std::size_t in, out, first;          ///< first: of its parameters, [out, in + 1]
        std::vector<double> inputs, deltas;  ///< [terms, in], [out, most_terms]
        std::size_t terms = 0;
    };
    static constexpr std::size_t most_terms = 64;
    void add_to(Layer& layer, std::span<const double> input, std::span<const double> deltas, double weight);
    void fold(Layer& layer);
    void begin_folded();
    std::optional<double> squares_by_terms(const Layer& layer) const;
    /// visit(a row but its last entry, that entry, where the row begins)
    template <typename Visit>
    void visit_rows(const Layer& layer, const Visit& visit) const;

    std::vector<Layer> layers_;
    std::size_t parameters_;
    std::vector<double> folded_;  ///< [parameters]: what was added before the terms, if anything was
    bool has_folded_ = false;
};

}  // namespace holdfast
