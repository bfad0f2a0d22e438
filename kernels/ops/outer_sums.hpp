#pragma once

#include <cstddef>

namespace holdfast {

template <typename Real>
struct OuterProduct;
struct SumBounds;
struct SelectionTarget;

/// Sums of outer products over several panels: what PanelOperations::accumulate adds and offers, for
/// operations that gain from more records at a time. Of one network and one clip. Holds the buffers; one a
/// thread.
template <typename Real>
class OuterSums {
  public:
    virtual ~OuterSums() = default;
    /// Of layer `layer`: to the sums and the selection (null: none) now or at finish(). Until then the sums
    /// and what is selected must last, and of the first layer the rows too. False: nothing is gained by
    /// gathering this, and nothing was added.
    virtual bool add(std::size_t layer, const OuterProduct<Real>& product, SumBounds sums,
                     const SelectionTarget* selection) = 0;
    /// What was added is in its sums and selections.
    virtual void finish() = 0;
};

}  // namespace holdfast
