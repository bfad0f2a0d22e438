#include "models/convex/proximal.hpp"

#include <algorithm>

#include "kernels/base/arithmetic.hpp"
#include "models/training/update_rule.hpp"

namespace holdfast {

Proximal::Proximal(const Settings& settings, std::vector<bool> biases)
    : training_(settings.training),
      l1_(settings.convex.l1),
      box_(settings.convex.box > 0 ? parameter_units(settings.convex.box) : parameter_limit_units),
      biases_(std::move(biases)) {}

void Proximal::apply(std::int64_t step, std::span<std::int64_t> parameters) const {
    const std::int64_t threshold = parameter_units(training_.learning_rate_at(step) * l1_);
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        const std::int64_t value = parameters[p], taken = biases_[p] ? 0 : threshold;
        parameters[p] = std::clamp(thresholded(value, taken), -box_, box_);
    }
}

}  // namespace holdfast
