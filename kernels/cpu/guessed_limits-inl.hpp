// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_GUESSED_LIMITS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_GUESSED_LIMITS_INL
#undef HOLDFAST_GUESSED_LIMITS_INL
#else
#define HOLDFAST_GUESSED_LIMITS_INL
#endif

#include <algorithm>
#include <deque>

#include "kernels/cpu/selected_entries-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// The least upper and the greatest lower entries of some records, in each lane, the most extreme first.
template <typename Real>
struct Extremes {
    static constexpr std::size_t count = 8;
    Vec<Real> upper[count], lower[count];

    HWY_INLINE Extremes(Vec<Real> above_all, Vec<Real> below_all) {
        std::fill_n(upper, count, above_all);
        std::fill_n(lower, count, below_all);
    }
    HWY_INLINE void add(Entries<Real> entries) {
        for (std::size_t i = 0; i < count; ++i) {
            const Vec<Real> least = hn::Min(upper[i], entries.greatest),
                            greatest = hn::Max(lower[i], entries.least);
            entries = {hn::Min(lower[i], entries.least), hn::Max(upper[i], entries.greatest)};
            upper[i] = least;
            lower[i] = greatest;
        }
    }
};

/// Of the first `records` of a panel, at one row and `lanes` columns, `behind` the strip's first.
template <typename Real, Inputs Kind>
void add_sample(const SelectedPanel<Real>& panel, const StripRows& at, std::size_t behind,
                std::size_t records, Extremes<Real>& extremes) {
    const TileEntries<Real, Kind> entries(panel.outer, panel.strip, at.row, at.column + behind, behind);
    for (std::size_t record = 0; record < records; ++record) extremes.add(entries.of(record, 0));
}

/// Limits of a row of which a selection knows nothing yet, guessed from a sample of the records at hand: so
/// fewer are inserted only to be dropped. Where as many come as are to be kept, those are below the limit,
/// and so are the least of all: none of them was left out. Where fewer come, the guess was wrong.
template <typename Real>
class GuessedLimits {
  public:
    /// Records to guess from, of so many at hand, where `count` are to be kept; 0: no guess is worth it. Of
    /// the `count` least of all, 2.5 or fewer are in the sample, so seldom as many as Extremes has.
    static std::size_t sample_size(std::size_t records, std::size_t count) {
        return records < 8 * count ? 0 : std::min(records / 8, 5 * records / (2 * count));
    }

    /// Lowers the limits of a row where nothing was dropped yet, and fewer came than are to be kept.
    void lower(const std::deque<SelectedPanel<Real>>& panels, std::size_t sample, const StripRows& at,
               const LeastEntries& least, Limits<Real>& limits) {
        const std::size_t columns = std::min(at.columns, width);
        is_made_ = sample > 0;
        for (std::size_t c = 0; c < columns && is_made_; ++c) {
            const std::size_t entry = at.entry + c;
            kept_lower_[c] = least.negated_lower.size(entry);
            kept_upper_[c] = least.upper.size(entry);
            is_made_ = !any_dropped(least.upper, entry) && kept_upper_[c] < least.upper.count() &&
                       !any_dropped(least.negated_lower, entry) && kept_lower_[c] < least.upper.count();
        }
        if (!is_made_) return;
        for (std::size_t behind = 0; behind < columns; behind += lanes<Real>)
            guess(panels, sample, at, behind, limits);
    }

    /// Was the guess wrong anywhere? There what came since is taken back, and `again` has no limit; elsewhere
    /// it wants nothing.
    bool is_refuted(const StripRows& at, const BiasedSelection<Real>& selection, Limits<Real>& again) const {
        if (!is_made_) return false;
        again = selection.nothing_wanted();
        const Limits<Real> none = selection.no_limits();
        bool refuted = false;
        const auto check = [&](Selection& side, std::size_t entry, std::size_t kept, Real& limit,
                               Real without) {
            if (any_dropped(side, entry) || side.size(entry) - kept >= side.count()) return;
            side.take_back(entry, kept);
            limit = without;
            refuted = true;
        };
        for (std::size_t c = 0; c < std::min(at.columns, width); ++c) {
            check(selection.least().negated_lower, at.entry + c, kept_lower_[c], again.lower[c],
                  none.lower[c]);
            check(selection.least().upper, at.entry + c, kept_upper_[c], again.upper[c], none.upper[c]);
        }
        return refuted;
    }

  private:
    static constexpr std::size_t width = Strip<Real>::width;

    /// Then twice `count` were there, and more than `count` of them have come since.
    static bool any_dropped(const Selection& side, std::size_t entry) {
        return side.threshold(entry) < INT64_MAX;
    }

    /// The eighth of the sample, and what is equal to it, are within the limit.
    static void guess(const std::deque<SelectedPanel<Real>>& panels, std::size_t sample, const StripRows& at,
                      std::size_t behind, Limits<Real>& limits) {
        Real *lower = limits.lower + behind, *upper = limits.upper + behind;
        Extremes<Real> extremes(hn::Load(reals<Real>, upper), hn::Load(reals<Real>, lower));
        for (auto panel = panels.begin(); sample > 0; ++panel) {
            const std::size_t some = std::min(sample, panel->count);
            with_inputs(panel->outer.inputs, [&]<Inputs Kind>() HWY_ATTR {
                add_sample<Real, Kind>(*panel, at, behind, some, extremes);
            });
            sample -= some;
        }
        const auto one = hn::Set(integers<Real>, 1);
        const auto last = [](const Vec<Real>(&values)[Extremes<Real>::count]) HWY_ATTR {
            return hn::BitCast(integers<Real>, values[Extremes<Real>::count - 1]);
        };
        const Vec<Real> above = hn::BitCast(reals<Real>, hn::Add(last(extremes.upper), one)),
                        below = hn::BitCast(reals<Real>, hn::Sub(last(extremes.lower), one));
        hn::Store(hn::Min(above, hn::Load(reals<Real>, upper)), reals<Real>, upper);
        hn::Store(hn::Max(below, hn::Load(reals<Real>, lower)), reals<Real>, lower);
    }

    bool is_made_ = false;
    std::size_t kept_lower_[width], kept_upper_[width];  // values of before
};

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
