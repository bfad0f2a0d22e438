#pragma once

#include <cstddef>
#include <string>
#include <variant>

#include "dist/data/dataset.hpp"
#include "models/nets/feature_bins.hpp"
#include "models/nets/fourier_features.hpp"
#include "models/nets/frozen_prefix.hpp"
#include "models/nets/scattering.hpp"

namespace holdfast {

/// What a record has beside its columns, or instead of them. Bins, a prefix and a scattering take the columns
/// clamped to their public range, Fourier features take them shifted and scaled besides.
using DerivedFeatures = std::variant<std::monostate, FeatureBins, FourierFeatures, FrozenPrefix, Scattering>;

/// What records become before the network sees them: a public function of one record's features alone
/// (models/mathematics.md, feature map). Columns come first, as InputTransform gives them, then what is
/// derived of them; then the row is scaled to norm_limit, if it is longer. All of it is computed in double by
/// correctly rounded operations in a fixed order, and each entry is rounded once to the precision of the
/// records: the same bytes on every machine. As there, a value beyond the public range counts as its nearest
/// end, and NaN as the low one.
class FeatureMap {
  public:
    static constexpr std::size_t most_outputs = 1 << 20;
    static constexpr double least_norm_limit = 1e-6, greatest_norm_limit = 1e6;

    /// Nothing derived, and norm_limit 0 (none): the identity, the network transforms the columns itself.
    FeatureMap(std::size_t columns, InputTransform input, DerivedFeatures derived = {}, bool keep = true,
               double norm_limit = 0);
    /// What is wrong with them; empty: nothing.
    static std::string problem(std::size_t columns, const DerivedFeatures& derived, bool keep,
                               double norm_limit);

    std::size_t columns() const { return columns_; }  ///< of the records
    FeatureRange range() const { return input_.range; }
    const InputTransform& input() const { return input_; }
    const DerivedFeatures& derived() const { return derived_; }
    bool keep() const { return keep_; }  ///< the columns come first
    double norm_limit() const { return norm_limit_; }
    bool is_identity() const { return std::holds_alternative<std::monostate>(derived_) && norm_limit_ == 0; }

    std::size_t outputs() const;                ///< the network's inputs
    InputTransform network_input() const;       ///< what is left for the network to do
    Records operator()(Records records) const;  ///< their features mapped, [n, outputs]

    /// The 2-norm of what the network sees of any record, at most, after its own transform and in either
    /// precision: public. The bias's 1 is not in it.
    double norm_bound() const;

  private:
    template <typename Real>
    void map_rows(const FeatureMatrix& features, std::vector<Real>& mapped) const;
    void map_row(double* columns, double* mapped) const;
    void clip(double* row) const;

    std::size_t columns_;
    InputTransform input_;
    DerivedFeatures derived_;
    bool keep_;
    double norm_limit_;
};

}  // namespace holdfast
