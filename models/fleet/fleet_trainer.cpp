#include "models/fleet/fleet_trainer.hpp"

#include <algorithm>
#include <utility>

#include "models/training/batches.hpp"

namespace holdfast {

FleetTrainer::FleetTrainer(const TrainingPlan& plan, const Records& records,
                           std::vector<std::size_t> left_out)
    : plan_(plan),
      records_(records),
      left_out_(std::move(left_out)),
      optimiser_(make_optimiser(plan.settings.training, plan.gradient_scale().exponent)),
      pinned_(plan.network.pinned()) {}

/// Networks side by side: arrays are [.., models].
struct FleetTrainer::Block {
    std::vector<std::size_t> left_out;                  // [models]
    std::vector<std::int64_t> parameters, slots, sums;  // [parameters], [slots, parameters], [parameters]

    std::size_t models() const { return left_out.size(); }
    /// Every models()-th of an array from `model` on: what is one network's; and back.
    std::vector<std::int64_t> of_model(const std::vector<std::int64_t>& all, std::size_t model) const {
        std::vector<std::int64_t> own;
        for (std::size_t at = model; at < all.size(); at += models()) own.push_back(all[at]);
        return own;
    }
    void set_model(std::vector<std::int64_t>& all, std::size_t model,
                   const std::vector<std::int64_t>& own) const {
        for (std::size_t i = 0; i < own.size(); ++i) all[i * models() + model] = own[i];
    }
};

std::optional<std::vector<std::int64_t>> FleetTrainer::train(std::size_t first, std::size_t count,
                                                             ModelsPass& pass,
                                                             const std::function<bool()>& stop) const {
    const std::vector<std::int64_t> initial = plan_.initial_parameters(0);
    std::vector<std::int64_t> trained;
    for (std::size_t done = 0; done < count; done += pass.models()) {
        Block block;
        for (std::size_t model = 0; model < pass.models(); ++model)  // where fewer are left, one again
            block.left_out.push_back(left_out_[first + std::min(done + model, count - 1)]);
        for (const std::int64_t parameter : initial)
            block.parameters.insert(block.parameters.end(), pass.models(), parameter);
        block.slots = optimiser_->initial_slots(block.parameters);
        if (!train_block(block, pass, stop)) return std::nullopt;
        for (std::size_t model = 0; model < std::min(pass.models(), count - done); ++model) {
            const std::vector<std::int64_t> own = block.of_model(block.parameters, model);
            trained.insert(trained.end(), own.begin(), own.end());
        }
    }
    return trained;
}

bool FleetTrainer::train_block(Block& block, ModelsPass& pass, const std::function<bool()>& stop) const {
    Batches batches(plan_.settings.training, records_);
    const RecordSet records = records_.view();
    std::vector<std::size_t> without(block.models());
    for (std::int64_t step = 0; step < plan_.settings.training.steps(); ++step) {
        if (stop && stop()) return false;
        const std::span<const std::uint32_t> batch = batches.of_step(step);
        for (std::size_t model = 0; model < block.models(); ++model) {
            const std::size_t record = block.left_out[model];
            const auto at = std::lower_bound(batch.begin(), batch.end(), record);
            const bool in_batch = at != batch.end() && *at == record;
            without[model] = in_batch ? static_cast<std::size_t>(at - batch.begin()) : nothing_left_out;
        }
        block.sums.assign(block.parameters.size(), 0);
        pass.add(block.parameters.data(), records, batch, without, block.sums.data());
        for (const std::size_t entry : pinned_)
            std::fill_n(block.sums.begin() + static_cast<std::ptrdiff_t>(entry * block.models()),
                        block.models(), 0);
        update(step, static_cast<std::size_t>(persons_among(records_, batch)), without, block);
    }
    return true;
}

/// A batch of no records has no mean, and a gradient of 0.
double FleetTrainer::normaliser(std::size_t records) const {
    if (plan_.settings.training.normalise == Normalise::expected) return plan_.normaliser;
    return static_cast<double>(std::max<std::size_t>(1, records));
}

void FleetTrainer::update(std::int64_t step, std::size_t records, std::span<const std::size_t> without,
                          Block& block) const {
    const auto descend = [&](std::size_t of_records, std::vector<std::int64_t>& parameters,
                             std::vector<std::int64_t>& slots, const std::vector<std::int64_t>& sums) {
        const BoxEnd point{parameters, slots};
        optimiser_->before(step, point, point);
        optimiser_->update(step, normaliser(of_records), point, sums);
    };
    // Those whose mean is over one record less take a step of their own.
    std::vector<std::pair<std::size_t, Block>> apart;
    for (std::size_t model = 0; model < block.models(); ++model) {
        if (without[model] == nothing_left_out || normaliser(records - 1) == normaliser(records)) continue;
        Block own{{block.left_out[model]},
                  block.of_model(block.parameters, model),
                  block.of_model(block.slots, model),
                  block.of_model(block.sums, model)};
        descend(records - 1, own.parameters, own.slots, own.sums);
        apart.emplace_back(model, std::move(own));
    }
    descend(records, block.parameters, block.slots, block.sums);
    for (const auto& [model, own] : apart) {
        block.set_model(block.parameters, model, own.parameters);
        block.set_model(block.slots, model, own.slots);
    }
}

}  // namespace holdfast
