#pragma once

#include <cstdint>
#include <vector>

#include "models/nets/network.hpp"

namespace holdfast {

/// Scales each hidden layer's weights down to a spectral norm of `limit`, by an estimate from powers, which
/// may be too low: a function of the parameters alone. Dense layers.
void limit_spectral_norms(const Network& network, double limit, std::vector<std::int64_t>& parameters);

}  // namespace holdfast
