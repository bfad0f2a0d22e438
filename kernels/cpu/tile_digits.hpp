#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/integer_tiles.hpp"

namespace holdfast::cpu {

/// A matrix of integers in digits of 8 bits, as tiles that are multiplied two by two: of two digits those of
/// a block of 16, that of 256s first; of one digit those of two neighbouring blocks. What lies beyond the
/// matrix is 0; what is in it has to be written.
class TileDigits {
  public:
    /// size: rows of factors or lanes of values; depth: products of a sum.
    TileDigits(int digits, std::size_t size, std::size_t depth)
        : digits_(digits),
          pairs_((size + pair_size() - 1) / pair_size()),
          depths_((depth + tile_depth - 1) / tile_depth),
          used_(depths_),
          bytes_(hwy::AllocateAligned<std::int8_t>(pairs_ * depths_ * 2 * tile_size)) {
        for (std::size_t pair = size / pair_size(); pair < pairs_; ++pair) clear(pair, 0);
        for (std::size_t pair = 0; pair < pairs_; ++pair) clear(pair, depth / tile_depth);
    }

    int digits() const { return digits_; }
    std::size_t pairs() const { return pairs_; }
    std::size_t depths() const { return used_; }
    /// Of the products of a sum only the first `depth`, a multiple of 64, are there.
    void use(std::size_t depth) { used_ = depth / tile_depth; }
    /// So many rows or lanes are in two tiles.
    std::size_t pair_size() const { return digits_ == 2 ? tile_side : 2 * tile_side; }

    const std::int8_t* pair(std::size_t pair, std::size_t depth) const {
        return bytes_.get() + (pair * depths_ + depth) * 2 * tile_size;
    }
    std::int8_t* tile(std::size_t digit, std::size_t block, std::size_t depth) {
        const std::size_t pair = digits_ == 2 ? block : block / 2, second = digits_ == 2 ? digit : block % 2;
        return bytes_.get() + ((pair * depths_ + depth) * 2 + second) * tile_size;
    }
    /// Of a row of factors, digit `digit` from `first` on, a multiple of 64, for as long as a tile is deep.
    std::int8_t* row(std::size_t digit, std::size_t row, std::size_t first) {
        return tile(digit, row / tile_side, first / tile_depth) + row % tile_side * tile_depth;
    }

  private:
    /// From a depth on.
    void clear(std::size_t pair, std::size_t depth) {
        std::memset(bytes_.get() + (pair * depths_ + depth) * 2 * tile_size, 0,
                    (depths_ - depth) * 2 * tile_size);
    }

    int digits_;
    std::size_t pairs_, depths_, used_;
    hwy::AlignedFreeUniquePtr<std::int8_t[]> bytes_;
};

}  // namespace holdfast::cpu
