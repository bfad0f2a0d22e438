#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "kernels/base/aligned.hpp"
#include "kernels/ops/engine.hpp"
#include "kernels/ops/panel_operations.hpp"
#include "kernels/ops/whole_persons.hpp"

namespace holdfast {

/// Up to panel_height records as the kernels read them.
template <typename Real>
class Panel {
  public:
    /// moved: of PanelOperations::load(). The operations must outlive it.
    Panel(const PanelOperations<Real>& operations, const NetworkShape& network, double moved = 0)
        : operations_(operations),
          features_(network.inputs()),
          transform_(network.input),
          moved_(moved),
          stride_(row_stride<Real>(features_)),
          by_feature_(features_ * panel_height) {}

    /// Loads records `indices` (1 to panel_height), by feature alone; where rows are weighed, of one weight.
    void load(const RecordSet& records, std::span<const std::uint32_t> indices) {
        count_ = indices.size();
        for (std::size_t r = 0; r < count_; ++r) {
            labels_[r] = records.labels == nullptr ? 0 : records.labels[indices[r]];
            targets_[r] = records.target(indices[r]);
        }
        weight_ = records.weights == nullptr ? std::nullopt : std::optional(records.weight(indices[0]));
        counts_ = records.rows_of_persons ? weight_units(*weight_) : 1;
        rows_of_person_ = records.rows_of_persons ? rows_of_weight(*weight_) : 1;
        operations_.load(transform_, moved_, features_, records, indices, by_feature_.data());
    }
    /// By record too, for outer products.
    void make_rows() {
        by_record_.resize(panel_height * stride_);
        operations_.transpose(features_, by_feature_.data(), by_record_.data(), stride_);
    }

    std::size_t count() const { return count_; }
    std::size_t stride() const { return stride_; }
    const Real* by_feature() const { return by_feature_.data(); }  ///< [features, panel_height]
    const Real* by_record() const { return by_record_.data(); }  ///< [panel_height, stride], a column of ones
    const std::int32_t* labels() const { return labels_; }
    const double* targets() const { return targets_; }               ///< numbers, or the labels
    const std::optional<double>& weight() const { return weight_; }  ///< of every row, where rows are weighed
    std::int64_t counts() const { return counts_; }  ///< what each row counts as that is right
    std::size_t rows_of_person() const { return rows_of_person_; }

  private:
    const PanelOperations<Real>& operations_;
    std::size_t features_;
    InputTransform transform_;
    double moved_;
    std::size_t stride_, count_ = 0;
    AlignedVector<Real> by_feature_, by_record_;
    std::int32_t labels_[panel_height] = {};
    double targets_[panel_height] = {};
    std::optional<double> weight_;
    std::int64_t counts_ = 1;
    std::size_t rows_of_person_ = 1;
};

/// The same records twice, or everything that poisoning could make of them: what bounds their features.
template <typename Real>
struct PanelBounds {
    const Panel<Real>& lower;
    const Panel<Real>& upper;

    BasicConstInterval<Real> by_feature() const { return {lower.by_feature(), upper.by_feature()}; }
    BasicConstInterval<Real> by_record() const { return {lower.by_record(), upper.by_record()}; }
    std::size_t count() const { return lower.count(); }
    std::size_t stride() const { return lower.stride(); }
    const std::int32_t* labels() const { return lower.labels(); }
    const double* targets() const { return lower.targets(); }
};

}  // namespace holdfast
