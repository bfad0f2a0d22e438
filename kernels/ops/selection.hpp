#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

namespace holdfast {

/// The `count` least values of every entry seen so far: for `substitute` and `remove`.
/// Exact: a set of integers, the same for any order and partition of the records. Each entry has room for
/// twice as many; when that is full the larger half is dropped, so an insertion costs a few operations
/// whatever the count. Threads may share one: each holds a stripe of the entries at a time, and a shared
/// threshold falls faster than one of each thread's own.
class Selection {
  public:
    Selection(std::size_t entries, std::size_t count)
        : count_(count),
          sizes_(entries, 0),
          thresholds_(entries, count == 0 ? INT64_MIN : INT64_MAX),
          values_(entries * 2 * count),
          stripes_(std::make_unique<std::mutex[]>(stripe_count)) {}

    std::size_t entries() const { return sizes_.size(); }
    std::size_t count() const { return count_; }
    /// Values at or above this are surely not among the least.
    std::int64_t threshold(std::size_t entry) const { return thresholds_[entry]; }
    const std::int64_t* thresholds() const { return thresholds_.data(); }  ///< [entries]
    /// What insert() will want to find near.
    void prefetch(std::size_t entry) const {
        constexpr std::size_t line = 64 / sizeof(std::int64_t);
        const std::size_t size = sizes_[entry];
        const std::int64_t* values = values_.data() + entry * 2 * count_;
        __builtin_prefetch(values + size, 1);
        if (size + 1 < 2 * count_) return;
        for (std::size_t i = 0; i < size; i += line) __builtin_prefetch(values + i, 1);
    }
    /// True if the entry's threshold fell.
    bool insert(std::size_t entry, std::int64_t value) {
        if (value >= thresholds_[entry]) return false;
        values_[entry * 2 * count_ + sizes_[entry]++] = value;
        if (sizes_[entry] < 2 * count_) return false;
        keep_least(entry);
        return true;
    }
    /// The min(count, values seen) least, in no order.
    std::span<const std::int64_t> values(std::size_t entry) {
        if (sizes_[entry] > count_) keep_least(entry);
        return {values_.data() + entry * 2 * count_, sizes_[entry]};
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
    void keep_least(std::size_t entry);

    std::size_t count_;
    std::vector<std::uint32_t> sizes_;
    std::vector<std::int64_t> thresholds_;
    std::vector<std::int64_t> values_;
    std::unique_ptr<std::mutex[]> stripes_;
};

/// Of every entry of a gradient, the least upper bounds and the least of the lower bounds negated.
struct LeastEntries {
    LeastEntries(std::size_t entries, std::size_t count)
        : upper(entries, count), negated_lower(entries, count) {}
    Selection upper, negated_lower;
};

}  // namespace holdfast
