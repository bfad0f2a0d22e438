// The outer product's sums with a selection of its entries, compiled once an instruction set (Highway).

#include "kernels/cpu/panel_kernels.hpp"

#include <algorithm>
#include <deque>

#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/select_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/guessed_limits-inl.hpp"
#include "kernels/cpu/selected_entries-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// Calls visit(entry) for all entries of `rows` rows of a strip.
template <typename Real, typename Visit>
void for_each_entry(const StripRows& at, std::size_t rows, Visit visit) {
    const std::size_t columns = std::min(at.columns, Strip<Real>::width);
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t c = 0; c < columns; ++c) visit(at.entry + row * at.stride + c);
    }
}

/// The selection of one layer's entries, from some panels: strip by strip and, in it, some rows at a time. Of
/// several panels, what is kept of these rows' entries is fetched ahead and stays near for all of them.
template <typename Real>
class LayerSelection {
  public:
    LayerSelection(std::span<const OuterProduct<Real>> products, SumBounds sums,
                   const SelectionTarget& target)
        : panels_(products.begin(), products.end()),
          outer_(panels_.front().outer),
          selection_(target.least, outer_.grid),
          sums_(sums),
          first_entry_(target.first_entry) {
        std::size_t records = 0;
        for (const SelectedPanel<Real>& panel : panels_) records += panel.count;
        if (panels_.size() > 1)
            sample_ = GuessedLimits<Real>::sample_size(records, target.least.upper.count());
    }

    void run() {
        selection_.least().upper.for_each_stripe(Strip<Real>::count(outer_), [&](std::size_t strip) {
            for (SelectedPanel<Real>& panel : panels_) panel.strip.load(panel.outer, strip);
            for (std::size_t row = 0; row < outer_.out; row += rows_together) {
                bring_near(strip, row + rows_together);
                select(at(strip, row), rows_from(row));
            }
            selection_.finish();
        });
    }

  private:
    static constexpr std::size_t rows_together = 16;

    StripRows at(std::size_t strip, std::size_t row) const {
        const std::size_t column = strip * Strip<Real>::width, entry = row * outer_.columns + column;
        return {
            row, column, outer_.columns - column, outer_.columns, first_entry_ + entry, sums_.from(entry)};
    }
    std::size_t rows_from(std::size_t row) const {
        return std::min(rows_together, outer_.out - std::min(row, outer_.out));
    }

    /// Fetches what the rows from `row` on will want, and how many values the entries of the next ones keep:
    /// where theirs lie is known when those have come.
    void bring_near(std::size_t strip, std::size_t row) const {
        if (row >= outer_.out) return;
        const Selection &upper = selection_.least().upper, &lower = selection_.least().negated_lower;
        const StripRows next = at(strip, row);
        const std::size_t columns = std::min(next.columns, Strip<Real>::width);
        const std::int64_t* const arrays[] = {next.sums.lower, next.sums.upper,
                                              upper.thresholds() + next.entry,
                                              lower.thresholds() + next.entry};
        for (const std::int64_t* array : arrays)
            prefetch_rows(array, next.stride, 0, rows_from(row), 0, columns);
        if (panels_.size() == 1) return;
        for_each_entry<Real>(next, rows_from(row), [&](std::size_t entry) {
            upper.prefetch(entry);
            lower.prefetch(entry);
        });
        for_each_entry<Real>(next.from(rows_together), rows_from(row + rows_together),
                             [&](std::size_t entry) {
                                 upper.prefetch_size(entry);
                                 lower.prefetch_size(entry);
                             });
    }

    void select(const StripRows& at, std::size_t rows) {
        Limits<Real> limits[rows_together];
        GuessedLimits<Real> guesses[rows_together];
        std::fill_n(limits, rows, selection_.no_limits());
        for (std::size_t r = 0; r < rows; ++r)
            guesses[r].lower(panels_, sample_, at.from(r), selection_.least(), limits[r]);
        select(at, rows, limits);
        for (std::size_t r = 0; r < rows; ++r) {
            StripRows row = at.from(r);
            Limits<Real> again;
            if (!guesses[r].is_refuted(row, selection_, again)) continue;
            std::int64_t unused[2][Strip<Real>::width] = {};  // these records are in the sums already
            row.sums = {unused[0], unused[1]};
            select(row, 1, &again);
        }
    }
    /// Lowers the limits to what is kept before each panel. Of one panel, what is wanted is inserted when the
    /// whole strip is: the fetches ahead have more to do.
    void select(const StripRows& at, std::size_t rows, Limits<Real>* limits) {
        for (const SelectedPanel<Real>& panel : panels_) {
            for (std::size_t r = 0; r < rows; ++r)
                selection_.lower(at.from(r).entry, std::min(at.columns, Strip<Real>::width), limits[r]);
            with_inputs(panel.outer.inputs, [&]<Inputs Kind>() HWY_ATTR {
                select_rows<Real, Kind>(panel, at, rows, selection_, limits);
            });
            if (panels_.size() > 1) selection_.finish();
        }
    }

    std::deque<SelectedPanel<Real>> panels_;
    const Outer<Real>& outer_;  // of any panel
    BiasedSelection<Real> selection_;
    SumBounds sums_;
    std::size_t first_entry_, sample_ = 0;
};

void SelectInDouble(std::span<const OuterProduct<double>> products, SumBounds sums,
                    const SelectionTarget& target) {
    LayerSelection<double>(products, sums, target).run();
}
void SelectInSingle(std::span<const OuterProduct<float>> products, SumBounds sums,
                    const SelectionTarget& target) {
    LayerSelection<float>(products, sums, target).run();
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(SelectInDouble);
HWY_EXPORT(SelectInSingle);

template <>
void accumulate_and_select(std::span<const OuterProduct<double>> products, SumBounds sums,
                           const SelectionTarget& target) {
    HWY_DYNAMIC_DISPATCH(SelectInDouble)(products, sums, target);
}
template <>
void accumulate_and_select(std::span<const OuterProduct<float>> products, SumBounds sums,
                           const SelectionTarget& target) {
    HWY_DYNAMIC_DISPATCH(SelectInSingle)(products, sums, target);
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
