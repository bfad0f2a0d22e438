#pragma once

#include <memory>
#include <string>

#include "kernels/ops/backend.hpp"

namespace holdfast {

/// "cpu", "cuda", "reference", or "auto": cuda if it is built and has a usable device, else cpu. All give the
/// same bits. Product::rump needs "reference" or "auto". device: which of a node's devices cuda uses.
/// Error (usage): a name that is not one of these, a product the backend lacks, no device.
std::unique_ptr<Backend> make_backend(const std::string& name, Product product = Product::exact,
                                      int device = 0);

/// The same for work that goes panel by panel through the host, as certification does: there cpu stands for
/// cuda, whose strength is whole steps.
std::unique_ptr<Backend> make_panel_backend(const std::string& name, Product product = Product::exact);

}  // namespace holdfast
