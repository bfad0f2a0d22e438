#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/privacy/noise/secret_key.hpp"

namespace holdfast {

/// Which records a step takes: each on its own with probability threshold/2^32, in every step anew (Poisson
/// sampling, on which amplification by sampling rests: Mironov, Talwar, Zhang 2019). Whether a record is
/// taken depends on the key, the step and its id alone: not on who else is there, nor on ranks and threads.
/// Records must differ in their ids: those with one id would come and go together. Nobody may learn who was
/// taken.
class PoissonSample {
  public:
    static constexpr std::uint64_t everybody = std::uint64_t{1} << 32;

    /// `threshold` in [0, everybody]; at `everybody` no bits are drawn. The key and the ids [records], at
    /// most 2^32, must outlive this object.
    PoissonSample(const SecretKey& key, std::uint64_t threshold, std::span<const std::uint64_t> ids);

    /// Indices of the records taken in a step [0, 2^36), ascending; valid until the next call. A record is
    /// taken if word number step mod 16 of block 0 of SecretStream(key, id, step / 16) lies below the
    /// threshold: a block serves 16 steps, so steps in order cost a sixteenth of a block a record.
    std::span<const std::uint32_t> of_step(std::int64_t step);

  private:
    static constexpr std::int64_t window_steps = 16;

    void open_window(std::uint32_t window);
    std::uint16_t steps_of(std::uint64_t id, std::uint32_t window) const;

    const SecretKey& key_;
    std::uint64_t threshold_;
    std::span<const std::uint64_t> ids_;
    std::optional<std::uint32_t> window_;  // of whose steps masks_ tells
    std::vector<std::uint16_t> masks_;     // [records]; bit s: taken in step s of the window
    std::vector<std::uint32_t> taken_;     // [records], of which of_step shows the beginning
};

}  // namespace holdfast
