#include "models/training/gradient_sums.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/ops/row_weight.hpp"
#include "models/training/wide_sums.hpp"

namespace holdfast {
namespace {

/// Records a rank may add to one part, of its private and as many of its public ones.
std::int64_t part_capacity(const TrainingPlan& plan, const Communicator& ranks) {
    return std::max<std::int64_t>(
        1, plan.gradient_scale().record_limit / (2 * static_cast<std::int64_t>(ranks.size())));
}

/// Of the rows `all`, those of the records that begin among `count` of them from `first` on.
std::span<const std::uint32_t> slice(const Records& records, std::span<const std::uint32_t> all,
                                     std::size_t first, std::size_t count) {
    const auto start = [&](std::size_t at) {  // of a person, all rows
        at = std::min(at, all.size());
        while (!records.weights.empty() && at > 0 && at < all.size() &&
               records.ids[all[at]] == records.ids[all[at - 1]])
            ++at;
        return at;
    };
    return all.subspan(start(first), start(first + count) - start(first));
}

/// Every rank holds all public records, of which each adds its part.
std::span<const std::uint32_t> part_of_rank(std::span<const std::uint32_t> all, const Communicator& ranks) {
    const auto [first, last] = share_of(ranks, all.size());
    return all.subspan(first, last - first);
}

}  // namespace

std::vector<std::optional<LeastEntries>> take_selections(Engine& engine, std::span<const Variant> levels) {
    std::vector<std::optional<LeastEntries>> selections(levels.size());
    for (std::size_t level = 0; level < levels.size(); ++level) {
        if (levels[level].selected > 0) selections[level] = engine.take_selection(level);
    }
    return selections;
}

StepSums::StepSums(StepMessage layout, std::vector<std::int64_t> words,
                   std::vector<std::optional<LeastEntries>> selections)
    : message(std::move(words)), records(message[StepMessage::records]) {
    for (std::size_t level = 0; level < layout.variants; ++level) {
        levels.push_back({std::span(message).subspan(layout.lower(level), layout.parameters),
                          std::span(message).subspan(layout.upper(level), layout.parameters),
                          message[layout.surely_correct(level)], message[layout.possibly_correct(level)],
                          std::move(selections[level])});
    }
    undecided = std::span(message).subspan(layout.undecided(0), layout.hidden);
}

StepSums StepSums::repeated(std::size_t count) const {
    std::vector<std::int64_t> words{message.front()};
    const auto behind = message.end() - static_cast<std::ptrdiff_t>(undecided.size());
    for (std::size_t level = 0; level < count; ++level)
        words.insert(words.end(), message.begin() + 1, behind);
    words.insert(words.end(), behind, message.end());
    return {{count, levels.front().lower.size(), undecided.size()},
            std::move(words),
            std::vector<std::optional<LeastEntries>>(count)};
}

GradientSums::GradientSums(const TrainingPlan& plan, const Records& private_records,
                           const Records& public_records)
    : plan_(plan),
      pinned_(plan.network.pinned()),
      private_records_(private_records),
      public_records_(public_records) {
    if (std::max(private_records.size(), public_records.size()) > UINT32_MAX)
        throw Error(ExitCode::input, "more than 2^32 records of a member on one rank",
                    "spread them over more ranks or members");
}

StepSums GradientSums::of(std::span<const Variant> levels, const StepRecords& of_step,
                          const Communicator& ranks, PhaseTimes& times) {
    const StepRecords records{of_step.private_ones, part_of_rank(of_step.public_ones, ranks)};
    if (engine_ == nullptr) {
        engine_ = plan_.backend->engine(plan_.network.shape(), plan_.clip());
        RecordSet private_ones = private_records_.view(true);
        if (plan_.settings.poisoned()) private_ones.poison = plan_.settings.poison;
        RecordSet public_ones = public_records_.view(false);
        if (plan_.settings.training.rows_of_persons()) {  // each is a person of one row
            whole_.assign(public_records_.size(), 1.0);
            public_ones.weights = whole_.data();
            public_ones.rows_of_persons = true;
        }
        engine_->set_records(std::vector{private_ones, public_ones});
    }
    engine_->set_dropout(dropout_);
    const StepMessage layout = StepMessage::of(levels.size(), plan_.network.shape());
    const std::int64_t parts = parts_of(records, ranks),
                       uncounted = static_cast<std::int64_t>(records.private_ones.size()) -
                                   persons_among(private_records_, records.private_ones);
    if (parts == 1) {
        std::vector<std::int64_t> message = part(levels, records, uncounted, ranks, times);
        return in_persons(without_pinned({layout, std::move(message), take_selections(*engine_, levels)}));
    }
    const auto capacity = static_cast<std::size_t>(part_capacity(plan_, ranks));
    WideSums total(layout);
    for (std::size_t first = 0; first < static_cast<std::size_t>(parts) * capacity; first += capacity) {
        const StepRecords slices{slice(private_records_, records.private_ones, first, capacity),
                                 slice(public_records_, records.public_ones, first, capacity)};
        const std::vector<std::int64_t> message =
            part(levels, slices, first == 0 ? uncounted : 0, ranks, times);
        total.add(message, take_selections(*engine_, levels));
    }
    return in_persons(without_pinned(total.clamped()));
}

/// Rows that are right count by their weights: to the nearest person.
StepSums GradientSums::in_persons(StepSums sums) const {
    if (!plan_.settings.training.rows_of_persons()) return sums;
    const auto rounded = [](std::int64_t units) {
        return static_cast<std::int64_t>(std::llround(static_cast<double>(units) * weight_unit));
    };
    for (LevelSums& level : sums.levels) {
        level.surely_correct = rounded(level.surely_correct);
        level.possibly_correct = rounded(level.possibly_correct);
    }
    return sums;
}

/// A bias that a layer has not is moved by nothing: its derivatives are no part of the gradient.
StepSums GradientSums::without_pinned(StepSums sums) const {
    for (const LevelSums& level : sums.levels) {
        for (const std::size_t entry : pinned_) level.lower[entry] = level.upper[entry] = 0;
    }
    return sums;
}

/// The message of a step, added over the ranks: the step's one reduction.
std::vector<std::int64_t> GradientSums::part(std::span<const Variant> levels, const StepRecords& records,
                                             std::int64_t uncounted, const Communicator& ranks,
                                             PhaseTimes& times) {
    Stopwatch watch;
    const std::vector<std::span<const std::uint32_t>> indices{records.private_ones, records.public_ones};
    const DeviceSpan sums = engine_->run(levels, indices);
    const bool on_device = ranks.sums_on_device();
    if (on_device) {
        ranks.sum(sums);
        ranks.wait(sums.stream);
    }
    const std::span<std::int64_t> message = engine_->finish();
    if (uncounted > 0) message[StepMessage::records] -= uncounted;  // no device weighs rows
    times.sums += watch.lap();
    if (!on_device) ranks.sum(message);
    times.reduction += watch.lap();
    return {message.begin(), message.end()};
}

// The count of records is private, so no batch is refused for it.
std::int64_t GradientSums::parts_of(const StepRecords& records, const Communicator& ranks) {
    const std::int64_t capacity = part_capacity(plan_, ranks);
    const auto parts_for = [&](std::size_t count) {
        return std::max<std::int64_t>(1, (static_cast<std::int64_t>(count) + capacity - 1) / capacity);
    };
    if (!one_part_) {
        std::int64_t parts[] = {parts_for(std::max(private_records_.size(), public_records_.size()))};
        ranks.max(parts);
        one_part_ = parts[0] == 1;
    }
    if (*one_part_) return 1;
    std::int64_t parts[] = {
        std::max(parts_for(records.private_ones.size()), parts_for(records.public_ones.size()))};
    ranks.max(parts);
    return parts[0];
}

}  // namespace holdfast
