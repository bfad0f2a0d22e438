#include "models/boxes/trainer.hpp"

#include <algorithm>
#include <numeric>

#include "dist/sum/selection_merge.hpp"
#include "kernels/base/error.hpp"
#include "models/boxes/wide_sums.hpp"

namespace holdfast {
namespace {

/// c (models/mathematics.md, core and radius): how many Gamma one changed record can move a sum by.
std::int64_t reach(Relation relation) {
    return relation == Relation::substitute ? 2 : 1;
}

/// Records a rank may add to one part, of its private and as many of its public ones.
std::int64_t part_capacity(const GradientScale& scale, std::int64_t ranks) {
    return std::max<std::int64_t>(1, scale.record_limit / (2 * ranks));
}

Batch slice_of(const Batch& batch, std::size_t first, std::size_t count) {
    const std::size_t size = batch.indices.size(), begin = std::min(first, size),
                      end = std::min(begin + count, size);
    return {batch.records,
            {batch.indices.begin() + static_cast<std::ptrdiff_t>(begin),
             batch.indices.begin() + static_cast<std::ptrdiff_t>(end)},
            batch.selectable};
}

}  // namespace

MemberTrainer::MemberTrainer(const TrainingPlan& plan, Records records, const Records& public_records,
                             MemberState state)
    : plan_(plan),
      records_(std::move(records)),
      public_records_(public_records),
      assignment_(static_cast<std::uint64_t>(plan.settings.training.seed)),
      biases_(plan.network.biases()),
      scale_(plan.backend.scale(plan.settings.clip)),
      optimiser_(make_sgd(plan.settings, scale_.exponent)),
      weight_response_(optimiser_->impulse_response(scale_.weight_units)),
      bias_response_(optimiser_->impulse_response(scale_.bias_units)),
      state_(std::move(state)) {
    ensure(plan.backend.precision() == plan.settings.training.precision,
           "the backend has the precision of the settings");
    if (std::max(records_.size(), public_records_.size()) > UINT32_MAX)
        throw Error(ExitCode::input, "more than 2^32 records of a member on one rank",
                    "spread them over more ranks or members");
    for (std::int64_t step = 0; step < state_.step; ++step) advance_responses(step, state_.normalisers[step]);
}

MemberState MemberTrainer::fresh_state(const TrainingPlan& plan, std::uint64_t member) {
    MemberState state;
    state.member = member;
    const auto initial =
        plan.network.initial_parameters(static_cast<std::uint64_t>(plan.settings.training.seed), member);
    for (const std::int64_t k : plan.levels) state.levels.push_back({k, initial, initial});
    return state;
}

void MemberTrainer::advance_responses(std::int64_t step, double normaliser) {
    const bool first_of_epoch = step % plan_.settings.training.batches == 0;
    weight_response_->advance(step, normaliser, first_of_epoch);
    bias_response_->advance(step, normaliser, first_of_epoch);
}

LevelState MemberTrainer::box(std::size_t index) const {
    LevelState level = state_.levels[index];
    if (plan_.settings.certificate.charge_rule == ChargeRule::per_batch || level.k == 0) return level;
    const std::int64_t changed = reach(plan_.settings.certificate.relation) * level.k;
    const std::int64_t weight_radius = weight_response_->radius(), bias_radius = bias_response_->radius();
    for (std::size_t p = 0; p < level.lower.size(); ++p) {
        const std::int64_t radius = biases_[p] ? bias_radius : weight_radius;
        level.lower[p] = widened_lower(level.lower[p], radius, changed);
        level.upper[p] = widened_upper(level.upper[p], radius, changed);
    }
    return level;
}

Batch MemberTrainer::batch_of(const Records& records, bool selectable) const {
    Batch batch{records, {}, selectable};
    const auto [epoch, number] = position();
    const auto count = static_cast<std::uint32_t>(records.size());  // as the constructor has checked
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint64_t of_record =
            plan_.settings.training.batching == Batching::sequential
                ? records.rows[i] / static_cast<std::uint64_t>(plan_.settings.training.batch_size)
                : assignment_.batch(records.ids[i], static_cast<std::uint64_t>(epoch),
                                    static_cast<std::uint64_t>(plan_.settings.training.batches));
        if (of_record == static_cast<std::uint64_t>(number)) batch.indices.push_back(i);
    }
    return batch;
}

bool MemberTrainer::selects(std::int64_t k) const {
    return k > 0 && plan_.settings.certificate.charge_rule == ChargeRule::per_batch &&
           plan_.settings.certificate.relation != Relation::add_remove;
}

// Before the first step every box is the initial point, whatever its level.
bool MemberTrainer::all_levels_equal() const {
    return state_.step == 0 && std::none_of(state_.levels.begin(), state_.levels.end(),
                                            [&](const LevelState& level) { return selects(level.k); });
}

std::vector<LevelSums> MemberTrainer::sums_of_levels(const Communicator& block_group,
                                                     std::int64_t& records_in_batch) {
    const std::vector<Batch> batches{batch_of(records_, true), batch_of(public_records_, false)};
    records_in_batch = static_cast<std::int64_t>(batches[0].indices.size() + batches[1].indices.size());
    const std::size_t distinct = all_levels_equal() ? 1 : state_.levels.size();
    std::vector<LevelState> evaluated;
    for (std::size_t level = 0; level < distinct; ++level) evaluated.push_back(box(level));
    std::vector<BoxView> views;
    std::vector<std::int64_t> selections;
    for (const LevelState& level : evaluated) {
        const bool point = level.k == 0 || all_levels_equal();
        views.push_back({level.lower.data(), point ? level.lower.data() : level.upper.data()});
        selections.push_back(selects(level.k) ? level.k : 0);
    }
    const std::int64_t parts = parts_of(batches, block_group);
    std::vector<LevelSums> sums =
        parts == 1 ? reduced_sums(views, batches, selections, block_group, records_in_batch)
                   : sums_in_parts(parts, views, batches, selections, block_group, records_in_batch);
    while (sums.size() < state_.levels.size()) {  // all alike, and nothing selected
        const LevelSums& first = sums.front();
        sums.push_back({first.lower, first.upper, first.surely_correct, first.possibly_correct, {}, {}});
    }
    return sums;
}

/// The sums of all ranks of the group, selections still of this rank alone.
std::vector<LevelSums> MemberTrainer::reduced_sums(std::span<const BoxView> boxes,
                                                   std::span<const Batch> batches,
                                                   std::span<const std::int64_t> selection_counts,
                                                   const Communicator& block_group,
                                                   std::int64_t& records_in_batch) {
    const Clip& clip = plan_.settings.clip;
    if (device_sums_ == nullptr)
        device_sums_ = plan_.backend.with([&](const auto& backend) {
            return DeviceSums::make(plan_.network, backend, clip, records_, public_records_);
        });
    if (device_sums_ != nullptr) {
        DeviceSums::Result result = device_sums_->reduced(boxes, batches, selection_counts, block_group);
        records_in_batch = result.records;
        return std::move(result.levels);
    }
    std::vector<LevelSums> sums = plan_.backend.with([&](const auto& backend) {
        return gradient_sums(plan_.network, backend, clip, boxes, batches, selection_counts);
    });
    reduce(sums, records_in_batch, block_group);
    return sums;
}

/// One exact reduction a step: all sums and counts of all levels in one message.
void MemberTrainer::reduce(std::vector<LevelSums>& sums, std::int64_t& records_in_batch,
                           const Communicator& block_group) const {
    std::vector<std::int64_t> message = packed(records_in_batch, sums);
    block_group.sum(message);
    records_in_batch = unpack(message, plan_.network.parameters(), sums);
}

// An int64 adds record_limit records exactly. A batch of more is summed in parts, each of at most as many:
// the count of records is private, so no batch is refused for it.
std::int64_t MemberTrainer::parts_of(std::span<const Batch> batches, const Communicator& block_group) {
    const auto ranks = static_cast<std::int64_t>(block_group.size());
    const std::int64_t capacity = part_capacity(scale_, ranks);
    const auto parts_for = [&](std::size_t records) {
        return std::max<std::int64_t>(1, (static_cast<std::int64_t>(records) + capacity - 1) / capacity);
    };
    if (!one_part_) {
        std::int64_t parts[] = {parts_for(std::max(records_.size(), public_records_.size()))};
        block_group.max(parts);
        one_part_ = parts[0] == 1;
    }
    if (*one_part_) return 1;
    std::int64_t parts[] = {1};
    for (const Batch& batch : batches) parts[0] = std::max(parts[0], parts_for(batch.indices.size()));
    block_group.max(parts);
    return parts[0];
}

std::vector<LevelSums> MemberTrainer::sums_in_parts(std::int64_t parts, std::span<const BoxView> boxes,
                                                    std::span<const Batch> batches,
                                                    std::span<const std::int64_t> selection_counts,
                                                    const Communicator& block_group,
                                                    std::int64_t& records_in_batch) {
    const auto capacity =
        static_cast<std::size_t>(part_capacity(scale_, static_cast<std::int64_t>(block_group.size())));
    WideSums total(boxes.size(), plan_.network.parameters());
    std::int64_t records = 0;
    for (std::size_t part = 0; part < static_cast<std::size_t>(parts); ++part) {
        std::vector<Batch> slices;
        records_in_batch = 0;
        for (const Batch& batch : batches) {
            slices.push_back(slice_of(batch, part * capacity, capacity));
            records_in_batch += static_cast<std::int64_t>(slices.back().indices.size());
        }
        total.add(reduced_sums(boxes, slices, selection_counts, block_group, records_in_batch));
        records += records_in_batch;
    }
    records_in_batch = records;
    return total.clamped();
}

// By the table (mathematics.md, charges) the sum over a neighbour's records lies in [SL - cL(k), SU + cU(k)].
void MemberTrainer::charge(const LevelState& level, LevelSums& sums, const Communicator& block_group) const {
    if (level.k == 0 || plan_.settings.certificate.charge_rule == ChargeRule::per_epoch)
        return;  // the core is not charged
    // What the k records put in their place, or added, can do: k Gamma each way. A removal adds nothing.
    if (plan_.settings.certificate.relation != Relation::remove) {
        for (std::size_t p = 0; p < sums.lower.size(); ++p) {
            const std::int64_t gamma = level.k * (biases_[p] ? scale_.bias_units : scale_.weight_units);
            sums.lower[p] -= gamma;
            sums.upper[p] += gamma;
        }
    }
    if (plan_.settings.certificate.relation == Relation::add_remove) return;
    // What the k records did that are gone: at most minus the least of their upper bounds. Of removals up to
    // k, only those that gain are counted; as published (actual), exactly k are gone.
    const bool up_to_k = plan_.settings.certificate.relation == Relation::remove &&
                         plan_.settings.training.normalise != Normalise::actual;
    const auto value_itself = +[](std::int64_t value) { return value; };
    const auto gain = +[](std::int64_t value) { return std::min<std::int64_t>(0, value); };
    const auto upper = sum_of_least(sums.least_upper[0], up_to_k ? gain : value_itself, block_group),
               negated_lower =
                   sum_of_least(sums.least_negated_lower[0], up_to_k ? gain : value_itself, block_group);
    for (std::size_t p = 0; p < sums.lower.size(); ++p) {
        sums.lower[p] += negated_lower[p];
        sums.upper[p] -= upper[p];
    }
}

double MemberTrainer::normaliser_of(std::int64_t k, std::int64_t records_in_batch) const {
    if (plan_.settings.training.normalise == Normalise::expected) return plan_.normaliser;
    const std::int64_t gone = plan_.settings.certificate.relation == Relation::remove ? k : 0;
    if (records_in_batch <= gone) {
        throw Error(ExitCode::input,
                    "a batch of " + std::to_string(records_in_batch) + " records, of which " +
                        std::to_string(gone) + " may go, cannot be averaged",
                    "use normalise = \"expected\" or larger batches", "training.normalise");
    }
    return static_cast<double>(records_in_batch - gone);
}

void MemberTrainer::step(const Communicator& block_group) {
    std::int64_t records_in_batch = 0;
    std::vector<LevelSums> sums = sums_of_levels(block_group, records_in_batch);
    for (std::size_t index = 0; index < state_.levels.size(); ++index) {
        LevelState& level = state_.levels[index];
        const double normaliser = normaliser_of(level.k, records_in_batch);
        charge(level, sums[index], block_group);
        // The update falls with the sum: the lower bound takes the upper sum.
        optimiser_->update(state_.step, normaliser, level.lower, sums[index].upper);
        optimiser_->update(state_.step, normaliser, level.upper, sums[index].lower);
    }
    const double nominal_normaliser = normaliser_of(0, records_in_batch);
    advance_responses(state_.step, nominal_normaliser);
    state_.normalisers.push_back(nominal_normaliser);
    record_metrics(sums, records_in_batch);
    ++state_.step;
    if (done()) device_sums_.reset();
}

void MemberTrainer::record_metrics(const std::vector<LevelSums>& sums, std::int64_t records_in_batch) {
    const auto [epoch, batch] = position();
    StepMetrics metrics;
    metrics.step = state_.step;
    metrics.epoch = epoch;
    metrics.batch = batch;
    metrics.records = records_in_batch;
    metrics.learning_rate = plan_.settings.training.learning_rate_at(state_.step);
    if (state_.levels.front().k == 0) metrics.correct = sums.front().surely_correct;
    metrics.level = state_.levels.back().k;
    metrics.surely_correct = sums.back().surely_correct;
    metrics.possibly_correct = sums.back().possibly_correct;
    const LevelState widest = box(state_.levels.size() - 1);
    double total = 0, largest = 0;
    for (std::size_t p = 0; p < widest.lower.size(); ++p) {
        const double width = parameter_value(widest.upper[p] - widest.lower[p]);
        total += width;
        largest = std::max(largest, width);
    }
    metrics.width_mean = total / static_cast<double>(widest.lower.size());
    metrics.width_max = largest;
    state_.metrics.push_back(metrics);
}

}  // namespace holdfast
