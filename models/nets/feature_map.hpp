#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "models/settings/option.hpp"

namespace holdfast {

/// One-hot bins of columns: entry b of a column's bins is `hot` where edges[b - 1] <= x < edges[b], else 0.
struct FeatureBins {
    std::vector<double> edges;                      ///< of every column, finite, none below the one before
    bool keep = true;                               ///< the columns themselves come first
    double hot = 1;                                 ///< > 0
    std::vector<std::array<std::size_t, 2>> pairs;  ///< columns whose bins are multiplied, counted from 0

    /// What is wrong with them on records of so many columns; empty: nothing.
    std::string problem(std::size_t columns) const;
};

/// What records become before the network sees them: a public function of one record's features alone
/// (mathematics.md, feature map). Its entries are 0, hot, and columns as InputTransform gives them, each
/// rounded once to the precision of the records: the same bytes on every machine. As there, a value beyond
/// the public range counts as its nearest end, and NaN as the low one.
class FeatureMap {
  public:
    /// Without bins the identity: the network transforms the columns itself.
    FeatureMap(std::size_t columns, InputTransform input, std::optional<FeatureBins> bins = std::nullopt);

    std::size_t columns() const { return columns_; }  ///< of the records
    FeatureRange range() const { return input_.range; }
    const InputTransform& input() const { return input_; }
    const std::optional<FeatureBins>& bins() const { return bins_; }

    std::size_t outputs() const;                ///< the network's inputs
    InputTransform network_input() const;       ///< what is left for the network to do
    Records operator()(Records records) const;  ///< their features mapped, [n, outputs]

  private:
    template <typename Real>
    void append_row(const FeatureMatrix& features, std::size_t row, std::vector<Real>& mapped) const;

    std::size_t columns_;
    InputTransform input_;
    std::optional<FeatureBins> bins_;
};

/// Section "features".
struct FeatureSettings {
    enum class Map { none, bins };
    Map map = Map::none;
    std::int64_t bins = 16;
    std::vector<double> edges;  ///< instead of so many bins of equal width
    bool keep = true;
    double hot = 1.0;
    std::vector<std::int64_t> pairs;  ///< [i, j, i, j, …], columns counted from 0

    /// Error (usage): pairs of columns that are not there; equal widths of a range that nobody stated.
    FeatureMap make(std::size_t columns, InputTransform input) const;
};

std::vector<BasicOption<FeatureSettings>> feature_options();
/// Error (usage): settings that contradict.
void check(const FeatureSettings& settings);

}  // namespace holdfast
