#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/base/aligned.hpp"
#include "kernels/cpu/integer_tiles.hpp"

namespace holdfast::cpu {

/// A matrix of integers in digits of 8 bits, as tiles that are multiplied two by two: of two digits those of
/// a block of 16, that of 256s first; of one digit those of two neighbouring blocks. What lies beyond the
/// matrix is 0.
class TileDigits {
  public:
    /// size: rows of factors or lanes of values; depth: products of a sum.
    TileDigits(int digits, std::size_t size, std::size_t depth)
        : digits_(digits),
          pairs_((size + pair_size() - 1) / pair_size()),
          depths_((depth + tile_depth - 1) / tile_depth),
          bytes_(pairs_ * depths_ * 2 * tile_size) {}

    int digits() const { return digits_; }
    std::size_t pairs() const { return pairs_; }
    std::size_t depths() const { return depths_; }
    /// So many rows or lanes are in two tiles.
    std::size_t pair_size() const { return digits_ == 2 ? tile_side : 2 * tile_side; }

    const std::int8_t* pair(std::size_t pair, std::size_t depth) const {
        return bytes_.data() + (pair * depths_ + depth) * 2 * tile_size;
    }
    std::int8_t* tile(std::size_t digit, std::size_t block, std::size_t depth) {
        const std::size_t pair = digits_ == 2 ? block : block / 2, second = digits_ == 2 ? digit : block % 2;
        return bytes_.data() + ((pair * depths_ + depth) * 2 + second) * tile_size;
    }
    /// Of a row of factors, digit `digit` from `first` on, a multiple of 64, for as long as a tile is deep.
    std::int8_t* row(std::size_t digit, std::size_t row, std::size_t first) {
        return tile(digit, row / tile_side, first / tile_depth) + row % tile_side * tile_depth;
    }

  private:
    int digits_;
    std::size_t pairs_, depths_;
    AlignedVector<std::int8_t> bytes_;
};

}  // namespace holdfast::cpu
