#pragma once

#include <memory>

#include "kernels/ops/engine.hpp"
#include "kernels/ops/panel_operations.hpp"

namespace holdfast {

/// A backend that computes panel by panel on the host's threads, by any set of operations. Sums are of
/// integers, so any number of threads gives the same bytes.
template <typename Real>
std::unique_ptr<Backend> make_host_backend(std::unique_ptr<PanelOperations<Real>> operations);

}  // namespace holdfast
