#include "kernels/ops/step_engine.hpp"

namespace holdfast {

std::size_t StepShape::parameters() const {
    std::size_t count = 0;
    for (const LayerShape& layer : layers) count += layer.parameters();
    return count;
}

template <typename Real>
std::unique_ptr<StepEngine> BasicBackend<Real>::step_engine(const StepShape&) const {
    return nullptr;
}
template std::unique_ptr<StepEngine> BasicBackend<double>::step_engine(const StepShape&) const;
template std::unique_ptr<StepEngine> BasicBackend<float>::step_engine(const StepShape&) const;

}  // namespace holdfast
