#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/least_kernels.hpp"
#include "kernels/ops/selection.hpp"

namespace holdfast::cpu {

/// Entries that a selection may want, inserted many at once: their places lie far apart in memory, and are
/// fetched ahead: how many values an entry has when it is collected, where the next one goes before it is
/// inserted.
class Offers {
  public:
    explicit Offers(LeastEntries& least) : least_(least), drop_(drop_some()) {}

    /// A lower or an upper bound, in units.
    void collect(std::size_t place, bool is_lower, std::int64_t bound) {
        const Offer& offer = collected_[count_++] = {is_lower ? -bound : bound, place, is_lower};
        side(offer).prefetch_size(place);
        if (count_ == full) insert();
    }
    /// All that were collected: before others may have the stripe.
    [[gnu::noinline]] void insert() {
        constexpr std::size_t ahead = 24;
        for (std::size_t i = 0; i < count_; ++i) {
            const Offer& later = collected_[std::min(i + ahead, count_ - 1)];
            side(later).prefetch(later.place);
            side(collected_[i]).insert(collected_[i].place, collected_[i].value, drop_);
        }
        count_ = 0;
    }

  private:
    struct Offer {
        std::int64_t value;
        std::size_t place;
        bool is_lower;
    };
    static constexpr std::size_t full = 512;

    Selection& side(const Offer& offer) { return offer.is_lower ? least_.negated_lower : least_.upper; }

    LeastEntries& least_;
    DropSome drop_;
    std::size_t count_ = 0;
    Offer collected_[full];
};

}  // namespace holdfast::cpu
