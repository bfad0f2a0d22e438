#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast {

/// A sum of rows of doubles, each times a factor: what dense layers give, what comes back through them, and
/// the rows of their gradients. A factor of 0 adds nothing, whatever its row.
struct WeightedRows {
    std::span<const double> factors;
    const double* rows;  ///< of factor t from rows + t stride on
    std::size_t stride;
    const double* start = nullptr;  ///< what the sum begins with; null: 0
};

/// Columns that are added side by side: a multiple of them leaves none beside.
inline constexpr std::size_t columns_together = 16;

// With whatever vectors the processor has, in the bits of plain loops: an entry's terms in order, each
// product and each sum rounded.

/// result [length] = the sum.
void sum_rows(const WeightedRows& of, double* result, std::size_t length);

/// Of several sums of the same rows at once, each with the factors [terms] and the result [length] of its
/// place: the rows are read once for four of them.
struct SharedRows {
    std::size_t terms;
    const double* rows;
    std::size_t stride;
    const double* start = nullptr;
};
void sum_rows(const SharedRows& of, std::span<const double* const> factors, std::span<double* const> results,
              std::size_t length);

/// The squares of its entries, in sixteen sums (kernels/base/sixteen_sums.hpp).
double squares_of_rows(const WeightedRows& of, std::size_t length);

/// The sum of a [length] times b [length], in sixteen sums.
double product_of(const double* a, const double* b, std::size_t length);

/// The nearest whole number, below 2^51 in size: it is in the low bits where 3 2^51 is added.
inline constexpr double units_middle = 0x1.8p52;
inline double whole_units(double entry) {
    return entry + units_middle - units_middle;
}

/// sums [length] += sign times its entries, scaled and rounded to whole numbers, which are below 2^51 in
/// size. Returns the squares of these: exact below 2^53.
double add_units_of_rows(const WeightedRows& of, std::size_t length, double scale, std::int64_t sign,
                         std::int64_t* sums);

}  // namespace holdfast
