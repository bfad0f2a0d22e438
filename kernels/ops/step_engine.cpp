#include "kernels/ops/step_engine.hpp"

#include <string>

namespace holdfast {

std::size_t StepShape::parameters() const {
    std::size_t count = 0;
    for (const LayerShape& layer : layers) count += layer.parameters();
    return count;
}

Error not_finite(const char* what, std::size_t layer, Precision precision) {
    const std::string largest = precision == Precision::double_precision ? "1e100" : "1e12";
    return {ExitCode::numerical, std::string("a NaN or infinity among the ") + what,
            "features beyond about " + largest +
                ", or a network so deep that its bounds overflow: scale the features by public constants",
            "layer " + std::to_string(layer)};
}

template <typename Real>
std::unique_ptr<StepEngine> BasicBackend<Real>::step_engine(const StepShape&) const {
    return nullptr;
}
template std::unique_ptr<StepEngine> BasicBackend<double>::step_engine(const StepShape&) const;
template std::unique_ptr<StepEngine> BasicBackend<float>::step_engine(const StepShape&) const;

}  // namespace holdfast
