#pragma once

#include <algorithm>

#include "kernels/base/error.hpp"
#include "kernels/cuda/backward_kernel.hpp"
#include "kernels/cuda/forward_kernel.hpp"
#include "kernels/cuda/models_kernels.hpp"
#include "kernels/cuda/norm_kernels.hpp"
#include "kernels/cuda/outer_kernel.hpp"
#include "kernels/cuda/record_kernels.hpp"
#include "kernels/cuda/select_kernel.hpp"

namespace holdfast::device {

/// The operations of kernels/ops/panel_operations.hpp on arrays of the device: picks the kernel and launches
/// it.
template <typename Executor>
class Launches {
  public:
    /// arithmetic: of gradients by the logits and of entries; double or fixed.
    Launches(const Executor& executor, Arithmetic arithmetic)
        : executor_(executor), arithmetic_(arithmetic) {}

    /// is_input: z is a point of any sign, else z >= 0. With relu, a = saturated(max(a, 0)).
    void forward(LayerShape shape, bool is_point, bool is_input, const ConstVariants& weights,
                 const ConstVariants& z, const Variants& a, int records, int levels, bool relu) const {
        const int in = static_cast<int>(shape.in), out = static_cast<int>(shape.out);
        with_tile(out, records, [&]<typename Tile>(Tile) {
            if (is_point) {
                executor_.launch(
                    ForwardKernel<Tile, true, false>{weights, z, a, in, out, records, levels, relu});
            } else if (is_input) {
                executor_.launch(
                    ForwardKernel<Tile, false, true>{weights, z, a, in, out, records, levels, relu});
            } else {
                executor_.launch(
                    ForwardKernel<Tile, false, false>{weights, z, a, in, out, records, levels, relu});
            }
        });
    }

    void backward(LayerShape shape, bool is_point, const ConstVariants& weights, const ConstVariants& delta,
                  const ConstVariants& z, const Variants& d, int records, int levels) const {
        const int in = static_cast<int>(shape.in), out = static_cast<int>(shape.out);
        with_tile(in, records, [&]<typename Tile>(Tile) {
            if (is_point) {
                executor_.launch(BackwardKernel<Tile, true>{weights, delta, z, d, in, out, records, levels});
            } else {
                executor_.launch(BackwardKernel<Tile, false>{weights, delta, z, d, in, out, records, levels});
            }
        });
    }

    void loss(Loss loss, bool is_point, const ConstVariants& logits, const Variants& delta, Labels labels,
              int outputs, int records, int levels) const {
        if (is_fixed()) {
            executor_.launch(
                LossKernel<float>{{}, loss, logits, delta, labels, outputs, records, levels, is_point});
        } else {
            executor_.launch(
                LossKernel<double>{{}, loss, logits, delta, labels, outputs, records, levels, is_point});
        }
    }

    void count(bool is_point, const ConstVariants& logits, Labels labels, std::int64_t* counts,
               std::size_t counts_stride, int outputs, int records, int levels) const {
        executor_.launch(
            CountKernel{logits, labels, counts, counts_stride, outputs, records, levels, is_point});
    }

    /// Of activations z >= 0 at one level.
    void count_undecided(const ConstVariants& z, std::int64_t* undecided, int rows, int records,
                         int level) const {
        executor_.launch(UndecidedKernel{z, undecided, rows, records, level});
    }

    /// scales += the squares of the records' gradients of a layer, at points; `first`: to 0.
    void add_squares(LayerShape shape, const ConstVariants& delta, const ConstVariants& z,
                     const ScaleArray& scales, bool first) const {
        executor_.launch(SquareKernel{
            {}, delta, z, scales, static_cast<int>(shape.in), static_cast<int>(shape.out), first});
    }
    void scales_of_squares(const NormRule<double>& rule, const ScaleArray& scales) const {
        executor_.launch(RecordScaleKernel{{}, rule, scales});
    }
    void scale(int rows, const Variants& delta, const ScaleArray& scales) const {
        executor_.launch(ScaleKernel{{}, delta, scales, rows});
    }

    void parameters(double* values, std::size_t count) const {
        constexpr std::size_t most = std::size_t{1} << 38;  // blocks of a launch are counted by an int
        for (std::size_t first = 0; first < count; first += most)
            executor_.launch(ParameterKernel{{}, values + first, std::min(most, count - first)});
    }

    /// Of points, each without one record (LeaveOutKernel).
    void leave_out(const Variants& delta, const std::size_t* without, std::size_t first, int outputs,
                   int records, int levels) const {
        executor_.launch(LeaveOutKernel{{}, delta, without, first, outputs, records, levels});
    }
    /// Of clip "none", at points: chains [out, in + 1] go on over the records.
    void accumulate_plain(const OuterArrays& arrays, const Variants& chains) const {
        with_tile(arrays.out, arrays.in + 1, [&]<typename Tile>(Tile) {
            executor_.launch(PlainOuterKernel<Tile>{{arrays, {}}, chains});
        });
    }
    /// And end: sums [levels, stride] of chains [levels, parameters].
    void plain_units(const double* chains, std::int64_t* sums, std::size_t stride, std::size_t parameters,
                     int levels) const {
        executor_.launch(PlainUnitsKernel{{}, chains, sums, stride, parameters, levels});
    }
    void transpose(const TransposeKernel& kernel) const { executor_.launch(kernel); }

    void accumulate(const Clip& clip, Activations kind, const OuterArrays& arrays) const {
        with_rule(clip, [&](auto rule) {
            using Rule = decltype(rule);
            with_tile(arrays.out, arrays.in + 1, [&]<typename Tile>(Tile) {
                if (kind == Activations::point) {
                    executor_.launch(OuterKernel<Tile, Rule, Activations::point>{arrays, rule});
                } else if (kind == Activations::input) {
                    executor_.launch(OuterKernel<Tile, Rule, Activations::input>{arrays, rule});
                } else {
                    executor_.launch(OuterKernel<Tile, Rule, Activations::hidden>{arrays, rule});
                }
            });
        });
    }

    void accumulate_and_select(const Clip& clip, Activations kind, const OuterArrays& arrays,
                               const SelectionArrays& selections, std::size_t first_entry,
                               std::size_t seen) const {
        ensure(kind != Activations::point, "a point's gradients are not selected");
        // Beyond the largest count it makes no difference.
        const int before = static_cast<int>(std::min<std::size_t>(seen, INT32_MAX));
        with_rule(clip, [&](auto rule) {
            using Rule = decltype(rule);
            if (kind == Activations::input) {
                executor_.launch(
                    SelectKernel<Rule, Activations::input>{arrays, rule, selections, first_entry, before});
            } else {
                executor_.launch(
                    SelectKernel<Rule, Activations::hidden>{arrays, rule, selections, first_entry, before});
            }
        });
    }

  private:
    /// The tile that leaves fewest of its threads without a result.
    template <typename Launch>
    static void with_tile(int rows, int columns, const Launch& launch) {
        if (rows <= tile_lanes) return launch(Tile<1, 4>());
        if (columns <= tile_lanes) return launch(Tile<4, 1>());
        launch(Tile<4, 4>());
    }
    template <typename Launch>
    void with_rule(const Clip& clip, const Launch& launch) const {
        if (is_fixed() && clip.by_factors())
            return launch(FixedFactoredRule(FixedFactors(clip, arithmetic_.activation_bits)));
        if (is_fixed()) return launch(ElementwiseRule<float>(clip));
        if (clip.by_factors()) return launch(FactoredRule(clip));
        launch(ElementwiseRule<double>(clip));
    }
    bool is_fixed() const { return arithmetic_.precision == Precision::fixed; }

    const Executor& executor_;
    Arithmetic arithmetic_;
};

}  // namespace holdfast::device
