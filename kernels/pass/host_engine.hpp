#pragma once

#include <cstddef>
#include <memory>

#include "kernels/ops/engine.hpp"
#include "kernels/ops/panel_operations.hpp"

namespace holdfast {

/// A backend that computes panel by panel on the host's threads, by any set of operations. Sums are of
/// integers, so any number of threads gives the same bytes, and so does any memory.
/// bytes_per_thread: of the sums one thread may hold; beyond it the variants go in groups, each another pass
/// over the records.
template <typename Real>
std::unique_ptr<Backend> make_host_backend(std::unique_ptr<PanelOperations<Real>> operations,
                                           std::size_t bytes_per_thread = std::size_t{256} << 20);

}  // namespace holdfast
