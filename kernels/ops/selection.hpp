#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

namespace holdfast {

/// What is left of some values: so many, in front. Values at or above the threshold, of those that were there
/// or of any that come, are surely not among the least.
struct LeftValues {
    std::size_t size;
    std::int64_t threshold;
};

/// Leaves the `count` least of `size` values, 0 < count < size.
LeftValues keep_least(std::int64_t* values, std::size_t size, std::size_t count);

/// The `count` least values of every entry seen so far: for `substitute` and `remove`.
/// Exact: a set of integers, the same for any order and partition of the records. Each entry has room for
/// twice as many; when that is full a part of them is dropped, so an insertion costs a few operations
/// whatever the count. Threads may share one: each holds a stripe of the entries at a time, and a shared
/// threshold falls faster than one of each thread's own.
class Selection {
  public:
    Selection(std::size_t entries, std::size_t count)
        : count_(count),
          sizes_(entries, 0),
          thresholds_(entries, count == 0 ? INT64_MIN : INT64_MAX),
          values_(std::make_unique_for_overwrite<std::int64_t[]>(entries * 2 * count)),
          stripes_(std::make_unique<std::mutex[]>(stripe_count)) {}

    std::size_t entries() const { return sizes_.size(); }
    std::size_t count() const { return count_; }
    std::size_t size(std::size_t entry) const { return sizes_[entry]; }  ///< values kept, at most 2 count
    /// Values at or above this are surely not among the least; INT64_MAX: nothing was dropped yet.
    std::int64_t threshold(std::size_t entry) const { return thresholds_[entry]; }
    const std::int64_t* thresholds() const { return thresholds_.data(); }  ///< [entries]
    /// What insert() will want to find near, after its size has come near. Inlined always: gcc leaves out
    /// calls that only prefetch.
    [[gnu::always_inline]] void prefetch(std::size_t entry) const {
        constexpr std::size_t line = 64 / sizeof(std::int64_t);
        const std::size_t size = sizes_[entry];
        const std::int64_t* values = values_.get() + entry * 2 * count_;
        __builtin_prefetch(values + size, 1);
        if (size < 2 * count_) return;
        for (std::size_t i = 0; i < size; i += line) __builtin_prefetch(values + i, 1);
    }
    [[gnu::always_inline]] void prefetch_size(std::size_t entry) const {
        __builtin_prefetch(sizes_.data() + entry, 1);
    }
    /// True if the entry's threshold fell. drop: as keep_least, but may leave more, fewer than there were.
    template <typename Drop = decltype(&keep_least)>
    bool insert(std::size_t entry, std::int64_t value, Drop drop = &keep_least) {
        if (value >= thresholds_[entry]) return false;
        const bool full = sizes_[entry] == 2 * count_;
        if (full) leave(entry, drop);
        if (value < thresholds_[entry]) values_[entry * 2 * count_ + sizes_[entry]++] = value;
        return full;
    }
    /// Takes back all but the first `size` values that came; of an entry that nothing was dropped from.
    void take_back(std::size_t entry, std::size_t size) { sizes_[entry] = static_cast<std::uint32_t>(size); }
    /// The min(count, values seen) least, in no order.
    std::span<const std::int64_t> values(std::size_t entry) {
        if (sizes_[entry] > count_) leave(entry, &keep_least);
        return {values_.get() + entry * 2 * count_, sizes_[entry]};
    }

    /// Calls work(0) … work(count - 1) once each, in any order, while no other thread is inside a work of the
    /// same number: what threads agree to be a stripe (of this selection, or of several) is theirs to say.
    template <typename Work>
    void for_each_stripe(std::size_t count, Work work) {
        std::vector<std::size_t> left(count);
        std::iota(left.begin(), left.end(), std::size_t{0});
        while (!left.empty()) {
            const std::size_t before = left.size();
            std::erase_if(left, [&](std::size_t stripe) {
                const std::unique_lock lock(stripes_[stripe % stripe_count], std::try_to_lock);
                if (lock.owns_lock()) work(stripe);
                return lock.owns_lock();
            });
            if (left.size() < before) continue;
            const std::lock_guard lock(stripes_[left.back() % stripe_count]);  // all are taken: wait for one
            work(left.back());
            left.pop_back();
        }
    }

  private:
    static constexpr std::size_t stripe_count = 256;

    template <typename Drop>
    void leave(std::size_t entry, Drop drop) {
        const LeftValues left = drop(values_.get() + entry * 2 * count_, sizes_[entry], count_);
        sizes_[entry] = static_cast<std::uint32_t>(left.size);
        thresholds_[entry] = left.threshold;
    }

    std::size_t count_;
    std::vector<std::uint32_t> sizes_;
    std::vector<std::int64_t> thresholds_;
    std::unique_ptr<std::int64_t[]> values_;  // [entries, 2 count]
    std::unique_ptr<std::mutex[]> stripes_;
};

/// Of every entry of a gradient, the least upper bounds and the least of the lower bounds negated.
struct LeastEntries {
    LeastEntries(std::size_t entries, std::size_t count)
        : upper(entries, count), negated_lower(entries, count) {}
    Selection upper, negated_lower;
};

}  // namespace holdfast
