#include "models/training/plan.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/ops/fixed_format.hpp"

namespace holdfast {
namespace {

/// To two significant digits: what little of the count a default normaliser gives away.
std::int64_t rounded_count(std::uint64_t count) {
    const double scale =
        std::pow(10.0, std::max(0.0, std::floor(std::log10(static_cast<double>(count))) - 1));
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::round(static_cast<double>(count) / scale) * scale));
}

void refuse_plan(const std::string& message, const std::string& hint, const std::string& key) {
    throw Error(ExitCode::usage, message, hint, key);
}

/// By factors a record may add an entry at each position of a convolution, and is charged for all of them.
void check_positions(const Settings& settings, const Network& network) {
    constexpr std::int64_t most = std::int64_t{1} << 20;  // models/mathematics.md, exact sums
    const std::int64_t farthest = std::max<std::int64_t>(1, settings.certificate.level_values().back());
    for (const Layer& layer : network.layers()) {
        const auto positions = static_cast<std::int64_t>(layer.positions());
        if (settings.clip.kind != Clip::Kind::factored || positions <= most / farthest) continue;
        refuse_plan("clip.kind = \"factored\" charges a convolution a record for each of its " +
                        std::to_string(positions) + " positions, too much for " + std::to_string(farthest) +
                        " records",
                    "set clip.kind = \"elementwise\", or lower the greatest level", "clip.kind");
    }
}

/// Settings of layers, now that they are known.
void check_layers(const Settings& settings, const Network& network) {
    const std::size_t products = settings.certificate.product.layers.size(), layers = network.layers().size();
    if (products > 1 && products != layers)
        refuse_plan(std::to_string(products) + " products for " + std::to_string(layers) + " layers",
                    "name one product, or one for every layer", "certificate.product");
    const bool convolves = std::any_of(network.layers().begin(), network.layers().end(),
                                       [](const Layer& layer) { return layer.convolution.has_value(); });
    const bool selects = settings.certificate.charge_rule != ChargeRule::per_epoch &&
                         settings.certificate.relation != Relation::add_remove;
    if (settings.clip.kind == Clip::Kind::factored && convolves && selects)
        refuse_plan(
            "a convolution's positions are clipped one by one, and no record's entry is known to be selected",
            "set certificate.budget = \"per_epoch\" or clip.kind = \"elementwise\"", "clip.kind");
    if (settings.clip.by_scales() && convolves)
        refuse_plan(
            "the gradient of a convolution is a sum over positions, whose norm is no product of norms",
            "set clip.kind = \"elementwise\"", "clip.kind");
}

void check_public_batches(const TrainingSettings& training, const DataShape& data) {
    const auto records = static_cast<std::int64_t>(data.public_records);
    if (training.public_batch_size > records)
        refuse_plan(
            "batches of " + std::to_string(training.public_batch_size) + " public records, and " +
                std::to_string(records) + " there are",
            records == 0 ? "name the public records with --public" : "lower training.public_batch_size",
            "training.public_batch_size");
}

}  // namespace

double normaliser_of(const Settings& settings, const DataShape& data) {
    const std::int64_t stated = settings.training.expected_records;
    const std::int64_t records = stated > 0 ? stated : rounded_count(data.found);
    const auto batches = static_cast<double>(settings.training.batches);
    const double beside = settings.training.public_batch_size > 0
                              ? static_cast<double>(settings.training.public_batch_size)
                              : static_cast<double>(data.public_records) / batches;
    if (settings.noisy()) return static_cast<double>(records) * settings.step_share() + beside;
    return static_cast<double>(records) / (static_cast<double>(settings.ensemble.members) * batches) + beside;
}

std::vector<std::int64_t> TrainingPlan::initial_parameters(std::uint64_t member) const {
    if (!initial.empty()) return initial;
    return network.initial_parameters(static_cast<std::uint64_t>(settings.training.seed), member);
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
    check_layers(settings, network);
    check_positions(settings, network);
    if (settings.training.precision == Precision::fixed)
        FixedFormat::of(network.shape(), static_cast<int>(settings.training.activation_bits));
    check_public_batches(settings.training, data);
    std::vector<std::int64_t> initial = settings.network.initial_parameters(network);
    return {settings,           std::move(features),           std::move(network),
            std::move(backend), normaliser_of(settings, data), settings.kept_levels(),
            std::move(initial)};
}

}  // namespace holdfast
