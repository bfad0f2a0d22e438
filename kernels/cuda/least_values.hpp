#pragma once

#include "kernels/cuda/kernel.hpp"

namespace holdfast::device {

/// The `count` least of the values inserted, exactly: a heap with the greatest of them at its root, in global
/// memory, and the root's copy in a register, so that a value that is not among the least costs one
/// comparison. Slot i is at values[i * stride]: neighbouring entries are neighbours in memory.
struct LeastValues {
    std::int64_t* values;
    std::size_t stride;
    std::int64_t root;
    int count, size;

    HOLDFAST_PORTABLE std::int64_t& slot(int index) const {
        return values[static_cast<std::size_t>(index) * stride];
    }
    HOLDFAST_PORTABLE void insert(std::int64_t value) {
        if (size < count) {
            rise(size++, value);
            root = slot(0);
        } else if (count > 0 && value < root) {
            sink(value);
            root = slot(0);
        }
    }

  private:
    /// `value` enters at the empty slot `at` and rises to its place.
    HOLDFAST_PORTABLE void rise(int at, std::int64_t value) const {
        while (at > 0) {
            const int parent = (at - 1) / 2;
            if (slot(parent) >= value) break;
            slot(at) = slot(parent);
            at = parent;
        }
        slot(at) = value;
    }
    /// `value` takes the root's place and sinks to its own.
    HOLDFAST_PORTABLE void sink(std::int64_t value) const {
        int at = 0;
        for (int child = 1; child < size; child = 2 * at + 1) {
            if (child + 1 < size && slot(child + 1) > slot(child)) ++child;
            if (slot(child) <= value) break;
            slot(at) = slot(child);
            at = child;
        }
        slot(at) = value;
    }
};

/// How many values a level of a group keeps per entry, and where: [2, count, entries] from `offset`, the
/// negated lower bounds first.
struct VariantSelection {
    std::size_t offset;
    std::int32_t count;
};

struct SelectionArrays {
    std::int64_t* values;
    const VariantSelection* levels;
    std::size_t entries;

    /// Every record offers a value to every entry, so all hold the same number.
    HOLDFAST_PORTABLE LeastValues of(int side, int level, std::size_t entry, int seen) const {
        const VariantSelection own = levels[level];
        std::int64_t* first =
            values + own.offset + (side == 0 ? 0 : static_cast<std::size_t>(own.count) * entries) + entry;
        const int size = seen < own.count ? seen : own.count;
        return {first, entries, size > 0 ? *first : 0, own.count, size};
    }
};

}  // namespace holdfast::device
