#pragma once

#include <cstdint>

#include "kernels/base/random.hpp"
#include "kernels/base/streams.hpp"

namespace holdfast {

/// Where a record goes is a function of its own id alone, or one added record would move its neighbours and
/// no certificate would hold (models/mathematics.md, assignment). Seeds are public.
class Assignment {
  public:
    explicit Assignment(std::uint64_t seed) : hash_{seed} {}

    std::uint64_t member(std::uint64_t id, std::uint64_t members) const {
        return hash_(streams::member, id) % members;
    }
    std::uint64_t batch(std::uint64_t id, std::uint64_t epoch, std::uint64_t batches) const {
        return hash_(streams::batches(epoch), id) % batches;
    }
    /// Which rank of a block group holds it; no result depends on this.
    std::uint64_t block(std::uint64_t id, std::uint64_t blocks) const {
        return hash_(streams::block, id) % blocks;
    }

  private:
    KeyedHash hash_;
};

}  // namespace holdfast
