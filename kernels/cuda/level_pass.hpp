#pragma once

#include "kernels/cuda/launches.hpp"
#include "kernels/cuda/record_feed.hpp"

namespace holdfast::device {

/// Where a group's results go.
struct GroupResults {
    std::int64_t* sums[2];  // [levels, stride]: lower and upper sums
    std::int64_t* counts;   // [levels, stride]: surely, possibly correct
    std::size_t stride;
};

/// Forward and backward of one chunk of records at all levels of a group: one launch an operation.
template <typename Executor>
class LevelPass {
  public:
    LevelPass(const Executor& executor, const StepShape& shape, const Workspace& workspace,
              const LevelGroup& group, const GroupResults& results)
        : launches_(executor),
          shape_(shape),
          workspace_(workspace),
          is_point_(group.is_point),
          levels_(static_cast<int>(group.levels())),
          results_(results) {
        std::size_t offset = 0;
        for (const LayerShape& layer : shape.layers) {
            offsets_.push_back(offset);
            offset += layer.parameters();
        }
    }

    /// `seen`: selectable records before this chunk; select: offer its gradients.
    void run(const Chunk& chunk, bool select, std::size_t seen) const {
        const std::size_t last = shape_.layers.size() - 1;
        for (std::size_t l = 0; l <= last; ++l) forward(l, chunk);
        count(chunk);
        launches_.loss(shape_.loss, is_point_, logits(), workspace_.deltas[last % 2], chunk.labels,
                       static_cast<int>(shape_.outputs()), chunk.records, levels_);
        for (std::size_t l = last; l > 0; --l) {
            outer(l, as_const(workspace_.activations[l - 1]), chunk, select, seen);
            backward(l, chunk);
        }
        outer(0, chunk.x, chunk, select, seen);
    }

  private:
    ConstLevels weights(std::size_t l) const {
        return as_const(workspace_.parameters).from(offsets_[l]).with_rows_of(shape_.layers[l].in + 1);
    }
    ConstLevels logits() const { return as_const(workspace_.activations.back()); }

    void forward(std::size_t l, const Chunk& chunk) const {
        const bool hidden = l + 1 < shape_.layers.size();
        const ConstLevels z = l == 0 ? chunk.x : as_const(workspace_.activations[l - 1]);
        launches_.forward(shape_.layers[l], is_point_, l == 0, weights(l), z, workspace_.activations[l],
                          chunk.records, levels_, hidden);
    }

    void backward(std::size_t l, const Chunk& chunk) const {
        launches_.backward(shape_.layers[l], is_point_, weights(l), as_const(workspace_.deltas[l % 2]),
                           as_const(workspace_.activations[l - 1]), workspace_.deltas[(l - 1) % 2],
                           chunk.records, levels_);
    }

    void outer(std::size_t l, const ConstLevels& z, const Chunk& chunk, bool select, std::size_t seen) const {
        const OuterArrays arrays{as_const(workspace_.deltas[l % 2]),
                                 z,
                                 {results_.sums[0] + offsets_[l], results_.sums[1] + offsets_[l]},
                                 results_.stride,
                                 static_cast<int>(shape_.layers[l].in),
                                 static_cast<int>(shape_.layers[l].out),
                                 chunk.records,
                                 levels_};
        const Activations kind = is_point_ ? Activations::point
                                 : l == 0  ? Activations::input
                                           : Activations::hidden;
        if (!select) return launches_.accumulate(shape_.clip, kind, arrays);
        const SelectionArrays selections{workspace_.selected_values, workspace_.selections,
                                         shape_.parameters()};
        launches_.accumulate_and_select(shape_.clip, kind, arrays, selections, offsets_[l], seen);
    }

    void count(const Chunk& chunk) const {
        launches_.count(is_point_, logits(), chunk.labels, results_.counts, results_.stride,
                        static_cast<int>(shape_.outputs()), chunk.records, levels_);
    }

    Launches<Executor> launches_;
    const StepShape& shape_;
    const Workspace& workspace_;
    bool is_point_;
    int levels_;
    GroupResults results_;
    std::vector<std::size_t> offsets_;  // [layer], of its first parameter
};

}  // namespace holdfast::device
