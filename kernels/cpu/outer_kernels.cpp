// The outer product's sums, compiled once an instruction set (Highway), with parameters in the lanes: there
// delta is uniform.

#include "kernels/cpu/panel_kernels.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/outer_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/outer-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// A tile of Rows outputs by Columns vectors of activations, kept in registers over all records of the panel.
template <typename Rule, typename Real, std::size_t Rows, std::size_t Columns>
HWY_INLINE void accumulate_point_tile(const Outer<Real>& outer, const Rule& rule, std::size_t row,
                                      std::size_t column, std::int64_t* sums) {
    typename Rule::Sum sum[Rows][Columns];
    for (auto& line : sum) {
        for (auto& entry : line) entry = rule.zero();
    }
    for (std::size_t r = 0; r < height; ++r) {
        const Real* z = outer.z_lower + r * outer.stride + column;
        const Real* delta = outer.delta_lower.data() + r * outer.out + row;
        for (std::size_t o = 0; o < Rows; ++o) {
            const Vec<Real> factor = hn::Set(reals<Real>, delta[o]);
            for (std::size_t c = 0; c < Columns; ++c)
                sum[o][c] = rule.add(sum[o][c], factor, hn::LoadU(reals<Real>, z + c * lanes<Real>));
        }
    }
    for (std::size_t o = 0; o < Rows; ++o) {
        for (std::size_t c = 0; c < Columns; ++c) {
            const std::size_t first = column + c * lanes<Real>;
            if (first < outer.columns)
                flush<Real>(rule.units(sum[o][c], height), sums + (row + o) * outer.columns + first,
                            outer.columns - first);
        }
    }
}

template <typename Rule, typename Real, Inputs Kind, std::size_t Rows, std::size_t Columns>
HWY_INLINE void accumulate_interval_tile(const Outer<Real>& outer, const Rule& rule, std::size_t row,
                                         std::size_t column, std::int64_t* sum_lower,
                                         std::int64_t* sum_upper) {
    typename Rule::Sum least[Rows][Columns], greatest[Rows][Columns];
    for (std::size_t o = 0; o < Rows; ++o) {
        for (std::size_t c = 0; c < Columns; ++c) least[o][c] = greatest[o][c] = rule.zero();
    }
    for (std::size_t r = 0; r < height; ++r) {
        const Real* z_lower = outer.z_lower + r * outer.stride + column;
        const Real* z_upper = outer.z_upper + r * outer.stride + column;
        for (std::size_t o = 0; o < Rows; ++o) {
            const Real low = outer.delta_lower[r * outer.out + row + o],
                       high = outer.delta_upper[r * outer.out + row + o];
            const Vec<Real> lower = hn::Set(reals<Real>, low), upper = hn::Set(reals<Real>, high);
            const Ends<Real, Kind> z(low, high, z_lower, z_upper);
            for (std::size_t c = 0; c < Columns; ++c) {
                const Vec<Real> z_least = hn::LoadU(reals<Real>, z.least + c * lanes<Real>);
                const Vec<Real> z_greatest = hn::LoadU(reals<Real>, z.greatest + c * lanes<Real>);
                if constexpr (Kind == Inputs::mixed_point) {
                    least[o][c] = rule.add_least_of_ends(least[o][c], lower, upper, z_least);
                    greatest[o][c] = rule.add_greatest_of_ends(greatest[o][c], lower, upper, z_least);
                } else {
                    least[o][c] = rule.add(least[o][c], lower, z_least);
                    greatest[o][c] = rule.add(greatest[o][c], upper, z_greatest);
                }
            }
        }
    }
    for (std::size_t o = 0; o < Rows; ++o) {
        for (std::size_t c = 0; c < Columns; ++c) {
            const std::size_t first = column + c * lanes<Real>;
            if (first >= outer.columns) continue;
            const std::size_t at = (row + o) * outer.columns + first;
            flush<Real>(rule.units(least[o][c], height), sum_lower + at, outer.columns - first);
            flush<Real>(rule.units(greatest[o][c], height), sum_upper + at, outer.columns - first);
        }
    }
}

/// A vector of columns at one output, every entry scaled; of a point sum_upper is sum_lower.
template <typename Real>
void accumulate_scaled_vector(const Outer<Real>& outer, const Elementwise<Real>& rule, std::size_t row,
                              std::size_t column, std::int64_t* sum_lower, std::int64_t* sum_upper) {
    const ScaleLanes<Real> scales(outer, column);
    auto least = rule.zero(), greatest = rule.zero();
    for (std::size_t r = 0; r < height; ++r) {
        const Corners<Real> corners(outer, hn::Set(reals<Real>, outer.delta_lower[r * outer.out + row]),
                                    hn::Set(reals<Real>, outer.delta_upper[r * outer.out + row]),
                                    r * outer.stride + column);
        const Vec<Real> low = scales.least(r), high = scales.greatest(r);
        least = rule.add_entry(least, rule.scaled_least(corners.products, low, high));
        greatest = rule.add_entry(greatest, rule.scaled_greatest(corners.products, low, high));
    }
    const std::size_t at = row * outer.columns + column, columns = outer.columns - column;
    flush<Real>(rule.units(least, height), sum_lower + at, columns);
    if (sum_upper != sum_lower) flush<Real>(rule.units(greatest, height), sum_upper + at, columns);
}

template <typename Real>
void accumulate_scaled(const OuterProduct<Real>& product, SumBounds sums) {
    const Outer<Real> outer = prepare<Real>(product);
    const Elementwise<Real> rule(outer);
    for (std::size_t row = 0; row < outer.out; ++row) {
        for (std::size_t column = 0; column < outer.columns; column += lanes<Real>)
            accumulate_scaled_vector<Real>(outer, rule, row, column, sums.lower, sums.upper);
    }
}

template <typename Rule, typename Real, std::size_t Rows, std::size_t Columns>
HWY_INLINE void accumulate_tile(const Outer<Real>& outer, const Rule& rule, std::size_t row,
                                std::size_t column, std::int64_t* sum_lower, std::int64_t* sum_upper) {
    if (outer.point)
        return accumulate_point_tile<Rule, Real, Rows, Columns>(outer, rule, row, column, sum_lower);
    switch (outer.inputs) {
        case Inputs::box:
            return accumulate_interval_tile<Rule, Real, Inputs::box, Rows, Columns>(outer, rule, row, column,
                                                                                    sum_lower, sum_upper);
        case Inputs::nonnegative_point:
            return accumulate_interval_tile<Rule, Real, Inputs::nonnegative_point, Rows, Columns>(
                outer, rule, row, column, sum_lower, sum_upper);
        case Inputs::mixed_point:
            return accumulate_interval_tile<Rule, Real, Inputs::mixed_point, Rows, Columns>(
                outer, rule, row, column, sum_lower, sum_upper);
        case Inputs::scaled:  // accumulate_scaled()
            return;
    }
}

template <typename Rule, typename Real>
void accumulate_with(const Outer<Real>& outer, std::int64_t* sum_lower, std::int64_t* sum_upper) {
    constexpr std::size_t rows = width;
    const Rule rule(outer);
    std::size_t column = 0;
    const auto sweep = [&]<std::size_t Columns>() {
        std::size_t row = 0;
        for (; row + rows <= outer.out; row += rows) {
            const std::size_t next = row + rows, last = std::min(next + rows, outer.out);
            prefetch_rows(sum_lower, outer.columns, next, last, column, Columns * lanes<Real>);
            if (!outer.point)
                prefetch_rows(sum_upper, outer.columns, next, last, column, Columns * lanes<Real>);
            accumulate_tile<Rule, Real, rows, Columns>(outer, rule, row, column, sum_lower, sum_upper);
        }
        for (; row < outer.out; ++row)
            accumulate_tile<Rule, Real, 1, Columns>(outer, rule, row, column, sum_lower, sum_upper);
        column += Columns * lanes<Real>;
    };
    while (column + 2 * lanes<Real> <= outer.stride && column + lanes<Real> < outer.columns)
        sweep.template operator()<2>();
    while (column < outer.columns) sweep.template operator()<1>();
}

template <typename Real>
void accumulate(const OuterProduct<Real>& product, SumBounds sums) {
    if (product.clip.by_scales()) return accumulate_scaled(product, sums);
    const Outer<Real> outer = prepare<Real>(product);
    if (product.clip.by_factors()) return accumulate_with<Factored<Real>>(outer, sums.lower, sums.upper);
    accumulate_with<Elementwise<Real>>(outer, sums.lower, sums.upper);
}

void AccumulateInDouble(const OuterProduct<double>& product, SumBounds sums) {
    accumulate(product, sums);
}
void AccumulateInSingle(const OuterProduct<float>& product, SumBounds sums) {
    accumulate(product, sums);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(AccumulateInDouble);
HWY_EXPORT(AccumulateInSingle);

template <>
void accumulate(const OuterProduct<double>& product, SumBounds sums) {
    HWY_DYNAMIC_DISPATCH(AccumulateInDouble)(product, sums);
}
template <>
void accumulate(const OuterProduct<float>& product, SumBounds sums) {
    HWY_DYNAMIC_DISPATCH(AccumulateInSingle)(product, sums);
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
