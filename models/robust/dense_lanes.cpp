// Sums of rows, compiled once an instruction set (Highway): columns side by side, sixteen or several times
// sixteen of them in registers while all rows are added.

#include "models/robust/dense_lanes.hpp"

#include "kernels/base/sixteen_sums.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/robust/dense_lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace holdfast::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::CappedTag<double, columns_together>;
using Integers = hn::RebindToSigned<Doubles>;
using Vector = hn::Vec<Doubles>;
constexpr Doubles doubles{};
constexpr std::size_t columns = columns_together, lanes = hn::MaxLanes(doubles), vectors = columns / lanes;
/// Groups of sixteen columns that stay in registers together.
constexpr std::size_t most_groups = lanes == 8 ? 8 : lanes == 4 ? 2 : 1;

/// Entry j of a sum: what a column beside the last sixteen is.
HWY_INLINE double entry(const WeightedRows& of, std::size_t j) {
    double sum = of.start != nullptr ? of.start[j] : 0;
    for (std::size_t t = 0; t < of.factors.size(); ++t)
        if (of.factors[t] != 0) sum += of.factors[t] * of.rows[t * of.stride + j];
    return sum;
}

/// Groups of sixteen columns from `first` on: take(v, column, vector v of them).
template <std::size_t Groups, class Take>
HWY_INLINE void add_group(const WeightedRows& of, std::size_t first, const Take& take) {
    constexpr std::size_t count = Groups * vectors;
    Vector sums[count];
    for (std::size_t v = 0; v < count; ++v)
        sums[v] = of.start != nullptr ? hn::LoadU(doubles, of.start + first + v * lanes) : hn::Zero(doubles);
    const double* row = of.rows + first;
    for (const double factor : of.factors) {
        if (factor != 0) {
            const Vector times = hn::Set(doubles, factor);
            for (std::size_t v = 0; v < count; ++v)
                sums[v] = hn::Add(sums[v], hn::Mul(times, hn::LoadU(doubles, row + v * lanes)));
        }
        row += of.stride;
    }
    for (std::size_t v = 0; v < count; ++v) take(v, first + v * lanes, sums[v]);
}

/// So many groups, fewer than are added at once.
template <std::size_t Most, class Take>
HWY_INLINE void add_last(const WeightedRows& of, std::size_t first, std::size_t groups, const Take& take) {
    if constexpr (Most > 0) {
        if (groups == Most) return add_group<Most>(of, first, take);
        add_last<Most - 1>(of, first, groups, take);
    }
}

/// All whole groups; returns where the columns begin that are left.
template <class Take>
HWY_INLINE std::size_t add_groups(const WeightedRows& of, std::size_t length, const Take& take) {
    std::size_t first = 0;
    for (; first + most_groups * columns <= length; first += most_groups * columns)
        add_group<most_groups>(of, first, take);
    const std::size_t left = (length - first) / columns;
    add_last<most_groups - 1>(of, first, left, take);
    return first + left * columns;
}

void SumRows(const WeightedRows& of, double* result, std::size_t length) {
    const std::size_t rest = add_groups(of, length, [&](std::size_t, std::size_t column, Vector sum) {
        hn::StoreU(sum, doubles, result + column);
    });
    for (std::size_t j = rest; j < length; ++j) result[j] = entry(of, j);
}

/// Groups of sixteen columns of four sums.
template <std::size_t Groups>
HWY_INLINE void add_group_of_four(const SharedRows& of, const double* const* factors, double* const* results,
                                  std::size_t first) {
    constexpr std::size_t count = Groups * vectors, together = 4;
    Vector sums[together][count];
    for (std::size_t v = 0; v < count; ++v) {
        const Vector start =
            of.start != nullptr ? hn::LoadU(doubles, of.start + first + v * lanes) : hn::Zero(doubles);
        for (std::size_t k = 0; k < together; ++k) sums[k][v] = start;
    }
    const double* row = of.rows + first;
    for (std::size_t t = 0; t < of.terms; ++t, row += of.stride) {
        Vector values[count];
        for (std::size_t v = 0; v < count; ++v) values[v] = hn::LoadU(doubles, row + v * lanes);
        for (std::size_t k = 0; k < together; ++k) {
            const Vector times = hn::Set(doubles, factors[k][t]);
            for (std::size_t v = 0; v < count; ++v)
                sums[k][v] = hn::Add(sums[k][v], hn::Mul(times, values[v]));
        }
    }
    for (std::size_t k = 0; k < together; ++k)
        for (std::size_t v = 0; v < count; ++v)
            hn::StoreU(sums[k][v], doubles, results[k] + first + v * lanes);
}

void SumSharedRows(const SharedRows& of, std::span<const double* const> factors,
                   std::span<double* const> results, std::size_t length) {
    const auto one = [&](std::size_t i) {
        return WeightedRows{{factors[i], of.terms}, of.rows, of.stride, of.start};
    };
    std::size_t i = 0;
    for (; lanes >= 8 && i + 4 <= factors.size(); i += 4) {
        std::size_t first = 0;
        for (; first + 2 * columns <= length; first += 2 * columns)
            add_group_of_four<2>(of, &factors[i], &results[i], first);
        for (; first + columns <= length; first += columns)
            add_group_of_four<1>(of, &factors[i], &results[i], first);
        for (std::size_t k = i; k < i + 4; ++k)
            for (std::size_t j = first; j < length; ++j) results[k][j] = entry(one(k), j);
    }
    for (; i < factors.size(); ++i) SumRows(one(i), results[i], length);
}

double SquaresOfRows(const WeightedRows& of, std::size_t length) {
    Vector squares[vectors];
    for (Vector& part : squares) part = hn::Zero(doubles);
    const std::size_t rest = add_groups(of, length, [&](std::size_t v, std::size_t, Vector sum) {
        squares[v % vectors] = hn::Add(squares[v % vectors], hn::Mul(sum, sum));
    });
    double sums[columns];
    for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(squares[v], doubles, sums + v * lanes);
    for (std::size_t j = rest; j < length; ++j) {
        const double last = entry(of, j);
        sums[j - rest] += last * last;
    }
    return in_sixteen_sums(columns, [&](std::size_t k) { return sums[k]; });
}

double ProductOf(const double* a, const double* b, std::size_t length) {
    Vector products[vectors];
    for (Vector& part : products) part = hn::Zero(doubles);
    std::size_t first = 0;
    for (; first + columns <= length; first += columns)
        for (std::size_t v = 0; v < vectors; ++v)
            products[v] = hn::Add(products[v], hn::Mul(hn::LoadU(doubles, a + first + v * lanes),
                                                       hn::LoadU(doubles, b + first + v * lanes)));
    double sums[columns];
    for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(products[v], doubles, sums + v * lanes);
    for (std::size_t j = first; j < length; ++j) sums[j - first] += a[j] * b[j];
    return in_sixteen_sums(columns, [&](std::size_t k) { return sums[k]; });
}

double AddUnitsOfRows(const WeightedRows& of, std::size_t length, double scale, std::int64_t sign,
                      std::int64_t* sums) {
    const Vector by = hn::Set(doubles, scale), up = hn::Set(doubles, units_middle);
    const auto zero = hn::BitCast(Integers{}, up);
    Vector squares = hn::Zero(doubles);  // exact, in any order
    const std::size_t rest = add_groups(of, length, [&](std::size_t, std::size_t column, Vector sum) {
        const Vector shifted = hn::Add(hn::Mul(sum, by), up), whole = hn::Sub(shifted, up);
        squares = hn::Add(squares, hn::Mul(whole, whole));
        const auto units = hn::Sub(hn::BitCast(Integers{}, shifted), zero),
                   before = hn::LoadU(Integers{}, sums + column);
        hn::StoreU(sign < 0 ? hn::Sub(before, units) : hn::Add(before, units), Integers{}, sums + column);
    });
    double total = hn::GetLane(hn::SumOfLanes(doubles, squares));
    for (std::size_t j = rest; j < length; ++j) {
        const double whole = whole_units(entry(of, j) * scale);
        sums[j] += sign * static_cast<std::int64_t>(whole);
        total += whole * whole;
    }
    return total;
}

}  // namespace holdfast::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast {

HWY_EXPORT(SumRows);
HWY_EXPORT(SumSharedRows);
HWY_EXPORT(SquaresOfRows);
HWY_EXPORT(ProductOf);
HWY_EXPORT(AddUnitsOfRows);

void sum_rows(const WeightedRows& of, double* result, std::size_t length) {
    HWY_DYNAMIC_DISPATCH(SumRows)(of, result, length);
}

void sum_rows(const SharedRows& of, std::span<const double* const> factors, std::span<double* const> results,
              std::size_t length) {
    HWY_DYNAMIC_DISPATCH(SumSharedRows)(of, factors, results, length);
}

double squares_of_rows(const WeightedRows& of, std::size_t length) {
    return HWY_DYNAMIC_DISPATCH(SquaresOfRows)(of, length);
}

double product_of(const double* a, const double* b, std::size_t length) {
    return HWY_DYNAMIC_DISPATCH(ProductOf)(a, b, length);
}

double add_units_of_rows(const WeightedRows& of, std::size_t length, double scale, std::int64_t sign,
                         std::int64_t* sums) {
    return HWY_DYNAMIC_DISPATCH(AddUnitsOfRows)(of, length, scale, sign, sums);
}

}  // namespace holdfast
#endif  // HWY_ONCE
