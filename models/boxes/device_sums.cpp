#include "models/boxes/device_sums.hpp"

namespace holdfast {
namespace {

RecordSet set_of(const Records& records, bool selectable) {
    const FeatureMatrix& features = records.features;
    return {.features = features.wide() ? nullptr : features.values().data(),
            .wide_features = features.wide() ? features.wide_values().data() : nullptr,
            .labels = records.labels.empty() ? nullptr : records.labels.data(),
            .count = records.size(),
            .selectable = selectable};
}

}  // namespace

DeviceSums::DeviceSums(const Network& network, std::unique_ptr<StepEngine> engine)
    : parameters_(network.parameters()), engine_(std::move(engine)) {}

StepShape DeviceSums::shape_of(const Network& network, const Clip& clip) {
    return {network.layers(), network.loss(), clip, network.transform()};
}

std::unique_ptr<DeviceSums> DeviceSums::over(std::unique_ptr<StepEngine> engine, const Network& network,
                                             const Records& private_records, const Records& public_records) {
    if (engine == nullptr) return nullptr;
    engine->set_records(std::vector{set_of(private_records, true), set_of(public_records, false)});
    return std::unique_ptr<DeviceSums>(new DeviceSums(network, std::move(engine)));
}

DeviceSums::Result DeviceSums::reduced(std::span<const BoxView> boxes, std::span<const Batch> batches,
                                       std::span<const std::int64_t> selection_counts,
                                       const Communicator& ranks) {
    std::vector<StepLevel> levels;
    for (std::size_t level = 0; level < boxes.size(); ++level) {
        const BoxView& box = boxes[level];
        levels.push_back({box.lower, box.upper, static_cast<std::size_t>(selection_counts[level])});
    }
    const std::vector<std::int64_t> message = message_of_all(levels, batches, ranks);
    Result result{0, std::vector<LevelSums>(levels.size())};
    result.records = unpack(message, parameters_, result.levels);
    for (std::size_t level = 0; level < levels.size(); ++level) {
        const std::size_t selected = levels[level].selected;
        if (selected == 0) continue;
        LevelSums& sums = result.levels[level];
        sums.least_upper.emplace_back(parameters_, selected);
        sums.least_negated_lower.emplace_back(parameters_, selected);
        engine_->selections(level, sums.least_upper[0], sums.least_negated_lower[0]);
    }
    return result;
}

std::vector<std::int64_t> DeviceSums::message_of_all(std::span<const StepLevel> levels,
                                                     std::span<const Batch> batches,
                                                     const Communicator& ranks) {
    std::vector<std::span<const std::uint32_t>> indices;
    for (const Batch& batch : batches) indices.emplace_back(batch.indices);
    const DeviceSpan sums = engine_->run(levels, indices);
    const bool on_device = ranks.sums_on_device();
    if (on_device) {
        ranks.sum(sums);
        ranks.wait(sums.stream);
    }
    const std::span<const std::int64_t> words = engine_->finish();
    std::vector<std::int64_t> message(words.begin(), words.end());
    if (!on_device) ranks.sum(message);
    return message;
}

}  // namespace holdfast
