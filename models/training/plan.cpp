#include "models/training/plan.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

/// To two significant digits: what little of the count a default normaliser gives away.
std::int64_t rounded_count(std::uint64_t count) {
    const double scale =
        std::pow(10.0, std::max(0.0, std::floor(std::log10(static_cast<double>(count))) - 1));
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::round(static_cast<double>(count) / scale) * scale));
}

}  // namespace

double normaliser_of(const Settings& settings, const DataShape& data) {
    const std::int64_t stated = settings.training.expected_records;
    const std::int64_t records = stated > 0 ? stated : rounded_count(data.found);
    const auto batches = static_cast<double>(settings.training.batches);
    const double beside = static_cast<double>(data.public_records) / batches;
    if (settings.noisy()) return static_cast<double>(records) * settings.step_share() + beside;
    return static_cast<double>(records) / (static_cast<double>(settings.ensemble.members) * batches) + beside;
}

TrainingPlan make_plan(const Settings& settings, const DataShape& data,
                       std::shared_ptr<const Backend> backend) {
    FeatureMap features = settings.feature_map(data.features, data.range);
    Network network = settings.network.make(features);
    if (settings.poisoned() && !network.shape().is_dense())
        throw Error(
            ExitCode::usage, "poisoned records are bounded in dense layers alone",
            "leave convolutions, pooling and dropout out, or set certificate.relation = \"substitute\", "
            "which covers every poison",
            "certificate.relation");
    return {settings,           std::move(features),           std::move(network),
            std::move(backend), normaliser_of(settings, data), settings.certificate.level_values()};
}

}  // namespace holdfast
