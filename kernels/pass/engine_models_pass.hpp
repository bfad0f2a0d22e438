#pragma once

#include <memory>

#include "kernels/ops/models_pass.hpp"

namespace holdfast {

/// A ModelsPass of so many networks by any engine, which takes them as variants: whatever layers and clips
/// the engine knows. A network whose record is among a step's goes through what is left of them by itself.
std::unique_ptr<ModelsPass> make_engine_models_pass(std::unique_ptr<Engine> engine,
                                                    const NetworkShape& network, std::size_t models);

}  // namespace holdfast
