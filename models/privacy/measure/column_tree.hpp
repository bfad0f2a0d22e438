#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/privacy/measure/cells.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

/// What a person adds to every level of every column, in shares: a row of several adds its weight's part, so
/// that all of them add no more (models/privacy/mathematics.md, column tree).
inline constexpr std::int64_t whole_person = std::int64_t{1} << 16;

/// The persons of one column by cell of the last level, in shares. [Cells::count]
class ColumnCounts {
  public:
    ColumnCounts() : shares_(Cells::count) {}
    void add(double value, std::int64_t share) { shares_[Cells::of(value)] += share; }
    std::int64_t at(std::size_t cell) const { return shares_[cell]; }
    std::int64_t between(std::size_t first, std::size_t last) const;  ///< of cells [first, last)

  private:
    std::vector<std::int64_t> shares_;
};

/// Noise and thresholds of a tree: all public.
struct TreeLaw {
    double sigma = 0;            ///< in persons, of every cell
    double first_threshold = 0;  ///< a binade is opened above it, and zero is seen
    double threshold = 0;        ///< likewise a cell of a binade, and of such a cell

    static constexpr std::size_t levels = 3;  ///< what each column pays for, opened or not
    /// Of `columns` trees drawn together: one of a hundred draws opens a binade where nobody is.
    static TreeLaw of(double sigma, std::size_t columns);
};

/// A cell that was not opened, or of the last level.
struct SeenCell {
    double low, high;  ///< its ends
    double persons;    ///< an estimate, 0 or more
    bool seen;         ///< more than noise is in it, or at this end of a cell of which no part is seen
};

/// What noise let through of a column: all of it is public once it is paid for.
struct DrawnColumn {
    double lowest = 0,
           highest = 1;           ///< ends of the first and last cells that were seen, or of a crowd beyond
    double missing = 0;           ///< an estimate of persons, 0 or more
    double sigma = 0;             ///< of the noise, in persons
    std::vector<SeenCell> cells;  ///< ascending; empty: nothing was seen

    /// Ends of at most 2 bins - 1 bins in [lowest, highest]: a cell of more than 1/bins of all has one of its
    /// own, the others hold equal parts of the rest. Ascending, each once, none an end of the range.
    std::vector<double> edges(std::size_t bins) const;
};

/// The frequent of the buckets 0, 1, …, 255 of hashed text, each with noise of its own: those above what
/// noise alone passes in one of a hundred draws of so many columns, at most most_frequent_buckets of them,
/// the greatest first; ascending (models/privacy/mathematics.md, hashed categories).
inline constexpr std::size_t counted_buckets = 256, most_frequent_buckets = 32;
std::vector<std::size_t> draw_buckets(const ColumnCounts& counts, double sigma, std::size_t columns,
                                      RandomBits& bits);

/// Draws a column: noise on the first level, then on the cells below whatever noise has shown, and on nothing
/// else; estimates that agree on all levels (least squares), and ascend where they are added up.
DrawnColumn draw_column(const ColumnCounts& counts, const TreeLaw& law, RandomBits& bits);

/// Of few persons the range alone, by noise on the first level alone: of each sign the run of its cells with
/// the most persons beyond sigma a cell, and 0, as far as they show; from the first to the last is the one
/// cell of the column.
DrawnColumn draw_range(const ColumnCounts& counts, double sigma, RandomBits& bits);

}  // namespace holdfast
