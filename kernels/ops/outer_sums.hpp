#pragma once

#include <cstddef>

namespace holdfast {

template <typename Real>
struct OuterProduct;
struct SumBounds;

/// So many panels of one variant are worth handing to an OuterSums between two calls of finish().
constexpr std::size_t gathered_panels = 4;

/// Sums of outer products over several panels: what PanelOperations::accumulate adds without a selection, for
/// operations whose product gains from more records at a time. Of one network and one clip. Holds the
/// buffers; one a thread.
template <typename Real>
class OuterSums {
  public:
    virtual ~OuterSums() = default;
    /// Of layer `layer`: to the sums now or at finish(), which they must last until.
    virtual void add(std::size_t layer, const OuterProduct<Real>& product, SumBounds sums) = 0;
    /// What was added is in its sums.
    virtual void finish() = 0;
};

}  // namespace holdfast
