#pragma once

#include <vector>

#include "models/boxes/gradient_sums.hpp"

namespace holdfast {

/// Sums of all levels over any number of records: parts, each exact in 64 bits, added in 128 and clamped to
/// +-2^62 at the end. Clamping is monotone and 1-Lipschitz: a box still encloses, nested boxes still nest,
/// and a record still moves a sum by at most Gamma.
class WideSums {
  public:
    WideSums(std::size_t levels, std::size_t parameters);
    void add(std::vector<LevelSums> part);  ///< [levels]
    /// The sums, with the counts and selections of all parts; the object is spent.
    std::vector<LevelSums> clamped();

  private:
    std::vector<std::vector<__int128>> lower_, upper_;  // [levels][parameters]
    std::vector<LevelSums> rest_;                       // counts and selections of the levels
};

}  // namespace holdfast
