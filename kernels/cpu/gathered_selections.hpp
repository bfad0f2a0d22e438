#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/cpu/panel_kernels.hpp"

namespace holdfast::cpu {

/// So many panels are worth selecting from at a time, in memory of one thread that stays below a limit.
template <typename Real>
std::size_t selected_together(const NetworkShape& network) {
    constexpr std::size_t most = 16, most_bytes = std::size_t{32} << 20;
    if (!network.is_dense()) return 1;
    std::size_t rows = network.inputs() + row_stride<Real>(network.inputs());  // loaded, either way
    for (std::size_t l = 0; l < network.layers.size(); ++l)
        rows += 2 * (network.layers[l].out + (l > 0 ? row_stride<Real>(network.layers[l].in) : 0));
    return std::clamp<std::size_t>(most_bytes / (rows * panel_height * sizeof(Real)), 1, most);
}

/// Outer products whose entries are selected, several panels at a time: what an entry keeps is brought near
/// once for all of them, and what is wanted of many records may be guessed. Of dense networks.
template <typename Real>
class GatheredSelections final : public OuterSums<Real> {
  public:
    explicit GatheredSelections(const NetworkShape& network) : layers_(network.layers.size()) {}

    bool add(std::size_t layer, const OuterProduct<Real>& product, SumBounds sums,
             const SelectionTarget* selection) override {
        if (selection == nullptr || product.scales != nullptr) return false;
        layers_[layer].add(product, layer > 0, sums, *selection);
        return true;
    }
    void finish() override {
        for (Layer& layer : layers_) layer.finish();
    }

  private:
    /// What a panel's product is made of, copied.
    struct Factors {
        AlignedVector<Real> delta[2], z_rows[2];
    };

    class Layer {
      public:
        /// copies_rows: else they last.
        void add(const OuterProduct<Real>& product, bool copies_rows, SumBounds sums,
                 const SelectionTarget& target) {
            if (target_ && (&target_->least != &target.least || sums_.lower != sums.lower)) finish();
            sums_ = sums;
            target_.emplace(target);
            if (products_.size() == factors_.size()) factors_.emplace_back();
            Factors& factors = factors_[products_.size()];
            OuterProduct<Real> copy = product;
            copy.delta = copied(product.delta, product.shape.out * panel_height, factors.delta);
            if (copies_rows)
                copy.z_rows = copied(product.z_rows, panel_height * product.stride, factors.z_rows);
            products_.push_back(copy);
        }
        void finish() {
            if (!products_.empty()) accumulate_and_select<Real>(products_, sums_, *target_);
            products_.clear();
        }

      private:
        static BasicConstInterval<Real> copied(BasicConstInterval<Real> from, std::size_t count,
                                               AlignedVector<Real> (&to)[2]) {
            const auto copy = [&](const Real* values, AlignedVector<Real>& kept) {
                kept.assign(values, values + count);
                return kept.data();
            };
            const Real* lower = copy(from.lower, to[0]);
            return {lower, from.is_point() ? lower : copy(from.upper, to[1])};
        }

        std::vector<OuterProduct<Real>> products_;
        std::deque<Factors> factors_;
        SumBounds sums_{};
        std::optional<SelectionTarget> target_;
    };

    std::vector<Layer> layers_;
};

}  // namespace holdfast::cpu
