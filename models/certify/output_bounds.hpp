#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dist/data/dataset.hpp"
#include "kernels/ops/engine.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// Bounds of the outputs of every query, [queries, outputs]; a point has the same twice.
struct OutputBounds {
    std::vector<double> lower, upper;
};

/// Bounds what the networks of a box put out for some queries: of every network of the box, the outputs that
/// this program computes lie between them (models/mathematics.md, chain).
class OutputBounder {
  public:
    /// Network, backend and queries must outlive it.
    OutputBounder(const Network& network, const Backend& backend, const Records& queries);
    OutputBounds over(const std::vector<std::int64_t>& lower, const std::vector<std::int64_t>& upper) const;

  private:
    const Network& network_;
    std::size_t queries_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace holdfast
