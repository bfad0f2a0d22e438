#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dist/comm/device_communicator.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

/// What a FakeLibrary does and has done. Device memory is host memory here.
struct FakeLog {
    // to do
    int polls = 0;         ///< every call is in progress for so many looks
    int fails_after = -1;  ///< sums that go well before the group fails on its own; -1: it never does
    bool hangs = false;    ///< from now on nothing is ever done
    bool refuses = false;  ///< from now on every call is refused
    const Communicator* wire = nullptr;  ///< the ranks of the next group to join
    // done
    int ids = 0, joins = 0, sums = 0, finishes = 0, aborts = 0, looks = 0;
    std::vector<std::byte> last_id{};
};

class FakeGroup final : public CollectiveGroup {
  public:
    FakeGroup(FakeLog& log, const Communicator* wire) : log_(log), wire_(wire) { ++log_.joins; }
    CollectiveState state() const override {
        ++log_.looks;
        if (aborted_) return {CollectiveState::Is::failed, "aborted"};
        if (log_.fails_after >= 0 && log_.sums > log_.fails_after)
            return {CollectiveState::Is::failed, "the peer went away"};
        const bool working = log_.hangs || looks_left_-- > 0;
        return {working ? CollectiveState::Is::working : CollectiveState::Is::done};
    }
    CollectiveState state(void*) const override { return state(); }
    void sum(DeviceSpan values) override {
        start();
        ++log_.sums;
        if (wire_ != nullptr) wire_->sum(std::span<std::int64_t>(values.data, values.size));
    }
    void finish() override {
        start();
        ++log_.finishes;
    }
    void abort() noexcept override {
        if (!aborted_) ++log_.aborts;
        aborted_ = true;
    }

  private:
    void start() {
        if (log_.refuses || aborted_)
            throw Error(ExitCode::communication, "refused", "do something else", "fake");
        looks_left_ = log_.polls;
    }

    FakeLog& log_;
    const Communicator* wire_;
    mutable int looks_left_ = log_.polls;
    bool aborted_ = false;
};

class FakeLibrary final : public CollectiveLibrary {
  public:
    /// `seed` tells this rank's ids from those of others.
    FakeLibrary(FakeLog& log, int seed) : log_(log), seed_(seed) {}
    std::string name() const override { return "fake"; }
    std::vector<std::byte> new_id() const override {
        ++log_.ids;
        return {std::byte{0x5a}, static_cast<std::byte>(seed_), static_cast<std::byte>(log_.ids)};
    }
    std::unique_ptr<CollectiveGroup> join(std::span<const std::byte> id, int rank, int size) const override {
        if (log_.refuses) throw Error(ExitCode::communication, "refused", "do something else", "fake");
        if (log_.wire != nullptr && (rank != log_.wire->rank() || size != log_.wire->size()))
            throw Error(ExitCode::internal, "joined as another rank");
        log_.last_id.assign(id.begin(), id.end());
        return std::make_unique<FakeGroup>(log_, log_.wire);
    }

  private:
    FakeLog& log_;
    int seed_;
};

}  // namespace holdfast
