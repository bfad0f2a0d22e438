#pragma once

#include <algorithm>
#include <span>

#include "kernels/base/aligned.hpp"
#include "kernels/ops/engine.hpp"
#include "kernels/ops/panel_operations.hpp"

namespace holdfast {

/// Up to panel_height records as the kernels read them; unused columns are zero.
template <typename Real>
class Panel {
  public:
    /// moved: added to every feature, within the public range: of panels that bound poisoned records.
    Panel(std::size_t features, InputTransform transform, double moved = 0)
        : features_(features),
          transform_(transform),
          moved_(moved),
          stride_(row_stride<Real>(features)),
          by_feature_(features * panel_height),
          by_record_(panel_height * stride_) {}

    /// Loads records `indices` (at most panel_height).
    void load(const RecordSet& records, std::span<const std::uint32_t> indices) {
        count_ = indices.size();
        for (std::size_t r = 0; r < count_; ++r) {
            const std::size_t first = indices[r] * features_;
            if (records.wide_features != nullptr) {
                load_row(r, records.wide_features + first);
            } else {
                load_row(r, records.features + first);
            }
            labels_[r] = records.labels == nullptr ? 0 : records.labels[indices[r]];
            targets_[r] = records.target(indices[r]);
        }
        std::fill(by_record_.begin() + static_cast<std::ptrdiff_t>(count_ * stride_), by_record_.end(),
                  Real{0});
        transpose();
    }

    std::size_t count() const { return count_; }
    std::size_t stride() const { return stride_; }
    const Real* by_feature() const { return by_feature_.data(); }  ///< [features, panel_height]
    const Real* by_record() const { return by_record_.data(); }  ///< [panel_height, stride], a column of ones
    const std::int32_t* labels() const { return labels_; }
    const double* targets() const { return targets_; }  ///< numbers, or the labels

  private:
    template <typename Feature>
    void load_row(std::size_t record, const Feature* features) {
        Real* row = by_record_.data() + record * stride_;
        for (std::size_t j = 0; j < features_; ++j) {
            const auto feature = static_cast<double>(features[j]);
            row[j] = transform_.apply<Real>(moved_ == 0 ? feature : transform_.inside(feature) + moved_);
        }
        row[features_] = 1;
    }
    void transpose() {
        constexpr std::size_t block = 8;  // a cache line of records at a time
        for (std::size_t first = 0; first < panel_height; first += block) {
            for (std::size_t j = 0; j < features_; ++j) {
                for (std::size_t r = first; r < first + block; ++r)
                    by_feature_[j * panel_height + r] = by_record_[r * stride_ + j];
            }
        }
    }

    std::size_t features_;
    InputTransform transform_;
    double moved_;
    std::size_t stride_, count_ = 0;
    AlignedVector<Real> by_feature_, by_record_;
    std::int32_t labels_[panel_height] = {};
    double targets_[panel_height] = {};
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
