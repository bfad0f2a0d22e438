#include "models/certify/prediction_steps.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"

namespace holdfast {

PredictionSteps::PredictionSteps(FeatureRange range, std::size_t steps) : range_(range), steps_(steps) {
    ensure(steps >= 2 && steps <= most && range.low < range.high, "some steps of a range");
}

std::size_t PredictionSteps::step_of(double prediction) const {
    const double place = (prediction - range_.low) / (range_.high - range_.low) * static_cast<double>(steps_);
    return place >= 1 ? static_cast<std::size_t>(std::min(place, static_cast<double>(steps_ - 1))) : 0;
}

double PredictionSteps::middle_of(std::size_t step) const {
    return range_.low +
           (static_cast<double>(step) + 0.5) / static_cast<double>(steps_) * (range_.high - range_.low);
}

void PredictionSteps::add_level(const OutputBounds& bounds) {
    const std::size_t queries = bounds.lower.size();
    if (level_ == 0) {
        found_.labels.resize(queries);
        found_.distances.resize(queries);
        found_.class_distances.resize(queries * steps_);
    }
    for (std::size_t q = 0; q < queries; ++q) {
        const std::size_t least = step_of(bounds.lower[q]), greatest = step_of(bounds.upper[q]);
        if (level_ == 0) found_.labels[q] = static_cast<std::int32_t>(least);
        const bool certified = least == greatest && least == static_cast<std::size_t>(found_.labels[q]);
        if (certified && level_ > 0 && found_.distances[q] == level_ - 1) ++found_.distances[q];
        for (std::size_t j = 0; j < steps_; ++j) {
            std::int64_t& leading = found_.class_distances[q * steps_ + j];
            if ((j < least || j > greatest) && leading == level_) ++leading;
        }
    }
    ++level_;
}

}  // namespace holdfast
