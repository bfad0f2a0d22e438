#pragma once

#include "kernels/cuda/fixed_launches.hpp"
#include "kernels/cuda/launches.hpp"
#include "kernels/cuda/record_feed.hpp"
#include "kernels/pass/walk.hpp"

namespace holdfast::device {

/// Where a group's results go.
struct GroupResults {
    std::int64_t* sums[2];  // [variants, stride]: lower and upper sums
    std::int64_t* counts;   // [variants, stride]: surely, possibly correct; null: not counted
    std::size_t stride;
    std::int64_t* undecided;   // [hidden layers], of the group's last variant; null: not counted
    double* chains = nullptr;  // [variants, parameters], in place of sums: of clip "none" (ModelsPass)
};

/// The steps of walk_gradient() for one chunk of records and all variants of a group: one launch a step.
template <typename Executor>
class VariantPass {
  public:
    VariantPass(const Executor& executor, const NetworkShape& network, const Clip& clip,
                const Workspace& workspace, const StepPlan& plan, const VariantGroup& group,
                const GroupResults& results)
        : launches_(executor, arithmetic_of(plan)),
          network_(network),
          clip_(clip),
          workspace_(workspace),
          is_point_(group.is_point),
          variants_(static_cast<int>(group.variants())),
          results_(results) {
        if (plan.fixed) fixed_.emplace(executor, *plan.fixed, workspace.products);
    }

    /// Of the chunk: `seen` selectable records came before it; select: offer its gradients.
    void add_gradients(const Chunk& chunk, bool select, std::size_t seen) {
        chunk_ = chunk;
        select_ = select;
        seen_ = seen;
        walk_gradient(network_.layers.size(), *this);
    }
    /// The same of points that do without one record each: at position without[variant] of the step, of whose
    /// records `first` come before the chunk.
    void add_gradients_without(const Chunk& chunk, const std::size_t* without, std::size_t first) {
        without_ = without;
        first_ = first;
        add_gradients(chunk, false, 0);
    }
    /// The outputs of the last layer are in the workspace then.
    void outputs(const Chunk& chunk) {
        chunk_ = chunk;
        walk_forward(network_.layers.size(), *this);
    }

    void forward(std::size_t l) const {
        const bool hidden = l < network_.last();
        if (fixed_) {
            fixed_->forward(network_.layers[l], is_point_, l == 0, parameters(l), inputs(l),
                            workspace_.activations[l], chunk_.records, variants_, hidden);
        } else {
            launches_.forward(network_.layers[l], is_point_, l == 0, weights(l), inputs(l),
                              workspace_.activations[l], chunk_.records, variants_, hidden);
        }
        if (hidden && results_.undecided != nullptr)
            launches_.count_undecided(as_const(workspace_.activations[l]), results_.undecided + l,
                                      static_cast<int>(network_.layers[l].out), chunk_.records,
                                      variants_ - 1);
    }

    void loss() const {
        const auto outputs = static_cast<int>(network_.outputs());
        if (results_.counts != nullptr)
            launches_.count(is_point_, logits(), chunk_.labels, results_.counts, results_.stride, outputs,
                            chunk_.records, variants_);
        launches_.loss(network_.loss, is_point_, logits(), delta(network_.last()), chunk_.labels, outputs,
                       chunk_.records, variants_);
        if (without_ != nullptr)
            launches_.leave_out(delta(network_.last()), without_, first_, outputs, chunk_.records, variants_);
    }

    void backward(std::size_t l) const {
        if (fixed_)
            return fixed_->backward(network_.layers[l], is_point_, parameters(l), as_const(delta(l)),
                                    inputs(l), delta(l - 1), chunk_.records, variants_);
        launches_.backward(network_.layers[l], is_point_, weights(l), as_const(delta(l)), inputs(l),
                           delta(l - 1), chunk_.records, variants_);
    }

    void outer(std::size_t l) const {
        const LayerShape shape = network_.layers[l];
        const std::size_t first = network_.offset(l);
        const OuterArrays arrays{as_const(delta(l)),
                                 inputs(l),
                                 {results_.sums[0] + first, results_.sums[1] + first},
                                 results_.stride,
                                 static_cast<int>(shape.in),
                                 static_cast<int>(shape.out),
                                 chunk_.records,
                                 variants_};
        const Activations kind = activations_of(is_point_, l == 0);
        if (results_.chains != nullptr) return launches_.accumulate_plain(arrays, chains(l));
        if (!select_ && fixed_ && clip_.by_factors()) return fixed_->accumulate(clip_, kind, arrays);
        if (!select_) return launches_.accumulate(clip_, kind, arrays);
        const SelectionArrays selections{workspace_.selected_values, workspace_.selections,
                                         network_.parameters()};
        launches_.accumulate_and_select(clip_, kind, arrays, selections, first, seen_);
    }

    bool clips_whole_records() const { return clip_.kind == Clip::Kind::norm; }

    void clip_records() const {
        const std::size_t layers = network_.layers.size();
        const ScaleArray scales{workspace_.scales, static_cast<std::size_t>(chunk_.records), variants_};
        for (std::size_t l = 0; l < layers; ++l)
            launches_.add_squares(network_.layers[l], as_const(delta(l)), inputs(l), scales, l == 0);
        launches_.scales_of_squares(NormRule<double>(clip_, network_.parameters()), scales);
        for (std::size_t l = 0; l < layers; ++l)
            launches_.scale(static_cast<int>(network_.layers[l].out), delta(l), scales);
    }

  private:
    const Variants& delta(std::size_t l) const { return workspace_.deltas[l % workspace_.deltas.size()]; }
    static Arithmetic arithmetic_of(const StepPlan& plan) {
        if (plan.fixed) return {Precision::fixed, plan.fixed->format.bits};
        return Precision::double_precision;
    }
    /// In fixed precision parameters stay what was uploaded.
    ParameterUnits parameters(std::size_t l) const {
        const ConstVariants layer = weights(l);
        const auto units = [](const double* values) { return reinterpret_cast<const std::int64_t*>(values); };
        return {{units(layer.side[0]), units(layer.side[1])},
                layer.level_stride,
                static_cast<int>(network_.layers[l].in),
                static_cast<int>(network_.layers[l].out)};
    }
    ConstVariants weights(std::size_t l) const {
        return as_const(workspace_.parameters)
            .from(network_.offset(l))
            .with_rows_of(network_.layers[l].in + 1);
    }
    Variants chains(std::size_t l) const {
        double* first = results_.chains + network_.offset(l);
        return {{first, first}, network_.parameters(), network_.layers[l].in + 1};
    }
    ConstVariants inputs(std::size_t l) const {
        return l == 0 ? chunk_.x : as_const(workspace_.activations[l - 1]);
    }
    ConstVariants logits() const { return as_const(workspace_.activations.back()); }

    Launches<Executor> launches_;
    std::optional<FixedLaunches<Executor>> fixed_;
    const NetworkShape& network_;
    const Clip& clip_;
    const Workspace& workspace_;
    bool is_point_;
    int variants_;
    GroupResults results_;
    Chunk chunk_ = {};
    bool select_ = false;
    std::size_t seen_ = 0;
    const std::size_t* without_ = nullptr;
    std::size_t first_ = 0;
};

}  // namespace holdfast::device
