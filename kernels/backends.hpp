#pragma once

#include <memory>
#include <string>

#include "kernels/ops/engine.hpp"
#include "kernels/ops/models_pass.hpp"
#include "kernels/ops/panel_operations.hpp"

namespace holdfast {

/// "cpu", "cuda", "reference", or "auto": cuda if it is built and has a usable device, else cpu. All give the
/// same bits in one precision. cuda computes in double alone; products that are not exact need "reference" or
/// "auto", and double. device: which of a node's devices cuda uses. Here, and nowhere else, a setting becomes
/// a Real. Error (usage): a name that is not one of these, a product or precision the backend lacks, no
/// device.
std::shared_ptr<const Backend> make_backend(const std::string& name,
                                            Arithmetic arithmetic = Precision::double_precision,
                                            const Products& products = {}, int device = 0);

/// The operations of the host's backends, one by one: "cpu" or "reference"; with products that are not exact
/// the latter in double.
template <typename Real = double>
std::unique_ptr<PanelOperations<Real>> make_operations(const std::string& name,
                                                       const Products& products = {});

/// Those of fixed precision, with activations, deltas and features of so many bits: 16 or 8.
std::unique_ptr<PanelOperations<float>> make_fixed_operations(const std::string& name, int bits);

/// Error (usage): so named, networks do not pass side by side in this precision.
void check_models_precision(const std::string& name, Precision precision);

/// What takes many networks through the same records: "cpu" or "reference", one thread of the host's, or
/// "cuda", its share of a device. Error (usage): a precision or clip that it lacks, no device.
std::unique_ptr<ModelsPass> make_models_pass(const std::string& name, Precision precision,
                                             const NetworkShape& network, const Clip& clip,
                                             const DeviceShare& share = {});

/// The name of a backend that computes `network`: "cpu" for "auto" where no device does.
std::string backend_for(const NetworkShape& network, const std::string& name);

}  // namespace holdfast
