#include "kernels/ops/step_engine.hpp"

#include <string>

namespace holdfast {

std::size_t StepShape::parameters() const {
    std::size_t count = 0;
    for (const LayerShape& layer : layers) count += layer.parameters();
    return count;
}

Error not_finite(const char* what, std::size_t layer) {
    return {
        ExitCode::numerical, std::string("a NaN or infinity among the ") + what,
        "features beyond about 1e100, or a network so deep that its bounds overflow: scale the features by "
        "public constants",
        "layer " + std::to_string(layer)};
}

std::unique_ptr<StepEngine> Backend::step_engine(const StepShape&) const {
    return nullptr;
}

}  // namespace holdfast
