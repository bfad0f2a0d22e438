#pragma once

#include "kernels/cuda/fixed_kernels.hpp"
#include "kernels/cuda/fixed_plan.hpp"

namespace holdfast::device {

/// The products of fixed precision on arrays of the device: digits of both operands, products of all pairs of
/// digits by the executor, and what the sums become. `scratch`: FixedPlan::bytes.
template <typename Executor>
class FixedLaunches {
  public:
    FixedLaunches(const Executor& executor, const FixedPlan& plan, std::byte* scratch)
        : executor_(executor), plan_(plan), scratch_(scratch) {}

    /// is_input: z is a point of any sign, else z >= 0. With relu, a = max(a, 0).
    void forward(LayerShape shape, bool is_point, bool is_input, const ParameterUnits& parameters,
                 const ConstVariants& z, const Variants& a, int records, int levels, bool relu) const {
        const FixedGrid grid = is_input ? plan_.format.features : plan_.format.activations;
        const FixedProduct product = plan_.forward(shape, is_point, is_input, records, levels);
        const DigitSums sums =
            multiply(product, WeightSource{parameters, false},
                     ValueSource{z, FixedUnits(grid), static_cast<int>(shape.in), records, false, false});
        executor_.launch(FixedForwardKernel{{{}, sums, product.rows, product.columns},
                                            parameters,
                                            std::int64_t{1} << -grid.exponent,
                                            unit_of(grid),
                                            a,
                                            is_point,
                                            relu});
    }

    void backward(LayerShape shape, bool is_point, const ParameterUnits& parameters,
                  const ConstVariants& delta, const ConstVariants& z, const Variants& d, int records,
                  int levels) const {
        const FixedGrid grid = plan_.format.deltas;
        const FixedProduct product = plan_.backward(shape, is_point, records, levels);
        const DigitSums sums = multiply(
            product, WeightSource{parameters, true},
            ValueSource{delta, FixedUnits(grid), static_cast<int>(shape.out), records, false, false});
        executor_.launch(
            FixedBackwardKernel{{{}, sums, product.rows, product.columns}, unit_of(grid), z, d, is_point});
    }

    /// By factors.
    void accumulate(const Clip& clip, Activations kind, const OuterArrays& arrays) const {
        const FixedFactors factors(clip, plan_.format.bits);
        const FixedProduct product =
            plan_.outer({static_cast<std::size_t>(arrays.in), static_cast<std::size_t>(arrays.out)}, kind,
                        arrays.records, arrays.levels);
        const DigitSums sums = multiply(
            product,
            ValueSource{arrays.delta, FixedUnits(factors.delta), arrays.out, arrays.records, true, false},
            ValueSource{arrays.z, FixedUnits(factors.z), arrays.in, arrays.records, true, true});
        executor_.launch(FixedOuterKernel{
            {{}, sums, product.rows, product.columns}, arrays, factors.one(), kind == Activations::point});
    }

  private:
    static double unit_of(FixedGrid grid) { return std::ldexp(1.0, fixed_weight_exponent + grid.exponent); }

    template <typename Rows, typename Columns>
    DigitSums multiply(const FixedProduct& product, const Rows& rows, const Columns& columns) const {
        Carver carver(scratch_);
        const FixedProduct::Arrays arrays = product.take(carver);
        const int parts = parts_of(product.operands), depth = product.part_depth();
        executor_.launch(DigitKernel<Rows>{rows, arrays.rows, product.operands, parts, depth, true});
        executor_.launch(
            DigitKernel<Columns>{columns, arrays.columns, product.operands, parts, depth, false});
        for (int end = 0; end < product.ends(); ++end) {
            for (int cut = 0; cut < product.cuts(); ++cut) multiply(product, arrays, end, cut);
        }
        return arrays.sums;
    }

    /// All pairs of digits, of one end and one cut of the depth.
    void multiply(const FixedProduct& product, const FixedProduct::Arrays& arrays, int end, int cut) const {
        const DigitArray &rows = arrays.rows, &columns = arrays.columns;
        const int first = cut * product.longest, column_end = std::min(end, product.column_ends() - 1);
        for (int i = 0; i < rows.planes; ++i) {
            for (int j = 0; j < columns.planes; ++j) {
                executor_.multiply({rows.at(end, i, 0, 0) + first, columns.at(column_end, j, 0, 0) + first,
                                    arrays.sums.of(end, cut, i, j), rows.positions, columns.positions,
                                    std::min(product.longest, product.whole_depth() - first), product.levels,
                                    static_cast<std::size_t>(rows.depth), rows.level_stride(),
                                    product.columns_shared ? 0 : columns.level_stride(),
                                    arrays.sums.matrix()});
            }
        }
    }

    const Executor& executor_;
    const FixedPlan& plan_;
    std::byte* scratch_;
};

}  // namespace holdfast::device
