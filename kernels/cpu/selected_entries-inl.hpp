// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_SELECTED_ENTRIES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_SELECTED_ENTRIES_INL
#undef HOLDFAST_SELECTED_ENTRIES_INL
#else
#define HOLDFAST_SELECTED_ENTRIES_INL
#endif

#include <algorithm>
#include <optional>

#include "kernels/base/error.hpp"
#include "kernels/cpu/offers.hpp"
#include "kernels/cpu/signed_factors-inl.hpp"
#include "kernels/cpu/wanted-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// What is wanted of one row of a strip, as biased entries: lower bounds above the one limit, upper bounds
/// below the other.
template <typename Real>
struct Limits {
    alignas(64) Real lower[Strip<Real>::width];
    alignas(64) Real upper[Strip<Real>::width];
};

/// The two sides of a selection, of biased entries; what is wanted is inserted at finish().
template <typename Real>
class BiasedSelection {
  public:
    BiasedSelection(LeastEntries& least, const BasicGradientGrid<Real>& grid)
        : least_(least), grid_(grid), offers_(least) {}

    LeastEntries& least() const { return least_; }
    /// Lowers limits to what is kept of `columns` parameters from `first` on; behind them nothing is wanted.
    void lower(std::size_t first, std::size_t columns, Limits<Real>& limits) const {
        lower<true>(least_.negated_lower.thresholds() + first, columns, limits.lower);
        lower<false>(least_.upper.thresholds() + first, columns, limits.upper);
    }
    HWY_INLINE void collect(std::size_t entry, bool is_lower, Real biased) {
        offers_.collect(entry, is_lower, grid_.units_of_biased(biased));
    }
    void finish() { offers_.insert(); }
    Limits<Real> no_limits() const { return everywhere(INT64_MAX); }
    Limits<Real> nothing_wanted() const { return everywhere(INT64_MIN); }

  private:
    template <bool Lower>
    double unit() const {
        return Lower ? -grid_.unit() : grid_.unit();
    }
    Limits<Real> everywhere(std::int64_t threshold) const {
        const auto units = static_cast<double>(threshold);
        Limits<Real> limits;
        std::fill_n(limits.lower, Strip<Real>::width, static_cast<Real>(grid_.bias() + units * unit<true>()));
        std::fill_n(limits.upper, Strip<Real>::width,
                    static_cast<Real>(grid_.bias() + units * unit<false>()));
        return limits;
    }
    template <bool Lower>
    HWY_INLINE void lower(const std::int64_t* thresholds, std::size_t columns, Real* limits) const {
        constexpr std::size_t width = Strip<Real>::width;
        alignas(64) std::int64_t some[width];
        if (columns < width) {
            std::fill(std::copy_n(thresholds, columns, some), some + width, INT64_MIN);
            thresholds = some;
        }
        const Vec<double> bias = hn::Set(reals<double>, grid_.bias()),
                          units = hn::Set(reals<double>, unit<Lower>());
        alignas(64) Real now[width];
        for (std::size_t i = 0; i < width; i += lanes<double>) {
            const auto values = hn::ConvertTo(reals<double>, hn::LoadU(integers<double>, thresholds + i));
            store_narrow(hn::Add(bias, hn::Mul(values, units)), now + i);
        }
        for (std::size_t i = 0; i < width; i += lanes<Real>) {
            const Vec<Real> one = hn::Load(reals<Real>, limits + i), other = hn::Load(reals<Real>, now + i);
            hn::Store(Lower ? hn::Max(one, other) : hn::Min(one, other), reals<Real>, limits + i);
        }
    }

    LeastEntries& least_;
    const BasicGradientGrid<Real>& grid_;
    Offers offers_;
};

/// A panel's part in a selection by strips.
template <typename Real>
struct SelectedPanel {
    explicit SelectedPanel(const OuterProduct<Real>& product)
        : outer(prepare<Real>(product)), count(product.count) {
        ensure(!outer.point, "a point's gradients are not selected");
        if (outer.inputs == Inputs::box || outer.inputs == Inputs::nonnegative_point) parts.emplace(outer);
    }
    Outer<Real> outer;
    std::optional<Parts<Real>> parts;  // of activations >= 0
    std::size_t count;                 // records
    Strip<Real> strip;                 // the one at hand
};

/// Rows of a layer at one strip, from one row on.
struct StripRows {
    std::size_t row, column;
    std::size_t columns;  // from `column` on
    std::size_t stride;   // entries from one row to the next
    std::size_t entry;    // the first row's first, in the selection
    SumBounds sums;       // from there on

    StripRows from(std::size_t rows) const {
        const std::size_t entries = rows * stride;
        return {row + rows, column, columns, stride, entry + entries, sums.from(entries)};
    }
};

/// The entries of one record at one row and `lanes` columns, biased.
template <typename Real>
struct Entries {
    Vec<Real> least, greatest;
};

/// The entries of any record at a tile's rows and `lanes` columns: `column`, of the layer, is `behind` the
/// strip's first.
template <typename Real, Inputs Kind>
class TileEntries {
  public:
    HWY_INLINE TileEntries(const Outer<Real>& outer, const Strip<Real>& strip, std::size_t row,
                           std::size_t column, std::size_t behind)
        : rule_(outer),
          scales_(outer, column),
          delta_lower_(outer.delta_lower + row * height),
          delta_upper_(outer.delta_upper + row * height),
          z_lower_(strip.lower() + behind),
          z_upper_(strip.upper() + behind) {}

    const Elementwise<Real>& rule() const { return rule_; }
    /// At the `o`th of the rows.
    HWY_INLINE Entries<Real> of(std::size_t record, std::size_t o) const {
        const Real low = delta_lower_[o * height + record], high = delta_upper_[o * height + record];
        const Vec<Real> lower = hn::Set(reals<Real>, low), upper = hn::Set(reals<Real>, high);
        const Real* z_lower = z_lower_ + record * Strip<Real>::width;
        const Real* z_upper = z_upper_ + record * Strip<Real>::width;
        if constexpr (Kind == Inputs::scaled) {
            const Corners<Real> corners(lower, upper, z_lower, z_upper);
            const Vec<Real> lowest = scales_.least(record), highest = scales_.greatest(record);
            return {rule_.scaled_least(corners.products, lowest, highest),
                    rule_.scaled_greatest(corners.products, lowest, highest)};
        } else if constexpr (Kind == Inputs::mixed_point) {
            const Vec<Real> z = hn::Load(reals<Real>, z_lower);
            return {rule_.entry_of_signs(lower, upper, z), rule_.entry_of_signs(upper, lower, z)};
        } else {
            const Ends<Real, Kind> z(low, high, z_lower, z_upper);
            return {rule_.entry(lower, hn::Load(reals<Real>, z.least)),
                    rule_.entry(upper, hn::Load(reals<Real>, z.greatest))};
        }
    }

  private:
    Elementwise<Real> rule_;
    ScaleLanes<Real> scales_;
    const Real *delta_lower_, *delta_upper_, *z_lower_, *z_upper_;
};

/// All records of a panel at `Rows` rows and `lanes` columns, `behind` the strip's first. Few entries are
/// wanted, and which ones no processor can foresee: those are formed again once all are added.
template <typename Real, Inputs Kind, std::size_t Rows>
HWY_INLINE void select_tile(const SelectedPanel<Real>& panel, const StripRows& at, std::size_t behind,
                            BiasedSelection<Real>& selection, const Limits<Real>* limits) {
    const TileEntries<Real, Kind> entries(panel.outer, panel.strip, at.row, at.column + behind, behind);
    const Elementwise<Real> rule = entries.rule();
    Vec<Real> kept_least[Rows], kept_greatest[Rows];
    IntegerVec<Real> least[Rows], greatest[Rows];
    WantedMasks<Tag<Real>> wanted[Rows];
    for (std::size_t o = 0; o < Rows; ++o) {
        kept_least[o] = hn::Load(reals<Real>, limits[o].lower + behind);
        kept_greatest[o] = hn::Load(reals<Real>, limits[o].upper + behind);
        least[o] = greatest[o] = rule.zero();
    }
    for (std::size_t record = 0; record < panel.count; ++record) {
        for (std::size_t o = 0; o < Rows; ++o) {
            const Entries<Real> entry = entries.of(record, o);
            least[o] = rule.add_entry(least[o], entry.least);
            greatest[o] = rule.add_entry(greatest[o], entry.greatest);
            wanted[o].set(2 * record, hn::Lt(entry.greatest, kept_greatest[o]));
            wanted[o].set(2 * record + 1, hn::Lt(kept_least[o], entry.least));
        }
    }
    for (std::size_t o = 0; o < Rows; ++o) {
        const std::size_t first = o * at.stride + behind;
        const SumBounds to = at.sums.from(first);
        flush<Real>(rule.units(least[o], panel.count), to.lower, at.columns - behind);
        flush<Real>(rule.units(greatest[o], panel.count), to.upper, at.columns - behind);
        wanted[o].for_each(2 * panel.count, [&](std::size_t index, std::size_t lane) HWY_ATTR {
            alignas(64) Real values[lanes<Real>];
            const bool is_lower = index % 2 != 0;
            const Entries<Real> entry = entries.of(index / 2, o);
            hn::Store(is_lower ? entry.least : entry.greatest, reals<Real>, values);
            selection.collect(at.entry + first + lane, is_lower, values[lane]);
        });
    }
}

/// One bound at one row and Columns vectors of columns, in parts. Of the lower bounds the greatest are
/// wanted, of the upper ones the least: where only lower bounds above 0 are, or upper ones below, the part of
/// the other sign is added unseen.
template <typename Real, bool Lower, std::size_t Columns>
class BoundSelection {
  public:
    HWY_INLINE BoundSelection(const Elementwise<Real>& rule, const StripRows& at, const Limits<Real>& limits)
        : rule_(rule), at_(at) {
        for (std::size_t c = 0; c < Columns; ++c)
            kept_[c] = hn::Load(reals<Real>, (Lower ? limits.lower : limits.upper) + c * lanes<Real>);
    }
    HWY_INLINE bool one_sign_is_wanted() const {
        bool one = true;
        for (const Vec<Real> limit : kept_)
            one &= hn::AllFalse(reals<Real>, Lower ? hn::Lt(limit, rule_.bias) : hn::Lt(rule_.bias, limit));
        return one;
    }
    HWY_INLINE void run(const typename Parts<Real>::Pair& parts, BiasedSelection<Real>& selection) const {
        constexpr Sign seen = Lower ? Sign::positive : Sign::negative,
                       unseen = Lower ? Sign::negative : Sign::positive;
        const Part<Real>& part = parts[Lower ? 0 : 1];
        IntegerVec<Real> sum[Columns];
        for (auto& at : sum) at = rule_.zero();
        WantedMasks<Tag<Real>> wanted;
        for (std::size_t i = 0; i < part.count; ++i) {
            const Vec<Real> factor = part.factor(i);
            const Real* z = part.activations(i);
            for (std::size_t c = 0; c < Columns; ++c) {
                const Vec<Real> entry =
                    rule_.template entry<seen>(factor, hn::Load(reals<Real>, z + c * lanes<Real>));
                sum[c] = rule_.add_entry(sum[c], entry);
                wanted.set(i * Columns + c, Lower ? hn::Lt(kept_[c], entry) : hn::Lt(entry, kept_[c]));
            }
        }
        add_part<unseen>(rule_, parts[Lower ? 1 : 0], sum);
        flush_row<Real>(rule_, sum, parts[0].count + parts[1].count, Lower ? at_.sums.lower : at_.sums.upper,
                        at_.columns);
        wanted.for_each(part.count * Columns, [&](std::size_t mask, std::size_t lane) HWY_ATTR {
            const std::size_t i = mask / Columns, behind = mask % Columns * lanes<Real> + lane;
            const Real factor = part.factors[part.records[i]], z = part.activations(i)[behind];
            selection.collect(at_.entry + behind, Lower, rule_.template one<seen>(factor, z));
        });
    }

  private:
    const Elementwise<Real>& rule_;
    const StripRows& at_;
    Vec<Real> kept_[Columns];
};

/// One row at Columns vectors of columns, where every side wants one sign only; false where it does not.
template <typename Real, std::size_t Columns>
HWY_INLINE bool select_parts(const SelectedPanel<Real>& panel, const StripRows& at,
                             BiasedSelection<Real>& selection, const Limits<Real>& limits) {
    const Elementwise<Real> rule(panel.outer);
    const BoundSelection<Real, true, Columns> lower(rule, at, limits);
    const BoundSelection<Real, false, Columns> upper(rule, at, limits);
    if (!lower.one_sign_is_wanted() || !upper.one_sign_is_wanted()) return false;
    lower.run(panel.parts->least(at.row, panel.strip), selection);
    upper.run(panel.parts->greatest(at.row, panel.strip), selection);
    return true;
}

template <typename Real, Inputs Kind, std::size_t Rows, std::size_t Columns>
HWY_INLINE void select_rows(const SelectedPanel<Real>& panel, const StripRows& at,
                            BiasedSelection<Real>& selection, const Limits<Real>* limits) {
    if constexpr (Rows == 1 && (Kind == Inputs::box || Kind == Inputs::nonnegative_point)) {
        if (select_parts<Real, Columns>(panel, at, selection, *limits)) return;
    }
    for (std::size_t c = 0; c < Columns; ++c)
        select_tile<Real, Kind, Rows>(panel, at, c * lanes<Real>, selection, limits);
}

/// All records of a panel at `rows` rows: adds them, and collects what is within the limits [rows].
template <typename Real, Inputs Kind>
void select_rows(const SelectedPanel<Real>& panel, StripRows at, std::size_t rows,
                 BiasedSelection<Real>& selection, const Limits<Real>* limits) {
    constexpr std::size_t together = Kind == Inputs::box || Kind == Inputs::nonnegative_point ? 1 : 2;
    const auto sweep = [&]<std::size_t Columns>() {
        std::size_t done = 0;
        for (; done + together <= rows; done += together)
            select_rows<Real, Kind, together, Columns>(panel, at.from(done), selection, limits + done);
        for (; done < rows; ++done)
            select_rows<Real, Kind, 1, Columns>(panel, at.from(done), selection, limits + done);
    };
    if (lanes<Real> < at.columns)
        sweep.template operator()<strip_vectors>();
    else
        sweep.template operator()<1>();
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
