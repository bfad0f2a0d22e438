#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "models/fleet/fleet_file.hpp"

namespace holdfast {

/// What is left of a rank's parts: its threads take from it and have the networks kept.
class PartQueue {
  public:
    /// left: ascending; it and the parts must outlive this.
    PartQueue(const FleetParts& parts, std::span<const std::size_t> left) : parts_(parts), left_(left) {}

    std::size_t networks() const {
        std::size_t count = 0;
        for (const std::size_t part : left_) count += parts_.size(part);
        return count;
    }
    /// The next part, and those that follow on it while all are of so many networks at most; empty: none is
    /// left.
    std::span<const std::size_t> take(std::size_t networks) {
        const std::lock_guard lock(mutex_);
        std::size_t count = 0, taken = 0;
        while (taken < left_.size()) {
            if (taken > 0 && left_[taken] != left_[taken - 1] + 1) break;
            count += parts_.size(left_[taken]);
            if (taken > 0 && count > networks) break;
            ++taken;
        }
        const std::span<const std::size_t> next = left_.first(taken);
        left_ = left_.subspan(taken);
        return next;
    }
    /// trained: the networks of what was taken.
    void keep(std::span<const std::size_t> taken, std::span<const std::int64_t> trained) {
        const std::lock_guard lock(files_);
        const std::size_t parameters = parts_.shape().parameters;
        for (const std::size_t part : taken) {
            parts_.write(part, trained.first(parts_.size(part) * parameters));
            trained = trained.subspan(parts_.size(part) * parameters);
        }
    }

  private:
    const FleetParts& parts_;
    std::span<const std::size_t> left_;
    std::mutex mutex_, files_;
};

}  // namespace holdfast
